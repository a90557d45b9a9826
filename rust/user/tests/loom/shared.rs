// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! One counter for all words: every two of them collide.

use crate::atomic::AtomicU32;

loom::lazy_static! {
    static ref SLEEPERS: AtomicU32 = AtomicU32::new(0);
    static ref BARRIER: AtomicU32 = AtomicU32::new(0);
}

pub(crate) fn sleepers(_: *const AtomicU32) -> &'static AtomicU32 {
    &SLEEPERS
}

pub(crate) fn barrier() -> &'static AtomicU32 {
    &BARRIER
}
