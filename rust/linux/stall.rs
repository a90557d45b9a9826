// SPDX-License-Identifier: GPL-2.0

//! The watchdog: who has acquired nothing for too long.
//!
//! It looks from a timer, in softirq context: writers that hang spin with
//! preemption off, and may leave no CPU to any thread.

use super::{
    plan::Plan,
    shim,
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
    /// Its total, and for how many looks it has been that.
    total: Once<u64>,
    looks: Once<u32>,
    stalled: Once<bool>,
}

/// What the timer looks at.
struct Dial {
    name: &'static str,
    stall_secs: u32,
    marks: KVVec<Mark>,
}

/// A watchdog over some writers; it ends when this is dropped.
pub(crate) struct Watch {
    dial: KBox<Dial>,
    ticks: bool,
}

impl Watch {
    /// Watches `writers`; looks away if the plan's progress check is off.
    ///
    /// # Safety
    ///
    /// The writers must stay where they are until this is stopped or dropped.
    pub(crate) unsafe fn start(
        name: &'static str,
        plan: &Plan,
        writers: &[Writer],
    ) -> Result<Self> {
        let mut marks = KVVec::with_capacity(writers.len(), GFP_KERNEL)?;
        for writer in writers {
            let mark = Mark {
                writer,
                total: Once::new(0),
                looks: Once::new(0),
                stalled: Once::new(false),
            };
            marks.push(mark, GFP_KERNEL)?;
        }
        let dial = Dial {
            name,
            stall_secs: plan.stall_secs,
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

    /// Whether somebody has stalled.
    pub(crate) fn any_stalled(&self) -> bool {
        self.dial.marks.iter().any(|mark| mark.stalled.read())
    }

    /// Ends it; nobody looks at the writers any more.
    pub(crate) fn stop(&mut self) {
        if core::mem::take(&mut self.ticks) {
            // SAFETY: Started in `start`.
            unsafe { shim::handover_watchdog_stop() };
        }
    }

    /// Whether the writer at `index` has stalled.
    pub(crate) fn stalled(&self, index: usize) -> bool {
        self.dial
            .marks
            .get(index)
            .is_some_and(|mark| mark.stalled.read())
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A look at all writers.
///
/// # Safety
///
/// `arg` must point to a [`Dial`] whose writers are valid.
unsafe extern "C" fn tick(arg: *mut c_void) {
    // SAFETY: By this function's contract.
    let dial = unsafe { &*arg.cast::<Dial>() };
    let mut said = 0;
    for mark in dial.marks.iter() {
        // SAFETY: By this function's contract.
        let writer = unsafe { &*mark.writer };
        let total = writer.total.read();
        if total != mark.total.read() || writer.done.load_relaxed() != 0 {
            mark.total.write(total);
            mark.looks.write(0);
            continue;
        }
        // Looks, not the clock: a machine that was halted as a whole has not
        // stalled.
        let looks = mark.looks.read().saturating_add(1);
        mark.looks.write(looks);
        if looks < dial.stall_secs * (1000 / TICK_MS) || mark.stalled.read() {
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
