// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Forks. The child has one thread. Who waited in the parent is not in it.

use core::sync::atomic::{AtomicU32, Ordering::Relaxed};

use crate::said;

/// Which process this is: 1, and one more in each child. Never 0.
static GENERATION: AtomicU32 = AtomicU32::new(FIRST);

const FIRST: u32 = 1;

/// The same as long as no fork lies between.
#[inline(always)]
pub(crate) fn generation() -> u32 {
    GENERATION.load(Relaxed)
}

/// Whether this process is the child of one with this library.
#[inline(always)]
pub(crate) fn has_been() -> bool {
    generation() != FIRST
}

/// In the child: from now on it is another process.
pub(crate) fn advance() {
    let next = generation().wrapping_add(1).max(1);
    GENERATION.store(next, Relaxed);
}

extern "C" {
    fn pthread_atfork(
        prepare: Option<extern "C" fn()>,
        parent: Option<extern "C" fn()>,
        child: Option<extern "C" fn()>,
    ) -> libc::c_int;
}

/// Runs `in_child` in each child. The child's handlers run in the order in which they were registered. So this one comes
/// before the program's.
pub(crate) fn register(in_child: extern "C" fn()) {
    // SAFETY: The handler is a function.
    if unsafe { pthread_atfork(None, None, Some(in_child)) } != 0 {
        said::end(format_args!("pthread_atfork: no memory"));
    }
}
