// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The table of an experiment: a row for each lock with each number of writers.

use super::{
    lock::Listed,
    outcome::Outcome,
    plan::Plan,
    statistics::{hundredths, insertion_sort, median, rounded, worst_spread},
    text::Hundredths,
};
use core::fmt;

/// A row of the table: the runs of one lock with one number of writers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Group {
    /// How many there are.
    pub runs: usize,
    /// The median of the runs' rates.
    pub median: u64,
    /// The least of the runs' rates.
    pub low: u64,
    /// The greatest of the runs' rates.
    pub high: u64,
    /// The worst run's most over its least, in hundredths; none if some writer
    /// acquired nothing.
    pub spread: Option<u64>,
    /// The worst run's.
    pub jain_ppm: u64,
    /// All failures of all runs.
    pub failures: u64,
}

impl Group {
    /// The runs of `lock` with `writers` writers. None if none is over, or if `rates` has
    /// no room to sort them.
    pub fn of<L: Listed>(
        outcomes: &[Outcome<L>],
        lock: &'static L,
        writers: u32,
        rates: &mut [u64],
    ) -> Option<Self> {
        let runs = || {
            outcomes
                .iter()
                .filter(move |o| core::ptr::eq(o.lock, lock) && o.writers == writers)
        };
        let count = runs().count();
        let rates = rates.get_mut(..count)?;
        for (rate, outcome) in rates.iter_mut().zip(runs()) {
            *rate = outcome.rate();
        }
        insertion_sort(rates);
        let (&low, &high) = (rates.first()?, rates.last()?);
        Some(Self {
            runs: count,
            median: median(rates)?,
            low,
            high,
            spread: worst_spread(runs().map(|o| (o.max, o.min))),
            jain_ppm: runs().map(|o| o.jain_ppm).min()?,
            failures: runs().map(Outcome::failures).fold(0, u64::saturating_add),
        })
    }
}

/// The median that ratios are taken to. It is that of `raw_spin_lock`, or of `spin_lock`
/// where that alone was asked for.
fn reference<L: Listed>(
    plan: &Plan<L>,
    outcomes: &[Outcome<L>],
    writers: u32,
    rates: &mut [u64],
) -> Option<u64> {
    let named = |name| plan.locks().find(|lock| lock.name() == name);
    let lock = named("raw_spin_lock").or_else(|| named("spin_lock"))?;
    Group::of(outcomes, lock, writers, rates)
        .map(|group| group.median)
        .filter(|&median| median != 0)
}

/// The columns, and what each says.
const COLUMNS: [(&str, &str); 10] = [
    ("lock", "its name in torture_type"),
    ("writers", "threads that take it again and again"),
    ("runs", "how many there were"),
    (
        "median/s",
        "acquisitions a second of all writers, the median of the runs",
    ),
    ("min/s", "the same, of the slowest run"),
    ("max/s", "the same, of the fastest run"),
    (
        "ratio",
        "the median to the kernel's lock (raw_spin_lock, else spin_lock); above 1 is faster",
    ),
    (
        "max/min",
        "the most acquisitions of a writer to the least, in the worst run; -: one had none",
    ),
    (
        "Jain",
        "fairness in the worst run; 1.00: all writers alike; 1/writers: one had all",
    ),
    (
        "failures",
        "checks that failed, in all runs; above 0 the lock is broken",
    ),
];

/// Calls `line` with each line of the table. `rates` needs room for the runs of a row; a
/// row without room is left out.
pub fn table<L: Listed>(
    plan: &Plan<L>,
    outcomes: &[Outcome<L>],
    rates: &mut [u64],
    mut line: impl FnMut(fmt::Arguments<'_>),
) {
    line(format_args!(
        "{:<17} {:>7} {:>4} {:>11} {:>11} {:>11} {:>6} {:>8} {:>6} {:>8}",
        COLUMNS[0].0,
        COLUMNS[1].0,
        COLUMNS[2].0,
        COLUMNS[3].0,
        COLUMNS[4].0,
        COLUMNS[5].0,
        COLUMNS[6].0,
        COLUMNS[7].0,
        COLUMNS[8].0,
        COLUMNS[9].0
    ));
    for writers in plan.writers() {
        let reference = reference(plan, outcomes, writers, rates);
        for lock in plan.locks() {
            let Some(group) = Group::of(outcomes, lock, writers, rates) else {
                continue;
            };
            let ratio = reference.and_then(|reference| hundredths(group.median, reference));
            line(format_args!(
                "{:<17} {:>7} {:>4} {:>11} {:>11} {:>11} {:>6} {:>8} {:>6} {:>8}",
                lock.name(),
                writers,
                group.runs,
                group.median,
                group.low,
                group.high,
                Hundredths(ratio),
                Hundredths(group.spread),
                Hundredths(rounded(group.jain_ppm, 10_000)),
                group.failures
            ));
        }
    }
    let steal = outcomes.iter().map(|o| o.steal_ns / 1_000_000);
    let steal = steal.fold(0, u64::saturating_add);
    line(format_args!("steal time: {steal} ms"));
    if plan.perturbations.is_any() {
        let words = plan.perturbations.words(" ");
        line(format_args!("perturbed: {words}: the rates are no figures"));
    }
    for (column, meaning) in COLUMNS {
        line(format_args!("{column:<8} {meaning}"));
    }
}
