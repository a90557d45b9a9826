//! A node: its memory, and how to reach the others'.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use nic::{Endpoint, Memory, Nic, QueuePair, Region, Remote};
use serde::{Deserialize, Serialize};

use super::rendezvous::Rendezvous;
use super::thread::Thread;
use super::{Error, Reason};
use crate::lock::Budgets;
use crate::ptr::{Descriptor, LockPtr, NodeId, Place, Ptr};
use crate::word;

/// How the locks of a table are taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// This crate's lock.
    ALock,
    /// For comparison: [`crate::rivals::spin_lock`].
    RdmaSpin,
    /// For comparison: [`crate::rivals::mcs_lock`].
    RdmaMcs,
    /// Excludes nobody: what a check of locks must find.
    Busted,
}

/// What all nodes of a cluster must agree in, and a node's own patience.
#[derive(Clone, Debug)]
pub struct Settings {
    /// How the locks are taken.
    pub kind: Kind,
    /// Locks of each node.
    pub locks: u32,
    /// Words of data that each lock protects.
    pub words: u32,
    /// Threads of each node.
    pub threads: u16,
    /// Locks that a thread may hold at once.
    pub held: u16,
    /// Of the cohorts.
    pub budgets: Budgets,
    /// How often a blocking call looks before it lets other threads run between two looks.
    /// Where the device is software its other half needs a CPU: few. A card's answer is there
    /// after some dozens, and a system call in between only delays that.
    pub looks: u32,
    /// The device, and how long it tries: that bounds every verb, so `timeout` is 1 to 31
    /// and `retries` is 0 to 6. (A timeout of 0 is none, and 7 retries are for ever on rxe.)
    pub nic: nic::Options,
}

impl Default for Settings {
    /// 100 locks of a word each, one thread, four locks at once.
    fn default() -> Self {
        Self {
            kind: Kind::ALock,
            locks: 100,
            words: 1,
            threads: 1,
            held: 4,
            budgets: Budgets::default(),
            looks: 64,
            nic: nic::Options::default(),
        }
    }
}

impl Settings {
    fn check(&self) -> Result<(), Error> {
        for (what, is, least, most) in [
            ("the number of locks", u64::from(self.locks), 1, 1 << 30),
            ("the words of a lock", u64::from(self.words), 1, 1 << 16),
            ("the number of threads", u64::from(self.threads), 1, 1 << 12),
            ("the locks held at once", u64::from(self.held), 1, 1 << 10),
            // Without an end to each verb a lost packet is waited for without end.
            ("the device's timeout", u64::from(self.nic.timeout), 1, 31),
            ("the number of retries", u64::from(self.nic.retries), 0, 6),
        ] {
            if is < least || is > most {
                return Err(Error::OutOfRange {
                    what,
                    is,
                    least,
                    most,
                });
            }
        }
        Ok(())
    }
}

/// Where what lies in every node's memory. Offsets in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Geometry {
    pub(crate) kind: Kind,
    pub(crate) locks: u32,
    pub(crate) words: u32,
    threads: u16,
    pub(crate) held: u16,
    local_budget: u32,
    remote_budget: u32,
}

/// The first line holds nothing: no pointer is all zeroes but for its tag.
const ROWS: u64 = Ptr::LINE;

impl Geometry {
    fn row_bytes(&self) -> u64 {
        // The lock has a line of its own.
        Ptr::LINE + (8 * u64::from(self.words)).next_multiple_of(Ptr::LINE)
    }

    fn descriptors(&self) -> u64 {
        ROWS + u64::from(self.locks) * self.row_bytes()
    }

    fn bytes(&self) -> u64 {
        self.descriptors() + u64::from(self.threads) * u64::from(self.held) * Ptr::LINE
    }

    pub(crate) fn lock(&self, node: u16, number: u32) -> Option<LockPtr> {
        let offset = ROWS + u64::from(number) * self.row_bytes();
        Ptr::new(NodeId(node), offset).map(LockPtr)
    }

    /// A word of the lock's data.
    pub(crate) fn data(&self, lock: LockPtr, word: u32) -> Option<Place> {
        let offset = lock.0.offset() + Ptr::LINE + u64::from(word / 8) * Ptr::LINE;
        Some(Ptr::new(lock.0.node(), offset)?.word((word % 8) as u8))
    }

    pub(crate) fn descriptor(&self, node: u16, thread: u16, which: u16) -> Option<Descriptor> {
        let number = u64::from(thread) * u64::from(self.held) + u64::from(which);
        Ptr::new(NodeId(node), self.descriptors() + number * Ptr::LINE).map(Descriptor)
    }
}

/// What a node tells the others.
#[derive(Debug, Serialize, Deserialize)]
struct Card {
    geometry: Geometry,
    memory: Remote,
}

/// A node of a cluster, with its part of the locks.
#[derive(Clone)]
pub struct Node(pub(crate) Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) rendezvous: Arc<Rendezvous>,
    pub(crate) geometry: Geometry,
    pub(crate) budgets: Budgets,
    pub(crate) looks: u32,
    /// Whether somebody has the threads: each one's descriptors are its own.
    taken: AtomicBool,
    memory: Arc<Memory>,
    /// Every node's memory, by number.
    peers: Vec<Remote>,
    // Dropped after what uses them: queue pairs keep what they need.
    _region: Region,
    nic: Nic,
}

impl Node {
    /// Opens the device, registers zeroed memory for the node's locks, and learns where the
    /// others' are. All nodes call it, with equal settings.
    ///
    /// # Errors
    /// [`Error::Mismatch`] where settings differ, [`Error::OutOfRange`] for a setting that
    /// is too small or too large, [`Error::Nic`] for a device that is not there or cannot
    /// do what a lock needs (single eight-byte writes), and as [`Rendezvous::exchange`].
    pub fn attach(rendezvous: Arc<Rendezvous>, settings: &Settings) -> Result<Self, Error> {
        settings.check()?;
        let geometry = Geometry {
            kind: settings.kind,
            locks: settings.locks,
            words: settings.words,
            threads: settings.threads,
            held: settings.held,
            local_budget: settings.budgets.local.get(),
            remote_budget: settings.budgets.remote.get(),
        };
        let mut options = settings.nic.clone();
        // Two work requests a lock at most.
        options.depth = options.depth.max(2 * u32::from(settings.held));
        let nic = Nic::open(&options)?;
        nic.writes()?;
        let memory = Memory::new(geometry.bytes() as usize)?;
        let region = nic.register(Arc::clone(&memory))?;
        let mine = Card {
            geometry,
            memory: region.remote(0),
        };
        let cards = rendezvous.exchange(&mine)?;
        for (node, card) in cards.iter().enumerate() {
            if card.geometry != geometry {
                return Err(Error::Mismatch(format!(
                    "node {node} has {:?}, node {} has {geometry:?}",
                    card.geometry,
                    rendezvous.rank()
                )));
            }
        }
        Ok(Self(Arc::new(Shared {
            peers: cards.into_iter().map(|card| card.memory).collect(),
            budgets: settings.budgets,
            looks: settings.looks,
            taken: AtomicBool::new(false),
            rendezvous,
            geometry,
            memory,
            _region: region,
            nic,
        })))
    }

    /// This node's threads, each connected with the threads of its number at all other
    /// nodes; where the kind of lock needs it, with its own node, too. To be called by all
    /// nodes, and once: two threads with the same descriptors would exclude nobody.
    ///
    /// A queue pair has two ends: a thread is to be kept until those of the same number at
    /// the other nodes are through ([`Rendezvous::barrier`]), or they find this node lost.
    ///
    /// What a node tells the others here is one line of at most 64 MiB at the rendezvous, up to
    /// 150 bytes for each queue pair: nodes times threads of a node may be some 440,000. More
    /// is an error before anything is sent.
    ///
    /// # Errors
    /// [`Error::Taken`] from the second call on, also if the first one failed;
    /// [`Error::Nic`], and as [`Rendezvous::exchange`] ([`Error::Mismatch`], too, where a node
    /// has fewer threads).
    pub fn threads(&self) -> Result<Vec<Thread>, Error> {
        let it = &self.0;
        // Relaxed: who finds it set does nothing.
        if it.taken.swap(true, Ordering::Relaxed) {
            return Err(Error::Taken);
        }
        let me = it.rendezvous.rank();
        let number = usize::from(it.geometry.threads);
        let mut pairs: Vec<Vec<Option<QueuePair>>> = Vec::with_capacity(number);
        for _ in 0..number {
            let open = |node| (node != me).then(|| it.nic.queue_pair()).transpose();
            pairs.push(
                (0..it.rendezvous.size())
                    .map(open)
                    .collect::<Result<_, _>>()?,
            );
        }
        let endpoint = |pair: &Option<QueuePair>| pair.as_ref().map(QueuePair::endpoint).cloned();
        // To each node those that are for it, by thread.
        let mine: Vec<Vec<Option<Endpoint>>> = (0..usize::from(it.rendezvous.size()))
            .map(|node| pairs.iter().map(|of| endpoint(&of[node])).collect())
            .collect();
        let theirs = it.rendezvous.scatter(&mine)?;
        for (thread, of) in pairs.iter_mut().enumerate() {
            for (node, pair) in of.iter_mut().enumerate() {
                let Some(pair) = pair else { continue };
                let Some(Some(peer)) = theirs[node].get(thread) else {
                    return Err(Error::Mismatch(format!(
                        "node {node} has no thread {thread}"
                    )));
                };
                pair.connect(peer)?;
            }
        }
        let mut threads = Vec::with_capacity(number);
        for (thread, mut of) in pairs.into_iter().enumerate() {
            let mut other_end = None;
            if it.geometry.kind != Kind::ALock {
                let (mut near, mut far) = (it.nic.queue_pair()?, it.nic.queue_pair()?);
                near.connect(far.endpoint())?;
                far.connect(near.endpoint())?;
                of[usize::from(me)] = Some(near);
                other_end = Some(far);
            }
            threads.push(Thread::new(self.clone(), thread as u16, of, other_end));
        }
        it.rendezvous.barrier()?;
        Ok(threads)
    }

    /// The connection to the others.
    pub fn rendezvous(&self) -> &Rendezvous {
        &self.0.rendezvous
    }

    /// How many locks there are, of all nodes: their keys are 0 to one less. Lock `i` of node
    /// `n` has the key `n * Settings::locks + i`.
    pub fn keys(&self) -> u64 {
        u64::from(self.0.rendezvous.size()) * u64::from(self.0.geometry.locks)
    }

    /// The name of the device, and its address' index.
    pub fn device(&self) -> (String, u8) {
        (self.0.nic.name().to_owned(), self.0.nic.gid_index())
    }

    /// A word of data of one of this node's own locks, as it is now; for a check when
    /// nobody holds it. `None` where there is no such lock or word.
    pub fn peek(&self, number: u32, word: u32) -> Option<u64> {
        let geometry = &self.0.geometry;
        if number >= geometry.locks || word >= geometry.words {
            return None;
        }
        let lock = geometry.lock(self.0.rendezvous.rank(), number)?;
        let place = geometry.data(lock, word)?;
        Some(word::Word::load_acquire(word::Memory::word(
            &*self.0,
            place.offset(),
        )))
    }
}

impl Shared {
    pub(crate) fn remote(&self, place: Place) -> Remote {
        self.peers[usize::from(place.node().0)].at(place.offset())
    }

    /// Whether one of a thread's descriptors is there.
    pub(crate) fn has_descriptor(&self, line: Ptr) -> bool {
        let within = self.geometry.descriptors()..self.geometry.bytes();
        line.node().0 < self.rendezvous.size() && within.contains(&line.offset())
    }

    /// A word of this node's, or of a lock that it asked for, is none that a lock writes. This
    /// node can no longer do its part.
    pub(crate) fn overwritten(&self) -> Error {
        let node = self.rendezvous.rank();
        self.rendezvous.report(node, Reason::Overwritten);
        Error::Lost {
            node,
            why: Reason::Overwritten.words(),
        }
    }

    /// A verb to that node failed: it is lost, or this one is, where the fault is here.
    pub(crate) fn lost(&self, node: u16, error: nic::Error) -> Error {
        if error.is_local() {
            self.rendezvous
                .report(self.rendezvous.rank(), Reason::Device);
            return Error::Nic(error);
        }
        // Who ended since another was lost answers no more either: the first is the cause.
        if let Err(first) = self.rendezvous.health.check() {
            return first;
        }
        self.rendezvous.report(node, Reason::Verb);
        Error::Link {
            node,
            source: error,
        }
    }
}

impl word::Memory for Shared {
    type Word = std::sync::atomic::AtomicU64;

    fn word(&self, offset: u64) -> &Self::Word {
        self.memory.word(offset as usize)
    }

    fn is_there(&self, line: Ptr) -> bool {
        // Whoever joins locally is of this node: another's offset would be a place here.
        line.node().0 == self.rendezvous.rank() && self.has_descriptor(line)
    }

    fn overwritten(&self) {
        let _ = Shared::overwritten(self);
    }

    fn pause(&self, _turn: u32) -> bool {
        std::hint::spin_loop();
        self.rendezvous.health.check().is_ok()
    }
}
