// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The locks of [`handover_locks`] for the threads of one process.
//!
//! A [`Cell`] is the word of a lock. A [`Process`] is the world: one waiting array for all locks, and nodes
//! for the queue locks. How a thread waits is a type, the [`Policy`]:
//!
//! | policy | a waiter | a release costs besides |
//! |---|---|---|
//! | [`Spin`] | looks again and again | nothing |
//! | [`Yield`] | looks [`SPINS`] times, then gives up its CPU between two looks | nothing |
//! | [`Park`] | looks [`PARK_SPINS`] times, or [`PARK_SPINS_MOST`] while there are CPUs for it, then sleeps in the kernel until its turn comes | two loads, and a full barrier where there is no [`register_barrier`] |
//! | [`Chosen`] | as [`choose`] said when the process began | a load more |
//!
//! A FIFO lock hands over to one thread and to no other. Where threads are more than CPUs, that thread may have no CPU
//! and all others wait for it. Then park.
//!
//! # Examples
//!
//! ```
//! use handover_user::{Free, Home, Park, RawLock, Twa};
//!
//! static LOCK: Twa<Park> = Free::FREE;
//!
//! // SAFETY: The ticket goes back to `unlock`, once.
//! let world = unsafe { Park::process() };
//! let ticket = LOCK.lock(world);
//! // No other thread is here.
//! assert!(LOCK.try_lock(world).is_none());
//! LOCK.unlock(world, ticket);
//! ```

#![cfg_attr(not(test), no_std)]

#[cfg(feature = "park")]
mod atomic;
#[cfg(feature = "park")]
mod barrier;
mod cell;
#[cfg(feature = "park")]
mod futex;
#[cfg(feature = "park")]
mod membarrier;
#[cfg(feature = "park")]
mod park;
mod policy;
mod process;
#[cfg(feature = "park")]
mod shared;
#[cfg(feature = "park")]
mod spinners;
#[cfg(feature = "park")]
mod waiters;

pub use self::cell::Cell;
#[cfg(feature = "park")]
pub use self::policy::{choose, register_barrier, Chosen, Late, Park, Waiting, Yield};
pub use self::policy::{Policy, Spin, PARK_SPINS, PARK_SPINS_MOST, SPINS};
pub use self::process::{Home, Process};
#[cfg(feature = "park")]
pub use self::waiters::{Waiter, Waiters};
pub use handover_locks::RawLock;

/// A lock that is free as a constant.
///
/// # Examples
///
/// ```
/// use handover_user::{Free, OneWordTwa, Spin};
///
/// static LOCK: OneWordTwa<Spin> = Free::FREE;
/// assert_eq!(size_of_val(&LOCK), 4);
/// ```
pub trait Free: Sized {
    /// A lock that nobody owns and nobody waits for. Its words are all 0.
    const FREE: Self;
}

macro_rules! locks {
    ($($lock:ident($($word:ident),+), $about:literal;)*) => { $(
        #[doc = $about]
        pub type $lock<P> = handover_locks::$lock<Cell<P>>;

        impl<P: Policy> Free for $lock<P> {
            #[expect(
                clippy::declare_interior_mutable_const,
                reason = "each use is a lock of its own, which is what it is for"
            )]
            const FREE: Self = Self::new($({
                let $word = Cell::new(0);
                $word
            }),+);
        }
    )* };
}

locks! {
    Ticket(ticket, grant), "A ticket lock, of eight bytes.";
    Twa(ticket, grant), "TWA, of eight bytes.";
    OneWordTwa(word), "TWA in four bytes.";
    Mcs(tail, next), "MCS, of eight bytes.";
    Clh(tail, flag), "CLH, of eight bytes.";
    Ttas(word), "Test-and-test-and-set with back-off, of four bytes. Not FIFO: the control.";
}
