// SPDX-License-Identifier: GPL-2.0

//! What can be tortured: our locks and the kernel's, behind one call shape.
//!
//! Two calls out of line around each critical section, for every lock: the
//! kernel's are `_raw_spin_lock` and `_raw_spin_unlock`, ours are the two that
//! switch preemption off and on, with the lock's own steps inlined between.

use super::{
    lock::{SpinBackend, SpinRaw, SpinState},
    shim,
    word::{KernelTicket, KernelTwa, Linux},
    writer,
};
use crate::locks::{Busted, RawLock};
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

    /// Whether tickets, counted from 0, are admitted in order.
    const FIFO: bool;

    /// Makes a free lock.
    ///
    /// # Safety
    ///
    /// `state` must be valid for writes.
    unsafe fn init(state: *mut Self::State);

    /// Acquires. Returns the ticket, where there are tickets.
    ///
    /// # Safety
    ///
    /// `state` must be initialised and stay so while anybody uses it.
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

    unsafe fn init(state: *mut Self::State) {
        let (name, key) = class();
        // SAFETY: By this function's contract; name and key are static.
        unsafe { <Self as Backend>::init(state, name, key) };
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
struct KernelSpin;

// SAFETY: The kernel's spinlock excludes.
unsafe impl Subject for KernelSpin {
    type State = raw_spinlock;
    const EXCLUDES: bool = true;
    const FIFO: bool = false;

    unsafe fn init(state: *mut Self::State) {
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
struct BustedSpin;

// SAFETY: It says that it does not exclude.
unsafe impl Subject for BustedSpin {
    type State = Busted;
    const EXCLUDES: bool = <Busted as RawLock<Linux>>::EXCLUDES;
    const FIFO: bool = <Busted as RawLock<Linux>>::FIFO;

    unsafe fn init(state: *mut Self::State) {
        // SAFETY: By this function's contract.
        unsafe { state.write(Busted) };
    }

    #[inline(always)]
    unsafe fn lock(state: *mut Self::State) -> u32 {
        // SAFETY: Paired with `preempt_enable` in `unlock`.
        unsafe { shim::handover_preempt_disable() };
        // SAFETY: By this function's contract.
        unsafe { &*state }.lock(&Linux)
    }

    #[inline(always)]
    unsafe fn unlock(state: *mut Self::State, ticket: u32) {
        // SAFETY: By this function's contract.
        unsafe { &*state }.unlock(&Linux, ticket);
        // SAFETY: Paired with `preempt_disable` in `lock`.
        unsafe { shim::handover_preempt_enable() };
    }
}

/// Room for any lock, alone in its cache lines.
#[repr(C, align(128))]
pub(crate) struct LockCell(UnsafeCell<MaybeUninit<[u8; LockCell::SIZE]>>);

// SAFETY: What is in the cell is a lock, which every thread may use.
unsafe impl Sync for LockCell {}
// SAFETY: No lock here knows its thread.
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

    /// Where the lock's words are.
    #[inline(always)]
    pub(crate) fn state<S: Subject>(&self) -> *mut S::State {
        const { assert!(size_of::<S::State>() <= Self::SIZE) };
        const { assert!(align_of::<S::State>() <= 128) };
        self.0.get().cast()
    }
}

/// A lock that can be named.
pub(crate) struct Entry {
    /// Its name in `torture_type`.
    pub(crate) name: &'static str,
    /// What it is and promises, for people.
    pub(crate) about: &'static str,
    /// Whether it is a lock at all; `all` means those that are.
    pub(crate) excludes: bool,
    /// Makes a free lock in a cell that nobody uses.
    pub(crate) init: fn(&mut LockCell),
    /// What a writer's kthread runs.
    pub(crate) writer: shim::ThreadFn,
}

impl Entry {
    const fn new<S: Subject>(name: &'static str, about: &'static str) -> Self {
        Self {
            name,
            about,
            excludes: S::EXCLUDES,
            init: |cell| {
                // SAFETY: The cell is big enough and nobody else uses it.
                unsafe { S::init(cell.state::<S>()) }
            },
            writer: writer::writer::<S>,
        }
    }
}

/// Every lock, in the order of `all`.
pub(crate) static LOCKS: &[Entry] = &[
    Entry::new::<SpinBackend<KernelTwa>>(
        "twa",
        "ticket lock with a waiting array (Dice and Kogan 2019): exclusion, FIFO",
    ),
    Entry::new::<SpinBackend<KernelTicket>>(
        "ticket",
        "classic ticket lock: exclusion, FIFO",
    ),
    #[cfg(not(CONFIG_PREEMPT_RT))]
    Entry::new::<KernelSpin>(
        "spin_lock",
        "the kernel's spin_lock(): exclusion; here the same code as raw_spin_lock, so their difference is noise",
    ),
    Entry::new::<KernelSpin>(
        "raw_spin_lock",
        "the kernel's raw_spin_lock(): exclusion",
    ),
    Entry::new::<BustedSpin>(
        "busted",
        "excludes nobody: the harness must find it",
    ),
];
