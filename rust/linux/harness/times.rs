// SPDX-License-Identifier: GPL-2.0-only

//! Stamps of the time stamp counter, and what a writer makes of them.

use super::shim;
use crate::measure::latency::{Clock, Latency};
use core::cell::UnsafeCell;

/// A writer's times: its own until it is done.
pub(crate) struct Times(UnsafeCell<Latency>);

// SAFETY: The contracts of `note` and `of_done` keep the two apart.
unsafe impl Sync for Times {}

impl Times {
    /// None yet.
    pub(crate) const fn new() -> Self {
        Self(UnsafeCell::new(Latency::EMPTY))
    }

    /// Counts an acquisition by its stamps, as [`Latency::note`] does.
    ///
    /// # Safety
    ///
    /// Only the writer may call this, until it sets `done`.
    #[inline(always)]
    pub(super) unsafe fn note(&self, arrived: u64, released: u64, admitted: u64) {
        // SAFETY: Nobody else looks, by this function's contract and that of `of_done`.
        unsafe { &mut *self.0.get() }.note(arrived, released, admitted);
    }

    /// What was counted.
    ///
    /// # Safety
    ///
    /// The writer must be done, and the caller must have read that with acquire.
    pub(crate) unsafe fn of_done(&self) -> &Latency {
        // SAFETY: Nobody writes any more, by this function's contract and that of `note`.
        unsafe { &*self.0.get() }
    }
}

/// How many stamps are taken to see what one costs.
const STAMPS: u32 = 1000;

/// The clock of the stamps, with what one costs. None if the kernel does not trust it.
pub(crate) fn clock() -> Option<Clock> {
    let tries = (0..8).map(|_| {
        let from = shim::stamp();
        let to = (0..STAMPS).fold(from, |_, _| shim::stamp());
        to.saturating_sub(from)
    });
    Clock::measured(shim::stamp_khz()?, tries, STAMPS)
}
