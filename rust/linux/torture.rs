// SPDX-License-Identifier: GPL-2.0

//! One run: some writers on one lock, for some time; then the verdict.

use super::{
    harness::Control,
    plan::Plan,
    shim::{self, Thread},
    stall::Watch,
    subject::{Entry, LockCell},
    word::Word,
    writer::{phase, Arena, Course, Guarded, Writer},
};
use crate::locks::Word as _;
use kernel::prelude::*;

const MS: u64 = 1_000_000;

/// What a run came to.
#[derive(Clone, Copy)]
pub(crate) struct Outcome {
    pub(crate) lock: &'static Entry,
    pub(crate) writers: u32,
    /// From 1 on.
    pub(crate) run: u32,
    /// The time in which all writers ran.
    pub(crate) ns: u64,
    /// Acquisitions in that time: all writers', the least, the most.
    pub(crate) acquisitions: u64,
    pub(crate) min: u64,
    pub(crate) max: u64,
    /// Jain's index of the writers' acquisitions, in millionths.
    pub(crate) jain_ppm: u64,
    pub(crate) owner_failures: u64,
    /// How far the plain counter was from the sum of acquisitions.
    pub(crate) counter_failures: u64,
    pub(crate) order_failures: u64,
    /// Writers that stalled.
    pub(crate) progress_failures: u64,
    /// Writers that could not be stopped.
    pub(crate) hung: u64,
    /// Time that the hypervisor took from all CPUs.
    pub(crate) steal_ns: u64,
}

impl Outcome {
    /// All failures.
    pub(crate) fn failures(&self) -> u64 {
        self.owner_failures
            .saturating_add(self.counter_failures)
            .saturating_add(self.order_failures)
            .saturating_add(self.progress_failures)
            .saturating_add(self.hung)
    }

    /// Acquisitions a second.
    pub(crate) fn rate(&self) -> u64 {
        per_second(self.acquisitions, self.ns)
    }
}

/// `count` in `ns` nanoseconds, as a rate a second; 0 for no time.
pub(crate) fn per_second(count: u64, ns: u64) -> u64 {
    count
        .saturating_mul(1_000_000)
        .checked_div(ns / 1000)
        .unwrap_or(0)
}

/// How long somebody waits for writers that do as they are asked one by one.
///
/// It begins anew with each that does, and does not count the time in which the
/// machine was halted as a whole: a machine with more to do than CPUs has not
/// stalled.
struct Patience {
    left: u64,
    full: u64,
    looked: u64,
    seen: usize,
}

impl Patience {
    /// The longest time between two looks that counts.
    const GAP: u64 = 50 * MS;

    fn new(seconds: u32) -> Self {
        let full = u64::from(seconds) * 1000 * MS;
        Self {
            left: full,
            full,
            looked: shim::now_ns(),
            seen: 0,
        }
    }

    /// A look: so many have done it. True when nobody did for too long.
    fn is_over(&mut self, done: usize) -> bool {
        let now = shim::now_ns();
        let gap = now.saturating_sub(self.looked).min(Self::GAP);
        self.looked = now;
        self.left = self.left.saturating_sub(gap);
        if done != self.seen {
            self.seen = done;
            self.left = self.full;
        }
        self.left == 0
    }
}

/// False once the run is to end: somebody asked, or somebody stalled.
fn goes_on(watch: &Watch, control: &Control<'_>) -> bool {
    !control.stopping() && !watch.any_stalled()
}

/// A run in progress.
struct Run<'a> {
    plan: &'a Plan,
    lock: &'static Entry,
    arena: KBox<Arena>,
    writers: KVVec<Writer>,
    threads: KVVec<Thread>,
}

/// Runs `lock` with `writers` writers. None if it was stopped before all writers
/// ran, and nothing failed. Fails with the kernel's error if a writer cannot be
/// made, with ETIMEDOUT if not all writers began and that is not to be judged
/// (the progress check is off); nothing is left then.
pub(crate) fn run(
    plan: &Plan,
    lock: &'static Entry,
    writers: u32,
    number: u32,
    control: &Control<'_>,
) -> Result<Option<Outcome>> {
    let run = Run::gather(plan, lock, writers, number)?;
    // SAFETY: Writers and threads stay until `run.end`; the watch is stopped before.
    let mut watch = match unsafe { Watch::start(lock.name, plan, &run.writers, &run.threads) } {
        Ok(watch) => watch,
        Err(error) => {
            run.end(false);
            return Err(error);
        }
    };
    for thread in run.threads.iter() {
        thread.start();
    }

    run.enter(phase::WARM);
    let warm = run.warm_up(&watch, control);
    // SAFETY: No requirements.
    let steal = unsafe { shim::handover_steal_ns() };
    let mut ns = 0;
    if warm {
        let from = run.enter(phase::MEASURE);
        let until = match plan.duration {
            0 => u64::MAX,
            seconds => from.saturating_add(u64::from(seconds) * 1000 * MS),
        };
        while goes_on(&watch, control) {
            let now = shim::now_ns();
            if now >= until {
                break;
            }
            let elapsed = now.saturating_sub(from) / MS;
            control.progress(lock, writers, number, elapsed, || {
                run.sum(|writer| writer.counted.read())
            });
            shim::sleep_ms(((until - now).div_ceil(MS)).min(100) as u32);
        }
        ns = run.enter(phase::STOP).saturating_sub(from);
    } else {
        run.enter(phase::STOP);
    }

    // Whether the warm-up was given up although nobody asked to end.
    let late = !warm && !control.stopping() && !watch.any_stalled();
    // If it hangs, the module must stay: from now on, so that no rmmod begins.
    let pinned = (late || watch.any_stalled()) && control.pin_module();
    let hung = run.join(control, pinned);
    // SAFETY: No requirements.
    let steal_ns = unsafe { shim::handover_steal_ns() }.saturating_sub(steal);
    // From here on nobody else looks at the writers.
    watch.stop();
    let outcome = run.judge(number, ns, steal_ns, hung, watch.stalled());
    run.end(hung != 0);
    if pinned && hung == 0 {
        control.unpin_module();
    }
    if warm || outcome.failures() != 0 {
        Ok(Some(outcome))
    } else if late {
        pr_err!(
            "{}: not all of {writers} writers began in {} s\n",
            lock.name,
            plan.stall_secs
        );
        Err(ETIMEDOUT)
    } else {
        Ok(None)
    }
}

impl<'a> Run<'a> {
    /// Makes all there is to a run; the writers do not run yet.
    fn gather(plan: &'a Plan, lock: &'static Entry, writers: u32, number: u32) -> Result<Self> {
        let mut arena = KBox::new(
            Arena {
                lock: LockCell::new(),
                guarded: Guarded::new(),
                course: Course {
                    phase: Word::new(phase::HOLD),
                    cs_steps: plan.cs_steps,
                    ncs_steps: plan.ncs_steps,
                    checks: plan.checks,
                    seed: plan.seed.wrapping_add(u64::from(number)),
                },
            },
            GFP_KERNEL,
        )?;
        (lock.init)(&mut arena.lock);

        let count = writers as usize;
        let mut run = Self {
            plan,
            lock,
            arena,
            writers: KVVec::with_capacity(count, GFP_KERNEL)?,
            threads: KVVec::with_capacity(count, GFP_KERNEL)?,
        };
        for id in 1..=writers {
            run.writers
                .push(Writer::new(&raw const *run.arena, id), GFP_KERNEL)?;
        }
        for writer in run.writers.iter() {
            // SAFETY: `lock.init` made the lock that `lock.writer` expects. The
            // writers and the arena stay where they are until the thread has
            // stopped or `end` has leaked them. `writer` ends with `await_stop`.
            let thread = unsafe {
                Thread::create(
                    lock.writer,
                    core::ptr::from_ref(writer).cast_mut().cast(),
                    c"handover_writer",
                    writer.id,
                    None,
                )
            };
            match thread {
                Ok(thread) => run.threads.push(thread, GFP_KERNEL)?,
                Err(error) => {
                    pr_err!("no kthread for writer {} of {writers}\n", writer.id);
                    run.end(false);
                    return Err(error);
                }
            }
        }
        Ok(run)
    }

    /// Begins a stage and says when. Nothing of this CPU's comes between the look
    /// at the clock and the store.
    ///
    /// Release, pairs with the acquire that writers gather with; later stages
    /// need no order, and those who look for them have none.
    fn enter(&self, phase: u32) -> u64 {
        // SAFETY: Paired with `preempt_enable` below.
        unsafe { shim::handover_preempt_disable() };
        let now = shim::now_ns();
        self.arena.course.phase.store_release(phase);
        // SAFETY: Paired with `preempt_disable` above.
        unsafe { shim::handover_preempt_enable() };
        now
    }

    /// Waits until every writer has acquired once. False if that did not come
    /// about: by the watchdog's word, or, where it does not look, when no writer
    /// began for `stall_secs`.
    fn warm_up(&self, watch: &Watch, control: &Control<'_>) -> bool {
        let mut patience = Patience::new(self.plan.stall_secs);
        loop {
            let begun = self.count(|writer| writer.total.read() > 0);
            if begun == self.writers.len() {
                return true;
            }
            if !goes_on(watch, control) || (patience.is_over(begun) && !watch.looks()) {
                return false;
            }
            shim::sleep_ms(1);
        }
    }

    fn sum(&self, of: impl Fn(&Writer) -> u64) -> u64 {
        self.writers.iter().map(of).fold(0, u64::wrapping_add)
    }

    fn count(&self, those: impl Fn(&Writer) -> bool) -> usize {
        self.writers.iter().filter(|&writer| those(writer)).count()
    }

    /// Waits for the writers to leave, until none did for longer than `stall_secs`.
    /// Returns how many hang: then the module, `pinned` before or here, can never be
    /// unloaded. While it is being unloaded there is no such way out, and this
    /// waits.
    fn join(&self, control: &Control<'_>, pinned: bool) -> u64 {
        // The watchdog speaks first: it looks four times a second.
        let patience = || Patience::new(self.plan.stall_secs + 1);
        let mut waiting = patience();
        loop {
            // Acquire, pairs with the release of `done` at a writer's end.
            let left = self.count(|writer| writer.done.load_acquire() != 0);
            let hung = self.writers.len() - left;
            if hung == 0 {
                return 0;
            }
            if waiting.is_over(left) {
                pr_err!(
                    "{}: {hung} writers hang and cannot be stopped\n",
                    self.lock.name
                );
                if pinned || control.pin_module() {
                    return hung as u64;
                }
                waiting = patience();
            }
            shim::sleep_ms(1);
        }
    }

    /// The verdict, once all writers are done or given up.
    fn judge(&self, number: u32, ns: u64, steal_ns: u64, hung: u64, stalled: u64) -> Outcome {
        let counted = || self.writers.iter().map(|writer| writer.counted.read());
        let sum = counted().sum::<u64>();
        let completed = self.arena.guarded.counter.read();
        Outcome {
            lock: self.lock,
            writers: self.writers.len() as u32,
            run: number,
            ns,
            acquisitions: sum,
            min: counted().min().unwrap_or(0),
            max: counted().max().unwrap_or(0),
            jain_ppm: jain_ppm(counted(), sum),
            owner_failures: self.sum(|writer| writer.owner_failures.read()),
            counter_failures: if self.plan.checks.counter() && hung == 0 {
                completed.abs_diff(self.sum(|writer| writer.total.read()))
            } else {
                0
            },
            order_failures: self.sum(|writer| writer.order_failures.read()),
            progress_failures: stalled,
            hung,
            steal_ns,
        }
    }

    /// Gives everything back; leaks it if somebody hangs in it.
    fn end(self, hung: bool) {
        if hung {
            core::mem::forget(self);
            return;
        }
        for thread in self.threads {
            thread.stop();
        }
    }
}

/// Jain's index of fairness, `(sum x)^2 / (n * sum x^2)`, in millionths, from
/// shares of the sum in units of 2^-20, rounded; 0 if nobody acquired.
fn jain_ppm(counts: impl ExactSizeIterator<Item = u64>, sum: u64) -> u64 {
    let n = counts.len() as u64;
    let squares: u64 = counts
        .map(|count| ((count << 20) + sum / 2).checked_div(sum).unwrap_or(0))
        .map(|share| share * share)
        .sum();
    // Rounded shares do not quite add up to 1.
    (1_000_000u64 << 40)
        .checked_div(n * squares)
        .map_or(0, |jain| jain.min(1_000_000))
}
