(* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 *)

(** TWA (rust/locks/twa.rs), step for step: the ticket lock with a waiting array.

    [slots] is how many slots the array has, [threshold] is `LONG_TERM_THRESHOLD`. The world is the
    array. A lock is ((ticket, grant), (array, key)). *)

From iris.heap_lang Require Import lang notation.
From handover Require Import word_code ticket_code.

Section twa.
  Context (slots threshold : Z).

  Definition slots_new : val := λ: <>, AllocN #slots #0.

  Definition slot_index : val := λ: "key" "ticket",
    BinOp AndOp (BinOp XorOp (wrapping_mul "ticket" #127) "key") #(slots - 1).

  (** The slot in which the holder of the ticket waits, long term. *)
  Definition slot : val := λ: "lock" "ticket",
    Fst (Snd "lock") +ₗ slot_index (Snd (Snd "lock")) "ticket".

  Definition distance_relaxed : val := λ: "lock" "ticket",
    wrapping_sub "ticket" (load_relaxed (grant_word "lock")).

  Definition twa_wait_long_term : val := rec: "wait_long_term" "lock" "slot" "ticket" :=
    let: "seen" := load_acquire "slot" in
    if: distance_relaxed "lock" "ticket" ≤ #threshold then #() else
      wait_acquire "slot" (awaited_not "seen");;
      "wait_long_term" "lock" "slot" "ticket".

  Definition twa_wait : val := λ: "lock" "ticket" "distance",
    (if: #threshold < "distance" then
      twa_wait_long_term "lock" (slot "lock" "ticket") "ticket"
    else #());;
    wait_for_grant "lock" "ticket".

  Definition twa_lock : val := λ: "lock",
    let: "ticket" := draw "lock" in
    let: "distance" := distance_acquire "lock" "ticket" in
    (if: "distance" ≠ #0 then twa_wait "lock" "ticket" "distance" else #());;
    "ticket".

  Definition twa_unlock : val := λ: "lock" "ticket",
    let: "next" := hand_over "lock" "ticket" in
    inc_release (slot "lock" (wrapping_add "next" #threshold)).

  Definition twa : lock_code := {|
    new_world := slots_new;
    new_lock := ticket_new;
    lock := twa_lock;
    unlock := twa_unlock;
    places := word_max;
  |}.
End twa.
