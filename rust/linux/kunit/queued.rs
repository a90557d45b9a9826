// SPDX-License-Identifier: GPL-2.0-only

//! How the harness waits for qspinlock: as the kernel's own callers do.

use super::team::{cpus, reached, together, Muster};
use crate::{
    harness::{
        arena::Once,
        kernels::KernelQueued,
        shim,
        subject::{LockCell, Subject as _},
    },
    locks::Word as _,
    spin::Word,
};
use kernel::{macros::kunit_tests, prelude::*};

/// The lock's word while it is owned.
const LOCKED: u32 = 1;

/// The lock's word while it is owned and another CPU waits for it, and that once it is free again. A word that stays as it
/// is for seconds is the first of them.
fn beside_a_waiter() -> Result<[u32; 2]> {
    let cell = KBox::new(LockCell::new(), GFP_KERNEL)?;
    let state = || cell.state::<KernelQueued>();
    // SAFETY: No other thread uses it.
    unsafe { KernelQueued::init(state(), 0, 0) };
    // SAFETY: `init` made it, and it stays as long as the cell.
    let word: &Word = unsafe { &*state() };
    let muster = Muster::new(2);
    let owned = Word::new(0);
    let seen = Once::new(0);
    together(2, |id| {
        let _present = muster.fall_in();
        // Acquire, pairs with the release below.
        if id == 1 && !reached(|| owned.load_acquire() != 0) {
            return;
        }
        // SAFETY: `init` made it.
        let token = unsafe { KernelQueued::lock(state()) };
        if id == 0 {
            // Release, pairs with the acquire above.
            owned.store_release(1);
            reached(|| word.load_relaxed() != LOCKED);
            seen.write(word.load_relaxed());
        }
        // SAFETY: Locked above.
        unsafe { KernelQueued::unlock(state(), token) };
    })?;
    Ok([seen.read(), word.load_relaxed()])
}

#[kunit_tests(handover_qspinlock)]
mod handover_qspinlock {
    use super::*;

    /// The first waiter sets the pending bit and takes no node. A slow path that is told of another word queues at once.
    #[test]
    fn the_first_waiter_is_pending() -> Result {
        assert!(cpus() >= 2);
        let [seen, free] = beside_a_waiter()?;
        // SAFETY: No requirements.
        let has_hypervisor = unsafe { shim::handover_has_hypervisor() };
        // The kernel's slow path may be another one under a hypervisor. That leaves the word as it is.
        assert!(seen == LOCKED | 1 << 8 || has_hypervisor && seen == LOCKED);
        assert_eq!(free, 0);
        Ok(())
    }
}
