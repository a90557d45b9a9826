// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Real clusters: nodes with a table of locks each, over verbs.
//!
//! ```text
//! Rendezvous::join   which nodes are there (TCP)
//! Node::attach       a node's memory, registered; the others' addresses and keys
//! Node::threads      each thread's queue pairs and descriptors
//! Thread::lock       a guard; released when it is dropped, also in a panic
//! ```
//!
//! ```no_run
//! use std::sync::Arc;
//! use std::time::Duration;
//!
//! use alock::cluster::{Error, Node, Rendezvous, Settings};
//!
//! /// One of three nodes: its two threads move a hundred coins each from one account to
//! /// another, wherever the two lie.
//! fn run(rank: u16) -> Result<(), Error> {
//!     let (patience, silence) = (Duration::from_secs(60), Duration::from_secs(10));
//!     let rendezvous = Rendezvous::join("node0:18550", rank, 3, patience, silence)?;
//!     let settings = Settings { threads: 2, locks: 1000, ..Settings::default() };
//!     let node = Node::attach(Arc::new(rendezvous), &settings)?;
//!     let threads = node.threads()?;
//!     std::thread::scope(|scope| {
//!         let started = threads.into_iter().zip(0_u64..).map(|(thread, number)| {
//!             let keys = node.keys();
//!             scope.spawn(move || -> Result<_, Error> {
//!                 for coin in 0..100 {
//!                     let from = (7 * coin + number) % keys;
//!                     let to = (11 * coin + 1) % keys;
//!                     if from == to {
//!                         continue;
//!                     }
//!                     // Two locks at once, the lower key first: no thread waits in a ring.
//!                     let (low, high) = (from.min(to), from.max(to));
//!                     let (mut low, mut high) = (thread.lock(low)?, thread.lock(high)?);
//!                     low.store(0, low.load(0)?.wrapping_sub(1))?;
//!                     high.store(0, high.load(0)?.wrapping_add(1))?;
//!                     high.unlock()?;
//!                     low.unlock()?;
//!                 }
//!                 Ok(thread)
//!             })
//!         });
//!         // Kept until all nodes are through: a queue pair has two ends.
//!         let kept: Result<Vec<_>, _> = started
//!             .collect::<Vec<_>>()
//!             .into_iter()
//!             .map(|it| it.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
//!             .collect();
//!         let kept = kept?;
//!         node.rendezvous().barrier()?;
//!         drop(kept);
//!         Ok(())
//!     })
//! }
//! ```
//!
//! **When a node is gone.** A node that dies or loses its link is found by silence at the
//! rendezvous, or by a failing verb. From then on every call of every node returns [`Error::Lost`]
//! or [`Error::Link`]. It returns [`Error::Nic`] where its own device failed. A waiting call does
//! so in bounded time: the silence that [`Rendezvous::join`] was told, or a verb's retries. It
//! succeeds only if the lock was handed over to it before. No thread is granted a lock that another
//! may hold. What a holder does under a lock that it has goes on. There is no recovery yet.
//!
//! The node that an error names is the first that was lost. The failed verb may have been to a node
//! that ended since.
//!
//! **What a lock protects** are the words of this table that belong to it. By [`Guard::load`] and
//! [`Guard::store`], what one holder has stored the next one loads, wherever the two are.
//!
//! A program's other memory is ordered from the unlock to the next lock where the CPU hands over.
//! That is between threads of the lock's own node, and from a thread to a waiter of the same node.
//! Else a card is between. The order then holds as far as posting a verb is a release and its
//! completion an acquire. That is so with `libibverbs` on x86-64, and is no promise of Rust's
//! memory model.
//!
//! **A program's own verbs.** A WRITE that is complete need not be in the memory. What
//! [`Guard::store`] wrote is there before the next holder reads it. The unlock's compare-and-swap
//! goes by the same queue pair to the same node. A program's WRITEs by other queue pairs, or to
//! other nodes, are to be flushed before the unlock. A READ or a FLUSH by their queue pair does
//! that. The WRITEs' own completion is not enough.
//!
//! **What it takes.** A lock takes 64 bytes of its node's registered memory, and its words, rounded
//! up to 64. Each lock that a thread may hold takes 64 bytes more: see [`Settings::held`]. Each
//! thread has one queue pair for each other node. A word of data is a verb: there are no bulk
//! reads.

mod card;
mod guard;
mod messages;
mod node;
mod ordering;
mod rendezvous;
mod server;
mod table;
mod thread;

use std::io;
use std::sync::atomic::{AtomicU32, Ordering};

pub use guard::Guard;
pub use messages::VERSION;
pub use node::Node;
pub use rendezvous::Rendezvous;
#[cfg(feature = "baselines")]
#[doc(hidden)]
pub use table::Kind;
pub use table::Settings;
pub use thread::{Request, Thread};

/// What can go wrong. Each says it in one line.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A node does not answer any more, or left while a node waits for its part of an
    /// [exchange](Rendezvous::exchange).
    #[error("node {node} is lost: {why}; no lock is granted any more")]
    Lost {
        /// Which.
        node: u16,
        /// How this was found.
        why: &'static str,
    },
    /// A verb to a node failed: it, or what is between, is gone.
    #[error("node {node} is lost: a verb to it failed; no lock is granted any more")]
    Link {
        /// Which.
        node: u16,
        /// What the device said.
        #[source]
        source: nic::Error,
    },
    /// The device cannot be used; of a verb, that it failed on this side: then this node counts
    /// as lost.
    #[error(transparent)]
    Nic(#[from] nic::Error),
    /// A setting is out of its range.
    #[error("{what} is {is}, of {least} to {most}")]
    OutOfRange {
        /// Which one.
        what: &'static str,
        /// What it was set to.
        is: u64,
        /// The least that it may be.
        least: u64,
        /// The most that it may be.
        most: u64,
    },
    /// [`Node::threads`] was called before.
    #[error("this node's threads were taken before")]
    Taken,
    /// A thread would wait for itself.
    #[error("this thread has the lock {key} already, or has asked for it")]
    Own {
        /// The lock's.
        key: u64,
    },
    /// The baselines cannot be tried: they would have to leave a queue, or are no locks.
    #[cfg(feature = "baselines")]
    #[doc(hidden)]
    #[error("{kind:?} cannot be tried: only ALock can")]
    NoTry {
        /// The table's.
        kind: Kind,
    },
    /// A card's writes do not come in their order ([`Thread::check_ordering`]).
    #[error("node {from}'s writes come to node {node} out of order: {what}; is relaxed ordering forced (PCI_WR_ORDERING of its firmware)?")]
    Order {
        /// The node whose memory it is.
        node: u16,
        /// The node whose writes they are.
        from: u16,
        /// What was seen.
        what: String,
    },
    /// The nodes do not belong together.
    #[error("the nodes do not fit: {0}")]
    Mismatch(String),
    /// The rendezvous failed.
    #[error("rendezvous: {what}")]
    Rendezvous {
        /// What was to be done.
        what: String,
        /// Why it was not.
        #[source]
        source: io::Error,
    },
}

/// Whether all are there. Written once.
#[derive(Debug, Default)]
pub(crate) struct Health {
    /// 0, or the node and the reason's number.
    lost: AtomicU32,
}

const REASONS: [&str; 6] = [
    "its connection to the rendezvous ended",
    "it was silent for too long",
    "a verb to it failed",
    "a thread failed while it held or waited for a lock",
    "its device failed",
    "it found memory overwritten that locks live in",
];

/// How it was found that a node is lost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub(crate) enum Reason {
    Ended = 0,
    Silent = 1,
    Verb = 2,
    Failed = 3,
    Device = 4,
    Overwritten = 5,
}

impl Reason {
    fn words(self) -> &'static str {
        REASONS[self as usize]
    }
}

impl Health {
    /// The first report counts.
    pub(crate) fn report(&self, node: u16, reason: Reason) {
        let lost = (1 << 31) | ((reason as u32) << 16) | u32::from(node);
        // Release: what came before is found by a thread that sees this (`Rendezvous::heard`).
        let _ = self
            .lost
            .compare_exchange(0, lost, Ordering::Release, Ordering::Relaxed);
    }

    pub(crate) fn check(&self) -> Result<(), Error> {
        match self.lost.load(Ordering::Acquire) {
            0 => Ok(()),
            lost => Err(Error::Lost {
                node: lost as u16,
                why: REASONS[((lost >> 16) & 7) as usize],
            }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The node that is lost first is the cause; the others may follow from it.
    #[test]
    fn the_first_that_is_lost_is_named() {
        let health = Health::default();
        assert!(health.check().is_ok());
        health.report(3, Reason::Silent);
        for (node, reason) in [(5, Reason::Verb), (0, Reason::Ended), (3, Reason::Device)] {
            health.report(node, reason);
            let Err(Error::Lost { node, why }) = health.check() else {
                panic!("nobody is lost");
            };
            assert_eq!((node, why), (3, Reason::Silent.words()));
        }
    }
}
