(* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 *)

(** TWA excludes, whatever the slots hold: the array is shared by all locks of a world. *)

From iris.base_logic.lib Require Import invariants.
From iris.program_logic Require Import atomic.
From iris.heap_lang Require Import proofmode notation.
From iris.heap_lang.lib Require Import array.
From handover Require Import lock_spec word_code word_proof queue ticket_code ticket_proof twa_code.

Local Open Scope Z_scope.

(** The program touches memory by the operations of words alone. *)
Lemma twa_by_words slots threshold :
  forallb by_words_val [twa_lock slots threshold; twa_unlock slots threshold] = true.
Proof. vm_compute. reflexivity. Qed.

Lemma land_le a b : 0 ≤ b → Z.land a b ≤ b.
Proof.
  intros Hb. assert (b - Z.land a b = Z.ldiff b (Z.land a b)).
  { apply Z.sub_nocarry_ldiff, Z.bits_inj'. intros i _.
    rewrite Z.ldiff_spec Z.land_spec Z.bits_0. by destruct (Z.testbit a i), (Z.testbit b i). }
  assert (0 ≤ Z.ldiff b (Z.land a b)) by (apply Z.ldiff_nonneg; by left). lia.
Qed.

(** An array of any length. A word never holds anything but a number. *)
Section slots.
  Context `{!heapGS Σ} (slots : Z).

  Definition slotsN : namespace := nroot .@ "slots".

  Definition slots_inv (array : loc) : iProp Σ :=
    ∃ xs : list Z, ⌜Z.of_nat (length xs) = slots⌝ ∗ array ↦∗ ((λ x : Z, #x) <$> xs).

  Definition is_slots (world : val) : iProp Σ :=
    ∃ array : loc, ⌜world = #array⌝ ∗ inv slotsN (slots_inv array).

  Definition is_slot (s : loc) : iProp Σ :=
    ∃ (array : loc) i, ⌜s = array +ₗ i ∧ 0 ≤ i < slots⌝ ∗ inv slotsN (slots_inv array).

  Lemma slots_new_spec :
    0 < slots → {{{ True }}} slots_new slots #() {{{ world, RET world; is_slots world }}}.
  Proof.
    iIntros (? Φ) "_ HΦ". wp_lam. wp_alloc array as "Ha"; first done.
    iMod (inv_alloc slotsN _ (slots_inv array) with "[Ha]") as "#Hinv".
    { iNext. iExists (replicate (Z.to_nat slots) 0). rewrite fmap_replicate length_replicate.
      iFrame. iPureIntro. lia. }
    iApply "HΦ". iExists array. by iFrame "Hinv".
  Qed.

  Lemma slots_take array i :
    0 ≤ i < slots →
    slots_inv array ⊢ ∃ x : Z, (array +ₗ i) ↦ #x ∗ ∀ y : Z, (array +ₗ i) ↦ #y -∗ slots_inv array.
  Proof.
    iIntros (?) "(%xs & %Hlen & Ha)".
    destruct (lookup_lt_is_Some_2 xs (Z.to_nat i)) as [x Hx]; first lia.
    iDestruct (update_array _ _ _ (Z.to_nat i) #x with "Ha") as "[Hx Ha]".
    { by rewrite list_lookup_fmap Hx. }
    rewrite Z2Nat.id; last lia. iExists x. iFrame "Hx". iIntros (y) "Hy".
    iExists (<[Z.to_nat i := y]> xs). rewrite length_insert list_fmap_insert.
    iSplit; first done. by iApply "Ha".
  Qed.

  Lemma slot_load_spec (s : loc) Φ :
    is_slot s -∗ (∀ x : Z, Φ #x) -∗ WP load_acquire #s {{ Φ }}.
  Proof.
    iIntros "(%array & %i & [-> %] & #Hinv) HΦ". awp_apply load_acquire_spec.
    iInv "Hinv" as ">Ha". iDestruct (slots_take with "Ha") as (x) "[Hx Ha]"; first done.
    iAaccIntro with "Hx"; iIntros "Hx !>"; iDestruct ("Ha" with "Hx") as "$"; first by iIntros.
    by iApply "HΦ".
  Qed.

  Lemma slot_wait_spec (s : loc) (mask value : Z) (is_equal : bool) Φ :
    is_slot s -∗ (∀ x : Z, Φ #x) -∗ WP wait_acquire #s (#mask, #value, #is_equal)%V {{ Φ }}.
  Proof.
    iIntros "(%array & %i & [-> %] & #Hinv) HΦ". awp_apply wait_acquire_spec.
    iInv "Hinv" as ">Ha". iDestruct (slots_take with "Ha") as (x) "[Hx Ha]"; first done.
    iAaccIntro with "Hx".
    { iIntros "Hx !>". iDestruct ("Ha" with "Hx") as "$". by iIntros. }
    iIntros "[Hx _] !>". iDestruct ("Ha" with "Hx") as "$". by iApply "HΦ".
  Qed.

  Lemma slot_notify_spec (s : loc) Φ :
    is_slot s -∗ Φ #() -∗ WP inc_release #s {{ Φ }}.
  Proof.
    iIntros "(%array & %i & [-> %] & #Hinv) HΦ". awp_apply inc_release_spec.
    iInv "Hinv" as ">Ha". iDestruct (slots_take with "Ha") as (x) "[Hx Ha]"; first done.
    iAaccIntro with "Hx"; iIntros "Hx !>"; iDestruct ("Ha" with "Hx") as "$"; first by iIntros.
    by iApply "HΦ".
  Qed.

  (** Every index is one of the array, whatever the key is, and even if [slots] is no power of two. *)
  Lemma slot_spec (words world : val) (key t : Z) :
    0 < slots →
    {{{ is_slots world }}} slot slots (words, (world, #key))%V #t
    {{{ (s : loc), RET #s; is_slot s }}}.
  Proof.
    iIntros (? Φ) "(%array & -> & #Hinv) HΦ". wp_lam. wp_pures. wp_lam. wp_pures.
    iApply "HΦ". iModIntro. iExists _, _. iFrame "Hinv". iPureIntro. split; first done.
    split; first by apply Z.land_nonneg; right; lia.
    apply (Z.le_lt_trans _ (slots - 1)); last lia. apply land_le. lia.
  Qed.
End slots.

Section twa.
  Context `{!heapGS Σ, !queueG Σ} (slots threshold : Z).
  Implicit Types (γ : queue_name) (t : Z) (R : iProp Σ).

  Definition is_twa γ (lk : val) R : iProp Σ :=
    ∃ (words world : val) (key : Z), ⌜lk = (words, (world, #key))%V⌝ ∗
      is_words γ lk R ∗ is_slots slots world.

  Lemma distance_relaxed_spec γ lk R t :
    {{{ is_words γ lk R }}} distance_relaxed lk #(wrap t) {{{ (d : Z), RET #d; True }}}.
  Proof.
    iIntros (Φ) "(%N & %ticket & %grant & %rest & -> & % & #Hinv) HΦ".
    wp_lam. wp_pures. awp_apply load_relaxed_spec.
    iInv "Hinv" as (n o) "(>Ht & >Hg & >Hc & He)".
    iAaccIntro with "Hg".
    { iIntros "Hg !>". iFrame. }
    iIntros "Hg !>". iSplitR "HΦ"; first by iFrame. wp_pures. by iApply "HΦ".
  Qed.

  Lemma twa_wait_long_term_spec γ lk R (s : loc) t :
    {{{ is_words γ lk R ∗ is_slot slots s }}} twa_wait_long_term threshold lk #s #(wrap t)
    {{{ RET #(); True }}}.
  Proof.
    iIntros (Φ) "[#Hlk #Hs] HΦ". iLöb as "IH". wp_lam. wp_pures.
    wp_apply (slot_load_spec with "Hs"). iIntros (x). wp_pures.
    wp_apply (distance_relaxed_spec with "Hlk") as (d) "_". wp_pures.
    case_bool_decide; wp_pures; first by iApply "HΦ".
    wp_apply (slot_wait_spec with "Hs"). iIntros (y). wp_pures. by iApply "IH".
  Qed.

  Lemma twa_wait_spec γ lk R t (d : Z) :
    0 < slots →
    {{{ is_twa γ lk R ∗ issued γ t }}} twa_wait slots threshold lk #(wrap t) #d
    {{{ RET #(); owns γ t ∗ R }}}.
  Proof.
    iIntros (? Φ) "[(%words & %world & %key & -> & #Hlk & #Hw) Hi] HΦ". wp_lam. wp_pures.
    case_bool_decide; wp_pures.
    - wp_apply (slot_spec with "Hw") as (s) "#Hs"; first done.
      wp_apply (twa_wait_long_term_spec with "[$Hlk $Hs]") as "_". wp_pures.
      by wp_apply (wait_for_grant_spec with "[$Hlk $Hi]").
    - by wp_apply (wait_for_grant_spec with "[$Hlk $Hi]").
  Qed.

  Lemma twa_lock_spec γ lk R :
    0 < slots →
    {{{ is_twa γ lk R ∗ permits γ 1 }}} twa_lock slots threshold lk
    {{{ token, RET token; locked_words γ token ∗ R }}}.
  Proof.
    iIntros (? Φ) "[#Htwa HP] HΦ". iDestruct "Htwa" as (words world key) "(-> & Hlk & Hw)".
    wp_lam. wp_apply (draw_spec with "[$Hlk $HP]") as (t) "Hi". wp_pures.
    wp_apply (distance_acquire_spec with "[$Hlk $Hi]") as (d) "Hd". wp_pures.
    rewrite ?lit_int_eq. destruct (bool_decide_reflect (d = 0)) as [->|]; wp_pures.
    - iApply "HΦ". iDestruct "Hd" as "[? $]". by iFrame.
    - wp_apply (twa_wait_spec with "[$Hd]") as "[? ?]"; [done|by repeat iExists _; iFrame "Hlk Hw"|].
      wp_pures. iApply "HΦ". by iFrame.
  Qed.

  Lemma twa_unlock_spec γ lk R token :
    0 < slots →
    {{{ is_twa γ lk R ∗ locked_words γ token ∗ R }}} twa_unlock slots threshold lk token
    {{{ RET #(); permits γ 1 }}}.
  Proof.
    iIntros (? Φ) "((%words & %world & %key & -> & #Hlk & #Hw) & (%t & -> & Ho) & HR) HΦ".
    wp_lam. wp_pures. wp_apply (hand_over_spec with "[$Hlk $Ho $HR]") as "HP". wp_pures.
    wp_apply (slot_spec with "Hw") as (s) "#Hs"; first done.
    wp_apply (slot_notify_spec with "Hs"). by iApply "HΦ".
  Qed.

  Program Definition twa_is_a_lock (Hslots : 0 < slots) : is_a_lock (twa slots threshold) := {|
    is_world := is_slots slots;
    is_lock := is_twa;
    lock_spec.permits := permits;
    locked := locked_words;
    lock_spec.permits_split := permits_split;
    locked_exclusive := locked_words_exclusive;
    new_world_spec := slots_new_spec _ Hslots;
    lock_spec.lock_spec γ lk R := twa_lock_spec γ lk R Hslots;
    lock_spec.unlock_spec γ lk R token := twa_unlock_spec γ lk R token Hslots;
  |}.
  Next Obligation.
    iIntros (_ world first key N R ? HN Φ) "[#Hw HR] HΦ". rewrite /= /word_max in HN.
    wp_apply (ticket_new_spec first key N R world with "HR") as (???) "[#Hlk HP]"; [done|lia|].
    iApply "HΦ". iFrame "HP". repeat iExists _. by iFrame "Hlk Hw".
  Qed.
End twa.
