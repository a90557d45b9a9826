(* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 *)

(** Closed theorems: no run of the client gets stuck, and whatever it returns are the right counts. *)

From iris.heap_lang Require Import adequacy notation proofmode.
From handover Require Import word_code lock_spec queue client.
From handover Require Import ticket_code twa_code one_word_code.
From handover Require Import ticket_proof twa_proof one_word_proof.

Definition countsΣ : gFunctors := #[heapΣ; queueΣ; clientΣ].

Lemma client_adequate L (I : ∀ `{!heapGS countsΣ}, is_a_lock L) (n : nat) (first key key' : Z) σ :
  (0 ≤ first < 2 ^ 32)%Z → 0 < n → (n ≤ places L)%Z →
  adequate NotStuck (client L n first key key') σ (λ v _, v = (#n, #n)%V).
Proof.
  intros ???. apply (heap_adequacy countsΣ). iIntros (?) "_".
  by iApply (client_spec (I _) with "[//]"); [..|iIntros "!> _"].
Qed.

Theorem ticket_excludes (n : nat) (first key key' : Z) σ :
  (0 ≤ first < 2 ^ 32)%Z → (0 < n < 2 ^ 32)%Z →
  adequate NotStuck (client ticket n first key key') σ (λ v _, v = (#n, #n)%V).
Proof.
  intros. apply client_adequate; [intros; apply ticket_is_a_lock|done|lia|].
  rewrite /= /word_max. lia.
Qed.

(** The two locks share an array of any length. They may have the same key. *)
Theorem twa_excludes (slots threshold : Z) (n : nat) (first key key' : Z) σ :
  (0 < slots)%Z → (0 ≤ first < 2 ^ 32)%Z → (0 < n < 2 ^ 32)%Z →
  adequate NotStuck (client (twa slots threshold) n first key key') σ (λ v _, v = (#n, #n)%V).
Proof.
  intros. apply client_adequate; [intros; by apply twa_is_a_lock|done|lia|].
  rewrite /= /word_max. lia.
Qed.

Theorem one_word_excludes (slots threshold : Z) (n : nat) (first key key' : Z) σ :
  (0 < slots)%Z → (0 ≤ first < 2 ^ 32)%Z → (0 < n < 2 ^ 16)%Z →
  adequate NotStuck (client (one_word slots threshold) n first key key') σ (λ v _, v = (#n, #n)%V).
Proof.
  intros. apply client_adequate; [intros; by apply one_word_is_a_lock|done|lia|].
  rewrite /= /GRANT. lia.
Qed.
