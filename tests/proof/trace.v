(* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 *)

(** Runs a program and tells which operations of words it calls, in order.

    A thread runs until it waits in vain. Then the next of the other threads runs to its end, as in
    the scripted world of rust/locks/tests/host. [run_sound]: what is told is a run of HeapLang. *)

From stdpp Require Import gmap.
From iris.heap_lang Require Import lang notation.
From handover Require Import word_code.

Fixpoint lambdas (e : expr) : nat :=
  match e with Rec BAnon _ e => S (lambdas e) | _ => O end.

(** A function and its arguments, all of them values. *)
Fixpoint spine (e : expr) (args : list val) : option (val * list val) :=
  match e with
  | Val f => Some (f, args)
  | App e (Val v) => spine e (v :: args)
  | _ => None
  end.

(** A whole call of an operation: its name and the arguments. *)
Definition call_of (e : expr) : option (string * list val) :=
  match spine e [] with
  | Some (RecV (BNamed name) x body as f, args) =>
    if bool_decide (length args = S (lambdas body)) && bool_decide (f ∈ operations)
    then Some (name, args) else None
  | _ => None
  end.

Definition inside (item : ectx_item) (found : option (list ectx_item * expr)) :
    option (list ectx_item * expr) :=
  '(K, r) ← found; Some (K ++ [item], r).

(** Where a program takes its next step. With [whole], a call of an operation is not taken apart. *)
Fixpoint redex (whole : bool) (e : expr) : option (list ectx_item * expr) :=
  let one e1 item := match to_val e1 with Some _ => Some ([], e) | None => inside item (redex whole e1) end in
  let two e1 e2 left right := match to_val e2 with
    | Some v => one e1 (left v)
    | None => inside (right e1) (redex whole e2)
    end in
  match e with
  | Val _ | Var _ => None
  | Rec _ _ _ => Some ([], e)
  | App e1 e2 =>
    if whole && bool_decide (is_Some (call_of e)) then Some ([], e) else two e1 e2 AppLCtx AppRCtx
  | UnOp op e1 => one e1 (UnOpCtx op)
  | BinOp op e1 e2 => two e1 e2 (BinOpLCtx op) (BinOpRCtx op)
  | If e0 e1 e2 => one e0 (IfCtx e1 e2)
  | Pair e1 e2 => two e1 e2 PairLCtx PairRCtx
  | Fst e1 => one e1 FstCtx
  | Snd e1 => one e1 SndCtx
  | InjL e1 => one e1 InjLCtx
  | InjR e1 => one e1 InjRCtx
  | Case e0 e1 e2 => one e0 (CaseCtx e1 e2)
  | Load e1 => one e1 LoadCtx
  | Store e1 e2 => two e1 e2 StoreLCtx StoreRCtx
  | CmpXchg e0 e1 e2 =>
    match to_val e2 with
    | Some v2 => two e0 e1 (λ v1, CmpXchgLCtx v1 v2) (λ e0, CmpXchgMCtx e0 v2)
    | None => inside (CmpXchgRCtx e0 e1) (redex whole e2)
    end
  | AllocN _ _ | Free _ | Xchg _ _ | FAA _ _ | Fork _ | NewProph | Resolve _ _ _ => None
  end.

Definition reduce (e : expr) (σ : state) : option (expr * state) :=
  match e with
  | Rec f x e => Some (Val (RecV f x e), σ)
  | App (Val (RecV f x e)) (Val v) => Some (subst' x v (subst' f (RecV f x e) e), σ)
  | UnOp op (Val v) => v' ← un_op_eval op v; Some (Val v', σ)
  | BinOp op (Val v1) (Val v2) => v' ← bin_op_eval op v1 v2; Some (Val v', σ)
  | If (Val (LitV (LitBool b))) e1 e2 => Some (if b then e1 else e2, σ)
  | Pair (Val v1) (Val v2) => Some (Val (PairV v1 v2), σ)
  | Fst (Val (PairV v _)) | Snd (Val (PairV _ v)) => Some (Val v, σ)
  | InjL (Val v) => Some (Val (InjLV v), σ)
  | InjR (Val v) => Some (Val (InjRV v), σ)
  | Case (Val (InjLV v)) e _ | Case (Val (InjRV v)) _ e => Some (App e (Val v), σ)
  | Load (Val (LitV (LitLoc l))) =>
    match heap σ !! l with Some (Some v) => Some (Val v, σ) | _ => None end
  | Store (Val (LitV (LitLoc l))) (Val w) =>
    match heap σ !! l with
    | Some (Some _) => Some (Val #(), state_upd_heap <[l := Some w]> σ)
    | _ => None
    end
  | CmpXchg (Val (LitV (LitLoc l))) (Val v1) (Val v2) =>
    match heap σ !! l with
    | Some (Some v) =>
      if bool_decide (vals_compare_safe v v1) then
        let same := bool_decide (v = v1) in
        Some (Val (v, #same)%V, if same then state_upd_heap <[l := Some v2]> σ else σ)
      else None
    | _ => None
    end
  | _ => None
  end.

Definition step (e : expr) (σ : state) : option (expr * state) :=
  '(K, r) ← redex false e;
  '(r, σ) ← reduce r σ;
  Some (fill K r, σ).

Inductive event :=
  | Calls (name : string) (args : list val)
  | Returns (v : val)
  | Other (e : event).

(** Runs [e] to its value. [within] is an operation that waits as long as it calls itself. *)
Fixpoint run (fuel : nat) (within : bool) (others : list expr) (e : expr) (σ : state) :
    option (list event * val * list expr * state) :=
  match fuel with
  | O => None
  | S fuel =>
    match to_val e with
    | Some v => Some ([], v, others, σ)
    | None =>
      '(K, r) ← redex true e;
      match call_of r, within with
      | Some (name, args), false =>
        '(r, σ) ← step r σ;
        '(told, v, others, σ) ← run fuel true others r σ;
        '(told', v', others, σ) ← run fuel false others (fill K (Val v)) σ;
        Some (Calls name args :: told ++ Returns v :: told', v', others, σ)
      | Some _, true =>
        match others with
        | [] => None
        | other :: others =>
          '(told, _, others, σ) ← run fuel false others other σ;
          '(e, σ) ← step e σ;
          '(told', v, others, σ) ← run fuel true others e σ;
          Some (map Other told ++ told', v, others, σ)
        end
      | None, _ =>
        '(e, σ) ← step e σ;
        run fuel within others e σ
      end
    end
  end.

Lemma inside_fill item found K r e :
  inside item found = Some (K, r) → (∀ K r, found = Some (K, r) → fill K r = e) →
  fill K r = fill_item item e.
Proof.
  rewrite /inside. destruct found as [[K' r']|]; [|done]. intros [= <- <-] IH.
  by rewrite fill_app /= (IH K' r').
Qed.

Lemma redex_fill whole e K r : redex whole e = Some (K, r) → fill K r = e.
Proof.
  revert K r. induction e; intros K r Hr; simpl in Hr; try done;
    repeat match type of Hr with
    | context [to_val ?e] => destruct (to_val e) eqn:?
    | context [if ?b then _ else _] => destruct b
    end; try (by simplify_eq);
    erewrite (inside_fill _ _ _ _ _ Hr); eauto; simpl; f_equal; by apply of_to_val.
Qed.

Local Hint Constructors base_step : core.

Lemma reduce_sound e σ e' σ' : reduce e σ = Some (e', σ') → base_step e σ [] e' σ' [].
Proof.
  destruct e; simpl; intros; try done; repeat (case_match; simplify_eq/=; try done);
    simplify_option_eq; eauto; match goal with H : bool_decide _ = true |- _ =>
      apply bool_decide_eq_true in H end.
  - apply (CmpXchgS _ _ _ _ _ true); [done..|]. by rewrite bool_decide_eq_true_2.
  - apply (CmpXchgS _ _ _ _ _ false); [done..|]. by rewrite bool_decide_eq_false_2.
Qed.

Lemma step_sound e σ e' σ' (K : list ectx_item) t1 t2 :
  step e σ = Some (e', σ') → erased_step (t1 ++ fill K e :: t2, σ) (t1 ++ fill K e' :: t2, σ').
Proof.
  rewrite /step. destruct (redex false e) as [[K' r]|] eqn:Hr; [|done]. simpl.
  destruct (reduce r σ) as [[r' σ'']|] eqn:Hs; [|done]. simpl. intros [= <- <-].
  apply redex_fill in Hr as <-. apply reduce_sound in Hs.
  exists []. eapply (step_atomic _ _ _ _ [] t1 t2); [done|by rewrite app_nil_r|].
  rewrite -!fill_app. apply fill_prim_step. by apply base_prim_step.
Qed.

(** What is told is a run of the threads: those of [others] that ran did so to their ends. *)
Theorem run_sound fuel within others e σ told v others' σ' :
  run fuel within others e σ = Some (told, v, others', σ') →
  ∃ used ends, others = used ++ others' ∧
    ∀ (K : list ectx_item) t1 gap t2,
      rtc erased_step (t1 ++ fill K e :: gap ++ used ++ t2, σ)
        (t1 ++ fill K (Val v) :: gap ++ (Val <$> ends) ++ t2, σ').
Proof.
  revert within others e σ told v others' σ'.
  induction fuel as [|fuel IH]; intros within others e σ told v others' σ' Hrun; [done|].
  simpl in Hrun. destruct (to_val e) as [w|] eqn:He.
  { apply of_to_val in He as <-. simplify_eq. exists [], []. split; [done|]. intros. apply rtc_refl. }
  destruct (redex true e) as [[K r]|] eqn:Hr; [|done]. apply redex_fill in Hr as <-.
  simpl in Hrun. destruct (call_of r) as [[name args]|]; [destruct within|].
  - destruct others as [|other others]; [done|].
    destruct (run fuel false others other σ) as [[[[told1 v1] others1] σ1]|] eqn:H1; [|done].
    simpl in Hrun. destruct (step (fill K r) σ1) as [[e2 σ2]|] eqn:H2; [|done]. simpl in Hrun.
    destruct (run fuel true others1 e2 σ2) as [[[[told3 v3] others3] σ3]|] eqn:H3; [|done].
    simplify_eq/=. apply IH in H1 as (used1 & ends1 & -> & H1).
    apply IH in H3 as (used3 & ends3 & -> & H3).
    exists (other :: used1 ++ used3), (v1 :: ends1 ++ ends3). split; [by rewrite /= assoc_L|].
    intros K' t1 gap t2. etrans.
    { specialize (H1 [] (t1 ++ fill K' (fill K r) :: gap) [] (used3 ++ t2)).
      rewrite /= -!assoc_L /= in H1. rewrite /= -!assoc_L. exact H1. }
    eapply rtc_l; [by apply step_sound|].
    specialize (H3 K' t1 (gap ++ Val v1 :: (Val <$> ends1)) t2).
    rewrite -!assoc_L /= in H3. rewrite fmap_cons fmap_app /= -!assoc_L. exact H3.
  - destruct (step r σ) as [[e1 σ1]|] eqn:H1; [|done]. simpl in Hrun.
    destruct (run fuel true others e1 σ1) as [[[[told2 v2] others2] σ2]|] eqn:H2; [|done].
    simpl in Hrun.
    destruct (run fuel false others2 (fill K (Val v2)) σ2) as [[[[told3 v3] others3] σ3]|] eqn:H3;
      [|done].
    simplify_eq/=. apply IH in H2 as (used2 & ends2 & -> & H2).
    apply IH in H3 as (used3 & ends3 & -> & H3).
    exists (used2 ++ used3), (ends2 ++ ends3). split; [by rewrite assoc_L|].
    intros K' t1 gap t2. rewrite -fill_app.
    eapply rtc_l; [by apply step_sound|]. etrans.
    { specialize (H2 (K ++ K') t1 gap (used3 ++ t2)). rewrite -assoc_L. exact H2. }
    specialize (H3 K' t1 (gap ++ (Val <$> ends2)) t2).
    rewrite -!assoc_L -fill_app in H3. rewrite fmap_app -!assoc_L. exact H3.
  - destruct (step (fill K r) σ) as [[e1 σ1]|] eqn:H1; [|done]. simpl in Hrun.
    apply IH in Hrun as (used & ends & -> & H2). exists used, ends. split; [done|].
    intros K' t1 gap t2. eapply rtc_l; [by apply step_sound|]. apply H2.
Qed.
