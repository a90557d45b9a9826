//! A cluster in one thread and in virtual time: the same locks over simulated CPUs and
//! network cards. One seed, one run.
//!
//! Threads are coroutines (futures); an access to memory happens at one moment of virtual
//! time, and between two accesses anything else may. A card's compare-and-swap is what the
//! paper's Table 1 says: a read and, later, a write, one such operation a card at a time.
//! Its reads of more than four bytes may tear, and where [`Model::writes`] says so its
//! writes are not single either.
//!
//! A thread of the lock's node and one of another, with the lock between them:
//!
//! ```
//! use alock::lock::{acquire, release, Budgets};
//! use alock::ptr::{Descriptor, LockPtr, NodeId, Ptr};
//! use alock::remote::{Remote, Verbs};
//! use alock::sim::{Card, Cluster, Connections, Cpu, End, Model};
//!
//! let cluster = Cluster::new(2, 4096, Model::default(), 1);
//! let line = |node, number: u64| Ptr::new(NodeId(node), 64 * number).unwrap();
//! let (lock, data) = (LockPtr(line(0, 1)), line(0, 2).word(0));
//! let budgets = Budgets::default();
//!
//! let it = cluster.clone();
//! cluster.spawn(NodeId(0), async move {
//!     let (cpu, mine) = (Cpu::new(&it), Descriptor(line(0, 3)));
//!     for _ in 0..10 {
//!         let held = acquire(&cpu, lock, mine, budgets.local, &mut || true).await.unwrap();
//!         let value = cpu.load(data).await;
//!         cpu.store(data, value + 1).await;
//!         release(&cpu, lock, mine, held.unwrap()).await.unwrap();
//!     }
//! });
//! let it = cluster.clone();
//! cluster.spawn(NodeId(1), async move {
//!     let connections = Connections { threads: 1, loopback: false, full: false };
//!     let card = Card::new(&it, NodeId(1), 0, connections);
//!     let (remote, mine) = (Remote::new(&card), Descriptor(line(1, 3)));
//!     for _ in 0..10 {
//!         let held = acquire(&remote, lock, mine, budgets.remote, &mut || true).await.unwrap();
//!         let value = card.get(data).await.unwrap();
//!         card.write(data, value + 1).await.unwrap();
//!         release(&remote, lock, mine, held.unwrap()).await.unwrap();
//!     }
//! });
//! assert_eq!(cluster.run(1_000_000), End::Finished);
//! assert_eq!(cluster.peek(data), 20);
//! ```

mod card;
mod clock;
mod cpu;
mod memory;
mod model;
mod pairs;

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::rc::Rc;

use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::ptr::{NodeId, Place, Ptr};
use clock::Clock;
use memory::{Memory, Want};
use pairs::Cache;

pub use card::Card;
pub use cpu::Cpu;
pub use model::{Constant, Model, Nanos, Writes};
pub use pairs::Connections;

/// The other side does not answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Lost(pub NodeId);

/// What became of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every thread came to its end.
    Finished,
    /// So many threads wait, and nothing is left that could happen.
    Stuck(usize),
    /// The time was over while so many threads were still at work.
    TimeOver(usize),
}

struct Node {
    memory: Memory,
    /// When its card is free for the next operation that goes out, or comes in; and for
    /// the next atomic one, by unit.
    out_free: Cell<Nanos>,
    in_free: Cell<Nanos>,
    atomic_free: Vec<Cell<Nanos>>,
    dead: Cell<bool>,
    /// The queue pairs that its card knows at the moment.
    pairs: RefCell<Cache>,
}

/// A cluster. Clones are the same one.
#[derive(Clone)]
pub struct Cluster(Rc<State>);

struct State {
    clock: Clock,
    model: Model,
    nodes: Vec<Node>,
    random: RefCell<Pcg64Mcg>,
    work_requests: Cell<u64>,
    /// A node that is known to be gone.
    lost: Cell<Option<NodeId>>,
}

impl Cluster {
    /// So many nodes with so much memory each, zeroed.
    pub fn new(nodes: u16, bytes: u64, model: Model, seed: u64) -> Self {
        let node = || Node {
            memory: Memory::new(bytes),
            out_free: Cell::new(0),
            in_free: Cell::new(0),
            atomic_free: vec![Cell::new(0); model.atomic_units.max(1) as usize],
            dead: Cell::new(false),
            pairs: RefCell::default(),
        };
        Self(Rc::new(State {
            clock: Clock::default(),
            model,
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

    /// The model it runs by.
    pub fn model(&self) -> &Model {
        &self.0.model
    }

    /// How many work requests the cards were given.
    pub fn work_requests(&self) -> u64 {
        self.0.work_requests.get()
    }

    /// A word, as it is now.
    pub fn peek(&self, place: Place) -> u64 {
        self.0.load(place)
    }

    /// Changes a word, in no time.
    pub fn poke(&self, place: Place, value: u64) {
        self.0.store(place, value);
    }

    /// The node's threads stop where they are, and its card answers no more. The others
    /// know after [`Model::detection`].
    pub fn kill(&self, node: NodeId) {
        let state = &self.0;
        state.nodes[usize::from(node.0)].dead.set(true);
        state.clock.kill(node);
        let at = state.clock.now() + state.model.detection;
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
    fn node(&self, node: NodeId) -> &Node {
        &self.nodes[usize::from(node.0)]
    }

    /// Whether a node has that line.
    fn is_there(&self, line: Ptr) -> bool {
        let node = self.nodes.get(usize::from(line.node().0));
        node.is_some_and(|node| line.offset() < node.memory.bytes())
    }

    fn memory(&self, place: Place) -> &Memory {
        &self.node(place.node()).memory
    }

    fn load(&self, place: Place) -> u64 {
        self.memory(place).load(place.offset())
    }

    fn store(&self, place: Place, value: u64) {
        for thread in self.memory(place).store(place.offset(), value) {
            self.clock.wake(thread);
        }
    }

    /// A card's store.
    fn put(&self, place: Place, value: u64) {
        self.memory(place).take_from_all(place.offset());
        self.store(place, value);
    }

    /// When the running thread's CPU has the line so.
    fn fetch(&self, place: Place, want: Want) -> Nanos {
        let (thread, now) = (self.clock.running_of_node(), self.clock.now());
        let time = match self.model.line {
            0 => 0,
            time => self.about(time),
        };
        self.memory(place)
            .fetch(place.offset(), thread, want, now, time)
    }

    fn roll(&self, end: u64) -> u64 {
        self.random.borrow_mut().random_range(0..end)
    }

    /// Something else gets the CPU, perhaps.
    async fn stall(&self) {
        let model = &self.model;
        if model.stall_percent == 0 {
            return;
        }
        let percent = self.random.borrow_mut().random_range(0..100);
        if percent < model.stall_percent {
            let time = self.random.borrow_mut().random_range(0..=model.stall);
            self.clock.sleep(time).await;
        }
    }

    /// `time`, more or less.
    fn about(&self, time: Nanos) -> Nanos {
        let spread = time * self.model.jitter_percent / 100;
        if spread == 0 {
            return time;
        }
        time - spread / 2 + self.random.borrow_mut().random_range(0..=spread)
    }
}
