// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The real lock with more threads than loom can search. Shuttle schedules them by chance and by
//! PCT (Burckhardt et al., ASPLOS 2010). PCT finds what few preemptions at the wrong moments break.
//!
//! Every search has its seed, so it is the same each time. A failure is seen again by running
//! the test again. Shuttle also prints the schedule. `ALOCK_SCHEDULES` changes how many there
//! are, `ALOCK_SEED` (a decimal number) the seed.

#[path = "../shared/mod.rs"]
mod shared;
mod watch;
mod world;

use std::num::NonZeroU32;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::Arc;

use shuttle::scheduler::{PctScheduler, RandomScheduler, Scheduler};
use shuttle::sync::atomic::{AtomicU64, Ordering::SeqCst};
use shuttle::{Config, MaxSteps, Runner};

use alock::access::Access;
use alock::local::{Gone, Local};
use alock::lock::{acquire, release, try_acquire};
use alock::ptr::{Cohort, Descriptor, LockPtr, NodeId, Ptr};
use alock::remote::{Remote, Verbs};
use alock::word::{Memory, Word};

use shared::block_on;
use watch::{Shown, Watch};
use world::{roll, Node, Side, TORN};

/// How the locks are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    Patiently,
    /// Every other time it tries, or gives up after some polls.
    Impatiently,
    /// Two at once, the lower one first.
    Both,
    /// Not by ALock: a compare-and-swap by CPUs and cards on one word.
    Mixed,
}

#[derive(Clone, Copy, Debug)]
struct Work {
    /// The node of each thread. Node 0 has a lock, and node 1 if both are taken.
    nodes: &'static [u16],
    how: How,
    /// The budgets of the local and of the remote cohort.
    budgets: [u32; 2],
    /// A thread.
    rounds: usize,
}

struct Cluster {
    nodes: Vec<Node>,
    /// The watch of each lock.
    watched: Vec<Arc<Watch>>,
    data: Vec<AtomicU64>,
    work: Work,
}

fn line(node: u16, number: usize) -> Ptr {
    Ptr::new(NodeId(node), number as u64 * Ptr::LINE).unwrap()
}

impl Cluster {
    fn new(work: Work, shown: &Arc<Shown>) -> Self {
        let nodes = usize::from(*work.nodes.iter().max().unwrap()) + 1;
        let watched: Vec<_> = (0..nodes)
            .map(|_| Arc::new(Watch::new(work.budgets, shown)))
            .collect();
        // A lock, and two descriptors of each thread.
        let lines = 1 + 2 * work.nodes.len() as u64;
        Self {
            nodes: watched
                .iter()
                .map(|watch| Node::new(lines, watch))
                .collect(),
            data: (0..nodes).map(|_| AtomicU64::new(0)).collect(),
            watched,
            work,
        }
    }

    /// What the lock protects: not atomic.
    fn section(&self, lock: usize) {
        let before = self.data[lock].load(SeqCst);
        self.data[lock].store(before + 1, SeqCst);
    }

    /// One turn with the lock; with another one inside.
    async fn once<A: Access<Fault = Gone>>(
        &self,
        access: &A,
        thread: usize,
        lock: usize,
        inner: Option<usize>,
    ) -> Result<(), Gone> {
        let (watch, ptr) = (&self.watched[lock], LockPtr(line(lock as u16, 0)));
        let node = self.work.nodes[thread];
        let which = usize::from(self.work.how == How::Both && inner.is_none());
        let mine = Descriptor(line(node, 1 + 2 * thread + which));
        let who = mine.0.bits();
        let budget = NonZeroU32::new(self.work.budgets[A::COHORT as usize]).unwrap();
        let impatient = self.work.how == How::Impatiently && roll(2) == 0;
        let held = if impatient && roll(2) == 0 {
            watch.tries(who);
            let held = try_acquire(access, ptr, mine, budget).await?;
            watch.tried(A::COHORT, who, held.is_some());
            held
        } else {
            let mut polls = roll(3);
            acquire(access, ptr, mine, budget, &mut || {
                watch.waits(A::COHORT);
                if impatient && polls == 0 {
                    watch.gives_up(A::COHORT, who);
                    return false;
                }
                polls = polls.saturating_sub(1);
                true
            })
            .await?
        };
        let Some(held) = held else { return Ok(()) };
        watch.entered(A::COHORT, who);
        self.section(lock);
        if let Some(inner) = inner {
            self.turn(thread, inner, None);
        }
        watch.leaves();
        release(access, ptr, mine, held).await
    }

    /// A spinlock on one word. A local thread takes it by CPU, a remote thread by verbs.
    fn mixed(&self, side: &Side<'_>, lock: usize) {
        let at = LockPtr(line(lock as u16, 0)).victim();
        let local = usize::from(side.node.0) == lock;
        let token = u64::from(Ptr::TAG);
        while !if local {
            side.word(at.offset()).cmpxchg(Ptr::NULL, token) == Ptr::NULL
        } else {
            block_on(side.cas(at, Ptr::NULL, token)) == Ok(Ptr::NULL)
        } {
            side.pause(0);
        }
        self.section(lock);
        if local {
            side.word(at.offset()).store_release(Ptr::NULL);
        } else {
            block_on(side.write(at, Ptr::NULL)).unwrap();
        }
    }

    fn turn(&self, thread: usize, lock: usize, inner: Option<usize>) {
        let node = NodeId(self.work.nodes[thread]);
        let side = Side {
            nodes: &self.nodes,
            node,
        };
        if self.work.how == How::Mixed {
            return self.mixed(&side, lock);
        }
        let done = match LockPtr(line(lock as u16, 0)).cohort(node) {
            Cohort::Local => block_on(self.once(&Local::new(&side), thread, lock, inner)),
            Cohort::Remote => block_on(self.once(&Remote::new(&side), thread, lock, inner)),
        };
        done.unwrap();
    }

    fn live(&self, thread: usize) {
        for _ in 0..self.work.rounds {
            match self.work.how {
                How::Both => match roll(3) {
                    2 => self.turn(thread, 0, Some(1)),
                    one => self.turn(thread, one, None),
                },
                _ => self.turn(thread, 0, None),
            }
        }
    }

    /// Checks the end, when all are through.
    fn check(&self) {
        for (lock, watch) in self.watched.iter().enumerate() {
            let (data, entries) = (self.data[lock].load(SeqCst), watch.end());
            if self.work.how == How::Mixed {
                let all = (self.work.nodes.len() * self.work.rounds) as u64;
                assert!(lock > 0 || data == all, "{data} of {all}: updates are lost");
                continue;
            }
            assert_eq!(data, entries, "updates are lost");
            let ptr = LockPtr(line(lock as u16, 0));
            for cohort in [Cohort::Local, Cohort::Remote] {
                let tail = self.nodes[lock].at(ptr.tail(cohort).offset());
                assert_eq!(tail.load_acquire(), Ptr::NULL, "a tail is left over");
            }
        }
    }
}

impl Work {
    fn run(self, scheduler: impl Scheduler + 'static) -> Arc<Shown> {
        let mut config = Config::new();
        config.silence_warnings = true;
        config.stack_size = 1 << 16;
        config.max_steps = MaxSteps::FailAfter(STEPS);
        let shown = Arc::new(Shown::default());
        let out = shown.clone();
        Runner::new(scheduler, config).run(move || {
            let cluster = Arc::new(Cluster::new(self, &shown));
            let threads: Vec<_> = (0..self.nodes.len())
                .map(|thread| {
                    let cluster = cluster.clone();
                    shuttle::thread::spawn(move || cluster.live(thread))
                })
                .collect();
            for thread in threads {
                thread.join().unwrap();
            }
            cluster.check();
        });
        out
    }

    /// Searches so many schedules by chance, as many by PCT. `tight`: the other cohort waited, was
    /// passed as often as may be. So the bounds that were checked mean something.
    fn search(self, tight: bool) -> Vec<Arc<Shown>> {
        let asked = |name| {
            std::env::var(name)
                .ok()
                .map(|it| it.parse::<u64>().unwrap())
        };
        let number = asked("ALOCK_SCHEDULES").map_or(SCHEDULES, |it| it as usize);
        let seed = asked("ALOCK_SEED").unwrap_or(SEED);
        println!("{self:?}, seed {seed}");
        let chance = self.run(RandomScheduler::new_from_seed(seed, number));
        let pct = self.run(PctScheduler::new_from_seed(seed, 5, number));
        for (name, shown) in [("random", &chance), ("PCT", &pct)] {
            println!("search {number} schedules, {name}: {shown:?}");
            if tight {
                let bypass = [0, 1].map(|cohort| shown.bypass[cohort].load(Relaxed));
                assert_eq!(bypass, self.budgets.map(u64::from), "{name}");
            }
        }
        vec![chance, pct]
    }
}

const SEED: u64 = 0xa10c;
/// Ten times what any schedule took: a thread that is not through then is stuck.
const STEPS: usize = 50_000;
const SCHEDULES: usize = 3000;

/// Three local threads; two remote ones of one node, and one of another.
const SIX: Work = Work {
    nodes: &[0, 0, 0, 1, 1, 2],
    how: How::Patiently,
    budgets: [1, 1],
    rounds: 3,
};

#[test]
fn shuttle_budgets_of_one() {
    SIX.search(true);
    assert!(TORN.load(Relaxed) > 0, "no READ was torn");
}

#[test]
fn shuttle_budgets_of_two_and_three() {
    let work = Work {
        budgets: [2, 3],
        rounds: 4,
        ..SIX
    };
    work.search(true);
}

/// Mistake 7: threads of one node that are remote to the lock hand over by CPU.
#[test]
fn shuttle_remotes_of_one_node() {
    let work = Work {
        nodes: &[1, 1, 1, 1],
        rounds: 4,
        ..SIX
    };
    work.search(false);
}

/// A thread that cannot have the lock at once leaves. Its successor gets the lock nevertheless.
#[test]
fn shuttle_who_tries_and_gives_up() {
    let work = Work {
        how: How::Impatiently,
        budgets: [1, 2],
        rounds: 4,
        ..SIX
    };
    for shown in work.search(true) {
        for gave_up in &shown.gave_up {
            assert!(gave_up.load(Relaxed) > 0, "nobody gave up");
        }
        // The bound is the same for the thread that came behind, and as tight.
        let bypass = [0, 1].map(|cohort| shown.bypass_of_heirs[cohort].load(Relaxed));
        assert_eq!(bypass, work.budgets.map(u64::from));
    }
}

/// A thread is local to one lock and remote to the other, and may have both.
#[test]
fn shuttle_two_locks_at_once() {
    let work = Work {
        nodes: &[0, 0, 1, 1, 2],
        how: How::Both,
        ..SIX
    };
    work.search(true);
}

/// The paper's Table 1: what CPUs and cards both modify by compare-and-swap loses updates.
#[test]
fn shuttle_a_mixed_compare_and_swap_loses() {
    let work = Work {
        how: How::Mixed,
        ..SIX
    };
    let lost = std::panic::catch_unwind(|| work.search(false)).unwrap_err();
    let why = lost.downcast_ref::<String>().unwrap();
    assert!(why.contains("updates are lost"), "{why}");
}

/// A failure can be seen again.
#[test]
fn shuttle_a_seed_is_a_search() {
    let trace = |seed| {
        let chance = SIX.run(RandomScheduler::new_from_seed(seed, 20));
        let pct = SIX.run(PctScheduler::new_from_seed(seed, 5, 20));
        [chance, pct].map(|shown| shown.trace.load(Relaxed))
    };
    assert_eq!(trace(7), trace(7));
    assert_ne!(trace(7)[0], trace(8)[0]);
    assert_ne!(trace(7)[1], trace(8)[1]);
}
