(* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 *)

(** What the theorems rest on. Coq answers each line. *)

From handover Require Import ticket_proof twa_proof one_word_proof adequacy.
From handover Require Import atomic_lock trace.

Print Assumptions ticket_is_a_lock.
Print Assumptions twa_is_a_lock.
Print Assumptions one_word_is_a_lock.
Print Assumptions one_word_try_lock_spec.
Print Assumptions words_fifo.
Print Assumptions one_word_fifo.
Print Assumptions ticket_excludes.
Print Assumptions twa_excludes.
Print Assumptions one_word_excludes.
Print Assumptions atomic_lock_spec.
Print Assumptions atomic_unlock_spec.
Print Assumptions run_sound.
