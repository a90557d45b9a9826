// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The system call membarrier(), private and expedited.
//!
//! Linux, `kernel/sched/membarrier.c`, has the proof. A fork's child has its parent's registration: `dup_mm()` copies it.
//! `exec` ends it.

/// Tells the kernel that this process will ask for barriers. Whether it may.
pub(crate) fn register() -> bool {
    call(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
}

/// Each thread of the process passes a full barrier between the call and the return. `false` where the kernel refuses.
pub(crate) fn all() -> bool {
    call(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
}

fn call(command: libc::c_int) -> bool {
    // SAFETY: It has no pointer.
    unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) == 0 }
}
