// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The lock algorithms, once, for every world.
//!
//! A lock is written over two traits. [`Word`] is a 32-bit cell whose method
//! names carry the ordering. [`World`] is what a lock needs from its
//! surroundings. The kernel, user space and the model checkers implement both.
//! No line here knows which of them it runs in.
//!
//! This folder is a cargo package and a submodule of the kernel module at once. Paths therefore
//! begin with `super::`, `self::` or `core::`.
//!
//! | lock | source | promises | `lock` + `unlock`, uncontended |
//! |---|---|---|---|
//! | [`Ticket`] | Reed and Kanodia 1979; Dice and Kogan 2019, Listing 1.1, lines 3 to 16 | exclusion, FIFO | one locked RMW, one plain store |
//! | [`Twa`] | Dice and Kogan 2019, Listing 1.1, lines 20 to 71 | exclusion, FIFO | two locked RMWs, one plain store |
//! | [`OneWordTwa`] | TWA in four bytes; the one word is ours | exclusion, FIFO | two locked RMWs |
//! | [`Mcs`] | Mellor-Crummey and Scott 1991 | exclusion, FIFO | two locked RMWs, and two for a node |
//! | [`Clh`] | Craig 1993; Magnusson, Landin and Hagersten 1994 | exclusion, FIFO | two locked RMWs, and two for a node |
//! | [`Qspin`] | the kernel's qspinlock, for models | exclusion, FIFO but for `try_lock` and its retries | two locked RMWs |
//! | [`Ttas`] | Anderson 1990 | exclusion | one locked RMW, one plain store |
//! | [`Busted`] | locktorture's `lock_busted` | nothing | nothing |
//!
//! # The next owner may free the lock
//!
//! After the step by which the next owner enters, `unlock` touches no word of the lock.
//!
//! | lock | that step | what follows it |
//! |---|---|---|
//! | [`Ticket`] | the store of `grant` | nothing |
//! | [`Twa`] | the store of `grant` | the increment of a slot; of the lock its key alone is used |
//! | [`OneWordTwa`] | the RMW of the word | the same; what the RMW returned says whether to notify |
//! | [`Mcs`] | the store of the successor's flag, or the cmpxchg that empties `tail` | the node goes back |
//! | [`Clh`] | the store of the own flag, or the cmpxchg that empties `tail` | nothing, or the node goes back |
//! | [`Qspin`] | the RMW of the word | nothing |
//! | [`Ttas`] | the store of the word | nothing |
//!
//! Loom's scenario `next_owner_frees` has the next owner free each lock, after `lock` and after
//! `try_lock`.
//!
//! # Ordering pairs
//!
//! Loom searches the code under C11. herd7 checks each row alone, under C11 and the kernel's model
//! alike (`tests/litmus` in Handover's tree). What a row prevents is forbidden there. It is allowed
//! again without one of the row's orders, but for the orders of the second table. Each row names
//! the planted bugs that break it (`tests/mutants/` there). Of rows 12, 17 and 22 to 24 herd7 alone shows
//! that the order is needed.
//!
//! | # | release | acquire | why | broken by |
//! |---|---|---|---|---|
//! | 1 | `hand_over`: store of `grant` | `distance_acquire`: first load of `grant` | uncontended hand-over: the owner sees what the last owner did | `handover-store-relaxed`, `grant-load-relaxed-fast` |
//! | 2 | the same | `wait_for_grant`: the load that sees the own ticket | contended hand-over | `handover-store-relaxed`, `grant-load-relaxed-wait` |
//! | 3 | the same | `draw_if_free`: `try_lock`'s load of `grant` | as row 1 | `try-lock-relaxed` |
//! | 4 | `unlock`: increment of the slot | `wait_long_term`: each load of the slot | message passing: the notified waiter sees the grant stored before | `slot-inc-relaxed`, `slot-load-relaxed` |
//! | 5 | `hand_over` | `queue_length`: load of `grant` before the load of `ticket` | the difference is never negative | `queue-length-relaxed`, `queue-length-ticket-first` |
//! | 6 | `OneWordTwa::unlock`: RMW of the word | `lock`: RMW of the word | as row 1 | `one-word-unlock-relaxed`, `one-word-lock-relaxed` |
//! | 7 | the same | `wait`: the load that sees the own ticket | as row 2 | `one-word-unlock-relaxed` |
//! | 8 | the same | `try_lock`: cmpxchg of the word | as row 1 | `one-word-try-relaxed` |
//! | 9 | `OneWordTwa::unlock`: increment of the slot | `wait_long_term`: each load of the slot | as row 4 | `one-word-slot-inc-relaxed`, `one-word-slot-load-relaxed` |
//! | 10 | `Mcs::unlock`: cmpxchg that empties `tail` | `lock`: swap of `tail` | as row 1; the lock's own `next` is cleared before the next thread links itself there | `mcs-unlock-relaxed` |
//! | 11 | the same | `try_lock`: cmpxchg of `tail` | as row 1; the owner sees the lock's own `next` cleared | `mcs-unlock-relaxed`, `mcs-try-relaxed` |
//! | 12 | `Mcs::lock`: swap of `tail` | `lock`: the next thread's swap | a node's `next` is cleared before that thread links itself there | - |
//! | 13 | `Mcs::wait`: link | `hand_over`: load of `next` | a node's flag is cleared before it is set | `mcs-link-relaxed` |
//! | 14 | `Mcs::hand_over`: store of the flag | `wait`: load of the flag | as row 2 | `mcs-grant-relaxed` |
//! | 15 | `Clh::unlock`: cmpxchg that empties `tail` | `lock`: swap of `tail` | as row 1; the lock's own flag is cleared before the next thread reads it | `clh-unlock-relaxed` |
//! | 16 | the same | `try_lock`: cmpxchg of `tail` | as row 1 | `clh-unlock-relaxed`, `clh-try-relaxed` |
//! | 17 | `Clh::lock`: swap of `tail` | `lock`: the next thread's swap | a node's flag is cleared before that thread reads it | - |
//! | 18 | `Clh::unlock`: store of the flag | `wait`: load of the flag | as row 2 | `clh-grant-relaxed` |
//! | 19 | `Qspin::unlock`, by `store_release_part`: RMW of the word | `take`: cmpxchg of the word | as row 1 | `qspin-unlock-relaxed`, `qspin-take-relaxed` |
//! | 20 | the same | `lock_pending`: load of the word | as row 2 | `qspin-unlock-relaxed` |
//! | 21 | the same | `lock_queued`: the head's load of the word | as row 2 | `qspin-unlock-relaxed` |
//! | 22 | `Qspin::lock_queued`: link | `lock_queued`: load of `next` | as row 13 | - |
//! | 23 | `Qspin::lock_queued`: store of the flag | `lock_queued`: load of the flag | the new head sees that the last one took the word | - |
//! | 24 | `Qspin::swap_tail`, by `swap_acq_rel_part`: cmpxchg of the word | `swap_acq_rel_part`: the next thread's load after its cmpxchg | as row 12 | - |
//! | 25 | `Ttas::unlock`: store of the word | `take`: cmpxchg of the word | as row 1 | `ttas-unlock-relaxed`, `ttas-take-relaxed` |
//! | 26 | the same | `Ttas::wait`: load of the word | none: `take` follows | - |
//! | 27 | `unlock` of rows 10, 15 and 19 | `wait_without_node`: load of the word | none: `try_lock` follows | - |
//! | 28 | `Pool::put`: RMW of the bits | `Pool::take`: cmpxchg of the bits | the last user's accesses to a node come before the next one's | `pool-take-relaxed`, `pool-put-relaxed` |
//!
//! Some orders could be relaxed:
//!
//! | row | order | not needed by | why it is there |
//! |---|---|---|---|
//! | 4 | acquire, of the load that waits | both | the load that follows acquires; [`Word`] has one waiting method |
//! | 4 | RMW, of another lock's increment | the kernel's | C11 needs it, and no increment may be lost |
//! | 9 | acquire, of the load that waits | both | as above |
//! | 10 | acquire, before a link to the own node | the kernel's | C11 needs it, and so does what the lock protects |
//! | 12 | acquire | the kernel's | C11 needs it |
//! | 13 | release | the kernel's | C11 needs it; the kernel's swap is a full barrier |
//! | 13 | acquire | the kernel's | C11 needs it |
//! | 22 | release | the kernel's | C11 needs it |
//! | 22 | acquire | the kernel's | C11 needs it |
//! | 24 | acquire | the kernel's | C11 needs it |
//! | 26 | acquire | both | [`Word`] has one waiting method |
//! | 27 | acquire | both | [`Word`] has one waiting method |
//! | 28 | acquire | the kernel's | C11 needs it |
//!
//! Rows 10, 12, 13, 22, 24 and 28 end in a store. The kernel's model keeps a store behind the branch
//! that leads to it. C11 knows no such order.
//!
//! In row 24 the load comes after the cmpxchg. A load before it may have read the same word at an
//! earlier use of the node. The later use is then not ordered.
//!
//! In row 4 a waiter may read another lock's later increment of the same slot. The grant is seen
//! with that one too, because every write of a slot is a RMW:
//!
//! - C11, 5.1.2.4: RMWs continue the release sequence that our increment heads, whatever thread
//!   runs them. An acquire that reads one of them synchronises with our increment.
//! - The kernel's model: `rmw-sequence` in `linux-kernel.cat` continues `cumul-fence` likewise.
//!   Arm's model has a RMW's read and write in `aob`.
//!
//! Some accesses are relaxed and pair with nothing:
//!
//! - The RMWs of `ticket` synchronise with no other access.
//! - The load of `ticket` in `draw_if_free` is a look before the `cmpxchg`, which decides. The
//!   `cmpxchg` may be relaxed: `ticket` equals the `grant` read before only if the lock was not
//!   taken in between.
//! - The load of `ticket` in `queue_length` is ordered by row 5.
//! - The load of `grant` in `wait_long_term` is ordered by row 4. Ownership is
//!   acquired in `wait_for_grant`.
//!
//! Program order matters in two more places. A waiter reads the slot before it
//! reads `grant` again. An owner stores `grant` before it increments the slot.
//! Either swap loses a wake-up (`grant-before-slot`, `notify-before-grant`).
//! The increment is a RMW because other locks' notifications hit the slot too. With a load and a
//! store one would be lost (`slot-inc-not-atomic`), and the release sequence would end.
//!
//! The swaps of [`Mcs`] and [`Clh`] are acquire and release at once. The kernel has no such order
//! but the full one. The litmus tests show that the half that a row names is enough.
//!
//! # Examples
//!
//! `examples/process` has a world for the threads of one process.
//!
//! ```
//! # mod process { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/process/world.rs")); }
//! # use process::{Cell, Process};
//! use handover_locks::{RawLock, Twa};
//!
//! static WORLD: Process = Process::new();
//! static LOCK: Twa<Cell> = Twa::new(Cell::new(0), Cell::new(0));
//!
//! let ticket = LOCK.lock(&WORLD);
//! // No other thread is here.
//! assert!(LOCK.try_lock(&WORLD).is_none());
//! LOCK.unlock(&WORLD, ticket);
//! ```

mod apart;
mod busted;
mod clh;
pub mod list;
mod mcs;
mod node;
mod one_word;
mod qspin;
mod raw;
mod ticket;
mod ttas;
mod twa;
mod word;

pub use self::apart::Apart;
pub use self::busted::Busted;
pub use self::clh::Clh;
pub use self::mcs::Mcs;
pub use self::node::{Node, Nodes, Pool};
pub use self::one_word::OneWordTwa;
pub use self::qspin::Qspin;
pub use self::raw::{Make, RawLock};
pub use self::ticket::Ticket;
pub use self::ttas::Ttas;
pub use self::twa::{Twa, WAIT_ARRAY_SLOTS};
pub use self::word::{Awaited, Word, World};
