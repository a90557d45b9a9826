// SPDX-License-Identifier: GPL-2.0-only

//! A writer that is perturbed, or that takes times. It is checked as all are, and what it acquires is no figure.

use super::{
    shim::{self, Timer},
    subject::{Subject, REFUSED},
    writer::{bump, outside, phase, section, told, Arena, Course, Guarded, Perturb, Writer},
};
use crate::{
    locks::Word as _,
    measure::{
        perturb::{Perturbations, MAX_NESTED},
        prng::Prng,
    },
    spin,
};
use kernel::ffi::c_void;

/// A section in a timer's interrupt, on the CPU on which a writer began.
///
/// # Safety
///
/// `arg` must point to a record of interrupts, whose arena has a lock of type `S`. Interrupts are off.
unsafe extern "C" fn tick<S: Subject>(arg: *mut c_void) {
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
    let ticket = unsafe { S::lock(lock) };
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
    unsafe { S::unlock(lock, ticket) };
    bump(&me.total);
}

/// Leaves a stamp for the next owner, where times are taken. The caller releases the lock next.
#[inline(always)]
fn release(plan: &Perturbations, guarded: &Guarded) {
    if plan.latency != 0 {
        guarded.released.write(shim::stamp());
    }
}

/// Has this CPU's timer take the lock from its interrupt until the result is dropped.
fn interrupts<S: Subject>(me: &Writer, microseconds: u32) -> Option<Timer> {
    if !S::IS_IRQ || me.irq.is_null() {
        return None;
    }
    // SAFETY: `tick` expects a record of interrupts. It outlives the writer, which drops the timer at its end.
    let timer = unsafe {
        Timer::start(
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

/// How long a real-time writer runs until it sleeps, in jiffies.
const FIFO_TICKS: u64 = 4;

/// The loop of a writer with all that a plan may do to it.
#[inline(always)]
pub(crate) fn laps<S: Subject>(me: &Writer, arena: &Arena) -> Prng {
    let Course {
        cs_steps,
        ncs_steps,
        checks,
        seed,
        ..
    } = arena.course;
    let Perturb {
        ref plan, writers, ..
    } = arena.perturb;
    let mut prng = Prng::new(seed ^ (u64::from(me.id) << 32));
    // Draws of their own: the work is that of a run that nothing perturbs.
    let mut fate = Prng::new(!seed ^ (u64::from(me.id) << 32));
    let hits = |fate: &mut Prng, one_in: Option<u32>| one_in.is_some_and(|n| fate.below(n) == 0);
    let mut total = 0u64;
    let mut rested = shim::jiffies();
    // Until this function returns.
    let _timer = interrupts::<S>(me, plan.irq_interval);
    let times = me.times();
    let stamp = || if times.is_some() { shim::stamp() } else { 0 };
    let is_timed = plan.acq_writer_lim != 0 || times.is_some();
    let mut is_fifo = plan.writer_fifo != 0;
    if is_fifo {
        shim::set_fifo(true);
    }

    loop {
        while arena.is_paused() && arena.course.phase.load_relaxed() != phase::STOP {
            shim::sleep_ms(1);
        }
        let phase = arena.course.phase.load_relaxed();
        if phase == phase::STOP {
            if is_fifo {
                shim::set_fifo(false);
            }
            return prng;
        }
        if hits(&mut fate, plan.boost_one_in(writers, is_fifo)) {
            is_fifo = !is_fifo;
            shim::set_fifo(is_fifo);
            if is_fifo {
                bump(&me.boosts);
            }
        }

        let (lock, guarded) = arena.unit(fate.below(plan.nlocks));
        let lock = lock.state::<S>();
        // The lowest first, so that no two writers wait for each other.
        let set = plan.nested(&mut fate);
        let is_nested = |at: usize| set >> at & 1 != 0;
        let mut tokens = [0; MAX_NESTED as usize];
        for (at, (cell, token)) in arena.perturb.nested.iter().zip(&mut tokens).enumerate() {
            if is_nested(at) {
                // SAFETY: As the arena's own lock.
                *token = unsafe { S::lock(cell.state::<S>()) };
                told::<S>(me, *token);
                bump(&me.nested);
            }
        }
        if is_timed {
            // The wait is for the lock, and not for a CPU.
            // SAFETY: Paired with `preempt_enable` below.
            unsafe { spin::shim::handover_preempt_disable() };
        }
        let from = shim::jiffies();
        let arrived = stamp();
        let tried = if plan.try_lock != 0 {
            // SAFETY: As below.
            unsafe { S::try_lock(lock) }
        } else {
            None
        };
        let ticket = match tried {
            Some(ticket) => {
                bump(&me.tries);
                ticket
            }
            // SAFETY: The arena's locks are of type `S` by `writer`'s contract.
            None => unsafe { S::lock(lock) },
        };
        let admitted = stamp();
        let released = guarded.released.read();
        if plan.is_late(from, shim::jiffies()) {
            bump(&me.wait_failures);
        }
        if is_timed {
            // SAFETY: Paired with `preempt_disable` above.
            unsafe { spin::shim::handover_preempt_enable() };
        }
        section::<S>(me, guarded, checks, ticket, &mut prng, |prng| {
            prng.steps(cs_steps);
            if hits(&mut fate, plan.long_hold_one_in(writers)) {
                bump(&me.long_holds);
                shim::hold_ms(plan.long_hold);
            }
        });
        release(plan, guarded);
        // SAFETY: Locked above.
        unsafe { S::unlock(lock, ticket) };
        for (at, (cell, token)) in arena.perturb.nested.iter().zip(&tokens).enumerate().rev() {
            if is_nested(at) {
                // SAFETY: Locked above.
                unsafe { S::unlock(cell.state::<S>(), *token) };
            }
        }

        // Outside the section, which others wait for.
        if let Some(times) = times {
            if phase == phase::MEASURE && !(S::REFUSES && ticket == REFUSED) {
                // SAFETY: This is the writer.
                unsafe { times.note(arrived, released, admitted) };
            }
        }
        total = outside(me, phase, total, ncs_steps, &mut prng);
        if is_fifo && from.wrapping_sub(rested) >= FIFO_TICKS {
            // A real-time thread gives way to no other by itself.
            shim::sleep_ms(1);
            rested = shim::jiffies();
        } else if total % 64 == 0 {
            // SAFETY: No lock is held.
            unsafe { shim::handover_cond_resched() };
        }
    }
}
