// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A world of shuttle's threads. Before each step on a word another thread may run. A thread that waits does
//! not run before its word is as awaited.

use std::sync::{
    atomic::{AtomicU32, AtomicUsize, Ordering::Relaxed},
    Arc, Mutex, MutexGuard,
};

use handover_locks::{Awaited, Word, World};

use super::desk::{Deed, Desk, Place};

/// The desk, which all words share. One thread runs at a time, so nobody waits for it.
#[derive(Clone)]
pub(crate) struct Shared(pub(crate) Arc<Mutex<Desk>>);

impl Shared {
    /// The desk. Nothing runs between two steps, so it is given back within a step.
    pub(crate) fn desk(&self) -> MutexGuard<'_, Desk> {
        self.0.lock().expect("no thread has panicked")
    }

    /// The thread that runs did this.
    pub(crate) fn record(&self, deed: Deed) {
        self.desk().record(deed);
    }
}

/// A word.
pub(crate) struct Cell {
    value: AtomicU32,
    place: Place,
    shared: Shared,
    /// The threads that wait here, and what for.
    waiters: Mutex<Vec<(usize, Awaited)>>,
}

impl Cell {
    /// A word at this place.
    pub(crate) fn new(value: u32, place: Place, shared: &Shared) -> Self {
        Self {
            value: AtomicU32::new(value),
            place,
            shared: shared.clone(),
            waiters: Mutex::default(),
        }
    }

    /// Another thread may run.
    fn pass() {
        shuttle::thread::yield_now();
    }

    /// Writes what `change` makes of the value, rouses those that waited for it, and returns the value before.
    fn change(&self, change: impl FnOnce(u32) -> u32) -> u32 {
        Self::pass();
        let before = self.value.load(Relaxed);
        let now = change(before);
        self.value.store(now, Relaxed);
        let mut desk = self.shared.desk();
        desk.record(Deed::Writes(self.place, now));
        let mut waiters = self.waiters.lock().expect("no thread has panicked");
        waiters.retain(|&(thread, awaited)| {
            let stays = !awaited.holds(now);
            if !stays {
                desk.rouse(thread);
            }
            stays
        });
        before
    }

    fn cmpxchg(&self, old: u32, new: u32) -> bool {
        self.change(|now| if now == old { new } else { now }) == old
    }
}

// One thread runs at a time: all accesses are sequentially consistent.
impl Word for Cell {
    fn load_relaxed(&self) -> u32 {
        Self::pass();
        self.value.load(Relaxed)
    }

    fn load_acquire(&self) -> u32 {
        let value = self.load_relaxed();
        self.shared.record(Deed::Loads(self.place, value));
        value
    }

    fn store_relaxed(&self, value: u32) {
        self.change(|_| value);
    }

    fn store_release(&self, value: u32) {
        self.change(|_| value);
    }

    fn swap_acq_rel(&self, value: u32) -> u32 {
        self.change(|_| value)
    }

    fn fetch_add_relaxed(&self, value: u32) -> u32 {
        self.change(|now| now.wrapping_add(value))
    }

    fn fetch_add_acquire(&self, value: u32) -> u32 {
        self.change(|now| now.wrapping_add(value))
    }

    fn fetch_add_release(&self, value: u32) -> u32 {
        self.change(|now| now.wrapping_add(value))
    }

    fn inc_release(&self) {
        self.change(|now| now.wrapping_add(1));
    }

    fn cmpxchg_relaxed(&self, old: u32, new: u32) -> bool {
        self.cmpxchg(old, new)
    }

    fn cmpxchg_acquire(&self, old: u32, new: u32) -> bool {
        self.cmpxchg(old, new)
    }

    fn cmpxchg_release(&self, old: u32, new: u32) -> bool {
        self.cmpxchg(old, new)
    }

    fn wait_acquire(&self, awaited: Awaited) -> u32 {
        Self::pass();
        self.shared.record(Deed::Waits(self.place));
        if !awaited.holds(self.value.load(Relaxed)) {
            let thread = self.shared.desk().sleeps();
            let mut waiters = self.waiters.lock().expect("no thread has panicked");
            waiters.push((thread, awaited));
            drop(waiters);
            Self::pass();
        }
        let value = self.value.load(Relaxed);
        assert!(awaited.holds(value), "a thread runs that waits");
        self.shared.record(Deed::Wakes(self.place, value));
        value
    }
}

/// The world of a run: its waiting array, and the numbers of its locks.
pub(crate) struct Study {
    slots: Vec<Cell>,
    /// What keeps the locks apart in the array.
    keys: Vec<u32>,
    /// Where the first of the locks lies.
    first: AtomicUsize,
    shared: Shared,
}

impl Study {
    /// A world with an array of so many slots, all zero, for as many locks as there are keys.
    pub(crate) fn new(slots: usize, keys: Vec<u32>, shared: &Shared) -> Self {
        let slot = |slot| Cell::new(0, Place::Slot(slot), shared);
        Self {
            slots: (0..slots).map(slot).collect(),
            keys,
            first: AtomicUsize::new(0),
            shared: shared.clone(),
        }
    }

    /// The locks are these.
    pub(crate) fn has<L>(&self, locks: &[L]) {
        self.first.store(locks.as_ptr() as usize, Relaxed);
    }
}

impl World for Study {
    type Word = Cell;

    /// The array has fewer slots than indices. The low bits say which, as they do in a smaller array.
    fn slot(&self, index: u32) -> &Cell {
        self.shared.record(Deed::Index(index));
        &self.slots[index as usize % self.slots.len()]
    }

    /// A lock's address differs from run to run, so each has a number instead.
    fn key<L>(&self, lock: &L) -> u32 {
        let address = core::ptr::from_ref(lock) as usize;
        self.keys[(address - self.first.load(Relaxed)) / size_of::<L>()]
    }

    fn pause(&self) {
        Cell::pass();
    }
}
