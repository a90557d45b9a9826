// SPDX-License-Identifier: GPL-2.0-only

//! What perturbs a run's writers from outside, a thread each. One has all of them pause, one moves them between CPUs,
//! and one takes CPUs off line. What a writer does to itself is in `perturbed.rs`.

use super::{
    arena::{phase, Arena, Once, NO_CPU},
    shim::{self, Thread, MS},
};
use crate::{
    locks::Word as _,
    measure::{perturb::Perturbed, prng::Prng},
    spin::Word,
};
use kernel::{
    ffi::{c_int, c_void},
    prelude::*,
};

/// How long a job sleeps until it looks again whether the run is over.
const LOOK_MS: u32 = 20;

/// What is done to the writers, over and over.
#[derive(Clone, Copy)]
enum Deed {
    Stutter,
    Shuffle,
    OnOff,
}

/// A thread that does one of these until the run is over, and then takes it back.
struct Job {
    deed: Deed,
    arena: *const Arena,
    writers: *const [Thread],
    /// How often it did it.
    count: Once<u64>,
    /// CPUs that it could not bring back.
    away: Once<u64>,
    /// Set with release when it has taken it back.
    done: Word,
}

// SAFETY: What the pointers are to outlives the job, by the contract of `Jobs::new`, and may be shared.
unsafe impl Send for Job {}
// SAFETY: As above; what changes is a cell that may be shared.
unsafe impl Sync for Job {}

/// The threads that perturb a run. Dropping it ends them; the run must be over, or not have begun.
pub(crate) struct Jobs {
    /// Dropped before the jobs that they do.
    threads: KVVec<Thread>,
    jobs: KVVec<Job>,
    are_started: bool,
}

impl Jobs {
    /// The threads that the plan in `arena` asks for; they do not run yet.
    ///
    /// # Safety
    ///
    /// The arena and the writers' threads must stay where they are until this is dropped, or for ever.
    pub(crate) unsafe fn new(arena: &Arena, writers: &[Thread]) -> Result<Self> {
        let plan = &arena.perturb.plan;
        let deeds = [
            (plan.stutter, Deed::Stutter, c"ho_stutter"),
            (plan.shuffle_interval, Deed::Shuffle, c"ho_shuffle"),
            (plan.onoff_interval, Deed::OnOff, c"ho_onoff"),
        ];
        let wanted = || deeds.into_iter().filter(|(seconds, ..)| *seconds != 0);
        let count = wanted().count();
        let mut all = Self {
            threads: KVVec::with_capacity(count, GFP_KERNEL)?,
            jobs: KVVec::with_capacity(count, GFP_KERNEL)?,
            are_started: false,
        };
        for (_, deed, _) in wanted() {
            let job = Job {
                deed,
                arena,
                writers,
                count: Once::new(0),
                away: Once::new(0),
                done: Word::new(0),
            };
            all.jobs.push(job, GFP_KERNEL)?;
        }
        for (job, (_, _, name)) in all.jobs.iter().zip(wanted()) {
            // SAFETY: `run` expects a job. It stays until the thread has stopped, or is leaked with it. `run` ends
            // with `await_stop`.
            let thread = unsafe {
                Thread::create(
                    run,
                    core::ptr::from_ref(job).cast_mut().cast(),
                    name,
                    0,
                    None,
                )
            }
            .inspect_err(|_| pr_err!("no kthread {}\n", name.to_str().unwrap_or("?")))?;
            all.threads.push(thread, GFP_KERNEL)?;
        }
        Ok(all)
    }

    /// Has them begin.
    pub(crate) fn start(&mut self) {
        self.are_started = true;
        for thread in self.threads.iter() {
            thread.start();
        }
    }

    /// How many have not taken back what they did, of those that began.
    pub(crate) fn left(&self) -> usize {
        // Acquire, pairs with the release at a job's end.
        let is_left = |job: &&Job| self.are_started && job.done.load_acquire() == 0;
        self.jobs.iter().filter(is_left).count()
    }

    /// What they did so far.
    pub(crate) fn perturbed(&self) -> Perturbed {
        let mut perturbed = Perturbed::default();
        for job in self.jobs.iter() {
            let count = match job.deed {
                Deed::Stutter => &mut perturbed.pauses,
                Deed::Shuffle => &mut perturbed.shuffles,
                Deed::OnOff => &mut perturbed.offlines,
            };
            *count = job.count.read();
            perturbed.away += job.away.read();
        }
        perturbed
    }
}

/// A job's thread.
///
/// # Safety
///
/// `arg` must point to a [`Job`] that stays until the thread is stopped.
unsafe extern "C" fn run(arg: *mut c_void) -> c_int {
    // SAFETY: By this function's contract.
    let job = unsafe { &*arg.cast::<Job>() };
    job.run();
    // Release, pairs with the acquire in `Jobs::left`: what is counted is seen with it.
    job.done.store_release(1);
    // SAFETY: This is a kthread.
    unsafe { shim::await_stop() };
    0
}

impl Job {
    fn run(&self) {
        // SAFETY: It outlives the job, by the contract of `Jobs::new`.
        let arena = unsafe { &*self.arena };
        let plan = &arena.perturb.plan;
        let (first, then) = match self.deed {
            Deed::Stutter => (plan.stutter, plan.stutter),
            Deed::Shuffle => (0, plan.shuffle_interval),
            Deed::OnOff => (plan.onoff_holdoff, plan.onoff_interval),
        };
        let ns = |seconds: u32| u64::from(seconds) * 1000 * MS;
        let mut prng = Prng::new(!arena.course.seed);
        let mut due = shim::now_ns() + ns(first);
        // The run's end needs no order: what a job undoes is its own.
        while arena.course.phase.load_relaxed() != phase::STOP {
            let now = shim::now_ns();
            if now < due {
                let left = (due - now).div_ceil(MS);
                shim::sleep_ms(left.min(LOOK_MS.into()) as u32);
                continue;
            }
            due = now + ns(then);
            let did = match self.deed {
                Deed::Stutter => {
                    let pause = !arena.is_paused();
                    arena.perturb.pause.store_relaxed(pause.into());
                    pause
                }
                Deed::Shuffle => {
                    let after = arena.perturb.spared.load_relaxed();
                    arena.perturb.spared.store_relaxed(shim::cpu_after(after));
                    self.allow()
                }
                Deed::OnOff => {
                    let took = shim::onoff(prng.step() as u32);
                    // The writers' CPUs are forgotten once all of them are off line.
                    if plan.bind_writers.is_some() {
                        self.allow();
                    }
                    took
                }
            };
            if did {
                self.count.write(self.count.read().wrapping_add(1));
            }
        }
        match self.deed {
            Deed::Stutter => arena.perturb.pause.store_relaxed(0),
            Deed::Shuffle => {
                arena.perturb.spared.store_relaxed(NO_CPU);
                self.allow();
            }
            Deed::OnOff => self.away.write(shim::onoff_end().into()),
        }
    }

    /// Has the writers run where the plan says, but not on the CPU that is spared. Whether each of them could otherwise
    /// run there.
    fn allow(&self) -> bool {
        // SAFETY: They outlive the job, by the contract of `Jobs::new`.
        let (arena, writers) = unsafe { (&*self.arena, &*self.writers) };
        let cpus = arena.perturb.plan.bind_writers;
        let spared = arena.perturb.spared.load_relaxed();
        let but = (spared != NO_CPU).then_some(spared);
        let allow = |writer| shim::allow(Some(writer), cpus, but).unwrap_or(false);
        // All of them, also behind one that refuses.
        writers.iter().filter(|&writer| !allow(writer)).count() == 0
    }
}
