// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A run of a benchmark on the simulated machine, and what it gave.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use handover_locks::{Make, RawLock, Word, World, WAIT_ARRAY_SLOTS};
use hdrhistogram::Histogram;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::{
    engine::{Call, Clock, Counts, Engine, Stopped, Traffic},
    machine::{ps, Costs, Time, Topology},
    workload::{Turns, Workload},
    world::{Sim, SimWord},
};

/// A run: threads that share one lock, or in the invalidation diameter one word.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The machine.
    pub topology: Topology,
    /// Its costs.
    pub costs: Costs,
    /// Threads, a CPU each.
    pub threads: u32,
    /// What they do.
    pub workload: Workload,
    /// The slots of the waiting array: a power of two, 4096 at most.
    pub slots: u32,
    /// How long nothing is counted, in nanoseconds. Above 0, each line of the array begins in the cache of a CPU, as
    /// after a long run.
    pub warm_up: f64,
    /// How long the run is in virtual time after that, in nanoseconds.
    pub time: f64,
    /// The seed of all that is drawn.
    pub seed: u64,
}

impl Settings {
    /// A run of 0.1 ms on the paper's machine, with the default costs, the paper's array and this seed.
    pub fn new(workload: Workload, threads: u32, seed: u64) -> Self {
        Self {
            topology: Topology::PAPER,
            costs: Costs::default(),
            threads,
            workload,
            slots: WAIT_ARRAY_SLOTS,
            warm_up: 0.0,
            time: 100_000.0,
            seed,
        }
    }

    /// What is wrong with it, if something is.
    pub(crate) fn check(&self, has_lock: bool) -> Result<(), Fault> {
        let &Self {
            topology,
            threads,
            slots,
            ..
        } = self;
        if threads == 0 || threads > topology.cpus() {
            return Err(Fault::TooMany { threads, topology });
        }
        if !slots.is_power_of_two() || slots > WAIT_ARRAY_SLOTS {
            return Err(Fault::Slots(slots));
        }
        if self.workload.has_lock() != has_lock {
            return Err(Fault::NoLock(self.workload.name()));
        }
        Ok(())
    }
}

/// The lock's own words, the waiting array, and the nodes: what is counted apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    /// The lock.
    Lock,
    /// The waiting array.
    Slots,
    /// The nodes.
    Nodes,
}

/// What a run gave.
#[derive(Clone, Debug)]
pub struct Outcome {
    /// Acquisitions of each thread; in the invalidation diameter the writes of the one that writes.
    pub acquisitions: Vec<u64>,
    /// What the benchmark counts, of all threads: a round may have several acquisitions.
    pub rounds: u64,
    /// The virtual time, in nanoseconds.
    pub time: f64,
    /// From the call of `unlock` until the next owner is in, where somebody waited, in picoseconds.
    pub handovers: Histogram<u64>,
    /// Counts of the lock, the waiting array and the nodes.
    pub counts: [Counts; 3],
    /// The acquisitions of which a thread was in `lock` when the owner released.
    pub contended: u64,
    /// What went over the wires during their hand-overs: from the call of `unlock` until the next owner was in. What
    /// other threads caused meanwhile is in it.
    pub during: Traffic,
    /// Events that were handled.
    pub events: u64,
}

impl Outcome {
    /// Acquisitions of all threads.
    pub fn sum(&self) -> u64 {
        self.acquisitions.iter().sum()
    }

    /// Millions of rounds a second.
    pub fn millions_a_second(&self) -> f64 {
        self.rounds as f64 / self.time * 1000.0
    }

    /// Jain's index of the threads' acquisitions: 1 where all have the same.
    pub fn jain(&self) -> f64 {
        let sum = self.sum() as f64;
        let squares: f64 = self
            .acquisitions
            .iter()
            .map(|&one| (one as f64).powi(2))
            .sum();
        if squares == 0.0 {
            1.0
        } else {
            sum * sum / (self.acquisitions.len() as f64 * squares)
        }
    }

    /// A count of all parts together.
    pub fn all(&self, count: impl Fn(&Counts) -> u64) -> u64 {
        self.counts.iter().map(count).sum()
    }

    /// A number of each acquisition, or 0 without any.
    pub fn of_each(&self, count: u64) -> f64 {
        count as f64 / self.sum().max(1) as f64
    }

    /// A number of each hand-over to a thread that waited.
    pub fn of_each_handover(&self, count: u64) -> Option<f64> {
        (self.contended > 0).then(|| count as f64 / self.contended as f64)
    }
}

/// A run that went wrong.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// Two owners at a time.
    #[error("at {at} ps CPU {second} entered while CPU {first} was in")]
    TwoOwners {
        /// When.
        at: Time,
        /// Who was in.
        first: u32,
        /// Who entered.
        second: u32,
    },
    /// A ticket that is not the one after the last owner's.
    #[error("at {at} ps CPU {cpu} entered with ticket {ticket}, after {last}")]
    OutOfOrder {
        /// When.
        at: Time,
        /// Who entered.
        cpu: u32,
        /// With this ticket.
        ticket: u32,
        /// The ticket before.
        last: u32,
    },
    /// Nobody goes on.
    #[error(transparent)]
    Stopped(#[from] Stopped),
    /// Some sleep though what they wait for has changed.
    #[error("CPUs {0:?} sleep though the line that they look at was written")]
    Forgotten(Vec<u32>),
    /// More threads than CPUs: nobody is preempted here.
    #[error("{threads} threads: {topology} has {} CPUs", topology.cpus())]
    TooMany {
        /// Threads that were asked for.
        threads: u32,
        /// The machine.
        topology: Topology,
    },
    /// An array that is none.
    #[error("{0} slots: a power of two is due, 4096 at most")]
    Slots(u32),
    /// A benchmark with a lock that has none, or the other way round.
    #[error("{0}: the invalidation diameter runs without a lock, and nothing else does")]
    NoLock(&'static str),
}

#[derive(Default)]
struct Shared {
    owner: Cell<Option<u32>>,
    ticket: Cell<Option<u32>>,
    fault: RefCell<Option<Fault>>,
    /// When the last owner called `unlock`, while somebody was in `lock`.
    released: Cell<Option<(Time, Traffic)>>,
    during: Cell<Traffic>,
    waiting: Cell<u32>,
    contended: Cell<u64>,
    acquisitions: RefCell<Vec<u64>>,
    rounds: Cell<u64>,
    handovers: RefCell<Option<Histogram<u64>>>,
}

impl Shared {
    /// Forgets what was counted. What the threads are about is no count.
    fn forget(&self, threads: u32) {
        *self.acquisitions.borrow_mut() = vec![0; threads as usize];
        *self.handovers.borrow_mut() = Some(Histogram::new(3).expect("three digits"));
        self.rounds.set(0);
        self.contended.set(0);
        self.during.set(Traffic::default());
    }
}

/// The words of a line.
const WORDS: u32 = 16;

/// A slot of each line that is in this CPU's cache when the run begins.
fn lines_of(settings: &Settings, cpu: u32) -> impl Iterator<Item = u32> + use<> {
    let lines = settings.slots.div_ceil(WORDS);
    let warm = if settings.warm_up > 0.0 { lines } else { 0 };
    (cpu..warm)
        .step_by(settings.threads as usize)
        .map(|line| line * WORDS)
}

#[repr(C, align(4096))]
struct Home<L>(L);

/// A benchmark with a lock: each thread acquires, works, releases, works.
///
/// # Errors
///
/// [`Fault`]: of the lock, or of the settings.
///
/// # Examples
///
/// ```
/// use coherence::{run, Settings, SimWord, Workload};
/// use handover_locks::Ticket;
///
/// let settings = Settings::new(Workload::MutexBench, 4, 1);
/// let outcome = run::<Ticket<SimWord>>(&settings).unwrap();
/// assert_eq!(outcome.acquisitions.len(), 4);
/// assert!(outcome.millions_a_second() > 1.0);
/// ```
pub fn run<L: RawLock<Sim> + Make<SimWord> + 'static>(
    settings: &Settings,
) -> Result<Outcome, Fault> {
    run_with(settings, |first| L::make(first, SimWord::new))
}

/// The same, of a lock that is made from its first ticket.
///
/// # Errors
///
/// As [`run`].
pub fn run_with<L: RawLock<Sim> + 'static>(
    settings: &Settings,
    make: impl FnOnce(u32) -> L,
) -> Result<Outcome, Fault> {
    settings.check(true)?;
    let &Settings {
        topology, threads, ..
    } = settings;
    let mut draw = Pcg64Mcg::seed_from_u64(settings.seed);
    let mut engine = Engine::new(topology, settings.costs.clone(), draw.random(), 3);
    // The lock is anywhere, at the beginning of a line.
    let sim = Rc::new(Sim::new(
        topology.cpus(),
        settings.slots,
        draw.random::<u32>() & !63,
        ps(settings.costs.pause),
    ));
    let lock = Rc::new(Home(make(draw.random())));
    engine.map(&*lock, Part::Lock as usize);
    sim.map(&mut engine, Part::Slots as usize, Part::Nodes as usize);
    let shared = Rc::new(Shared::default());
    shared.forget(threads);
    for cpu in 0..threads {
        let (lock, sim, shared, clock) =
            (lock.clone(), sim.clone(), shared.clone(), engine.clock());
        let draw = Pcg64Mcg::seed_from_u64(draw.random());
        let mut turns = Turns::new(settings.workload, &settings.costs, draw);
        let lines = lines_of(settings, cpu);
        engine.run_on_next(turns.begin(), move || {
            for slot in lines {
                sim.slot(slot).fetch_add_relaxed(0);
            }
            thread(&lock.0, &sim, &shared, &clock, cpu, turns);
        });
    }
    let before = if settings.warm_up > 0.0 {
        engine.run(ps(settings.warm_up))?;
        shared.forget(threads);
        engine.counts.clone()
    } else {
        vec![Counts::default(); 3]
    };
    engine.run(ps(settings.warm_up) + ps(settings.time))?;
    if let Some(fault) = shared.fault.take() {
        return Err(fault);
    }
    let forgotten = engine.forgotten();
    if !forgotten.is_empty() {
        return Err(Fault::Forgotten(forgotten));
    }
    let counts = [0, 1, 2].map(|part| engine.counts[part].since(&before[part]));
    let events = engine.handled;
    drop(engine);
    Ok(Outcome {
        acquisitions: shared.acquisitions.take(),
        rounds: shared.rounds.get(),
        time: settings.time,
        handovers: shared.handovers.take().expect("it was made"),
        counts,
        contended: shared.contended.get(),
        during: shared.during.get(),
        events,
    })
}

/// One thread, for as long as it has turns.
fn thread<L: RawLock<Sim>>(
    lock: &L,
    sim: &Sim,
    shared: &Shared,
    clock: &Clock,
    cpu: u32,
    turns: Turns,
) {
    for turn in turns {
        shared.waiting.set(shared.waiting.get() + 1);
        let token = lock.lock(sim);
        shared.waiting.set(shared.waiting.get() - 1);
        if let Some(first) = shared.owner.replace(Some(cpu)) {
            shared.fault.borrow_mut().get_or_insert(Fault::TwoOwners {
                at: clock.now(),
                first,
                second: cpu,
            });
        }
        if L::TICKET_BITS != 0 {
            let bits = u32::MAX >> (u32::BITS - L::TICKET_BITS);
            if let Some(last) = shared.ticket.replace(Some(token)) {
                if token != last.wrapping_add(1) & bits {
                    shared.fault.borrow_mut().get_or_insert(Fault::OutOfOrder {
                        at: clock.now(),
                        cpu,
                        ticket: token,
                        last,
                    });
                }
            }
        }
        if let Some((released, before)) = shared.released.take() {
            let during = clock.traffic().since(before);
            shared.during.set(shared.during.get().and(during));
            shared.contended.set(shared.contended.get() + 1);
            if let Some(handovers) = &mut *shared.handovers.borrow_mut() {
                handovers
                    .record(clock.now() - released)
                    .expect("it grows with what it records");
            }
        }
        clock.call(Call::Work(turn.section));
        shared.acquisitions.borrow_mut()[cpu as usize] += 1;
        if turn.ends_round {
            shared.rounds.set(shared.rounds.get() + 1);
        }
        shared.owner.set(None);
        shared
            .released
            .set((shared.waiting.get() > 0).then(|| (clock.now(), clock.traffic())));
        clock.releases(true);
        lock.unlock(sim, token);
        clock.releases(false);
        clock.call(Call::Work(turn.between));
    }
}
