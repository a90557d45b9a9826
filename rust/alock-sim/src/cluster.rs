// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The cluster: its nodes, its clock and its random numbers.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;

use alock::ptr::{NodeId, Ptr, WordPtr};
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::clock::{Clock, End};
use crate::costs::{Costs, Nanos};
use crate::memory::{Memory, Want};
use crate::pairs::Cache;

/// The other side does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost(pub NodeId);

pub(crate) struct Node {
    pub(crate) memory: Memory,
    /// The time at which its card is free for the next operation out, or in. The
    /// last is for the next atomic operation, by unit.
    pub(crate) out_free: Cell<Nanos>,
    pub(crate) in_free: Cell<Nanos>,
    pub(crate) atomic_free: Vec<Cell<Nanos>>,
    pub(crate) dead: Cell<bool>,
    /// The queue pairs that its card knows at the moment.
    pub(crate) pairs: RefCell<Cache>,
}

/// A cluster. Clones are the same one.
///
/// # Examples
/// ```
/// use alock::ptr::{NodeId, Ptr};
/// use alock_sim::{Cluster, Costs, Cpu, End};
///
/// // Two nodes of 4096 bytes each, and the seed 7.
/// let cluster = Cluster::new(2, 4096, Costs::default(), 7);
/// let word = Ptr::new(NodeId(0), 64).unwrap().word(0);
/// let cpu = Cpu::new(&cluster);
/// cluster.spawn(NodeId(0), async move { cpu.store(word, 3).await });
/// assert_eq!(cluster.run(1_000_000), End::Finished);
/// assert_eq!(cluster.peek(word), 3);
/// ```
#[derive(Clone)]
pub struct Cluster(pub(crate) Rc<State>);

pub(crate) struct State {
    pub(crate) clock: Clock,
    pub(crate) costs: Costs,
    pub(crate) nodes: Vec<Node>,
    pub(crate) random: RefCell<Pcg64Mcg>,
    pub(crate) work_requests: Cell<u64>,
    /// A node that is known to be gone.
    pub(crate) lost: Cell<Option<NodeId>>,
}

impl Cluster {
    /// Makes so many nodes with so much memory each, zeroed.
    pub fn new(nodes: u16, bytes: u64, costs: Costs, seed: u64) -> Self {
        let node = || Node {
            memory: Memory::new(bytes),
            out_free: Cell::new(0),
            in_free: Cell::new(0),
            atomic_free: vec![Cell::new(0); costs.atomic_units.max(1) as usize],
            dead: Cell::new(false),
            pairs: RefCell::default(),
        };
        Self(Rc::new(State {
            clock: Clock::default(),
            costs,
            nodes: (0..nodes).map(|_| node()).collect(),
            random: RefCell::new(Pcg64Mcg::seed_from_u64(seed)),
            work_requests: Cell::new(0),
            lost: Cell::new(None),
        }))
    }

    /// Starts a thread, now.
    pub fn spawn(&self, node: NodeId, thread: impl Future<Output = ()> + 'static) {
        self.0.clock.spawn(node, thread);
    }

    /// Lets time pass until all threads are through, nothing can happen any more, or
    /// `limit` ns have passed.
    pub fn run(&self, limit: Nanos) -> End {
        self.0.clock.run(limit)
    }

    /// Virtual time since the start.
    pub fn now(&self) -> Nanos {
        self.0.clock.now()
    }

    /// Pauses a thread.
    pub async fn sleep(&self, time: Nanos) {
        self.0.clock.sleep(time).await;
    }

    /// A number below `end`.
    pub fn roll(&self, end: u64) -> u64 {
        self.0.roll(end)
    }

    /// The costs it runs by.
    pub fn costs(&self) -> &Costs {
        &self.0.costs
    }

    /// How many work requests the cards were given.
    pub fn work_requests(&self) -> u64 {
        self.0.work_requests.get()
    }

    /// A word, as it is now.
    pub fn peek(&self, at: WordPtr) -> u64 {
        self.0.load(at)
    }

    /// Changes a word, in no time.
    pub fn poke(&self, at: WordPtr, value: u64) {
        self.0.store(at, value);
    }

    /// The node's threads stop where they are, and its card answers no more. The others
    /// know after [`Costs::detection`].
    pub fn kill(&self, node: NodeId) {
        let state = &self.0;
        state.nodes[usize::from(node.0)].dead.set(true);
        state.clock.kill(node);
        let at = state.clock.now() + state.costs.detection;
        let state = Rc::clone(&self.0);
        self.0.clock.at(at, move || {
            state.lost.set(Some(node));
            for thread in state.nodes.iter().flat_map(|node| node.memory.waiting()) {
                state.clock.wake(thread);
            }
        });
    }
}

impl State {
    pub(crate) fn node(&self, node: NodeId) -> &Node {
        &self.nodes[usize::from(node.0)]
    }

    /// Whether a node has that line.
    pub(crate) fn is_there(&self, line: Ptr) -> bool {
        let node = self.nodes.get(usize::from(line.node().0));
        node.is_some_and(|node| line.offset() < node.memory.bytes())
    }

    pub(crate) fn memory(&self, at: WordPtr) -> &Memory {
        &self.node(at.node()).memory
    }

    pub(crate) fn load(&self, at: WordPtr) -> u64 {
        self.memory(at).load(at.offset())
    }

    pub(crate) fn store(&self, at: WordPtr, value: u64) {
        for thread in self.memory(at).store(at.offset(), value) {
            self.clock.wake(thread);
        }
    }

    /// A card's store.
    pub(crate) fn put(&self, at: WordPtr, value: u64) {
        self.memory(at).take_from_all(at.offset());
        self.store(at, value);
    }

    /// The time at which the running thread's CPU has the line so.
    pub(crate) fn fetch(&self, at: WordPtr, want: Want) -> Nanos {
        let (thread, now) = (self.clock.running_of_node(), self.clock.now());
        let time = match self.costs.line {
            0 => 0,
            time => self.about(time),
        };
        self.memory(at).fetch(at.offset(), thread, want, now, time)
    }

    /// How long a card is kept by the state of one of its queue pairs.
    pub(crate) fn fetch_pair(&self, node: NodeId, pair: u32) -> Nanos {
        let mut cache = self.node(node).pairs.borrow_mut();
        if cache.touch(pair, self.costs.pair_cache, |room| self.roll(room)) {
            return 0;
        }
        self.about(self.costs.pair_fetch)
    }

    pub(crate) fn roll(&self, end: u64) -> u64 {
        self.random.borrow_mut().random_range(0..end)
    }

    /// Something else gets the CPU, perhaps.
    pub(crate) async fn stall(&self) {
        let costs = &self.costs;
        if costs.stall_percent == 0 {
            return;
        }
        let percent = self.random.borrow_mut().random_range(0..100);
        if percent < costs.stall_percent {
            let time = self.random.borrow_mut().random_range(0..=costs.stall);
            self.clock.sleep(time).await;
        }
    }

    /// `time`, more or less.
    pub(crate) fn about(&self, time: Nanos) -> Nanos {
        let spread = time * self.costs.jitter_percent / 100;
        if spread == 0 {
            return time;
        }
        time - spread / 2 + self.random.borrow_mut().random_range(0..=spread)
    }
}
