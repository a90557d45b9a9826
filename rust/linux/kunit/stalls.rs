// SPDX-License-Identifier: GPL-2.0-only

//! A CPU that hangs, which no thread has, a softirq's neither. The watchdog's timer is on such a CPU, and sees who spins
//! there, who acquires elsewhere and who sleeps. A thread that fell asleep there goes on elsewhere. The watchdog's timer
//! makes up for no tick, and ends with its handler.

use super::{
    recorders::{arena, course},
    team::{begins, cpus, reached},
};
use crate::{
    harness::{
        arena::phase,
        plan::{self, Plan},
        shim::{self, Thread},
        stall::Watch,
        writer::Writer,
    },
    locks::Word as _,
    measure::perturb::{Cpus, Perturbations},
    spin::{self, Word},
};
use core::ptr::{from_ref, null, null_mut};
use kernel::{
    ffi::{c_int, c_void},
    macros::kunit_tests,
    prelude::*,
};

/// What a thread needs: its writer, and the word that says that it is over.
struct Does<'a> {
    writer: &'a Writer,
    over: &'a Word,
}

/// A writer's thread. The first spins with preemption off, for some seconds at most; the second acquires; others sleep.
///
/// # Safety
///
/// `arg` must point to a [`Does`], until the thread is stopped.
unsafe extern "C" fn does(arg: *mut c_void) -> c_int {
    // SAFETY: By this function's contract.
    let Does { writer, over } = unsafe { &*arg.cast::<Does<'_>>() };
    // Acquire, pairs with the release in `of_three`.
    let is_over = || over.load_acquire() != 0;
    if writer.id == 1 {
        // SAFETY: Paired with `preempt_enable` below.
        unsafe { spin::shim::handover_preempt_disable() };
        reached(is_over);
        // SAFETY: Paired with `preempt_disable` above.
        unsafe { spin::shim::handover_preempt_enable() };
    }
    while !is_over() {
        if writer.id == 2 {
            writer.total.write(writer.total.read() + 1);
        }
        shim::sleep_ms(1);
    }
    // SAFETY: This is a kthread.
    unsafe { shim::await_stop() };
    0
}

/// Moves the calling thread to one of these CPUs.
fn runs_on(first: u32, last: u32) -> Result<bool> {
    shim::allow(None, Some(Cpus { first, last }), None)
}

/// The first CPU's state, as a [`hangs`] says it.
mod state {
    pub(super) const WELL: u32 = 0;
    pub(super) const HANGS_SOON: u32 = 1;
    pub(super) const HANGS: u32 = 2;
    pub(super) const IS_OVER: u32 = 3;
}

/// A thread that begins to spin with preemption off a moment after its start. It does so until the word says that it is
/// over, for some seconds at most.
///
/// # Safety
///
/// `arg` must point to a [`Word`], until the thread is stopped.
unsafe extern "C" fn hangs(arg: *mut c_void) -> c_int {
    // SAFETY: By this function's contract.
    let word = unsafe { &*arg.cast::<Word>() };
    // Release, pairs with the acquires in `of_a_sleeper`; so do the other two.
    word.store_release(state::HANGS_SOON);
    shim::sleep_ms(50);
    // SAFETY: Paired with `preempt_enable` below.
    unsafe { spin::shim::handover_preempt_disable() };
    word.store_release(state::HANGS);
    // Acquire, pairs with the release in `of_a_sleeper`.
    reached(|| word.load_acquire() == state::IS_OVER);
    word.store_release(state::IS_OVER);
    // SAFETY: Paired with `preempt_disable` above.
    unsafe { spin::shim::handover_preempt_enable() };
    // SAFETY: This is a kthread.
    unsafe { shim::await_stop() };
    0
}

/// Whether a thread that sleeps on a CPU goes on while that CPU hangs.
fn of_a_sleeper() -> Result<bool> {
    begins();
    let word = Word::new(state::WELL);
    let arg = from_ref(&word).cast_mut().cast();
    // SAFETY: It stays until the thread is stopped below. `hangs` ends with `await_stop`.
    let thread = unsafe { Thread::create(hangs, arg, c"ho_kunit", 1, Some(0)) }?;
    let seen = runs_on(0, 0).and_then(|_| {
        thread.start();
        // Acquire, pairs with the releases in `hangs`, as below.
        while word.load_acquire() == state::WELL {
            shim::sleep_ms(1);
        }
        // Here it stays while it runs, and it sleeps here.
        runs_on(0, cpus() - 1)?;
        while word.load_acquire() == state::HANGS_SOON {
            shim::sleep_ms(200);
        }
        Ok(word.load_acquire() == state::HANGS)
    });
    // Release, pairs with the acquire in `hangs`.
    word.store_release(state::IS_OVER);
    thread.stop();
    seen
}

/// Waits until a writer has stalled, for some seconds at most.
fn until_one_stalled(watch: &Watch<'_>) {
    for _ in 0..600 {
        if watch.any_stalled() {
            break;
        }
        shim::sleep_ms(10);
    }
}

/// A thread that is as good as its writer is: it sleeps until it is stopped.
///
/// # Safety
///
/// None but to be called as a kthread.
unsafe extern "C" fn sleeps(_: *mut c_void) -> c_int {
    // SAFETY: This is a kthread.
    unsafe { shim::await_stop() };
    0
}

/// How many have stalled of two writers that sleep, beside one that has left, in six seconds at most.
fn beside_one_that_left() -> Result<u64> {
    begins();
    let course = course(phase::MEASURE, 0, 0, 1);
    let arena = arena(course, Perturbations::OFF)?;
    let plan = plan::with(&Plan::default(), "torture_type=ticket stall_secs=1")?;
    let mut writers = KVec::with_capacity(3, GFP_KERNEL)?;
    let mut threads = KVec::with_capacity(3, GFP_KERNEL)?;
    let made = (1..=3).try_for_each(|id| {
        let writer = Writer::new(&raw const *arena, id, null(), null());
        writer.total.write(id.into());
        writer.done.store_relaxed(u32::from(id == 2));
        writers.push(writer, GFP_KERNEL)?;
        // SAFETY: `sleeps` expects nothing, and ends with `await_stop`.
        let thread = unsafe { Thread::create(sleeps, null_mut(), c"ho_kunit", id, None) }?;
        thread.start();
        Ok::<_, Error>(threads.push(thread, GFP_KERNEL)?)
    });
    let seen = made.and_then(|()| {
        // SAFETY: This function drops it, before the arena.
        let mut watch = unsafe { Watch::new("ticket", &plan, &writers, &threads) }?;
        watch.start();
        until_one_stalled(&watch);
        // The look that is under way ends.
        Ok(watch.end())
    });
    for thread in threads {
        thread.stop();
    }
    seen
}

/// How many of the three have stalled as soon as one has, or after some seconds. Then the same more than a second later.
fn of_three() -> Result<[u64; 2]> {
    begins();
    let course = course(phase::MEASURE, 0, 0, 1);
    let arena = arena(course, Perturbations::OFF)?;
    let plan = plan::with(&Plan::default(), "torture_type=ticket stall_secs=1")?;
    let over = Word::new(0);
    let mut writers = KVec::with_capacity(3, GFP_KERNEL)?;
    for id in 1..=3 {
        writers.push(
            Writer::new(&raw const *arena, id, null(), null()),
            GFP_KERNEL,
        )?;
    }
    let mut each = KVec::with_capacity(3, GFP_KERNEL)?;
    for writer in &writers {
        let over = &over;
        each.push(Does { writer, over }, GFP_KERNEL)?;
    }
    let mut threads = KVec::with_capacity(3, GFP_KERNEL)?;
    let made = each.iter().try_for_each(|it| {
        let (arg, id) = (from_ref(it).cast_mut().cast(), it.writer.id);
        let cpu = (id == 1).then_some(0);
        // SAFETY: It stays until the thread is stopped below. `does` ends with `await_stop`.
        let thread = unsafe { Thread::create(does, arg, c"ho_kunit", id, cpu) }?;
        Ok(threads.push(thread, GFP_KERNEL)?)
    });
    let seen = made.and_then(|()| {
        // SAFETY: This function drops it, before the arena.
        let mut watch = unsafe { Watch::new("ticket", &plan, &writers, &threads) }?;
        let [spins, others @ ..] = &threads[..] else {
            return Err(EINVAL);
        };
        for thread in others {
            thread.start();
        }
        // The watch begins with a writer that acquires.
        while writers[1].total.read() == 0 {
            shim::sleep_ms(1);
        }
        runs_on(0, 0)?;
        watch.start();
        runs_on(0, cpus() - 1)?;
        spins.start();
        until_one_stalled(&watch);
        let before = watch.stalled();
        shim::sleep_ms(1600);
        Ok([before, watch.stalled()])
    });
    // Release, pairs with the acquire in `does`.
    over.store_release(1);
    for thread in threads {
        thread.stop();
    }
    seen
}

#[kunit_tests(handover_stalls)]
mod handover_stalls {
    use super::{beside_one_that_left, of_a_sleeper, of_three};
    use crate::kunit::{
        irq::{dropped_beside_its_handler, late_ticks},
        team::cpus,
    };
    use kernel::prelude::*;

    /// A writer that has a CPU and acquires nothing has stalled, though another acquires. One without a CPU has not.
    #[test]
    fn one_that_spins_has_stalled() -> Result {
        assert!(cpus() >= 2);
        let [before, after] = of_three()?;
        assert_eq!((before, after), (1, 1));
        Ok(())
    }

    /// Where a writer has left, the others stall as they do else.
    #[test]
    fn two_have_stalled_beside_one_that_left() -> Result {
        assert_eq!(beside_one_that_left()?, 2);
        Ok(())
    }

    /// A timer that could not tick for long makes up for none of its ticks. (Fifteen were due at least.)
    #[test]
    fn late_ticks_are_one() -> Result {
        let late = late_ticks()?;
        assert!((1..8).contains(&late));
        Ok(())
    }

    /// What acts on a stall may sleep on the CPU that hangs.
    #[test]
    fn a_sleep_ends_where_its_cpu_hangs() -> Result {
        assert!(cpus() >= 2);
        assert!(of_a_sleeper()?);
        Ok(())
    }

    /// Whoever drops a timer may free what its handler has.
    #[test]
    fn a_timer_waits_for_its_handler() -> Result {
        assert!(cpus() >= 2);
        let [begun, ended, later] = dropped_beside_its_handler()?;
        assert!(begun != 0 && ended == begun && later == begun);
        Ok(())
    }
}
