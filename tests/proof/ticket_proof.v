(* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 *)

(** The ticket lock excludes. *)

From iris.base_logic.lib Require Import invariants.
From iris.program_logic Require Import atomic.
From iris.heap_lang Require Import proofmode notation.
From handover Require Import lock_spec word_code word_proof queue ticket_code.

Local Open Scope Z_scope.

(** The program touches memory by the operations of words alone. *)
Lemma ticket_by_words : forallb by_words_val [ticket_lock; ticket_unlock] = true.
Proof. vm_compute. reflexivity. Qed.

Lemma wrap_small x : 0 ≤ x < 2 ^ 32 → wrap x = x.
Proof. apply Z.mod_small. Qed.

Lemma wrap_add x y : wrap (wrap x + y) = wrap (x + y).
Proof. apply Zplus_mod_idemp_l. Qed.

Lemma wrap_sub x y : wrap (wrap x - wrap y) = wrap (x - y).
Proof. symmetry. apply Zminus_mod. Qed.

(** Two words hold the low bits of the ticket that comes next and of the one that is served. *)
Section two_words.
  Context `{!heapGS Σ, !queueG Σ}.
  Implicit Types (γ : queue_name) (n o t : Z) (N : nat) (R : iProp Σ).

  Definition lockN : namespace := nroot .@ "lock".

  Definition words_inv γ N R (ticket grant : loc) : iProp Σ :=
    ∃ n o, ticket ↦ #(wrap n) ∗ grant ↦ #(wrap o) ∗ counters γ N n o ∗ entry γ R o.

  Definition is_words γ (lk : val) R : iProp Σ :=
    ∃ (N : nat) (ticket grant : loc) (rest : val), ⌜lk = ((#ticket, #grant), rest)%V⌝ ∗
      ⌜N < 2 ^ 32⌝ ∗ inv lockN (words_inv γ N R ticket grant).

  (** The owner's token is its ticket's low bits. *)
  Definition locked_words γ (token : val) : iProp Σ := ∃ t, ⌜token = #(wrap t)⌝ ∗ owns γ t.

  Lemma locked_words_exclusive γ token token' :
    locked_words γ token -∗ locked_words γ token' -∗ False.
  Proof. iIntros "(% & _ & H) (% & _ & H')". iApply (owns_exclusive with "H H'"). Qed.

  Lemma ticket_new_spec (first key : Z) N R world :
    0 ≤ first < 2 ^ 32 → N < 2 ^ 32 →
    {{{ R }}} ticket_new world #first #key
    {{{ (ticket grant : loc) γ, RET ((#ticket, #grant), (world, #key));
        is_words γ ((#ticket, #grant), (world, #key)) R ∗ permits γ N }}}.
  Proof.
    iIntros (? ? Φ) "HR HΦ". wp_lam. wp_pures.
    wp_alloc grant as "Hg". wp_alloc ticket as "Ht". wp_pures.
    iMod (queue_alloc R N first with "HR") as (γ) "(Hc & He & HP)".
    iMod (inv_alloc lockN _ (words_inv γ N R ticket grant) with "[Ht Hg Hc He]") as "#Hinv".
    { iNext. iExists first, first. rewrite wrap_small //. iFrame. }
    iApply "HΦ". iFrame "HP". iModIntro. by repeat iExists _; iFrame "Hinv".
  Qed.

  Lemma draw_spec γ lk R :
    {{{ is_words γ lk R ∗ permits γ 1 }}} draw lk {{{ t, RET #(wrap t); issued γ t }}}.
  Proof.
    iIntros (Φ) "[(%N & %ticket & %grant & %rest & -> & % & #Hinv) HP] HΦ".
    wp_lam. wp_pures. awp_apply fetch_add_relaxed_spec.
    iInv "Hinv" as (n o) "(>Ht & >Hg & >Hc & He)".
    iAaccIntro with "Ht".
    { iIntros "Ht !>". iFrame. }
    iIntros "Ht". iMod (queue_draw with "Hc HP") as "(_ & Hc & Hi)".
    rewrite wrap_add. iModIntro. iSplitR "Hi HΦ"; first by iFrame.
    by iApply "HΦ".
  Qed.

  (** On distance zero the caller owns the lock. *)
  Lemma distance_acquire_spec γ lk R t :
    {{{ is_words γ lk R ∗ issued γ t }}} distance_acquire lk #(wrap t)
    {{{ d, RET #d; if bool_decide (d = 0) then owns γ t ∗ R else issued γ t }}}.
  Proof.
    iIntros (Φ) "[(%N & %ticket & %grant & %rest & -> & % & #Hinv) Hi] HΦ".
    wp_lam. wp_pures. awp_apply load_acquire_spec.
    iInv "Hinv" as (n o) "(>Ht & >Hg & >Hc & He)".
    iAaccIntro with "Hg".
    { iIntros "Hg !>". iFrame. }
    iIntros "Hg". iMod (queue_look (2 ^ 32) with "Hi Hc He") as "(Hc & He & Hres)"; first lia.
    iModIntro. iSplitR "Hres HΦ"; first by iFrame.
    wp_pures. rewrite land_max wrap_sub. by iApply "HΦ".
  Qed.

  Lemma wait_for_grant_spec γ lk R t :
    {{{ is_words γ lk R ∗ issued γ t }}} wait_for_grant lk #(wrap t)
    {{{ RET #(); owns γ t ∗ R }}}.
  Proof.
    iIntros (Φ) "[(%N & %ticket & %grant & %rest & -> & % & #Hinv) Hi] HΦ".
    wp_lam. wp_pures. awp_apply wait_acquire_spec.
    iInv "Hinv" as (n o) "(>Ht & >Hg & >Hc & He)".
    iAaccIntro with "Hg".
    { iIntros "Hg !>". iFrame. }
    iIntros "[Hg %Heq]". iMod (queue_look (2 ^ 32) with "Hi Hc He") as "(Hc & He & Hres)"; first lia.
    apply holds_equal in Heq. rewrite land_max /wrap Zmod_mod in Heq.
    rewrite Zminus_mod Heq Z.sub_diag. iDestruct "Hres" as "[Ho HR]".
    iModIntro. iSplitR "Ho HR HΦ"; first by iFrame.
    wp_pures. iApply "HΦ". by iFrame.
  Qed.

  Lemma hand_over_spec γ lk R t :
    {{{ is_words γ lk R ∗ owns γ t ∗ R }}} hand_over lk #(wrap t)
    {{{ RET #(wrap (t + 1)); permits γ 1 }}}.
  Proof.
    iIntros (Φ) "((%N & %ticket & %grant & %rest & -> & % & #Hinv) & Ho & HR) HΦ".
    wp_lam. wp_pures. rewrite ?land_max ?wrap_add. awp_apply store_release_spec.
    iInv "Hinv" as (n o) "(>Ht & >Hg & >Hc & He)".
    iAaccIntro with "Hg".
    { iIntros "Hg !>". iFrame. }
    iIntros "Hg". iMod (queue_leave with "Ho HR Hc He") as (->) "(Hc & He & HP)".
    iModIntro. iSplitR "HP HΦ"; first by iFrame.
    wp_pures. by iApply "HΦ".
  Qed.

  (** While a thread owns the lock, whoever waits has drawn later. *)
  Theorem words_fifo γ lk R t t' :
    is_words γ lk R -∗ owns γ t -∗ issued γ t' ={⊤}=∗ ⌜t < t'⌝ ∗ owns γ t ∗ issued γ t'.
  Proof.
    iIntros "(%N & %ticket & %grant & %rest & -> & % & #Hinv) Ho Hi".
    iInv "Hinv" as (n o) "(>Ht & >Hg & >Hc & He)".
    iMod (queue_fifo with "Ho Hi Hc He") as "(%Hlt & Ho & Hi & Hc & He)".
    iModIntro. iSplitR "Ho Hi"; first by iFrame. iModIntro. by iFrame.
  Qed.
End two_words.

Section ticket.
  Context `{!heapGS Σ, !queueG Σ}.

  Lemma ticket_lock_spec γ lk R :
    {{{ is_words γ lk R ∗ permits γ 1 }}} ticket_lock lk
    {{{ token, RET token; locked_words γ token ∗ R }}}.
  Proof.
    iIntros (Φ) "[#Hlk HP] HΦ". wp_lam.
    wp_apply (draw_spec with "[$Hlk $HP]") as (t) "Hi". wp_pures.
    wp_apply (distance_acquire_spec with "[$Hlk $Hi]") as (d) "Hd". wp_pures.
    rewrite ?lit_int_eq. destruct (bool_decide_reflect (d = 0)) as [->|]; wp_pures.
    - iApply "HΦ". iDestruct "Hd" as "[? $]". by iFrame.
    - wp_apply (wait_for_grant_spec with "[$Hlk $Hd]") as "[? ?]". wp_pures.
      iApply "HΦ". by iFrame.
  Qed.

  Lemma ticket_unlock_spec γ lk R token :
    {{{ is_words γ lk R ∗ locked_words γ token ∗ R }}} ticket_unlock lk token
    {{{ RET #(); permits γ 1 }}}.
  Proof.
    iIntros (Φ) "(#Hlk & (%t & -> & Ho) & HR) HΦ". wp_lam. wp_pures.
    wp_apply (hand_over_spec with "[$Hlk $Ho $HR]") as "HP". wp_pures. by iApply "HΦ".
  Qed.

  Program Definition ticket_is_a_lock : is_a_lock ticket := {|
    is_world _ := True%I;
    is_lock := is_words;
    lock_spec.permits := permits;
    locked := locked_words;
    lock_spec.permits_split := permits_split;
    locked_exclusive := locked_words_exclusive;
    lock_spec.lock_spec := ticket_lock_spec;
    lock_spec.unlock_spec := ticket_unlock_spec;
  |}.
  Next Obligation. iIntros (Φ) "_ HΦ". wp_lam. by iApply "HΦ". Qed.
  Next Obligation.
    iIntros (world first key N R ? HN Φ) "[_ HR] HΦ". rewrite /= /word_max in HN.
    wp_apply (ticket_new_spec first key N R world with "HR") as (???) "Hlk"; [done|lia|]. by iApply "HΦ".
  Qed.
End ticket.
