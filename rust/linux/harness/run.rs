// SPDX-License-Identifier: GPL-2.0-only

//! What there is to a run: its writers and their threads. They are made, brought together, awaited, judged and ended.

use super::{
    arena::{phase, Arena, Course, Guarded, Perturb},
    perturb::Jobs,
    plan::Plan,
    registry::Entry,
    shim::{self, Thread},
    stall::Watch,
    subject::LockCell,
    times::Times,
    writer::Writer,
};
use crate::{
    locks::Word as _,
    measure::{
        outcome::{counter_failures, Outcome, Share},
        perturb::Perturbed,
        prng::first_ticket,
        statistics::Tally,
        watch::Patience,
    },
    spin::{self, Word},
};
use kernel::prelude::*;

/// What a run may ask of its caller.
pub(crate) trait Control {
    /// Whether the experiment is to end.
    fn stopping(&self) -> bool;

    /// Keeps the module loaded. False if it is being unloaded.
    fn pin_module(&self) -> bool;

    /// Takes back a successful [`Control::pin_module`].
    fn unpin_module(&self);

    /// Publishes how far a run is.
    fn progress(
        &self,
        lock: &'static Entry,
        writers: u32,
        run: u32,
        elapsed_ms: u64,
        acquisitions: impl FnOnce() -> u64,
    );
}

/// False once the run is to end: by a `stop`, or because a writer stalled.
pub(super) fn goes_on(watch: &Watch<'_>, control: &impl Control) -> bool {
    !control.stopping() && !watch.any_stalled()
}

/// A run in progress. Dropping it ends its threads, which is waited for, and gives all back. The fields are dropped in their
/// order: what looks at another is above it.
pub(super) struct Run<'a> {
    pub(super) jobs: Option<Jobs>,
    pub(super) threads: KVVec<Thread>,
    pub(super) writers: KVVec<Writer>,
    /// The times of each writer, where they are taken.
    times: KVVec<Times>,
    /// A record of the interrupts of each writer's CPU, where there are any.
    irqs: KVVec<Writer>,
    arena: KBox<Arena>,
    plan: &'a Plan,
    lock: &'static Entry,
    number: u32,
    first_ticket: u32,
}

/// A pointer to the item at `at`, or null where there is none.
fn at_or_null<T>(items: &[T], at: usize) -> *const T {
    items.get(at).map_or(core::ptr::null(), core::ptr::from_ref)
}

impl<'a> Run<'a> {
    /// Makes all there is to a run; the writers do not run yet.
    pub(super) fn gather(
        plan: &'a Plan,
        lock: &'static Entry,
        writers: u32,
        number: u32,
    ) -> Result<Self> {
        let seed = plan.seed.wrapping_add(u64::from(number));
        let first_ticket = first_ticket(seed, writers);
        let mut arena = KBox::new(
            Arena {
                lock: LockCell::new(),
                guarded: Guarded::new(first_ticket),
                course: Course {
                    phase: Word::new(phase::HOLD),
                    cs_steps: plan.cs_steps,
                    ncs_steps: plan.ncs_steps,
                    checks: plan.checks,
                    seed,
                },
                perturb: Perturb::new(plan.perturbations, writers, first_ticket)?,
            },
            GFP_KERNEL,
        )?;
        arena.init(lock.init, first_ticket);

        let count = writers as usize;
        let mut run = Self {
            jobs: None,
            threads: KVVec::with_capacity(count, GFP_KERNEL)?,
            writers: KVVec::with_capacity(count, GFP_KERNEL)?,
            times: KVVec::new(),
            irqs: KVVec::new(),
            arena,
            plan,
            lock,
            number,
            first_ticket,
        };
        let main = if plan.is_perturbed() {
            lock.perturbed
        } else {
            lock.writer
        };
        if plan.perturbations.irq_interval != 0 {
            run.irqs.reserve(count, GFP_KERNEL)?;
            for id in writers + 1..=2 * writers {
                let none = core::ptr::null();
                let irq = Writer::new(&raw const *run.arena, id, none, core::ptr::null());
                run.irqs.push(irq, GFP_KERNEL)?;
            }
        }
        if plan.perturbations.latency != 0 {
            run.times.reserve(count, GFP_KERNEL)?;
            for _ in 0..count {
                run.times.push(Times::new(), GFP_KERNEL)?;
            }
        }
        for (id, at) in (1..=writers).zip(0..) {
            let irq = at_or_null(&run.irqs, at);
            let times = at_or_null(&run.times, at);
            run.writers.push(
                Writer::new(&raw const *run.arena, id, irq, times),
                GFP_KERNEL,
            )?;
        }
        for writer in run.writers.iter() {
            // SAFETY: `lock.init` made the locks that `main` expects. The
            // writers, their interrupts' records, their times and the arena stay where they are until the thread is
            // dropped, or are leaked with it. `main` ends with `await_stop`.
            let thread = unsafe {
                Thread::create(
                    main,
                    core::ptr::from_ref(writer).cast_mut().cast(),
                    c"ho_writer",
                    writer.id,
                    None,
                )
            }
            .inspect_err(|_| pr_err!("no kthread for writer {} of {writers}\n", writer.id))?;
            run.threads.push(thread, GFP_KERNEL)?;
        }
        // SAFETY: The arena and the threads stay where they are until the jobs are dropped, or are leaked with them.
        run.jobs = Some(unsafe { Jobs::new(&run.arena, &run.threads) }?);
        Ok(run)
    }

    /// Has the writers begin together. It waits until all are there, then until every
    /// usable CPU has an awake writer, or every writer a CPU. The waits are bounded by 5 s
    /// and 100 ms. A late writer begins late. The watchdog judges it from then on: the
    /// others, which are held meanwhile, have not stalled.
    pub(super) fn muster(&self, control: &impl Control) {
        let await_all = |due, ms, is: fn(&Writer) -> bool| {
            shim::await_ms(ms, || control.stopping(), || self.count(is) >= due);
        };
        let writers = self.writers.len();
        await_all(writers, 5000, |writer| writer.here.read());
        self.enter(phase::MUSTER);
        // This is a kthread that is bound to no CPU, as the writers are.
        let cpus = shim::usable_cpus() as usize;
        await_all(writers.min(cpus), 100, |writer| writer.mustered.read());
    }

    /// Begins a stage and says when. No thread of this CPU's comes between the look at
    /// the clock and the store; an interrupt may.
    ///
    /// Release, pairs with the acquires that writers wait with. Later stages need no
    /// order, and their readers have none.
    pub(super) fn enter(&self, phase: u32) -> u64 {
        // SAFETY: Paired with `preempt_enable` below.
        unsafe { spin::shim::handover_preempt_disable() };
        let now = shim::now_ns();
        self.arena.course.phase.store_release(phase);
        // SAFETY: Paired with `preempt_disable` above.
        unsafe { spin::shim::handover_preempt_enable() };
        now
    }

    /// Waits until every writer has acquired once. False if the watchdog says that
    /// this did not come about, or when no writer began for longer than `stall_secs`.
    /// The watchdog alone does not end the wait for a writer without a CPU: that one
    /// has not stalled.
    pub(super) fn warm_up(&self, watch: &Watch<'_>, control: &impl Control) -> bool {
        let mut patience = self.patience();
        loop {
            let begun = self.count(|writer| writer.total.read() > 0);
            if begun == self.writers.len() {
                return true;
            }
            if !goes_on(watch, control) || patience.is_over(begun, shim::now_ns()) {
                return false;
            }
            shim::sleep_ms(1);
        }
    }

    pub(super) fn sum(&self, of: impl Fn(&Writer) -> u64) -> u64 {
        self.writers.iter().map(of).fold(0, u64::wrapping_add)
    }

    pub(super) fn count(&self, those: impl Fn(&Writer) -> bool) -> usize {
        self.writers.iter().filter(|&writer| those(writer)).count()
    }

    /// The wait for writers. The watchdog speaks first: it looks four times a second.
    fn patience(&self) -> Patience {
        Patience::new(self.plan.stall_secs + 1, shim::now_ns())
    }

    /// Waits for the writers to leave, and for the jobs, until none did for longer than
    /// `stall_secs`. Jobs alone are waited for without a bound: CPUs come back slowly, which
    /// is no fault of the lock. Returns how many hang: then the module, `pinned` before or here, can never be
    /// unloaded. While it is being unloaded there is no such way out, and this
    /// waits.
    pub(super) fn join(&self, control: &impl Control, pinned: bool) -> u64 {
        let mut waiting = self.patience();
        loop {
            // Acquire, pairs with the release of `done` at a writer's end.
            let hung = self.count(|writer| writer.done.load_acquire() == 0);
            let jobs = self.jobs.as_ref().map_or(0, Jobs::left);
            if hung + jobs == 0 {
                return 0;
            }
            if waiting.gives_up(hung, jobs, shim::now_ns()) {
                pr_err!(
                    "{}: {hung} writers hang and cannot be stopped\n",
                    self.lock.name
                );
                if jobs != 0 {
                    pr_err!("{jobs} threads that perturb them hang\n");
                }
                if pinned || control.pin_module() {
                    return (hung + jobs) as u64;
                }
                waiting = self.patience();
            }
            shim::sleep_ms(1);
        }
    }

    /// The verdict, once all writers are done or given up.
    pub(super) fn judge(
        &self,
        ns: u64,
        steal_ns: u64,
        hung: u64,
        stalled: u64,
        shares: &[Share],
    ) -> Outcome<Entry> {
        let tally = Tally::of(shares.iter().map(|share| share.acquisitions));
        let sum = |of: fn(&Share) -> u64| shares.iter().map(of).fold(0, u64::wrapping_add);
        let course = &self.arena.course;
        let counts = || {
            self.arena
                .all_guarded()
                .map(|guarded| guarded.counter.read())
        };
        let completed = counts().fold(0, u64::wrapping_add);
        let mut perturbed = self
            .jobs
            .as_ref()
            .map_or(Perturbed::default(), Jobs::perturbed);
        for writer in self.writers.iter() {
            perturbed = perturbed.and(writer.perturbed());
        }
        if self.plan.perturbations.nlocks != 1 {
            perturbed.locks = counts().filter(|&count| count != 0).count() as u64;
        }
        Outcome {
            lock: self.lock,
            writers: self.writers.len() as u32,
            run: self.number,
            ns,
            acquisitions: tally.total,
            min: tally.min,
            max: tally.max,
            jain_ppm: tally.jain_ppm,
            owner_failures: sum(|share| share.owner_failures),
            counter_failures: if self.plan.checks.counter() {
                let acquired = sum(|share| share.total).wrapping_add(perturbed.irqs);
                counter_failures(hung, completed, acquired)
            } else {
                0
            },
            order_failures: sum(|share| share.order_failures),
            progress_failures: stalled,
            wait_failures: sum(|share| share.wait_failures),
            deadlock_failures: sum(|share| share.deadlock_failures),
            hung,
            steal_ns,
            cs_steps: course.cs_steps,
            ncs_steps: course.ncs_steps,
            checks: course.checks,
            duration: self.plan.duration,
            stall_secs: self.plan.stall_secs,
            seed: course.seed.wrapping_sub(self.number.into()),
            nice: self.threads.first().map_or(0, Thread::nice),
            first_ticket: self.lock.has_tickets.then_some(self.first_ticket),
            perturbations: self.arena.perturb.plan,
            perturbed,
        }
    }

    /// Gives all back. Leaks it if a writer hangs in it.
    pub(super) fn end(self, hung: bool) {
        if hung {
            core::mem::forget(self);
        }
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        // Whoever runs leaves.
        self.enter(phase::STOP);
    }
}
