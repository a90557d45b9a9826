// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What the kernel does for a waiter.

use core::{ptr, sync::atomic::AtomicU32};

const WAIT: libc::c_int = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
const WAKE: libc::c_int = libc::FUTEX_WAKE_BITSET | libc::FUTEX_PRIVATE_FLAG;

/// Sleeps while the word holds `value`, until a `wake` that has one of the `bits`. It may return earlier.
pub(crate) fn wait(word: &AtomicU32, value: u32, bits: u32) {
    // SAFETY: The word is there, and has four bytes. No time limit.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            ptr::from_ref(word),
            WAIT,
            value,
            ptr::null::<libc::timespec>(),
            ptr::null::<u32>(),
            bits,
        );
    }
}

/// Wakes all that sleep at this address with one of the `bits`.
pub(crate) fn wake(word: *const AtomicU32, bits: u32) {
    // SAFETY: The kernel reads nothing at the address, which need not be mapped.
    unsafe {
        libc::syscall(
            libc::SYS_futex,
            word,
            WAKE,
            libc::c_int::MAX,
            ptr::null::<libc::timespec>(),
            ptr::null::<u32>(),
            bits,
        );
    }
}

/// Gives up the CPU.
pub(crate) fn yield_now() {
    // SAFETY: It has no arguments.
    unsafe { libc::sched_yield() };
}
