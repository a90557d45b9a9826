//! The lock (the paper's Algorithm 2): a queue a cohort, and Peterson's lock between them.
//!
//! **Polling.** The futures are to be polled until they are ready, again and again: nobody wakes
//! a waker, since what they wait for is a word of memory. Under an executor that waits for wakers
//! a contended one would never go on; an access whose `wait` arranges for a wake ([`crate::sim`])
//! is another matter.
//!
//! **No cancelling.** A future that was polled and is dropped before it is ready leaves the
//! descriptor in the queue, where nobody hands over any more: whoever comes behind waits for
//! ever. `cluster::Request` therefore finishes when it is dropped; to give
//! up in order, `goes_on` says no.

use core::num::NonZeroU32;

use crate::access::Access;
use crate::peterson;
use crate::ptr::{Descriptor, LockPtr};
use crate::queue::{self, Joined};

/// How often a cohort may pass the lock on within itself before it must yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// Of the lock's own node (5).
    pub local: NonZeroU32,
    /// Of the others (20: to yield costs them verbs).
    pub remote: NonZeroU32,
}

impl Default for Budgets {
    /// The paper's choice (section 6.1).
    fn default() -> Self {
        let number = |n| NonZeroU32::new(n).unwrap_or(NonZeroU32::MIN);
        Self {
            local: number(5),
            remote: number(20),
        }
    }
}

/// Held: what is left of the budget when it is passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "it is to be released"]
pub struct Held {
    left: u64,
}

impl Held {
    fn of(budget: u64) -> Self {
        Self { left: budget - 1 }
    }
}

/// Acquires the lock with the descriptor `mine`, which is this thread's and in use for
/// nothing else until [`release`] is through.
///
/// Exclusion; first come, first served within the cohort from its swap on; while the first
/// of one cohort waits, the other cohort enters at most its budget's number of times.
///
/// Uncontended: locally one RMW, three stores, a fence and two loads; remotely two stores and
/// three verbs (compare-and-swap; write and read in one round trip).
///
/// `budget` is the same for all of a cohort: one that is handed over and is no less is a fault
/// (memory was overwritten).
///
/// `goes_on` is asked where the wait can be given up: by the first of the queue, while the
/// other cohort has the lock, between its looks (so by a remote one as rarely as
/// [`crate::pace`] says). `None` if it said no; the lock is not held then. Behind a
/// predecessor nothing can be given up.
///
/// # Errors
/// What the access says. The descriptor may be known to others then, and must never be used
/// again.
pub async fn acquire<A: Access>(
    access: &A,
    lock: LockPtr,
    mine: Descriptor,
    budget: NonZeroU32,
    goes_on: &mut impl FnMut() -> bool,
) -> Result<Option<Held>, A::Fault> {
    let joined = queue::join(access, lock, mine).await?;
    finish(access, lock, mine, budget, joined, goes_on).await
}

/// As [`acquire`], but does not wait: neither behind others nor for the other cohort. Refused
/// by the other cohort it leaves the queue that it had joined: if somebody joined behind
/// meanwhile, it waits for his link, as [`release`] does.
///
/// # Errors
/// As [`acquire`].
pub async fn try_acquire<A: Access>(
    access: &A,
    lock: LockPtr,
    mine: Descriptor,
    budget: NonZeroU32,
) -> Result<Option<Held>, A::Fault> {
    if !queue::join_if_empty(access, lock, mine).await? {
        return Ok(None);
    }
    finish(access, lock, mine, budget, Joined::Leader, &mut || false).await
}

/// What the first of the queue does.
async fn finish<A: Access>(
    access: &A,
    lock: LockPtr,
    mine: Descriptor,
    budget: NonZeroU32,
    joined: Joined,
    goes_on: &mut impl FnMut() -> bool,
) -> Result<Option<Held>, A::Fault> {
    let fresh = u64::from(budget.get());
    match joined {
        // Whoever was a leader has passed it on once at least.
        Joined::HandedOver(left) if left >= fresh => return Err(access.overwritten()),
        Joined::HandedOver(left) if left > 0 => return Ok(Some(Held::of(left))),
        // A budget of 0 means: the lock is the cohort's, and the other one's turn has come.
        Joined::HandedOver(_) | Joined::Leader => {}
    }
    if peterson::enter(access, lock, goes_on).await? {
        return Ok(Some(Held::of(fresh)));
    }
    // Who gives up leaves the queue. Whoever came behind is its first then, and competes
    // with the other cohort: that is what a budget of 0 says.
    queue::leave(access, lock, mine, 0).await?;
    Ok(None)
}

/// Releases the lock. Afterwards `mine` can be used again.
///
/// One RMW or one verb if nobody waits; else also a wait until the next one has said who it
/// is, and a store or a verb.
///
/// # Errors
/// As [`acquire`].
pub async fn release<A: Access>(
    access: &A,
    lock: LockPtr,
    mine: Descriptor,
    held: Held,
) -> Result<(), A::Fault> {
    queue::leave(access, lock, mine, held.left).await
}
