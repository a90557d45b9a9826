// SPDX-License-Identifier: GPL-2.0-only

//! A run: some writers on one lock, for some time; then the verdict.

use super::{
    arena::phase,
    plan::Plan,
    registry::Entry,
    run::{goes_on, Control, Run},
    shim::{self, MS},
    stall::Watch,
    writer::Writer,
};
use crate::measure::{
    latency::Latency,
    outcome::{Outcome, Share},
    statistics::Since,
};
use kernel::prelude::*;

/// What each writer of a run did.
pub(crate) struct Record {
    pub(crate) shares: KVVec<Share>,
    /// Their times; empty where none are taken.
    pub(crate) latencies: KVVec<Latency>,
}

impl Record {
    /// Room for so many writers.
    pub(crate) fn new(plan: &Plan, writers: u32) -> Result<Self> {
        Ok(Self {
            shares: KVVec::with_capacity(writers as usize, GFP_KERNEL)?,
            latencies: KVVec::with_capacity(Self::latencies(plan, writers), GFP_KERNEL)?,
        })
    }

    /// How many writers have their times taken.
    pub(crate) fn latencies(plan: &Plan, writers: u32) -> usize {
        if plan.perturbations.latency != 0 {
            writers as usize
        } else {
            0
        }
    }

    /// Keeps what a writer did. A writer that hangs has no times.
    fn keep(&mut self, writer: &Writer) -> Result {
        self.shares.push(writer.share(), GFP_KERNEL)?;
        if writer.takes_times() {
            let latency = writer.latency().unwrap_or(&Latency::EMPTY);
            self.latencies.push(*latency, GFP_KERNEL)?;
        }
        Ok(())
    }
}

/// Runs `lock` with `writers` writers. None if it was stopped before all writers
/// ran, and nothing failed. Fails with the kernel's error if a writer cannot be
/// made. Fails with EINVAL if one is refused its CPUs or its timer. Fails with ETIMEDOUT if not all
/// writers began and none stalled. Nothing is left then. What each writer did goes to `record`, which has room for it.
pub(crate) fn run(
    plan: &Plan,
    lock: &'static Entry,
    writers: u32,
    number: u32,
    control: &impl Control,
    record: &mut Record,
) -> Result<Option<Outcome<Entry>>> {
    let mut run = Run::gather(plan, lock, writers, number)?;
    // SAFETY: `end` below drops it. The arena is the run's.
    let mut watch = unsafe { Watch::new(lock.name, plan, &run.writers, &run.threads) }?;
    for thread in run.threads.iter() {
        thread.start();
    }

    run.muster(control);
    watch.start();
    run.enter(phase::WARM);
    let warm = run.warm_up(&watch, control);
    let refused = run.count(|writer| writer.is_refused.read());
    let (mut ns, mut stolen) = (0, 0);
    if warm && refused == 0 {
        if let Some(jobs) = &mut run.jobs {
            jobs.start();
        }
        let steal = Since::new(steal_ns());
        let from = run.enter(phase::MEASURE);
        let until = match plan.duration {
            0 => u64::MAX,
            seconds => from.saturating_add(u64::from(seconds) * 1000 * MS),
        };
        while goes_on(&watch, control) {
            let now = shim::now_ns();
            if now >= until {
                break;
            }
            let elapsed = now.saturating_sub(from) / MS;
            control.progress(lock, writers, number, elapsed, || {
                run.sum(|writer| writer.counted.read())
            });
            shim::sleep_ms(((until - now).div_ceil(MS)).min(100) as u32);
        }
        ns = run.enter(phase::STOP).saturating_sub(from);
        stolen = steal.grown(steal_ns());
    } else {
        run.enter(phase::STOP);
    }

    // Whether the warm-up was given up although no end was asked for.
    let late = !warm && !control.stopping() && !watch.any_stalled();
    // If it hangs, the module must stay: from now on, so that no rmmod begins.
    let pinned = (late || watch.any_stalled()) && control.pin_module();
    let hung = run.join(control, pinned);
    // From here on no other thread looks at the writers.
    let stalled = watch.end();
    // One look: a writer that hangs may still count.
    let kept = run
        .writers
        .iter()
        .try_for_each(|writer| record.keep(writer));
    let outcome = run.judge(ns, stolen, hung, stalled, &record.shares);
    run.end(hung != 0);
    if pinned && hung == 0 {
        control.unpin_module();
    }
    kept?;
    if (warm && refused == 0) || outcome.failures() != 0 {
        Ok(Some(outcome))
    } else if refused != 0 {
        pr_err!(
            "{}: {refused} of {writers} writers are refused their CPUs or timers: {}\n",
            lock.name,
            plan.perturbations.words(" ")
        );
        Err(EINVAL)
    } else if late {
        pr_err!(
            "{}: not all of {writers} writers began: no other did for {} s\n",
            lock.name,
            plan.stall_secs
        );
        Err(ETIMEDOUT)
    } else {
        Ok(None)
    }
}

/// What the hypervisor took from all CPUs until now.
fn steal_ns() -> u64 {
    // SAFETY: No requirements.
    unsafe { shim::handover_steal_ns() }
}
