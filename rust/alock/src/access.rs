//! What a lock needs of the world it runs in: how words are accessed, and how to wait.

use core::future::Future;

use crate::ptr::{Cohort, LockPtr, Place};

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
    /// The lock. For the remote cohort a look is a verb: it is to look seldom.
    Lock,
}

/// How a thread accesses the words of locks and descriptors: with CPU instructions or with
/// verbs. The queue and Peterson's lock are written once, over this.
///
/// An operation's future is ready when the operation is complete everywhere, so that what
/// is done after it is also seen after it.
pub trait Access {
    /// Why an operation cannot be done: the other side is gone.
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

    /// Replaces the tail's value by null if it is `mine`; returns whether it was. Release:
    /// what was done under the lock is seen by whom this lets in.
    fn clear(&self, tail: Place, mine: u64) -> impl Future<Output = Result<bool, Self::Fault>>;

    /// Replaces null by `mine`; returns whether it was null. As [`Access::swap`].
    fn swap_if_null(
        &self,
        tail: Place,
        mine: u64,
    ) -> impl Future<Output = Result<bool, Self::Fault>>;

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
    /// that makes it known releases it.
    fn prepare(&self, place: Place, value: u64);

    /// Lets time pass after the look number `turn` (from 0) that found nothing. An error
    /// when there is nothing to wait for any more: somebody is gone. The lock waits here
    /// and nowhere else.
    ///
    /// A bounded time: with verbs, after a look at the lock, what [`crate::pace`] says.
    fn wait(&self, looked: Looked, turn: u32) -> impl Future<Output = Result<(), Self::Fault>>;
}
