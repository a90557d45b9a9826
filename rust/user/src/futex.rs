// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What the kernel does for a waiter.

use core::{ptr, sync::atomic::AtomicU32, time::Duration};

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

/// The monotonic clock, so long from now; its end, where that is later.
pub(crate) fn from_now(time: Duration) -> libc::timespec {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: The clock is always there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    after(now, time)
}

/// So long after `now`; the clock's end, where that is later.
fn after(now: libc::timespec, time: Duration) -> libc::timespec {
    let nanoseconds = now.tv_nsec + libc::c_long::from(time.subsec_nanos() as i32);
    let seconds = libc::time_t::try_from(time.as_secs()).unwrap_or(libc::time_t::MAX);
    libc::timespec {
        tv_sec: seconds
            .saturating_add(now.tv_sec)
            .saturating_add(nanoseconds / 1_000_000_000),
        tv_nsec: nanoseconds % 1_000_000_000,
    }
}

/// Sleeps while the word holds `value`, until a `wake`, at most until the monotonic clock shows `limit`. It may return
/// earlier. Whether the limit is over.
pub(crate) fn wait_until(word: &AtomicU32, value: u32, limit: Option<&libc::timespec>) -> bool {
    // SAFETY: The word is there, and has four bytes. So is the limit, if any.
    let rc = unsafe {
        libc::syscall(
            libc::SYS_futex,
            ptr::from_ref(word),
            WAIT,
            value,
            limit.map_or(ptr::null(), ptr::from_ref),
            ptr::null::<u32>(),
            u32::MAX,
        )
    };
    // SAFETY: The thread's own.
    rc == -1 && unsafe { *libc::__errno_location() } == libc::ETIMEDOUT
}

/// As `wait`, of all bits, at most for so long.
pub(crate) fn wait_at_most(word: &AtomicU32, value: u32, time: Duration) {
    wait_until(word, value, Some(&from_now(time)));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// In nanoseconds, from seconds and nanoseconds of every size.
    #[test]
    fn so_long_after_is_a_sum() {
        let nanoseconds = [0, 1, 499_999_999, 500_000_000, 500_000_001, 999_999_999];
        for (now, more) in nanoseconds
            .iter()
            .flat_map(|&now| nanoseconds.iter().map(move |&more| (now, more)))
        {
            let (tv_sec, seconds) = (1_700_000_000, 86_400);
            let tv_nsec = libc::c_long::from(now as i32);
            let limit = after(
                libc::timespec { tv_sec, tv_nsec },
                Duration::new(seconds, more),
            );
            let of = |seconds: i128, rest: i128| seconds * 1_000_000_000 + rest;
            assert!((0..1_000_000_000).contains(&limit.tv_nsec));
            assert_eq!(
                of(limit.tv_sec.into(), limit.tv_nsec.into()),
                of(tv_sec.into(), now.into()) + of(seconds.into(), more.into())
            );
        }
    }

    #[test]
    fn a_clock_has_an_end() {
        let now = libc::timespec {
            tv_sec: 7,
            tv_nsec: 999_999_999,
        };
        assert_eq!(after(now, Duration::MAX).tv_sec, libc::time_t::MAX);
    }
}
