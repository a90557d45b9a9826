// SPDX-License-Identifier: GPL-2.0-only

//! The kernel's own locks, as C calls them.

use super::{
    pairs::Shape,
    shim,
    subject::{class, Kind, Subject, REFUSED},
};
use crate::{
    locks::Word as _,
    spin::{self, Word},
};
use kernel::bindings::raw_spinlock;
#[cfg(not(CONFIG_PREEMPT_RT))]
use kernel::sync::lock::{spinlock::SpinLockBackend, Backend, Lock};

/// The kernel's raw spinlock, as C calls it.
pub(crate) struct KernelRawSpin;

// SAFETY: The kernel's spinlock excludes.
unsafe impl Subject for KernelRawSpin {
    type State = raw_spinlock;
    const EXCLUDES: bool = true;
    const TICKET_BITS: u32 = 0;
    const SHAPE: Shape = Shape::Called;

    unsafe fn init(state: *mut Self::State, _: u32, nest: usize) {
        let (name, key) = class(Kind::Raw, nest);
        // SAFETY: By this function's contract; name and key are static.
        unsafe { shim::handover_raw_spin_init(state, name, key.cast()) };
    }

    #[inline(always)]
    unsafe fn lock(state: *mut Self::State) -> u32 {
        // SAFETY: By this function's contract.
        unsafe { shim::raw_spin_lock(state) };
        0
    }

    #[inline(always)]
    unsafe fn try_lock(state: *mut Self::State) -> Option<u32> {
        // SAFETY: By this function's contract.
        unsafe { shim::handover_raw_spin_trylock(state) }.then_some(0)
    }

    #[inline(always)]
    unsafe fn unlock(state: *mut Self::State, _: u32) {
        // SAFETY: By this function's contract.
        unsafe { shim::raw_spin_unlock(state) };
    }
}

/// The kernel's raw spinlock whose owner has interrupts off, as C calls it.
pub(crate) struct KernelRawSpinIrq;

// SAFETY: The kernel's spinlock excludes.
unsafe impl Subject for KernelRawSpinIrq {
    type State = raw_spinlock;
    const EXCLUDES: bool = true;
    const TICKET_BITS: u32 = 0;
    const SHAPE: Shape = Shape::Called;
    const IS_IRQ: bool = true;

    unsafe fn init(state: *mut Self::State, _: u32, nest: usize) {
        let (name, key) = class(Kind::Irq, nest);
        // SAFETY: By this function's contract; name and key are static.
        unsafe { shim::handover_raw_spin_init(state, name, key.cast()) };
    }

    #[inline(always)]
    unsafe fn lock(state: *mut Self::State) -> u32 {
        // SAFETY: By this function's contract.
        unsafe { shim::handover_raw_spin_lock_irq(state) };
        0
    }

    #[inline(always)]
    unsafe fn try_lock(state: *mut Self::State) -> Option<u32> {
        // SAFETY: By this function's contract.
        unsafe { shim::handover_raw_spin_trylock_irq(state) }.then_some(0)
    }

    #[inline(always)]
    unsafe fn unlock(state: *mut Self::State, _: u32) {
        // SAFETY: By this function's contract.
        unsafe { shim::handover_raw_spin_unlock_irq(state) };
    }
}

/// The kernel's spinlock. On a kernel without PREEMPT_RT `spin_lock()` is `raw_spin_lock()` on its
/// first field. Its pair is that of the kernel's Rust binding.
#[cfg(not(CONFIG_PREEMPT_RT))]
pub(crate) struct KernelSpin;

#[cfg(not(CONFIG_PREEMPT_RT))]
// SAFETY: The kernel's spinlock excludes.
unsafe impl Subject for KernelSpin {
    type State = <SpinLockBackend as Backend>::State;
    const EXCLUDES: bool = true;
    const TICKET_BITS: u32 = 0;
    const SHAPE: Shape = Shape::Bound;

    unsafe fn init(state: *mut Self::State, _: u32, nest: usize) {
        let (name, key) = class(Kind::Spin, nest);
        // SAFETY: By this function's contract; name and key are static.
        unsafe { SpinLockBackend::init(state, name, key) };
    }

    #[inline(always)]
    unsafe fn lock(state: *mut Self::State) -> u32 {
        // SAFETY: By this function's contract. A `spinlock_t` begins with its `raw_spinlock_t`.
        unsafe { KernelRawSpin::lock(state.cast()) }
    }

    #[inline(always)]
    unsafe fn try_lock(state: *mut Self::State) -> Option<u32> {
        // SAFETY: By this function's contract, and as in `lock`.
        unsafe { KernelRawSpin::try_lock(state.cast()) }
    }

    #[inline(always)]
    unsafe fn unlock(state: *mut Self::State, token: u32) {
        // SAFETY: By this function's contract, and as in `lock`.
        unsafe { KernelRawSpin::unlock(state.cast(), token) };
    }

    #[inline(always)]
    unsafe fn pair(state: *mut Self::State) {
        // SAFETY: By this function's contract.
        drop(unsafe { Lock::<(), SpinLockBackend>::from_raw(state) }.lock());
    }
}

/// The kernel's qspinlock, called as our locks are. Its fast path is inlined between the calls that
/// switch preemption off and on. Its slow path is the kernel's own, which it exports.
///
/// The unlock is the plain one of a kernel without paravirtual spinlocks. It goes with the slow path
/// that is called here.
#[cfg(all(CONFIG_X86_64, CONFIG_QUEUED_SPINLOCKS))]
pub(crate) struct KernelQueued;

#[cfg(all(CONFIG_X86_64, CONFIG_QUEUED_SPINLOCKS))]
// SAFETY: qspinlock excludes. The lock is this module's own, so no other thread takes it by another
// path.
unsafe impl Subject for KernelQueued {
    type State = Word;
    const EXCLUDES: bool = true;
    const TICKET_BITS: u32 = 0;
    const SHAPE: Shape = Shape::Inlined;

    unsafe fn init(state: *mut Self::State, _: u32, _: usize) {
        // SAFETY: By this function's contract.
        unsafe { state.write(Word::new(0)) };
    }

    #[inline(always)]
    unsafe fn lock(state: *mut Self::State) -> u32 {
        // SAFETY: Paired with `preempt_enable` in `unlock`.
        unsafe { spin::shim::handover_preempt_disable() };
        // SAFETY: By this function's contract.
        let word = unsafe { &*state };
        if !word.cmpxchg_acquire(0, 1) {
            // SAFETY: By this function's contract. The slow path takes any value as the one last seen.
            unsafe { shim::queued_spin_lock_slowpath(state.cast(), word.load_relaxed()) };
        }
        0
    }

    #[inline(always)]
    unsafe fn try_lock(state: *mut Self::State) -> Option<u32> {
        // SAFETY: Paired with `preempt_enable` below, or in `unlock`.
        unsafe { spin::shim::handover_preempt_disable() };
        // SAFETY: By this function's contract.
        if unsafe { &*state }.cmpxchg_acquire(0, 1) {
            return Some(0);
        }
        // SAFETY: Paired with `preempt_disable` above.
        unsafe { spin::shim::handover_preempt_enable() };
        None
    }

    #[inline(always)]
    unsafe fn unlock(state: *mut Self::State, _: u32) {
        // The low byte is the owner's to clear, with release: on x86 a plain store, which the compiler moves nothing
        // across. KCSAN sees none of the assembly.
        #[cfg(CONFIG_KCSAN)]
        // SAFETY: By this function's contract.
        unsafe { kernel::sync::atomic::Atomic::<i8>::from_ptr(state.cast()) }
            .store(0, kernel::sync::atomic::Release);
        #[cfg(not(CONFIG_KCSAN))]
        // SAFETY: By this function's contract.
        unsafe {
            core::arch::asm!("mov byte ptr [{word}], 0", word = in(reg) state,
                             options(nostack, preserves_flags));
        }
        // SAFETY: Paired with `preempt_disable` in `lock` or `try_lock`.
        unsafe { spin::shim::handover_preempt_enable() };
    }
}

/// The kernel's resilient queued spinlock, as C calls it. It finds deadlocks of one CPU and of two while it waits. Its
/// locks must be released in the opposite order.
#[cfg(CONFIG_BPF_SYSCALL)]
pub(crate) struct KernelResilient;

#[cfg(CONFIG_BPF_SYSCALL)]
// SAFETY: The kernel's lock excludes where it says that it was taken.
unsafe impl Subject for KernelResilient {
    type State = Word;
    const EXCLUDES: bool = true;
    const TICKET_BITS: u32 = 0;
    const SHAPE: Shape = Shape::Called;
    const REFUSES: bool = true;

    unsafe fn init(state: *mut Self::State, _: u32, _: usize) {
        // SAFETY: By this function's contract.
        unsafe { state.write(Word::new(0)) };
    }

    #[inline(always)]
    unsafe fn lock(state: *mut Self::State) -> u32 {
        // SAFETY: By this function's contract.
        if unsafe { shim::handover_res_spin_lock(state.cast()) } {
            0
        } else {
            REFUSED
        }
    }

    #[inline(always)]
    unsafe fn try_lock(state: *mut Self::State) -> Option<u32> {
        // SAFETY: By this function's contract.
        unsafe { shim::handover_res_spin_trylock(state.cast()) }.then_some(0)
    }

    #[inline(always)]
    unsafe fn unlock(state: *mut Self::State, token: u32) {
        if token != REFUSED {
            // SAFETY: By this function's contract.
            unsafe { shim::handover_res_spin_unlock(state.cast()) };
        }
    }
}
