// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The lock (the paper's Algorithm 2): a queue a cohort, and Peterson's lock between them.
//!
//! **Polling.** The futures are to be polled again and again until they are ready. No waker is
//! woken, since they wait for a word of memory. Under an executor that waits for wakers a contended
//! future would never go on. It does where the access arranges for a wake in its `wait`, as the
//! simulated ones do.
//!
//! **No cancelling.** A future that was polled, and is dropped before it is ready, leaves the
//! descriptor in the queue. It never hands over, and a thread that comes behind waits for ever.
//! `cluster::Request` therefore finishes when it is dropped. To give up in order, `goes_on` says
//! no.

use core::num::NonZeroU32;

use crate::access::Access;
use crate::peterson::{self, Outcome};
use crate::ptr::{Descriptor, LockPtr};
use crate::queue::{self, Handover, Joined};

/// How often a cohort may pass the lock on within itself before it must yield.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Budgets {
    /// The budget of the lock's own node (5).
    pub local: NonZeroU32,
    /// The budget of the others (20). To yield costs them verbs.
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

/// Held: how many entries of the cohort are left when it is handed over.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[must_use = "it is to be released"]
pub struct Held {
    left: u32,
}

impl Held {
    /// Counts so many entries, of which this is one.
    #[inline]
    fn of(entries: NonZeroU32) -> Self {
        Self {
            left: entries.get() - 1,
        }
    }

    #[inline]
    fn handover(self) -> Handover {
        NonZeroU32::new(self.left).map_or(Handover::Yield, Handover::Entry)
    }
}

/// Acquires the lock with the descriptor `mine`. The descriptor is this thread's, and is in use for
/// nothing else until [`release`] is through.
///
/// Promises exclusion. Within the cohort, first come is first served from the swap on. While the
/// first of one cohort waits, the other cohort enters at most its budget's number of times.
///
/// Costs, uncontended and local: one RMW, three stores, a fence and two loads. Remote: two stores
/// and three verbs. These are a compare-and-swap, then a write and a read in one round trip.
///
/// `budget` is the same for all of a cohort. A budget that is handed over and is no less is a
/// fault: memory was overwritten.
///
/// `goes_on` is asked where the wait can be given up. The first of the queue asks it between its
/// polls, while the other cohort has the lock. A remote thread polls as rarely as [`crate::pace`]
/// says. `None` if it said no. The lock is not held then, and the thread behind is first in its
/// place. Behind a predecessor nothing can be given up.
///
/// # Errors
/// What the access says. The descriptor may be known to others then, and must never be used
/// again.
///
/// # Examples
/// ```
/// use std::time::Instant;
///
/// use alock::access::Access;
/// use alock::lock::{acquire, release, Budgets};
/// use alock::ptr::{Descriptor, LockPtr};
///
/// /// Whether the lock was there before the deadline. The access is a local thread's.
/// async fn visit<A: Access>(
///     access: &A,
///     lock: LockPtr,
///     mine: Descriptor,
///     deadline: Instant,
/// ) -> Result<bool, A::Fault> {
///     let mut goes_on = || Instant::now() < deadline;
///     let budget = Budgets::default().local;
///     let Some(held) = acquire(access, lock, mine, budget, &mut goes_on).await? else {
///         return Ok(false);
///     };
///     // What the lock protects.
///     release(access, lock, mine, held).await?;
///     Ok(true)
/// }
/// ```
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

/// Acquires without a wait behind others or for the other cohort. Refused by the other cohort, it
/// leaves the queue that it had joined. If a thread joined behind meanwhile, it waits
/// for that one's link, as [`release`] does.
///
/// # Errors
/// The errors of [`acquire`].
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
    let place = match joined {
        Joined::HandedOver(Handover::Entry(left)) => {
            // A thread that was a leader has used one of its budget at least.
            if left >= budget {
                return Err(access.overwritten());
            }
            return Ok(Some(Held::of(left)));
        }
        Joined::HandedOver(Handover::Place(place)) => Some(place),
        Joined::HandedOver(Handover::Yield) | Joined::Leader => None,
    };
    match peterson::enter(access, lock, place, goes_on).await? {
        Outcome::Entered => Ok(Some(Held::of(budget))),
        // A leader that gives up leaves the queue. Its successor is the first then, and has waited
        // as long: it does not yield to the other cohort once more.
        Outcome::Withdrew(place) => {
            queue::leave(access, lock, mine, Handover::Place(place)).await?;
            Ok(None)
        }
    }
}

/// Releases the lock. Afterwards `mine` can be used again.
///
/// One RMW or one verb without a waiter. With one, also a wait until the next thread has linked
/// itself, and a store or a verb.
///
/// # Errors
/// The errors of [`acquire`].
pub async fn release<A: Access>(
    access: &A,
    lock: LockPtr,
    mine: Descriptor,
    held: Held,
) -> Result<(), A::Fault> {
    queue::leave(access, lock, mine, held.handover()).await
}
