// SPDX-License-Identifier: GPL-2.0-only

//! A thread that becomes due on its CPU in a section. It runs as soon as the section ends.

use super::team::together;
use crate::{
    harness::shim::{self, Thread},
    spin::{Off, SpinBackend, SpinRaw},
};
use kernel::{
    ffi::{c_int, c_void},
    prelude::*,
    sync::{
        atomic::{Atomic, Relaxed},
        lock::Lock,
        Completion,
    },
};

/// What the thread waits for, and whether it ran.
struct Due {
    begun: Pin<KBox<Completion>>,
    wake: Pin<KBox<Completion>>,
    ran: Atomic<u32>,
}

/// # Safety
///
/// `arg` must point to a [`Due`].
unsafe extern "C" fn run(arg: *mut c_void) -> c_int {
    // SAFETY: By this function's contract.
    let due = unsafe { &*arg.cast::<Due>() };
    shim::set_fifo(true);
    due.begun.complete_all();
    due.wake.wait_for_completion();
    due.ran.store(1, Relaxed);
    // SAFETY: This is a kthread.
    unsafe { shim::await_stop() };
    0
}

/// A real-time thread of this CPU is woken in a section. Whether it has run in the section, and right after it.
pub(super) fn runs<R: SpinRaw, O: Off>(lock: &Lock<(), SpinBackend<R, O>>) -> Result<[bool; 2]> {
    let due = Due {
        begun: KBox::pin_init(Completion::new(), GFP_KERNEL)?,
        wake: KBox::pin_init(Completion::new(), GFP_KERNEL)?,
        ran: Atomic::new(0),
    };
    let seen = Atomic::new(u32::MAX);
    together(1, |cpu| {
        let arg = core::ptr::from_ref(&due).cast_mut().cast();
        // SAFETY: `run` expects a `Due`, which stays until `stop` below has returned, and ends with `await_stop`.
        let Ok(thread) = (unsafe { Thread::create(run, arg, c"ho_due", cpu, Some(cpu)) }) else {
            return;
        };
        thread.start();
        // The thread goes on as it is woken, until it waits. This one has the CPU then.
        due.begun.wait_for_completion();
        let guard = lock.lock();
        due.wake.complete_all();
        let in_section = due.ran.load(Relaxed);
        drop(guard);
        let after = due.ran.load(Relaxed);
        seen.store(in_section | after << 1, Relaxed);
        thread.stop();
    })?;
    match seen.load(Relaxed) {
        u32::MAX => Err(ENOMEM),
        bits => Ok([bits & 1 != 0, bits & 2 != 0]),
    }
}
