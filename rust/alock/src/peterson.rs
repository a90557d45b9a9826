//! The modified Peterson lock between the cohorts' leaders (the paper's Algorithm 4). The
//! tails are its flags, which the queue sets and clears.

use crate::access::{Access, Looked};
use crate::ptr::LockPtr;

/// Enters, or enters again (`pReacquire`): yields to the other cohort if that waits. To be
/// called by the first of the queue; the tail stays set all the time.
///
/// While it waits, the other cohort enters as often as its budget allows, and no more.
///
/// False if `goes_on` said no before it could enter: then it has not.
pub(crate) async fn enter<A: Access>(
    access: &A,
    lock: LockPtr,
    goes_on: &mut impl FnMut() -> bool,
) -> Result<bool, A::Fault> {
    let mut seen = access.yield_and_look(lock).await?;
    let mut turn = 0;
    while seen.other && seen.victim == A::COHORT {
        if !goes_on() {
            return Ok(false);
        }
        access.wait(Looked::Lock, turn).await?;
        turn = turn.saturating_add(1);
        seen = access.look(lock).await?;
    }
    Ok(true)
}
