(* SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0 *)

(** The operations of the trait `Word` (rust/locks/word.rs) as programs of HeapLang.

    HeapLang has one order, sequential consistency, so relaxed and acquire do the same. Each
    operation is a function whose own name is that of the Rust method. So two of them are different
    programs, and a trace can tell them apart. *)

From iris.heap_lang Require Import lang notation.

(** A word has 32 bits. Arithmetic on words wraps. *)
Definition word_max : Z := 4294967295.

Definition wrapping (op : bin_op) (x y : expr) : expr := BinOp AndOp (BinOp op x y) #word_max.
Notation wrapping_add := (wrapping PlusOp).
Notation wrapping_sub := (wrapping MinusOp).
Notation wrapping_mul := (wrapping MultOp).

Definition loads (name : string) : val := RecV name "word" (! "word").
Definition stores (name : string) : val := RecV name "word" (λ: "value", "word" <- "value").

(** HeapLang's own fetch-and-add does not wrap. *)
Definition adds (name : string) : val := RecV name "word" (λ: "value",
  let: "now" := ! "word" in
  if: Snd (CmpXchg "word" "now" (wrapping_add "now" "value")) then "now"
  else Var name "word" "value").
Definition exchanges (name : string) : val := RecV name "word" (λ: "old" "new",
  Snd (CmpXchg "word" "old" "new")).

Definition load_relaxed : val := loads "load_relaxed".
Definition load_acquire : val := loads "load_acquire".
Definition store_release : val := stores "store_release".
Definition fetch_add_relaxed : val := adds "fetch_add_relaxed".
Definition fetch_add_acquire : val := adds "fetch_add_acquire".
Definition fetch_add_release : val := adds "fetch_add_release".
Definition cmpxchg_relaxed : val := exchanges "cmpxchg_relaxed".
Definition cmpxchg_acquire : val := exchanges "cmpxchg_acquire".

Definition inc_release : val := rec: "inc_release" "word" :=
  let: "now" := ! "word" in
  if: Snd (CmpXchg "word" "now" (wrapping_add "now" #1)) then #()
  else "inc_release" "word".

(** `Awaited`: a mask, a value, and whether the masked word is to be equal to the value. *)
Definition awaited_bits (mask value : expr) : expr := (mask, value, #true).
Definition awaited_is (value : expr) : expr := awaited_bits #word_max value.
Definition awaited_not (value : expr) : expr := (#word_max, value, #false).

Definition wait_acquire : val := rec: "wait_acquire" "word" "awaited" :=
  let: "now" := ! "word" in
  let: "is" := BinOp AndOp "now" (Fst (Fst "awaited")) = Snd (Fst "awaited") in
  if: "is" = Snd "awaited" then "now" else "wait_acquire" "word" "awaited".

Definition operations : list val :=
  [load_relaxed; load_acquire; store_release; fetch_add_relaxed; fetch_add_acquire;
   fetch_add_release; inc_release; cmpxchg_relaxed; cmpxchg_acquire; wait_acquire].

(** Whether a program touches memory by no other way than by [operations]. *)
Fixpoint by_words (e : expr) : bool :=
  match e with
  | Val v => by_words_val v
  | Var _ => true
  | Rec _ _ e | UnOp _ e | Fst e | Snd e | InjL e | InjR e => by_words e
  | App e1 e2 | BinOp _ e1 e2 | Pair e1 e2 => by_words e1 && by_words e2
  | If e0 e1 e2 | Case e0 e1 e2 => by_words e0 && by_words e1 && by_words e2
  | AllocN _ _ | Free _ | Load _ | Store _ _ | CmpXchg _ _ _ | Xchg _ _ | FAA _ _
  | Fork _ | NewProph | Resolve _ _ _ => false
  end
with by_words_val (v : val) : bool :=
  bool_decide (v ∈ operations) ||
  match v with
  | LitV _ => true
  | RecV _ _ e => by_words e
  | PairV v1 v2 => by_words_val v1 && by_words_val v2
  | InjLV v | InjRV v => by_words_val v
  end.

(** A lock's program. [places] is how many threads may want one lock at a time. *)
Record lock_code := LockCode {
  new_world : val;
  new_lock : val;
  lock : val;
  unlock : val;
  places : Z;
}.
