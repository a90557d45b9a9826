// SPDX-License-Identifier: GPL-2.0-only

//! Writers under the watchdog, of which one spins, one acquires and one sleeps. The one that spins is on the CPU of the
//! watchdog's timer, which no thread has then, a softirq's neither.

use super::{
    team::{begins, cpus, reached},
    work::arena,
};
use crate::{
    harness::{
        arena::{phase, Course},
        plan::{self, Plan},
        shim::{self, Thread},
        stall::Watch,
        writer::Writer,
    },
    locks::Word as _,
    measure::{
        perturb::{Cpus, Perturbations},
        words::Checks,
    },
    spin::{self, Word},
};
use core::ptr::{from_ref, null};
use kernel::{
    ffi::{c_int, c_void},
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

/// How many of the three have stalled as soon as one has, or after some seconds. Then the same more than a second later.
pub(super) fn of_three() -> Result<[u64; 2]> {
    begins();
    let course = Course {
        phase: Word::new(phase::MEASURE),
        cs_steps: 0,
        ncs_steps: 0,
        checks: Checks::ALL,
        seed: 1,
    };
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
        // SAFETY: Writers and threads stay until this is dropped.
        let mut watch = unsafe { Watch::new("ticket", &plan, &writers, &threads) }?;
        let runs_on = |first, last| shim::allow(None, Some(Cpus { first, last }), None);
        runs_on(0, 0)?;
        watch.start();
        runs_on(0, cpus() - 1)?;
        for thread in &threads {
            thread.start();
        }
        for _ in 0..600 {
            if watch.any_stalled() {
                break;
            }
            shim::sleep_ms(10);
        }
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
