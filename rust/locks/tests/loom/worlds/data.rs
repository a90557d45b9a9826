// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What the locks of a model protect.

use loom::cell::UnsafeCell;

/// The ticket that is to be admitted next, in a cell whose accesses loom checks
/// for races.
///
/// An owner that does not see what the last one did shows as a race. One that
/// is admitted out of order shows as a wrong ticket.
pub(crate) struct Data(UnsafeCell<u32>);

// SAFETY: loom runs its threads one at a time, on one thread of the system, and
// panics at an access that does not happen after a conflicting one.
unsafe impl Send for Data {}
// SAFETY: as above.
unsafe impl Sync for Data {}

impl Data {
    /// Data of a lock whose first ticket is `first`.
    pub(crate) fn new(first: u32) -> Self {
        Self(UnsafeCell::new(first))
    }

    /// What the owner with `token` does. Of a token that is a ticket, `bits` count.
    ///
    /// # Panics
    ///
    /// In an execution in which the lock did not exclude or admitted another
    /// owner in this one's turn.
    pub(crate) fn admit(&self, token: u32, bits: u32) {
        self.0.with_mut(|next| {
            // SAFETY: loom has checked that no access is concurrent with this.
            let next = unsafe { &mut *next };
            let mask = u32::MAX.checked_shr(32 - bits).unwrap_or(0);
            assert_eq!(*next & mask, token & mask, "admitted out of order");
            *next = next.wrapping_add(1);
        });
    }

    /// The ticket that would be admitted next.
    pub(crate) fn next(&self) -> u32 {
        // SAFETY: loom has checked that no write is concurrent with this.
        self.0.with(|next| unsafe { *next })
    }
}
