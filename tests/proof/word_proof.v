(* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 *)

(** Each operation of a word is one atomic step: logically atomic specifications. *)

From iris.heap_lang Require Import proofmode notation.
From iris.program_logic Require Import atomic.
From handover Require Import word_code.

(** What 32 bits hold of a number. *)
Definition wrap (x : Z) : Z := x `mod` 2 ^ 32.

Lemma land_max x : Z.land x word_max = wrap x.
Proof. apply (Z.land_ones x 32). lia. Qed.

(** What the triple ([mask], [value], [is_equal]) awaits. *)
Definition holds (mask value : Z) (is_equal : bool) (now : Z) : bool :=
  bool_decide (bool_decide (Z.land now mask = value) = is_equal).

Lemma holds_equal mask value now : holds mask value true now = true → Z.land now mask = value.
Proof. rewrite /holds. by case (bool_decide_reflect (Z.land now mask = value)). Qed.

Lemma lit_int_eq (x y : Z) : bool_decide (#x = #y) = bool_decide (x = y).
Proof. apply bool_decide_ext. split; congruence. Qed.

Lemma lit_bool_eq (x y : bool) : bool_decide (#x = #y) = bool_decide (x = y).
Proof. apply bool_decide_ext. split; congruence. Qed.

Section word.
  Context `{!heapGS Σ}.

  Ltac load := iIntros (Φ) "AU"; wp_lam; iMod "AU" as (x) "[Hl [_ Hclose]]"; wp_load;
    by iMod ("Hclose" with "Hl").

  Lemma load_relaxed_spec (l : loc) :
    ⊢ <<{ ∀∀ x : Z, l ↦ #x }>> load_relaxed #l @ ∅ <<{ l ↦ #x | RET #x }>>.
  Proof. load. Qed.

  Lemma load_acquire_spec (l : loc) :
    ⊢ <<{ ∀∀ x : Z, l ↦ #x }>> load_acquire #l @ ∅ <<{ l ↦ #x | RET #x }>>.
  Proof. load. Qed.

  Lemma store_release_spec (l : loc) (y : Z) :
    ⊢ <<{ ∀∀ x : Z, l ↦ #x }>> store_release #l #y @ ∅ <<{ l ↦ #y | RET #() }>>.
  Proof.
    iIntros (Φ) "AU". wp_lam. wp_let. iMod "AU" as (x) "[Hl [_ Hclose]]". wp_store.
    by iMod ("Hclose" with "Hl").
  Qed.

  Ltac add := iIntros (Φ) "AU"; iLöb as "IH"; wp_lam; wp_pures; wp_bind (! _)%E;
    iMod "AU" as (x) "[Hl [Hclose _]]"; wp_load; iMod ("Hclose" with "Hl") as "AU"; iModIntro;
    wp_pures; wp_bind (CmpXchg _ _ _); iMod "AU" as (x') "[Hl Hclose]";
    wp_cmpxchg as [= ->]|Hne;
    [ iDestruct "Hclose" as "[_ Hclose]"; rewrite land_max;
      iMod ("Hclose" with "Hl") as "HΦ"; iModIntro; wp_pures; by iApply "HΦ"
    | iDestruct "Hclose" as "[Hclose _]"; iMod ("Hclose" with "Hl") as "AU"; iModIntro;
      wp_pures; by iApply "IH" ].

  Lemma fetch_add_relaxed_spec (l : loc) (y : Z) :
    ⊢ <<{ ∀∀ x : Z, l ↦ #x }>> fetch_add_relaxed #l #y @ ∅ <<{ l ↦ #(wrap (x + y)) | RET #x }>>.
  Proof. add. Qed.

  Lemma fetch_add_acquire_spec (l : loc) (y : Z) :
    ⊢ <<{ ∀∀ x : Z, l ↦ #x }>> fetch_add_acquire #l #y @ ∅ <<{ l ↦ #(wrap (x + y)) | RET #x }>>.
  Proof. add. Qed.

  Lemma fetch_add_release_spec (l : loc) (y : Z) :
    ⊢ <<{ ∀∀ x : Z, l ↦ #x }>> fetch_add_release #l #y @ ∅ <<{ l ↦ #(wrap (x + y)) | RET #x }>>.
  Proof. add. Qed.

  Lemma inc_release_spec (l : loc) :
    ⊢ <<{ ∀∀ x : Z, l ↦ #x }>> inc_release #l @ ∅ <<{ l ↦ #(wrap (x + 1)) | RET #() }>>.
  Proof. add. Qed.

  Ltac exchange := iIntros (Φ) "AU"; wp_lam; wp_pures; wp_bind (CmpXchg _ _ _);
    iMod "AU" as (x) "[Hl [_ Hclose]]"; wp_cmpxchg as [= ->]|Hne;
    [ rewrite !bool_decide_eq_true_2 //; iMod ("Hclose" with "Hl") as "HΦ"
    | rewrite !bool_decide_eq_false_2; [|congruence..]; iMod ("Hclose" with "Hl") as "HΦ" ];
    iModIntro; wp_pures; by iApply "HΦ".

  Lemma cmpxchg_relaxed_spec (l : loc) (old new : Z) :
    ⊢ <<{ ∀∀ x : Z, l ↦ #x }>> cmpxchg_relaxed #l #old #new @ ∅
      <<{ l ↦ #(if bool_decide (x = old) then new else x) | RET #(bool_decide (x = old)) }>>.
  Proof. exchange. Qed.

  Lemma cmpxchg_acquire_spec (l : loc) (old new : Z) :
    ⊢ <<{ ∀∀ x : Z, l ↦ #x }>> cmpxchg_acquire #l #old #new @ ∅
      <<{ l ↦ #(if bool_decide (x = old) then new else x) | RET #(bool_decide (x = old)) }>>.
  Proof. exchange. Qed.

  (** Waiting returns a value that the word had, and that is as awaited. *)
  Lemma wait_acquire_spec (l : loc) (mask value : Z) (is_equal : bool) :
    ⊢ <<{ ∀∀ x : Z, l ↦ #x }>> wait_acquire #l (#mask, #value, #is_equal)%V @ ∅
      <<{ l ↦ #x ∗ ⌜holds mask value is_equal x = true⌝ | RET #x }>>.
  Proof.
    iIntros (Φ) "AU". iLöb as "IH". wp_lam. wp_pures. wp_bind (! _)%E.
    iMod "AU" as (x) "[Hl Hclose]". wp_load.
    destruct (holds mask value is_equal x) eqn:Hx; rewrite /holds in Hx.
    - iMod ("Hclose" with "[$Hl //]") as "HΦ". iModIntro. wp_pures.
      rewrite lit_int_eq lit_bool_eq Hx. wp_pures. by iApply "HΦ".
    - iMod ("Hclose" with "Hl") as "AU". iModIntro. wp_pures.
      rewrite lit_int_eq lit_bool_eq Hx. wp_pures. by iApply "IH".
  Qed.
End word.
