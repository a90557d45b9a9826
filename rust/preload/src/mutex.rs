// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The functions of a mutex.
//!
//! What they promise is POSIX's. Where POSIX leaves open what happens, other mutexes stay whole. Who unlocks a mutex that
//! nobody owns is told `EPERM`.

use core::time::Duration;

use libc::{
    c_int, clockid_t, pthread_mutex_t, pthread_mutexattr_t, timespec, CLOCK_MONOTONIC,
    CLOCK_REALTIME, EBUSY, EINVAL, EPERM, ETIMEDOUT,
};

use crate::{
    choice::ops,
    clock::now_ns,
    glibc,
    nap::Naps,
    ops::Mutex,
    profile,
    stats::{self, count, Call},
};

/// The mutex, if it is ours.
///
/// # Safety
///
/// `mutex` is a mutex.
#[inline(always)]
unsafe fn find<'a>(mutex: *mut pthread_mutex_t) -> Option<&'a Mutex> {
    // SAFETY: The caller's. All that is accessed is atomic.
    let mutex = unsafe { &*mutex.cast::<Mutex>() };
    mutex.is_ours().then_some(mutex)
}

/// As [`find`], for a call of the program: what is left to glibc is counted.
///
/// # Safety
///
/// `mutex` is a mutex.
#[inline(always)]
unsafe fn ours<'a>(mutex: *mut pthread_mutex_t) -> Option<&'a Mutex> {
    // SAFETY: The caller's.
    let found = unsafe { find(mutex) };
    if found.is_none() {
        count(Call::LeftMutex);
    }
    found
}

/// Acquires after a wait for a condition variable: no call of the program.
///
/// # Safety
///
/// As [`pthread_mutex_lock`], and [`release`] was called.
pub(crate) unsafe fn acquire(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: The caller's.
    let acquired = match unsafe { find(mutex) } {
        Some(ours) => {
            if stats::are_on() {
                stats::lock_again(ours);
            } else {
                (ops().lock)(ours);
            }
            0
        }
        // SAFETY: The caller's.
        None => unsafe { glibc::mutex_lock(mutex) },
    };
    // SAFETY: The caller's. The word that is accessed lies in each mutex.
    unsafe { &*mutex.cast::<Mutex>() }.end_wait();
    acquired
}

/// Releases; `EPERM` where nobody owns the mutex.
#[inline(always)]
fn hand_over(mutex: &Mutex) -> c_int {
    if (ops().unlock)(mutex) {
        0
    } else {
        EPERM
    }
}

/// Releases for a wait for a condition variable. Until [`acquire`] the mutex is in use.
///
/// A mutex of ours that nobody owns is no error. Nothing says what then happens, and glibc waits.
///
/// # Safety
///
/// As [`pthread_mutex_unlock`].
pub(crate) unsafe fn release(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: As in `acquire`.
    let word = unsafe { &*mutex.cast::<Mutex>() };
    word.begin_wait();
    // SAFETY: The caller's.
    let released = match unsafe { find(mutex) } {
        Some(ours) => {
            if stats::are_on() {
                profile::releases(ours);
            }
            hand_over(ours);
            0
        }
        // SAFETY: The caller's.
        None => unsafe { glibc::mutex_unlock(mutex) },
    };
    if released != 0 {
        word.end_wait();
    }
    released
}

/// Initialises. glibc does it: zeroes but for the kind.
///
/// # Safety
///
/// As POSIX says.
#[no_mangle]
pub unsafe extern "C" fn pthread_mutex_init(
    mutex: *mut pthread_mutex_t,
    attributes: *const pthread_mutexattr_t,
) -> c_int {
    // SAFETY: The caller's.
    unsafe { glibc::mutex_init(mutex, attributes) }
}

/// Destroys. `EBUSY` where somebody owns the mutex, or waits for a condition variable with it.
///
/// # Safety
///
/// As POSIX says.
#[no_mangle]
pub unsafe extern "C" fn pthread_mutex_destroy(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: The caller's.
    let Some(ours) = (unsafe { ours(mutex) }) else {
        // SAFETY: The caller's.
        return unsafe { glibc::mutex_destroy(mutex) };
    };
    if ours.is_in_use() {
        return EBUSY;
    }
    ours.destroy();
    0
}

/// Acquires, in the order of the calls where the lock is FIFO.
///
/// # Safety
///
/// As POSIX says.
#[no_mangle]
pub unsafe extern "C-unwind" fn pthread_mutex_lock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: The caller's.
    let Some(ours) = (unsafe { ours(mutex) }) else {
        // SAFETY: The caller's.
        return unsafe { glibc::mutex_lock(mutex) };
    };
    if stats::are_on() {
        stats::lock(ours);
    } else {
        (ops().lock)(ours);
    }
    0
}

/// Acquires if the mutex is free and nobody waits for it; else `EBUSY`.
///
/// # Safety
///
/// As POSIX says.
#[no_mangle]
pub unsafe extern "C-unwind" fn pthread_mutex_trylock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: The caller's.
    let Some(ours) = (unsafe { ours(mutex) }) else {
        // SAFETY: The caller's.
        return unsafe { glibc::mutex_trylock(mutex) };
    };
    let acquired = if stats::are_on() {
        stats::try_lock(ours)
    } else {
        (ops().try_lock)(ours)
    };
    if acquired {
        0
    } else {
        EBUSY
    }
}

/// Releases. `EPERM` where nobody owns the mutex.
///
/// # Safety
///
/// As POSIX says.
#[no_mangle]
pub unsafe extern "C-unwind" fn pthread_mutex_unlock(mutex: *mut pthread_mutex_t) -> c_int {
    // SAFETY: The caller's.
    let Some(ours) = (unsafe { ours(mutex) }) else {
        // SAFETY: The caller's.
        return unsafe { glibc::mutex_unlock(mutex) };
    };
    if stats::are_on() {
        stats::releases(ours);
    }
    hand_over(ours)
}

/// As [`pthread_mutex_clocklock`], by the real-time clock.
///
/// # Safety
///
/// As POSIX says.
#[no_mangle]
pub unsafe extern "C-unwind" fn pthread_mutex_timedlock(
    mutex: *mut pthread_mutex_t,
    limit: *const timespec,
) -> c_int {
    // SAFETY: The caller's.
    match unsafe { ours(mutex) } {
        // SAFETY: The caller's.
        Some(ours) => try_until(ours, CLOCK_REALTIME, unsafe { &*limit }),
        // SAFETY: The caller's.
        None => unsafe { glibc::mutex_timedlock(mutex, limit) },
    }
}

/// Acquires until the clock shows `limit`; `ETIMEDOUT` then.
///
/// A place in a FIFO lock's queue cannot be given up. So this tries again and again, with naps, and has no place.
///
/// # Safety
///
/// As glibc's manual says.
#[no_mangle]
pub unsafe extern "C-unwind" fn pthread_mutex_clocklock(
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    limit: *const timespec,
) -> c_int {
    // SAFETY: The caller's.
    match unsafe { ours(mutex) } {
        // SAFETY: The caller's.
        Some(ours) => try_until(ours, clock, unsafe { &*limit }),
        // SAFETY: The caller's.
        None => unsafe { glibc::mutex_clocklock(mutex, clock, limit) },
    }
}

fn try_until(mutex: &Mutex, clock: clockid_t, limit: &timespec) -> c_int {
    count(Call::TimedLock);
    if clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC {
        return EINVAL;
    }
    let mut naps = Naps::new();
    let came = if profile::is_on() { now_ns() } else { 0 };
    loop {
        if (ops().try_lock)(mutex) {
            profile::acquired(mutex, Some(came), false);
            return 0;
        }
        // Asked only of who would wait.
        if !is_time(limit) {
            return EINVAL;
        }
        let Some(left) = left(clock, limit) else {
            return ETIMEDOUT;
        };
        naps.nap(left);
    }
}

/// Whether the nanoseconds are of one second.
pub(crate) fn is_time(limit: &timespec) -> bool {
    (0..1_000_000_000).contains(&limit.tv_nsec)
}

/// How long it is until the clock shows `limit`.
fn left(clock: clockid_t, limit: &timespec) -> Option<Duration> {
    let mut now = timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: The clock is one of two that are there.
    unsafe { libc::clock_gettime(clock, &raw mut now) };
    let seconds = i128::from(limit.tv_sec) - i128::from(now.tv_sec);
    let nanoseconds = seconds * 1_000_000_000 + i128::from(limit.tv_nsec - now.tv_nsec);
    (nanoseconds > 0).then(|| Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX)))
}
