// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Naps of who looks again and again, because nobody will wake it.

use core::{ptr, time::Duration};

use libc::timespec;

const FIRST: Duration = Duration::from_micros(1);
const LONGEST: Duration = Duration::from_millis(1);

/// Naps, each twice as long as the one before, up to a longest.
pub(crate) struct Naps(Duration);

impl Naps {
    pub(crate) const fn new() -> Self {
        Self(FIRST)
    }

    /// The next nap, of at most so long. A signal ends it early.
    pub(crate) fn nap(&mut self, at_most: Duration) {
        let time = self.0.min(at_most);
        let time = timespec {
            tv_sec: time.as_secs() as i64,
            tv_nsec: i64::from(time.subsec_nanos()),
        };
        // Not `nanosleep` of the C library: a mutex is no place where a thread is cancelled.
        // SAFETY: The time is there. An early end is one more try.
        unsafe {
            libc::syscall(
                libc::SYS_nanosleep,
                &raw const time,
                ptr::null::<timespec>(),
            )
        };
        self.0 = (self.0 * 2).min(LONGEST);
    }
}
