// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! How long writers waited, and how long a hand-over took: histograms by powers of two.
//!
//! A writer takes a stamp before it asks for the lock, and one as its owner. The time between is its wait. An owner leaves
//! a stamp beside what the lock protects, just before it releases. The time from there to the next owner's stamp is a
//! hand-over, if that writer waited already.

use super::{lock::Listed, outcome::Outcome, plan::Plan, statistics::rounded};
use core::fmt::{self, Display, Formatter};

/// How many buckets there are.
pub const BUCKETS: usize = 64;

/// How many times were how long, in ticks of a clock. Bucket `n` has those of `n` bits, and the last also those of more.
///
/// # Examples
///
/// ```
/// use handover_measure::latency::Histogram;
///
/// let mut times = Histogram::EMPTY;
/// for ticks in [5, 6, 7, 900] {
///     times.add(ticks);
/// }
/// assert_eq!((times.count(), times.longest), (4, 900));
/// assert_eq!(times.to_string(), "3=3+10=1");
/// // Three times of four had three bits, and so were at most 7.
/// assert_eq!((times.at_most(50), times.at_most(99)), (Some(7), Some(900)));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Histogram {
    /// How many times each bucket has.
    pub counts: [u64; BUCKETS],
    /// All times together; it wraps.
    pub sum: u64,
    /// The longest time; 0 of none.
    pub longest: u64,
}

impl Histogram {
    /// No time.
    pub const EMPTY: Self = Self {
        counts: [0; BUCKETS],
        sum: 0,
        longest: 0,
    };

    /// Counts a time.
    #[inline(always)]
    pub fn add(&mut self, ticks: u64) {
        let bits = (u64::BITS - ticks.leading_zeros()) as usize;
        let bucket = bits.min(BUCKETS - 1);
        if let Some(count) = self.counts.get_mut(bucket) {
            *count = count.wrapping_add(1);
        }
        self.sum = self.sum.wrapping_add(ticks);
        self.longest = self.longest.max(ticks);
    }

    /// Counts those of `that`, too.
    pub fn join(&mut self, that: &Self) {
        for (count, more) in self.counts.iter_mut().zip(that.counts) {
            *count = count.wrapping_add(more);
        }
        self.sum = self.sum.wrapping_add(that.sum);
        self.longest = self.longest.max(that.longest);
    }

    /// How many times there are.
    pub fn count(&self) -> u64 {
        self.counts.iter().copied().fold(0, u64::wrapping_add)
    }

    /// The mean, rounded half up; none of none.
    pub fn mean(&self) -> Option<u64> {
        rounded(self.sum, self.count())
    }

    /// A time that `percent` of the times are at most. It is the greatest of their last bucket, or the longest of all, so
    /// less than twice too much. None of none.
    pub fn at_most(&self, percent: u64) -> Option<u64> {
        let rank = self.count().saturating_mul(percent).div_ceil(100);
        let mut sum = 0u64;
        for (bucket, &count) in self.counts.iter().enumerate() {
            sum = sum.saturating_add(count);
            if count != 0 && sum >= rank {
                let greatest = match bucket {
                    // It has no end.
                    _ if bucket + 1 == BUCKETS => u64::MAX,
                    _ => (1 << bucket) - 1,
                };
                return Some(greatest.min(self.longest));
            }
        }
        None
    }
}

/// `bucket=count` words with a plus between, of the buckets that have any; or `none`.
impl Display for Histogram {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut between = "";
        for (bucket, count) in self.counts.iter().enumerate() {
            if *count != 0 {
                write!(f, "{between}{bucket}={count}")?;
                between = "+";
            }
        }
        f.write_str(if between.is_empty() { "none" } else { "" })
    }
}

/// The times of a writer, or of some.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Latency {
    /// From a writer's stamp before it asks for the lock to its stamp as the owner.
    pub wait: Histogram,
    /// From the stamp of who releases to that of the next owner, where that one waited already.
    pub handover: Histogram,
}

impl Latency {
    /// No time.
    pub const EMPTY: Self = Self {
        wait: Histogram::EMPTY,
        handover: Histogram::EMPTY,
    };

    /// Counts an acquisition by its stamps: the writer `arrived` and was `admitted`, and the last owner `released`. That is
    /// 0 where there was none.
    ///
    /// Stamps of two CPUs may be out of order by a little. A hand-over that would take less than no time took none.
    #[inline(always)]
    pub fn note(&mut self, arrived: u64, released: u64, admitted: u64) {
        self.wait.add(admitted.saturating_sub(arrived));
        if released > arrived {
            self.handover.add(admitted.saturating_sub(released));
        }
    }

    /// Counts those of `that`, too.
    pub fn join(&mut self, that: &Self) {
        self.wait.join(&that.wait);
        self.handover.join(&that.handover);
    }

    /// Both, with their names.
    fn kinds(&self) -> [(&'static str, &Histogram); 2] {
        [("wait", &self.wait), ("handover", &self.handover)]
    }
}

/// The clock of the stamps.
///
/// # Examples
///
/// ```
/// use handover_measure::latency::Clock;
///
/// let clock = Clock { khz: 3_000_000, stamp_ns: 8 };
/// assert_eq!(clock.ns(30), 10);
/// // A time that is said is none too short.
/// assert_eq!(clock.ns(31), 11);
/// // Three tries of ten stamps each.
/// assert_eq!(Clock::measured(3_000_000, [250, 240, 9000].into_iter(), 10), Some(clock));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Clock {
    /// Thousands of ticks a second; not 0.
    pub khz: u32,
    /// What a stamp costs.
    pub stamp_ns: u32,
}

impl Clock {
    /// A clock of this rate. Each of the `tries` took so many ticks for `stamps` stamps. The quickest counts: an
    /// interrupt spoils a try. None of no try.
    pub fn measured(khz: u32, tries: impl Iterator<Item = u64>, stamps: u32) -> Option<Self> {
        let clock = Self { khz, stamp_ns: 0 };
        let ns = clock.ns(tries.min()?).div_ceil(stamps.max(1).into());
        Some(Self {
            stamp_ns: ns as u32,
            ..clock
        })
    }

    /// `ticks` in nanoseconds, rounded up. It saturates.
    pub fn ns(&self, ticks: u64) -> u64 {
        let khz = u64::from(self.khz).max(1);
        let part = (ticks % khz).saturating_mul(1_000_000).div_ceil(khz);
        (ticks / khz).saturating_mul(1_000_000).saturating_add(part)
    }
}

impl Display for Clock {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "tsc_khz={} stamp_ns={}", self.khz, self.stamp_ns)
    }
}

/// A number, or a dash; padded as the format says.
struct Dash(Option<u64>);

impl Display for Dash {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self.0 {
            Some(number) => Display::fmt(&number, f),
            None => f.pad("-"),
        }
    }
}

/// The times of some runs' writers: those of the first run, then those of the next.
pub struct Times<'a, L: 'static> {
    /// The runs.
    pub runs: &'a [Outcome<L>],
    /// The times of each writer. It is empty where none were taken.
    pub latencies: &'a [Latency],
    /// The clock.
    pub clock: Clock,
}

/// The columns of [`Times`].
const HEADER: &str =
    "lock,writers,run,writer,what,count,mean_ns,p50_ns,p99_ns,longest_ns,tsc_khz,stamp_ns,histogram";

impl<'a, L: Listed> Times<'a, L> {
    /// Each run with the times of its writers.
    fn each(&self) -> impl Iterator<Item = (&'a Outcome<L>, &'a [Latency])> {
        let mut left = self.latencies;
        self.runs.iter().map_while(move |run| {
            let (these, others) = left.split_at_checked(run.writers as usize)?;
            left = others;
            Some((run, these))
        })
    }

    /// Calls `line` with each line of a table. A row has the times of all runs of a lock with a number of writers.
    /// A row without times is left out. If none were taken there is no line.
    pub fn table(&self, plan: &Plan<L>, mut line: impl FnMut(fmt::Arguments<'_>)) {
        if self.latencies.is_empty() {
            return;
        }
        line(format_args!(
            "{:<17} {:>7} {:>8} {:>12} {:>11} {:>11} {:>11} {:>13}",
            "lock", "writers", "what", "count", "mean ns", "p50 ns", "p99 ns", "longest ns"
        ));
        for writers in plan.writers() {
            for lock in plan.locks() {
                let mut all = Latency::EMPTY;
                let of_these = self
                    .each()
                    .filter(|(run, _)| core::ptr::eq(run.lock, lock) && run.writers == writers);
                for latency in of_these.flat_map(|(_, latencies)| latencies) {
                    all.join(latency);
                }
                if all.wait.count() == 0 {
                    continue;
                }
                let ns = |ticks: Option<u64>| Dash(ticks.map(|ticks| self.clock.ns(ticks)));
                for (what, times) in all.kinds() {
                    line(format_args!(
                        "{:<17} {:>7} {:>8} {:>12} {:>11} {:>11} {:>11} {:>13}",
                        lock.name(),
                        writers,
                        what,
                        times.count(),
                        ns(times.mean()),
                        ns(times.at_most(50)),
                        ns(times.at_most(99)),
                        ns(times.mean().map(|_| times.longest)),
                    ));
                }
            }
        }
        let Clock { khz, stamp_ns } = self.clock;
        line(format_args!(
            "a stamp takes {stamp_ns} ns; each time has one in it (TSC: {khz} kHz)"
        ));
        line(format_args!(
            "wait     from before the lock is asked for until it is owned"
        ));
        line(format_args!(
            "handover from before the release until the next owner has it, if that one waited already"
        ));
        line(format_args!(
            "p50, p99 so many of a hundred took at most that long; it may be up to twice too much"
        ));
    }
}

/// CSV: a header, and for each run its writers' waits and hand-overs, and those of all its writers.
impl<L: Listed> Display for Times<'_, L> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}")?;
        for (run, latencies) in self.each() {
            let mut row = |writer: &dyn Display, latency: &Latency| {
                latency.kinds().into_iter().try_for_each(|(what, times)| {
                    let ns = |ticks: Option<u64>| Dash(ticks.map(|ticks| self.clock.ns(ticks)));
                    writeln!(
                        f,
                        "{},{},{},{writer},{what},{},{},{},{},{},{},{},{times}",
                        run.lock.name(),
                        run.writers,
                        run.run,
                        times.count(),
                        ns(times.mean()),
                        ns(times.at_most(50)),
                        ns(times.at_most(99)),
                        ns(times.mean().map(|_| times.longest)),
                        self.clock.khz,
                        self.clock.stamp_ns,
                    )
                })
            };
            let mut all = Latency::EMPTY;
            for (number, latency) in (1u32..).zip(latencies) {
                row(&number, latency)?;
                all.join(latency);
            }
            row(&"all", &all)?;
        }
        Ok(())
    }
}
