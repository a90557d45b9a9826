// SPDX-License-Identifier: GPL-2.0-only

//! A writer: acquire, work, release, work elsewhere; and the checks in it.

use super::{
    arena::{phase, Arena, Course, Guarded, Once},
    shim,
    subject::{Subject, REFUSED},
    times::Times,
};
use crate::{
    locks::Word as _,
    measure::{latency::Latency, outcome::Share, perturb::Perturbed, prng::Prng, words::Checks},
    spin::Word,
};
use kernel::ffi::{c_int, c_void};

/// Keeps the steps before and after on their side of this point.
#[inline(always)]
fn here(prng: &mut Prng) {
    // SAFETY: No instruction.
    unsafe { core::arch::asm!("/* {0} */", inout(reg) * prng.state(), options(nostack)) };
}

/// A writer's own record, written by it alone.
#[repr(C, align(128))]
pub(crate) struct Writer {
    pub(crate) arena: *const Arena,
    /// The record of its CPU's interrupts, written by them alone; or null.
    pub(crate) irq: *const Writer,
    /// Its times, or null where none are taken.
    times: *const Times,
    /// Its number, from 1 on. 0 is no writer.
    pub(crate) id: u32,
    /// Set once it runs this code, and once it stands awake on a CPU.
    pub(crate) here: Once<bool>,
    pub(crate) mustered: Once<bool>,
    /// Set with release when the last access to the arena is done.
    pub(crate) done: Word,
    /// All acquisitions.
    pub(crate) total: Once<u64>,
    /// Acquisitions that began in the measured time.
    pub(crate) counted: Once<u64>,
    /// Sections that found another owner, before or after.
    pub(crate) owner_failures: Once<u64>,
    /// Admissions out of order.
    pub(crate) order_failures: Once<u64>,
    /// Waits that were too long.
    pub(crate) wait_failures: Once<u64>,
    /// Locks that it was told it would wait for for ever.
    pub(crate) deadlock_failures: Once<u64>,
    /// Whether the kernel refused the CPUs that it was to run on, or its timer.
    pub(crate) is_refused: Once<bool>,
    /// What was done to it.
    pub(crate) long_holds: Once<u64>,
    pub(super) boosts: Once<u64>,
    pub(super) nested: Once<u64>,
    pub(super) tries: Once<u64>,
    /// The PRNG's last value, so that its work cannot be left out.
    sink: Once<u64>,
}

// SAFETY: `arena`, `irq` and `times` outlive the writer by the contract of `writer`.
unsafe impl Send for Writer {}
// SAFETY: Every field is read-only or a cell that may be shared.
unsafe impl Sync for Writer {}

impl Writer {
    pub(crate) fn new(
        arena: *const Arena,
        id: u32,
        irq: *const Writer,
        times: *const Times,
    ) -> Self {
        Self {
            arena,
            irq,
            times,
            id,
            here: Once::new(false),
            mustered: Once::new(false),
            done: Word::new(0),
            total: Once::new(0),
            counted: Once::new(0),
            owner_failures: Once::new(0),
            order_failures: Once::new(0),
            wait_failures: Once::new(0),
            deadlock_failures: Once::new(0),
            is_refused: Once::new(false),
            long_holds: Once::new(0),
            boosts: Once::new(0),
            nested: Once::new(0),
            tries: Once::new(0),
            sink: Once::new(0),
        }
    }

    /// What the interrupts of its CPU did, and what they found.
    fn irq(&self) -> Option<&Writer> {
        // SAFETY: It outlives the writer.
        unsafe { self.irq.as_ref() }
    }

    /// Its times, where they are taken.
    pub(super) fn times(&self) -> Option<&Times> {
        // SAFETY: They outlive the writer.
        unsafe { self.times.as_ref() }
    }

    /// Whether it takes its times.
    pub(crate) fn takes_times(&self) -> bool {
        !self.times.is_null()
    }

    /// Its times, if it is done.
    pub(crate) fn latency(&self) -> Option<&Latency> {
        // Acquire, pairs with the release in `writer`.
        if self.done.load_acquire() == 0 {
            return None;
        }
        // SAFETY: It is done.
        self.times().map(|times| unsafe { times.of_done() })
    }

    /// What it did so far; with what its CPU's interrupts found.
    pub(crate) fn share(&self) -> Share {
        let all = |of: fn(&Writer) -> u64| of(self) + self.irq().map_or(0, of);
        Share {
            acquisitions: self.counted.read(),
            total: self.total.read(),
            owner_failures: all(|it| it.owner_failures.read()),
            order_failures: all(|it| it.order_failures.read()),
            wait_failures: self.wait_failures.read(),
            deadlock_failures: self.deadlock_failures.read(),
        }
    }

    /// What was done to it so far.
    pub(crate) fn perturbed(&self) -> Perturbed {
        Perturbed {
            long_holds: self.long_holds.read(),
            boosts: self.boosts.read(),
            nested: self.nested.read(),
            tries: self.tries.read(),
            irqs: self.irq().map_or(0, |irq| irq.total.read()),
            ..Perturbed::default()
        }
    }
}

#[inline(always)]
pub(super) fn bump(count: &Once<u64>) {
    count.write(count.read().wrapping_add(1));
}

/// What a writer's kthread runs; `laps` is [`laps`], or that of `perturbed.rs`, of its lock.
///
/// # Safety
///
/// `arg` must point to a [`Writer`] whose arena holds a lock of the type of `laps`. Both, and the
/// record of its interrupts, must stay until `done` is set. So must its times.
pub(crate) unsafe fn writer(arg: *mut c_void, laps: fn(&Writer, &Arena) -> Prng) -> c_int {
    // SAFETY: By this function's contract.
    let me = unsafe { &*arg.cast::<Writer>() };
    // SAFETY: By this function's contract.
    let arena = unsafe { &*me.arena };
    let course = &arena.course;

    // Not before: a kthread takes a mutex of the kernel's on its way here.
    // SAFETY: This is a kthread.
    unsafe { shim::handover_give_way(shim::NICE) };
    if let Some(cpus) = arena.perturb.plan.bind_writers {
        me.is_refused
            .write(shim::allow(None, Some(cpus), None).is_err());
    }
    me.here.write(true);
    while course.phase.load_acquire() == phase::HOLD {
        shim::sleep_ms(1);
    }
    // Acquire as above, pairs with the release in `Run::enter`.
    while course.phase.load_acquire() == phase::MUSTER {
        me.mustered.write(true);
        core::hint::spin_loop();
        // SAFETY: No lock is held.
        unsafe { shim::handover_cond_resched() };
    }
    let mut prng = laps(me, arena);
    me.sink.write(*prng.state());
    // Release, pairs with the acquire in `Run::join`: what this thread
    // counted is seen with it.
    me.done.store_release(1);
    // SAFETY: This is a kthread.
    unsafe { shim::await_stop() };
    0
}

/// The bits that a ticket has; none where tokens are no tickets.
const fn mask_of_tickets<S: Subject>() -> u32 {
    match u32::MAX.checked_shr(32 - S::TICKET_BITS) {
        Some(mask) => mask,
        None => 0,
    }
}

/// Counts a lock that was not given.
#[inline(always)]
pub(super) fn told<S: Subject>(me: &Writer, token: u32) {
    if S::REFUSES && token == REFUSED {
        bump(&me.deadlock_failures);
    }
}

/// A critical section, checked and counted, with `work` in it. The lock gave `ticket`, and the caller releases it.
#[inline(always)]
pub(crate) fn section<S: Subject>(
    me: &Writer,
    guarded: &Guarded,
    checks: Checks,
    ticket: u32,
    prng: &mut Prng,
    work: impl FnOnce(&mut Prng),
) {
    told::<S>(me, ticket);
    let before = guarded.counter.read();
    if checks.owner() {
        if guarded.owner.read() != 0 {
            bump(&me.owner_failures);
        }
        guarded.owner.write(me.id);
    }
    if checks.order() {
        // Read and written under every lock. The work is not quite the same: our locks
        // store the ticket and the kernel's a constant, for about three instructions less.
        let next = guarded.next.read();
        if (next ^ ticket) & mask_of_tickets::<S>() != 0 {
            bump(&me.order_failures);
        }
        guarded.next.write(ticket.wrapping_add(1));
    }
    here(prng);
    work(prng);
    here(prng);
    if checks.owner() {
        if guarded.owner.read() != me.id {
            bump(&me.owner_failures);
        }
        guarded.owner.write(0);
    }
    guarded.counter.write(before.wrapping_add(1));
    // The last access: a release that does not order leaves it behind.
    // SAFETY: This is the section.
    unsafe { guarded.plain.bump() };
}

/// After a section, which began in this phase: it is counted, then comes the work outside. Returns the new total.
#[inline(always)]
pub(super) fn outside(me: &Writer, phase: u32, total: u64, ncs_steps: u32, prng: &mut Prng) -> u64 {
    let total = total.wrapping_add(1);
    me.total.write(total);
    if phase == phase::MEASURE {
        bump(&me.counted);
    }
    let steps = prng.below(ncs_steps);
    prng.steps(steps);
    total
}

/// The measured loop. Each lock's is a function of its own, so that a disassembly shows it, and begins
/// a page. Under emulation a loop that straddles two pages costs a quarter more.
#[inline(always)]
pub(crate) fn laps<S: Subject>(me: &Writer, arena: &Arena) -> Prng {
    let Course {
        cs_steps,
        ncs_steps,
        checks,
        seed,
        ..
    } = arena.course;
    let lock = arena.lock.state::<S>();
    let guarded = &arena.guarded;
    let mut prng = Prng::new(seed ^ (u64::from(me.id) << 32));
    let mut total = 0u64;

    loop {
        let phase = arena.course.phase.load_relaxed();
        if phase == phase::STOP {
            return prng;
        }

        // SAFETY: The arena's lock is of type `S` by `writer`'s contract.
        let ticket = unsafe { S::lock_at(lock, *prng.state()) };
        section::<S>(me, guarded, checks, ticket, &mut prng, |prng| {
            prng.steps(cs_steps)
        });
        // SAFETY: Locked above.
        unsafe { S::unlock_at(lock, ticket, *prng.state()) };

        total = outside(me, phase, total, ncs_steps, &mut prng);
        if total % 64 == 0 {
            // SAFETY: No lock is held.
            unsafe { shim::handover_cond_resched() };
        }
    }
}
