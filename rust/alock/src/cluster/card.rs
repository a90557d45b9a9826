// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A thread's wire: its queue pairs, its descriptors, and the verbs by them.

use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::{pin, Pin};
use std::sync::Arc;
use std::task::Poll;
use std::time::{Duration, Instant};

use nic::{Completion, QueuePair, WorkRequest};

use super::table::Table;
use super::{Error, Reason};
use crate::access::Polled;
use crate::local::once;
use crate::pace::Pace;
use crate::polls::Polls;
use crate::ptr::{Descriptor, LockPtr, NodeId, Ptr, WordPtr};
use crate::remote::Verbs;
use crate::word::Memory;

/// What a thread has to take locks with. It is no part of what a program sees, for it reaches
/// every word of every lock.
pub(crate) struct Wire {
    /// The queue pairs by node; the own one's is the loopback of those locks that need it.
    pairs: RefCell<Vec<Option<QueuePair>>>,
    /// The loopback's other end.
    _other_end: Option<QueuePair>,
    next: Cell<u64>,
    /// What has completed while another one was asked for.
    done: RefCell<Vec<Completion>>,
    /// Operations whose completion no request waits for any more.
    forgotten: RefCell<Vec<u64>>,
    /// Descriptors that no other thread knows of.
    free: RefCell<Vec<Descriptor>>,
    /// The locks that it holds or has asked for.
    asked: RefCell<Vec<LockPtr>>,
    /// Whether it has ever asked for one.
    has_asked: Cell<bool>,
    /// How often it polls for a completion before other threads are to run.
    polls: Polls,
    /// How often it polls a lock that the other cohort has.
    pace: Pace,
    /// Dropped last: the queue pairs end before the node's memory does.
    pub(crate) table: Arc<Table>,
}

/// A thread that ends with a lock, or in a queue (a guard was forgotten), hands over no more.
impl Drop for Wire {
    fn drop(&mut self) {
        let rendezvous = &self.table.rendezvous;
        // Where a node is lost all the others know already, and this is what comes of it.
        if !self.asked.get_mut().is_empty() && rendezvous.health.check().is_ok() {
            rendezvous.report(rendezvous.rank(), Reason::Failed);
        }
    }
}

/// An operation that was posted.
struct Posted<'t> {
    wire: &'t Wire,
    node: u16,
    id: u64,
    over: bool,
}

impl Drop for Posted<'_> {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let mut done = self.wire.done.borrow_mut();
        match done.iter().position(|done| done.id == self.id) {
            Some(found) => drop(done.swap_remove(found)),
            None => self.wire.forgotten.borrow_mut().push(self.id),
        }
    }
}

impl Wire {
    pub(crate) fn new(
        table: Arc<Table>,
        number: u16,
        pairs: Vec<Option<QueuePair>>,
        other_end: Option<QueuePair>,
    ) -> Self {
        let rank = table.rendezvous.rank();
        let geometry = table.geometry;
        let free = (0..geometry.held)
            .filter_map(|which| geometry.descriptor(rank, number, which))
            .collect();
        Self {
            pairs: RefCell::new(pairs),
            _other_end: other_end,
            next: Cell::new(0),
            done: RefCell::default(),
            forgotten: RefCell::default(),
            free: RefCell::new(free),
            asked: RefCell::default(),
            has_asked: Cell::new(false),
            polls: Polls::default(),
            pace: Pace::default(),
            table,
        }
    }

    /// How many work requests were posted.
    pub(crate) fn work_requests(&self) -> u64 {
        let pairs = self.pairs.borrow();
        pairs.iter().flatten().map(QueuePair::posted).sum()
    }

    /// How many queue pairs it has.
    pub(crate) fn queue_pairs(&self) -> usize {
        let pairs = self.pairs.borrow();
        pairs.iter().flatten().count() + usize::from(self._other_end.is_some())
    }

    /// Whether this thread holds the lock, or has asked for it.
    pub(crate) fn has(&self, lock: LockPtr) -> bool {
        self.asked.borrow().contains(&lock)
    }

    /// Whether this thread has ever asked for a lock.
    pub(crate) fn has_asked(&self) -> bool {
        self.has_asked.get()
    }

    /// A descriptor that is in no queue, for the queue of `lock`.
    pub(crate) fn take(&self, lock: LockPtr) -> Result<Descriptor, Error> {
        let held = u64::from(self.table.geometry.held);
        let mine = self.free.borrow_mut().pop().ok_or(Error::OutOfRange {
            what: "the number of locks that a thread holds or waits for",
            is: held + 1,
            least: 0,
            most: held,
        })?;
        self.asked.borrow_mut().push(lock);
        self.has_asked.set(true);
        Ok(mine)
    }

    /// No other thread knows of `descriptor` any more, and `lock` is no longer asked for.
    pub(crate) fn give_back(&self, descriptor: Descriptor, lock: LockPtr) {
        self.free.borrow_mut().push(descriptor);
        let mut asked = self.asked.borrow_mut();
        if let Some(found) = asked.iter().position(|&it| it == lock) {
            asked.swap_remove(found);
        }
    }

    /// Polls until it is ready, and after some polls lets other threads run between two. No
    /// pause between two polls: a completion queue is no word that many threads poll. Where
    /// others do wait there is one, in `Verbs::wait` and `Memory::pause`.
    pub(crate) fn finish<T>(&self, future: impl Future<Output = T>) -> T {
        let polls = self.table.polls_before_yield;
        self.polls
            .finish(polls, pin!(future), std::thread::yield_now)
    }

    /// Polls until it is ready, or waits for another thread: not for this one's verbs.
    pub(crate) fn begin<T>(&self, future: Pin<&mut impl Future<Output = T>>) -> Poll<T> {
        let polls = self.table.polls_before_yield;
        self.polls.begin(polls, future, std::thread::yield_now)
    }

    pub(crate) async fn verb(
        &self,
        node: u16,
        requests: &[WorkRequest],
    ) -> Result<Completion, Error> {
        let id = self.next.get();
        self.next.set(id + 1);
        if let Some(pair) = &mut self.pairs.borrow_mut()[usize::from(node)] {
            let posted = pair.post_list(id, requests);
            posted.map_err(|error| self.table.lost(node, error))?;
        } else {
            // A lock of the own node, by verbs: no kind that needs it has come here.
            return Err(Error::Mismatch(format!("no queue pair to node {node}")));
        }
        let mut posted = Posted {
            wire: self,
            node,
            id,
            over: false,
        };
        self.polls.completes(|| posted.poll()).await
    }

    fn read_word(&self, at: WordPtr) -> WorkRequest {
        WorkRequest::read(self.table.remote(at), 1)
    }

    /// Reads a word of another node.
    pub(crate) async fn get(&self, from: WordPtr) -> Result<u64, Error> {
        let request = self.read_word(from);
        Ok(self.verb(from.node().0, &[request]).await?.value())
    }

    pub(crate) fn rank(&self) -> NodeId {
        NodeId(self.table.rendezvous.rank())
    }

    /// Why a local wait ended.
    pub(crate) fn gone(&self) -> Error {
        let found = self.table.rendezvous.health.check();
        found.err().unwrap_or(Error::Lost {
            node: self.rank().0,
            why: "unknown",
        })
    }

    fn words(completion: &Completion) -> [u64; LockPtr::WORDS as usize] {
        let mut words = [0; LockPtr::WORDS as usize];
        for (word, value) in words.iter_mut().zip(completion.values()) {
            *word = *value;
        }
        words
    }

    fn look(&self, lock: LockPtr) -> WorkRequest {
        let at = lock.0.word(0);
        WorkRequest::read(self.table.remote(at), LockPtr::WORDS.into())
    }
}

impl Posted<'_> {
    /// One poll. A lost node does not matter here. A verb to a node that is there may complete
    /// all the same. To give it up would leave open whether it did. The device's timeout and
    /// retries bound it (`Settings::nic`).
    fn poll(&mut self) -> Poll<Result<Completion, Error>> {
        let wire = self.wire;
        let mut done = wire.done.borrow_mut();
        if let Some(found) = done.iter().position(|done| done.id == self.id) {
            self.over = true;
            return Poll::Ready(Ok(done.swap_remove(found)));
        }
        let mut pairs = wire.pairs.borrow_mut();
        let Some(pair) = &mut pairs[usize::from(self.node)] else {
            return Poll::Pending;
        };
        match pair.poll() {
            Ok(Some(completion)) if completion.id == self.id => {
                self.over = true;
                Poll::Ready(Ok(completion))
            }
            Ok(Some(completion)) => {
                let mut forgotten = wire.forgotten.borrow_mut();
                match forgotten.iter().position(|&id| id == completion.id) {
                    Some(found) => drop(forgotten.swap_remove(found)),
                    None => done.push(completion),
                }
                Poll::Pending
            }
            Ok(None) => Poll::Pending,
            Err(error) => {
                self.over = true;
                Poll::Ready(Err(wire.table.lost(self.node, error)))
            }
        }
    }
}

impl Verbs for Wire {
    type Fault = Error;

    async fn cas(&self, at: WordPtr, old: u64, new: u64) -> Result<u64, Error> {
        let request = WorkRequest::cas(self.table.remote(at), old, new);
        Ok(self.verb(at.node().0, &[request]).await?.value())
    }

    async fn write(&self, to: WordPtr, value: u64) -> Result<(), Error> {
        let request = WorkRequest::write(self.table.remote(to), value);
        self.verb(to.node().0, &[request]).await.map(drop)
    }

    async fn read(&self, lock: LockPtr) -> Result<[u64; 3], Error> {
        let request = self.look(lock);
        let began = Instant::now();
        let words = Self::words(&self.verb(lock.0.node().0, &[request]).await?);
        self.pace.took(began.elapsed().as_nanos() as u64);
        Ok(words)
    }

    async fn write_and_read(
        &self,
        to: WordPtr,
        value: u64,
        lock: LockPtr,
    ) -> Result<[u64; 3], Error> {
        let write = WorkRequest::write(self.table.remote(to), value);
        // One queue pair executes a write before a read that was posted after it.
        let requests = [write, self.look(lock)];
        let began = Instant::now();
        let words = Self::words(&self.verb(lock.0.node().0, &requests).await?);
        // Also a poll, and `Thread::post` waits for it: a caller that checks seldom then knows
        // how long one takes all the same.
        self.pace.took(began.elapsed().as_nanos() as u64);
        Ok(words)
    }

    fn load(&self, at: WordPtr) -> u64 {
        self.table.own(at)
    }

    fn store(&self, at: WordPtr, value: u64, known: bool) {
        if known {
            self.table.tell(at, value);
        } else {
            self.table.prepare(at, value);
        }
    }

    fn is_there(&self, line: Ptr) -> bool {
        self.table.has_descriptor(line)
    }

    fn overwritten(&self) -> Error {
        self.table.overwritten()
    }

    fn is_own(&self, at: WordPtr) -> bool {
        at.node().0 == self.table.rendezvous.rank()
    }

    async fn wait(&self, polled: Polled, turn: u32) -> Result<(), Error> {
        let until = match (polled, self.pace.pause(turn)) {
            // Not in the queue yet, where `Thread::post` promises to be when it returns; and the
            // compare-and-swap gave others their chance.
            (Polled::Tail, _) => return self.table.rendezvous.health.check(),
            (Polled::Own, _) | (Polled::Lock, 0) => None,
            (Polled::Lock, pause) => Some(Instant::now() + Duration::from_nanos(pause)),
        };
        loop {
            self.table.rendezvous.health.check()?;
            std::hint::spin_loop();
            // The caller that polls has other things to do meanwhile.
            once().await;
            if until.is_none_or(|until| Instant::now() >= until) {
                return Ok(());
            }
        }
    }
}
