(* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 *)

(** TWA in one word (rust/locks/one_word.rs), step for step: the next ticket in the high half, the
    grant in the low half.

    A lock is (word, (array, key)). The world bounds no threads, so each waiter checks for room. *)

From iris.heap_lang Require Import lang notation.
From handover Require Import word_code twa_code.

(** One ticket, in the word. *)
Definition TICKET : Z := 65536.
(** The grant's bits, and also the places for threads. *)
Definition GRANT : Z := 65535.

Definition ticket_of (word : expr) : expr := BinOp ShiftROp word #16.

Definition distance (ticket grant : expr) : expr := BinOp AndOp (wrapping_sub ticket grant) #GRANT.

Section one_word.
  Context (slots threshold : Z).

  Definition one_word_new : val := λ: "world" "first" "key",
    let: "first" := BinOp AndOp "first" #GRANT in
    (ref (BinOp OrOp (BinOp ShiftLOp "first" #16) "first"), ("world", "key")).

  Definition one_word_slot : val := λ: "lock" "ticket",
    slot slots "lock" (BinOp AndOp "ticket" #GRANT).

  (** The program ends: a thread that gets here gets stuck. *)
  Definition overcrowded : val := λ: <>, #() #().

  Definition one_word_wait_long_term : val := rec: "wait_long_term" "lock" "slot" "ticket" :=
    let: "seen" := load_acquire "slot" in
    if: distance "ticket" (load_relaxed (Fst "lock")) ≤ #threshold then #() else
      wait_acquire "slot" (awaited_not "seen");;
      "wait_long_term" "lock" "slot" "ticket".

  Definition one_word_wait : val := λ: "lock" "ticket" "ahead",
    (if: #GRANT ≤ "ahead" then overcrowded #() else #());;
    (if: #threshold < "ahead" then
      one_word_wait_long_term "lock" (one_word_slot "lock" "ticket") "ticket"
    else #());;
    wait_acquire (Fst "lock") (awaited_bits #GRANT "ticket");;
    #().

  Definition one_word_lock : val := λ: "lock",
    let: "word" := fetch_add_acquire (Fst "lock") #TICKET in
    let: "ticket" := ticket_of "word" in
    let: "ahead" := distance "ticket" "word" in
    (if: "ahead" ≠ #0 then one_word_wait "lock" "ticket" "ahead" else #());;
    "ticket".

  Definition one_word_try_lock : val := λ: "lock",
    let: "word" := load_relaxed (Fst "lock") in
    let: "ticket" := ticket_of "word" in
    if: distance "ticket" "word" ≠ #0 then NONE else
      if: cmpxchg_acquire (Fst "lock") "word" (wrapping_add "word" #TICKET) then SOME "ticket"
      else NONE.

  Definition one_word_unlock : val := λ: "lock" "ticket",
    let: "step" := if: "ticket" = #GRANT then wrapping_sub #1 #TICKET else #1 in
    let: "word" := fetch_add_release (Fst "lock") "step" in
    if: #(Z.min (threshold + 1) word_max) < distance (ticket_of "word") "ticket" then
      inc_release (one_word_slot "lock" (wrapping_add "ticket" #(1 + threshold)))
    else #().

  Definition one_word : lock_code := {|
    new_world := slots_new slots;
    new_lock := one_word_new;
    lock := one_word_lock;
    unlock := one_word_unlock;
    places := GRANT;
  |}.
End one_word.
