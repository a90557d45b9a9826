//! Stores that stay in the store buffer.

use std::arch::x86_64::_mm_clflush;

#[derive(Default)]
#[repr(align(64))]
struct Line(u64);

/// Lines of a thread's own, which it writes when they are in no cache.
///
/// What it stores next waits behind them in the store buffer, a section's flag and its
/// commit too, while the section's load of the state goes ahead: for a microsecond, and
/// without this for some nanoseconds. Who cancels without a barrier on the victim's CPU
/// is caught by it within some takeovers; without it a stress of seconds found nothing.
#[derive(Default)]
pub(crate) struct Late([Line; 4]);

impl Late {
    pub(crate) fn store(&mut self) {
        for line in &mut self.0 {
            // One after the other: a flush waits for the stores before it.
            // SAFETY: a line of this value, which nobody else has; every x86-64 CPU has
            // the instruction. Volatile: nobody reads it.
            unsafe {
                _mm_clflush((&raw const line.0).cast());
                (&raw mut line.0).write_volatile(1);
            }
        }
    }
}
