// SPDX-License-Identifier: GPL-2.0-only

//! Two TWA locks in statics, whose symbols are their names, and threads that contend for both. perf is to find them, and
//! to delay the owners of one alone (`tests/suites/perf`).
//!
//! `locks` and `spin` are copies of `rust/locks` and `rust/linux/spin`.

use kernel::{
    error::to_result,
    prelude::*,
    time::{delay::udelay, Delta},
};

pub mod locks;
pub mod spin;

module! {
    type: Contended,
    name: "contended",
    authors: ["The Handover authors"],
    description: "Two TWA locks that threads contend for",
    license: "GPL",
}

global_spin_lock! {
    /// Its owners are delayed.
    #[no_mangle]
    // SAFETY: `Contended::init` calls `init` before anything takes the lock.
    pub unsafe(uninit) static CONTENDED_DELAYED: TwaLock<usize> = 0;
}

global_spin_lock! {
    /// Its owners are not.
    #[no_mangle]
    // SAFETY: As above.
    pub unsafe(uninit) static CONTENDED_OTHER: TwaLock<usize> = 0;
}

extern "C" {
    fn contended_start() -> c_int;
    fn contended_stop();
}

/// A section under each lock, one after the other.
#[no_mangle]
pub extern "C" fn contended_once() {
    let mut sections = CONTENDED_DELAYED.lock();
    *sections += 1;
    udelay(Delta::from_micros(20));
    drop(sections);
    let mut sections = CONTENDED_OTHER.lock();
    *sections += 1;
    udelay(Delta::from_micros(20));
}

struct Contended;

impl kernel::Module for Contended {
    fn init(_: &'static ThisModule) -> Result<Self> {
        // SAFETY: Each is called once, and before the first `lock`.
        unsafe {
            CONTENDED_DELAYED.init();
            CONTENDED_OTHER.init();
        }
        // SAFETY: It may be called here. It stops again what it started, where it fails.
        to_result(unsafe { contended_start() })?;
        Ok(Self)
    }
}

impl Drop for Contended {
    fn drop(&mut self) {
        // SAFETY: The threads were started.
        unsafe { contended_stop() };
        let (delayed, other) = (*CONTENDED_DELAYED.lock(), *CONTENDED_OTHER.lock());
        pr_info!("{delayed} sections, and {other}\n");
    }
}
