(* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 *)

(** TWA in one word excludes, with tickets of 16 bits, and so does its `try_lock`. *)

From iris.base_logic.lib Require Import invariants.
From iris.program_logic Require Import atomic.
From iris.heap_lang Require Import proofmode notation.
From handover Require Import lock_spec word_code word_proof queue twa_code twa_proof one_word_code.

Local Open Scope Z_scope.

(** The program touches memory by the operations of words alone. *)
Lemma one_word_by_words slots threshold :
  forallb by_words_val
    [one_word_lock slots threshold; one_word_try_lock; one_word_unlock slots threshold] = true.
Proof. vm_compute. reflexivity. Qed.

(** What a half holds of a number, and what the word holds of two. *)
Definition half (x : Z) : Z := x `mod` 2 ^ 16.
Definition pack (n o : Z) : Z := half n * 2 ^ 16 + half o.

Lemma half_range x : 0 ≤ half x < 2 ^ 16.
Proof. apply Z.mod_pos_bound. lia. Qed.

Lemma land_grant x : Z.land x GRANT = half x.
Proof. apply (Z.land_ones x 16). lia. Qed.

Lemma half_wrap x : half (wrap x) = half x.
Proof. symmetry. apply Znumtheory.Zmod_div_mod; [done..|]. by exists (2 ^ 16). Qed.

Lemma half_sub x y : half (half x - half y) = half (x - y).
Proof. symmetry. apply Zminus_mod. Qed.

Lemma half_pack n o : half (pack n o) = half o.
Proof. rewrite /half /pack Z.add_comm Z_mod_plus_full. apply Zmod_mod. Qed.

Lemma ticket_of_pack n o : pack n o ≫ 16 = half n.
Proof.
  pose proof (half_range o). rewrite Z.shiftr_div_pow2 // /pack Z.div_add_l // Z.div_small //. lia.
Qed.

Lemma distance_pack t n o : half (wrap (half t - pack n o)) = half (t - o).
Proof.
  rewrite half_wrap /half Zminus_mod -/(half (pack n o)) half_pack.
  by rewrite /half !Zmod_mod -Zminus_mod.
Qed.

Lemma pack_draw n o : wrap (pack n o + TICKET) = pack (n + 1) o.
Proof.
  rewrite /wrap /pack /TICKET /half. pose proof (half_range o) as Ho. rewrite /half in Ho.
  Z.div_mod_to_equations. lia.
Qed.

Lemma pack_next n o : half o ≠ GRANT → wrap (pack n o + 1) = pack n (o + 1).
Proof. rewrite /wrap /pack /GRANT /half. Z.div_mod_to_equations. lia. Qed.

(** At the grant's wrap the carry goes into the ticket, and the step takes it out again. *)
Lemma pack_next_wraps n o : half o = GRANT → wrap (pack n o + wrap (1 - TICKET)) = pack n (o + 1).
Proof. rewrite /wrap /pack /TICKET /GRANT /half. Z.div_mod_to_equations. lia. Qed.

Lemma pack_new first :
  Z.lor (Z.land first GRANT ≪ 16) (Z.land first GRANT) = pack (half first) (half first).
Proof.
  rewrite land_grant -Z.add_nocarry_lor.
  - rewrite Z.shiftl_mul_pow2 // /pack /half !Zmod_mod //.
  - apply Z.bits_inj'. intros i ?. rewrite Z.bits_0 Z.land_spec Z.shiftl_spec // /half.
    rewrite !Z.testbit_mod_pow2 //. destruct (Z.ltb_spec i 16); last by rewrite andb_false_r.
    rewrite (Z.testbit_neg_r _ (i - 16)); last lia. by rewrite andb_false_r.
Qed.

Section one_word.
  Context `{!heapGS Σ, !queueG Σ} (slots threshold : Z).
  Implicit Types (γ : queue_name) (n o t : Z) (N : nat) (R : iProp Σ).

  Definition lockN : namespace := nroot .@ "lock".

  Definition word_inv γ N R (word : loc) : iProp Σ :=
    ∃ n o, word ↦ #(pack n o) ∗ counters γ N n o ∗ entry γ R o.

  Definition is_word γ (word : loc) R : iProp Σ :=
    ∃ N, ⌜N < 2 ^ 16⌝ ∗ inv lockN (word_inv γ N R word).

  Definition is_one_word γ (lk : val) R : iProp Σ :=
    ∃ (word : loc) (world : val) (key : Z), ⌜lk = (#word, (world, #key))%V⌝ ∗
      is_word γ word R ∗ is_slots slots world.

  (** The owner's token is its ticket's low half. *)
  Definition locked_half γ (token : val) : iProp Σ := ∃ t, ⌜token = #(half t)⌝ ∗ owns γ t.

  Lemma locked_half_exclusive γ token token' :
    locked_half γ token -∗ locked_half γ token' -∗ False.
  Proof. iIntros "(% & _ & H) (% & _ & H')". iApply (owns_exclusive with "H H'"). Qed.

  Lemma one_word_new_spec (world : val) (first key : Z) N R :
    N < 2 ^ 16 →
    {{{ is_slots slots world ∗ R }}} one_word_new world #first #key
    {{{ lk γ, RET lk; is_one_word γ lk R ∗ permits γ N }}}.
  Proof.
    iIntros (? Φ) "[#Hw HR] HΦ". wp_lam. wp_pures. rewrite pack_new.
    wp_alloc word as "Hword". wp_pures.
    iMod (queue_alloc R N (half first) with "HR") as (γ) "(Hc & He & HP)".
    iMod (inv_alloc lockN _ (word_inv γ N R word) with "[Hword Hc He]") as "#Hinv".
    { iNext. iExists _, _. iFrame. }
    iApply "HΦ". iFrame "HP". iModIntro. repeat iExists _. by iFrame "Hinv Hw".
  Qed.

  (** One RMW draws the ticket and reads the grant. A place is left, since a permit was. *)
  Lemma one_word_draw_spec γ (word : loc) R (step : Z) Φ :
    (∀ n o, wrap (pack n o + step) = pack (n + 1) o) →
    is_word γ word R -∗ permits γ 1 -∗
    (∀ t o, ⌜half (t - o) < GRANT⌝ -∗
      ▷ (if bool_decide (half (t - o) = 0) then owns γ t ∗ R else issued γ t) -∗
      Φ #(pack t o)) -∗
    WP fetch_add_acquire #word #step {{ Φ }}.
  Proof.
    iIntros (Hstep) "(%N & % & #Hinv) HP HΦ". awp_apply fetch_add_acquire_spec.
    iInv "Hinv" as (n o) "(>Hw & >Hc & He)".
    iAaccIntro with "Hw".
    { iIntros "Hw !>". iFrame. }
    iIntros "Hw". iMod (queue_draw with "Hc HP") as "(% & Hc & Hi)".
    iMod (queue_look (2 ^ 16) with "Hi Hc He") as "(Hc & He & Hres)"; first lia.
    rewrite Hstep. iModIntro. iSplitR "Hres HΦ"; first by iFrame.
    iApply ("HΦ" with "[] Hres"). iPureIntro. rewrite /half /GRANT Z.mod_small; lia.
  Qed.

  Lemma one_word_look_spec (word : loc) γ R Φ :
    is_word γ word R -∗ (∀ n o, Φ #(pack n o)) -∗ WP load_relaxed #word {{ Φ }}.
  Proof.
    iIntros "(%N & % & #Hinv) HΦ". awp_apply load_relaxed_spec.
    iInv "Hinv" as (n o) "(>Hw & >Hc & He)".
    iAaccIntro with "Hw".
    { iIntros "Hw !>". iFrame. }
    iIntros "Hw !>". iSplitR "HΦ"; first by iFrame. by iApply "HΦ".
  Qed.

  Lemma one_word_wait_for_grant_spec γ (word : loc) R t (mask value : Z) Φ :
    (∀ n o, Z.land (pack n o) mask = value → half o = half t) →
    is_word γ word R -∗ issued γ t -∗ (∀ x : Z, owns γ t ∗ ▷ R -∗ Φ #x) -∗
    WP wait_acquire #word (#mask, #value, #true)%V {{ Φ }}.
  Proof.
    iIntros (Hmask) "(%N & % & #Hinv) Hi HΦ". awp_apply wait_acquire_spec.
    iInv "Hinv" as (n o) "(>Hw & >Hc & He)".
    iAaccIntro with "Hw".
    { iIntros "Hw !>". iFrame. }
    iIntros "[Hw %Heq]". iMod (queue_look (2 ^ 16) with "Hi Hc He") as "(Hc & He & Hres)"; first lia.
    apply holds_equal, Hmask in Heq. rewrite /half in Heq.
    rewrite Zminus_mod Heq Z.sub_diag. iDestruct "Hres" as "[>Ho HR]".
    iModIntro. iSplitR "Ho HR HΦ"; first by iFrame.
    iApply "HΦ". iFrame.
  Qed.

  (** Both halves are compared in one step. So a ticket that was drawn meanwhile shows. *)
  Lemma one_word_take_spec γ (word : loc) R n o Φ :
    half (n - o) = 0 →
    is_word γ word R -∗ permits γ 1 -∗
    ((permits γ 1 -∗ Φ #false) ∧ (∀ t, ⌜half t = half n⌝ -∗ owns γ t ∗ ▷ R -∗ Φ #true)) -∗
    WP cmpxchg_acquire #word #(pack n o) #(wrap (pack n o + TICKET)) {{ Φ }}.
  Proof.
    iIntros (Hfree) "(%N & % & #Hinv) HP HΦ". awp_apply cmpxchg_acquire_spec.
    iInv "Hinv" as (n' o') "(>Hw & >Hc & He)".
    iAaccIntro with "Hw".
    { iIntros "Hw !>". iFrame. }
    iIntros "Hw". case_bool_decide as Hsame; last first.
    { iModIntro. iSplitR "HP HΦ"; first by iFrame. by iApply "HΦ". }
    iMod (queue_draw with "Hc HP") as "(% & Hc & Hi)".
    iMod (queue_look (2 ^ 16) with "Hi Hc He") as "(Hc & He & Hres)"; first lia.
    rewrite -Hsame pack_draw.
    assert (half n' = half n ∧ half o' = half o) as [Hn Ho].
    { rewrite -(half_pack n' o') -(ticket_of_pack n' o') Hsame. by rewrite half_pack ticket_of_pack. }
    assert (half (n' - o') = 0) as Hzero by (rewrite -half_sub Hn Ho half_sub //).
    rewrite bool_decide_eq_true_2 //. iDestruct "Hres" as "[>Hown HR]".
    iModIntro. iSplitR "Hown HR HΦ"; first by iFrame.
    iDestruct "HΦ" as "[_ HΦ]". iApply ("HΦ" with "[//]"). iFrame.
  Qed.

  (** The RMW has the next ticket served. *)
  Lemma one_word_hand_over_spec γ (word : loc) R t (step : Z) Φ :
    (∀ n, wrap (pack n t + step) = pack n (t + 1)) →
    is_word γ word R -∗ owns γ t -∗ R -∗
    (∀ n, permits γ 1 -∗ Φ #(pack n t)) -∗
    WP fetch_add_release #word #step {{ Φ }}.
  Proof.
    iIntros (Hstep) "(%N & % & #Hinv) Ho HR HΦ". awp_apply fetch_add_release_spec.
    iInv "Hinv" as (n o) "(>Hw & >Hc & He)".
    iAaccIntro with "Hw".
    { iIntros "Hw !>". iFrame. }
    iIntros "Hw". iMod (queue_leave with "Ho HR Hc He") as (->) "(Hc & He & HP)".
    rewrite Hstep. iModIntro. iSplitR "HP HΦ"; first by iFrame. by iApply "HΦ".
  Qed.

  (** While a thread owns the lock, whoever waits has drawn later. *)
  Theorem one_word_fifo γ lk R t t' :
    is_one_word γ lk R -∗ owns γ t -∗ issued γ t' ={⊤}=∗ ⌜t < t'⌝ ∗ owns γ t ∗ issued γ t'.
  Proof.
    iIntros "(%word & %world & %key & -> & (%N & % & #Hinv) & _) Ho Hi".
    iInv "Hinv" as (n o) "(>Hw & >Hc & He)".
    iMod (queue_fifo with "Ho Hi Hc He") as "(%Hlt & Ho & Hi & Hc & He)".
    iModIntro. iSplitR "Ho Hi"; first by iFrame. iModIntro. by iFrame.
  Qed.

  (** From here on, what a word holds is taken apart by the lemmas above alone. *)
  Local Opaque Z.land pack half.

  Lemma one_word_slot_spec (first world : val) (key t : Z) :
    0 < slots →
    {{{ is_slots slots world }}} one_word_slot slots (first, (world, #key))%V #t
    {{{ (s : loc), RET #s; is_slot slots s }}}.
  Proof.
    iIntros (? Φ) "#Hw HΦ". wp_lam. wp_pures. by wp_apply (slot_spec with "Hw").
  Qed.

  Lemma one_word_wait_long_term_spec γ (word : loc) (rest : val) R (s : loc) t :
    {{{ is_word γ word R ∗ is_slot slots s }}}
      one_word_wait_long_term threshold (#word, rest)%V #s #(half t)
    {{{ RET #(); True }}}.
  Proof.
    iIntros (Φ) "[#Hlk #Hs] HΦ". iLöb as "IH". wp_lam. wp_pures.
    wp_apply (slot_load_spec with "Hs"). iIntros (x). wp_pures.
    wp_apply (one_word_look_spec with "Hlk"). iIntros (n o). wp_pures.
    case_bool_decide; wp_pures; first by iApply "HΦ".
    wp_apply (slot_wait_spec with "Hs"). iIntros (y). wp_pures. by iApply "IH".
  Qed.

  Lemma one_word_wait_spec γ lk R t (ahead : Z) :
    0 < slots → ahead < GRANT →
    {{{ is_one_word γ lk R ∗ issued γ t }}} one_word_wait slots threshold lk #(half t) #ahead
    {{{ RET #(); owns γ t ∗ R }}}.
  Proof.
    iIntros (?? Φ) "[(%word & %world & %key & -> & #Hlk & #Hw) Hi] HΦ". wp_lam. wp_pures.
    rewrite bool_decide_eq_false_2; last lia. wp_pures.
    case_bool_decide; wp_pures.
    1: wp_apply (one_word_slot_spec with "Hw") as (s) "#Hs"; first done.
    1: wp_apply (one_word_wait_long_term_spec with "[$Hlk $Hs]") as "_"; wp_pures.
    all: wp_apply (one_word_wait_for_grant_spec with "Hlk Hi");
      [by intros n o; rewrite ?land_grant half_pack|]; iIntros (x) "[Ho HR]"; wp_pures.
    all: iApply "HΦ"; by iFrame.
  Qed.

  Lemma one_word_lock_spec γ lk R :
    0 < slots →
    {{{ is_one_word γ lk R ∗ permits γ 1 }}} one_word_lock slots threshold lk
    {{{ token, RET token; locked_half γ token ∗ R }}}.
  Proof.
    iIntros (? Φ) "[#Hone HP] HΦ". iDestruct "Hone" as (word world key) "(-> & Hlk & Hw)".
    wp_lam. wp_pures. wp_apply (one_word_draw_spec with "Hlk HP"); first apply pack_draw.
    iIntros (t o) "%Hroom Hd". wp_pures.
    rewrite ?ticket_of_pack ?land_max ?land_grant ?distance_pack ?lit_int_eq.
    destruct (bool_decide_reflect (half (t - o) = 0)); wp_pures.
    - iApply "HΦ". iDestruct "Hd" as "[? $]". by iFrame.
    - wp_apply (one_word_wait_spec with "[$Hd]") as "[? ?]"; [done..|by repeat iExists _; iFrame "Hlk Hw"|].
      wp_pures. iApply "HΦ". by iFrame.
  Qed.

  Lemma one_word_try_lock_spec γ lk R :
    {{{ is_one_word γ lk R ∗ permits γ 1 }}} one_word_try_lock lk
    {{{ v, RET v; (⌜v = NONEV⌝ ∗ permits γ 1) ∨
                  (∃ token, ⌜v = SOMEV token⌝ ∗ locked_half γ token ∗ R) }}}.
  Proof.
    iIntros (Φ) "[(%word & %world & %key & -> & #Hlk & _) HP] HΦ". wp_lam. wp_pures.
    wp_apply (one_word_look_spec with "Hlk"). iIntros (n o). wp_pures.
    rewrite ?ticket_of_pack ?land_max ?land_grant ?distance_pack ?lit_int_eq.
    try case_bool_decide as Hfree; wp_pures; try (iApply "HΦ"; iLeft; by iFrame).
    rewrite ?land_max. wp_apply (one_word_take_spec with "Hlk HP"); first done.
    iSplit; [iIntros "HP"|iIntros (t <-) "[Ho HR]"]; wp_pures; iApply "HΦ".
    - iLeft. by iFrame.
    - iRight. iExists _. by iFrame.
  Qed.

  Lemma one_word_unlock_spec γ lk R token :
    0 < slots →
    {{{ is_one_word γ lk R ∗ locked_half γ token ∗ R }}} one_word_unlock slots threshold lk token
    {{{ RET #(); permits γ 1 }}}.
  Proof.
    iIntros (? Φ) "((%word & %world & %key & -> & #Hlk & #Hw) & (%t & -> & Ho) & HR) HΦ".
    wp_lam. wp_pures. rewrite ?lit_int_eq. try case_bool_decide as Hwrap; wp_pures.
    all: rewrite ?land_max; wp_apply (one_word_hand_over_spec with "Hlk Ho HR");
      [intros ?; by first [apply pack_next|apply pack_next_wraps]|]; iIntros (n) "HP"; wp_pures.
    all: case_bool_decide; wp_pures; last by iApply "HΦ".
    all: wp_apply (one_word_slot_spec with "Hw") as (s) "#Hs"; first done.
    all: wp_apply (slot_notify_spec with "Hs"); by iApply "HΦ".
  Qed.

  Program Definition one_word_is_a_lock (Hslots : 0 < slots) : is_a_lock (one_word slots threshold) := {|
    is_world := is_slots slots;
    is_lock := is_one_word;
    lock_spec.permits := permits;
    locked := locked_half;
    lock_spec.permits_split := permits_split;
    locked_exclusive := locked_half_exclusive;
    new_world_spec := slots_new_spec _ Hslots;
    lock_spec.lock_spec γ lk R := one_word_lock_spec γ lk R Hslots;
    lock_spec.unlock_spec γ lk R token := one_word_unlock_spec γ lk R token Hslots;
  |}.
  Next Obligation.
    iIntros (_ world first key N R _ HN Φ) "[#Hw HR] HΦ". rewrite /= /GRANT in HN.
    wp_apply (one_word_new_spec world first key N R with "[$Hw $HR]") as (lk γ) "[#Hlk HP]"; first lia.
    iApply "HΦ". by iFrame "HP Hlk".
  Qed.
End one_word.
