// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Stores that stay in the store buffer.

use std::arch::x86_64::_mm_clflush;

#[derive(Default)]
#[repr(align(64))]
struct Line(u64);

/// Lines of a thread's own, which it writes when they are in no cache.
///
/// The thread's next stores wait behind them in the store buffer, also a section's flag
/// and its commit. The section's load of the state goes ahead. The window is a
/// microsecond, and without these lines some nanoseconds. A cancellation without a
/// barrier on the victim's CPU is caught within some takeovers. Without these lines a
/// stress of seconds found nothing.
#[derive(Default)]
pub(crate) struct Late([Line; 4]);

impl Late {
    pub(crate) fn store(&mut self) {
        for line in &mut self.0 {
            // One after the other: a flush waits for the stores before it.
            // SAFETY: a line of this value, which no other thread has; every x86-64 CPU
            // has the instruction. Volatile: no code reads it.
            unsafe {
                _mm_clflush((&raw const line.0).cast());
                (&raw mut line.0).write_volatile(1);
            }
        }
    }
}
