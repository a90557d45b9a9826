// SPDX-License-Identifier: GPL-2.0-only

//! What contenders do, for every lock.
//!
//! A thread that waits in a lock cannot say so. The lock's first word can: every thread that comes
//! changes it. A lock that is not in use yet is made anew, to begin near the wrap.

use super::team::{reached, together, Muster};
use crate::{
    harness::shim,
    locks::{RawLock, Word as _},
    spin::{Linux, SpinBackend, SpinRaw, Word},
};
use kernel::{
    error::code::ETIMEDOUT,
    prelude::*,
    processor::cpu_relax,
    sync::{
        atomic::{Acquire, Atomic, Relaxed, Release},
        lock::{Guard, Lock},
    },
};

/// A lock of ours over `T`.
pub(super) type Spin<T, R> = Lock<T, SpinBackend<R>>;

/// Where a lock's own words lie.
fn raw<T, R: SpinRaw>(lock: &Spin<T, R>) -> *mut R {
    // A `Lock` begins with its backend's state, and a `SpinState` with its `R`; both are `repr(C)`.
    core::ptr::from_ref(lock).cast_mut().cast()
}

/// The value of a lock's first word.
fn first_word<T, R: SpinRaw>(lock: &Spin<T, R>) -> u32 {
    const { assert!(size_of::<R>() >= size_of::<Word>() && align_of::<R>() >= align_of::<Word>()) };
    // SAFETY: Every lock that excludes begins with a word, as `raw` says. It is atomic, so sharing it
    // is sound.
    unsafe { &*raw(lock).cast::<Word>() }.load_acquire()
}

/// Makes `ticket` the first that an unused lock gives out.
pub(super) fn first_ticket<T, R: SpinRaw>(lock: &Spin<T, R>, ticket: u32) {
    // SAFETY: The place is valid for writes, being a cell's, and no thread uses the lock.
    unsafe { raw(lock).write(R::make(ticket, Word::new)) };
}

/// Contenders that come to a lock one after another.
pub(super) struct Line {
    come: Atomic<u32>,
    /// The lock's first word before the last of them came.
    before: Atomic<u32>,
}

impl Line {
    /// An empty one.
    pub(super) const fn new() -> Self {
        Self {
            come: Atomic::new(0),
            before: Atomic::new(0),
        }
    }

    /// Whether so many have come to `lock`, and the last of them is seen there.
    fn has<T, R: SpinRaw>(&self, lock: &Spin<T, R>, contenders: u32) -> bool {
        let is_seen =
            || !<R as RawLock<Linux>>::FIFO || first_word(lock) != self.before.load(Relaxed);
        self.come.load(Acquire) == contenders && (contenders == 0 || is_seen())
    }

    /// Waits until so many have come, and comes next: the caller then takes `lock`. False if they do
    /// not come.
    fn join<T, R: SpinRaw>(&self, lock: &Spin<T, R>, contenders: u32) -> bool {
        let is_next = reached(|| self.has(lock, contenders));
        if is_next {
            self.before.store(first_word(lock), Relaxed);
            self.come.store(contenders + 1, Release);
        }
        is_next
    }
}

/// Sleeps; on a thread that may not, the kernel complains.
pub(super) fn sleep() {
    shim::sleep_ms(1);
}

/// ETIMEDOUT if a thread came too late.
pub(super) fn nobody_late(late: &Atomic<bool>) -> Result {
    if late.load(Relaxed) {
        Err(ETIMEDOUT)
    } else {
        Ok(())
    }
}

/// Sections of each thread in [`exclude`]. A kernel that proves its locking learns of a lock from its first section, and is slow.
/// Under PREEMPT_RT no other kernel has these suites.
pub(super) const LAPS: u32 = if cfg!(all(CONFIG_PROVE_LOCKING, not(CONFIG_PREEMPT_RT))) {
    100
} else {
    400
};

/// `threads` threads add one to what `lock` protects, [`LAPS`] times each, by
/// `lock` and by `try_lock`. Returns how often two were in the section.
///
/// The threads begin at one moment. Threads that begin together need not run
/// together, where the machine has fewer CPUs than it shows. The first owner
/// therefore stays until another thread has come to the lock, and some ms longer.
pub(super) fn exclude<R: SpinRaw>(lock: &Spin<u32, R>, threads: u32) -> Result<u32> {
    let inside = Atomic::new(0u32);
    let overlaps = Atomic::new(0u32);
    let sections = Atomic::new(0u32);
    let come = Atomic::new(0u32);
    let muster = Muster::new(threads);
    together(threads, |id| {
        drop(muster.fall_in());
        come.add(1u32, Relaxed);
        for lap in 0..LAPS {
            let tried = if (id + lap) % 2 == 0 {
                lock.try_lock()
            } else {
                None
            };
            let mut guard = tried.unwrap_or_else(|| lock.lock());
            if inside.fetch_add(1u32, Relaxed) != 0 {
                overlaps.add(1u32, Relaxed);
            }
            if sections.fetch_add(1u32, Relaxed) == 0 && threads > 1 {
                let _ = reached(|| come.load(Relaxed) == threads || inside.load(Relaxed) > 1);
                let until = shim::now_ns() + 5_000_000;
                let _ = reached(|| shim::now_ns() > until);
            }
            // Not one instruction, so that an overlap loses a step.
            let seen = *guard;
            for _ in 0..50 {
                cpu_relax();
            }
            *guard = seen.wrapping_add(1);
            inside.fetch_sub(1u32, Relaxed);
        }
    })?;
    Ok(overlaps.load(Relaxed))
}

/// Attempts of each thread in [`exclude_by_try`], at least.
const TRIES: u32 = 20_000;

/// How often the lock changes hands in [`exclude_by_try`], if there is time.
const CHANGES: u32 = 2_000;

/// What [`exclude_by_try`] saw.
pub(super) struct Tried {
    /// How often two were in the section.
    pub(super) overlaps: u32,
    /// How often an attempt succeeded.
    pub(super) got: u32,
}

/// `threads` threads, which begin at one moment, try `lock` [`TRIES`] times each.
/// They go on until it has changed hands [`CHANGES`] times, or for two seconds.
/// Where the machine has fewer CPUs than it shows, threads try by turns for long.
/// Two threads that never try at one moment show nothing.
///
/// An owner adds one to what the lock protects. It takes as long for that as a
/// bug's window in `try_lock` may be. A thread that comes out of the window then
/// finds the owner in the section. This holds also where both were interrupted. No
/// thread waits, also in a lock that does not exclude.
pub(super) fn exclude_by_try<R: SpinRaw>(lock: &Spin<u32, R>, threads: u32) -> Result<Tried> {
    let inside = Atomic::new(0u32);
    let overlaps = Atomic::new(0u32);
    let got = Atomic::new(0u32);
    let changes = Atomic::new(0u32);
    let last = Atomic::new(u32::MAX);
    let muster = Muster::new(threads);
    together(threads, |id| {
        drop(muster.fall_in());
        let until = shim::now_ns() + 2_000_000_000;
        for tries in 0u32.. {
            if tries >= TRIES && (changes.load(Relaxed) >= CHANGES || shim::now_ns() > until) {
                break;
            }
            let Some(mut guard) = lock.try_lock() else {
                continue;
            };
            if inside.fetch_add(1u32, Relaxed) != 0 {
                overlaps.add(1u32, Relaxed);
            }
            if last.load(Relaxed) != id {
                last.store(id, Relaxed);
                changes.add(1u32, Relaxed);
            }
            let seen = *guard;
            for _ in 0..300 {
                cpu_relax();
            }
            *guard = seen.wrapping_add(1);
            got.add(1u32, Relaxed);
            inside.fetch_sub(1u32, Relaxed);
        }
    })?;
    Ok(Tried {
        overlaps: overlaps.load(Relaxed),
        got: got.load(Relaxed),
    })
}

/// What `try_lock` gets, from a third CPU, of a lock that one owns and one waits
/// for. It must not wait.
pub(super) fn try_beside_a_waiter<R: SpinRaw>(lock: &Spin<(), R>) -> Result<bool> {
    let late = Atomic::new(false);
    // A lock that is not FIFO does not show who came: the waiter would be free to come in first.
    let owned = Atomic::new(0u32);
    let tried = Atomic::new(0u32);
    let got = Atomic::new(false);
    let line = Line::new();
    let muster = Muster::new(3);
    together(3, |id| {
        let _present = muster.fall_in();
        let came = match id {
            0 => {
                let came = line.join(lock, 0);
                let _guard = lock.lock();
                // Release, pairs with the waiter's acquire: who tries after the waiter came sees a lock that is owned.
                owned.store(1, Release);
                came && reached(|| tried.load(Relaxed) != 0)
            }
            1 => {
                let came = reached(|| owned.load(Acquire) != 0) && line.join(lock, 1);
                let _guard = lock.lock();
                came
            }
            _ => {
                let came = reached(|| line.has(lock, 2));
                got.store(lock.try_lock().is_some(), Relaxed);
                tried.store(1, Relaxed);
                came
            }
        };
        if !came {
            late.store(true, Relaxed);
        }
    })?;
    nobody_late(&late)?;
    Ok(got.load(Relaxed))
}

/// The order in which contenders came in.
#[derive(Clone, Copy)]
pub(super) struct Order {
    ids: [u32; 4],
    len: usize,
}

impl Order {
    /// No contender yet.
    pub(super) fn new() -> Self {
        Self {
            ids: [u32::MAX; 4],
            len: 0,
        }
    }

    /// Contender `id` came in.
    pub(super) fn admit(&mut self, id: u32) {
        if let Some(place) = self.ids.get_mut(self.len) {
            *place = id;
        }
        self.len += 1;
    }

    /// The contenders, the first one first.
    pub(super) fn ids(&self) -> [u32; 4] {
        self.ids
    }

    /// The same of a lock of this type: in any order where it promises none.
    pub(super) fn ids_of<R: SpinRaw>(&self, _: &Spin<Self, R>) -> [u32; 4] {
        let mut ids = self.ids;
        if !<R as RawLock<Linux>>::FIFO {
            ids.sort_unstable();
        }
        ids
    }
}

/// Contender 0 owns the lock until 1, 2 and 3 wait for it, in this order.
pub(super) fn queue_up<R: SpinRaw>(lock: &Spin<Order, R>) -> Result {
    let late = Atomic::new(false);
    let line = Line::new();
    let muster = Muster::new(4);
    together(4, |id| {
        let _present = muster.fall_in();
        // After those before it.
        let mut in_time = line.join(lock, id);
        if in_time {
            let mut guard = lock.lock();
            in_time = id != 0 || reached(|| line.has(lock, 4));
            guard.admit(id);
        }
        if !in_time {
            late.store(true, Relaxed);
        }
    })?;
    nobody_late(&late)
}

/// What a lock protects that all have left. With `lock` instead, a test of a lock that is not free would hang.
pub(super) fn free<T, R: SpinRaw>(lock: &Spin<T, R>) -> Result<Guard<'_, T, SpinBackend<R>>> {
    lock.try_lock().ok_or(EBUSY)
}

/// Sections of each thread in [`crowd`].
pub(super) const CROWD_LAPS: u32 = 25;

/// Four threads add one to what `lock` protects, [`CROWD_LAPS`] times each. An
/// owner leaves when the other three have come, or are done. In its last lap it leaves at once. In
/// the lap before, all others have one to go. Each lap of one thread is a lap of
/// all.
pub(super) fn crowd<R: SpinRaw>(lock: &Spin<u32, R>) -> Result {
    let late = Atomic::new(false);
    let outside = Atomic::new(0u32);
    let muster = Muster::new(4);
    together(4, |_| {
        let _present = muster.fall_in();
        for lap in 1..=CROWD_LAPS {
            outside.add(1u32, Relaxed);
            let mut guard = lock.lock();
            outside.fetch_sub(1u32, Relaxed);
            *guard += 1;
            // Once a contender is late there is no more waiting.
            if lap < CROWD_LAPS
                && !late.load(Relaxed)
                && !reached(|| late.load(Relaxed) || outside.load(Relaxed) == 3)
            {
                late.store(true, Relaxed);
            }
        }
        // Nobody waits for it any more.
        outside.add(1u32, Relaxed);
    })?;
    nobody_late(&late)
}
