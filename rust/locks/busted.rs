// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A lock that does not exclude, for harnesses to find.

use super::{Make, RawLock, World};

/// Lets all threads in at once, as locktorture's `lock_busted` does.
///
/// # Promises
///
/// Nothing. A harness that passes it checks nothing.
///
/// # Examples
///
/// ```
/// # mod process { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/process/world.rs")); }
/// # use process::{Cell, Process};
/// use handover_locks::{Busted, RawLock};
///
/// let world = Process::new();
/// assert!(Busted.try_lock(&world).is_some() && Busted.try_lock(&world).is_some());
/// ```
#[derive(Default)]
pub struct Busted;

impl<C> Make<C> for Busted {
    fn make(_: u32, _: impl FnMut(u32) -> C) -> Self {
        Self
    }
}

impl<W: World> RawLock<W> for Busted {
    const EXCLUDES: bool = false;
    const FIFO: bool = false;
    const TICKET_BITS: u32 = 0;

    #[inline(always)]
    fn lock(&self, _: &W) -> u32 {
        0
    }

    #[inline(always)]
    fn try_lock(&self, _: &W) -> Option<u32> {
        Some(0)
    }

    #[inline(always)]
    fn unlock(&self, _: &W, _: u32) {}

    #[inline(always)]
    fn is_locked(&self) -> bool {
        false
    }
}
