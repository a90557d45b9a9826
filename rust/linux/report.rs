// SPDX-License-Identifier: GPL-2.0

//! Rows and tables: for dmesg, for debugfs.

use super::{
    harness::{Inner, Progress, State},
    plan::Plan,
    subject::Entry,
    torture::Outcome,
};
use kernel::{
    fmt::{self, Display, Formatter, Write as _},
    prelude::*,
};

/// `write!` for the kernel's formatting traits.
macro_rules! put {
    ($f:expr, $($format:tt)*) => {
        $f.write_fmt(fmt!($($format)*))
    };
}
pub(super) use put;

/// The columns of `results`.
const HEADER: &str = "lock,writers,run,seconds,acquisitions,min,max,failures,\
owner_failures,counter_failures,order_failures,progress_failures,hung,jain,steal_ns";

/// Millionths, as a decimal fraction.
struct Millionths(u64);

impl Display for Millionths {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        put!(f, "{}.{:06}", self.0 / 1_000_000, self.0 % 1_000_000)
    }
}

/// locktorture's mark of unfairness: the most is over twice the least.
fn unfair(min: u64, max: u64) -> &'static str {
    if max / 2 > min {
        "???"
    } else {
        ""
    }
}

/// One line a run, in locktorture's words.
pub(crate) fn print_run(outcome: &Outcome) {
    let Outcome {
        lock,
        writers,
        run,
        acquisitions,
        min,
        max,
        ..
    } = outcome;
    let failures = outcome.failures();
    let mark = if failures != 0 { "!!! " } else { "" };
    pr_info!(
        "{}-torture: Writes:  Total: {}  Max/Min: {}/{} {}  Fail: {} {}({} writers, run {}, steal {} ms)\n",
        lock.name,
        acquisitions,
        max,
        min,
        unfair(*min, *max),
        failures,
        mark,
        writers,
        run,
        outcome.steal_ns / 1_000_000,
    );
    if failures != 0 {
        pr_err!(
            "{}: failures: owner {}, counter {}, order {}, progress {}, hung {}\n",
            lock.name,
            outcome.owner_failures,
            outcome.counter_failures,
            outcome.order_failures,
            outcome.progress_failures,
            outcome.hung,
        );
    }
}

/// A line every `stat_interval`.
pub(crate) fn print_progress(progress: &Progress, plan: &Plan) {
    pr_info!("{}\n", Now { progress, plan });
}

/// Where a run stands.
struct Now<'a> {
    progress: &'a Progress,
    plan: &'a Plan,
}

impl Display for Now<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Progress {
            lock,
            writers,
            run,
            elapsed_ms,
            acquisitions,
        } = self.progress;
        put!(
            f,
            "{} with {} writers, run {} of {}: {}.{:03} s",
            lock.name,
            writers,
            run,
            self.plan.runs,
            elapsed_ms / 1000,
            elapsed_ms % 1000,
        )?;
        // 0 is until it is stopped.
        if self.plan.duration != 0 {
            put!(f, " of {} s", self.plan.duration)?;
        }
        put!(f, ", {acquisitions} acquisitions")
    }
}

/// `status`: what runs, how far.
pub(crate) fn status(inner: &Inner, f: &mut Formatter<'_>) -> fmt::Result {
    let plan = &inner.plan;
    let state = match inner.state {
        State::Idle if inner.stopped => "stopped",
        State::Idle if inner.ended() == 0 => "idle",
        State::Idle => "done",
        State::Running => "running",
        State::Hung => "hung: a lock could not be stopped, the module stays",
    };
    put!(f, "state: {state}\n")?;
    put!(f, "runs: {} of {}\n", inner.ended(), plan.total_runs())?;
    if let Some(progress) = &inner.progress {
        put!(f, "now: {}\n", Now { progress, plan })?;
    }
    if let Some(facts) = &inner.facts {
        put!(f, "facts: {facts}\n")?;
    }
    Ok(())
}

/// `results`: CSV, a row per run that is over.
pub(crate) fn results(inner: &Inner, f: &mut Formatter<'_>) -> fmt::Result {
    put!(f, "{HEADER}\n")?;
    for outcome in inner.outcomes.iter() {
        let ns = outcome.ns;
        put!(
            f,
            "{},{},{},{}.{:06},{},{},{},{},{},{},{},{},{},{},{}\n",
            outcome.lock.name,
            outcome.writers,
            outcome.run,
            ns / 1_000_000_000,
            ns % 1_000_000_000 / 1000,
            outcome.acquisitions,
            outcome.min,
            outcome.max,
            outcome.failures(),
            outcome.owner_failures,
            outcome.counter_failures,
            outcome.order_failures,
            outcome.progress_failures,
            outcome.hung,
            Millionths(outcome.jain_ppm),
            outcome.steal_ns,
        )?;
    }
    Ok(())
}

/// A row of the table: the runs of one lock with one number of writers.
struct Group {
    lock: &'static Entry,
    writers: u32,
    runs: usize,
    /// Of the runs' rates.
    median: u64,
    low: u64,
    high: u64,
    /// The worst run's most over its least, in hundredths; none if some writer
    /// acquired nothing.
    spread: Option<u64>,
    /// The worst run's.
    jain_ppm: u64,
    failures: u64,
}

impl Group {
    /// The runs of `lock` with `writers` writers, if any is over (and there is
    /// memory to sort them).
    fn of(inner: &Inner, lock: &'static Entry, writers: u32) -> Option<Self> {
        let runs = || {
            inner
                .outcomes
                .iter()
                .filter(move |o| core::ptr::eq(o.lock, lock) && o.writers == writers)
        };
        let count = runs().count();
        let mut rates = KVVec::with_capacity(count, GFP_KERNEL).ok()?;
        for outcome in runs() {
            rates.push(outcome.rate(), GFP_KERNEL).ok()?;
        }
        insertion_sort(&mut rates);
        let (&low, &high) = (rates.first()?, rates.last()?);
        // The middle one, or between the two in the middle.
        let (&under, &over) = (rates.get((count - 1) / 2)?, rates.get(count / 2)?);
        let median = under / 2 + over / 2 + (under % 2 + over % 2) / 2;
        Some(Self {
            lock,
            writers,
            runs: count,
            median,
            low,
            high,
            spread: runs()
                .map(|o| rounded(o.max.saturating_mul(100), o.min))
                .try_fold(0, |worst, spread| Some(spread?.max(worst))),
            jain_ppm: runs().map(|o| o.jain_ppm).min()?,
            failures: runs().map(Outcome::failures).fold(0, u64::saturating_add),
        })
    }
}

/// Sorts some hundreds of numbers. (`core`'s sort brings panics that objtool
/// does not know into a module.)
fn insertion_sort(values: &mut [u64]) {
    for end in 1..values.len() {
        for right in (1..=end).rev() {
            match values.get_mut(right - 1..=right) {
                Some([a, b]) if *a > *b => core::mem::swap(a, b),
                _ => break,
            }
        }
    }
}

/// The kernel's lock that ratios are taken to: `raw_spin_lock`, or `spin_lock`
/// where that alone was asked for.
fn reference(inner: &Inner, writers: u32) -> Option<u64> {
    let named = |name| inner.plan.locks().find(|lock| lock.name == name);
    let lock = named("raw_spin_lock").or_else(|| named("spin_lock"))?;
    Group::of(inner, lock, writers)
        .map(|group| group.median)
        .filter(|&median| median != 0)
}

/// Calls `line` with each line of the table.
fn table(inner: &Inner, mut line: impl FnMut(fmt::Arguments<'_>)) {
    line(fmt!(
        "{:<14} {:>7} {:>4} {:>12} {:>12} {:>12} {:>6} {:>8} {:>6} {:>8}",
        "lock",
        "writers",
        "runs",
        "median/s",
        "min/s",
        "max/s",
        "ratio",
        "max/min",
        "Jain",
        "failures"
    ));
    for writers in inner.plan.writers() {
        let reference = reference(inner, writers);
        for lock in inner.plan.locks() {
            let Some(group) = Group::of(inner, lock, writers) else {
                continue;
            };
            let ratio = reference
                .and_then(|reference| rounded(group.median.saturating_mul(100), reference));
            line(fmt!(
                "{:<14} {:>7} {:>4} {:>12} {:>12} {:>12} {:>6} {:>8} {:>6} {:>8}",
                group.lock.name,
                group.writers,
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
    let steal = inner.outcomes.iter().map(|o| o.steal_ns / 1_000_000);
    line(fmt!("steal time: {} ms", steal.sum::<u64>()));
    line(fmt!(
        "median, min and max over the runs, in acquisitions a second; ratio: median to the kernel's lock (raw_spin_lock, else spin_lock); max/min among writers and Jain's index: the worst run's"
    ));
}

/// `a / b`, rounded half up; none if `b` is 0.
fn rounded(a: u64, b: u64) -> Option<u64> {
    a.saturating_add(b / 2).checked_div(b)
}

/// Hundredths as a decimal fraction, or a dash.
struct Hundredths(Option<u64>);

impl Display for Hundredths {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut text = Fixed::<24>::new();
        match self.0 {
            Some(value) => put!(text, "{}.{:02}", value / 100, value % 100)?,
            None => text.write_str("-")?,
        }
        f.pad(text.as_str())
    }
}

/// A short text on the stack.
struct Fixed<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Fixed<N> {
    fn new() -> Self {
        Self {
            bytes: [0; N],
            len: 0,
        }
    }

    fn as_str(&self) -> &str {
        core::str::from_utf8(&self.bytes[..self.len]).unwrap_or("")
    }
}

impl<const N: usize> fmt::Write for Fixed<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len + text.len();
        self.bytes
            .get_mut(self.len..end)
            .ok_or(fmt::Error)?
            .copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}

/// `summary`: the table, and what it must be read with.
pub(crate) fn summary(inner: &Inner, f: &mut Formatter<'_>) -> fmt::Result {
    if let Some(facts) = &inner.facts {
        put!(f, "{facts}\n")?;
    }
    let mut result = Ok(());
    table(inner, |line| {
        if result.is_ok() {
            result = f.write_fmt(line).and_then(|()| f.write_str("\n"));
        }
    });
    result
}

/// The same to dmesg.
pub(crate) fn print_summary(inner: &Inner) {
    table(inner, |line| pr_info!("{}\n", line));
}
