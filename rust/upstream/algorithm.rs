// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The lock algorithms, apart from what a kernel is.
//!
//! A lock is written over two traits. [`Word`] is a 32-bit cell whose method names carry the
//! ordering. [`World`] is what a lock needs from its surroundings. Model checkers have words of
//! their own, and run the same lines.
//!
//! | lock | source | `lock` + `unlock`, uncontended |
//! |---|---|---|
//! | [`Ticket`] | Reed and Kanodia 1979 | one locked RMW, one plain store |
//! | [`Twa`] | Dice and Kogan 2019, Listing 1.1 | two locked RMWs, one plain store |
//! | [`OneWordTwa`] | the same, in one word | two locked RMWs |
//!
//! # The next owner may free the lock
//!
//! After the step by which the next owner enters, `unlock` touches no word of the lock. [`Ticket`]
//! does nothing after its store of `grant`. [`Twa`] increments a slot after it, and uses the lock's
//! address for that, not the lock.
//!
//! # Ordering pairs
//!
//! @ORDERING@

mod one_word;
mod raw;
mod ticket;
mod twa;
mod word;

pub(super) use self::one_word::OneWordTwa;
pub(super) use self::raw::{Make, RawLock};
pub(super) use self::ticket::Ticket;
pub(super) use self::twa::{Twa, WAIT_ARRAY_SLOTS};
pub(super) use self::word::{Awaited, Word, World};
