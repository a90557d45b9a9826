// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The modified MCS queue of one cohort (the paper's Algorithm 3), once for both.
//!
//! First come, first served, from the swap on. A thread in it cannot leave before its turn:
//! its predecessor is to hand over to it.

use core::num::NonZeroU32;

use crate::access::{Access, Polled};
use crate::peterson::Place;
use crate::ptr::{Descriptor, LockPtr, Ptr};

/// What a thread that leaves the front of the queue hands to the next one.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Handover {
    /// The lock, to enter at once; and as many entries of the cohort, this one included.
    Entry(NonZeroU32),
    /// The lock, but the cohort has used its budget: to yield, and to compete for it.
    Yield,
    /// Not the lock: the place of a leader that withdrew.
    Place(Place),
}

impl Handover {
    /// The value that says it in the word `budget`.
    #[inline]
    fn word(self) -> u64 {
        match self {
            Self::Entry(entries) => entries.get().into(),
            Self::Yield => 0,
            Self::Place(_) => Descriptor::PLACE,
        }
    }

    /// What that word says; `None` where no thread wrote it.
    #[inline]
    fn of(word: u64) -> Option<Self> {
        if word == Descriptor::PLACE {
            return Some(Self::Place(Place::handed_on()));
        }
        let entries = u32::try_from(word).ok()?;
        Some(NonZeroU32::new(entries).map_or(Self::Yield, Self::Entry))
    }
}

/// How a thread came to the front of the queue.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Joined {
    /// The queue was empty: the thread competes with the other cohort's leader.
    Leader,
    /// The predecessor handed something over.
    HandedOver(Handover),
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
            Descriptor::WAITING => access.wait(Polled::Own, turn).await?,
            word => {
                let handover = Handover::of(word).ok_or_else(|| access.overwritten())?;
                return Ok(Joined::HandedOver(handover));
            }
        }
        turn = turn.saturating_add(1);
    }
}

/// Joins the queue if it is empty. Whether it did: then as [`Joined::Leader`].
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

/// Leaves the queue. Without a waiter the cohort no longer wants the lock. Else the next thread
/// is first in it, with `handover`. Afterwards no other thread knows of `mine`.
///
/// The clear comes first also where a successor is known, so that it is sure to fail. A remote
/// clear is a compare-and-swap by the queue pair of the section's writes. Those are in the memory
/// when it is complete, and need not be before ([`crate::remote`]).
pub(crate) async fn leave<A: Access>(
    access: &A,
    lock: LockPtr,
    mine: Descriptor,
    handover: Handover,
) -> Result<(), A::Fault> {
    let tail = lock.tail(A::COHORT);
    let last = access.clear(tail, mine.0.bits()).await?;
    if last == mine.0.bits() {
        return Ok(());
    }
    // A successor has swapped itself in; it says so soon. No thread makes the tail null meanwhile.
    if access.named(last)?.is_none() {
        return Err(access.overwritten());
    }
    let mut turn = 0;
    let next = loop {
        if let Some(next) = access.named(access.own(mine.next()))? {
            break next;
        }
        access.wait(Polled::Own, turn).await?;
        turn = turn.saturating_add(1);
    };
    access.tell(next.budget(), handover.word()).await
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A word says one thing, and no two things are one word.
    #[test]
    fn a_handover_survives_its_word() {
        let said = |it: Handover| {
            let word = it.word();
            assert_ne!(word, Descriptor::WAITING);
            Handover::of(word)
        };
        assert_eq!(said(Handover::Yield), Some(Handover::Yield));
        let place = || Handover::Place(Place::handed_on());
        assert_eq!(said(place()), Some(place()));
        for entries in [1, 2, u32::MAX] {
            let entry = || Handover::Entry(NonZeroU32::new(entries).unwrap());
            assert_eq!(said(entry()), Some(entry()));
        }
    }

    /// Neither a part of `WAITING`, nor a `PLACE` with one bit changed, nor a larger count.
    #[test]
    fn what_nobody_hands_over_is_no_handover() {
        for bytes in 1..8 {
            assert_eq!(Handover::of(Descriptor::WAITING << (8 * bytes)), None);
        }
        for bit in 0..64 {
            assert_eq!(Handover::of(Descriptor::PLACE ^ (1 << bit)), None);
        }
        assert_eq!(Handover::of(1 << 32), None);
    }
}
