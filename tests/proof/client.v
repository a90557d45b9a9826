(* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 *)

(** A client of any lock here: [n] threads count under two locks of one world.

    What each adds to a count is a load and a store. So the counts are right only if the locks
    exclude. *)

From iris.algebra Require Import auth excl numbers.
From iris.base_logic.lib Require Import invariants.
From iris.heap_lang Require Import proofmode notation.
From handover Require Import word_code lock_spec.

(** What a thread does under a lock. *)
Definition bump (L : lock_code) : val := λ: "lock" "count",
  let: "token" := lock L "lock" in
  "count" <- ! "count" + #1;;
  unlock L "lock" "token".

Definition look (L : lock_code) : val := λ: "lock" "count",
  let: "token" := lock L "lock" in
  let: "result" := ! "count" in
  unlock L "lock" "token";;
  "result".

Definition spawn (L : lock_code) : val := rec: "spawn" "one" "ones" "two" "twos" "done" "k" :=
  if: "k" = #0 then #() else
    Fork (bump L "one" "ones";; bump L "two" "twos";; FAA "done" #1);;
    "spawn" "one" "ones" "two" "twos" "done" ("k" - #1).

Definition join : val := rec: "join" "done" "n" :=
  if: ! "done" = "n" then #() else "join" "done" "n".

(** The result is both counts. *)
Definition client (L : lock_code) (n : nat) (first key key' : Z) : expr :=
  let: "ones" := ref #0 in
  let: "twos" := ref #0 in
  let: "done" := ref #0 in
  let: "world" := new_world L #() in
  let: "one" := new_lock L "world" #first #key in
  let: "two" := new_lock L "world" #first #key' in
  spawn L "one" "ones" "two" "twos" "done" #n;;
  join "done" #n;;
  let: "a" := look L "one" "ones" in
  let: "b" := look L "two" "twos" in
  ("a", "b").

Class clientG Σ := ClientG {
  client_nat : inG Σ (authR natUR);
  client_excl : inG Σ (exclR unitO);
}.
Local Existing Instances client_nat client_excl.

Definition clientΣ : gFunctors := #[GFunctor (authR natUR); GFunctor (exclR unitO)].
Global Instance subG_clientΣ Σ : subG clientΣ Σ → clientG Σ.
Proof. solve_inG. Qed.

Section client.
  Context `{!heapGS Σ, !clientG Σ} {L : lock_code} (I : is_a_lock L) (n : nat).

  (** [k] of [n] turns have been taken, and [k] is the count. *)
  Definition counted (turns : gname * gname) (count : loc) : iProp Σ :=
    ∃ k : nat, count ↦ #k ∗ own turns.1 (● n) ∗ own turns.1 (◯ k) ∗ own turns.2 (● k).

  Local Notation guards γ turns lk count := (is_lock _ I γ lk (counted turns count)).

  (** What [k] threads have when they start, and when they end. *)
  Definition to_do γ (turns : gname * gname) (k : nat) : iProp Σ :=
    permits _ I γ k ∗ own turns.1 (◯ k).
  Definition has_done γ (turns : gname * gname) : iProp Σ :=
    permits _ I γ 1 ∗ own turns.2 (◯ 1).

  Local Instance is_lock_persistent' γ lk R : Persistent (is_lock _ I γ lk R).
  Proof. apply is_lock_persistent. Qed.
  Local Instance is_world_persistent' world : Persistent (is_world _ I world).
  Proof. apply is_world_persistent. Qed.

  Lemma own_frag_split γ a b : own γ (◯ (a + b)) ⊣⊢ own γ (◯ a) ∗ own γ (◯ b).
  Proof. by rewrite -own_op -auth_frag_op. Qed.

  Lemma to_do_split γ turns k : to_do γ turns (S k) ⊢ to_do γ turns 1 ∗ to_do γ turns k.
  Proof.
    iIntros "[HP HT]". iDestruct (permits_split _ _ _ 1 k with "HP") as "[$ $]".
    by iDestruct (own_frag_split _ 1 k with "HT") as "[$ $]".
  Qed.

  Lemma guards_new :
    ⊢ |==> ∃ turns, own turns.1 (◯ n) ∗ own turns.2 (◯ 0) ∗
      ∀ count : loc, count ↦ #0 -∗ counted turns count.
  Proof.
    iMod (own_alloc (● n ⋅ ◯ (0 + n))) as (γ) "[HA HF]"; first by apply auth_both_valid_2.
    iMod (own_alloc (● 0 ⋅ ◯ (0 + 0))) as (γ') "[HA' HF']"; first by apply auth_both_valid_2.
    iDestruct (own_frag_split with "HF") as "[H0 HF]".
    iModIntro. iExists (γ, γ'). iFrame. iIntros (count) "Hc". iExists 0. iFrame.
  Qed.

  Lemma bump_spec γ turns lk (count : loc) :
    {{{ guards γ turns lk count ∗ to_do γ turns 1 }}}
      bump L lk #count
    {{{ RET #(); has_done γ turns }}}.
  Proof.
    iIntros (Φ) "[#Hlk [HP HT]] HΦ". wp_lam. wp_pures.
    wp_apply (lock_spec _ I with "[$Hlk $HP]") as (token) "[Hl (%k & Hc & Hn & Hk & Hd)]".
    wp_load. wp_store.
    iMod (own_update with "Hd") as "[Hd H1]".
    { apply (auth_update_alloc _ (k + 1) 1), (nat_local_update k 0 (k + 1) 1). lia. }
    iDestruct (own_frag_split with "[$Hk $HT]") as "Hk".
    wp_apply (unlock_spec _ I with "[$Hlk $Hl Hc Hn Hk Hd]") as "HP".
    { iExists (k + 1). replace (Z.of_nat k + 1)%Z with (Z.of_nat (k + 1)) by lia. iFrame. }
    iApply "HΦ". iFrame.
  Qed.

  Lemma look_spec γ turns lk (count : loc) :
    {{{ guards γ turns lk count ∗ permits _ I γ 1 ∗ own turns.2 (◯ n) }}}
      look L lk #count
    {{{ RET #n; True }}}.
  Proof.
    iIntros (Φ) "(#Hlk & HP & HN) HΦ". wp_lam. wp_pures.
    wp_apply (lock_spec _ I with "[$Hlk $HP]") as (token) "[Hl (%k & Hc & Hn & Hk & Hd)]".
    wp_load. wp_pures.
    iCombine "Hd HN" gives %[?%nat_included _]%auth_both_valid_discrete.
    iCombine "Hn Hk" gives %[?%nat_included _]%auth_both_valid_discrete.
    assert (k = n) as -> by lia.
    wp_apply (unlock_spec _ I with "[$Hlk $Hl Hc Hn Hk Hd]") as "_"; first by iExists n; iFrame.
    wp_pures. by iApply "HΦ".
  Qed.

  Definition doneN : namespace := nroot .@ "done".

  (** Whose permits the main thread takes in the end, when it gives [main]. *)
  Definition done_inv γ γ' (turns turns' : gname * gname) (main : gname) (done : loc) : iProp Σ :=
    ∃ d : nat, done ↦ #d ∗
      (own main (Excl ()) ∨ own turns.2 (◯ d) ∗ own turns'.2 (◯ d) ∗
        (⌜d = 0⌝ ∨ permits _ I γ 1 ∗ permits _ I γ' 1)).

  Lemma spawn_spec γ γ' turns turns' main lk lk' (count count' done : loc) (k : nat) :
    {{{ guards γ turns lk count ∗ guards γ' turns' lk' count' ∗
        inv doneN (done_inv γ γ' turns turns' main done) ∗ to_do γ turns k ∗ to_do γ' turns' k }}}
      spawn L lk #count lk' #count' #done #k
    {{{ RET #(); True }}}.
  Proof.
    iIntros (Φ) "(#Hlk & #Hlk' & #Hinv & HT & HT') HΦ".
    iInduction k as [|k] "IH" forall (Φ); wp_lam; wp_pures; first by iApply "HΦ".
    iDestruct (to_do_split with "HT") as "[H1 HT]".
    iDestruct (to_do_split with "HT'") as "[H1' HT']".
    wp_apply (wp_fork with "[H1 H1']").
    - iNext. wp_apply (bump_spec with "[$Hlk $H1]") as "[HP HD]". wp_pures.
      wp_apply (bump_spec with "[$Hlk' $H1']") as "[HP' HD']". wp_pures.
      iInv "Hinv" as (d) "[>Hd Hres]". wp_faa.
      iModIntro. iSplitL; last done. iNext. iExists (d + 1).
      replace (Z.of_nat d + 1)%Z with (Z.of_nat (d + 1)) by lia. iFrame "Hd".
      iDestruct "Hres" as "[Hm|(Hd & Hd' & _)]"; [by iLeft|iRight].
      rewrite !own_frag_split. iFrame. iRight. iFrame.
    - wp_pures. replace (Z.of_nat (S k) - 1)%Z with (Z.of_nat k) by lia.
      by iApply ("IH" with "HT HT'").
  Qed.

  Lemma join_spec γ γ' turns turns' main (done : loc) :
    0 < n →
    {{{ inv doneN (done_inv γ γ' turns turns' main done) ∗ own main (Excl ()) }}}
      join #done #n
    {{{ RET #(); own turns.2 (◯ n) ∗ own turns'.2 (◯ n) ∗ permits _ I γ 1 ∗ permits _ I γ' 1 }}}.
  Proof.
    iIntros (? Φ) "[#Hinv Hm] HΦ". iLöb as "IH". wp_lam. wp_pures. wp_bind (! _)%E.
    iInv "Hinv" as (d) "[>Hd Hres]". wp_load.
    destruct (decide (d = n)) as [->|Hne].
    - iDestruct "Hres" as "[Hm'|(HD & HD' & HP)]".
      { by iCombine "Hm Hm'" gives %[]. }
      iModIntro. iSplitL "Hd Hm"; first by iExists n; iFrame.
      wp_pures. rewrite bool_decide_eq_true_2 //. wp_pures.
      iDestruct "HP" as "[%|[HP HP']]"; first lia. iApply "HΦ". by iFrame.
    - iModIntro. iSplitL "Hd Hres"; first by iExists d; iFrame.
      wp_pures. rewrite bool_decide_eq_false_2; last by intros [= ?%Nat2Z.inj].
      wp_pures. by iApply ("IH" with "Hm").
  Qed.

  Lemma client_spec (first key key' : Z) :
    (0 ≤ first < 2 ^ 32)%Z → 0 < n → (n ≤ places L)%Z →
    {{{ True }}} client L n first key key' {{{ RET (#n, #n); True }}}.
  Proof.
    iIntros (??? Φ) "_ HΦ". rewrite /client.
    wp_alloc count as "Hc". wp_alloc count' as "Hc'". wp_alloc done as "Hd". wp_pures.
    iMod guards_new as (turns) "(HT & HD & HR)". iMod guards_new as (turns') "(HT' & HD' & HR')".
    iMod (own_alloc (Excl ())) as (main) "Hm"; first done.
    wp_apply (new_world_spec _ I with "[//]") as (world) "#Hworld". wp_pures.
    wp_apply (new_lock_spec _ I world first key n (counted turns count) with "[HR Hc]")
      as (lk γ) "[#Hlk HP]"; [done..|by iFrame "Hworld"; iApply "HR"|].
    wp_pures.
    wp_apply (new_lock_spec _ I world first key' n (counted turns' count') with "[HR' Hc']")
      as (lk' γ') "[#Hlk' HP']"; [done..|by iFrame "Hworld"; iApply "HR'"|].
    wp_pures.
    iMod (inv_alloc doneN _ (done_inv γ γ' turns turns' main done) with "[HD HD' Hd]") as "#Hinv".
    { iNext. iExists 0. iFrame "Hd". iRight. iFrame "HD HD'". by iLeft. }
    wp_apply (spawn_spec γ γ' turns turns' main lk lk' count count' done n with "[HP HT HP' HT']").
    { rewrite /to_do. iFrame "HP HT HP' HT'". by iFrame "Hlk Hlk' Hinv". }
    iIntros "_".
    wp_pures.
    wp_apply (join_spec with "[$Hinv $Hm]") as "(HD & HD' & HP & HP')"; first done. wp_pures.
    wp_apply (look_spec with "[$Hlk $HP $HD]") as "_". wp_pures.
    wp_apply (look_spec with "[$Hlk' $HP' $HD']") as "_". wp_pures.
    by iApply "HΦ".
  Qed.
End client.
