// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The C library's own functions, for what is not ours.

use core::{
    ffi::CStr,
    ptr,
    sync::atomic::{AtomicPtr, Ordering::Relaxed},
};

use libc::{
    c_int, c_void, clockid_t, pthread_cond_t, pthread_condattr_t, pthread_mutex_t,
    pthread_mutexattr_t, timespec,
};

use crate::said;

/// A function of the C library.
pub(crate) struct Real {
    name: &'static CStr,
    version: &'static CStr,
    found: AtomicPtr<c_void>,
}

impl Real {
    const fn new(name: &'static CStr, version: &'static CStr) -> Self {
        Self {
            name,
            version,
            found: AtomicPtr::new(ptr::null_mut()),
        }
    }

    /// Its address.
    #[inline]
    fn address(&self) -> *mut c_void {
        let found = self.found.load(Relaxed);
        if found.is_null() {
            self.find()
        } else {
            found
        }
    }

    /// Looks it up.
    ///
    /// By version: some C libraries give the oldest one otherwise, whose condition variables are others (glibc bug 14932).
    #[cold]
    fn find(&self) -> *mut c_void {
        // SAFETY: Both names end with 0. All threads find the same.
        let found =
            unsafe { libc::dlvsym(libc::RTLD_NEXT, self.name.as_ptr(), self.version.as_ptr()) };
        if found.is_null() {
            said::end(format_args!(
                "this C library has no {}@{}; needed: glibc 2.34 or newer",
                self.name.to_str().unwrap_or_default(),
                self.version.to_str().unwrap_or_default()
            ));
        }
        self.found.store(found, Relaxed);
        found
    }
}

macro_rules! real {
    ($($name:ident @ $version:literal ($($argument:ident: $type:ty),*);)*) => { $(
        /// glibc's function of this name.
        ///
        /// # Safety
        ///
        /// As that function's.
        #[inline]
        pub(crate) unsafe extern "C-unwind" fn $name($($argument: $type),*) -> c_int {
            // SAFETY: The function of this name has this type. The caller says the rest.
            unsafe {
                let real: unsafe extern "C-unwind" fn($($type),*) -> c_int = core::mem::transmute($name::REAL.address());
                real($($argument),*)
            }
        }

        mod $name {
            use super::{CStr, Real};

            pub(super) static REAL: Real = Real::new(
                match CStr::from_bytes_with_nul(concat!("pthread_", stringify!($name), "\0").as_bytes()) {
                    Ok(name) => name,
                    Err(_) => panic!(),
                },
                $version,
            );
        }
    )*

    /// Looks all of them up before the program runs. Later the loader's lock may be held by a thread that waits for a mutex.
    pub(crate) fn find_all() {
        $($name::REAL.find();)*
    }
    };
}

real! {
    mutex_init @ c"GLIBC_2.2.5" (mutex: *mut pthread_mutex_t, attributes: *const pthread_mutexattr_t);
    mutex_destroy @ c"GLIBC_2.2.5" (mutex: *mut pthread_mutex_t);
    mutex_lock @ c"GLIBC_2.2.5" (mutex: *mut pthread_mutex_t);
    mutex_unlock @ c"GLIBC_2.2.5" (mutex: *mut pthread_mutex_t);
    mutex_trylock @ c"GLIBC_2.34" (mutex: *mut pthread_mutex_t);
    mutex_timedlock @ c"GLIBC_2.34" (mutex: *mut pthread_mutex_t, limit: *const timespec);
    mutex_clocklock @ c"GLIBC_2.34" (mutex: *mut pthread_mutex_t, clock: clockid_t, limit: *const timespec);
    cond_init @ c"GLIBC_2.3.2" (cond: *mut pthread_cond_t, attributes: *const pthread_condattr_t);
    cond_destroy @ c"GLIBC_2.3.2" (cond: *mut pthread_cond_t);
    cond_wait @ c"GLIBC_2.3.2" (cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t);
    cond_timedwait @ c"GLIBC_2.3.2" (cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, limit: *const timespec);
    cond_clockwait @ c"GLIBC_2.34" (cond: *mut pthread_cond_t, mutex: *mut pthread_mutex_t, clock: clockid_t, limit: *const timespec);
    cond_signal @ c"GLIBC_2.3.2" (cond: *mut pthread_cond_t);
    cond_broadcast @ c"GLIBC_2.3.2" (cond: *mut pthread_cond_t);
}
