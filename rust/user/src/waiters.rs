// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Threads that wait for a signal: what a condition variable is made of.

use core::{
    cell::UnsafeCell,
    ptr,
    sync::atomic::{
        AtomicPtr, AtomicU32,
        Ordering::{Acquire, Relaxed, Release},
    },
    time::Duration,
};

use handover_locks::RawLock;

use crate::{futex, Free, Home, OneWordTwa, Park};

/// A list of threads that wait for a signal, the longest waiting first.
///
/// Each waiter lies on its thread's stack, and has a word of its own to sleep on.
///
/// # Promises
///
/// A signal wakes the thread that waits longest, and no later thread can take it. Each wait ends by one signal or by its time
/// limit, and not spuriously. The list is whole after a waiter has left.
///
/// | who | does | order |
/// |---|---|---|
/// | waits | links itself, then releases what the caller holds | the list's lock |
/// | signals | looks for a waiter | relaxed: who acquires after a waiter's release sees the waiter |
/// | signals | takes a waiter off, then stores [`SIGNALLED`](Waiter::SIGNALLED) | release, pairs with the acquires in `wait` and `leave` |
///
/// After that store a signal touches neither the waiter nor the list. So a woken thread may free both.
///
/// # Cost
///
/// A signal that finds no waiter is a load. Any other is a lock of the list, and a system call a waiter. All bytes of an
/// empty list are 0.
///
/// # Examples
///
/// ```
/// use handover_user::Waiters;
///
/// static READY: Waiters = Waiters::new();
///
/// assert!(!READY.signal());
/// std::thread::scope(|scope| {
///     let waiter = scope.spawn(|| READY.wait(|| (), None));
///     while !READY.signal() {}
///     assert!(waiter.join().unwrap());
/// });
/// ```
#[repr(C)]
pub struct Waiters {
    /// The longest waiting, or null. It is stored to under `lock` alone.
    first: AtomicPtr<Waiter>,
    /// The waiter that came last. It is accessed under `lock` alone.
    last: AtomicPtr<Waiter>,
    lock: OneWordTwa<Park>,
}

/// A thread in a list of [`Waiters`].
pub struct Waiter {
    /// The neighbours in the list. The list's lock guards both, and the next one.
    before: UnsafeCell<*mut Waiter>,
    after: UnsafeCell<*mut Waiter>,
    is_linked: UnsafeCell<bool>,
    state: AtomicU32,
}

impl Default for Waiter {
    fn default() -> Self {
        Self::new()
    }
}

impl Waiter {
    /// The state until a signal.
    pub const WAITS: u32 = 0;
    /// The state from a signal on.
    pub const SIGNALLED: u32 = 1;

    /// A thread that is in no list.
    pub const fn new() -> Self {
        Self {
            before: UnsafeCell::new(ptr::null_mut()),
            after: UnsafeCell::new(ptr::null_mut()),
            is_linked: UnsafeCell::new(false),
            state: AtomicU32::new(Self::WAITS),
        }
    }

    /// The word on which its thread sleeps: [`WAITS`](Self::WAITS) or [`SIGNALLED`](Self::SIGNALLED).
    pub const fn state(&self) -> &AtomicU32 {
        &self.state
    }
}

impl Default for Waiters {
    fn default() -> Self {
        Self::new()
    }
}

impl Waiters {
    /// Nobody waits.
    pub const fn new() -> Self {
        Self {
            first: AtomicPtr::new(ptr::null_mut()),
            last: AtomicPtr::new(ptr::null_mut()),
            lock: Free::FREE,
        }
    }

    /// Runs `f` on the list, alone.
    fn alone<T>(&self, f: impl FnOnce() -> T) -> T {
        // SAFETY: The token goes back once.
        let world = unsafe { Park::process() };
        let token = self.lock.lock(world);
        let result = f();
        self.lock.unlock(world, token);
        result
    }

    /// Links a waiter at the end.
    ///
    /// # Safety
    ///
    /// The waiter is in no list. It stays where it is until it has left, or is signalled.
    pub unsafe fn push(&self, waiter: *mut Waiter) {
        self.alone(|| {
            let last = self.last.load(Relaxed);
            // SAFETY: Linked waiters are there. The lock is held.
            unsafe {
                *(*waiter).before.get() = last;
                *(*waiter).is_linked.get() = true;
                if last.is_null() {
                    self.first.store(waiter, Relaxed);
                } else {
                    *(*last).after.get() = waiter;
                }
            }
            self.last.store(waiter, Relaxed);
        });
    }

    /// Unlinks a linked waiter.
    ///
    /// # Safety
    ///
    /// The caller holds the lock, and the waiter is linked here.
    unsafe fn unlink(&self, waiter: *mut Waiter) {
        // SAFETY: Linked waiters are there. The caller holds the lock.
        unsafe {
            let (before, after) = (*(*waiter).before.get(), *(*waiter).after.get());
            if before.is_null() {
                self.first.store(after, Relaxed);
            } else {
                *(*before).after.get() = after;
            }
            if after.is_null() {
                self.last.store(before, Relaxed);
            } else {
                *(*after).before.get() = before;
            }
            *(*waiter).is_linked.get() = false;
        }
    }

    /// Takes a waiter off the list. Whether no signal has; if one has, this returns after the signal's last access.
    ///
    /// # Safety
    ///
    /// The waiter was pushed here.
    pub unsafe fn leave(&self, waiter: *mut Waiter) -> bool {
        let was_linked = self.alone(|| {
            // SAFETY: The lock is held. A linked waiter is linked here.
            unsafe {
                let is_linked = *(*waiter).is_linked.get();
                if is_linked {
                    self.unlink(waiter);
                }
                is_linked
            }
        });
        // SAFETY: The waiter is the caller's.
        let state = unsafe { &(*waiter).state };
        // Acquire, pairs with the release in `signalled`.
        while !was_linked && state.load(Acquire) == Waiter::WAITS {
            futex::wait(state, Waiter::WAITS, u32::MAX);
        }
        was_linked
    }

    /// Wakes the thread that waits longest. Whether there was one.
    pub fn signal(&self) -> bool {
        if self.first.load(Relaxed).is_null() {
            return false;
        }
        let first = self.alone(|| {
            let first = self.first.load(Relaxed);
            if !first.is_null() {
                // SAFETY: The lock is held.
                unsafe { self.unlink(first) };
            }
            first
        });
        if !first.is_null() {
            // SAFETY: It waits until it is signalled, and nobody else can.
            unsafe { signalled(first) };
        }
        !first.is_null()
    }

    /// Wakes all threads that wait. How many there were.
    pub fn broadcast(&self) -> usize {
        if self.first.load(Relaxed).is_null() {
            return 0;
        }
        let mut next = self.alone(|| {
            let first = self.first.load(Relaxed);
            let mut waiter = first;
            while !waiter.is_null() {
                // SAFETY: Linked waiters are there. The lock is held.
                unsafe {
                    *(*waiter).is_linked.get() = false;
                    waiter = *(*waiter).after.get();
                }
            }
            self.first.store(ptr::null_mut(), Relaxed);
            self.last.store(ptr::null_mut(), Relaxed);
            first
        });
        let mut woken = 0;
        while !next.is_null() {
            // SAFETY: It waits until it is signalled. The next one is read before.
            unsafe {
                let waiter = next;
                next = *(*waiter).after.get();
                signalled(waiter);
            }
            woken += 1;
        }
        woken
    }

    /// Waits for a signal, at most for `limit`. Whether a signal came. `release` runs after the thread is in the list: a signal
    /// that comes later wakes it.
    pub fn wait(&self, release: impl FnOnce(), limit: Option<Duration>) -> bool {
        let until = limit.map(futex::from_now);
        let waiter = Waiter::new();
        let here = Here {
            waiters: self,
            waiter: (&raw const waiter).cast_mut(),
        };
        // SAFETY: It leaves below, or when `here` is dropped.
        unsafe { self.push(here.waiter) };
        release();
        core::mem::forget(here);
        // Acquire, pairs with the release in `signalled`.
        while waiter.state.load(Acquire) == Waiter::WAITS {
            if futex::wait_until(&waiter.state, Waiter::WAITS, until.as_ref()) {
                // SAFETY: It was pushed above.
                return !unsafe { self.leave((&raw const waiter).cast_mut()) };
            }
        }
        true
    }

    /// Nobody waits any more: for a child of a fork, into which no waiter of its parent comes.
    ///
    /// # Safety
    ///
    /// No other thread of this process uses the list, or has used it.
    pub unsafe fn forget(&self) {
        self.first.store(ptr::null_mut(), Relaxed);
        self.last.store(ptr::null_mut(), Relaxed);
        // SAFETY: The caller's. The lock of an empty list is free, which is 0.
        unsafe { (&raw const self.lock).cast_mut().cast::<u32>().write(0) };
    }
}

/// A waiter whose thread may unwind. Its signal is another's then.
struct Here<'a> {
    waiters: &'a Waiters,
    waiter: *mut Waiter,
}

impl Drop for Here<'_> {
    fn drop(&mut self) {
        // SAFETY: It was pushed.
        if !unsafe { self.waiters.leave(self.waiter) } {
            self.waiters.signal();
        }
    }
}

/// Tells a waiter that was taken off the list.
///
/// # Safety
///
/// It is there, and no other signal has taken it off.
unsafe fn signalled(waiter: *mut Waiter) {
    // SAFETY: The caller's. After the store the waiter may be gone, and its address is used alone.
    unsafe {
        let state = &raw const (*waiter).state;
        (*state).store(Waiter::SIGNALLED, Release);
        futex::wake(state, u32::MAX);
    }
}
