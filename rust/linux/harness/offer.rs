// SPDX-License-Identifier: GPL-2.0-only

//! The locks, offered to the kernel's locktorture where it takes them (`qemu/patches`).
//!
//! The module is loaded after torture.ko and before locktorture.ko. Locktorture then knows each lock as
//! `torture_type=handover_NAME`, and keeps this module loaded while it tortures one.

use super::{registry::LOCKS, shim};
use kernel::{error::to_result, prelude::*};

/// Locks that are offered until this is dropped. The log then says which nested locks were ever acquired, a bit each.
pub(crate) struct Offer(());

impl Offer {
    /// Offers every lock, or none where the kernel has no hook. If the hook refuses one, the log says so, and those
    /// after it are not offered.
    ///
    /// # Safety
    ///
    /// Only the module's init may call it, once, and must not fail afterwards: locktorture may have taken a lock. The
    /// result must be dropped in the module's exit.
    pub(crate) unsafe fn new() -> Self {
        let offer = Self(());
        for (count, lock) in LOCKS.iter().enumerate() {
            (lock.make_tortured)();
            // SAFETY: The calls are static, and their locks are made.
            match to_result(unsafe { shim::handover_torture_offer(&lock.tortured) }) {
                Ok(()) => {}
                Err(ENOENT) if count == 0 => return offer,
                Err(error) => {
                    pr_err!("locktorture does not take {}: {error:?}\n", lock.name);
                    return offer;
                }
            }
        }
        pr_info!("locktorture knows {} locks as handover_NAME\n", LOCKS.len());
        offer
    }
}

impl Drop for Offer {
    fn drop(&mut self) {
        // SAFETY: By the contract of `new`.
        unsafe { shim::handover_torture_withdraw() };
        for lock in LOCKS {
            match (lock.nested_of_tortured)() {
                0 => {}
                nested => pr_info!(
                    "locktorture took nested locks {nested:#x} of {}\n",
                    lock.name
                ),
            }
        }
    }
}
