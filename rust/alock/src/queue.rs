//! The modified MCS queue of one cohort (the paper's Algorithm 3), once for both.
//!
//! First come, first served, from the swap on. A thread in it cannot leave before its turn:
//! its predecessor is to hand over to it.

use crate::access::{Access, Looked};
use crate::ptr::{Descriptor, LockPtr, Ptr};

/// How one came to the front of the queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Joined {
    /// Nobody was there: it competes with the other cohort's leader.
    Leader,
    /// A predecessor handed the lock over, and left this budget.
    HandedOver(u64),
}

/// What another thread may write as soon as the descriptor is known: before that.
fn prepare<A: Access>(access: &A, mine: Descriptor) {
    access.prepare(mine.budget(), Descriptor::WAITING);
    access.prepare(mine.next(), Ptr::NULL);
}

/// Joins the queue, and waits until `mine` is its first.
pub(crate) async fn join<A: Access>(
    access: &A,
    lock: LockPtr,
    mine: Descriptor,
) -> Result<Joined, A::Fault> {
    prepare(access, mine);
    let before = access.swap(lock.tail(A::COHORT), mine.0.bits()).await?;
    let Some(before) = access.named(before)? else {
        return Ok(Joined::Leader);
    };
    access.tell(before.next(), mine.0.bits()).await?;
    let mut turn = 0;
    loop {
        match access.own(mine.budget()) {
            Descriptor::WAITING => access.wait(Looked::Own, turn).await?,
            budget => return Ok(Joined::HandedOver(budget)),
        }
        turn = turn.saturating_add(1);
    }
}

/// Joins the queue if nobody is in it. Whether it did: then as [`Joined::Leader`].
pub(crate) async fn join_if_empty<A: Access>(
    access: &A,
    lock: LockPtr,
    mine: Descriptor,
) -> Result<bool, A::Fault> {
    prepare(access, mine);
    let tail = lock.tail(A::COHORT);
    let before = access.swap_if_null(tail, mine.0.bits()).await?;
    Ok(access.named(before)?.is_none())
}

/// Leaves the queue: the cohort no longer wants the lock if nobody waits, else the next one
/// is first in it, with `budget`. Afterwards nobody knows of `mine`.
pub(crate) async fn leave<A: Access>(
    access: &A,
    lock: LockPtr,
    mine: Descriptor,
    budget: u64,
) -> Result<(), A::Fault> {
    let tail = lock.tail(A::COHORT);
    let last = access.clear(tail, mine.0.bits()).await?;
    if last == mine.0.bits() {
        return Ok(());
    }
    // Somebody has swapped himself in behind; he says so soon. Nobody makes it null meanwhile.
    if access.named(last)?.is_none() {
        return Err(access.overwritten());
    }
    let mut turn = 0;
    let next = loop {
        if let Some(next) = access.named(access.own(mine.next()))? {
            break next;
        }
        access.wait(Looked::Own, turn).await?;
        turn = turn.saturating_add(1);
    };
    access.tell(next.budget(), budget).await
}
