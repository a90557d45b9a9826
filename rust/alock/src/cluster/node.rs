// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A node: its memory, and how to reach the others'.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use nic::{Endpoint, Memory, Nic, QueuePair, RemoteWord};
use serde::{Deserialize, Serialize};

use super::card::Wire;
use super::rendezvous::Rendezvous;
use super::table::{Geometry, Kind, Settings, Table};
use super::thread::Thread;
use super::Error;
use crate::word;

/// What a node tells the others.
#[derive(Debug, Serialize, Deserialize)]
struct Attached {
    geometry: Geometry,
    memory: RemoteWord,
}

/// A node of a cluster, with its part of the locks.
///
/// # Examples
/// ```no_run
/// # use std::sync::Arc;
/// use alock::cluster::{Error, Node, Rendezvous, Settings};
///
/// # fn run(rendezvous: Rendezvous) -> Result<(), Error> {
/// let settings = Settings { threads: 2, ..Settings::default() };
/// let node = Node::attach(Arc::new(rendezvous), &settings)?;
/// let threads = node.threads()?;
/// println!("{} locks; the device and its address: {:?}", node.keys(), node.device());
/// // Two threads of the program take locks with these, until all nodes are through.
/// node.rendezvous().barrier()?;
/// drop(threads);
/// # Ok(())
/// # }
/// ```
#[derive(Clone)]
pub struct Node(pub(crate) Arc<Table>);

impl Node {
    /// Opens the device, registers zeroed memory for the node's locks, and learns where the
    /// others' are. All nodes call it, with equal settings.
    ///
    /// # Errors
    /// [`Error::Mismatch`] where settings differ. [`Error::OutOfRange`] for a setting that is
    /// too small or too large. [`Error::Nic`] for a device that is not there, or does not write
    /// eight bytes singly, as a lock needs. Else as [`Rendezvous::exchange`].
    pub fn attach(rendezvous: Arc<Rendezvous>, settings: &Settings) -> Result<Self, Error> {
        settings.check()?;
        let geometry = Geometry {
            kind: settings.kind(),
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
        let mine = Attached {
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
        Ok(Self(Arc::new(Table {
            peers: cards.into_iter().map(|card| card.memory).collect(),
            budgets: settings.budgets,
            polls_before_yield: settings.polls_before_yield,
            taken: AtomicBool::new(false),
            rendezvous,
            geometry,
            memory,
            _region: region,
            nic,
        })))
    }

    /// This node's threads. Each is connected with the threads of its number at all other
    /// nodes. It is also connected with its own node where the kind of lock needs that. All nodes
    /// call this, once. Two threads with the same descriptors would not exclude each other.
    ///
    /// A queue pair has two ends. A thread is to be kept until those of the same number at the
    /// other nodes are through. Else they find this node lost. [`Rendezvous::barrier`] waits
    /// for that.
    ///
    /// What a node tells the others here is one line of at most 64 MiB at the rendezvous. A
    /// queue pair takes up to 150 bytes of it. Nodes times threads of a node may be some
    /// 440,000. More is an error before anything is sent.
    ///
    /// # Errors
    /// [`Error::Taken`] from the second call on, also if the first one failed. [`Error::Nic`].
    /// [`Error::Mismatch`] where a node has fewer threads. Else as [`Rendezvous::exchange`].
    pub fn threads(&self) -> Result<Vec<Thread>, Error> {
        let it = &self.0;
        // Relaxed: a caller that finds it set does nothing.
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
            threads.push(Thread::new(Wire::new(
                Arc::clone(it),
                thread as u16,
                of,
                other_end,
            )));
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
        self.0.keys()
    }

    /// The name of the device, and its address' index.
    pub fn device(&self) -> (String, u8) {
        (self.0.nic.name().to_owned(), self.0.nic.gid_index())
    }

    /// A word of data of one of this node's own locks, as it is now. It is for checks while the
    /// lock is free. `None` where there is no such lock or word.
    pub fn peek(&self, number: u32, word: u32) -> Option<u64> {
        let geometry = &self.0.geometry;
        if number >= geometry.locks || word >= geometry.words {
            return None;
        }
        let lock = geometry.lock(self.0.rendezvous.rank(), number)?;
        let at = geometry.data(lock, word)?;
        Some(word::Word::load_acquire(word::Memory::word(
            &*self.0,
            at.offset(),
        )))
    }
}
