// SPDX-License-Identifier: GPL-2.0-only

//! The uncontended pairs' names, and what a run of them came to.

use super::registry::{same, Entry, LOCKS};

/// Pairs a sample: some tens of milliseconds.
pub(crate) const PAIRS: u32 = 300_000;

/// The rows' names; `raw_spin_lock` is called directly, `SpinLock` through the
/// kernel's Rust binding.
pub(crate) const NAMES: [&str; 4] = ["twa", "ticket", "raw_spin_lock", "SpinLock"];

/// The row of a lock that can be named: that of `spin_lock` is the binding's.
pub(crate) const fn index_of(lock: &Entry) -> Option<usize> {
    let name = if same(lock.name.as_bytes(), b"spin_lock") {
        "SpinLock"
    } else {
        lock.name
    };
    let mut at = 0;
    while at < NAMES.len() {
        if same(NAMES[at].as_bytes(), name.as_bytes()) {
            return Some(at);
        }
        at += 1;
    }
    None
}

// `torture_type=all` is allowed with `experiment=uncontended`.
const _: () = {
    let mut at = 0;
    while at < LOCKS.len() {
        assert!(
            !LOCKS[at].excludes || index_of(&LOCKS[at]).is_some(),
            "a lock of LOCKS that excludes has no pair in NAMES"
        );
        at += 1;
    }
};

/// A run: the nanoseconds that `PAIRS` pairs took, of each lock that was asked for.
pub(crate) type Sample = [Option<u64>; NAMES.len()];
