//! A thread of a node: its queue pairs and its descriptors.

use std::cell::{Cell, RefCell};
use std::future::{poll_fn, Future};
use std::pin::{pin, Pin};
use std::task::{Context, Poll, Waker};
use std::time::{Duration, Instant};

use nic::{Completion, QueuePair, Request};

use super::node::Node;
use super::{Error, Reason};
use crate::access::Looked;
use crate::local::once;
use crate::pace::Pace;
use crate::ptr::{Descriptor, LockPtr, Place, Ptr};
use crate::remote::Verbs;
use crate::word::Memory;

/// What a thread of a node takes locks with. It may go to another thread of the process, but
/// is used by one at a time.
pub struct Thread {
    /// By node; the own one's is the loopback of those locks that need it.
    pairs: RefCell<Vec<Option<QueuePair>>>,
    /// The loopback's other end.
    _other_end: Option<QueuePair>,
    next: Cell<u64>,
    /// What has completed while another one was asked for.
    done: RefCell<Vec<Completion>>,
    /// Whose completion nobody waits for any more.
    forgotten: RefCell<Vec<u64>>,
    /// Descriptors that nobody knows of.
    free: RefCell<Vec<Descriptor>>,
    /// The locks that it holds or has asked for.
    asked: RefCell<Vec<LockPtr>>,
    /// Whether what was polled last waits for a completion.
    posted: Cell<bool>,
    /// So many times it may look again before other threads are to run.
    looks: Cell<u32>,
    /// How often it looks at a lock that the other cohort has.
    pace: Pace,
    /// Dropped last: the queue pairs end before the node's memory does.
    pub(crate) node: Node,
}

/// What the locks' code has a thread's verbs by: they are no part of what a program sees, for
/// they reach every word of every lock.
#[derive(Clone, Copy)]
pub(super) struct Card<'t>(pub(super) &'t Thread);

/// A thread that ends with a lock, or in a queue (a guard was forgotten), hands over no more.
impl Drop for Thread {
    fn drop(&mut self) {
        let rendezvous = &self.node.0.rendezvous;
        // Where somebody is lost all the others know already, and this is what comes of it.
        if !self.asked.get_mut().is_empty() && rendezvous.health.check().is_ok() {
            rendezvous.report(rendezvous.rank(), Reason::Failed);
        }
    }
}

/// An operation that was posted.
struct Posted<'t> {
    thread: &'t Thread,
    node: u16,
    id: u64,
    over: bool,
}

impl Drop for Posted<'_> {
    fn drop(&mut self) {
        if self.over {
            return;
        }
        let mut done = self.thread.done.borrow_mut();
        match done.iter().position(|done| done.id == self.id) {
            Some(found) => drop(done.swap_remove(found)),
            None => self.thread.forgotten.borrow_mut().push(self.id),
        }
    }
}

impl Thread {
    pub(crate) fn new(
        node: Node,
        number: u16,
        pairs: Vec<Option<QueuePair>>,
        other_end: Option<QueuePair>,
    ) -> Self {
        let rank = node.0.rendezvous.rank();
        let geometry = node.0.geometry;
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
            posted: Cell::new(false),
            looks: Cell::new(0),
            pace: Pace::default(),
            node,
        }
    }

    /// How many work requests this thread has posted.
    pub fn work_requests(&self) -> u64 {
        let pairs = self.pairs.borrow();
        pairs.iter().flatten().map(QueuePair::posted).sum()
    }

    /// How many queue pairs it has.
    pub fn queue_pairs(&self) -> usize {
        let pairs = self.pairs.borrow();
        pairs.iter().flatten().count() + usize::from(self._other_end.is_some())
    }

    /// Whether this thread holds the lock, or has asked for it.
    pub(crate) fn has(&self, lock: LockPtr) -> bool {
        self.asked.borrow().contains(&lock)
    }

    /// A descriptor that is in no queue, for the queue of `lock`.
    pub(crate) fn take(&self, lock: LockPtr) -> Result<Descriptor, Error> {
        let held = u64::from(self.node.0.geometry.held);
        let mine = self.free.borrow_mut().pop().ok_or(Error::OutOfRange {
            what: "the number of locks that a thread holds or waits for",
            is: held + 1,
            least: 0,
            most: held,
        })?;
        self.asked.borrow_mut().push(lock);
        Ok(mine)
    }

    /// Nobody knows of it any more, and the lock is no longer asked for.
    pub(crate) fn give_back(&self, descriptor: Descriptor, lock: LockPtr) {
        self.free.borrow_mut().push(descriptor);
        let mut asked = self.asked.borrow_mut();
        if let Some(found) = asked.iter().position(|&it| it == lock) {
            asked.swap_remove(found);
        }
    }

    /// Polls until it is ready, and after some looks lets other threads run between two. No
    /// pause between two looks: a completion queue is no word that many look at, and where
    /// others do wait (`Verbs::wait`, `Memory::pause`) there is one.
    pub(crate) fn finish<T>(&self, future: impl Future<Output = T>) -> T {
        let mut future = pin!(future);
        let mut context = Context::from_waker(Waker::noop());
        self.looks.set(self.node.0.looks);
        loop {
            if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
                // `Request::check` looks once.
                self.looks.set(0);
                return value;
            }
            self.idle();
        }
    }

    /// Between two polls.
    fn idle(&self) {
        if !self.may_look_again() {
            std::thread::yield_now();
        }
    }

    fn may_look_again(&self) -> bool {
        let left = self.looks.get().checked_sub(1);
        self.looks.set(left.unwrap_or(0));
        left.is_some()
    }

    /// Polls until it is ready, or waits for another thread: not for this one's verbs.
    pub(crate) fn begin<T>(&self, mut future: Pin<&mut impl Future<Output = T>>) -> Poll<T> {
        let mut context = Context::from_waker(Waker::noop());
        self.looks.set(self.node.0.looks);
        loop {
            self.posted.set(false);
            let polled = future.as_mut().poll(&mut context);
            if polled.is_ready() || !self.posted.get() {
                self.looks.set(0);
                return polled;
            }
            self.idle();
        }
    }

    async fn verb(&self, node: u16, requests: &[Request]) -> Result<Completion, Error> {
        let id = self.next.get();
        self.next.set(id + 1);
        if let Some(pair) = &mut self.pairs.borrow_mut()[usize::from(node)] {
            let posted = pair.post_list(id, requests);
            posted.map_err(|error| self.node.0.lost(node, error))?;
        } else {
            // A lock of the own node, by verbs: no kind that needs it has come here.
            return Err(Error::Mismatch(format!("no queue pair to node {node}")));
        }
        let mut posted = Posted {
            thread: self,
            node,
            id,
            over: false,
        };
        // The looks are taken here, and not by polling the whole call again and again: the way
        // down here takes longer than a look.
        poll_fn(|_| loop {
            let polled = posted.poll();
            if polled.is_ready() || !self.may_look_again() {
                self.posted.set(polled.is_pending());
                return polled;
            }
        })
        .await
    }

    fn read_word(&self, at: Place) -> Request {
        Request::read(self.node.0.remote(at), 1)
    }

    /// Reads a word of another node.
    pub(crate) async fn get(&self, from: Place) -> Result<u64, Error> {
        let request = self.read_word(from);
        Ok(self.verb(from.node().0, &[request]).await?.value())
    }

    fn words(completion: &Completion) -> [u64; LockPtr::WORDS as usize] {
        let mut words = [0; LockPtr::WORDS as usize];
        for (word, value) in words.iter_mut().zip(completion.values()) {
            *word = *value;
        }
        words
    }

    fn look(&self, lock: LockPtr) -> Request {
        let place = lock.0.word(0);
        Request::read(self.node.0.remote(place), LockPtr::WORDS.into())
    }
}

impl Posted<'_> {
    /// One look. Whether somebody is lost does not matter here: a verb to a node that is
    /// there may complete all the same, and to give it up would leave open whether it did. The
    /// device's timeout and retries bound it (`Settings::nic`).
    fn poll(&mut self) -> Poll<Result<Completion, Error>> {
        let thread = self.thread;
        let mut done = thread.done.borrow_mut();
        if let Some(found) = done.iter().position(|done| done.id == self.id) {
            self.over = true;
            return Poll::Ready(Ok(done.swap_remove(found)));
        }
        let mut pairs = thread.pairs.borrow_mut();
        let Some(pair) = &mut pairs[usize::from(self.node)] else {
            return Poll::Pending;
        };
        match pair.poll() {
            Ok(Some(completion)) if completion.id == self.id => {
                self.over = true;
                Poll::Ready(Ok(completion))
            }
            Ok(Some(completion)) => {
                let mut forgotten = thread.forgotten.borrow_mut();
                match forgotten.iter().position(|&id| id == completion.id) {
                    Some(found) => drop(forgotten.swap_remove(found)),
                    None => done.push(completion),
                }
                Poll::Pending
            }
            Ok(None) => Poll::Pending,
            Err(error) => {
                self.over = true;
                Poll::Ready(Err(thread.node.0.lost(self.node, error)))
            }
        }
    }
}

impl Verbs for Card<'_> {
    type Fault = Error;

    async fn cas(&self, at: Place, old: u64, new: u64) -> Result<u64, Error> {
        let request = Request::cas(self.0.node.0.remote(at), old, new);
        Ok(self.0.verb(at.node().0, &[request]).await?.value())
    }

    async fn write(&self, to: Place, value: u64) -> Result<(), Error> {
        let request = Request::write(self.0.node.0.remote(to), value);
        self.0.verb(to.node().0, &[request]).await.map(drop)
    }

    async fn read(&self, lock: LockPtr) -> Result<[u64; 3], Error> {
        let request = self.0.look(lock);
        let began = Instant::now();
        let words = Thread::words(&self.0.verb(lock.0.node().0, &[request]).await?);
        self.0.pace.took(began.elapsed().as_nanos() as u64);
        Ok(words)
    }

    async fn write_and_read(
        &self,
        to: Place,
        value: u64,
        lock: LockPtr,
    ) -> Result<[u64; 3], Error> {
        let write = Request::write(self.0.node.0.remote(to), value);
        // One queue pair executes a write before a read that was posted after it.
        let requests = [write, self.0.look(lock)];
        let began = Instant::now();
        let words = Thread::words(&self.0.verb(lock.0.node().0, &requests).await?);
        // Also a look, and `Thread::post` waits for it: who checks seldom then knows how long
        // one takes all the same.
        self.0.pace.took(began.elapsed().as_nanos() as u64);
        Ok(words)
    }

    fn load(&self, place: Place) -> u64 {
        self.0.node.0.own(place)
    }

    fn store(&self, place: Place, value: u64, known: bool) {
        if known {
            self.0.node.0.tell(place, value);
        } else {
            self.0.node.0.prepare(place, value);
        }
    }

    fn is_there(&self, line: Ptr) -> bool {
        self.0.node.0.has_descriptor(line)
    }

    fn overwritten(&self) -> Error {
        self.0.node.0.overwritten()
    }

    fn is_own(&self, place: Place) -> bool {
        place.node().0 == self.0.node.0.rendezvous.rank()
    }

    async fn wait(&self, looked: Looked, turn: u32) -> Result<(), Error> {
        let until = match (looked, self.0.pace.pause(turn)) {
            // Not in the queue yet, where `Thread::post` promises to be when it returns; and the
            // compare-and-swap gave others their chance.
            (Looked::Tail, _) => return self.0.node.0.rendezvous.health.check(),
            (Looked::Own, _) | (Looked::Lock, 0) => None,
            (Looked::Lock, pause) => Some(Instant::now() + Duration::from_nanos(pause)),
        };
        loop {
            self.0.node.0.rendezvous.health.check()?;
            std::hint::spin_loop();
            // Whoever polls has other things to do meanwhile.
            once().await;
            if until.is_none_or(|until| Instant::now() >= until) {
                return Ok(());
            }
        }
    }
}
