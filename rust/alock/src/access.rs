// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What a lock needs of the world it runs in: how words are accessed, and how to wait.

use core::future::Future;

use crate::ptr::{Cohort, Descriptor, LockPtr, Ptr, WordPtr};

/// What a leader sees of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Whether the other cohort wants the lock or has it.
    pub other: bool,
    /// The cohort that yields.
    pub victim: Cohort,
}

/// What was polled, and did not yet show what is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Polled {
    /// A word of an own descriptor: memory of the thread's own node, in either cohort. Another
    /// thread's store or verb changes it. A poll costs a load.
    Own,
    /// A tail, by a compare-and-swap before which another thread's came. The next try is to follow
    /// at once. The wait is only to hear whether a node is gone.
    Tail,
    /// The lock. For the remote cohort a poll is a verb: it is to poll seldom.
    Lock,
}

/// How a thread accesses the words of locks and descriptors: with CPU instructions or with
/// verbs. The queue and Peterson's lock are written once, over this.
///
/// An operation's future is ready when the operation is complete. A thread that sees what this
/// thread does next then sees the operation, too. [`Access::tell`] is the exception: by a verb it
/// may still be on its way, as [`crate::remote::Verbs::write`] says. Only the thread that is told
/// waits for it.
///
/// # Examples
/// Code over this trait runs in either cohort.
/// ```
/// use alock::access::{Access, Seen};
/// use alock::local::Local;
/// use alock::ptr::{Cohort, LockPtr};
/// use alock::remote::{Remote, Verbs};
/// use alock::word::Memory;
///
/// /// Whether the other cohort has the lock, or waits for it.
/// async fn is_wanted<A: Access>(access: &A, lock: LockPtr) -> Result<bool, A::Fault> {
///     let Seen { other, .. } = access.look(lock).await?;
///     Ok(other)
/// }
///
/// /// By a load, and by a READ.
/// async fn both<M: Memory, V: Verbs>(memory: &M, card: &V, lock: LockPtr) -> [Option<bool>; 2] {
///     let by_cpu = is_wanted(&Local::new(memory), lock).await.ok();
///     [by_cpu, is_wanted(&Remote::new(card), lock).await.ok()]
/// }
///
/// fn cohort<A: Access>(_: A) -> Cohort {
///     A::COHORT
/// }
/// # struct Nothing;
/// # impl Memory for Nothing {
/// #     type Word = std::sync::atomic::AtomicU64;
/// #     fn word(&self, _: u64) -> &Self::Word { unreachable!() }
/// #     fn pause(&self, _: u32) -> bool { true }
/// # }
/// # let memory = Nothing;
/// assert_eq!(cohort(Local::new(&memory)), Cohort::Local);
/// ```
pub trait Access {
    /// Why an operation cannot be done: the other side is gone, or memory holds what no thread
    /// wrote.
    type Fault;

    /// The cohort of the threads that access a lock so.
    const COHORT: Cohort;

    /// Replaces the tail's value by `new`; returns what it replaced.
    ///
    /// Acquire: what the predecessor wrote into its descriptor before is seen after. Release: a
    /// successor sees what this thread wrote into its own.
    ///
    /// CPUs do it in one step. Verbs have compare-and-swap alone, which needs a loop. Each other
    /// remote thread's success sends the loop round once more: it is lock-free, not wait-free.
    fn swap(&self, tail: WordPtr, new: u64) -> impl Future<Output = Result<u64, Self::Fault>>;

    /// Replaces the tail's value by null if it is `mine`; returns what was there. Release: the
    /// thread that this lets in sees what was done under the lock. Where it fails, the thread that
    /// is told next sees it.
    fn clear(&self, tail: WordPtr, mine: u64) -> impl Future<Output = Result<u64, Self::Fault>>;

    /// Replaces null by `mine`; returns what was there. Release, as [`Access::swap`]. The store of
    /// null is acquired by what follows, [`Access::yield_and_look`].
    fn swap_if_null(
        &self,
        tail: WordPtr,
        mine: u64,
    ) -> impl Future<Output = Result<u64, Self::Fault>>;

    /// Makes the own cohort the victim, and *then* polls, with a full barrier in between. Without
    /// it stores are buffered, and Peterson's lock is wrong.
    fn yield_and_look(&self, lock: LockPtr) -> impl Future<Output = Result<Seen, Self::Fault>>;

    /// Polls once more. Acquire: what the other cohort did before it left, or before it
    /// became the victim, is seen after.
    fn look(&self, lock: LockPtr) -> impl Future<Output = Result<Seen, Self::Fault>>;

    /// Writes a word of another thread's descriptor. Release, of what this thread did before its
    /// last other operation. A write by a verb is ordered by the [`Access::clear`] behind it.
    fn tell(&self, to: WordPtr, value: u64) -> impl Future<Output = Result<(), Self::Fault>>;

    /// Reads a word of an own descriptor. Acquire.
    fn own(&self, at: WordPtr) -> u64;

    /// Writes a word of an own descriptor that no other thread knows. Relaxed: the swap that makes
    /// it known releases it. A verb's release is the provider's barrier before the doorbell.
    fn prepare(&self, at: WordPtr, value: u64);

    /// Whether a descriptor may lie there: that node and that memory are there.
    fn is_there(&self, line: Ptr) -> bool;

    /// A word that should name a thread is neither null nor a descriptor's line: memory was
    /// overwritten. All other nodes are told. A thread that took such a word for null would enter
    /// a lock that another has.
    fn overwritten(&self) -> Self::Fault;

    /// The thread that a word names (a tail, or `next`); `None` of null.
    ///
    /// # Errors
    /// [`Access::overwritten`].
    fn named(&self, word: u64) -> Result<Option<Descriptor>, Self::Fault> {
        if word == Ptr::NULL {
            return Ok(None);
        }
        match Ptr::from_bits(word) {
            Some(line) if self.is_there(line) => Ok(Some(Descriptor(line))),
            _ => Err(self.overwritten()),
        }
    }

    /// Whether the other cohort wants the lock or has it. Its tail says so, of which perhaps only
    /// single bytes are right. What no thread wrote is found by its lowest byte alone. A word of
    /// other bytes above a zero is null.
    ///
    /// # Errors
    /// [`Access::overwritten`].
    fn wanted(&self, torn: u64) -> Result<bool, Self::Fault> {
        let null = Ptr::is_null_in(torn).ok_or_else(|| self.overwritten())?;
        Ok(!null)
    }

    /// Lets time pass after the poll number `turn` (from 0) that found nothing. An error when
    /// there is nothing to wait for any more: a node is gone. The lock waits here and nowhere
    /// else.
    ///
    /// A bounded time: with verbs, after a poll of the lock, what [`crate::pace`] says.
    fn wait(&self, polled: Polled, turn: u32) -> impl Future<Output = Result<(), Self::Fault>>;
}
