// SPDX-License-Identifier: GPL-2.0-only

//! Locks that interrupt handlers take, for every lock: when interrupts are off, and a timer's handler beside threads.

use super::team::{reached, together, Muster};
use crate::{
    harness::shim::{self, Timer},
    spin::{InterruptsOff, LockWith as _, SpinBackend, SpinRaw},
};
use kernel::{
    ffi::c_void,
    interrupt::{local_interrupt_disable, LocalInterruptDisabled},
    prelude::*,
    processor::cpu_relax,
    sync::{
        atomic::{Atomic, Relaxed},
        lock::Lock,
    },
};

/// A lock of ours over `T` that interrupt handlers may take.
pub(super) type SpinIrq<T, R> = Lock<T, SpinBackend<R, InterruptsOff>>;

/// Whether interrupts are off. The five looks are at first, under `first`, under both, when `first` is dropped, and when
/// both are.
pub(super) fn out_of_order<R: SpinRaw>(
    first: &SpinIrq<u32, R>,
    second: &SpinIrq<u32, R>,
) -> [bool; 5] {
    let before = shim::irqs_disabled();
    let outer = first.lock();
    let under_one = shim::irqs_disabled();
    let inner = second.lock();
    let under_both = shim::irqs_disabled();
    drop(outer);
    let one_left = shim::irqs_disabled();
    drop(inner);
    [
        before,
        under_one,
        under_both,
        one_left,
        shim::irqs_disabled(),
    ]
}

/// The same of a lock that is tried: when it is had, when it is then refused, and after both.
pub(super) fn tried<R: SpinRaw>(lock: &SpinIrq<u32, R>) -> [bool; 4] {
    let guard = lock.try_lock();
    let had = guard.is_some() && shim::irqs_disabled();
    let refused = lock.try_lock().is_none();
    drop(guard);
    [
        had,
        refused,
        shim::irqs_disabled(),
        lock.try_lock().is_some(),
    ]
}

/// The same of a lock that is taken where interrupts are off. The looks are under it, after it, and after what had them
/// off. Between them it refuses who tries it, and lets in who tries it later.
pub(super) fn with<R: SpinRaw>(lock: &SpinIrq<u32, R>) -> [bool; 5] {
    let context = local_interrupt_disable();
    let guard = lock.lock_with(&context);
    let under = shim::irqs_disabled();
    let refused = lock.try_lock_with(&context).is_none();
    drop(guard);
    let free = lock.try_lock_with(&context).is_some();
    let after = shim::irqs_disabled();
    drop(context);
    [under, refused, free, after, shim::irqs_disabled()]
}

/// Ticks of each CPU's timer.
const TICKS: u32 = 20;

/// What a timer's handler takes, and how often it did.
struct Irq<'a, R: SpinRaw> {
    lock: &'a SpinIrq<u32, R>,
    ticks: Atomic<u32>,
}

/// # Safety
///
/// `arg` must point to an [`Irq`] of `R`, on a timer's interrupt.
unsafe extern "C" fn tick<R: SpinRaw>(arg: *mut c_void) {
    // SAFETY: By this function's contract.
    let irq = unsafe { &*arg.cast::<Irq<'_, R>>() };
    // SAFETY: By this function's contract.
    let context = unsafe { LocalInterruptDisabled::assume_disabled() };
    *irq.lock.lock_with(context) += 1;
    irq.ticks.add(1u32, Relaxed);
}

/// What is seen of threads and of their CPUs' timers, which add one under a lock.
pub(super) struct Seen {
    /// What the lock protects in the end.
    pub(super) sum: u32,
    /// How often threads added one.
    pub(super) laps: u32,
    /// How often timers did.
    pub(super) ticks: u32,
    /// How many timers did it often enough.
    pub(super) enough: u32,
}

/// `threads` threads take the lock again and again, each on a CPU with a timer whose handler takes it.
pub(super) fn beside_timers<R: SpinRaw>(lock: &SpinIrq<u32, R>, threads: u32) -> Result<Seen> {
    let laps = Atomic::new(0u32);
    let ticks = Atomic::new(0u32);
    let enough = Atomic::new(0u32);
    let muster = Muster::new(threads);
    together(threads, |_| {
        let irq = Irq {
            lock,
            ticks: Atomic::new(0),
        };
        drop(muster.fall_in());
        let arg = core::ptr::from_ref(&irq).cast_mut().cast();
        // SAFETY: `tick` expects an `Irq`, which stays until the timer is dropped below.
        let Ok(timer) = (unsafe { Timer::start_here(tick::<R>, arg, 1_000_000) }) else {
            return;
        };
        let is_enough = reached(|| {
            *lock.lock() += 1;
            laps.add(1u32, Relaxed);
            irq.ticks.load(Relaxed) >= TICKS
        });
        drop(timer);
        ticks.add(irq.ticks.load(Relaxed), Relaxed);
        enough.add(u32::from(is_enough), Relaxed);
    })?;
    let sum = *lock.lock();
    Ok(Seen {
        sum,
        laps: laps.load(Relaxed),
        ticks: ticks.load(Relaxed),
        enough: enough.load(Relaxed),
    })
}

/// About a second of the time stamp counter.
const SECOND: u64 = 3_000_000_000;

/// Pauses with interrupts off, for so many ticks of the time stamp counter at most. A clock that is counted by this CPU's
/// ticks stands still meanwhile. A pause takes nanoseconds or, under emulation, microseconds. So many pauses at most: not
/// every machine has the counter.
fn pause_until(ticks: u64, over: &dyn Fn() -> bool) {
    let from = shim::stamp();
    for _ in 0..ticks / 600 {
        if over() || shim::stamp().wrapping_sub(from) >= ticks {
            break;
        }
        cpu_relax();
    }
}

/// A timer's handler that takes its time: how often it began, and how often it ended. It goes on until the timer is about to be
/// dropped, and for a while.
struct Slow {
    begun: Atomic<u32>,
    about_to_drop: Atomic<u32>,
    ended: Atomic<u32>,
}

/// # Safety
///
/// `arg` must point to a [`Slow`].
unsafe extern "C" fn slow(arg: *mut c_void) {
    // SAFETY: By this function's contract.
    let slow = unsafe { &*arg.cast::<Slow>() };
    slow.begun.add(1u32, Relaxed);
    pause_until(10 * SECOND, &|| slow.about_to_drop.load(Relaxed) != 0);
    pause_until(SECOND, &|| false);
    slow.ended.add(1u32, Relaxed);
}

/// Counts its timer's ticks.
///
/// # Safety
///
/// `arg` must point to an `Atomic<u32>` that outlives the timer.
unsafe extern "C" fn count(arg: *mut c_void) {
    // SAFETY: By this function's contract.
    unsafe { &*arg.cast::<Atomic<u32>>() }.add(1u32, Relaxed);
}

/// A timer of 10 ms has its CPU's interrupts off for 150 ms at least. How often it ticks in the 5 ms after that.
pub(super) fn late_ticks() -> Result<u32> {
    let ticks = Atomic::new(0u32);
    let [late, is_made] = [const { Atomic::new(0u32) }; 2];
    together(1, |_| {
        let arg = core::ptr::from_ref(&ticks).cast_mut().cast();
        // SAFETY: `count` expects a count, which stays until the timer is dropped below.
        let Ok(timer) = (unsafe { Timer::start_here(count, arg, 10_000_000) }) else {
            return;
        };
        // Its first tick comes in time.
        reached(|| ticks.load(Relaxed) != 0);
        let off = local_interrupt_disable();
        pause_until(SECOND, &|| false);
        let before = ticks.load(Relaxed);
        drop(off);
        let until = shim::now_ns() + 5_000_000;
        while shim::now_ns() < until {
            cpu_relax();
        }
        late.store(ticks.load(Relaxed) - before, Relaxed);
        is_made.store(1u32, Relaxed);
        drop(timer);
    })?;
    match is_made.load(Relaxed) {
        0 => Err(ENOMEM),
        _ => Ok(late.load(Relaxed)),
    }
}

/// A timer is dropped on a CPU while its handler runs on another one. How often that had begun and ended right after the
/// drop, and how often it has begun a while later.
pub(super) fn dropped_beside_its_handler() -> Result<[u32; 3]> {
    let handler = Slow {
        begun: Atomic::new(0),
        about_to_drop: Atomic::new(0),
        ended: Atomic::new(0),
    };
    let timer = KBox::pin_init(crate::spin::new_twa_lock!(None, "kunit_timer"), GFP_KERNEL)?;
    let [begun, ended, later] = [const { Atomic::new(0u32) }; 3];
    together(2, |id| {
        if id == 0 {
            let arg = core::ptr::from_ref(&handler).cast_mut().cast();
            // SAFETY: `slow` expects a `Slow`, which stays until the timer is dropped: by member 1, or at the end.
            let started = unsafe { Timer::start_here(slow, arg, 50_000_000) }.ok();
            *timer.lock() = started;
        } else if reached(|| handler.begun.load(Relaxed) != 0) {
            // Its handler may run before it is there.
            let mut taken = None;
            reached(|| {
                taken = timer.lock().take();
                taken.is_some()
            });
            handler.about_to_drop.store(1, Relaxed);
            drop(taken);
            begun.store(handler.begun.load(Relaxed), Relaxed);
            ended.store(handler.ended.load(Relaxed), Relaxed);
            shim::sleep_ms(200);
            later.store(handler.begun.load(Relaxed), Relaxed);
        }
    })?;
    Ok([begun, ended, later].map(|seen| seen.load(Relaxed)))
}
