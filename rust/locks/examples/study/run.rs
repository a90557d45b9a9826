// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A point of the study, and its run.

use std::sync::{Arc, Mutex};

use handover_locks::{Make, OneWordTwa, RawLock, Twa, WAIT_ARRAY_SLOTS};
use shuttle::{
    scheduler::{Schedule, Scheduler, Task, TaskId},
    Config, FailurePersistence, MaxSteps, Runner,
};

use super::{
    desk::{Counts, Deed, Desk, Place},
    seed::Draws,
    world::{Cell, Shared, Study},
};

/// The seeds of the committed table.
pub(crate) const SEEDS: [u64; 3] = [2019, 2020, 2021];

/// The locks that are studied.
pub(crate) const LOCKS: [&str; 2] = ["twa", "one_word_twa"];
/// Their thresholds.
pub(crate) const THRESHOLDS: [u32; 4] = [0, 1, 2, 4];
/// How many slots the array has.
pub(crate) const SLOTS: [usize; 7] = [1, 4, 16, 64, 256, 1024, WAIT_ARRAY_SLOTS as usize];
/// How many threads there are.
pub(crate) const CONTENDERS: [usize; 5] = [2, 4, 8, 16, 32];
/// How many locks they share.
pub(crate) const SHARED: [usize; 3] = [1, 2, 8];

/// The acquisitions of a run, by all threads together: a multiple of each number of threads.
pub(crate) const ACQUISITIONS: usize = 3200;
/// A thread takes fewer steps than this in a section, and as few between two.
const STEPS: u32 = 8;

/// What a run is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Point {
    /// One of [`LOCKS`].
    pub(crate) lock: &'static str,
    pub(crate) threshold: u32,
    pub(crate) slots: usize,
    pub(crate) contenders: usize,
    pub(crate) locks: usize,
    /// The schedule, the keys of the locks, their first tickets, and what the threads take hang on it.
    pub(crate) seed: u64,
}

impl Point {
    /// The names of the columns that [`Point::row`] fills.
    pub(crate) const COLUMNS: &'static str = "lock,threshold,slots,contenders,locks,seed";

    /// All of them by these seeds, in the table's order.
    pub(crate) fn all(seeds: &[u64]) -> Vec<Self> {
        let mut all = Vec::new();
        for lock in LOCKS {
            for threshold in THRESHOLDS {
                for locks in SHARED {
                    for contenders in CONTENDERS {
                        for slots in SLOTS {
                            all.extend(seeds.iter().map(|&seed| Self {
                                lock,
                                threshold,
                                slots,
                                contenders,
                                locks,
                                seed,
                            }));
                        }
                    }
                }
            }
        }
        all
    }

    /// What it is, with commas between.
    pub(crate) fn row(&self) -> String {
        let Self {
            lock,
            threshold,
            slots,
            contenders,
            locks,
            seed,
        } = self;
        format!("{lock},{threshold},{slots},{contenders},{locks},{seed}")
    }

    /// What the algorithm does at this point.
    pub(crate) fn count(&self) -> Counts {
        self.run(ACQUISITIONS, false).counts
    }

    /// A run with so many acquisitions. The desk has each deed, where it is asked to keep them.
    pub(crate) fn run(&self, acquisitions: usize, keeps_deeds: bool) -> Desk {
        let run = match (self.lock, self.threshold) {
            ("twa", 0) => run::<Twa<Cell, 0>>,
            ("twa", 1) => run::<Twa<Cell, 1>>,
            ("twa", 2) => run::<Twa<Cell, 2>>,
            ("twa", 4) => run::<Twa<Cell, 4>>,
            ("one_word_twa", 0) => run::<OneWordTwa<Cell, 0>>,
            ("one_word_twa", 1) => run::<OneWordTwa<Cell, 1>>,
            ("one_word_twa", 2) => run::<OneWordTwa<Cell, 2>>,
            ("one_word_twa", 4) => run::<OneWordTwa<Cell, 4>>,
            _ => panic!("{self:?} is not studied"),
        };
        run(*self, acquisitions, keeps_deeds)
    }
}

/// Which thread runs is drawn at each step, each with the same chance. Shuttle's first task starts the others.
struct ByChance {
    shared: Shared,
    has_begun: bool,
}

impl Scheduler for ByChance {
    fn new_execution(&mut self) -> Option<Schedule> {
        let is_first = !self.has_begun;
        self.has_begun = true;
        is_first.then(|| Schedule::new(0))
    }

    fn next_task(&mut self, tasks: &[&Task], _: Option<TaskId>, _: bool) -> Option<TaskId> {
        let mut desk = self.shared.desk();
        let number = |task: &&&Task| usize::from(task.id());
        // The first task runs as long as it can, so all threads are there when they begin.
        if let Some(first) = tasks.iter().find(|task| number(task) == 0) {
            return Some(first.id());
        }
        let ready = || tasks.iter().filter(|task| desk.is_ready(number(task) - 1));
        let count = ready().count();
        assert!(count > 0, "every thread waits");
        let ready: Vec<TaskId> = ready().map(|task| task.id()).collect();
        let next = ready[desk.draw(count)];
        desk.runs(usize::from(next) - 1);
        Some(next)
    }

    fn next_u64(&mut self) -> u64 {
        unreachable!("threads draw by themselves")
    }
}

/// What a thread does: it takes one of the locks after the other, by chance.
fn live<L: RawLock<Study>>(world: &Study, locks: &[L], shared: &Shared, rounds: usize, seed: u64) {
    let mut draws = Draws::new(seed);
    for _ in 0..rounds {
        for _ in 0..draws.below(STEPS) {
            shuttle::thread::yield_now();
        }
        let number = draws.below(locks.len() as u32) as usize;
        shared.record(Deed::Asks(number));
        let ticket = locks[number].lock(world);
        shared.record(Deed::Owns(ticket));
        for _ in 0..draws.below(STEPS) {
            shuttle::thread::yield_now();
        }
        shared.record(Deed::Releases);
        locks[number].unlock(world, ticket);
        shared.record(Deed::Released);
    }
}

fn run<L>(point: Point, acquisitions: usize, keeps_deeds: bool) -> Desk
where
    L: Make<Cell> + RawLock<Study> + Send + Sync + 'static,
{
    let mut draws = Draws::new(point.seed);
    let Point {
        slots, contenders, ..
    } = point;
    let mut desk = Desk::new(
        contenders,
        slots,
        point.threshold,
        L::TICKET_BITS,
        draws.next(),
    );
    desk.deeds = keeps_deeds.then(Vec::new);
    let shared = Shared(Arc::new(Mutex::new(desk)));
    // A lock's key is its address in a kernel: a multiple of its alignment, which is at most eight.
    let keys: Vec<u32> = (0..point.locks).map(|_| draws.next() as u32 & !7).collect();
    let world = Arc::new(Study::new(slots, keys, &shared));
    let lock = |number| {
        let word = |value| Cell::new(value, Place::Lock(number), &shared);
        L::make(draws.next() as u32, word)
    };
    let locks: Arc<[L]> = (0..point.locks).map(lock).collect();
    world.has(&locks);
    let seeds: Vec<u64> = (0..contenders).map(|_| draws.next()).collect();

    let mut config = Config::new();
    config.silence_warnings = true;
    config.failure_persistence = FailurePersistence::None;
    config.max_steps = MaxSteps::None;
    let scheduler = ByChance {
        shared: shared.clone(),
        has_begun: false,
    };
    let of_all = shared.clone();
    Runner::new(scheduler, config).run(move || {
        for seed in &seeds {
            let (world, locks, shared, seed) =
                (world.clone(), locks.clone(), shared.clone(), *seed);
            let rounds = acquisitions / contenders;
            shuttle::thread::spawn(move || live(&world, &locks, &shared, rounds, seed));
        }
    });
    let mut desk = of_all.desk();
    std::mem::replace(&mut desk, Desk::new(0, 0, 0, 1, 0))
}
