// SPDX-License-Identifier: GPL-2.0-only

//! Rows and tables: for dmesg, for debugfs.

use super::{
    outcome::Outcome,
    plan::Plan,
    registry::Entry,
    state::{End, Inner, Progress, State},
    text::put,
    uncontended,
};
use crate::measure::{
    plan::Kind,
    statistics::{hundredths, insertion_sort, is_unfair, median, rounded, worst_spread},
    text::{Hundredths, Millionths, Thousandths},
};
use kernel::{
    fmt::{self, Display, Formatter},
    prelude::*,
};

/// The columns of `results`.
const HEADER: &str = "lock,writers,run,seconds,acquisitions,min,max,failures,\
owner_failures,counter_failures,order_failures,progress_failures,hung,jain,steal_ns,\
cs_steps,ncs_steps,checks,duration,stall_secs,seed,nice,first_ticket";

/// A run's first ticket, of a lock that has tickets.
struct FirstTicket(Option<u32>);

impl Display for FirstTicket {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        self.0
            .map_or(Ok(()), |first| put!(f, ", first ticket {first}"))
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
        "{}-torture: Writes:  Total: {}  Max/Min: {}/{} {}  Fail: {} {}({} writers, run {}, steal {} ms{})\n",
        lock.name,
        acquisitions,
        max,
        min,
        if is_unfair(*min, *max) { "???" } else { "" },
        failures,
        mark,
        writers,
        run,
        outcome.steal_ns / 1_000_000,
        FirstTicket(outcome.first_ticket),
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
            "{} with {} writers, run {} of {}: {} s",
            lock.name,
            writers,
            run,
            self.plan.runs,
            Thousandths(*elapsed_ms),
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
    match (inner.state, inner.end) {
        (State::Running, _) => f.write_str("state: running\n")?,
        (State::Hung, _) => {
            f.write_str("state: hung: a lock could not be stopped, the module stays\n")?
        }
        (State::Idle, End::None) => f.write_str("state: idle\n")?,
        (State::Idle, End::Done) => f.write_str("state: done\n")?,
        (State::Idle, End::Stopped) => f.write_str("state: stopped\n")?,
        (State::Idle, End::Failed(why)) => put!(f, "state: failed: {why}\n")?,
    }
    put!(f, "runs: {} of {}\n", inner.ended(), plan.total_runs())?;
    if let Some(progress) = &inner.progress {
        put!(f, "now: {}\n", Now { progress, plan })?;
    }
    if let Some(facts) = &inner.facts {
        put!(f, "facts: {facts}\n")?;
    }
    if plan.kind != Kind::None {
        put!(f, "workload: {plan}\n")?;
    }
    Ok(())
}

/// `results`: CSV, a row per run that is over, each with its workload.
pub(crate) fn results(inner: &Inner, f: &mut Formatter<'_>) -> fmt::Result {
    put!(f, "{HEADER}\n")?;
    for outcome in inner.outcomes.iter() {
        let ns = outcome.ns;
        put!(
            f,
            "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},",
            outcome.lock.name,
            outcome.writers,
            outcome.run,
            Millionths(ns / 1000),
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
            outcome.cs_steps,
            outcome.ncs_steps,
            outcome.checks.names("+"),
            outcome.duration,
            outcome.stall_secs,
            outcome.seed,
            outcome.nice,
        )?;
        match outcome.first_ticket {
            Some(first) => put!(f, "{first}\n")?,
            None => f.write_str("-\n")?,
        }
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
    /// The runs of `lock` with `writers` writers. None if none is over, or if
    /// memory to sort them is short.
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
        let median = median(&rates)?;
        Some(Self {
            lock,
            writers,
            runs: count,
            median,
            low,
            high,
            spread: worst_spread(runs().map(|o| (o.max, o.min))),
            jain_ppm: runs().map(|o| o.jain_ppm).min()?,
            failures: runs().map(Outcome::failures).fold(0, u64::saturating_add),
        })
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
            let ratio = reference.and_then(|reference| hundredths(group.median, reference));
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

/// `summary`: the table, and what it must be read with. Of uncontended pairs, the
/// rows.
pub(crate) fn summary(inner: &Inner, f: &mut Formatter<'_>) -> fmt::Result {
    if let Some(facts) = &inner.facts {
        put!(f, "{facts}\n")?;
    }
    match inner.plan.kind {
        Kind::None => {}
        Kind::Torture => put!(f, "workload: {}\n", inner.plan)?,
        Kind::Uncontended => {
            put!(f, "workload: {}\n", inner.plan)?;
            return uncontended::results(&inner.samples, f);
        }
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
