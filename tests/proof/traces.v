(* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 *)

(** The accesses that the proved programs make in the scripted world, a line each. The suite compares
    them with those that the Rust code makes (rust/locks/tests/host/trace.rs). *)

From stdpp Require Import gmap pretty.
From iris.heap_lang Require Import lang notation.
From handover Require Import word_code ticket_code twa_code one_word_code trace.

Local Open Scope Z_scope.
Local Open Scope string_scope.

(** The world: 4096 slots, the threshold 1, and one key for all locks. *)
Definition slots : Z := 4096.
Definition threshold : Z := 1.
Definition key : Z := 2989.
(** What the slots hold first. The next notification wraps. *)
Definition slots_hold : Z := word_max.

Definition word_at (i : Z) : loc := Loc i.
Definition array : loc := Loc 16.

Record shown_lock := ShownLock {
  shown : string;
  code : lock_code;
  (** Of the lock's words the names and what they hold, of a grant and how many are before who comes next. *)
  words : Z → Z → list (string * Z);
  value : val;
  token : Z → Z;
}.

Definition two_words (name : string) (code : lock_code) : shown_lock := {|
  shown := name;
  code := code;
  words grant others := [("ticket", Z.land (grant + others) word_max); ("grant", grant)];
  value := ((#(word_at 0), #(word_at 1)), (#array, #key));
  token t := Z.land t word_max;
|}.

Definition a_ticket : shown_lock := two_words "ticket" ticket.
Definition a_twa : shown_lock := two_words "twa" (twa slots threshold).
Definition a_one_word : shown_lock := {|
  shown := "one-word";
  code := one_word slots threshold;
  words grant others := [("word", Z.land (grant + others) GRANT * TICKET + Z.land grant GRANT)];
  value := (#(word_at 0), (#array, #key));
  token t := Z.land t GRANT;
|}.

Fixpoint put (l : loc) (xs : list Z) (h : gmap loc (option val)) : gmap loc (option val) :=
  match xs with [] => h | x :: xs => <[l := Some #x]> (put (l +ₗ 1) xs h) end.

Definition array_heap : gmap loc (option val) := put array (replicate (Z.to_nat slots) slots_hold) ∅.

Definition heap_of (L : shown_lock) (grant others : Z) : state :=
  {| heap := put (word_at 0) (words L grant others).*2 array_heap; used_proph_id := ∅ |}.

Definition show_word (L : shown_lock) (l : loc) : string :=
  match words L 0 0 !! Z.to_nat (loc_car l) with
  | Some (name, _) => name
  | None => "slot " +:+ pretty (loc_car l - loc_car array)
  end.

Fixpoint show (L : shown_lock) (v : val) : string :=
  match v with
  | LitV (LitInt x) => pretty x
  | LitV (LitBool b) => if b then "true" else "false"
  | LitV LitUnit => "()"
  | LitV (LitLoc l) => show_word L l
  | PairV (PairV (LitV (LitInt mask)) (LitV (LitInt x))) (LitV (LitBool b)) =>
    "Awaited { mask: " +:+ pretty mask +:+ ", value: " +:+ pretty x +:+
    ", is_equal: " +:+ (if b then "true" else "false") +:+ " }"
  | InjLV _ => "None"
  | InjRV v => "Some(" +:+ show L v +:+ ")"
  | _ => "?"
  end.

Definition show_call (L : shown_lock) (name : string) (args : list val) : string :=
  foldl (λ s v, s +:+ " " +:+ show L v) name args.

(** How many threads stand between the first and the one that did it; and what it did. *)
Fixpoint whose (e : event) : string * event :=
  match e with
  | Other e => let (who, e) := whose e in ("other: " +:+ who, e)
  | e => ("", e)
  end.

(** An operation and its result make one line, unless others ran between. *)
Fixpoint lines (L : shown_lock) (told : list event) : list string :=
  match told with
  | [] => []
  | e :: rest =>
    match whose e, rest with
    | (who, Calls name args), next :: rest' =>
      match whose next with
      | (who', Returns v) => (who +:+ show_call L name args +:+ " -> " +:+ show L v) :: lines L rest'
      | _ => (who +:+ show_call L name args) :: lines L rest
      end
    | (who, Returns v), _ => (who +:+ "waited -> " +:+ show L v) :: lines L rest
    | _, _ => "?" :: lines L rest
    end
  end.

Definition newline : string := String (Ascii.ascii_of_nat 10) EmptyString.

(** What one call does while [others] are before who comes next. The others unlock one by one. *)
Definition scenario (L : shown_lock) (what : string) (call : expr) (grant others : Z) : string :=
  let unlocks i : expr := unlock (code L) (value L) #(token L (grant + Z.of_nat i)) in
  let prefix := newline +:+ shown L +:+ " " +:+ what +:+ " grant=" +:+ pretty grant +:+
                " others=" +:+ pretty others +:+ ": " in
  match run (Z.to_nat 20000) false (unlocks <$> seq 0 (Z.to_nat others)) call (heap_of L grant others) with
  | Some (told, v, _, _) =>
    foldr (λ line all, prefix +:+ line +:+ all) (prefix +:+ what +:+ " -> " +:+ show L v) (lines L told)
  | None => prefix +:+ "stuck"
  end.

Definition grants : list Z := [0; 65534; 65535; word_max - 1; word_max].

Definition for_grants (f : Z → string) : string := foldr (λ grant all, f grant +:+ all) newline grants.

Definition locks_of (L : shown_lock) : string := for_grants (λ grant,
  foldr (λ others all, scenario L "lock" (lock (code L) (value L)) grant others +:+ all) "" [0; 1; 2; 3; 4]).

Definition unlocks_of (L : shown_lock) : string := for_grants (λ grant,
  foldr (λ others all,
    scenario L "unlock" (unlock (code L) (value L) #(token L grant)) grant others +:+ all) "" [1; 2; 3; 4]).

Definition try_locks : string := for_grants (λ grant,
  foldr (λ others all,
    scenario a_one_word "try_lock" (one_word_try_lock (value a_one_word)) grant others +:+ all) "" [0; 1]).

Eval vm_compute in locks_of a_ticket.
Eval vm_compute in unlocks_of a_ticket.
Eval vm_compute in locks_of a_twa.
Eval vm_compute in unlocks_of a_twa.
Eval vm_compute in locks_of a_one_word.
Eval vm_compute in unlocks_of a_one_word.
Eval vm_compute in try_locks.
