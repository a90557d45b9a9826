// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Threads that wait long, beside the process's CPUs.
//!
//! A FIFO lock hands over to one thread. If that one sleeps, the lock is idle until it has been woken. Meanwhile the
//! others look in vain, and sleep too. Then each hand-over wakes a sleeper, so that each wait is long, and the lock stays
//! so. Where each of them has a CPU, waiters look on instead.
//!
//! With more waiters than CPUs, one that looks on may have the CPU of the one that is next. They all sleep then.

use core::{
    mem,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

/// The threads that wait long, awake or asleep. A child of a fork keeps those that its parent had.
static WAITERS: AtomicU32 = AtomicU32::new(0);

/// How many CPUs the process may use; 0 until it was asked.
static CPUS: AtomicU32 = AtomicU32::new(0);

/// The CPUs that the first caller may use. 1 where the kernel does not say.
fn cpus() -> u32 {
    let known = CPUS.load(Relaxed);
    if known != 0 {
        return known;
    }
    // SAFETY: All bits are 0: no CPU.
    let mut set: libc::cpu_set_t = unsafe { mem::zeroed() };
    // SAFETY: The set is as long as it says. 0 is the calling thread.
    let rc = unsafe { libc::sched_getaffinity(0, mem::size_of_val(&set), &raw mut set) };
    let count = match rc {
        // SAFETY: The set is whole.
        0 => unsafe { libc::CPU_COUNT(&set) },
        _ => 1,
    };
    let count = u32::try_from(count).unwrap_or(1).max(1);
    CPUS.store(count, Relaxed);
    count
}

/// A thread that waits long, until it is dropped.
pub(crate) struct LongWait(());

impl LongWait {
    /// Counts it.
    pub(crate) fn new() -> Self {
        // Counts threads, and orders nothing.
        WAITERS.fetch_add(1, Relaxed);
        Self(())
    }

    /// Whether there is a CPU for each such thread, and one for the owner.
    pub(crate) fn has_cpu(&self) -> bool {
        WAITERS.load(Relaxed) < cpus()
    }
}

impl Drop for LongWait {
    fn drop(&mut self) {
        WAITERS.fetch_sub(1, Relaxed);
    }
}
