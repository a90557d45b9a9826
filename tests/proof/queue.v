(* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 *)

(** The queue behind every lock here: numbers without bounds, of which words hold the low bits.

    [n] is the next ticket to be drawn, [o] the ticket that is served. The tickets from [o] up to
    [n] are issued, each to one thread. Each of them holds a permit back. So [n - o] never exceeds
    the number of permits, and the low bits tell the issued tickets apart. *)

From iris.algebra Require Import auth numbers.
From iris.base_logic.lib Require Import ghost_map ghost_var.
From iris.heap_lang Require Import proofmode notation.

Local Open Scope Z_scope.

Class queueG Σ := QueueG {
  queue_tickets : ghost_mapG Σ Z ();
  queue_served : ghost_varG Σ Z;
  queue_permits : inG Σ (authR natUR);
}.
Local Existing Instances queue_tickets queue_served queue_permits.

Definition queueΣ : gFunctors := #[ghost_mapΣ Z (); ghost_varΣ Z; GFunctor (authR natUR)].
Global Instance subG_queueΣ Σ : subG queueΣ Σ → queueG Σ.
Proof. solve_inG. Qed.

Record queue_name := QueueName { tickets_name : gname; served_name : gname; permits_name : gname }.

Section queue.
  Context `{!heapGS Σ, !queueG Σ}.
  Implicit Types (γ : queue_name) (n o t : Z) (N : nat) (R : iProp Σ).

  Definition permits γ (k : nat) : iProp Σ := own γ.(permits_name) (◯ k).

  (** The thread that drew [t] has this until it enters. *)
  Definition issued γ t : iProp Σ := t ↪[γ.(tickets_name)] ().

  (** The owner, whose ticket is [t], has this. *)
  Definition owns γ t : iProp Σ := ghost_var γ.(served_name) (3/4) t.

  Definition counters γ N n o : iProp Σ :=
    ∃ m : gmap Z (), ⌜∀ t, is_Some (m !! t) ↔ o ≤ t < n⌝ ∗ ⌜o ≤ n⌝ ∗
      ghost_map_auth γ.(tickets_name) 1 m ∗ ghost_var γ.(served_name) (1/4) o ∗
      own γ.(permits_name) (● N) ∗ permits γ (Z.to_nat (n - o)).

  (** The thread that is served has entered, or else what it will have is here. *)
  Definition entry γ R o : iProp Σ := issued γ o ∨ owns γ o ∗ R.

  Lemma permits_split γ a b : permits γ (a + b)%nat ⊢ permits γ a ∗ permits γ b.
  Proof. by rewrite /permits -own_op -auth_frag_op. Qed.

  Lemma permits_join γ a b : permits γ a -∗ permits γ b -∗ permits γ (a + b)%nat.
  Proof. rewrite /permits auth_frag_op own_op. iIntros "$ $". Qed.

  Lemma owns_exclusive γ t t' : owns γ t -∗ owns γ t' -∗ False.
  Proof.
    iIntros "H H'". by iDestruct (ghost_var_valid_2 with "H H'") as %[? _].
  Qed.

  Lemma queue_alloc R N first :
    R ==∗ ∃ γ, counters γ N first first ∗ entry γ R first ∗ permits γ N.
  Proof.
    iIntros "HR".
    iMod (ghost_map_alloc_empty (K:=Z) (V:=())) as (γt) "Hm".
    iMod (ghost_var_alloc first) as (γs) "Ho".
    iEval (rewrite -Qp.three_quarter_quarter) in "Ho". iDestruct "Ho" as "[Ho' Ho]".
    iMod (own_alloc (● N ⋅ ◯ N)) as (γp) "[HN HP]"; first by apply auth_both_valid_2.
    iDestruct (permits_split (QueueName γt γs γp) 0 N with "HP") as "[H0 HP]".
    iModIntro. iExists (QueueName γt γs γp). iSplitL "Hm Ho HN H0".
    - iExists ∅. rewrite Z.sub_diag. iFrame "Hm Ho HN H0". iPureIntro. split; last done.
      intros t. rewrite lookup_empty. split; [by intros []|lia].
    - iFrame "HP". iRight. iFrame.
  Qed.

  Lemma counters_bound γ N n o : counters γ N n o -∗ ⌜o ≤ n ∧ n - o ≤ N⌝.
  Proof.
    iIntros "(%m & _ & % & _ & _ & HN & HP)".
    iCombine "HN HP" gives %[Hle%nat_included _]%auth_both_valid_discrete.
    iPureIntro. lia.
  Qed.

  (** A permit buys the next ticket. *)
  Lemma queue_draw γ N n o :
    counters γ N n o -∗ permits γ 1 ==∗ ⌜0 ≤ n - o < N⌝ ∗ counters γ N (n + 1) o ∗ issued γ n.
  Proof.
    iIntros "(%m & %Hm & % & Hm & Ho & HN & HP) H1".
    iDestruct (permits_join with "HP H1") as "HP".
    replace (Z.to_nat (n - o) + 1)%nat with (Z.to_nat (n + 1 - o)) by lia.
    iMod (ghost_map_insert n () with "Hm") as "[Hm Hn]".
    { apply eq_None_not_Some. rewrite Hm. lia. }
    iAssert (counters γ N (n + 1) o) with "[Hm Ho HN HP]" as "Hc".
    { iExists _. iFrame. iPureIntro. split; last lia.
      intros t. rewrite lookup_insert_is_Some' Hm. lia. }
    iDestruct (counters_bound with "Hc") as %?. iModIntro. iFrame. iPureIntro. lia.
  Qed.

  Lemma queue_issued γ N n o t :
    counters γ N n o -∗ issued γ t -∗ ⌜o ≤ t < n ∧ n - o ≤ N⌝.
  Proof.
    iIntros "Hc Ht". iDestruct (counters_bound with "Hc") as %[_ ?].
    iDestruct "Hc" as "(%m & %Hm & _ & Hm & _)".
    iDestruct (ghost_map_lookup with "Hm Ht") as %Ht.
    iPureIntro. rewrite -Hm. eauto.
  Qed.

  (** Who is served enters. *)
  Lemma queue_enter γ R o E :
    issued γ o -∗ ▷ entry γ R o ={E}=∗ ▷ entry γ R o ∗ owns γ o ∗ ▷ R.
  Proof.
    iIntros "Ht [>Ht'|[>Ho HR]]".
    - by iDestruct (ghost_map_elem_valid_2 with "Ht Ht'") as %[Hv _].
    - iModIntro. by iFrame.
  Qed.

  (** A waiter that reads the low bits of the grant enters if they are its ticket's. *)
  Lemma queue_look (m : Z) γ R N n o t E :
    N < m →
    issued γ t -∗ counters γ N n o -∗ ▷ entry γ R o ={E}=∗
    counters γ N n o ∗ ▷ entry γ R o ∗
    ▷ if bool_decide ((t - o) `mod` m = 0) then owns γ t ∗ R else issued γ t.
  Proof.
    iIntros (?) "Hi Hc He". iDestruct (queue_issued with "Hc Hi") as %[??].
    case_bool_decide as Heq; last by iFrame.
    rewrite Z.mod_small in Heq; last lia. assert (t = o) as -> by lia.
    iMod (queue_enter with "Hi He") as "($ & $ & $)". by iFrame.
  Qed.

  Lemma owns_entered γ R N n o t E :
    owns γ t -∗ counters γ N n o -∗ ▷ entry γ R o ={E}=∗
    ⌜t = o⌝ ∗ owns γ t ∗ counters γ N n o ∗ issued γ o.
  Proof.
    iIntros "Ht (%m & ? & ? & ? & Ho & ?) He".
    iDestruct (ghost_var_agree with "Ht Ho") as %<-. iDestruct "He" as "[>He|[>Ho' _]]".
    - iModIntro. by iFrame.
    - by iDestruct (owns_exclusive with "Ht Ho'") as %[].
  Qed.

  (** The owner has the next ticket served, and gets its permit back. *)
  Lemma queue_leave γ R N n o t E :
    owns γ t -∗ ▷ R -∗ counters γ N n o -∗ ▷ entry γ R o ={E}=∗
    ⌜t = o⌝ ∗ counters γ N n (o + 1) ∗ ▷ entry γ R (o + 1) ∗ permits γ 1.
  Proof.
    iIntros "Ht HR Hc He".
    iMod (owns_entered with "Ht Hc He") as (->) "(Ht & Hc & Hi)".
    iDestruct (queue_issued with "Hc Hi") as %[? _].
    iDestruct "Hc" as "(%m & %Hm & % & Hm & Ho & HN & HP)".
    iMod (ghost_map_delete with "Hm Hi") as "Hm".
    iMod (ghost_var_update_2 (o + 1) with "Ht Ho") as "[Ht Ho]"; first by rewrite Qp.three_quarter_quarter.
    replace (Z.to_nat (n - o)) with (1 + Z.to_nat (n - (o + 1)))%nat by lia.
    iDestruct (permits_split with "HP") as "[$ HP]".
    iModIntro. iSplit; first done. iSplitR "HR Ht"; last (iRight; iFrame).
    iExists _. iFrame. iPureIntro. split; last lia.
    intros t. rewrite lookup_delete_is_Some Hm. lia.
  Qed.

  (** Whoever else waits has drawn later than the owner: no thread bypasses another. *)
  Lemma queue_fifo γ R N n o t t' E :
    owns γ t -∗ issued γ t' -∗ counters γ N n o -∗ ▷ entry γ R o ={E}=∗
    ⌜t < t'⌝ ∗ owns γ t ∗ issued γ t' ∗ counters γ N n o ∗ ▷ entry γ R o.
  Proof.
    iIntros "Ht Hi Hc He".
    iMod (owns_entered with "Ht Hc He") as (->) "($ & Hc & Hi')".
    iDestruct (queue_issued with "Hc Hi") as %[? _].
    iDestruct (ghost_map_elem_ne with "Hi Hi'") as %?.
    iModIntro. iFrame. iPureIntro. lia.
  Qed.
End queue.
