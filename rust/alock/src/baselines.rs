// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What ALock is compared with, after the paper's section 6. Every thread takes these locks with
//! verbs. It takes those of its own node through its card's loopback. Same table, same lines of 64
//! bytes, same completions.

use core::num::NonZeroU32;

use crate::access::Polled;
use crate::ptr::{Descriptor, LockPtr, Ptr, WordPtr};
use crate::queue::{self, Handover};
use crate::remote::{Remote, Verbs};

/// Acquires by compare-and-swap until it succeeds. One verb uncontended. No order, no bound.
///
/// It does not back off: the paper's, which it stands for, simply repeats. While it waits it loads
/// the cards as ALock's remote leader would without [`crate::pace`]. With a back-off it would be
/// another lock, whose time has to be tuned to each load.
///
/// # Errors
/// The verbs'.
pub async fn spin_lock<V: Verbs>(verbs: &V, word: WordPtr) -> Result<(), V::Fault> {
    while verbs.cas(word, Ptr::NULL, u64::from(Ptr::TAG)).await? != Ptr::NULL {
        // No pause on the wire; only a chance to hear that a node is gone.
        verbs.wait(Polled::Own, 0).await?;
    }
    Ok(())
}

/// Releases: one verb, and waits for its completion, as all locks here do. The verb is a write
/// beside other threads' compare-and-swaps, which are not atomic with it. It stands because all of
/// them fail while the lock is held, and a failing one writes nothing. InfiniBand asks for that,
/// and Linux 7.3's rxe does it. A device that wrote the old value back would lose the release.
///
/// The wait could be left out: on the same queue pair a next compare-and-swap comes after the write
/// anyway. A fault would then be found later. A lock of another node could be taken before this one
/// is free.
///
/// # Errors
/// The verbs'.
pub async fn spin_unlock<V: Verbs>(verbs: &V, word: WordPtr) -> Result<(), V::Fault> {
    verbs.write(word, Ptr::NULL).await
}

/// Acquires by the MCS queue, without budget and without another cohort. One verb uncontended.
/// First come, first served. It is better than the paper's: the CPU writes a descriptor of its own
/// node.
///
/// # Errors
/// The verbs'.
pub async fn mcs_lock<V: Verbs>(
    verbs: &V,
    lock: LockPtr,
    mine: Descriptor,
) -> Result<(), V::Fault> {
    queue::join(&Remote::new(verbs), lock, mine).await.map(drop)
}

/// Releases: one verb, or two with a waiter.
///
/// # Errors
/// The verbs'.
pub async fn mcs_unlock<V: Verbs>(
    verbs: &V,
    lock: LockPtr,
    mine: Descriptor,
) -> Result<(), V::Fault> {
    let handover = Handover::Entry(NonZeroU32::MIN);
    queue::leave(&Remote::new(verbs), lock, mine, handover).await
}
