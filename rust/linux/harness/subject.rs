// SPDX-License-Identifier: GPL-2.0-only

//! What can be tortured: our locks and the kernel's, behind one call shape.
//!
//! Each critical section has two calls out of line around it, for every lock.
//! The kernel's are `_raw_spin_lock` and `_raw_spin_unlock`. Ours switch
//! preemption off and on, with the lock's own steps inlined between.

use super::shim;
use crate::{
    locks::{Busted, RawLock},
    spin::{self, Linux, SpinBackend, SpinRaw, SpinState},
};
use core::{cell::UnsafeCell, mem::MaybeUninit};
use kernel::{
    bindings::{lock_class_key, raw_spinlock},
    ffi::c_char,
    prelude::*,
    sync::lock::Backend,
};

/// A lock that a writer can take.
///
/// # Safety
///
/// `lock`, and nothing else, makes the caller the owner until `unlock`; unless
/// `EXCLUDES` is false.
pub(crate) unsafe trait Subject: 'static {
    /// The lock's words.
    type State;

    /// Whether it is a lock at all.
    const EXCLUDES: bool;

    /// Whether tickets, counted from the first, are admitted in order.
    const FIFO: bool;

    /// Makes a free lock; its first ticket is `first`, where there are tickets.
    ///
    /// # Safety
    ///
    /// `state` must be valid for writes.
    unsafe fn init(state: *mut Self::State, first: u32);

    /// Acquires. Returns the ticket, where there are tickets.
    ///
    /// # Safety
    ///
    /// `state` must be initialised and stay so while any thread uses it.
    unsafe fn lock(state: *mut Self::State) -> u32;

    /// Releases.
    ///
    /// # Safety
    ///
    /// The caller must own the lock by `lock`, which returned `ticket`.
    unsafe fn unlock(state: *mut Self::State, ticket: u32);
}

// SAFETY: `SpinRaw` promises exclusion.
unsafe impl<R: SpinRaw + 'static> Subject for SpinBackend<R> {
    type State = SpinState<R>;
    const EXCLUDES: bool = <R as RawLock<Linux>>::EXCLUDES;
    const FIFO: bool = <R as RawLock<Linux>>::FIFO;

    unsafe fn init(state: *mut Self::State, first: u32) {
        let (name, key) = class();
        // SAFETY: By this function's contract; name and key are static.
        unsafe { Self::init_from(state, first, name, key) };
    }

    #[inline(always)]
    unsafe fn lock(state: *mut Self::State) -> u32 {
        // SAFETY: By this function's contract.
        unsafe { <Self as Backend>::lock(state) }
    }

    #[inline(always)]
    unsafe fn unlock(state: *mut Self::State, ticket: u32) {
        // SAFETY: By this function's contract.
        unsafe { <Self as Backend>::unlock(state, &ticket) };
    }
}

/// A lock class for locks under torture, one for all of them.
fn class() -> (*const c_char, *mut lock_class_key) {
    (
        c"handover_torture".as_char_ptr(),
        kernel::static_lock_class!().as_ptr(),
    )
}

/// The kernel's spinlock, as C calls it: `raw_spin_lock()`, and on a kernel
/// without PREEMPT_RT `spin_lock()`, are the function called here.
pub(crate) struct KernelSpin;

// SAFETY: The kernel's spinlock excludes.
unsafe impl Subject for KernelSpin {
    type State = raw_spinlock;
    const EXCLUDES: bool = true;
    const FIFO: bool = false;

    unsafe fn init(state: *mut Self::State, _: u32) {
        // SAFETY: By this function's contract.
        unsafe { shim::handover_raw_spin_init(state) };
    }

    #[inline(always)]
    unsafe fn lock(state: *mut Self::State) -> u32 {
        // SAFETY: By this function's contract.
        unsafe { shim::raw_spin_lock(state) };
        0
    }

    #[inline(always)]
    unsafe fn unlock(state: *mut Self::State, _: u32) {
        // SAFETY: By this function's contract.
        unsafe { shim::raw_spin_unlock(state) };
    }
}

/// The lock that does not exclude, with preemption as for the others.
pub(crate) struct BustedSpin;

// SAFETY: It says that it does not exclude.
unsafe impl Subject for BustedSpin {
    type State = Busted;
    const EXCLUDES: bool = <Busted as RawLock<Linux>>::EXCLUDES;
    const FIFO: bool = <Busted as RawLock<Linux>>::FIFO;

    unsafe fn init(state: *mut Self::State, _: u32) {
        // SAFETY: By this function's contract.
        unsafe { state.write(Busted) };
    }

    #[inline(always)]
    unsafe fn lock(state: *mut Self::State) -> u32 {
        // SAFETY: Paired with `preempt_enable` in `unlock`.
        unsafe { spin::shim::handover_preempt_disable() };
        // SAFETY: By this function's contract.
        unsafe { &*state }.lock(&Linux)
    }

    #[inline(always)]
    unsafe fn unlock(state: *mut Self::State, ticket: u32) {
        // SAFETY: By this function's contract.
        unsafe { &*state }.unlock(&Linux, ticket);
        // SAFETY: Paired with `preempt_disable` in `lock`.
        unsafe { spin::shim::handover_preempt_enable() };
    }
}

/// Room for any lock, alone in its cache lines.
#[repr(C, align(128))]
pub(crate) struct LockCell(UnsafeCell<MaybeUninit<[u8; LockCell::SIZE]>>);

// SAFETY: What is in the cell is a lock, which every thread may use.
unsafe impl Sync for LockCell {}
// SAFETY: No lock is held when it is moved. A `raw_spinlock_t` knows the thread that holds it,
// under CONFIG_DEBUG_SPINLOCK; no lock here knows another.
unsafe impl Send for LockCell {}

impl LockCell {
    const SIZE: usize = 256;

    /// An empty cell.
    pub(crate) fn new() -> Self {
        Self(UnsafeCell::new(MaybeUninit::uninit()))
    }

    /// The same for the kernel's raw spinlock.
    pub(crate) fn raw_state(&self) -> *mut raw_spinlock {
        self.state::<KernelSpin>()
    }

    /// The address of the lock's words.
    #[inline(always)]
    pub(crate) fn state<S: Subject>(&self) -> *mut S::State {
        const { assert!(size_of::<S::State>() <= Self::SIZE) };
        const { assert!(align_of::<S::State>() <= 128) };
        self.0.get().cast()
    }
}
