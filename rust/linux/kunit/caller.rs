// SPDX-License-Identifier: GPL-2.0-only

//! A run with writers and a caller that a case makes up.

use super::team::begins;
use crate::{
    harness::{
        arena::{phase, Arena},
        plan::{self, Plan},
        registry::Entry,
        run::Control,
        shim::{self, ThreadFn},
        torture::{self, Record},
        writer::Writer,
    },
    locks::Word as _,
    measure::outcome::Outcome,
};
use kernel::{
    ffi::{c_int, c_void},
    prelude::*,
    sync::atomic::{Atomic, Relaxed},
};

/// A caller that answers a run as these say, and counts what it is asked.
pub(super) struct Caller<'a> {
    pub(super) stopping: &'a dyn Fn() -> bool,
    pub(super) pins: &'a dyn Fn() -> bool,
    pub(super) told: &'a dyn Fn(u64),
    pub(super) pinned: Atomic<u32>,
    pub(super) unpinned: Atomic<u32>,
}

impl Caller<'_> {
    /// One that asks for nothing.
    pub(super) const fn new() -> Self {
        Self {
            stopping: &|| false,
            pins: &|| true,
            told: &|_| (),
            pinned: Atomic::new(0),
            unpinned: Atomic::new(0),
        }
    }

    /// How often it was asked to keep the module, and to keep it no longer.
    pub(super) fn pins(&self) -> (u32, u32) {
        (self.pinned.load(Relaxed), self.unpinned.load(Relaxed))
    }
}

impl Control for Caller<'_> {
    fn stopping(&self) -> bool {
        (self.stopping)()
    }

    fn pin_module(&self) -> bool {
        self.pinned.add(1u32, Relaxed);
        // SAFETY: No requirements.
        (self.pins)() && unsafe { shim::handover_pin_module() }
    }

    fn unpin_module(&self) {
        self.unpinned.add(1u32, Relaxed);
        // SAFETY: Paired with a `pin_module` that was true.
        unsafe { shim::handover_unpin_module() };
    }

    fn progress(&self, _: &'static Entry, _: u32, _: u32, _: u64, all: impl FnOnce() -> u64) {
        (self.told)(all());
    }
}

/// What `look` sees of a run of the first lock of this plan, whose writers are `main`. None where there is no outcome.
pub(super) fn run_of<T>(
    control: &Caller<'_>,
    words: &str,
    writers: u32,
    main: ThreadFn,
    look: impl FnOnce(&Outcome<Entry>, &Record) -> T,
) -> Result<Option<T>> {
    let plan = plan::with(&Plan::default(), words)?;
    let lock = plan.locks().next().ok_or(EINVAL)?;
    run_as(control, &plan, lock, writers, [main, main], look)
}

/// The same of any lock. Its writers are the first of `mains` in the measured loop, and the second in the perturbed one.
pub(super) fn run_as<T>(
    control: &Caller<'_>,
    plan: &Plan,
    lock: &'static Entry,
    writers: u32,
    [writer, perturbed]: [ThreadFn; 2],
    look: impl FnOnce(&Outcome<Entry>, &Record) -> T,
) -> Result<Option<T>> {
    begins();
    let lock = KBox::new(
        Entry {
            writer,
            perturbed,
            ..*lock
        },
        GFP_KERNEL,
    )?;
    let mut record = Record::new(plan, writers)?;
    // SAFETY: The run and its outcome, which refer to it, are gone before it is. What hangs keeps it.
    let entry = unsafe { &*(&raw const *lock) };
    let outcome = torture::run(plan, entry, writers, 1, control, &mut record)?;
    if outcome.as_ref().is_some_and(|outcome| outcome.hung != 0) {
        core::mem::forget(lock);
    }
    Ok(outcome.map(|outcome| look(&outcome, &record)))
}

/// Waits until the run is in this phase, or in a later one.
pub(super) fn reaches(arena: &Arena, phase: u32) {
    // Acquire, pairs with the release in `Run::enter`.
    while arena.course.phase.load_acquire() < phase {
        shim::sleep_ms(1);
    }
}

/// The writer that a thread gets, and its arena.
///
/// # Safety
///
/// `arg` must be what `Run` gives its writers.
pub(super) unsafe fn given<'a>(arg: *mut c_void) -> (&'a Writer, &'a Arena) {
    // SAFETY: By this function's contract. The arena stays as long as the writer.
    unsafe {
        let me = &*arg.cast::<Writer>();
        (me, &*me.arena)
    }
}

/// A writer that has come acquires once, and waits for the end.
///
/// # Safety
///
/// This must be a writer's kthread.
pub(super) unsafe fn acquires_once(me: &Writer, arena: &Arena) -> c_int {
    me.mustered.write(true);
    reaches(arena, phase::WARM);
    me.total.write(1);
    reaches(arena, phase::STOP);
    // Release, pairs with the acquire in `Run::join`.
    me.done.store_release(1);
    // SAFETY: By this function's contract.
    unsafe { shim::await_stop() };
    0
}
