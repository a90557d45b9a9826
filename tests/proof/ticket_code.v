(* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 *)

(** The ticket lock (rust/locks/ticket.rs), step for step.

    A lock is ((ticket, grant), (slots, key)). This lock has no use for the last two. TWA has. *)

From iris.heap_lang Require Import lang notation.
From handover Require Import word_code.

Definition ticket_word (lk : expr) : expr := Fst (Fst lk).
Definition grant_word (lk : expr) : expr := Snd (Fst lk).

Definition draw : val := λ: "lock", fetch_add_relaxed (ticket_word "lock") #1.

Definition distance_acquire : val := λ: "lock" "ticket",
  wrapping_sub "ticket" (load_acquire (grant_word "lock")).

Definition wait_for_grant : val := λ: "lock" "ticket",
  wait_acquire (grant_word "lock") (awaited_is "ticket");;
  #().

Definition hand_over : val := λ: "lock" "ticket",
  let: "next" := wrapping_add "ticket" #1 in
  store_release (grant_word "lock") "next";;
  "next".

Definition ticket_new : val := λ: "world" "first" "key",
  ((ref "first", ref "first"), ("world", "key")).

Definition ticket_lock : val := λ: "lock",
  let: "ticket" := draw "lock" in
  (if: distance_acquire "lock" "ticket" ≠ #0 then wait_for_grant "lock" "ticket" else #());;
  "ticket".

Definition ticket_unlock : val := λ: "lock" "ticket",
  hand_over "lock" "ticket";;
  #().

Definition ticket : lock_code := {|
  new_world := λ: <>, #();
  new_lock := ticket_new;
  lock := ticket_lock;
  unlock := ticket_unlock;
  places := word_max;
|}.
