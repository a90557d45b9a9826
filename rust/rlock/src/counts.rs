// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A record's counts, with the feature `stats`; without it none of this is there.

use core::sync::atomic::{AtomicU64, Ordering};

use crate::protocol::{Busy, Cancelled};

/// Cycles that no section takes which keeps its CPU.
const LOST_CPU: u64 = 10_000;

/// A record's counts.
#[derive(Debug)]
pub(crate) struct Counts {
    pub(crate) evictions: AtomicU64,
    pub(crate) hard: AtomicU64,
    pub(crate) failures: AtomicU64,
    /// The owner's own, and so plain additions.
    pub(crate) sections: AtomicU64,
    pub(crate) cycles: AtomicU64,
}

fn rdtsc() -> u64 {
    // SAFETY: every x86-64 CPU has it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Counts a section when it is dropped.
pub(crate) struct Time<'r> {
    counts: &'r Counts,
    from: u64,
}

impl Drop for Time<'_> {
    #[inline(always)]
    fn drop(&mut self) {
        let own = |count: &AtomicU64, n| {
            count.store(
                count.load(Ordering::Relaxed).wrapping_add(n),
                Ordering::Relaxed,
            );
        };
        own(&self.counts.sections, 1);
        let cycles = rdtsc().wrapping_sub(self.from);
        // One so long lost its CPU meanwhile; that time was not spent in it.
        if cycles < LOST_CPU {
            own(&self.counts.cycles, cycles);
        }
    }
}

impl Counts {
    /// A cancellation of this record's ownership.
    pub(crate) fn count(&self, result: Result<Cancelled, Busy>) {
        let count = match result {
            Ok(Cancelled::Before) => return,
            Ok(Cancelled::Outside) => &self.evictions,
            Ok(Cancelled::Inside) => {
                self.hard.fetch_add(1, Ordering::Relaxed);
                &self.evictions
            }
            Err(_) => &self.failures,
        };
        count.fetch_add(1, Ordering::Relaxed);
    }

    /// Begins to time a section.
    #[inline(always)]
    pub(crate) fn time(&self) -> Time<'_> {
        Time {
            counts: self,
            from: rdtsc(),
        }
    }
}
