// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What the CPUs do: the paper's benchmarks.

use std::{
    cell::{Cell, RefCell},
    rc::Rc,
};

use handover_locks::{Make, RawLock};
use hdrhistogram::Histogram;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::{
    engine::{Call, Clock, Counts, Engine, Stopped},
    machine::{ps, Costs, Time, Topology},
    world::{Sim, SimWord},
};

/// A run: threads that acquire one lock in turns with work of their own.
#[derive(Clone, Debug)]
pub struct Settings {
    /// The machine.
    pub topology: Topology,
    /// Its costs.
    pub costs: Costs,
    /// Threads, a CPU each.
    pub threads: u32,
    /// How long a section is, in nanoseconds.
    pub section: f64,
    /// The longest time between two sections of a thread, in nanoseconds. The times are drawn from 0 on.
    pub between: f64,
    /// How long the run is in virtual time, in nanoseconds.
    pub time: f64,
    /// The seed of all that is drawn.
    pub seed: u64,
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
    /// Acquisitions of each thread.
    pub acquisitions: Vec<u64>,
    /// The virtual time, in nanoseconds.
    pub time: f64,
    /// From the call of `unlock` until the next owner is in, where somebody waited, in picoseconds.
    pub handovers: Histogram<u64>,
    /// Counts of the lock, the waiting array and the nodes.
    pub counts: [Counts; 3],
    /// The acquisitions of which a thread was in `lock` when the owner released.
    pub contended: u64,
    /// Events that were handled.
    pub events: u64,
}

impl Outcome {
    /// Acquisitions of all threads.
    pub fn sum(&self) -> u64 {
        self.acquisitions.iter().sum()
    }

    /// Millions of acquisitions a second.
    pub fn millions_a_second(&self) -> f64 {
        self.sum() as f64 / self.time * 1000.0
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

    /// Copies that were invalidated, of each acquisition.
    pub fn invalidations(&self) -> f64 {
        self.counts
            .iter()
            .map(|counts| counts.invalidations)
            .sum::<u64>() as f64
            / self.sum() as f64
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
}

#[derive(Default)]
struct Shared {
    owner: Cell<Option<u32>>,
    ticket: Cell<Option<u32>>,
    fault: RefCell<Option<Fault>>,
    /// When the last owner called `unlock`, while somebody was in `lock`.
    released: Cell<Option<Time>>,
    waiting: Cell<u32>,
    contended: Cell<u64>,
    acquisitions: RefCell<Vec<u64>>,
    handovers: RefCell<Option<Histogram<u64>>>,
}

#[repr(C, align(4096))]
struct Home<L>(L);

/// MutexBench (section 4.1): each thread acquires, works, releases, works.
///
/// # Errors
///
/// [`Fault`]: of the lock, or of the settings.
///
/// # Examples
///
/// ```
/// use coherence::{run, Costs, Settings, SimWord, Topology};
/// use handover_locks::Ticket;
///
/// let settings = Settings {
///     topology: Topology::PAPER,
///     costs: Costs::default(),
///     threads: 4,
///     section: 12.0,
///     between: 540.0,
///     time: 50_000.0,
///     seed: 1,
/// };
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
    let &Settings {
        topology, threads, ..
    } = settings;
    if threads == 0 || threads > topology.cpus() {
        return Err(Fault::TooMany { threads, topology });
    }
    let mut draw = Pcg64Mcg::seed_from_u64(settings.seed);
    let mut engine = Engine::new(topology, settings.costs.clone(), draw.random(), 3);
    // The lock is anywhere, at the beginning of a line.
    let sim = Rc::new(Sim::new(
        topology.cpus(),
        draw.random::<u32>() & !63,
        ps(settings.costs.pause),
    ));
    let lock = Rc::new(Home(make(draw.random())));
    engine.map(&*lock, Part::Lock as usize);
    sim.map(&mut engine, Part::Slots as usize, Part::Nodes as usize);
    let shared = Rc::new(Shared::default());
    *shared.acquisitions.borrow_mut() = vec![0; threads as usize];
    *shared.handovers.borrow_mut() = Some(Histogram::new(3).expect("three digits"));
    let end = ps(settings.time);
    for cpu in 0..threads {
        let (lock, sim, shared, clock) =
            (lock.clone(), sim.clone(), shared.clone(), engine.clock());
        let mut draw = Pcg64Mcg::seed_from_u64(draw.random());
        let (section, between) = (ps(settings.section), ps(settings.between));
        engine.run_on_next(draw.random_range(0..=between), move || {
            thread(&lock.0, &sim, &shared, &clock, cpu, || {
                (section, draw.random_range(0..=between))
            });
        });
    }
    engine.run(end)?;
    if let Some(fault) = shared.fault.take() {
        return Err(fault);
    }
    let forgotten = engine.forgotten();
    if !forgotten.is_empty() {
        return Err(Fault::Forgotten(forgotten));
    }
    let counts = [engine.counts[0], engine.counts[1], engine.counts[2]];
    let events = engine.handled;
    drop(engine);
    Ok(Outcome {
        acquisitions: shared.acquisitions.take(),
        time: settings.time,
        handovers: shared.handovers.take().expect("it was made"),
        counts,
        contended: shared.contended.get(),
        events,
    })
}

/// One thread, for ever.
fn thread<L: RawLock<Sim>>(
    lock: &L,
    sim: &Sim,
    shared: &Shared,
    clock: &Clock,
    cpu: u32,
    mut work: impl FnMut() -> (Time, Time),
) {
    loop {
        let (section, between) = work();
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
        if let Some(released) = shared.released.take() {
            shared.contended.set(shared.contended.get() + 1);
            if let Some(handovers) = &mut *shared.handovers.borrow_mut() {
                handovers
                    .record(clock.now() - released)
                    .expect("it grows with what it records");
            }
        }
        clock.call(Call::Work(section));
        shared.acquisitions.borrow_mut()[cpu as usize] += 1;
        shared.owner.set(None);
        shared
            .released
            .set((shared.waiting.get() > 0).then(|| clock.now()));
        lock.unlock(sim, token);
        clock.call(Call::Work(between));
    }
}
