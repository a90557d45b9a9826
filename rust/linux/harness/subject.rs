// SPDX-License-Identifier: GPL-2.0-only

//! What can be tortured, behind one call shape: our locks here, and the kernel's in `kernels.rs`.
//!
//! Each critical section has two calls out of line around it, for every lock.
//! [`Shape`] says which. The kernel's are `_raw_spin_lock` and `_raw_spin_unlock`.
//! Ours switch preemption off and on, with the lock's own steps inlined between.

use super::pairs::{Shape, PAIRS};
use crate::{
    locks::{Make, RawLock},
    measure::perturb::MAX_NESTED,
    spin::{self, Linux, Off, SpinBackend, SpinRaw, SpinState, Token, Word},
};
use core::{cell::UnsafeCell, marker::PhantomData, mem::MaybeUninit};
use kernel::{
    bindings::lock_class_key,
    ffi::c_char,
    prelude::*,
    sync::lock::{Backend, Lock},
};

/// The token of a lock that was not given. No lock that refuses has tickets.
pub(crate) const REFUSED: u32 = u32::MAX;

/// A lock that a writer can take.
///
/// # Safety
///
/// `lock` and a `try_lock` that succeeds, and nothing else, make the caller the owner until `unlock`. Exceptions are a
/// lock of which `EXCLUDES` is false, and the token [`REFUSED`].
pub(crate) unsafe trait Subject: 'static {
    /// The lock's words.
    type State;

    /// Whether it is a lock at all.
    const EXCLUDES: bool;

    /// How many bits a ticket has, where tokens are tickets, counted from the first and admitted in
    /// order; else 0.
    const TICKET_BITS: u32;

    /// How a section calls it.
    const SHAPE: Shape;

    /// Whether its owner has interrupts off, so that their handlers may take it.
    const IS_IRQ: bool = false;

    /// Whether `lock` may return [`REFUSED`]: the caller would wait for ever, and does not own the lock.
    const REFUSES: bool = false;

    /// Makes a free lock; its first ticket is `first`, where there are tickets. To lockdep it is of the class
    /// `nest` of its kind.
    ///
    /// # Safety
    ///
    /// `state` must be valid for writes.
    unsafe fn init(state: *mut Self::State, first: u32, nest: usize);

    /// Acquires. Returns the token.
    ///
    /// # Safety
    ///
    /// `state` must be initialised and stay so while any thread uses it.
    unsafe fn lock(state: *mut Self::State) -> u32;

    /// Acquires if the lock is free and nobody waits. Returns the token.
    ///
    /// # Safety
    ///
    /// As `lock`.
    unsafe fn try_lock(state: *mut Self::State) -> Option<u32>;

    /// Releases. A lock that was refused stays as it is.
    ///
    /// # Safety
    ///
    /// The caller must own the lock by `lock` or `try_lock`, which returned `token`; or that is [`REFUSED`].
    unsafe fn unlock(state: *mut Self::State, token: u32);

    /// `lock`, by a writer whose generator has this state. A lock that records its writers' work keeps it; it costs no
    /// other lock anything.
    ///
    /// # Safety
    ///
    /// As `lock`.
    #[inline(always)]
    unsafe fn lock_at(state: *mut Self::State, _: u64) -> u32 {
        // SAFETY: By this function's contract.
        unsafe { Self::lock(state) }
    }

    /// `unlock`, as [`Subject::lock_at`].
    ///
    /// # Safety
    ///
    /// As `unlock`.
    #[inline(always)]
    unsafe fn unlock_at(state: *mut Self::State, token: u32, _: u64) {
        // SAFETY: By this function's contract.
        unsafe { Self::unlock(state, token) };
    }

    /// The pair that is timed: that of the public type, where there is one.
    ///
    /// # Safety
    ///
    /// `state` must be initialised and stay so meanwhile.
    #[inline(always)]
    unsafe fn pair(state: *mut Self::State) {
        // SAFETY: By this function's contract.
        let token = unsafe { Self::lock(state) };
        // SAFETY: Locked above.
        unsafe { Self::unlock(state, token) };
    }

    /// The pairs of a sample, for a function of each lock and layout.
    ///
    /// # Safety
    ///
    /// `state` must be initialised and stay so meanwhile.
    #[inline(always)]
    unsafe fn pairs(state: *mut Self::State) {
        for _ in 0..PAIRS {
            // SAFETY: By this function's contract.
            unsafe { Self::pair(state) };
        }
    }
}

// SAFETY: `SpinRaw` promises exclusion.
unsafe impl<R: SpinRaw + 'static, O: Off> Subject for SpinBackend<R, O> {
    type State = SpinState<R>;
    const EXCLUDES: bool = <R as RawLock<Linux>>::EXCLUDES;
    const TICKET_BITS: u32 = <R as RawLock<Linux>>::TICKET_BITS;
    const SHAPE: Shape = Shape::Inlined;
    const IS_IRQ: bool = O::INTERRUPTS;

    unsafe fn init(state: *mut Self::State, first: u32, nest: usize) {
        let kind = if O::INTERRUPTS { Kind::Irq } else { Kind::Raw };
        let (name, key) = class(kind, nest);
        // SAFETY: By this function's contract; name and key are static.
        unsafe { Self::init_from(state, first, name, key) };
    }

    #[inline(always)]
    unsafe fn lock(state: *mut Self::State) -> u32 {
        // SAFETY: By this function's contract.
        unsafe { <Self as Backend>::lock(state) }.number()
    }

    #[inline(always)]
    unsafe fn try_lock(state: *mut Self::State) -> Option<u32> {
        // SAFETY: By this function's contract.
        unsafe { <Self as Backend>::try_lock(state) }.map(|token| token.number())
    }

    #[inline(always)]
    unsafe fn unlock(state: *mut Self::State, token: u32) {
        // SAFETY: By this function's contract.
        unsafe { <Self as Backend>::unlock(state, &Token::from_number(token)) };
    }

    #[inline(always)]
    unsafe fn pair(state: *mut Self::State) {
        // SAFETY: By this function's contract.
        drop(unsafe { Lock::<(), Self>::from_raw(state) }.lock());
    }
}

/// What lockdep takes a lock for. A class is of the kind of its first lock.
pub(super) enum Kind {
    /// A `raw_spinlock_t`, which spins on every kernel: LD_WAIT_SPIN.
    Raw,
    /// The same, of which interrupt handlers take some.
    Irq,
    /// A `spinlock_t`, which sleeps under PREEMPT_RT: LD_WAIT_CONFIG.
    #[cfg(not(CONFIG_PREEMPT_RT))]
    Spin,
}

/// The lock classes of locks under torture, a set for each kind. All that are taken alone have the first. Each place in
/// the order of nested ones has another.
pub(super) fn class(kind: Kind, nest: usize) -> (*const c_char, *mut lock_class_key) {
    macro_rules! classes {
        ($($name:literal),*) => {
            match kind {
                Kind::Raw => [$(($name, kernel::static_lock_class!())),*],
                Kind::Irq => [$(($name, kernel::static_lock_class!())),*],
                #[cfg(not(CONFIG_PREEMPT_RT))]
                Kind::Spin => [$(($name, kernel::static_lock_class!())),*],
            }
        };
    }
    let classes: [_; CLASSES] = classes!(
        c"handover_torture",
        c"handover_torture/1",
        c"handover_torture/2",
        c"handover_torture/3",
        c"handover_torture/4",
        c"handover_torture/5",
        c"handover_torture/6",
        c"handover_torture/7",
        c"handover_torture/8"
    );
    let (name, key) = classes[nest % CLASSES];
    (name.as_char_ptr(), key.as_ptr())
}

/// How many classes there are.
const CLASSES: usize = 1 + MAX_NESTED as usize;

/// What does not exclude, with preemption as for the others.
pub(crate) struct Control<R>(PhantomData<R>);

// SAFETY: It says whether it excludes.
unsafe impl<R: RawLock<Linux> + Make<Word> + 'static> Subject for Control<R> {
    type State = R;
    const EXCLUDES: bool = {
        assert!(!R::EXCLUDES, "the list takes a lock for a control");
        false
    };
    const TICKET_BITS: u32 = R::TICKET_BITS;
    const SHAPE: Shape = Shape::Inlined;

    unsafe fn init(state: *mut Self::State, first: u32, _: usize) {
        // SAFETY: By this function's contract.
        unsafe { state.write(R::make(first, Word::new)) };
    }

    #[inline(always)]
    unsafe fn lock(state: *mut Self::State) -> u32 {
        // SAFETY: Paired with `preempt_enable` in `unlock`.
        unsafe { spin::shim::handover_preempt_disable() };
        // SAFETY: By this function's contract. The token is given back to `unlock` alone.
        unsafe { (*state).lock(&Linux::new()) }
    }

    #[inline(always)]
    unsafe fn try_lock(state: *mut Self::State) -> Option<u32> {
        // SAFETY: Paired with `preempt_enable` below, or in `unlock`.
        unsafe { spin::shim::handover_preempt_disable() };
        // SAFETY: By this function's contract. The token is given back to `unlock` alone.
        let token = unsafe { (*state).try_lock(&Linux::new()) };
        if token.is_none() {
            // SAFETY: Paired with `preempt_disable` above.
            unsafe { spin::shim::handover_preempt_enable() };
        }
        token
    }

    #[inline(always)]
    unsafe fn unlock(state: *mut Self::State, token: u32) {
        // SAFETY: By this function's contract, which the token is part of.
        unsafe { (*state).unlock(&Linux::new(), token) };
        // SAFETY: Paired with `preempt_disable` in `lock` or `try_lock`.
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
    pub(crate) const fn new() -> Self {
        Self(UnsafeCell::new(MaybeUninit::uninit()))
    }

    /// The address of the lock's words.
    #[inline(always)]
    pub(crate) fn state<S: Subject>(&self) -> *mut S::State {
        const { assert!(size_of::<S::State>() <= Self::SIZE) };
        const { assert!(align_of::<S::State>() <= 128) };
        self.0.get().cast()
    }
}
