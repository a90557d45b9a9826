// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A list as long as a plan has room for: each kind of lock is in it.

use handover_measure::lock::Listed;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Lock {
    pub(crate) name: &'static str,
    pub(crate) is_usual: bool,
    pub(crate) excludes: bool,
    pub(crate) has_pair: bool,
}

const fn lock(name: &'static str, is_usual: bool, excludes: bool, has_pair: bool) -> Lock {
    Lock {
        name,
        is_usual,
        excludes,
        has_pair,
    }
}

pub(crate) static LOCKS: [Lock; 16] = [
    lock("twa", true, true, true),
    lock("ticket", true, true, true),
    lock("spin_lock", true, true, true),
    lock("busted", false, false, false),
    lock("raw_spin_lock", true, true, true),
    lock("mcs", false, true, false),
    lock("twa_too", false, false, true),
    lock("a_lock_with_a_long_name", false, true, true),
    lock("l8", false, true, true),
    lock("l9", false, true, true),
    lock("l10", false, true, true),
    lock("l11", false, true, true),
    lock("l12", false, true, true),
    lock("l13", false, true, true),
    lock("l14", false, true, true),
    lock("l15", false, true, true),
];

impl Listed for Lock {
    const NICE: i32 = -7;
    const PAIRS: u32 = 1234;

    fn list() -> &'static [Self] {
        &LOCKS
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn is_usual(&self) -> bool {
        self.is_usual
    }

    fn is_in_all(&self) -> bool {
        self.excludes
    }

    fn has_pair(&self) -> bool {
        self.has_pair
    }
}
