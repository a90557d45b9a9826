// SPDX-License-Identifier: GPL-2.0-only

//! A writer that is perturbed, or that takes times. It is checked as all are, and what it acquires is no figure.

use super::{
    arena::{phase, Arena, Course, Perturb},
    interrupts::{interrupts, release},
    nested::Nested,
    shim,
    subject::{Subject, REFUSED},
    writer::{bump, outside, section, Writer},
};
use crate::{locks::Word as _, measure::prng::Prng, spin};

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
        // SAFETY: The arena's locks are of type `S` by `writer`'s contract. They are released below.
        let nested = unsafe { Nested::lock::<S>(me, arena, plan.nested(&mut fate)) };
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
            None => unsafe { S::lock_at(lock, *prng.state()) },
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
        unsafe { S::unlock_at(lock, ticket, *prng.state()) };
        // SAFETY: Locked above.
        unsafe { nested.unlock::<S>(arena) };

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
