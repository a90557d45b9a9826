//! Locks as a program takes them.

use std::fmt;
use std::future::Future;
use std::mem;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};
use std::time::Instant;

use super::node::Kind;
use super::thread::{Card, Thread};
use super::{Error, Reason};
use crate::local::{Gone, Local};
use crate::lock::{acquire, release, try_acquire, Held};
use crate::ptr::{Cohort, Descriptor, LockPtr, Place};
use crate::remote::{Remote, Verbs};
use crate::rivals;
use crate::word::{Memory, Word};

/// A lock that is held. Released when it is dropped, also while a panic unwinds: there is no
/// poison, so data that a panic left half changed is the next holder's to find. It stays with
/// its thread (neither `Send` nor `Sync`).
#[must_use = "it is released at once otherwise"]
pub struct Guard<'t> {
    thread: &'t Thread,
    lock: LockPtr,
    mine: Descriptor,
    /// `None` when it was released.
    held: Option<Had>,
}

#[derive(Clone, Copy, Debug)]
enum Had {
    ALock(Held),
    Spin,
    Mcs,
    Nothing,
}

impl fmt::Debug for Guard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("lock", &self.lock)
            .finish_non_exhaustive()
    }
}

/// A lock that was asked for and is waited for by looking now and then ([`Thread::post`]).
///
/// It is in the queue, and its turn may come between two checks: then the others wait for
/// this thread as for any holder, until it checks and releases. So it is to be checked until
/// it is over, and in an order of several locks it counts as one that is held. Nobody's
/// `unlock` waits for a check: its predecessor knows of it when `post` returns.
///
/// To drop it waits for the lock and releases it: behind a predecessor a thread cannot leave
/// the queue.
#[must_use = "it is waited for when it is dropped"]
pub struct Request<'t> {
    thread: &'t Thread,
    state: State<'t>,
}

type Got<'t> = Result<Option<Guard<'t>>, Error>;

enum State<'t> {
    Waits(Pin<Box<dyn Future<Output = Got<'t>> + 't>>),
    /// And nobody was told yet.
    Done(Got<'t>),
    Over,
}

enum Patience {
    Forever,
    Until(Instant),
    None,
}

impl Thread {
    /// Acquires the lock `key` and waits as long as it takes. Promises and costs: see
    /// [`crate::lock::acquire`]. With more than one lock at once, their order is the
    /// caller's.
    ///
    /// # Errors
    /// [`Error::Lost`] and [`Error::Link`] when a node is gone, [`Error::Nic`] when that is this
    /// one, whose device failed; [`Error::OutOfRange`] for a
    /// key that there is not, or when the thread holds as many locks as it may;
    /// [`Error::Own`] when it has this one, or a request for it.
    pub fn lock(&self, key: u64) -> Result<Guard<'_>, Error> {
        match self.finish(self.acquire(key, Patience::Forever))? {
            Some(guard) => Ok(guard),
            // It never gives up.
            None => unreachable!("a wait without end has ended"),
        }
    }

    /// Acquires it if that needs no waiting for others; `None` otherwise, also when this thread
    /// has it. Where the other cohort has the lock it joined the queue and leaves it again: if
    /// somebody joined behind meanwhile, it waits until he has said so (one verb of his).
    ///
    /// # Errors
    /// As [`Thread::lock`], but never [`Error::Own`]. [`Error::NoTry`] for locks of another kind
    /// than ALock.
    pub fn try_lock(&self, key: u64) -> Result<Option<Guard<'_>>, Error> {
        self.finish(self.acquire(key, Patience::None))
    }

    /// Acquires it, or gives up at the deadline **where that is possible**: while the other
    /// cohort has the lock and this thread is first of its own. Behind a predecessor of its
    /// own cohort it waits for its turn, also beyond the deadline, and gives up then if it
    /// would have to wait on. Nor can it give up in the compare-and-swaps by which a remote thread
    /// joins, which others' may send round again and again (see the crate's promises). It asks for
    /// the time between two looks, which a remote thread
    /// has at least every [`crate::pace::LOOK_EVERY`] round trips; then it leaves, which
    /// takes a verb or two, and, if somebody joined behind meanwhile, the time until he has
    /// said so.
    ///
    /// # Errors
    /// As [`Thread::lock`]. [`Error::NoTry`] for locks of another kind than ALock.
    pub fn lock_until(&self, key: u64, deadline: Instant) -> Result<Option<Guard<'_>>, Error> {
        self.finish(self.acquire(key, Patience::Until(deadline)))
    }

    /// Asks for the lock, and returns when it is asked for; [`Request::check`] says whether it
    /// is there, or what was wrong. Between two checks nothing happens but what others do.
    ///
    /// It waits for its own verbs and for nobody: locally it returns at once, remotely after
    /// the two round trips (and one more for each time that another remote thread came first)
    /// in which it joins the queue, and looks at the lock or tells its predecessor.
    pub fn post(&self, key: u64) -> Request<'_> {
        let mut future = Box::pin(self.acquire(key, Patience::Forever));
        let state = match self.begin(future.as_mut()) {
            Poll::Ready(result) => State::Done(result),
            Poll::Pending => State::Waits(future),
        };
        Request {
            thread: self,
            state,
        }
    }

    fn find(&self, key: u64) -> Result<LockPtr, Error> {
        let geometry = &self.node.0.geometry;
        let locks = u64::from(geometry.locks);
        let found = (key < self.node.keys())
            .then(|| geometry.lock((key / locks) as u16, (key % locks) as u32));
        found.flatten().ok_or(Error::OutOfRange {
            what: "the key",
            is: key,
            least: 0,
            most: self.node.keys() - 1,
        })
    }

    async fn acquire(&self, key: u64, patience: Patience) -> Result<Option<Guard<'_>>, Error> {
        let it = &*self.node.0;
        it.rendezvous.health.check()?;
        let lock = self.find(key)?;
        let kind = it.geometry.kind;
        if kind != Kind::ALock && !matches!(patience, Patience::Forever) {
            return Err(Error::NoTry { kind });
        }
        if self.has(lock) {
            // It would wait for itself.
            return match patience {
                Patience::None => Ok(None),
                Patience::Forever | Patience::Until(_) => Err(Error::Own { key }),
            };
        }
        let mine = self.take(lock)?;
        // After an error somebody may know of the descriptor: it is not used again.
        let held = match (kind, lock.cohort(self.rank())) {
            (Kind::ALock, Cohort::Local) => {
                let found = self.compete(&Local::new(it), lock, mine, &patience).await;
                match found {
                    Ok(held) => held.map(Had::ALock),
                    Err(Gone) => return Err(self.gone()),
                }
            }
            (Kind::ALock, Cohort::Remote) => {
                let held = self
                    .compete(&Remote::new(&Card(self)), lock, mine, &patience)
                    .await?;
                held.map(Had::ALock)
            }
            (Kind::RdmaSpin, _) => {
                rivals::spin_lock(&Card(self), lock.tail(Cohort::Remote)).await?;
                Some(Had::Spin)
            }
            (Kind::RdmaMcs, _) => {
                rivals::mcs_lock(&Card(self), lock, mine).await?;
                Some(Had::Mcs)
            }
            (Kind::Busted, _) => Some(Had::Nothing),
        };
        if held.is_none() {
            self.give_back(mine, lock);
            return Ok(None);
        }
        Ok(Some(Guard {
            thread: self,
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
        let budgets = &self.node.0.budgets;
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

    fn rank(&self) -> crate::ptr::NodeId {
        crate::ptr::NodeId(self.node.0.rendezvous.rank())
    }

    /// Why a local wait ended.
    fn gone(&self) -> Error {
        let found = self.node.0.rendezvous.health.check();
        found.err().unwrap_or(Error::Lost {
            node: self.rank().0,
            why: "unknown",
        })
    }
}

impl<'t> Guard<'t> {
    fn place(&self, word: u32) -> Result<Place, Error> {
        let geometry = &self.thread.node.0.geometry;
        let place = (word < geometry.words).then(|| geometry.data(self.lock, word));
        place.flatten().ok_or(Error::OutOfRange {
            what: "the word",
            is: word.into(),
            least: 0,
            most: u64::from(geometry.words) - 1,
        })
    }

    /// Reads a word of the data: a load, or a verb.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] where there is no such word; [`Error::Link`] and [`Error::Nic`].
    pub fn load(&self, word: u32) -> Result<u64, Error> {
        let place = self.place(word)?;
        if Card(self.thread).is_own(place) {
            return Ok(self.thread.node.0.word(place.offset()).load_acquire());
        }
        self.thread.finish(self.thread.get(place))
    }

    /// Writes a word of the data: a store, or a verb that is complete afterwards.
    ///
    /// # Errors
    /// As [`Guard::load`].
    pub fn store(&mut self, word: u32, value: u64) -> Result<(), Error> {
        let place = self.place(word)?;
        if Card(self.thread).is_own(place) {
            self.thread.node.0.word(place.offset()).store_release(value);
            return Ok(());
        }
        self.thread.finish(Card(self.thread).write(place, value))
    }

    /// Releases it: one RMW where the lock is local, one verb where not; if somebody waits, a
    /// store or a verb more. To drop it does the same, and where that fails everybody is told
    /// that this node is lost, since nobody would hear the error.
    ///
    /// If somebody has joined the queue behind, it waits until he has said who he is. He does
    /// so in the call in which he joined ([`Thread::post`], too), whatever he does after it.
    ///
    /// # Errors
    /// [`Error::Link`], [`Error::Lost`] and [`Error::Nic`]: then nobody may get it any more.
    pub fn unlock(mut self) -> Result<(), Error> {
        self.release()
    }

    fn release(&mut self) -> Result<(), Error> {
        let Some(held) = self.held.take() else {
            return Ok(());
        };
        let (thread, lock, mine) = (self.thread, self.lock, self.mine);
        let it = &*thread.node.0;
        match held {
            Had::ALock(held) if lock.cohort(thread.rank()) == Cohort::Local => {
                let released = thread.finish(release(&Local::new(it), lock, mine, held));
                released.map_err(|Gone| thread.gone())?;
            }
            Had::ALock(held) => {
                thread.finish(release(&Remote::new(&Card(thread)), lock, mine, held))?
            }
            Had::Spin => thread.finish(rivals::spin_unlock(
                &Card(thread),
                lock.tail(Cohort::Remote),
            ))?,
            Had::Mcs => thread.finish(rivals::mcs_unlock(&Card(thread), lock, mine))?,
            Had::Nothing => {}
        }
        thread.give_back(mine, lock);
        Ok(())
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if self.release().is_err() {
            // Nobody gets it: all are to know.
            let rendezvous = &self.thread.node.0.rendezvous;
            rendezvous.report(rendezvous.rank(), Reason::Failed);
        }
    }
}

impl<'t> Request<'t> {
    /// Looks once: the guard, or nothing yet. After an error or a guard it is over.
    ///
    /// # Errors
    /// As [`Thread::lock`].
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
    /// As [`Thread::lock`].
    pub fn wait(mut self) -> Result<Option<Guard<'t>>, Error> {
        self.take()
    }

    /// What comes of it, and it is over. Waits as long as it takes.
    fn take(&mut self) -> Got<'t> {
        match mem::replace(&mut self.state, State::Over) {
            State::Waits(future) => self.thread.finish(future),
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
