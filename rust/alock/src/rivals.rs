//! What ALock is compared with (the paper's section 6): locks that every thread takes with
//! verbs, those of its own node through its card's loopback. Same table, same lines of 64
//! bytes, same completions.

use crate::access::Looked;
use crate::ptr::{Descriptor, LockPtr, Place, Ptr};
use crate::queue;
use crate::remote::{Remote, Verbs};

/// Acquires by compare-and-swap until it succeeds. One verb uncontended. No order, no bound.
///
/// It does not back off: the paper's, which it stands for, simply repeats. (Waiting, it
/// loads the cards as ALock's remote leader would without [`crate::pace`]; with a back-off
/// it would be another lock, whose time has to be tuned to each load.)
///
/// # Errors
/// The verbs'.
pub async fn spin_lock<V: Verbs>(verbs: &V, word: Place) -> Result<(), V::Fault> {
    while verbs.cas(word, Ptr::NULL, u64::from(Ptr::TAG)).await? != Ptr::NULL {
        // No pause on the wire; only a chance to hear that somebody is gone.
        verbs.wait(Looked::Own, 0).await?;
    }
    Ok(())
}

/// Releases: one verb, and waits for its completion, as all locks here do. It is a write beside
/// others' compare-and-swaps, and those are not atomic with it: it stands because all of them fail
/// while the lock is held, and one that fails writes nothing (so Linux 7.3's rxe, and what
/// InfiniBand asks for; a device that wrote the old value back would lose the release). (It need not wait: on
/// the same queue pair a next compare-and-swap comes after it anyway. Then a fault would be
/// found later, and a lock of another node could be taken before this one is free.)
///
/// # Errors
/// The verbs'.
pub async fn spin_unlock<V: Verbs>(verbs: &V, word: Place) -> Result<(), V::Fault> {
    verbs.write(word, Ptr::NULL).await
}

/// Acquires by the MCS queue, without budget and without another cohort. One verb
/// uncontended. First come, first served. (Better than the paper's: a descriptor of the
/// own node is written by the CPU.)
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

/// Releases: one verb, two if somebody waits.
///
/// # Errors
/// The verbs'.
pub async fn mcs_unlock<V: Verbs>(
    verbs: &V,
    lock: LockPtr,
    mine: Descriptor,
) -> Result<(), V::Fault> {
    queue::leave(&Remote::new(verbs), lock, mine, 1).await
}
