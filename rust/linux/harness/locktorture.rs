// SPDX-License-Identifier: GPL-2.0-only

//! What the kernel's locktorture calls of a lock (`qemu/patches`).

use super::{
    arena::Once,
    subject::{LockCell, Subject, REFUSED},
};
use crate::measure::perturb::MAX_NESTED;
use core::cell::UnsafeCell;

/// The nested locks of a type.
const NESTED: usize = MAX_NESTED as usize;

/// The locks of a type: one that excludes, and those that are nested before it.
pub(crate) struct Cells {
    locks: [LockCell; 1 + NESTED],
    /// The token of each, between its lock and its unlock.
    tokens: [UnsafeCell<u32>; 1 + NESTED],
    /// How often one of the locks was refused. Two at one moment may count once.
    refusals: Once<u32>,
    /// Whether each nested lock was ever acquired. Its owner writes it.
    were_acquired: [Once<bool>; NESTED],
}

// SAFETY: Only a lock's owner accesses its token. A lock that does not exclude is a control: its token may be
// lost, and it needs none.
unsafe impl Sync for Cells {}

impl Cells {
    /// Room for the locks; there are none yet.
    pub(crate) const fn new() -> Self {
        Self {
            locks: [const { LockCell::new() }; 1 + NESTED],
            tokens: [const { UnsafeCell::new(0) }; 1 + NESTED],
            refusals: Once::new(0),
            were_acquired: [const { Once::new(false) }; NESTED],
        }
    }

    /// Makes the locks.
    ///
    /// # Safety
    ///
    /// No other thread uses them.
    pub(crate) unsafe fn init<S: Subject>(&self) {
        for (nest, lock) in self.locks.iter().enumerate() {
            // SAFETY: By this function's contract. Tickets begin below the wrap.
            unsafe { S::init(lock.state::<S>(), 0u32.wrapping_sub(1000), nest) };
        }
    }

    /// Acquires lock `at`. One that refuses is asked again: locktorture goes on as the owner, whatever is returned.
    ///
    /// # Safety
    ///
    /// `init` made the locks as of this type.
    unsafe fn lock<S: Subject>(&self, at: usize) {
        let token = loop {
            // SAFETY: By this function's contract.
            let token = unsafe { S::lock(self.locks[at].state::<S>()) };
            if !S::REFUSES || token != REFUSED {
                break token;
            }
            let before = self.refusals.read();
            self.refusals.write(before.saturating_add(1));
            // The console is judged. Once: a deadlock would fill it.
            kernel::warn_on!(before == 0);
        };
        // SAFETY: This thread owns the lock.
        unsafe { self.tokens[at].get().write_volatile(token) };
    }

    /// Releases lock `at`.
    ///
    /// # Safety
    ///
    /// This thread acquired it by `lock`.
    unsafe fn unlock<S: Subject>(&self, at: usize) {
        // SAFETY: This thread owns the lock.
        let token = unsafe { self.tokens[at].get().read_volatile() };
        // SAFETY: By this function's contract.
        unsafe { S::unlock(self.locks[at].state::<S>(), token) };
    }

    /// Acquires the lock that excludes.
    ///
    /// # Safety
    ///
    /// As `lock`.
    pub(crate) unsafe fn write_lock<S: Subject>(&self) {
        // SAFETY: By this function's contract.
        unsafe { self.lock::<S>(0) };
    }

    /// Releases it.
    ///
    /// # Safety
    ///
    /// As `unlock`.
    pub(crate) unsafe fn write_unlock<S: Subject>(&self) {
        // SAFETY: By this function's contract.
        unsafe { self.unlock::<S>(0) };
    }

    /// The nested locks that were ever acquired, a bit each.
    pub(crate) fn nested(&self) -> u32 {
        let were = self.were_acquired.iter().enumerate();
        were.map(|(at, was)| u32::from(was.read()) << at).sum()
    }

    /// Has refusals told no more, as after so many.
    #[cfg(CONFIG_KUNIT = "y")]
    pub(crate) fn hush(&self, refusals: u32) {
        self.refusals.write(refusals);
    }

    /// How many there were.
    #[cfg(CONFIG_KUNIT = "y")]
    pub(crate) fn refusals(&self) -> u32 {
        self.refusals.read()
    }

    /// Acquires the nested locks of `set`, a bit each, the lowest first.
    ///
    /// # Safety
    ///
    /// As `lock`.
    pub(crate) unsafe fn nested_lock<S: Subject>(&self, set: u32) {
        for at in (0..NESTED).filter(|at| set >> at & 1 != 0) {
            // SAFETY: By this function's contract.
            unsafe { self.lock::<S>(1 + at) };
            // Once: the line is all writers'.
            if !self.were_acquired[at].read() {
                self.were_acquired[at].write(true);
            }
        }
    }

    /// Releases them, the highest first.
    ///
    /// # Safety
    ///
    /// As `unlock`, of each.
    pub(crate) unsafe fn nested_unlock<S: Subject>(&self, set: u32) {
        for at in (0..NESTED).rev().filter(|at| set >> at & 1 != 0) {
            // SAFETY: By this function's contract.
            unsafe { self.unlock::<S>(1 + at) };
        }
    }
}

/// What locktorture calls of a lock: functions of its own, for locktorture passes no lock.
macro_rules! tortured {
    ($name:ident, $subject:ty) => {
        static CELLS: crate::harness::locktorture::Cells =
            crate::harness::locktorture::Cells::new();

        fn nested_of_tortured() -> u32 {
            CELLS.nested()
        }

        fn make_tortured() {
            // SAFETY: Only the module's init calls it.
            unsafe { CELLS.init::<$subject>() };
        }

        /// # Safety
        ///
        /// [`make_tortured`] was called.
        unsafe extern "C" fn write_lock(_: c_int) -> c_int {
            // SAFETY: By this function's contract.
            unsafe { CELLS.write_lock::<$subject>() };
            0
        }

        /// # Safety
        ///
        /// This thread called [`write_lock`].
        unsafe extern "C" fn write_unlock(_: c_int) {
            // SAFETY: By this function's contract.
            unsafe { CELLS.write_unlock::<$subject>() };
        }

        /// # Safety
        ///
        /// [`make_tortured`] was called.
        unsafe extern "C" fn nested_lock(_: c_int, set: u32) -> c_int {
            // SAFETY: By this function's contract.
            unsafe { CELLS.nested_lock::<$subject>(set) };
            0
        }

        /// # Safety
        ///
        /// This thread called [`nested_lock`] with this set.
        unsafe extern "C" fn nested_unlock(_: c_int, set: u32) {
            // SAFETY: By this function's contract.
            unsafe { CELLS.nested_unlock::<$subject>(set) };
        }

        const TORTURED: crate::harness::shim::TortureCalls = crate::harness::shim::TortureCalls {
            name: concat!("handover_", stringify!($name), "\0")
                .as_ptr()
                .cast(),
            lock: write_lock,
            unlock: write_unlock,
            nested_lock,
            nested_unlock,
        };
    };
}
pub(crate) use tortured;
