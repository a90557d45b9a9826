// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The modified Peterson lock between the cohorts' leaders (the paper's Algorithm 4). The
//! tails are its flags, which the queue sets and clears.
//!
//! Peterson's lock knows two processes, and here they are the two cohorts. A cohort takes three
//! steps: its flag (the tail) is set; it yields (`victim`); it polls until it may enter. The
//! cohort's leader takes them. A leader that withdraws has taken the first two, and hands on its
//! [`Place`]. The next one of the queue goes on with the third.
//!
//! | what the successor's poll needs | why it holds |
//! |---|---|
//! | the tail was never null since the cohort yielded | the leader that yielded is in the queue until it hands over. The queue's end never becomes null while a thread is behind that leader |
//! | `victim` names this cohort, or the other one yielded later | each cohort writes its own name alone |
//! | the successor's loads come after the full barrier behind the yield | the barrier is before the predecessor's `tell` (release), which the successor's `own` acquires; a verb's is over when it is complete |
//!
//! So the other cohort passes a waiting cohort as often as its budget says, and no more. It does
//! not matter how many leaders withdraw meanwhile. A successor that yielded again would give the
//! other cohort a whole budget anew.
//!
//! A leader withdraws only after a poll that did not let it in. Leaders that withdrew unseen could
//! hand on for ever a place that lets them in. The other cohort would wait for ever.

use crate::access::{Access, Polled};
use crate::ptr::LockPtr;

/// The position of a cohort in Peterson's lock: it has yielded, and its tail was not null since.
/// Only a leader that has yielded has one, or that was handed one by [`Place::handed_on`].
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place(());

impl Place {
    /// What a predecessor's [`Descriptor::PLACE`](crate::ptr::Descriptor::PLACE) gives.
    pub(crate) const fn handed_on() -> Self {
        Self(())
    }
}

/// What becomes of a leader.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// It has entered.
    Entered,
    /// `goes_on` said no before: it is to leave the queue, and to hand on its place.
    Withdrew(Place),
}

/// Enters, or enters again, the paper's `pReacquire`. Yields to the other cohort unless `place`
/// says that this was done. Polls until the other cohort lets it in. To be called by the first of
/// the queue; the tail stays set all the time.
///
/// While it waits, the other cohort enters as often as its budget allows, and no more. The time of
/// leaders that withdrew before counts as its own.
pub(crate) async fn enter<A: Access>(
    access: &A,
    lock: LockPtr,
    place: Option<Place>,
    goes_on: &mut impl FnMut() -> bool,
) -> Result<Outcome, A::Fault> {
    let (place, mut seen) = match place {
        None => {
            let seen = access.yield_and_look(lock).await?;
            (Place(()), seen)
        }
        Some(place) => (place, access.look(lock).await?),
    };
    let mut turn = 0;
    while seen.other && seen.victim == A::COHORT {
        if !goes_on() {
            return Ok(Outcome::Withdrew(place));
        }
        access.wait(Polled::Lock, turn).await?;
        turn = turn.saturating_add(1);
        seen = access.look(lock).await?;
    }
    Ok(Outcome::Entered)
}
