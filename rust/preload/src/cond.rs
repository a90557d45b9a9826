// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Condition variables.
//!
//! glibc's own release the mutex by internal calls, past this library. So those of one process are wholly ours: a list of
//! [`Waiters`] in their own bytes. After a signal that has found a waiter, nothing touches the condition variable. So a woken
//! thread may destroy it.

use core::{
    ffi::c_void,
    hint,
    mem::{offset_of, MaybeUninit},
    ptr,
    sync::atomic::{
        AtomicI32, AtomicU32, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use handover_user::{Waiter, Waiters};
use libc::{
    c_int, c_long, clockid_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t, timespec,
    CLOCK_MONOTONIC, CLOCK_REALTIME, EINVAL, ETIMEDOUT,
};

use crate::{
    fork, glibc,
    mutex::{acquire, is_time, release},
    said,
    stats::{count, Call},
};

/// A condition variable of glibc, as its header declares it: 48 bytes, all 0 where it is initialised.
#[repr(C)]
struct Cond {
    waiters: Waiters,
    /// The process that used it last; 0 where none has.
    generation: AtomicU32,
    /// 0, as the next one but one: glibc says 'process shared' in one of the two, by version.
    of_glibc_2_41: u32,
    /// The clock of `pthread_cond_timedwait`.
    clock: AtomicI32,
    of_glibc_2_36: u32,
    rest: u64,
}

const _: () = assert!(size_of::<Cond>() == size_of::<pthread_cond_t>());

/// While a thread empties the list that the parent has left.
const EMPTYING: u32 = u32::MAX;

impl Cond {
    /// Before this process uses it: who waited in the parent is not here.
    #[inline]
    fn here(&self) -> &Self {
        // Acquire, pairs with the release in `empty`.
        if self.generation.load(Acquire) != fork::generation() {
            self.empty();
        }
        self
    }

    #[cold]
    fn empty(&self) {
        let here = fork::generation();
        loop {
            let seen = self.generation.load(Acquire);
            if seen == here {
                return;
            }
            if seen != EMPTYING
                && self
                    .generation
                    .compare_exchange(seen, EMPTYING, Relaxed, Relaxed)
                    .is_ok()
            {
                if seen != 0 {
                    // SAFETY: Nobody of this process has used it.
                    unsafe { self.waiters.forget() };
                }
                self.generation.store(here, Release);
                return;
            }
            hint::spin_loop();
        }
    }
}

/// Where glibc says 'process shared', and by which bits: none before anybody has looked.
static SHARED: (AtomicUsize, AtomicU32) = (AtomicUsize::new(0), AtomicU32::new(0));

/// Initialises two condition variables, one shared, and looks where they differ. All threads find the same.
#[cold]
pub(crate) fn probe() {
    let [alone, shared] = [libc::PTHREAD_PROCESS_PRIVATE, libc::PTHREAD_PROCESS_SHARED].map(words);
    let mut differ = (0..alone.len()).filter(|&index| alone[index] != shared[index]);
    let allowed = [
        offset_of!(Cond, of_glibc_2_41),
        offset_of!(Cond, of_glibc_2_36),
    ];
    match (differ.next(), differ.next()) {
        (Some(word), None) if allowed.contains(&(word * 4)) => {
            SHARED.0.store(word * 4, Relaxed);
            // Release, pairs with the acquire in `ours`.
            SHARED.1.store(alone[word] ^ shared[word], Release);
        }
        _ => said::end(format_args!(
            "this C library marks shared condition variables in an unknown place"
        )),
    }
}

fn words(sharing: c_int) -> [u32; 12] {
    let mut attributes = MaybeUninit::<pthread_condattr_t>::uninit();
    let mut words = [0; 12];
    // SAFETY: All are there. A condition variable that was initialised and not used need not be destroyed.
    unsafe {
        libc::pthread_condattr_init(attributes.as_mut_ptr());
        libc::pthread_condattr_setpshared(attributes.as_mut_ptr(), sharing);
        glibc::cond_init((&raw mut words).cast(), attributes.as_ptr());
        libc::pthread_condattr_destroy(attributes.as_mut_ptr());
    }
    words
}

/// The condition variable, if it is ours.
///
/// # Safety
///
/// `cond` is a condition variable.
#[inline]
unsafe fn ours<'a>(cond: *mut pthread_cond_t) -> Option<&'a Cond> {
    // Another library's constructor may call before this one's.
    // Acquire, pairs with the release in `probe`.
    if SHARED.1.load(Acquire) == 0 {
        probe();
    }
    // SAFETY: The word lies in it. All that is accessed is atomic.
    unsafe {
        let shared = &*cond.byte_add(SHARED.0.load(Relaxed)).cast::<AtomicU32>();
        if shared.load(Relaxed) & SHARED.1.load(Relaxed) == 0 {
            return Some((*cond.cast::<Cond>()).here());
        }
    }
    count(Call::LeftCond);
    None
}

/// Initialises.
///
/// # Safety
///
/// As POSIX says.
#[no_mangle]
pub unsafe extern "C" fn pthread_cond_init(
    cond: *mut pthread_cond_t,
    attributes: *const pthread_condattr_t,
) -> c_int {
    let (mut clock, mut sharing) = (CLOCK_REALTIME, libc::PTHREAD_PROCESS_PRIVATE);
    // SAFETY: The caller's.
    unsafe {
        if !attributes.is_null() {
            libc::pthread_condattr_getclock(attributes, &raw mut clock);
            libc::pthread_condattr_getpshared(attributes, &raw mut sharing);
        }
        if sharing != libc::PTHREAD_PROCESS_PRIVATE {
            return glibc::cond_init(cond, attributes);
        }
        ptr::write_bytes(cond.cast::<u8>(), 0, size_of::<Cond>());
        (*cond.cast::<Cond>()).clock.store(clock, Relaxed);
    }
    0
}

/// Destroys. Threads that were signalled need it no more.
///
/// # Safety
///
/// As POSIX says.
#[no_mangle]
pub unsafe extern "C" fn pthread_cond_destroy(cond: *mut pthread_cond_t) -> c_int {
    // SAFETY: The caller's.
    match unsafe { ours(cond) } {
        Some(_) => 0,
        // SAFETY: The caller's.
        None => unsafe { glibc::cond_destroy(cond) },
    }
}

/// Wakes the thread that waits longest.
///
/// # Safety
///
/// As POSIX says.
#[no_mangle]
pub unsafe extern "C" fn pthread_cond_signal(cond: *mut pthread_cond_t) -> c_int {
    // SAFETY: The caller's.
    let Some(ours) = (unsafe { ours(cond) }) else {
        // SAFETY: The caller's.
        return unsafe { glibc::cond_signal(cond) };
    };
    count(Call::Signal);
    ours.waiters.signal();
    0
}

/// Wakes all threads that wait.
///
/// # Safety
///
/// As POSIX says.
#[no_mangle]
pub unsafe extern "C" fn pthread_cond_broadcast(cond: *mut pthread_cond_t) -> c_int {
    // SAFETY: The caller's.
    let Some(ours) = (unsafe { ours(cond) }) else {
        // SAFETY: The caller's.
        return unsafe { glibc::cond_broadcast(cond) };
    };
    count(Call::Broadcast);
    ours.waiters.broadcast();
    0
}

/// Waits for a signal.
///
/// # Safety
///
/// As POSIX says.
#[no_mangle]
pub unsafe extern "C-unwind" fn pthread_cond_wait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
) -> c_int {
    // SAFETY: The caller's.
    match unsafe { ours(cond) } {
        // SAFETY: The caller's.
        Some(ours) => unsafe { wait_until(ours, mutex, CLOCK_REALTIME, None) },
        // SAFETY: The caller's.
        None => unsafe { glibc::cond_wait(cond, mutex) },
    }
}

/// Waits for a signal until the condition variable's clock shows `limit`; `ETIMEDOUT` then.
///
/// # Safety
///
/// As POSIX says.
#[no_mangle]
pub unsafe extern "C-unwind" fn pthread_cond_timedwait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    limit: *const timespec,
) -> c_int {
    // SAFETY: The caller's.
    match unsafe { ours(cond) } {
        // SAFETY: The caller's.
        Some(ours) => unsafe { wait_until(ours, mutex, ours.clock.load(Relaxed), Some(&*limit)) },
        // SAFETY: The caller's.
        None => unsafe { glibc::cond_timedwait(cond, mutex, limit) },
    }
}

/// Waits for a signal until `clock` shows `limit`; `ETIMEDOUT` then.
///
/// # Safety
///
/// As glibc's manual says.
#[no_mangle]
pub unsafe extern "C-unwind" fn pthread_cond_clockwait(
    cond: *mut pthread_cond_t,
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    limit: *const timespec,
) -> c_int {
    // SAFETY: The caller's.
    match unsafe { ours(cond) } {
        // SAFETY: The caller's.
        Some(ours) => unsafe { wait_until(ours, mutex, clock, Some(&*limit)) },
        // SAFETY: The caller's.
        None => unsafe { glibc::cond_clockwait(cond, mutex, clock, limit) },
    }
}

/// `struct _pthread_cleanup_buffer` of glibc.
#[repr(C)]
struct Cleanup([*mut c_void; 4]);

extern "C-unwind" {
    fn _pthread_cleanup_push(
        buffer: *mut Cleanup,
        handler: extern "C-unwind" fn(*mut c_void),
        argument: *mut c_void,
    );
    fn _pthread_cleanup_pop(buffer: *mut Cleanup, runs: c_int);
    fn pthread_setcanceltype(how: c_int, before: *mut c_int) -> c_int;
    fn syscall(number: c_long, ...) -> c_long;
}

/// glibc's `PTHREAD_CANCEL_ASYNCHRONOUS`: a thread is cancelled at once, not at its next call.
const AT_ONCE: c_int = 1;

/// What a cancelled thread needs.
struct Given<'a> {
    waiters: &'a Waiters,
    mutex: *mut pthread_mutex_t,
    waiter: *mut Waiter,
}

/// A thread was cancelled while it waited. It takes no signal with it, and has the mutex before the program's handlers run.
extern "C-unwind" fn cancelled(given: *mut c_void) {
    // SAFETY: The frame of `wait_until` is there while its handler runs.
    unsafe {
        let given = &*given.cast::<Given<'_>>();
        if !given.waiters.leave(given.waiter) {
            given.waiters.signal();
        }
        acquire(given.mutex);
    }
}

/// Releases the mutex, waits, acquires the mutex.
///
/// A cancelled thread leaves this frame by unwinding. So nothing in it has a destructor.
///
/// # Safety
///
/// The caller owns the mutex.
unsafe extern "C-unwind" fn wait_until(
    cond: &Cond,
    mutex: *mut pthread_mutex_t,
    clock: clockid_t,
    limit: Option<&timespec>,
) -> c_int {
    count(if limit.is_some() {
        Call::TimedWait
    } else {
        Call::Wait
    });
    if clock != CLOCK_REALTIME && clock != CLOCK_MONOTONIC
        || limit.is_some_and(|limit| !is_time(limit))
    {
        return EINVAL;
    }
    let (waiter, waiters) = (Waiter::new(), &cond.waiters);
    let given = Given {
        waiters,
        mutex,
        waiter: (&raw const waiter).cast_mut(),
    };
    // SAFETY: The waiter leaves before this returns, or is taken off by a signal.
    unsafe { waiters.push(given.waiter) };
    // SAFETY: The caller's.
    let released = unsafe { release(mutex) };
    if released != 0 {
        // SAFETY: It was pushed above.
        if !unsafe { waiters.leave(given.waiter) } {
            waiters.signal();
        }
        return released;
    }
    // SAFETY: Buffer and arguments live until the handler is popped.
    let is_over = unsafe {
        let mut cleanup = Cleanup([ptr::null_mut(); 4]);
        _pthread_cleanup_push(
            &raw mut cleanup,
            cancelled,
            (&raw const given).cast_mut().cast(),
        );
        let is_over = sleep(waiter.state(), clock, limit);
        _pthread_cleanup_pop(&raw mut cleanup, 0);
        is_over
    };
    // SAFETY: It was pushed above.
    let timed_out = is_over && unsafe { waiters.leave(given.waiter) };
    // SAFETY: The caller owned it.
    match unsafe { acquire(mutex) } {
        0 if timed_out => ETIMEDOUT,
        acquired => acquired,
    }
}

/// The operation by which a thread sleeps, with a limit by this clock.
const fn wait_operation(clock: clockid_t) -> c_int {
    let operation = libc::FUTEX_WAIT_BITSET | libc::FUTEX_PRIVATE_FLAG;
    if clock == CLOCK_REALTIME {
        operation | libc::FUTEX_CLOCK_REALTIME
    } else {
        operation
    }
}

/// Sleeps until the state is not [`Waiter::WAITS`], or until the limit. Whether it ended by the limit. A thread can be cancelled here, at
/// once.
///
/// # Safety
///
/// What is due when the thread is cancelled is registered.
unsafe extern "C-unwind" fn sleep(
    state: &AtomicU32,
    clock: clockid_t,
    limit: Option<&timespec>,
) -> bool {
    let operation = wait_operation(clock);
    // A time before the clock's begin is over. The kernel takes none.
    if limit.is_some_and(|limit| limit.tv_sec < 0) {
        return true;
    }
    let limit = limit.map_or(ptr::null(), ptr::from_ref);
    let mut before = 0;
    let mut is_over = false;
    // SAFETY: The word has four bytes, and the limit is there, if any. The caller says what happens to who is cancelled.
    unsafe {
        pthread_setcanceltype(AT_ONCE, &raw mut before);
        // Acquire, pairs with the signal's release.
        while state.load(Acquire) == Waiter::WAITS && !is_over {
            let rc = syscall(
                libc::SYS_futex,
                ptr::from_ref(state),
                operation,
                Waiter::WAITS,
                limit,
                ptr::null::<u32>(),
                libc::FUTEX_BITSET_MATCH_ANY,
            );
            is_over = rc == -1 && *libc::__errno_location() == ETIMEDOUT;
        }
        pthread_setcanceltype(before, ptr::null_mut());
    }
    is_over
}
