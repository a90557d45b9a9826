// SPDX-License-Identifier: GPL-2.0-only

//! What the kernel's resilient lock says of a deadlock, as the harness hears it.

use super::team::{cpus, reached, together, Muster};
use crate::harness::{
    arena::Once,
    kernels::KernelResilient,
    shim,
    subject::{LockCell, Subject as _, REFUSED},
};
use kernel::{
    macros::kunit_tests,
    prelude::*,
    processor::cpu_relax,
    sync::atomic::{Atomic, Relaxed},
};

/// Two free locks.
fn locks() -> Result<KBox<[LockCell; 2]>> {
    let cells = KBox::new([LockCell::new(), LockCell::new()], GFP_KERNEL)?;
    for (nest, cell) in cells.iter().enumerate() {
        // SAFETY: No other thread uses it.
        unsafe { KernelResilient::init(cell.state::<KernelResilient>(), 0, nest) };
    }
    Ok(cells)
}

fn lock(cell: &LockCell) -> u32 {
    // SAFETY: `locks` made it.
    unsafe { KernelResilient::lock(cell.state::<KernelResilient>()) }
}

/// Whether it is free.
fn is_free(cell: &LockCell) -> bool {
    // SAFETY: `locks` made it.
    let token = unsafe { KernelResilient::try_lock(cell.state::<KernelResilient>()) };
    token.map(|token| unlock(cell, token)).is_some()
}

/// Gives back what `lock` or `try_lock` gave on this thread, the last first.
fn unlock(cell: &LockCell, token: u32) {
    // SAFETY: By this function's contract, which each caller here keeps.
    unsafe { KernelResilient::unlock(cell.state::<KernelResilient>(), token) };
}

#[kunit_tests(handover_raw_res_spin_lock)]
mod raw_res_spin_lock {
    use super::*;

    /// One CPU waits for itself (AA).
    #[test]
    fn refuses_its_own_owner() -> Result {
        let cells = locks()?;
        let first = lock(&cells[0]);
        let again = lock(&cells[0]);
        unlock(&cells[0], again);
        let is_kept = !is_free(&cells[0]);
        unlock(&cells[0], first);
        assert_eq!((first == REFUSED, again == REFUSED), (false, true));
        assert!(is_kept && is_free(&cells[0]));
        Ok(())
    }

    /// Two CPUs wait for each other (ABBA): one of them is told, or both.
    #[test]
    fn refuses_two_orders() -> Result {
        assert!(cpus() >= 2);
        let cells = locks()?;
        let muster = Muster::new(2);
        let owners = Atomic::new(0u32);
        let refused = [const { Once::new(false) }; 2];
        let owned = [const { Once::new(false) }; 2];
        together(2, |id| {
            let (own, others) = (id as usize, 1 - id as usize);
            let present = muster.fall_in();
            let first = lock(&cells[own]);
            owners.add(1u32, Relaxed);
            // Both are on their CPUs, and neither waits for anything else.
            while owners.load(Relaxed) < 2 {
                cpu_relax();
            }
            let second = lock(&cells[others]);
            unlock(&cells[others], second);
            unlock(&cells[own], first);
            drop(present);
            owned[own].write(first != REFUSED);
            refused[own].write(second == REFUSED);
        })?;
        assert!(owned.iter().all(Once::read));
        assert!(refused.iter().any(Once::read));
        assert!(cells.iter().all(is_free));
        Ok(())
    }

    /// A long wait is no deadlock: the kernel gives up after a quarter of a second, and it begins anew.
    #[test]
    fn waits_for_a_long_owner() -> Result {
        assert!(cpus() >= 2);
        let cells = locks()?;
        let muster = Muster::new(2);
        let [owners, came] = [const { Atomic::new(0u32) }; 2];
        let tokens = [const { Once::new(REFUSED) }; 2];
        together(2, |id| {
            let _present = muster.fall_in();
            if id == 0 {
                tokens[0].write(lock(&cells[0]));
                owners.store(1u32, Relaxed);
                let mut until = u64::MAX;
                reached(|| {
                    if until == u64::MAX && came.load(Relaxed) != 0 {
                        until = shim::now_ns() + 2_000_000_000;
                    }
                    shim::now_ns() > until
                });
                unlock(&cells[0], tokens[0].read());
            } else {
                reached(|| owners.load(Relaxed) != 0);
                came.store(1u32, Relaxed);
                let token = lock(&cells[0]);
                unlock(&cells[0], token);
                tokens[1].write(token);
            }
        })?;
        assert!(tokens.iter().all(|token| token.read() != REFUSED));
        assert!(is_free(&cells[0]));
        Ok(())
    }
}
