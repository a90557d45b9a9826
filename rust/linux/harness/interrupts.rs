// SPDX-License-Identifier: GPL-2.0-only

//! Interrupts that take a lock where a writer of it began: a timer's, on that CPU.

use super::{
    arena::{phase, Guarded},
    shim::{self, Timer},
    subject::Subject,
    writer::{bump, section, Writer},
};
use crate::{
    locks::Word as _,
    measure::{perturb::Perturbations, prng::Prng},
};
use kernel::ffi::c_void;

/// A section in a timer's interrupt, on the CPU on which a writer began.
///
/// # Safety
///
/// `arg` must point to a record of interrupts, whose arena has a lock of type `S`. Interrupts are off.
pub(crate) unsafe extern "C" fn tick<S: Subject>(arg: *mut c_void) {
    // SAFETY: By this function's contract.
    let me = unsafe { &*arg.cast::<Writer>() };
    // SAFETY: The arena outlives the record.
    let arena = unsafe { &*me.arena };
    let course = &arena.course;
    let phase = course.phase.load_relaxed();
    if phase == phase::STOP || arena.is_paused() {
        return;
    }
    let lock = arena.lock.state::<S>();
    let mut prng = Prng::new(course.seed ^ me.total.read());
    // SAFETY: The arena's lock is of type `S`.
    let ticket = unsafe { S::lock_at(lock, *prng.state()) };
    section::<S>(
        me,
        &arena.guarded,
        course.checks,
        ticket,
        &mut prng,
        |prng| prng.steps(course.cs_steps),
    );
    release(&arena.perturb.plan, &arena.guarded);
    // SAFETY: Locked above.
    unsafe { S::unlock_at(lock, ticket, *prng.state()) };
    bump(&me.total);
}

/// Leaves a stamp for the next owner, where times are taken. The caller releases the lock next.
#[inline(always)]
pub(super) fn release(plan: &Perturbations, guarded: &Guarded) {
    if plan.latency != 0 {
        guarded.released.write(shim::stamp());
    }
}

/// Has this CPU's timer take the lock from its interrupt until the result is dropped.
pub(crate) fn interrupts<S: Subject>(me: &Writer, microseconds: u32) -> Option<Timer> {
    if !S::IS_IRQ || me.irq.is_null() {
        return None;
    }
    // SAFETY: `tick` expects a record of interrupts. It outlives the writer, which drops the timer at its end.
    let timer = unsafe {
        Timer::start_here(
            tick::<S>,
            me.irq.cast_mut().cast(),
            u64::from(microseconds) * 1000,
        )
    };
    if timer.is_err() {
        me.is_refused.write(true);
    }
    timer.ok()
}
