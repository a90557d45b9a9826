// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A list as long as a plan has room for: each kind of lock is in it.

use handover_measure::lock::Listed;

#[derive(Clone, Copy, Debug)]
pub(crate) struct Lock {
    pub(crate) name: &'static str,
    pub(crate) excludes: bool,
    pub(crate) has_pair: bool,
}

const fn lock(name: &'static str, excludes: bool, has_pair: bool) -> Lock {
    Lock {
        name,
        excludes,
        has_pair,
    }
}

pub(crate) static LOCKS: [Lock; 8] = [
    lock("twa", true, true),
    lock("ticket", true, true),
    lock("spin_lock", true, true),
    lock("busted", false, false),
    lock("raw_spin_lock", true, true),
    lock("mcs", true, false),
    lock("twa_too", false, true),
    lock("a_lock_with_a_long_name", true, true),
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

    fn excludes(&self) -> bool {
        self.excludes
    }

    fn has_pair(&self) -> bool {
        self.has_pair
    }
}
