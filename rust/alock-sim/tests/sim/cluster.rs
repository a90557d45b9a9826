// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A workload on a simulated cluster, and what is checked of it.

use std::cell::{Cell, RefCell};
use std::num::NonZeroU32;
use std::rc::Rc;

use alock::access::Access;
use alock::baselines;
use alock::lock::{acquire, release, try_acquire};
use alock::ptr::{Cohort, Descriptor, LockPtr, NodeId, Ptr};
use alock::remote::{Remote, Verbs};
use alock_sim::{Card, Cluster, Connections, Costs, Cpu, End, Lost, Nanos};

use crate::bad;
use crate::observed::{Observed, Observer};

/// How the locks are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    ALock,
    /// Every other time it only tries, or gives up soon.
    Impatient,
    /// No lock that works: compare-and-swap by CPUs and cards on one word.
    Mixed,
    RdmaSpin,
    RdmaMcs,
}

#[derive(Clone, Copy, Debug)]
pub(crate) struct Work {
    pub(crate) kind: Kind,
    pub(crate) nodes: u16,
    /// A node.
    pub(crate) threads: u64,
    /// A node.
    pub(crate) locks: u64,
    /// The share of operations on the own node's locks, in percent.
    pub(crate) locality: u64,
    /// The budgets of the local and of the remote cohort.
    pub(crate) budgets: (u32, u32),
    /// A thread.
    pub(crate) ops: u64,
    pub(crate) hold: Nanos,
    pub(crate) think: Nanos,
    /// Two locks at once, the lower one first.
    pub(crate) pairs: bool,
    /// Only this node has threads.
    pub(crate) only_node: Option<u16>,
    /// The time at which the last node dies.
    pub(crate) kill: Option<Nanos>,
    pub(crate) costs: Costs,
}

impl Default for Work {
    fn default() -> Self {
        Self {
            kind: Kind::ALock,
            nodes: 2,
            threads: 2,
            locks: 1,
            locality: 50,
            budgets: (2, 3),
            ops: 40,
            hold: 100,
            think: 500,
            pairs: false,
            only_node: None,
            kill: None,
            costs: Costs::default(),
        }
    }
}

/// What a clean run was like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    pub(crate) time: Nanos,
    /// Work requests for locks, without those for data.
    pub(crate) lock_requests: u64,
}

/// One lock, as an observer from outside sees it.
#[derive(Default)]
struct Watched {
    holder: Cell<Option<u64>>,
    /// How often each cohort entered.
    entries: [Cell<u64>; 2],
    /// The other cohort's entries when a cohort's first began to wait; none if none waits.
    since: [Cell<Option<u64>>; 2],
}

struct Run {
    work: Work,
    cluster: Cluster,
    watched: Vec<Watched>,
    failure: RefCell<Option<String>>,
    data_requests: Cell<u64>,
    done: Vec<Cell<u64>>,
    told: Cell<u64>,
    turns: Cell<u64>,
}

/// Virtual time.
const LIMIT: Nanos = 100_000_000;
const LOCKS: u64 = 64;
const ROW: u64 = 128;

impl Run {
    /// Row `index` of all: its lock, and a word of data.
    fn row(&self, index: u64) -> (LockPtr, alock::ptr::WordPtr) {
        let node = NodeId((index / self.work.locks) as u16);
        let at = LOCKS + index % self.work.locks * ROW;
        let lock = LockPtr(Ptr::new(node, at).unwrap());
        (lock, Ptr::new(node, at + 64).unwrap().word(0))
    }

    fn fail(&self, why: String) {
        self.failure.borrow_mut().get_or_insert(why);
    }

    fn entered(&self, row: u64, cohort: Cohort, who: u64) {
        let it = &self.watched[row as usize];
        // That one is to be told by what it loses.
        if self.work.kind == Kind::Mixed {
            return;
        }
        if let Some(other) = it.holder.replace(Some(who)) {
            self.fail(format!("{who} entered while {other} was inside"));
        }
        let (mine, other) = (cohort as usize, cohort.other() as usize);
        it.entries[mine].set(it.entries[mine].get() + 1);
        it.since[mine].set(None);
        if let Some(since) = it.since[other].get() {
            let bound = if mine == 0 {
                self.work.budgets.0
            } else {
                self.work.budgets.1
            };
            let entries = it.entries[mine].get() - since;
            if entries > u64::from(bound) && self.is_alock() {
                self.fail(format!(
                    "{cohort:?} entered {entries} times while the other's first waited"
                ));
            }
        }
    }

    fn is_alock(&self) -> bool {
        matches!(self.work.kind, Kind::ALock | Kind::Impatient)
    }

    fn leaves(&self, row: u64) {
        self.watched[row as usize].holder.set(None);
    }

    /// The first of a cohort found the other one inside.
    fn waits(&self, row: u64, cohort: Cohort) {
        let it = &self.watched[row as usize];
        let (mine, other) = (cohort as usize, cohort.other() as usize);
        if it.since[mine].get().is_none() {
            it.since[mine].set(Some(it.entries[other].get()));
        }
    }
}

/// A thread of a cohort leaves its queue. If no thread is behind, no thread of the cohort waits any
/// more. Else its successor has waited for as long as it, also where it withdrew.
struct Leaves<'r> {
    run: &'r Run,
    row: u64,
    cohort: Cohort,
    since: Cell<Option<u64>>,
}

impl Leaves<'_> {
    fn waits_since(&self) -> &Cell<Option<u64>> {
        &self.run.watched[self.row as usize].since[self.cohort as usize]
    }
}

impl Observer for Leaves<'_> {
    // When the tail is null is not seen here: it is not counted until that is known.
    fn clears(&self) {
        self.since.set(self.waits_since().take());
    }

    fn cleared(&self, emptied: bool) {
        if !emptied {
            self.waits_since().set(self.since.take());
        }
    }
}

/// A thread of the run.
struct Thread {
    run: Rc<Run>,
    node: NodeId,
    number: u64,
    cpu: Cpu,
    card: Card,
}

impl Thread {
    /// Its own, one for each lock that it may hold at once.
    fn descriptor(&self, which: u64) -> Descriptor {
        let run = &self.run;
        let first = LOCKS + run.work.locks * ROW;
        let mine = self.number % run.work.threads;
        Descriptor(Ptr::new(self.node, first + (2 * mine + which) * 64).unwrap())
    }

    async fn section(&self, row: u64, cohort: Cohort) -> Result<(), Lost> {
        let (_, data) = self.run.row(row);
        let local = cohort == Cohort::Local;
        let value = if local {
            self.cpu.load(data).await
        } else {
            self.card.get(data).await?
        };
        if self.run.work.hold > 0 {
            self.run.cluster.sleep(self.run.work.hold).await;
        }
        if local {
            self.cpu.store(data, value + 1).await;
        } else {
            self.card.write(data, value + 1).await?;
        }
        // Counted apart from the lock's own.
        let requests = if local { 0 } else { 2 };
        self.run
            .data_requests
            .set(self.run.data_requests.get() + requests);
        let done = &self.run.done[row as usize];
        done.set(done.get() + 1);
        Ok(())
    }

    /// Locks, changes the data, unlocks; with a second lock inside, if one is named.
    async fn operation<A: Access<Fault = Lost>>(
        &self,
        access: &A,
        row: u64,
        inner: Option<u64>,
    ) -> Result<(), Lost> {
        let run = &self.run;
        let leaves = Leaves {
            run,
            row,
            cohort: A::COHORT,
            since: Cell::new(None),
        };
        let access = &Observed {
            access,
            by: &leaves,
        };
        let (lock, _) = run.row(row);
        let mine = self.descriptor(u64::from(inner.is_none() && run.work.pairs));
        let budget = match A::COHORT {
            Cohort::Local => run.work.budgets.0,
            Cohort::Remote => run.work.budgets.1,
        };
        let budget = NonZeroU32::new(budget).unwrap();
        let impatient = run.work.kind == Kind::Impatient && run.cluster.roll(2) == 0;
        let tries = impatient && run.cluster.roll(2) == 0;
        let held = if tries {
            try_acquire(access, lock, mine, budget).await?
        } else {
            let mut left = run.cluster.roll(3);
            let mut goes_on = || {
                run.waits(row, A::COHORT);
                left = left.saturating_sub(1);
                !impatient || left > 0
            };
            acquire(access, lock, mine, budget, &mut goes_on).await?
        };
        let Some(held) = held else {
            return Ok(());
        };
        run.entered(row, A::COHORT, self.number);
        self.section(row, A::COHORT).await?;
        if let Some(inner) = inner {
            Box::pin(self.turn(inner, None)).await?;
        }
        run.leaves(row);
        release(access, lock, mine, held).await
    }

    async fn turn(&self, row: u64, inner: Option<u64>) -> Result<(), Lost> {
        let run = &self.run;
        let (lock, _) = run.row(row);
        let cohort = lock.cohort(self.node);
        let tail = lock.tail(Cohort::Remote);
        match run.work.kind {
            Kind::ALock | Kind::Impatient if cohort == Cohort::Local => {
                return self.operation(&self.cpu, row, inner).await
            }
            Kind::ALock | Kind::Impatient => {
                return self.operation(&Remote::new(&self.card), row, inner).await
            }
            Kind::Mixed => bad::lock(&self.cpu, &self.card, lock, cohort, self.number).await?,
            Kind::RdmaSpin => baselines::spin_lock(&self.card, tail).await?,
            Kind::RdmaMcs => {
                baselines::mcs_lock(&self.card, lock, self.descriptor(0)).await?;
            }
        }
        run.entered(row, cohort, self.number);
        self.section(row, cohort).await?;
        run.leaves(row);
        match run.work.kind {
            Kind::Mixed => bad::unlock(&self.cpu, &self.card, lock, cohort).await,
            Kind::RdmaSpin => baselines::spin_unlock(&self.card, tail).await,
            _ => baselines::mcs_unlock(&self.card, lock, self.descriptor(0)).await,
        }
    }

    /// A row of its own node, or of another one.
    fn choose(&self) -> u64 {
        let (cluster, work) = (&self.run.cluster, &self.run.work);
        let mut node = u64::from(self.node.0);
        if cluster.roll(100) >= work.locality {
            node = (node + 1 + cluster.roll(u64::from(work.nodes) - 1)) % u64::from(work.nodes);
        }
        node * work.locks + cluster.roll(work.locks)
    }

    async fn live(self) {
        let work = self.run.work;
        for _ in 0..work.ops {
            let (mut row, mut inner) = (self.choose(), None);
            if work.pairs {
                let other = self.choose();
                if other != row {
                    (row, inner) = (row.min(other), Some(row.max(other)));
                }
            }
            self.run.turns.set(self.run.turns.get() + 1);
            if self.turn(row, inner).await.is_err() {
                self.run.told.set(self.run.told.get() + 1);
                return;
            }
            if work.think > 0 {
                let pause = self.run.cluster.roll(work.think);
                self.run.cluster.sleep(pause).await;
            }
        }
    }
}

impl Work {
    fn start(&self, seed: u64) -> (Rc<Run>, End) {
        let rows = u64::from(self.nodes) * self.locks;
        let bytes = LOCKS + self.locks * ROW + 2 * self.threads * 64;
        let run = Rc::new(Run {
            work: *self,
            cluster: Cluster::new(self.nodes, bytes, self.costs, seed),
            watched: (0..rows).map(|_| Watched::default()).collect(),
            failure: RefCell::default(),
            data_requests: Cell::default(),
            done: (0..rows).map(|_| Cell::default()).collect(),
            told: Cell::default(),
            turns: Cell::default(),
        });
        let connections = Connections {
            threads: self.threads as u16,
            loopback: true,
            full: false,
        };
        for node in 0..self.nodes {
            for thread in 0..self.threads {
                if self.only_node.is_some_and(|only| only != node) {
                    continue;
                }
                let node = NodeId(node);
                let it = Thread {
                    run: Rc::clone(&run),
                    node,
                    number: u64::from(node.0) * self.threads + thread,
                    cpu: Cpu::new(&run.cluster),
                    card: Card::new(&run.cluster, node, thread as u16, connections),
                };
                run.cluster.spawn(node, it.live());
            }
        }
        if let Some(at) = self.kill {
            let (cluster, last) = (run.cluster.clone(), NodeId(self.nodes - 1));
            run.cluster.spawn(NodeId(0), async move {
                cluster.sleep(at).await;
                cluster.kill(last);
            });
        }
        // Much more than the longest takes.
        let end = run.cluster.run(LIMIT);
        (run, end)
    }

    /// One run, with every check.
    pub(crate) fn run(&self, seed: u64) -> Result<Found, String> {
        let (run, end) = self.start(seed);
        if let Some(why) = run.failure.take() {
            return Err(why);
        }
        if end != End::Finished {
            return Err(format!("{end:?}"));
        }
        if run.told.get() != 0 {
            return Err("somebody was told that a node is gone".into());
        }
        for (row, done) in run.done.iter().enumerate() {
            let (lock, data) = run.row(row as u64);
            let (is, want) = (run.cluster.peek(data), done.get());
            if is != want {
                return Err(format!(
                    "row {row} lost {} of {want} updates",
                    want.wrapping_sub(is)
                ));
            }
            for cohort in [Cohort::Local, Cohort::Remote] {
                if run.is_alock() && run.cluster.peek(lock.tail(cohort)) != Ptr::NULL {
                    return Err(format!("row {row}: the {cohort:?} tail is left over"));
                }
            }
        }
        Ok(Found {
            time: run.cluster.now(),
            lock_requests: run.cluster.work_requests() - run.data_requests.get(),
        })
    }

    /// One run in which the last node dies. What is checked: exclusion up to the end.
    pub(crate) fn run_killed(&self, seed: u64) -> Result<(End, u64), String> {
        let (run, end) = self.start(seed);
        match run.failure.take() {
            Some(why) => Err(why),
            None => Ok((end, run.told.get())),
        }
    }
}
