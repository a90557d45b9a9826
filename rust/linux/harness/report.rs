// SPDX-License-Identifier: GPL-2.0-only

//! What dmesg and debugfs say. The rows and the table are `measure`'s.

use super::{
    plan::Plan,
    registry::Entry,
    state::{End, Inner, Progress, State},
    text::{displayed, put},
    uncontended,
};
use crate::measure::{
    latency::{Clock, Times},
    outcome::{Failures, Line, Now, Outcome, Rows, Shares},
    plan::Kind,
    table,
};
use kernel::{
    fmt::{self, Formatter},
    prelude::*,
};

displayed!(
    Failures<'_, Entry>,
    Line<'_, Entry>,
    Now<'_, Entry>,
    Rows<'_, Entry>,
    Shares<'_, Entry>,
    Times<'_, Entry>
);

/// One line a run, in locktorture's words.
pub(crate) fn print_run(outcome: &Outcome<Entry>) {
    pr_info!("{}\n", Line(outcome));
    if outcome.failures() != 0 {
        pr_err!("{}\n", Failures(outcome));
    }
}

/// A line every `stat_interval`.
pub(crate) fn print_progress(progress: &Progress, plan: &Plan) {
    pr_info!("{}\n", now(progress, plan));
}

/// The position of a run in its experiment.
fn now<'a>(progress: &'a Progress, plan: &Plan) -> Now<'a, Entry> {
    Now {
        progress,
        runs: plan.runs,
        duration: plan.duration,
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
        put!(f, "now: {}\n", now(progress, plan))?;
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
    put!(f, "{}", Rows(&inner.outcomes))
}

/// `writers`: CSV, a row for each writer of each run that is over.
pub(crate) fn writers(inner: &Inner, f: &mut Formatter<'_>) -> fmt::Result {
    let (runs, shares) = (&inner.outcomes[..], &inner.shares[..]);
    put!(f, "{}", Shares { runs, shares })
}

/// The times of all writers of runs that are over; none where none were taken.
fn times(inner: &Inner) -> Times<'_, Entry> {
    let clock = inner.facts.and_then(|facts| facts.clock);
    Times {
        runs: &inner.outcomes,
        latencies: &inner.latencies,
        clock: clock.unwrap_or(Clock {
            khz: 1,
            stamp_ns: 0,
        }),
    }
}

/// `latency`: CSV, the waits and the hand-overs of each run that is over, by writer and of all.
pub(crate) fn latency(inner: &Inner, f: &mut Formatter<'_>) -> fmt::Result {
    put!(f, "{}", times(inner))
}

/// Calls `line` with each line of the table, and of that of the times.
fn table(inner: &Inner, mut line: impl FnMut(fmt::Arguments<'_>)) {
    // A row has as many runs at most: no number of writers is there twice.
    let mut rates = KVVec::new();
    let room = rates.resize(inner.plan.runs as usize, 0, GFP_KERNEL);
    if room.is_err() {
        line(fmt!("no memory to sort the runs: rows are left out"));
    }
    table::table(&inner.plan, &inner.outcomes, &mut rates, &mut line);
    times(inner).table(&inner.plan, line);
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
