// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0

//! The lock algorithms, once, for every world.
//!
//! A lock is written over two traits: [`Word`], a 32-bit cell whose method
//! names carry the ordering, and [`World`], what a lock needs from its
//! surroundings. The kernel, user space and the model checkers implement them;
//! no line here knows which of them it runs in.
//!
//! This folder is a cargo package and a submodule of the kernel module at
//! once, so paths begin with `super::`, `self::` or `core::`.
//!
//! | lock | source | promises | `lock` + `unlock`, uncontended |
//! |---|---|---|---|
//! | [`Ticket`] | Reed and Kanodia 1979; Dice and Kogan 2019, Listing 1.1, lines 3 to 16 | exclusion, FIFO | one locked RMW, one plain store |
//! | [`Twa`] | Dice and Kogan 2019, Listing 1.1, lines 20 to 71 | exclusion, FIFO | two locked RMWs, one plain store |
//! | [`Busted`] | locktorture's `lock_busted` | nothing | nothing |
//!
//! The orderings, each with its pair, are in `docs/design.md`.

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
