// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The sections without assembly, for ThreadSanitizer, which does not see what assembly
//! does. They are the protocol's own, on the processor's words, under `--cfg
//! rlock_replaced`.
//!
//! The sections are for tests alone. No handler can lead a thread out of these. A thread in one is
//! cancelled when it has left it.

use core::cell::Cell;
use core::sync::atomic::{compiler_fence, AtomicU64, Ordering};

use super::REFUSED;
use crate::protocol::{self, Action};
use crate::record::Record;
use crate::word::Ownership;

fn section(record: &Record, mine: Ownership, budget: &mut u32, commit: impl FnOnce()) -> bool {
    *budget = budget.wrapping_sub(1);
    if *budget == REFUSED {
        return false;
    }
    let valid = protocol::section(&record.shared, mine, commit, |_| {
        // The instructions in the order of the program; a processor's, as the real
        // ones', by the canceller's barrier.
        compiler_fence(Ordering::SeqCst);
        Action::Return
    });
    if !valid {
        *budget = REFUSED;
    }
    valid
}

pub(crate) fn store(
    record: &Record,
    mine: Ownership,
    budget: &mut u32,
    slot: &AtomicU64,
    value: u64,
) -> Option<()> {
    // Release, pairs with the acquire of `Slot::load`: what was staged is seen.
    section(record, mine, budget, || {
        slot.store(value, Ordering::Release)
    })
    .then_some(())
}

pub(crate) fn add(
    record: &Record,
    mine: Ownership,
    budget: &mut u32,
    slot: &AtomicU64,
    value: u64,
) -> Option<()> {
    section(record, mine, budget, || {
        let sum = slot.load(Ordering::Relaxed).wrapping_add(value);
        slot.store(sum, Ordering::Release);
    })
    .then_some(())
}

pub(crate) fn compare_and_store(
    record: &Record,
    mine: Ownership,
    budget: &mut u32,
    slot: &AtomicU64,
    expected: u64,
    value: u64,
) -> Option<bool> {
    let same = Cell::new(false);
    section(record, mine, budget, || {
        same.set(slot.load(Ordering::Relaxed) == expected);
        if same.get() {
            slot.store(value, Ordering::Release);
        }
    })
    .then(|| same.get())
}
