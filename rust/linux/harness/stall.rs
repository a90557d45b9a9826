// SPDX-License-Identifier: GPL-2.0-only

//! The watchdog: which writers have acquired nothing for too long.
//!
//! The watchdog runs from a timer's interrupt. Writers that hang spin with preemption off,
//! and may leave no CPU to any thread.

use super::{
    arena::Once,
    plan::Plan,
    shim::{Thread, Timer},
    writer::Writer,
};
use crate::{locks::Word as _, measure::watch};
use kernel::{ffi::c_void, prelude::*};

/// How many writers a look names: it is in an interrupt, on a slow console.
const MAX_LINES: u32 = 8;

/// Milliseconds between two looks.
const TICK_MS: u32 = 250;

/// What was last seen of a writer. Written by the timer alone.
struct Mark<'a> {
    writer: &'a Writer,
    thread: &'a Thread,
    /// Its total, and for how many looks it has been that. Then at how many of these in a
    /// row it had a CPU.
    total: Once<u64>,
    idle: Once<u32>,
    spun: Once<u32>,
    stalled: Once<bool>,
}

/// What the timer looks at. The cells are written by the timer alone.
struct Dial<'a> {
    name: &'static str,
    stall_secs: u32,
    /// What all totals come to, how many writers are done, and for how many looks both have
    /// been that.
    sum: Once<u64>,
    done: Once<usize>,
    still: Once<u32>,
    marks: KVVec<Mark<'a>>,
}

/// A watchdog over some writers; it ends when this is dropped.
pub(crate) struct Watch<'a> {
    /// Dropped before what it looks at.
    timer: Timer,
    dial: KBox<Dial<'a>>,
    /// Whether it is to watch.
    is_on: bool,
}

impl<'a> Watch<'a> {
    /// A watchdog over `writers`, which run on `threads`; it does not watch yet.
    ///
    /// # Safety
    ///
    /// It must be dropped, not forgotten. The writers' arena must stay until then.
    pub(crate) unsafe fn new(
        name: &'static str,
        plan: &Plan,
        writers: &'a [Writer],
        threads: &'a [Thread],
    ) -> Result<Self> {
        let mut marks = KVVec::with_capacity(writers.len(), GFP_KERNEL)?;
        for (writer, thread) in writers.iter().zip(threads) {
            let mark = Mark {
                writer,
                thread,
                total: Once::new(0),
                idle: Once::new(0),
                spun: Once::new(0),
                stalled: Once::new(false),
            };
            marks.push(mark, GFP_KERNEL)?;
        }
        let dial = Dial {
            name,
            stall_secs: plan.stall_secs,
            sum: Once::new(0),
            done: Once::new(0),
            still: Once::new(0),
            marks,
        };
        let dial = KBox::new(dial, GFP_KERNEL)?;
        let arg = (&raw const *dial).cast_mut().cast();
        Ok(Self {
            // SAFETY: `tick` expects a dial. It stays until the timer is dropped, which its contract says it is.
            timer: unsafe { Timer::new(tick, arg, u64::from(TICK_MS) * 1_000_000) }?,
            dial,
            is_on: plan.checks.progress(),
        })
    }

    /// Begins to watch, once, if the plan's progress check is on. Nothing holds the
    /// writers any more then: a writer that is held acquires nothing, and has not stalled.
    pub(crate) fn start(&mut self) {
        if self.is_on {
            self.timer.start();
        }
    }

    /// Whether a writer has stalled.
    pub(crate) fn any_stalled(&self) -> bool {
        self.stalled() > 0
    }

    /// How many have stalled.
    pub(crate) fn stalled(&self) -> u64 {
        let stalled = self.dial.marks.iter().filter(|mark| mark.stalled.read());
        stalled.count() as u64
    }

    /// Ends the watch, and says how many have stalled. The timer looks at no writer any more.
    pub(crate) fn end(mut self) -> u64 {
        self.timer.stop();
        self.stalled()
    }
}

/// A look at all writers. [`watch::Mark`] says which have stalled.
///
/// # Safety
///
/// `arg` must point to the [`Dial`] of a [`Watch`].
unsafe extern "C" fn tick(arg: *mut c_void) {
    // SAFETY: By this function's contract.
    let dial = unsafe { &*arg.cast::<Dial<'_>>() };
    // SAFETY: The arena stays until the watch is dropped, by the contract of `Watch::new`.
    let is_paused = |mark: &Mark<'_>| unsafe { &*mark.writer.arena }.is_paused();
    if dial.marks.first().is_some_and(is_paused) {
        // Nobody is to acquire anything.
        return;
    }
    let mut said = 0;
    let writers = || dial.marks.iter().map(|mark| mark.writer);
    let sum = writers().fold(0, |sum, writer| writer.total.read().wrapping_add(sum));
    let is_done = |writer: &Writer| writer.done.load_relaxed() != 0;
    let done = writers().filter(|&writer| is_done(writer)).count();
    let enough = watch::ticks_needed(dial.stall_secs, TICK_MS);
    let together = watch::Together {
        sum: dial.sum.read(),
        done: dial.done.read(),
        still: dial.still.read(),
    }
    .look(sum, done);
    dial.sum.write(together.sum);
    dial.done.write(together.done);
    dial.still.write(together.still);
    for mark in dial.marks.iter() {
        let writer = mark.writer;
        let total = writer.total.read();
        let now = watch::Mark {
            total: mark.total.read(),
            idle: mark.idle.read(),
            spun: mark.spun.read(),
        }
        .look(total, is_done(writer), || mark.thread.on_cpu());
        mark.total.write(now.total);
        mark.idle.write(now.idle);
        mark.spun.write(now.spun);
        if !now.has_stalled(together.still, enough) || mark.stalled.read() {
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
