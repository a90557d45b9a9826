// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Which threads have stalled, how long a thread is waited for, and when something is said again.

const MS: u64 = 1_000_000;

/// How many ticks, one every `tick_ms` milliseconds, make `seconds`; 0 if a tick takes no
/// time. The watchdog looks once a tick. Ticks are counted and not the clock: a machine that
/// was halted as a whole has not stalled.
pub const fn ticks_needed(seconds: u32, tick_ms: u32) -> u32 {
    match 1000u32.checked_div(tick_ms) {
        Some(a_second) => seconds.saturating_mul(a_second),
        None => 0,
    }
}

/// What all writers together did: their sum, how many are done, and for how many looks both
/// have been that. Where writers leave one by one, a lock does not hang.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Together {
    /// What all totals come to; it may wrap.
    pub sum: u64,
    /// How many writers are done.
    pub done: usize,
    /// The looks on end at which `sum` and `done` stayed.
    pub still: u32,
}

impl Together {
    /// After another look.
    pub fn look(self, sum: u64, done: usize) -> Self {
        let still = if sum == self.sum && done == self.done {
            self.still.saturating_add(1)
        } else {
            0
        };
        Self { sum, done, still }
    }
}

/// What was last seen of a writer.
///
/// # Examples
///
/// ```
/// use handover_measure::watch::{ticks_needed, Mark, Together};
///
/// let enough = ticks_needed(1, 500);
/// let (mut writer, mut all) = (Mark::default(), Together::default());
/// for _ in 0..enough {
///     writer = writer.look(0, false, || false);
///     all = all.look(0, 0);
/// }
/// // No writer acquired anything: the lock hangs.
/// assert!(writer.has_stalled(all.still, enough));
/// // Other writers did, and this one had no CPU.
/// assert!(!writer.has_stalled(0, enough));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mark {
    /// Its acquisitions.
    pub total: u64,
    /// The looks on end at which `total` stayed.
    pub idle: u32,
    /// The looks on end at which it also had a CPU.
    pub spun: u32,
}

impl Mark {
    /// After another look. `on_cpu` is asked of a writer alone that acquired nothing and
    /// is not done.
    pub fn look(self, total: u64, done: bool, on_cpu: impl FnOnce() -> bool) -> Self {
        if total != self.total || done {
            return Self {
                total,
                idle: 0,
                spun: 0,
            };
        }
        let spun = if on_cpu() {
            self.spun.saturating_add(1)
        } else {
            0
        };
        Self {
            total,
            idle: self.idle.saturating_add(1),
            spun,
        }
    }

    /// Whether the writer has stalled.
    ///
    /// The lock hangs if no writer acquired anything or left for `enough` looks. The writer starves
    /// if it acquired nothing for `enough` looks and had a CPU at each. A thread that waits
    /// in a lock spins with preemption off. A thread that waits for a CPU has not stalled:
    /// there may be many more writers than CPUs.
    pub fn has_stalled(self, still: u32, enough: u32) -> bool {
        (self.idle >= enough && still >= enough) || self.spun >= enough
    }
}

/// How long a caller waits for threads that do one by one as they are asked.
///
/// The wait begins anew with each thread that does. Time in which the machine was halted
/// as a whole does not count.
///
/// # Examples
///
/// ```
/// use handover_measure::watch::Patience;
///
/// // Of one second, which is 20 looks 50 ms apart.
/// let mut patience = Patience::new(1, 0);
/// for look in 1..20 {
///     assert!(!patience.is_over(0, look * Patience::GAP));
/// }
/// // A thread did it: the wait begins anew.
/// assert!(!patience.is_over(1, 20 * Patience::GAP));
/// let mut later = 21..;
/// assert!(later.find(|look| patience.is_over(1, look * Patience::GAP)) == Some(40));
/// ```
pub struct Patience {
    left: u64,
    full: u64,
    looked: u64,
    seen: usize,
}

impl Patience {
    /// The longest time between two looks that counts, in nanoseconds.
    pub const GAP: u64 = 50 * MS;

    /// Begins so many seconds of patience at `now`, in nanoseconds of a clock that never goes back.
    pub fn new(seconds: u32, now: u64) -> Self {
        let full = u64::from(seconds) * 1000 * MS;
        Self {
            left: full,
            full,
            looked: now,
            seen: 0,
        }
    }

    /// A look: `done` threads have done it, or are left to do it. True when none did for too long.
    pub fn is_over(&mut self, done: usize, now: u64) -> bool {
        let gap = now.saturating_sub(self.looked).min(Self::GAP);
        self.looked = now;
        self.left = self.left.saturating_sub(gap);
        if done != self.seen {
            self.seen = done;
            self.left = self.full;
        }
        self.left == 0
    }

    /// A look at a run's end: so many writers are left, and so many others. True when none of either left for too long, and
    /// there are writers. The others alone are waited for without a bound.
    pub fn gives_up(&mut self, writers: usize, others: usize, now: u64) -> bool {
        // Any change is progress: nobody comes back.
        self.is_over(writers.saturating_add(others), now) && writers != 0
    }
}

/// Something that is said every so often.
///
/// # Examples
///
/// ```
/// use handover_measure::watch::Every;
///
/// let second = 1_000_000_000;
/// // Each 2 seconds, from the third on.
/// let every = Every::new(2, 3 * second);
/// let (is_due, every) = every.look(4 * second);
/// assert!(!is_due);
/// let (is_due, every) = every.look(5 * second);
/// assert!(is_due);
/// assert!(!every.look(6 * second).0);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Every {
    ns: u64,
    last: u64,
}

impl Every {
    /// Each so many seconds after `now`, in nanoseconds of a clock that never goes back. Never for 0.
    pub fn new(seconds: u32, now: u64) -> Self {
        Self {
            ns: u64::from(seconds) * 1000 * MS,
            last: now,
        }
    }

    /// Whether it is due at `now`; and what comes after this look.
    pub fn look(self, now: u64) -> (bool, Self) {
        let is_due = self.ns != 0 && now.saturating_sub(self.last) >= self.ns;
        let last = if is_due { now } else { self.last };
        (is_due, Self { last, ..self })
    }
}
