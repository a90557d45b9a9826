//! What a lock needs of the world it runs in: how words are accessed, and how to wait.

use core::future::Future;

use crate::ptr::{Cohort, Descriptor, LockPtr, Place, Ptr};

/// What a leader sees of a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Seen {
    /// Whether the other cohort wants the lock or has it.
    pub other: bool,
    /// Who yields.
    pub victim: Cohort,
}

/// What was looked at, and did not yet show what is waited for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Looked {
    /// A word of an own descriptor: memory of the thread's own node, in either cohort.
    /// Somebody's store or verb changes it; to look costs a load.
    Own,
    /// A tail, by a compare-and-swap before which another thread's came: the next try is to follow
    /// at once, and only to hear whether somebody is gone.
    Tail,
    /// The lock. For the remote cohort a look is a verb: it is to look seldom.
    Lock,
}

/// How a thread accesses the words of locks and descriptors: with CPU instructions or with
/// verbs. The queue and Peterson's lock are written once, over this.
///
/// An operation's future is ready when the operation is complete everywhere, so that what
/// is done after it is also seen after it.
pub trait Access {
    /// Why an operation cannot be done: the other side is gone, or memory holds what no thread
    /// wrote.
    type Fault;

    /// The cohort of those who access a lock so.
    const COHORT: Cohort;

    /// Replaces the tail's value by `new`; returns what it replaced.
    ///
    /// Acquire and release: what the predecessor wrote into its descriptor before is seen
    /// after, and what this thread wrote into its own is seen by a successor.
    ///
    /// CPUs do it in one step. Verbs have compare-and-swap alone: a loop that each other
    /// remote thread's success sends round once more, so lock-free and not wait-free.
    fn swap(&self, tail: Place, new: u64) -> impl Future<Output = Result<u64, Self::Fault>>;

    /// Replaces the tail's value by null if it is `mine`; returns what was there. Release:
    /// what was done under the lock is seen by whom this lets in.
    fn clear(&self, tail: Place, mine: u64) -> impl Future<Output = Result<u64, Self::Fault>>;

    /// Replaces null by `mine`; returns what was there. Release, as [`Access::swap`];
    /// whoever made it null is acquired by what follows, [`Access::yield_and_look`].
    fn swap_if_null(
        &self,
        tail: Place,
        mine: u64,
    ) -> impl Future<Output = Result<u64, Self::Fault>>;

    /// Makes the own cohort the victim, and *then* looks: a full barrier in between
    /// (store buffering; Peterson's lock is wrong without).
    fn yield_and_look(&self, lock: LockPtr) -> impl Future<Output = Result<Seen, Self::Fault>>;

    /// Looks once more. Acquire: what the other cohort did before it left, or before it
    /// became the victim, is seen after.
    fn look(&self, lock: LockPtr) -> impl Future<Output = Result<Seen, Self::Fault>>;

    /// Writes a word of another thread's descriptor. Release.
    fn tell(&self, to: Place, value: u64) -> impl Future<Output = Result<(), Self::Fault>>;

    /// Reads a word of an own descriptor. Acquire.
    fn own(&self, place: Place) -> u64;

    /// Writes a word of an own descriptor that no other thread knows. Relaxed: the swap
    /// that makes it known releases it (of a verb: the provider's barrier before the doorbell).
    fn prepare(&self, place: Place, value: u64);

    /// Whether a descriptor may lie there: that node and that memory are there.
    fn is_there(&self, line: Ptr) -> bool;

    /// A word that should name a thread is neither null nor a descriptor's place: memory was
    /// overwritten. Everybody is told, where there is somebody; whoever took such a word for
    /// null would enter a lock that another has.
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

    /// Whether the other cohort wants the lock or has it: by its tail, of which perhaps only
    /// single bytes are right. (What no thread wrote is found by its lowest byte alone: a word
    /// of other bytes above a zero is null.)
    ///
    /// # Errors
    /// [`Access::overwritten`].
    fn wanted(&self, torn: u64) -> Result<bool, Self::Fault> {
        let null = Ptr::is_null_in(torn).ok_or_else(|| self.overwritten())?;
        Ok(!null)
    }

    /// Lets time pass after the look number `turn` (from 0) that found nothing. An error
    /// when there is nothing to wait for any more: somebody is gone. The lock waits here
    /// and nowhere else.
    ///
    /// A bounded time: with verbs, after a look at the lock, what [`crate::pace`] says.
    fn wait(&self, looked: Looked, turn: u32) -> impl Future<Output = Result<(), Self::Fault>>;
}
