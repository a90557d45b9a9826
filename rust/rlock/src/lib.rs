// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Relaxed revocable locks: mutual exclusion modulo preemption, and pseudo-per-CPU
//! data on it.
//!
//! A thread acquires a [`Lock`] once. It then writes under the lock without a locked
//! instruction, until another thread takes the lock away. From a thread that does not run, the
//! lock is taken at once. That is the common case for data that nearly belongs to a CPU. From
//! a running thread the attempt fails, waits, or interrupts, as [`Cancel`] says.
//!
//! ```
//! use rlock::{Lock, Owner, Slot};
//!
//! static HITS: Lock<Slot> = Lock::new(Slot::new(0));
//!
//! let owner = Owner::register()?;
//! let mut token = owner.acquire(&HITS)?;
//! for _ in 0..10_000 {
//!     // Revoked: another thread took the lock, or it is given up after some thousand commits
//!     // (`Config::operations`). Nothing was written.
//!     while token.add(|hits| hits, 1).is_err() {
//!         token = owner.acquire(&HITS)?;
//!     }
//! }
//! assert_eq!(HITS.load(), 10_000);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! Another target than x86-64 Linux with 64-bit pointers is refused by `build.rs`.
//!
//! Source: Khuong, *Relaxed revocable locks: mutual exclusion modulo preemption*
//! (2017); `src/protocol.rs` says what differs.

mod cancel;
mod counter;
#[cfg(feature = "stats")]
mod counts;
mod files;
mod fork;
mod found;
mod freelist;
// For the crate's tests, its model and its benchmark, as the others that are hidden: no promise is
// made of it.
#[doc(hidden)]
pub mod kernel;
mod loaded;
mod lock;
mod owner;
mod percpu;
#[doc(hidden)]
pub mod protocol;
mod record;
#[doc(hidden)]
pub mod section;
mod selftest;
mod setup;
mod signal;
#[cfg(feature = "stats")]
mod stats;
mod thread_owner;
mod token;
#[doc(hidden)]
pub mod word;

/// Parts for tests that step through sections.
#[doc(hidden)]
pub mod testing {
    use core::sync::atomic::AtomicU64;

    /// What a lock's word is: whose it is, as that one's state says it.
    pub fn word<T>(lock: &crate::Lock<T>) -> u64 {
        lock.word().load(core::sync::atomic::Ordering::Acquire)
    }

    /// Whether the calling thread has a record.
    pub fn is_registered() -> bool {
        !crate::section::own().is_null()
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
pub use found::{ready, Config, Error};
pub use freelist::FreeList;
pub use lock::{Lock, Slot};
pub use owner::Owner;
pub use percpu::PerCpu;
pub use protocol::Busy;
#[cfg(feature = "stats")]
pub use stats::{stats, Stats};
pub use token::{Revoked, Token};

pub use selftest::Capabilities;
pub use setup::{capabilities, init};

/// The program of the README compiles and runs, as an example of the documentation.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
