// SPDX-License-Identifier: GPL-2.0-only

//! Kthreads that begin together, each on a CPU of its own, and are joined.

use crate::{
    harness::shim::{self, Thread},
    spin,
};
use kernel::{
    ffi::{c_int, c_void},
    prelude::*,
    processor::cpu_relax,
    sync::{
        atomic::{Atomic, Relaxed},
        Completion,
    },
    types::NotThreadSafe,
};

/// CPUs online; they are taken to be the first ones.
pub(super) fn cpus() -> u32 {
    shim::online_cpus()
}

/// Teams that have begun since the module was loaded.
static TEAMS: Atomic<u32> = Atomic::new(0);

/// How many teams have begun since the module was loaded.
pub(super) fn teams() -> u32 {
    TEAMS.load(Relaxed)
}

/// Says that a case with kthreads begins.
pub(super) fn begins() {
    TEAMS.add(1u32, Relaxed);
}

/// What a member of the team needs.
struct Member<'a, F> {
    body: &'a F,
    id: u32,
    begin: &'a Completion,
    over: Pin<KBox<Completion>>,
}

/// Runs `body(id)` for every `id` below `members` at once, member `id` on CPU
/// `id`, and returns when all have returned.
pub(super) fn together<F: Fn(u32) + Sync>(members: u32, body: F) -> Result {
    begins();
    let begin = KBox::pin_init(Completion::new(), GFP_KERNEL)?;
    let mut team = KVec::with_capacity(members as usize, GFP_KERNEL)?;
    for id in 0..members {
        let member = Member {
            body: &body,
            id,
            begin: &begin,
            over: KBox::pin_init(Completion::new(), GFP_KERNEL)?,
        };
        team.push(member, GFP_KERNEL)?;
    }

    let mut threads = KVec::with_capacity(members as usize, GFP_KERNEL)?;
    let made = team.iter().try_for_each(|member| {
        let arg = core::ptr::from_ref(member).cast_mut().cast();
        let cpu = Some(member.id);
        // SAFETY: `run` expects a member, which stays until `stop` below has
        // returned, and ends with `await_stop`.
        let thread = unsafe { Thread::create(run::<F>, arg, c"ho_kunit", member.id, cpu) }?;
        Ok(threads.push(thread, GFP_KERNEL)?)
    });
    if made.is_ok() {
        for thread in &threads {
            thread.start();
        }
        begin.complete_all();
        for member in &team {
            member.over.wait_for_completion();
        }
    }
    for thread in threads {
        thread.stop();
    }
    made
}

/// A meeting of members on their CPUs, all of them at one moment.
///
/// A thread that waits with preemption off for another thread's step must know that
/// it runs. `stop_machine()` waits for every CPU to schedule, and lets none that did
/// go on. So members with preemption off wait for the others only for a moment, and
/// then step back.
pub(super) struct Muster {
    members: u32,
    present: Atomic<u32>,
}

/// A member on its CPU: preemption is off until this is dropped.
pub(super) struct Present(NotThreadSafe);

impl Muster {
    /// Makes a muster of so many members, each of which comes once.
    pub(super) fn new(members: u32) -> Self {
        Self {
            members,
            present: Atomic::new(0),
        }
    }

    /// Returns, with preemption off, when all members are here with preemption
    /// off.
    pub(super) fn fall_in(&self) -> Present {
        loop {
            // SAFETY: Paired with `preempt_enable` below, or in `Present::drop`.
            unsafe { spin::shim::handover_preempt_disable() };
            self.present.add(1u32, Relaxed);
            let step_back = shim::now_ns() + 50_000_000;
            loop {
                let present = self.present.load(Relaxed);
                if present == self.members {
                    return Present(NotThreadSafe);
                }
                // Fails if it was the last one's coming that changed it.
                if shim::now_ns() > step_back
                    && self.present.cmpxchg(present, present - 1, Relaxed).is_ok()
                {
                    break;
                }
                cpu_relax();
            }
            // A thread that waits for this CPU gets it here.
            // SAFETY: Paired with `preempt_disable` above.
            unsafe { spin::shim::handover_preempt_enable() };
            // SAFETY: No lock is held.
            unsafe { shim::handover_cond_resched() };
        }
    }
}

impl Drop for Present {
    fn drop(&mut self) {
        // SAFETY: Paired with `preempt_disable` in `fall_in`, on this thread.
        unsafe { spin::shim::handover_preempt_enable() };
    }
}

/// A member's kthread.
///
/// # Safety
///
/// `arg` must point to a [`Member`] of this `F`, which stays until the thread is
/// stopped.
unsafe extern "C" fn run<F: Fn(u32) + Sync>(arg: *mut c_void) -> c_int {
    // SAFETY: By this function's contract.
    let member = unsafe { &*arg.cast::<Member<'_, F>>() };
    member.begin.wait_for_completion();
    (member.body)(member.id);
    member.over.complete_all();
    // SAFETY: This is a kthread.
    unsafe { shim::await_stop() };
    0
}

/// Spins until `done()`, with preemption off or on. False after too long a
/// time, well before the kernel would call it a lockup. Between two looks 50 ms count
/// at most: a guest whose host stood still has not waited.
pub(super) fn reached(mut done: impl FnMut() -> bool) -> bool {
    const GAP: u64 = 50_000_000;
    let (mut left, mut looked) = (8_000_000_000_u64, shim::now_ns());
    while !done() {
        let now = shim::now_ns();
        left = left.saturating_sub(now.saturating_sub(looked).min(GAP));
        looked = now;
        if left == 0 {
            return false;
        }
        cpu_relax();
    }
    true
}
