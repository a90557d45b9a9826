// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0

//! Counts, with the feature `stats`; without it none of this is there.

use core::ops::Sub;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::protocol::{Busy, Cancelled};
use crate::record;

/// Cycles that no section takes which keeps its CPU.
const LOST_CPU: u64 = 10_000;

/// A record's counts.
#[derive(Debug)]
pub(crate) struct Counts {
    evictions: AtomicU64,
    hard: AtomicU64,
    failures: AtomicU64,
    /// The owner's own, and so plain additions.
    sections: AtomicU64,
    cycles: AtomicU64,
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

/// What all threads did since the process began.
#[derive(Clone, Copy, PartialEq, Eq, Debug, Default)]
pub struct Stats {
    /// Owners that were cancelled, hard ones among them.
    pub evictions: u64,
    /// Owners that were found in a section, and sent away from it.
    pub hard_evictions: u64,
    /// Attempts to cancel that failed.
    pub failures: u64,
    /// Sections executed, to their commit or not.
    pub sections: u64,
    /// Cycles of the time stamp counter in sections, with what counting costs.
    pub section_cycles: u64,
}

impl Sub for Stats {
    type Output = Self;

    fn sub(self, before: Self) -> Self {
        Self {
            evictions: self.evictions - before.evictions,
            hard_evictions: self.hard_evictions - before.hard_evictions,
            failures: self.failures - before.failures,
            sections: self.sections - before.sections,
            section_cycles: self.section_cycles - before.section_cycles,
        }
    }
}

/// The sums over all records: what happened before is in it, what happens now may be.
pub fn stats() -> Stats {
    record::all().fold(Stats::default(), |sum, record| {
        let of = |count: &AtomicU64| count.load(Ordering::Relaxed);
        let counts = &record.stats;
        Stats {
            evictions: sum.evictions + of(&counts.evictions),
            hard_evictions: sum.hard_evictions + of(&counts.hard),
            failures: sum.failures + of(&counts.failures),
            sections: sum.sections + of(&counts.sections),
            section_cycles: sum.section_cycles + of(&counts.cycles),
        }
    })
}
