// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A node's table of locks: its settings, where what lies, and its memory.

use std::sync::atomic::AtomicBool;
use std::sync::Arc;

use nic::{Memory, Nic, Region, RemoteWord};
use serde::{Deserialize, Serialize};

use super::rendezvous::Rendezvous;
use super::{Error, Reason};
use crate::lock::Budgets;
use crate::ptr::{Descriptor, LockPtr, NodeId, Ptr, WordPtr};
use crate::word;

/// How the locks of a table are taken.
#[cfg_attr(
    not(feature = "baselines"),
    expect(unreachable_pub, reason = "programs see it with the feature alone")
)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum Kind {
    /// This crate's lock.
    ALock,
    /// A baseline: [`crate::baselines::spin_lock`].
    #[cfg(feature = "baselines")]
    RdmaSpin,
    /// A baseline: [`crate::baselines::mcs_lock`].
    #[cfg(feature = "baselines")]
    RdmaMcs,
    /// Excludes no thread: what a check of locks must find.
    #[cfg(feature = "baselines")]
    Busted,
}

/// What all nodes of a cluster must agree in, and a node's own patience.
///
/// # Examples
/// ```
/// use alock::cluster::Settings;
///
/// let settings = Settings {
///     locks: 1000,
///     words: 8,
///     threads: 4,
///     nic: nic::Options { device: Some("mlx5_0".into()), ..nic::Options::default() },
///     ..Settings::default()
/// };
/// ```
#[derive(Clone, Debug)]
pub struct Settings {
    /// How the locks are taken.
    #[cfg(feature = "baselines")]
    #[doc(hidden)]
    pub kind: Kind,
    /// Locks of each node.
    pub locks: u32,
    /// Words of data that each lock protects.
    pub words: u32,
    /// Threads of each node.
    pub threads: u16,
    /// Locks that a thread may hold at once.
    pub held: u16,
    /// The budgets of the cohorts.
    pub budgets: Budgets,
    /// The polls of a blocking call before it lets other threads run between two polls. Each verb
    /// has so many for its completion. A wait for another thread has what the verb before it has
    /// left. Where no verb was before, it has the full number.
    ///
    /// Few are good where the device is software, whose other half needs a CPU. A card's answer is
    /// there after some dozens, and a system call in between only delays that.
    pub polls_before_yield: u32,
    /// The device, and how long it tries. That bounds every verb, so `timeout` is 1 to 31 and
    /// `retries` is 0 to 6. A timeout of 0 is none, and 7 retries are for ever on rxe.
    pub nic: nic::Options,
}

impl Default for Settings {
    /// 100 locks of a word each, one thread, four locks at once.
    fn default() -> Self {
        Self {
            #[cfg(feature = "baselines")]
            kind: Kind::ALock,
            locks: 100,
            words: 1,
            threads: 1,
            held: 4,
            budgets: Budgets::default(),
            polls_before_yield: 64,
            nic: nic::Options::default(),
        }
    }
}

impl Settings {
    pub(crate) fn kind(&self) -> Kind {
        #[cfg(feature = "baselines")]
        return self.kind;
        #[cfg(not(feature = "baselines"))]
        Kind::ALock
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
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

/// The layout of every node's memory. Offsets in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Geometry {
    pub(crate) kind: Kind,
    pub(crate) locks: u32,
    pub(crate) words: u32,
    pub(crate) threads: u16,
    pub(crate) held: u16,
    pub(crate) local_budget: u32,
    pub(crate) remote_budget: u32,
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

    pub(crate) fn bytes(&self) -> u64 {
        self.descriptors() + u64::from(self.threads) * u64::from(self.held) * Ptr::LINE
    }

    pub(crate) fn lock(&self, node: u16, number: u32) -> Option<LockPtr> {
        let offset = ROWS + u64::from(number) * self.row_bytes();
        Ptr::new(NodeId(node), offset).map(LockPtr)
    }

    /// A word of the lock's data.
    pub(crate) fn data(&self, lock: LockPtr, word: u32) -> Option<WordPtr> {
        let offset = lock.0.offset() + Ptr::LINE + u64::from(word / 8) * Ptr::LINE;
        Some(Ptr::new(lock.0.node(), offset)?.word((word % 8) as u8))
    }

    pub(crate) fn descriptor(&self, node: u16, thread: u16, which: u16) -> Option<Descriptor> {
        let number = u64::from(thread) * u64::from(self.held) + u64::from(which);
        Ptr::new(NodeId(node), self.descriptors() + number * Ptr::LINE).map(Descriptor)
    }
}

/// What a node and its threads share: its memory, and where the others' are.
pub(crate) struct Table {
    pub(crate) rendezvous: Arc<Rendezvous>,
    pub(crate) geometry: Geometry,
    pub(crate) budgets: Budgets,
    pub(crate) polls_before_yield: u32,
    /// Whether the threads were given out: each one's descriptors are its own.
    pub(crate) taken: AtomicBool,
    pub(crate) memory: Arc<Memory>,
    /// Every node's memory, by number.
    pub(crate) peers: Vec<RemoteWord>,
    // Dropped after what uses them: queue pairs keep what they need.
    pub(crate) _region: Region,
    pub(crate) nic: Nic,
}

impl Table {
    /// How many locks there are, of all nodes.
    pub(crate) fn keys(&self) -> u64 {
        u64::from(self.rendezvous.size()) * u64::from(self.geometry.locks)
    }

    pub(crate) fn remote(&self, at: WordPtr) -> RemoteWord {
        self.peers[usize::from(at.node().0)].at(at.offset())
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
        // A node that ended since another was lost answers no more either: the first is the cause.
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

impl word::Memory for Table {
    type Word = std::sync::atomic::AtomicU64;

    fn word(&self, offset: u64) -> &Self::Word {
        self.memory.word(offset as usize)
    }

    fn is_there(&self, line: Ptr) -> bool {
        // A thread that joins locally is of this node: another's offset would be a line here.
        line.node().0 == self.rendezvous.rank() && self.has_descriptor(line)
    }

    fn overwritten(&self) {
        let _ = Table::overwritten(self);
    }

    fn pause(&self, _turn: u32) -> bool {
        std::hint::spin_loop();
        self.rendezvous.health.check().is_ok()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// Every lock, every word of its data and every descriptor has bytes of its own, within the
    /// memory. Two threads that share a descriptor do not exclude each other.
    #[test]
    fn nothing_lies_where_another_does() {
        for (locks, words, threads, held) in
            [(1, 1, 1, 1), (3, 8, 2, 4), (5, 9, 7, 3), (2, 17, 4, 1)]
        {
            let it = Geometry {
                kind: Kind::ALock,
                locks,
                words,
                threads,
                held,
                local_budget: 5,
                remote_budget: 20,
            };
            let mut taken = HashSet::new();
            let mut take = |at: WordPtr| {
                assert!(at.offset() + 8 <= it.bytes(), "{it:?}: {at:?}");
                assert!(taken.insert(at.offset()), "{it:?}: {at:?}");
            };
            for lock in (0..locks).map(|number| it.lock(1, number).unwrap()) {
                (0..8).for_each(|word| take(lock.0.word(word)));
                (0..words).for_each(|word| take(it.data(lock, word).unwrap()));
            }
            for thread in 0..threads {
                for which in 0..held {
                    let line = it.descriptor(1, thread, which).unwrap().0;
                    (0..8).for_each(|word| take(line.word(word)));
                }
            }
            let all = u64::from(locks) * (8 + u64::from(words))
                + u64::from(threads) * u64::from(held) * 8;
            assert_eq!(taken.len() as u64, all);
            assert!(!taken.contains(&0), "a pointer to it is all zeroes");
        }
    }
}
