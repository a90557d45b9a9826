// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The world that blocks.

use std::sync::{Mutex, PoisonError};

use handover_locks::{Awaited, Word};
use loom::{
    sync::atomic::{
        AtomicU32,
        Ordering::{self, AcqRel, Acquire, Relaxed, Release},
    },
    thread::{self, Thread},
};

/// A word whose waiters park until another thread writes it.
///
/// A waiter that no thread wakes leaves loom without a thread to run. Loom
/// reports that as a deadlock: a lost wake-up is found in the first execution
/// that has one. Searches are shorter, too, since no two executions differ only
/// in how often a waiter looks.
///
/// loom orders what follows an unpark after what precedes it. So a hand-over to
/// a waiter that parked synchronises whatever the lock's orderings are. A
/// waiter that did not park gets nothing of that.
///
/// # Invariants
///
/// - `latest` is the value last written to `value`: both change with no
///   scheduling point of loom's in between.
/// - A thread in `parked` is parked, or will be before another thread runs.
pub(crate) struct Cell {
    value: AtomicU32,
    // The mutex is std's: loom does not see it, so it orders nothing. loom runs
    // one thread at a time and no thread holds it across a scheduling point.
    waiting: Mutex<Waiting>,
}

struct Waiting {
    latest: u32,
    parked: Vec<Thread>,
}

impl Cell {
    fn with_waiting<R>(&self, f: impl FnOnce(&mut Waiting) -> R) -> R {
        f(&mut self.waiting.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Wakes the waiting threads; to be called right after a write of `value`.
    fn written(&self, value: u32) {
        // INVARIANT: an unpark is no scheduling point, nor was anything since
        // the write.
        self.with_waiting(|waiting| {
            waiting.latest = value;
            waiting.parked.drain(..).for_each(|thread| thread.unpark());
        });
    }

    /// The same after a write that gave the value before.
    fn changed(&self, before: u32, now: u32) -> u32 {
        self.written(now);
        before
    }

    fn fetch_add(&self, value: u32, ordering: Ordering) -> u32 {
        let before = self.value.fetch_add(value, ordering);
        self.changed(before, before.wrapping_add(value))
    }

    fn swap(&self, value: u32, ordering: Ordering) -> u32 {
        let before = self.value.swap(value, ordering);
        self.changed(before, value)
    }

    fn cmpxchg(&self, old: u32, new: u32, ordering: Ordering) -> bool {
        let result = self.value.compare_exchange(old, new, ordering, Relaxed);
        if result.is_ok() {
            self.written(new);
        }
        result.is_ok()
    }
}

impl super::Cell for Cell {
    fn new(value: u32) -> Self {
        // INVARIANT: nothing was written to `value` since, and no thread waits.
        Self {
            value: AtomicU32::new(value),
            waiting: Mutex::new(Waiting {
                latest: value,
                parked: Vec::new(),
            }),
        }
    }
}

impl Word for Cell {
    fn load_relaxed(&self) -> u32 {
        self.value.load(Relaxed)
    }

    fn load_acquire(&self) -> u32 {
        self.value.load(Acquire)
    }

    fn store_relaxed(&self, value: u32) {
        self.value.store(value, Relaxed);
        self.written(value);
    }

    fn store_release(&self, value: u32) {
        self.value.store(value, Release);
        self.written(value);
    }

    fn swap_acq_rel(&self, value: u32) -> u32 {
        self.swap(value, AcqRel)
    }

    fn fetch_add_relaxed(&self, value: u32) -> u32 {
        self.fetch_add(value, Relaxed)
    }

    fn fetch_add_acquire(&self, value: u32) -> u32 {
        self.fetch_add(value, Acquire)
    }

    fn fetch_add_release(&self, value: u32) -> u32 {
        self.fetch_add(value, Release)
    }

    fn inc_release(&self) {
        self.fetch_add(1, Release);
    }

    fn cmpxchg_relaxed(&self, old: u32, new: u32) -> bool {
        self.cmpxchg(old, new, Relaxed)
    }

    fn cmpxchg_acquire(&self, old: u32, new: u32) -> bool {
        self.cmpxchg(old, new, Acquire)
    }

    fn cmpxchg_release(&self, old: u32, new: u32) -> bool {
        self.cmpxchg(old, new, Release)
    }

    fn wait_acquire(&self, awaited: Awaited) -> u32 {
        loop {
            let value = self.value.load(Acquire);
            if awaited.holds(value) {
                return value;
            }
            if self.with_waiting(|waiting| awaited.holds(waiting.latest)) {
                // The value loaded was stale, and a write that has happened
                // wakes no thread: look again.
                thread::yield_now();
            } else {
                // INVARIANT: no scheduling point lies between the two.
                self.with_waiting(|waiting| waiting.parked.push(thread::current()));
                thread::park();
            }
        }
    }
}
