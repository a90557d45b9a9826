// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Access with CPU instructions: threads of the lock's own node.

use core::future::{poll_fn, Future};
use core::task::Poll;

use crate::access::{Access, Polled, Seen};
use crate::ptr::{Cohort, LockPtr, Ptr, WordPtr};
use crate::word::{Memory, Word};

/// A node that this thread waits for is gone, or this node's memory was overwritten.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Gone;

/// The access of a node's threads to locks of that node.
///
/// | here | pairs with |
/// |---|---|
/// | `prepare`: relaxed | nothing: the `swap` or `swap_if_null` after it releases it |
/// | `swap`, `swap_if_null`: release | the successor's `swap`: its link comes after the null that `prepare` stored |
/// | `swap`: acquire | the predecessor's `swap`. (Where the barrier after it is a fence, that would do) |
/// | `clear`: release | the other cohort's poll of this tail; a thread that finds null, by the barrier before its poll |
/// | `clear`, `swap_if_null`: no acquire | `clear` finds what this thread stored itself; what was done before the null that `swap_if_null` finds is acquired by the barriers behind it, before anything is entered |
/// | full barrier between the swap and `victim`'s store | the other side's between its write of `victim` and its poll: if its write came later, its poll finds the tail. (A release store does not do, for the other side's later write reads nothing. On hardware where stores become visible to all at once it would; x86 pays nothing here) |
/// | full barrier between `victim`'s store and the poll | the other side's between its swap and its write of `victim`: a compare-and-swap that is complete before the write is posted |
/// | poll of the remote tail and of `victim`: acquire | the other cohort's last verb under the lock, complete before it cleared its tail or made itself the victim |
/// | `tell`: release ([`Memory::tell`]) | `own`: acquire ([`Memory::own`]) |
///
/// # Examples
/// ```
/// use std::future::Future;
/// use std::pin::pin;
/// use std::sync::atomic::AtomicU64;
/// use std::task::{Context, Poll, Waker};
///
/// use alock::local::{Gone, Local};
/// use alock::lock::{acquire, release, Budgets};
/// use alock::ptr::{Cohort, Descriptor, LockPtr, NodeId, Ptr};
/// use alock::word::{Memory, Word};
///
/// /// A node's memory: 16 lines of 64 bytes.
/// struct Lines([AtomicU64; 128]);
///
/// impl Memory for Lines {
///     type Word = AtomicU64;
///
///     fn word(&self, offset: u64) -> &AtomicU64 {
///         &self.0[offset as usize / 8]
///     }
///
///     fn pause(&self, _turn: u32) -> bool {
///         std::thread::yield_now();
///         true
///     }
/// }
///
/// let memory = Lines([const { AtomicU64::new(0) }; 128]);
/// let line = |number: u64| Ptr::new(NodeId(0), number * Ptr::LINE).unwrap();
/// let (lock, mine) = (LockPtr(line(0)), Descriptor(line(1)));
/// let tail = memory.word(lock.tail(Cohort::Local).offset());
///
/// let mut locked = pin!(async {
///     let access = Local::new(&memory);
///     let budget = Budgets::default().local;
///     let held = acquire(&access, lock, mine, budget, &mut || true).await?;
///     assert_eq!(tail.load_acquire(), mine.0.bits());
///     release(&access, lock, mine, held.expect("it never gives up")).await
/// });
/// let mut context = Context::from_waker(Waker::noop());
/// assert_eq!(locked.as_mut().poll(&mut context), Poll::Ready(Ok::<(), Gone>(())));
/// assert_eq!(tail.load_acquire(), Ptr::NULL);
/// ```
#[derive(Debug)]
pub struct Local<'m, M> {
    memory: &'m M,
}

impl<'m, M: Memory> Local<'m, M> {
    /// The access to `memory`, which is this node's.
    pub fn new(memory: &'m M) -> Self {
        Self { memory }
    }

    fn word(&self, at: WordPtr) -> &M::Word {
        self.memory.word(at.offset())
    }
}

/// Gives the caller that polls a chance to do something else, once.
pub fn once() -> impl Future<Output = ()> {
    let mut waited = false;
    poll_fn(move |_| {
        if waited {
            return Poll::Ready(());
        }
        waited = true;
        Poll::Pending
    })
}

impl<M: Memory> Access for Local<'_, M> {
    type Fault = Gone;

    const COHORT: Cohort = Cohort::Local;

    async fn swap(&self, tail: WordPtr, new: u64) -> Result<u64, Gone> {
        let found = self.word(tail).swap(new);
        M::Word::smp_mb_after_rmw();
        Ok(found)
    }

    async fn clear(&self, tail: WordPtr, mine: u64) -> Result<u64, Gone> {
        Ok(self.word(tail).cmpxchg(mine, Ptr::NULL))
    }

    async fn swap_if_null(&self, tail: WordPtr, mine: u64) -> Result<u64, Gone> {
        let found = self.word(tail).cmpxchg(Ptr::NULL, mine);
        M::Word::smp_mb_after_rmw();
        Ok(found)
    }

    async fn yield_and_look(&self, lock: LockPtr) -> Result<Seen, Gone> {
        self.word(lock.victim()).store_release(Self::COHORT as u64);
        M::Word::smp_mb();
        self.look(lock).await
    }

    async fn look(&self, lock: LockPtr) -> Result<Seen, Gone> {
        let other = self.word(lock.tail(Self::COHORT.other())).load_acquire();
        let victim = self.word(lock.victim()).load_acquire();
        Ok(Seen {
            other: self.wanted(other)?,
            victim: victim_in(victim),
        })
    }

    async fn tell(&self, to: WordPtr, value: u64) -> Result<(), Gone> {
        self.memory.tell(to, value);
        Ok(())
    }

    fn own(&self, at: WordPtr) -> u64 {
        self.memory.own(at)
    }

    fn prepare(&self, at: WordPtr, value: u64) {
        self.memory.prepare(at, value);
    }

    fn is_there(&self, line: Ptr) -> bool {
        self.memory.is_there(line)
    }

    fn overwritten(&self) -> Gone {
        self.memory.overwritten();
        Gone
    }

    // Both are this node's memory.
    async fn wait(&self, _looked: Polled, turn: u32) -> Result<(), Gone> {
        if !self.memory.pause(turn) {
            return Err(Gone);
        }
        once().await;
        Ok(())
    }
}

/// The cohort that yields, by the one byte that is ever written.
pub fn victim_in(torn: u64) -> Cohort {
    if torn as u8 == Cohort::Local as u8 {
        Cohort::Local
    } else {
        Cohort::Remote
    }
}
