// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! An access, and what the lock does with it.

use alock::access::{Access, Polled, Seen};
use alock::ptr::{Cohort, LockPtr, Ptr, WordPtr};

/// An observer is told of a lock's steps.
pub(crate) trait Observer {
    /// A tail is about to be cleared, by a thread in that queue.
    fn clears(&self) {}
    /// The tail was cleared, or another thread is behind.
    fn cleared(&self, _emptied: bool) {}
    /// The cohort made itself the victim.
    fn yields(&self) {}
    /// The lock was polled, also where the cohort yielded before.
    fn polls(&self) {}
    /// It waits after a poll that found nothing.
    fn waits(&self) {}
}

/// `access`, observed.
pub(crate) struct Observed<'a, A, O> {
    pub(crate) access: &'a A,
    pub(crate) by: &'a O,
}

impl<A: Access, O: Observer> Access for Observed<'_, A, O> {
    type Fault = A::Fault;

    const COHORT: Cohort = A::COHORT;

    async fn swap(&self, tail: WordPtr, new: u64) -> Result<u64, A::Fault> {
        self.access.swap(tail, new).await
    }

    async fn clear(&self, tail: WordPtr, mine: u64) -> Result<u64, A::Fault> {
        self.by.clears();
        let found = self.access.clear(tail, mine).await?;
        self.by.cleared(found == mine);
        Ok(found)
    }

    async fn swap_if_null(&self, tail: WordPtr, mine: u64) -> Result<u64, A::Fault> {
        self.access.swap_if_null(tail, mine).await
    }

    async fn yield_and_look(&self, lock: LockPtr) -> Result<Seen, A::Fault> {
        self.by.yields();
        self.by.polls();
        self.access.yield_and_look(lock).await
    }

    async fn look(&self, lock: LockPtr) -> Result<Seen, A::Fault> {
        self.by.polls();
        self.access.look(lock).await
    }

    async fn tell(&self, to: WordPtr, value: u64) -> Result<(), A::Fault> {
        self.access.tell(to, value).await
    }

    fn own(&self, at: WordPtr) -> u64 {
        self.access.own(at)
    }

    fn prepare(&self, at: WordPtr, value: u64) {
        self.access.prepare(at, value);
    }

    fn is_there(&self, line: Ptr) -> bool {
        self.access.is_there(line)
    }

    fn overwritten(&self) -> A::Fault {
        self.access.overwritten()
    }

    async fn wait(&self, polled: Polled, turn: u32) -> Result<(), A::Fault> {
        if polled == Polled::Lock {
            self.by.waits();
        }
        self.access.wait(polled, turn).await
    }
}
