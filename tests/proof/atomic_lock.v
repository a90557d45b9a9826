(* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 *)

(** A logically atomic specification of every lock here.

    The state says whether the lock is held. Anybody may own it, in an invariant of their own. A
    thread acquires in one step, at which the lock is free, and releases in one step. *)

From iris.base_logic.lib Require Import ghost_var.
From iris.program_logic Require Import atomic.
From iris.heap_lang Require Import proofmode notation.
From handover Require Import word_code lock_spec.

Section atomic_lock.
  Context `{!heapGS Σ, !ghost_varG Σ bool} {L : lock_code} (I : is_a_lock L).

  Definition state (γ : gname) (held : bool) : iProp Σ := ghost_var γ (1/2) held.

  (** What the lock protects is the other half of its state. *)
  Definition is_atomic_lock (γ : gname) (γl : name _ I) (lk : val) : iProp Σ :=
    is_lock _ I γl lk (ghost_var γ (1/2) false).

  Definition holds (γ : gname) (γl : name _ I) (token : val) : iProp Σ :=
    locked _ I γl token ∗ ghost_var γ (1/2) true.

  Theorem new_atomic_lock_spec (world : val) (first key : Z) (N : nat) :
    (0 ≤ first < 2 ^ 32)%Z → (N ≤ places L)%Z →
    {{{ is_world _ I world }}}
      new_lock L world #first #key
    {{{ γ γl lk, RET lk; is_atomic_lock γ γl lk ∗ permits _ I γl N ∗ state γ false }}}.
  Proof.
    iIntros (?? Φ) "Hw HΦ". iMod (ghost_var_alloc false) as (γ) "[Hs Hr]".
    wp_apply (new_lock_spec _ I world first key N (ghost_var γ (1/2) false) with "[$Hw $Hr]")
      as (lk γl) "[Hlk HP]"; [done..|].
    iApply "HΦ". iFrame.
  Qed.

  Theorem atomic_lock_spec γ γl (lk : val) :
    is_atomic_lock γ γl lk -∗ permits _ I γl 1 -∗
    <<{ ∀∀ held, state γ held }>> lock L lk @ ∅
    <<{ ∃∃ token, ⌜held = false⌝ ∗ state γ true | RET token; holds γ γl token }>>.
  Proof.
    iIntros "Hlk HP" (Φ) "AU". iApply wp_fupd.
    wp_apply (lock_spec _ I with "[$Hlk $HP]") as (token) "[Hl Hr]".
    iMod "AU" as (held) "[Hs [_ Hclose]]".
    iDestruct (ghost_var_agree with "Hs Hr") as %->.
    iMod (ghost_var_update_halves true with "Hs Hr") as "[Hs Hr]".
    iMod ("Hclose" with "[$Hs //]") as "HΦ". iApply "HΦ". by iFrame.
  Qed.

  Theorem atomic_unlock_spec γ γl (lk token : val) :
    is_atomic_lock γ γl lk -∗ holds γ γl token -∗
    <<{ ∀∀ held, state γ held }>> unlock L lk token @ ∅
    <<{ ⌜held = true⌝ ∗ state γ false | RET #(); permits _ I γl 1 }>>.
  Proof.
    iIntros "Hlk [Hl Hr]" (Φ) "AU". iApply fupd_wp.
    iMod "AU" as (held) "[Hs [_ Hclose]]".
    iDestruct (ghost_var_agree with "Hs Hr") as %->.
    iMod (ghost_var_update_halves false with "Hs Hr") as "[Hs Hr]".
    iMod ("Hclose" with "[$Hs //]") as "HΦ". iModIntro.
    wp_apply (unlock_spec _ I with "[$Hlk $Hl $Hr]") as "HP". by iApply "HΦ".
  Qed.
End atomic_lock.
