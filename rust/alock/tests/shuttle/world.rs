// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A small cluster of shuttle's atomics: between any two accesses another thread may run.
//!
//! A card's compare-and-swap is the paper's Table 1: a load and a later store. One lock a node
//! keeps out other such operations only. A READ's words come in any order, each perhaps from two
//! moments, cut at any byte. A write is one store (the atomic write). Shuttle takes every access
//! for sequentially consistent: orderings are loom's.

use std::sync::atomic::{AtomicU64 as Plain, Ordering::Relaxed};
use std::sync::Arc;

use shuttle::rand::Rng;
use shuttle::sync::atomic::{AtomicU64, Ordering::SeqCst};
use shuttle::sync::Mutex;

use alock::access::Polled;
use alock::local::Gone;
use alock::ptr::{Cohort, LockPtr, NodeId, Ptr, WordPtr};
use alock::remote::Verbs;
use alock::word::{Memory, Word};

use crate::watch::Watch;

/// The words that are used of a line's eight.
const WORDS: u64 = 3;

/// How many READs gave a word of two moments, in all schedules of this process.
pub(crate) static TORN: Plain = Plain::new(0);

/// A number below `end`: part of the schedule, so it comes again with the seed.
pub(crate) fn roll(end: usize) -> usize {
    shuttle::rand::thread_rng().gen_range(0..end)
}

pub(crate) struct Cell {
    value: AtomicU64,
    /// The watch of a tail: it is told of each thread that joins, and when the queue is empty.
    queue: Option<(Arc<Watch>, Cohort)>,
}

impl Cell {
    /// Stores `new` if what is there is `old`, or whatever it is. Tells at that moment which
    /// thread has joined, or that none is left. Returns what was there.
    fn update(&self, old: Option<u64>, new: u64) -> u64 {
        let change = |found| {
            if old.is_some_and(|old| old != found) {
                return None;
            }
            match &self.queue {
                Some((watch, cohort)) if new == Ptr::NULL => watch.emptied(*cohort),
                Some((watch, cohort)) => watch.joined(*cohort, new),
                None => {}
            }
            Some(new)
        };
        match self.value.fetch_update(SeqCst, SeqCst, change) {
            Ok(found) | Err(found) => found,
        }
    }
}

impl Word for Cell {
    fn load_acquire(&self) -> u64 {
        self.value.load(SeqCst)
    }
    fn store_relaxed(&self, value: u64) {
        self.value.store(value, SeqCst);
    }
    fn store_release(&self, value: u64) {
        self.value.store(value, SeqCst);
    }
    fn swap(&self, new: u64) -> u64 {
        self.update(None, new)
    }
    fn cmpxchg(&self, old: u64, new: u64) -> u64 {
        self.update(Some(old), new)
    }
    fn smp_mb() {}
    fn smp_mb_after_rmw() {}
}

/// A node: its memory, of which line 0 is a lock, and its card's one atomic operation at a
/// time.
pub(crate) struct Node {
    words: Vec<Cell>,
    card: Mutex<()>,
}

impl Node {
    pub(crate) fn new(lines: u64, watch: &Arc<Watch>) -> Self {
        let cell = |index| Cell {
            value: AtomicU64::new(0),
            queue: [Cohort::Local, Cohort::Remote]
                .get(index as usize)
                .map(|&cohort| (watch.clone(), cohort)),
        };
        Self {
            words: (0..lines * WORDS).map(cell).collect(),
            card: Mutex::new(()),
        }
    }

    pub(crate) fn at(&self, offset: u64) -> &Cell {
        let (line, word) = (offset / Ptr::LINE, offset % Ptr::LINE / 8);
        assert!(word < WORDS);
        &self.words[(line * WORDS + word) as usize]
    }
}

/// A thread's node, and the others by the thread's card.
pub(crate) struct Side<'c> {
    pub(crate) nodes: &'c [Node],
    pub(crate) node: NodeId,
}

impl Side<'_> {
    fn mine(&self) -> &Node {
        &self.nodes[usize::from(self.node.0)]
    }

    /// Another node's. There is no queue pair to the own one.
    fn there(&self, at: WordPtr) -> &Node {
        assert_ne!(at.node(), self.node, "a verb to the own node");
        &self.nodes[usize::from(at.node().0)]
    }
}

impl Memory for Side<'_> {
    type Word = Cell;
    fn word(&self, offset: u64) -> &Cell {
        self.mine().at(offset)
    }
    fn pause(&self, _: u32) -> bool {
        shuttle::thread::yield_now();
        true
    }
}

impl Verbs for Side<'_> {
    type Fault = Gone;
    async fn cas(&self, at: WordPtr, old: u64, new: u64) -> Result<u64, Gone> {
        let there = self.there(at);
        let word = there.at(at.offset());
        let _one = there.card.lock().unwrap();
        let found = word.value.load(SeqCst);
        if found == old {
            word.update(None, new);
        }
        Ok(found)
    }
    async fn write(&self, to: WordPtr, value: u64) -> Result<(), Gone> {
        self.there(to).at(to.offset()).store_release(value);
        Ok(())
    }
    async fn read(&self, lock: LockPtr) -> Result<[u64; 3], Gone> {
        let mut words = [0; 3];
        let first = roll(3);
        for index in (first..first + 3).map(|index| index % 3) {
            let at = lock.0.word(index as u8);
            let word = self.there(at).at(at.offset());
            let (one, other) = (word.load_acquire(), word.load_acquire());
            // The first moment's bytes below the cut, the second's above, or the reverse.
            let below = (1_u64 << (8 * (1 + roll(7)))) - 1;
            let mask = if roll(2) == 0 { below } else { !below };
            words[index] = (one & mask) | (other & !mask);
            if ![one, other].contains(&words[index]) {
                TORN.fetch_add(1, Relaxed);
            }
        }
        Ok(words)
    }
    async fn write_and_read(
        &self,
        to: WordPtr,
        value: u64,
        lock: LockPtr,
    ) -> Result<[u64; 3], Gone> {
        self.write(to, value).await?;
        self.read(lock).await
    }
    fn load(&self, at: WordPtr) -> u64 {
        self.mine().at(at.offset()).load_acquire()
    }
    fn store(&self, at: WordPtr, value: u64, _known: bool) {
        self.mine().at(at.offset()).store_release(value);
    }
    fn overwritten(&self) -> Gone {
        Gone
    }
    fn is_own(&self, at: WordPtr) -> bool {
        at.node() == self.node
    }
    async fn wait(&self, polled: Polled, turn: u32) -> Result<(), Gone> {
        // A verb was the poll; as `cluster`'s it goes on at once.
        if polled != Polled::Tail {
            self.pause(turn);
        }
        Ok(())
    }
}
