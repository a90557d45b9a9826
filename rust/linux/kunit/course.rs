// SPDX-License-Identifier: GPL-2.0-only

//! What contenders do, for every lock made of tickets.
//!
//! A thread that waits in a lock cannot say so. Its ticket can: the two words of a
//! lock are read here to know how many wait. In a lock that is not in use yet they
//! are written, to begin near the wrap.

use super::team::{reached, together, Muster};
use crate::{
    harness::shim,
    locks::Word as _,
    spin::{SpinBackend, SpinRaw, Word},
};
use kernel::{
    error::code::ETIMEDOUT,
    prelude::*,
    processor::cpu_relax,
    sync::{
        atomic::{Atomic, Relaxed},
        lock::Lock,
    },
};

/// A lock of ours over `T`.
pub(super) type Spin<T, R> = Lock<T, SpinBackend<R>>;

/// A lock's words: the next ticket, and the one being served.
pub(super) fn words<T, R: SpinRaw>(lock: &Spin<T, R>) -> &[Word; 2] {
    const { assert!(size_of::<R>() == size_of::<[Word; 2]>()) };
    // SAFETY: A `Lock` begins with its backend's state, a `SpinState` with its
    // `R`, and the locks made of tickets are these two words; all are `repr(C)`
    // or transparent. The words are atomic, so sharing them is sound.
    unsafe { &*core::ptr::from_ref(lock).cast() }
}

/// Makes `ticket` the first that an unused lock gives out.
pub(super) fn first_ticket<T, R: SpinRaw>(lock: &Spin<T, R>, ticket: u32) {
    words(lock)
        .iter()
        .for_each(|word| word.store_release(ticket));
}

/// The number of the owner and the waiters.
pub(super) fn present<T, R: SpinRaw>(lock: &Spin<T, R>) -> u32 {
    let [ticket, grant] = words(lock);
    let grant = grant.load_acquire();
    ticket.load_relaxed().wrapping_sub(grant)
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

/// Sections of each thread in [`exclude`].
pub(super) const LAPS: u32 = 400;

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
    let muster = Muster::new(threads);
    together(threads, |id| {
        drop(muster.fall_in());
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
                let _ = reached(|| present(lock) > 1 || inside.load(Relaxed) > 1);
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
    let tried = Atomic::new(0u32);
    let got = Atomic::new(false);
    let muster = Muster::new(3);
    together(3, |id| {
        let _present = muster.fall_in();
        let came = match id {
            0 => {
                let _guard = lock.lock();
                reached(|| tried.load(Relaxed) != 0)
            }
            1 => {
                let came = reached(|| present(lock) == 1);
                let _guard = lock.lock();
                came
            }
            _ => {
                let came = reached(|| present(lock) == 2);
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
}

/// Contender 0 owns the lock until 1, 2 and 3 wait for it, in this order.
pub(super) fn queue_up<R: SpinRaw>(lock: &Spin<Order, R>) -> Result {
    let late = Atomic::new(false);
    let muster = Muster::new(4);
    together(4, |id| {
        let _present = muster.fall_in();
        // After those before it.
        let mut in_time = reached(|| present(lock) >= id);
        if in_time {
            let mut guard = lock.lock();
            in_time = id != 0 || reached(|| present(lock) == 4);
            guard.admit(id);
        }
        if !in_time {
            late.store(true, Relaxed);
        }
    })?;
    nobody_late(&late)
}

/// Sections of each thread in [`crowd`].
pub(super) const CROWD_LAPS: u32 = 25;

/// Four threads add one to what `lock` protects, [`CROWD_LAPS`] times each. An
/// owner leaves when the other three wait. In its last lap it leaves at once. In
/// the lap before, all others have one to go. Each lap of one thread is a lap of
/// all.
pub(super) fn crowd<R: SpinRaw>(lock: &Spin<u32, R>) -> Result {
    let late = Atomic::new(false);
    let muster = Muster::new(4);
    together(4, |_| {
        let _present = muster.fall_in();
        for lap in 1..=CROWD_LAPS {
            let mut guard = lock.lock();
            *guard += 1;
            // Once a contender is late there is no more waiting.
            if lap < CROWD_LAPS
                && !late.load(Relaxed)
                && !reached(|| late.load(Relaxed) || present(lock) == 4)
            {
                late.store(true, Relaxed);
            }
        }
    })?;
    nobody_late(&late)
}
