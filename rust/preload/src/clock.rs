// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The clock of the statistics.

/// Nanoseconds since some moment, never fewer than before. It costs some tens of them.
pub(crate) fn now_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: The clock is always there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}
