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
//! | [`Busted`] | locktorture's `lock_busted` | nothing | nothing |
//!
//! # Ordering pairs
//!
//! These are the weakest that work under C11, with one exception in row 4.
//! Loom searched them. Under the kernel's model they are argued, not checked.
//! Each row names the planted bugs that break it
//! (`tests/mutants/` in Handover's tree).
//!
//! | # | release | acquire | why | broken by |
//! |---|---|---|---|---|
//! | 1 | `hand_over`: store of `grant` | `distance_acquire`: first load of `grant` | uncontended hand-over: the owner sees what the last owner did | `handover-store-relaxed`, `grant-load-relaxed-fast` |
//! | 2 | the same | `wait_for_grant`: the load that sees the own ticket | contended hand-over | `handover-store-relaxed`, `grant-load-relaxed-wait` |
//! | 3 | the same | `draw_if_free`: `try_lock`'s load of `grant` | as row 1 | `try-lock-relaxed` |
//! | 4 | `unlock`: increment of the slot | `wait_long_term`: each load of the slot | message passing: the notified waiter sees the grant stored before | `slot-inc-relaxed`, `slot-load-relaxed` |
//! | 5 | `hand_over` | `queue_length`: load of `grant` before the load of `ticket` | the difference is never negative | `queue-length-relaxed`, `queue-length-ticket-first` |
//!
//! In row 4 a waiter may read another lock's later increment of the same slot. The grant is seen
//! with that one too, because every write of a slot is a RMW:
//!
//! - C11, 5.1.2.4: RMWs continue the release sequence that our increment heads, whatever thread
//!   runs them. An acquire that reads one of them synchronises with our increment.
//! - The kernel's model: `rmw-sequence` in `linux-kernel.cat` continues `cumul-fence` likewise.
//!   Arm's model has a RMW's read and write in `aob`.
//!
//! The exception: the load of the slot that waits is an acquire, although
//! relaxed would do. The reason: [`Word`] has only one waiting method. The turn
//! that follows loads the slot again, with acquire, before it looks at `grant`.
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

mod busted;
mod raw;
mod ticket;
mod twa;
mod word;

pub use self::busted::Busted;
pub use self::raw::RawLock;
pub use self::ticket::Ticket;
pub use self::twa::{Twa, WAIT_ARRAY_SLOTS};
pub use self::word::{Word, World};
