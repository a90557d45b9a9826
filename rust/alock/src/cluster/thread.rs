// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Threads as a program has them: how they take locks, and ask for them.

use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use super::card::Wire;
use super::guard::{Guard, Had};
use super::table::Kind;
use super::Error;
#[cfg(feature = "baselines")]
use crate::baselines;
use crate::local::{Gone, Local};
use crate::lock::{acquire, try_acquire, Held};
use crate::ptr::{Cohort, Descriptor, LockPtr};
use crate::remote::Remote;

/// What a thread of a node takes locks with. It may go to another thread of the process, but
/// is used by one at a time.
///
/// # Examples
/// ```no_run
/// # use alock::cluster::{Error, Thread};
/// # fn run(thread: &Thread) -> Result<(), Error> {
/// // Two locks at once: the order is the caller's.
/// let (low, high) = (thread.lock(3)?, thread.lock(8)?);
/// drop((low, high));
/// // Asks for a lock, and does something else until it is there.
/// let mut request = thread.post(5);
/// let guard = loop {
///     if let Some(guard) = request.check()? {
///         break guard;
///     }
/// };
/// guard.unlock()
/// # }
/// ```
pub struct Thread(pub(super) Wire);

/// A lock that [`Thread::post`] asked for, and that the program checks now and then.
///
/// The request is in the queue, and its turn may come between two checks. The others then wait for
/// this thread as for any holder, until it checks and releases. So a request is to be checked
/// until it is over. In an order of several locks it counts as held. No thread's `unlock` waits
/// for a check: the predecessor knows of it when `post` returns.
///
/// A drop waits for the lock and releases it: behind a predecessor a thread cannot leave the
/// queue.
#[must_use = "it is waited for when it is dropped"]
pub struct Request<'t> {
    thread: &'t Thread,
    state: State<'t>,
}

type Got<'t> = Result<Option<Guard<'t>>, Error>;

enum State<'t> {
    Waits(Pin<Box<dyn Future<Output = Got<'t>> + 't>>),
    /// No other node was told yet.
    Done(Got<'t>),
    Over,
}

enum Patience {
    Forever,
    Until(Instant),
    None,
}

impl Thread {
    pub(crate) fn new(wire: Wire) -> Self {
        Self(wire)
    }

    /// How many work requests this thread has posted.
    pub fn work_requests(&self) -> u64 {
        self.0.work_requests()
    }

    /// How many queue pairs it has.
    pub fn queue_pairs(&self) -> usize {
        self.0.queue_pairs()
    }

    /// Acquires the lock `key` and waits as long as it takes. Promises and costs: see
    /// [`crate::lock::acquire`]. With more than one lock at once, their order is the
    /// caller's.
    ///
    /// # Errors
    /// [`Error::Lost`] and [`Error::Link`] when a node is gone. [`Error::Nic`] when that is this
    /// node, whose device failed. [`Error::OutOfRange`] for a key that there is not, or when the
    /// thread holds as many locks as it may. [`Error::Own`] when it has this lock, or a request
    /// for it.
    pub fn lock(&self, key: u64) -> Result<Guard<'_>, Error> {
        match self.0.finish(self.acquire(key, Patience::Forever))? {
            Some(guard) => Ok(guard),
            // It never gives up.
            None => unreachable!("a wait without end has ended"),
        }
    }

    /// Acquires the lock if that needs no waiting for others. `None` otherwise, also when this
    /// thread has it. Where the other cohort has the lock, the thread has joined the queue and
    /// leaves it again. If a thread joined behind meanwhile, it waits until that one has linked
    /// itself, which takes one verb.
    ///
    /// # Errors
    /// The errors of [`Thread::lock`], but never [`Error::Own`].
    pub fn try_lock(&self, key: u64) -> Result<Option<Guard<'_>>, Error> {
        self.0.finish(self.acquire(key, Patience::None))
    }

    /// Acquires the lock, or gives up at the deadline **where that is possible**. That is while
    /// the other cohort has the lock and this thread is first of its own. Behind a predecessor of
    /// its own cohort it waits for its turn, also beyond the deadline. It gives up then if it
    /// would have to wait on. Nor can it give up in the compare-and-swaps by which a remote thread
    /// joins. Other threads' may send these round again and again: see the crate's promises.
    ///
    /// The time is read between two polls, which a remote thread makes at least every
    /// [`crate::pace::POLL_EVERY`] round trips. To leave takes a verb or two. If a thread joined
    /// behind meanwhile, it also takes until that one has linked itself.
    ///
    /// # Errors
    /// The errors of [`Thread::lock`].
    pub fn lock_until(&self, key: u64, deadline: Instant) -> Result<Option<Guard<'_>>, Error> {
        self.0.finish(self.acquire(key, Patience::Until(deadline)))
    }

    /// Asks for the lock, and returns when it is asked for. [`Request::check`] says whether it is
    /// there, or what was wrong. Between two checks nothing happens but what others do.
    ///
    /// It waits for its own verbs and for no other thread. Locally it returns at once. Remotely it
    /// returns after two round trips. In them it joins the queue, and polls the lock or tells
    /// its predecessor. Each time that another remote thread comes first costs one more.
    pub fn post(&self, key: u64) -> Request<'_> {
        let mut future = Box::pin(self.acquire(key, Patience::Forever));
        let state = match self.0.begin(future.as_mut()) {
            Poll::Ready(result) => State::Done(result),
            Poll::Pending => State::Waits(future),
        };
        Request {
            thread: self,
            state,
        }
    }

    fn find(&self, key: u64) -> Result<LockPtr, Error> {
        let geometry = &self.0.table.geometry;
        let locks = u64::from(geometry.locks);
        let found = (key < self.0.table.keys())
            .then(|| geometry.lock((key / locks) as u16, (key % locks) as u32));
        found.flatten().ok_or(Error::OutOfRange {
            what: "the key",
            is: key,
            least: 0,
            most: self.0.table.keys() - 1,
        })
    }

    async fn acquire(&self, key: u64, patience: Patience) -> Result<Option<Guard<'_>>, Error> {
        let it = &*self.0.table;
        it.rendezvous.health.check()?;
        let lock = self.find(key)?;
        let kind = it.geometry.kind;
        #[cfg(feature = "baselines")]
        if kind != Kind::ALock && !matches!(patience, Patience::Forever) {
            return Err(Error::NoTry { kind });
        }
        if self.0.has(lock) {
            // It would wait for itself.
            return match patience {
                Patience::None => Ok(None),
                Patience::Forever | Patience::Until(_) => Err(Error::Own { key }),
            };
        }
        let mine = self.0.take(lock)?;
        // After an error another thread may know of the descriptor: it is not used again.
        let held = match (kind, lock.cohort(self.0.rank())) {
            (Kind::ALock, Cohort::Local) => {
                let found = self.compete(&Local::new(it), lock, mine, &patience).await;
                match found {
                    Ok(held) => held.map(Had::ALock),
                    Err(Gone) => return Err(self.0.gone()),
                }
            }
            (Kind::ALock, Cohort::Remote) => {
                let held = self
                    .compete(&Remote::new(&self.0), lock, mine, &patience)
                    .await?;
                held.map(Had::ALock)
            }
            #[cfg(feature = "baselines")]
            (Kind::RdmaSpin, _) => {
                baselines::spin_lock(&self.0, lock.tail(Cohort::Remote)).await?;
                Some(Had::Spin)
            }
            #[cfg(feature = "baselines")]
            (Kind::RdmaMcs, _) => {
                baselines::mcs_lock(&self.0, lock, mine).await?;
                Some(Had::Mcs)
            }
            #[cfg(feature = "baselines")]
            (Kind::Busted, _) => Some(Had::Nothing),
        };
        if held.is_none() {
            self.0.give_back(mine, lock);
            return Ok(None);
        }
        Ok(Some(Guard {
            wire: &self.0,
            lock,
            mine,
            held,
        }))
    }

    async fn compete<A: crate::access::Access>(
        &self,
        access: &A,
        lock: LockPtr,
        mine: Descriptor,
        patience: &Patience,
    ) -> Result<Option<Held>, A::Fault> {
        let budgets = &self.0.table.budgets;
        let budget = match A::COHORT {
            Cohort::Local => budgets.local,
            Cohort::Remote => budgets.remote,
        };
        match *patience {
            Patience::None => try_acquire(access, lock, mine, budget).await,
            Patience::Forever => acquire(access, lock, mine, budget, &mut || true).await,
            Patience::Until(deadline) => {
                let mut goes_on = || Instant::now() < deadline;
                acquire(access, lock, mine, budget, &mut goes_on).await
            }
        }
    }
}

impl<'t> Request<'t> {
    /// Looks once: the guard, or nothing yet. After an error or a guard it is over.
    ///
    /// # Errors
    /// The errors of [`Thread::lock`].
    pub fn check(&mut self) -> Result<Option<Guard<'t>>, Error> {
        match &mut self.state {
            State::Waits(future) => {
                let polled = future
                    .as_mut()
                    .poll(&mut Context::from_waker(Waker::noop()));
                let Poll::Ready(result) = polled else {
                    return Ok(None);
                };
                self.state = State::Over;
                result
            }
            State::Done(_) | State::Over => self.take(),
        }
    }

    /// Whether it is over.
    pub fn is_over(&self) -> bool {
        matches!(self.state, State::Over)
    }

    /// Waits for it. `None` if it was over before ([`Request::is_over`]).
    ///
    /// # Errors
    /// The errors of [`Thread::lock`].
    pub fn wait(mut self) -> Result<Option<Guard<'t>>, Error> {
        self.take()
    }

    /// What comes of it, and it is over. Waits as long as it takes.
    fn take(&mut self) -> Got<'t> {
        match mem::replace(&mut self.state, State::Over) {
            State::Waits(future) => self.thread.0.finish(future),
            State::Done(result) => result,
            State::Over => Ok(None),
        }
    }
}

impl Drop for Request<'_> {
    fn drop(&mut self) {
        // The guard releases it; an error has been reported.
        drop(self.take());
    }
}
