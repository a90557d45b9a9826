// SPDX-License-Identifier: GPL-2.0

//! The watchdog: who has acquired nothing for too long.
//!
//! It looks from a timer, in softirq context: writers that hang spin with
//! preemption off, and may leave no CPU to any thread.

use super::{
    plan::Plan,
    shim::{self, Thread},
    writer::{Once, Writer},
};
use crate::locks::Word as _;
use kernel::{ffi::c_void, prelude::*};

/// How many writers a look names: it is in an interrupt, on a slow console.
const MAX_LINES: u32 = 8;

/// Milliseconds between two looks.
const TICK_MS: u32 = 250;

/// What was last seen of a writer. Written by the timer alone.
struct Mark {
    writer: *const Writer,
    thread: *const Thread,
    /// Its total, for how many looks it has been that, and for how many looks on
    /// end it also had a CPU.
    total: Once<u64>,
    looks: Once<u32>,
    spun: Once<u32>,
    stalled: Once<bool>,
}

/// What the timer looks at. The cells are written by the timer alone.
struct Dial {
    name: &'static str,
    stall_secs: u32,
    /// What all totals come to, and for how many looks it has been that.
    sum: Once<u64>,
    still: Once<u32>,
    marks: KVVec<Mark>,
}

/// A watchdog over some writers; it ends when this is dropped.
pub(crate) struct Watch {
    dial: KBox<Dial>,
    ticks: bool,
}

impl Watch {
    /// Watches `writers`, which run on `threads`; looks away if the plan's progress
    /// check is off.
    ///
    /// # Safety
    ///
    /// Writers and threads must stay where they are until this is stopped or
    /// dropped.
    pub(crate) unsafe fn start(
        name: &'static str,
        plan: &Plan,
        writers: &[Writer],
        threads: &[Thread],
    ) -> Result<Self> {
        let mut marks = KVVec::with_capacity(writers.len(), GFP_KERNEL)?;
        for (writer, thread) in writers.iter().zip(threads) {
            let mark = Mark {
                writer,
                thread,
                total: Once::new(0),
                looks: Once::new(0),
                spun: Once::new(0),
                stalled: Once::new(false),
            };
            marks.push(mark, GFP_KERNEL)?;
        }
        let dial = Dial {
            name,
            stall_secs: plan.stall_secs,
            sum: Once::new(0),
            still: Once::new(0),
            marks,
        };
        let watch = Self {
            dial: KBox::new(dial, GFP_KERNEL)?,
            ticks: plan.checks.progress(),
        };
        if watch.ticks {
            let dial = (&raw const *watch.dial).cast_mut().cast();
            // SAFETY: `tick` expects a dial; it stays until `stop`, which a drop
            // calls too. There is one watchdog at a time: one run is.
            unsafe { shim::handover_watchdog_start(tick, dial, TICK_MS) };
        }
        Ok(watch)
    }

    /// Whether it looks at all.
    pub(crate) fn looks(&self) -> bool {
        self.ticks
    }

    /// Whether somebody has stalled.
    pub(crate) fn any_stalled(&self) -> bool {
        self.stalled() > 0
    }

    /// How many have stalled.
    pub(crate) fn stalled(&self) -> u64 {
        let stalled = self.dial.marks.iter().filter(|mark| mark.stalled.read());
        stalled.count() as u64
    }

    /// Ends it; nobody looks at the writers any more.
    pub(crate) fn stop(&mut self) {
        if core::mem::take(&mut self.ticks) {
            // SAFETY: Started in `start`.
            unsafe { shim::handover_watchdog_stop() };
        }
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A look at all writers.
///
/// A writer has stalled that acquired nothing for `stall_secs` while nobody did
/// (the lock hangs), or while it had a CPU at every look (it starves: whoever
/// waits in a lock spins with preemption off). Who waits for a CPU has not: there
/// may be many more writers than CPUs.
///
/// # Safety
///
/// `arg` must point to a [`Dial`] whose writers and threads are valid.
unsafe extern "C" fn tick(arg: *mut c_void) {
    // SAFETY: By this function's contract.
    let dial = unsafe { &*arg.cast::<Dial>() };
    let mut said = 0;
    let totals = dial.marks.iter().map(|mark| {
        // SAFETY: By this function's contract.
        unsafe { &*mark.writer }.total.read()
    });
    let sum = totals.fold(0, u64::wrapping_add);
    // Looks, not the clock: a machine that was halted as a whole has not stalled.
    let enough = dial.stall_secs * (1000 / TICK_MS);
    let still = if sum == dial.sum.read() {
        dial.still.read().saturating_add(1)
    } else {
        0
    };
    dial.sum.write(sum);
    dial.still.write(still);
    for mark in dial.marks.iter() {
        // SAFETY: By this function's contract.
        let writer = unsafe { &*mark.writer };
        let total = writer.total.read();
        if total != mark.total.read() || writer.done.load_relaxed() != 0 {
            mark.total.write(total);
            mark.looks.write(0);
            mark.spun.write(0);
            continue;
        }
        let looks = mark.looks.read().saturating_add(1);
        mark.looks.write(looks);
        // SAFETY: By this function's contract.
        let spun = if unsafe { &*mark.thread }.on_cpu() {
            mark.spun.read().saturating_add(1)
        } else {
            0
        };
        mark.spun.write(spun);
        let hangs = looks >= enough && still >= enough;
        if !(hangs || spun >= enough) || mark.stalled.read() {
            continue;
        }
        mark.stalled.write(true);
        said += 1;
        if said <= MAX_LINES {
            pr_err!(
                "{}: writer {} has acquired nothing for {} s (after {} acquisitions)\n",
                dial.name,
                writer.id,
                dial.stall_secs,
                total
            );
        }
    }
}
