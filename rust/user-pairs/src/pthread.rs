// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A mutex of the C library.

use std::cell::UnsafeCell;

/// A mutex of the C library that stays where it is.
pub(crate) struct Mutex(UnsafeCell<libc::pthread_mutex_t>);

// SAFETY: The C library's functions are for threads.
unsafe impl Sync for Mutex {}
// SAFETY: Nobody owns it where it moves.
unsafe impl Send for Mutex {}

impl Mutex {
    /// One that is free.
    pub(crate) fn new() -> Self {
        Self(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER))
    }

    #[inline(always)]
    pub(crate) fn with(&self, section: impl FnOnce()) {
        // SAFETY: An initialised mutex.
        unsafe { libc::pthread_mutex_lock(self.0.get()) };
        section();
        // SAFETY: This thread owns it.
        unsafe { libc::pthread_mutex_unlock(self.0.get()) };
    }

    /// Its first bytes. They are the lock's, of whatever library.
    pub(crate) fn words(self) -> [u32; 2] {
        // SAFETY: Nobody has the mutex, which begins with words.
        unsafe { self.0.get().cast::<[u32; 2]>().read() }
    }
}
