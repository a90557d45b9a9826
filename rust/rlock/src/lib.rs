// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0

//! Relaxed revocable locks: mutual exclusion modulo preemption, and pseudo-per-CPU
//! data on it.
//!
//! A thread acquires a [`Lock`] once and then writes under it without a locked
//! instruction, until somebody takes the lock away. Taking away works at once from a
//! thread that does not run, which is the common case for data that nearly belongs to a
//! CPU, and fails, or waits, or interrupts ([`Cancel`]) otherwise.
//!
//! ```
//! use rlock::{Lock, Owner, Slot};
//!
//! static HITS: Lock<Slot> = Lock::new(Slot::new(0));
//!
//! let owner = Owner::register()?;
//! let mut token = owner.acquire(&HITS)?;
//! for _ in 0..10_000 {
//!     // Revoked: somebody took the lock, or it is given up after some thousand commits
//!     // (`Config::operations`). Nothing was written.
//!     while token.add(&HITS, 1).is_err() {
//!         token = owner.acquire(&HITS)?;
//!     }
//! }
//! assert_eq!(HITS.load(), 10_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! The modules are the crate's insides: public for its tests, its model and who wants to
//! look at sections or put another kernel in its place; no promise is made of them.
//!
//! Source: Khuong, *Relaxed revocable locks: mutual exclusion modulo preemption*
//! (2017); [`protocol`] says what differs.

#[cfg(not(all(target_os = "linux", target_arch = "x86_64")))]
compile_error!("rlock is for x86-64 Linux: its sections are x86-64 assembly, its proofs Linux's /proc and membarrier");

mod cancel;
mod counter;
mod fork;
mod freelist;
pub mod kernel;
mod owner;
mod percpu;
pub mod protocol;
mod record;
pub mod section;
mod setup;
mod signal;
#[cfg(feature = "stats")]
mod stats;
mod token;
pub mod word;

/// For tests that step through sections.
#[doc(hidden)]
pub mod testing {
    use core::sync::atomic::AtomicU64;

    /// What a lock's word is: whose it is, as that one's state says it.
    pub fn word<T>(lock: &crate::Lock<T>) -> u64 {
        lock.word().load(core::sync::atomic::Ordering::Acquire)
    }

    /// The state and the flag of the calling thread's record; it must be registered.
    pub fn own() -> &'static crate::protocol::Shared<AtomicU64> {
        let own = crate::section::own();
        // SAFETY: null or a record's, and those are never unmapped.
        &unsafe { own.as_ref() }.expect("registered").shared
    }
}

pub use cancel::Cancel;
pub use counter::Counter;
pub use freelist::FreeList;
pub use owner::{Lock, Owner, Slot};
pub use percpu::PerCpu;
pub use protocol::Busy;
#[cfg(feature = "stats")]
pub use stats::{stats, Stats};
pub use token::{Revoked, Token};

pub use setup::{capabilities, init, ready, Capabilities, Config, Error};
