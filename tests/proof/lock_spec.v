(* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 *)

(** The interface of a lock: what a client may rely on, for every lock here. *)

From iris.heap_lang Require Import proofmode notation.
From handover Require Import word_code.

(** [is_lock] says that the lock protects [R], which is any resource. Who wants the lock pays with a
    permit until `unlock` returns. A lock comes with as many permits as it is made for. [locked] is
    what the owner has. It carries the token that `lock` returned. *)
Record is_a_lock `{!heapGS Σ} (L : lock_code) := IsALock {
  name : Type;
  is_world : val → iProp Σ;
  is_lock : name → val → iProp Σ → iProp Σ;
  permits : name → nat → iProp Σ;
  locked : name → val → iProp Σ;

  is_world_persistent world : Persistent (is_world world);
  is_lock_persistent γ lk R : Persistent (is_lock γ lk R);
  permits_split γ a b : permits γ (a + b) ⊢ permits γ a ∗ permits γ b;
  locked_exclusive γ token token' : locked γ token -∗ locked γ token' -∗ False;

  new_world_spec :
    {{{ True }}} new_world L #() {{{ world, RET world; is_world world }}};
  new_lock_spec world (first key : Z) (N : nat) R :
    (0 ≤ first < 2 ^ 32)%Z → (N ≤ places L)%Z →
    {{{ is_world world ∗ R }}}
      new_lock L world #first #key
    {{{ lk γ, RET lk; is_lock γ lk R ∗ permits γ N }}};
  lock_spec γ lk R :
    {{{ is_lock γ lk R ∗ permits γ 1 }}} lock L lk {{{ token, RET token; locked γ token ∗ R }}};
  unlock_spec γ lk R token :
    {{{ is_lock γ lk R ∗ locked γ token ∗ R }}} unlock L lk token {{{ RET #(); permits γ 1 }}};
}.
