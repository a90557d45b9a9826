// SPDX-License-Identifier: GPL-2.0-only

//! Locks that interrupt handlers may take: the same ones, whose owners have interrupts off. After the kernel's
//! `SpinLockIrq`.

use super::{
    lock::{Off, SpinBackend, SpinRaw},
    shim,
    word::{KernelTicket, KernelTwa},
};
use kernel::{
    interrupt::LocalInterruptDisabled,
    sync::lock::{Guard, Lock},
};

/// Interrupts of this CPU, and preemption, as for `raw_spin_lock_irq_disable()`.
pub enum InterruptsOff {}

// SAFETY: The kernel counts both, each for itself.
unsafe impl Off for InterruptsOff {
    const INTERRUPTS: bool = true;

    #[inline(always)]
    unsafe fn enter() {
        // SAFETY: By this function's contract.
        unsafe { shim::handover_interrupts_disable() };
    }

    #[inline(always)]
    unsafe fn leave() {
        // SAFETY: By this function's contract.
        unsafe { shim::handover_interrupts_enable() };
    }
}

/// A ticket spinlock that interrupt handlers may take.
///
/// Promises what [`TicketLock`](super::TicketLock) does. Its owner has interrupts off, so that no handler of
/// its CPU waits for it. Costs that, and what a `TicketLock` costs.
///
/// The kernel counts how often interrupts were switched off. Guards may be dropped in any order, and interrupts are on
/// again with the last one. An NMI comes with interrupts off, too: its handler takes no such lock.
///
/// A caller that has interrupts off already pays for preemption alone, by [`LockWith::lock_with`].
///
/// # Examples
///
/// <!-- lines of rust/linux/sample/rust_twa_main.rs -->
/// ```
/// let ticks = KBox::pin_init(new_ticket_lock_irq!(0, "ticks"), GFP_KERNEL)?;
/// *ticks.lock() += 1;
/// // A handler has interrupts off, and says so.
/// let interrupts_off = local_interrupt_disable();
/// *ticks.lock_with(&interrupts_off) += 1;
/// ```
pub type TicketLockIrq<T> = Lock<T, TicketIrqBackend>;

/// A TWA spinlock that interrupt handlers may take.
///
/// Promises what [`TwaLock`](super::TwaLock) does. Costs and use are as of [`TicketLockIrq`].
pub type TwaLockIrq<T> = Lock<T, TwaIrqBackend>;

/// A guard of a [`TicketLockIrq`].
pub type TicketLockIrqGuard<'a, T> = Guard<'a, T, TicketIrqBackend>;

/// A guard of a [`TwaLockIrq`].
pub type TwaLockIrqGuard<'a, T> = Guard<'a, T, TwaIrqBackend>;

/// The backend of [`TicketLockIrq`].
pub type TicketIrqBackend = SpinBackend<KernelTicket, InterruptsOff>;

/// The backend of [`TwaLockIrq`].
pub type TwaIrqBackend = SpinBackend<KernelTwa, InterruptsOff>;

/// Creates a [`TicketLockIrq`] initialiser with the given name and a new lock class, as `new_spinlock_irq!` does.
#[macro_export]
macro_rules! new_ticket_lock_irq {
    ($inner:expr $(, $name:literal)? $(,)?) => {
        $crate::spin::TicketLockIrq::new(
            $inner, ::kernel::optional_name!($($name)?), ::kernel::static_lock_class!())
    };
}
pub use new_ticket_lock_irq;

/// Creates a [`TwaLockIrq`] initialiser with the given name and a new lock class, as `new_spinlock_irq!` does.
#[macro_export]
macro_rules! new_twa_lock_irq {
    ($inner:expr $(, $name:literal)? $(,)?) => {
        $crate::spin::TwaLockIrq::new(
            $inner, ::kernel::optional_name!($($name)?), ::kernel::static_lock_class!())
    };
}
pub use new_twa_lock_irq;

/// Creates an initialiser as [`new_lock!`](super::new_lock) does, of a lock that interrupt handlers may take.
///
/// # Examples
///
/// <!-- lines of rust/linux/sample/rust_twa_main.rs -->
/// ```
/// let small = KBox::pin_init(new_lock_irq!(OneWordTwa<Word>, 0, "small"), GFP_KERNEL)?;
/// ```
#[macro_export]
macro_rules! new_lock_irq {
    ($raw:ty, $inner:expr $(, $name:literal)? $(,)?) => {
        ::kernel::sync::lock::Lock::<_, $crate::spin::SpinBackend<$raw, $crate::spin::InterruptsOff>>::new(
            $inner, ::kernel::optional_name!($($name)?), ::kernel::static_lock_class!())
    };
}
pub use new_lock_irq;

/// What the kernel's `SpinLockIrq` has for callers whose interrupts are off already.
///
/// Preemption is switched off and on, and interrupts stay as they are. The guard is gone before they can be on
/// again, as it borrows the caller's proof.
pub trait LockWith<T: ?Sized, R: SpinRaw> {
    /// Acquires the lock without touching interrupts.
    fn lock_with<'a>(&'a self, context: &'a LocalInterruptDisabled)
        -> Guard<'a, T, SpinBackend<R>>;

    /// Acquires it if it is free and no thread waits.
    #[must_use = "if unused, the lock will be immediately unlocked"]
    fn try_lock_with<'a>(
        &'a self,
        context: &'a LocalInterruptDisabled,
    ) -> Option<Guard<'a, T, SpinBackend<R>>>;
}

/// The lock as one that leaves interrupts alone.
#[inline(always)]
fn plain<'a, T: ?Sized, R: SpinRaw>(
    lock: &'a Lock<T, SpinBackend<R, InterruptsOff>>,
    _: &'a LocalInterruptDisabled,
) -> &'a Lock<T, SpinBackend<R>> {
    // SAFETY: A `Lock` is `repr(C)`: its backend's state, a marker of no bytes, and the data. Both backends have the same
    // state, `SpinState<R>`, which has nothing of `O`. They take and release it by the same steps. So owners exclude each
    // other by whichever type they came. Interrupts are off for `'a`, so that no owner is interrupted by who waits for it.
    unsafe { core::mem::transmute(lock) }
}

impl<T: ?Sized, R: SpinRaw> LockWith<T, R> for Lock<T, SpinBackend<R, InterruptsOff>> {
    #[inline]
    fn lock_with<'a>(
        &'a self,
        context: &'a LocalInterruptDisabled,
    ) -> Guard<'a, T, SpinBackend<R>> {
        plain(self, context).lock()
    }

    #[inline]
    fn try_lock_with<'a>(
        &'a self,
        context: &'a LocalInterruptDisabled,
    ) -> Option<Guard<'a, T, SpinBackend<R>>> {
        plain(self, context).try_lock()
    }
}
