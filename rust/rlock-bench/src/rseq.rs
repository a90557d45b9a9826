// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! An increment of a per-CPU counter by the kernel's restartable sequences. The
//! thread's registration is glibc's.

use std::arch::asm;
use std::sync::atomic::AtomicU64;

extern "C" {
    /// glibc 2.35: where the thread's area is, from the thread pointer.
    static __rseq_offset: isize;
    /// Its size; 0 when the registration failed.
    static __rseq_size: u32;
}

/// Whether glibc registered the threads.
pub(crate) fn is_registered() -> bool {
    // SAFETY: glibc's, never written after the start.
    unsafe { __rseq_size != 0 }
}

/// The calling thread's area.
pub(crate) fn area() -> *mut u8 {
    // SAFETY: the thread pointer's first word is itself (x86-64's TLS).
    unsafe {
        let thread: *mut u8;
        asm!("mov {}, fs:[0]", out(reg) thread, options(nostack, pure, readonly, preserves_flags));
        thread.offset(__rseq_offset)
    }
}

/// Adds one to the counter of the CPU that the thread is on. False if it was moved or
/// interrupted: again then.
///
/// # Safety
///
/// `area` is the calling thread's; `counters` has one for each CPU, 64 bytes apart.
#[inline(always)]
pub(crate) unsafe fn increment(area: *mut u8, counters: *const AtomicU64) -> bool {
    let failed: u32;
    // SAFETY: the section is as Documentation/userspace-api/rseq.rst wants it: its
    // descriptor, the signature before where it aborts to, one committing store.
    unsafe {
        asm!(
            "xor {failed:e}, {failed:e}",
            "mov {cpu:e}, dword ptr [{area} + 0]",
            "mov {at}, {cpu}",
            "shl {at}, 6",
            "lea {cs}, [rip + 8f]",
            "mov qword ptr [{area} + 8], {cs}",
            "2:",
            "cmp dword ptr [{area} + 4], {cpu:e}",
            "jne 6f",
            "mov {cs}, qword ptr [{counters} + {at}]",
            "add {cs}, 1",
            "mov qword ptr [{counters} + {at}], {cs}",
            "3:",
            ".pushsection __rseq_cs, \"aw\", @progbits",
            ".balign 32",
            "8:",
            ".long 0, 0",
            ".quad 2b, 3b - 2b, 5f",
            ".popsection",
            ".pushsection rseq_out, \"ax\", @progbits",
            ".byte 0x0f, 0xb9, 0x3d",
            ".long 0x53053053",
            "5:",
            "6:",
            "mov {failed:e}, 1",
            "jmp 3b",
            ".popsection",
            failed = out(reg) failed,
            cpu = out(reg) _,
            at = out(reg) _,
            cs = out(reg) _,
            area = in(reg) area,
            counters = in(reg) counters,
            options(nostack),
        );
    }
    failed == 0
}
