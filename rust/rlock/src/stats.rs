// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The sums of all records' counts, with the feature `stats`.

use core::ops::Sub;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::record;

/// What all threads did since the process began.
///
/// # Examples
/// What a piece of the program did:
/// ```
/// use rlock::{stats, Lock, Owner, Slot};
///
/// static HITS: Lock<Slot> = Lock::new(Slot::new(0));
///
/// let owner = Owner::register()?;
/// let before = stats();
/// owner.acquire(&HITS)?.add(|hits| hits, 1)?;
/// let did = stats() - before;
/// assert_eq!((did.sections, did.evictions), (1, 0));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
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
