// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Whether a sleeper can have all threads of the process pass a barrier.
//!
//! The kernel is asked once. Its answer holds until the process ends, in each child of a fork too. So a releasing thread
//! and a sleeper never go by two answers. A thread that knows no answer yet does what a refused one does.

use crate::{
    atomic::{AtomicU32, Ordering::Relaxed},
    membarrier, shared,
};

/// What the kernel has answered.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Barrier {
    /// No thread has asked.
    Unknown,
    /// There is none.
    Refused,
    /// Each sleeper asks for a barrier after it has counted itself.
    Registered,
}

impl Barrier {
    /// Relaxed: the one word says all.
    #[inline(always)]
    pub(crate) fn known() -> Self {
        match shared::barrier().load(Relaxed) {
            REGISTERED => Self::Registered,
            REFUSED => Self::Refused,
            _ => Self::Unknown,
        }
    }
}

// What `shared.rs` begins with.
const UNKNOWN: u32 = 0;
const REFUSED: u32 = 1;
const REGISTERED: u32 = 2;

/// Asks the kernel, unless a thread has. Whether there is a barrier: for all threads the same.
#[cold]
pub(crate) fn register() -> bool {
    let answer: &AtomicU32 = shared::barrier();
    if answer.load(Relaxed) == UNKNOWN {
        let now = if membarrier::register() {
            REGISTERED
        } else {
            REFUSED
        };
        // The first answer stays.
        let _ = answer.compare_exchange(UNKNOWN, now, Relaxed, Relaxed);
    }
    Barrier::known() == Barrier::Registered
}
