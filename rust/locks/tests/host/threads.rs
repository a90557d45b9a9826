// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The locks with threads of the system, whose processor may reorder.

use std::{cell::UnsafeCell, sync::Mutex, thread};

use handover_locks::{Word as _, *};

use super::{
    process::{Cell as Word, Process},
    NEAR_WRAP,
};

/// More threads than a threshold of one keeps near.
const THREADS: u32 = 4;
const ROUNDS: u32 = 5_000;

/// Admissions, counted without atomics.
struct Counter(UnsafeCell<u32>);

// SAFETY: only the owner of the lock under test uses it; where two do, the test
// is to fail.
unsafe impl Sync for Counter {}

/// Every other round tries first. Each owner sees what the last one did, and is
/// the next one by its ticket, where there are tickets.
fn exclude_in_order<L: RawLock<Process> + Make<Word> + Sync>() {
    exclude(&L::make(NEAR_WRAP, Word::new), &Process::new());
}

fn exclude<L: RawLock<Process> + Sync>(lock: &L, world: &Process) {
    let admitted = Counter(UnsafeCell::new(NEAR_WRAP));
    let bits = if L::TICKET_BITS == 0 {
        0
    } else {
        u32::MAX >> (32 - L::TICKET_BITS)
    };
    let work = || {
        let admitted = &admitted;
        for round in 0..ROUNDS {
            let tried = (round % 2 == 0).then(|| lock.try_lock(world)).flatten();
            let token = tried.unwrap_or_else(|| lock.lock(world));
            // SAFETY: this thread owns the lock.
            let admitted = unsafe { &mut *admitted.0.get() };
            assert_eq!(*admitted & bits, token & bits);
            *admitted = admitted.wrapping_add(1);
            lock.unlock(world, token);
        }
    };
    thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(work);
        }
    });
    assert!(!lock.is_locked());
    let all = NEAR_WRAP.wrapping_add(THREADS * ROUNDS);
    assert_eq!(admitted.0.into_inner(), all);
}

macro_rules! tests {
    ($($name:ident: $lock:ty = $kind:ident, $about:literal;)*) => {
        $(tests!(@$kind $name, $lock);)*
    };
    (@control $name:ident, $lock:ty) => {};
    (@$kind:ident $name:ident, $lock:ty) => {
        mod $name {
            use super::*;

            #[test]
            fn exclude_in_order() {
                super::exclude_in_order::<$lock>();
            }

            #[test]
            fn admit_in_order() {
                super::admit_in_order::<$lock>();
            }
        }
    };
}
for_each_lock!(tests);

#[test]
fn twa_threshold_0() {
    exclude_in_order::<Twa<Word, 0>>();
}

#[test]
fn one_word_twa_threshold_0() {
    exclude_in_order::<OneWordTwa<Word, 0>>();
}

/// Threads come one after another, each once the one before is seen in the lock's first word. They are
/// admitted in that order. Where a lock keeps none they come at once, and each is admitted.
fn admit_in_order<L: RawLock<Process> + Make<Word> + Sync>() {
    let world = Process::new();
    let lock = L::make(NEAR_WRAP, Word::new);
    // SAFETY: a lock that excludes begins with a word, which is atomic.
    let first_word = unsafe { &*std::ptr::from_ref(&lock).cast::<Word>() };
    let order = Mutex::new(Vec::new());
    let owner = lock.lock(&world);
    thread::scope(|scope| {
        for id in 0..THREADS {
            let before = first_word.load_relaxed();
            let (lock, world, order) = (&lock, &world, &order);
            scope.spawn(move || {
                let token = lock.lock(world);
                order.lock().unwrap().push(id);
                lock.unlock(world, token);
            });
            while L::FIFO && first_word.load_relaxed() == before {
                thread::yield_now();
            }
        }
        lock.unlock(&world, owner);
    });
    let mut order = order.into_inner().unwrap();
    if !L::FIFO {
        order.sort_unstable();
    }
    assert!(order.into_iter().eq(0..THREADS));
}

/// Some threads find a node, and some do not.
fn exclude_with_few_nodes<L: RawLock<Process> + Make<Word> + Sync>() {
    let world = Process::new();
    let mut held: Vec<u32> = std::iter::from_fn(|| world.take()).collect();
    world.put(held.pop().unwrap());
    world.put(held.pop().unwrap());
    exclude(&L::make(0, Word::new), &world);
    // What was taken was given back.
    let left = std::iter::from_fn(|| world.take()).count();
    assert_eq!(left, 2);
}

#[test]
fn mcs_with_few_nodes() {
    exclude_with_few_nodes::<Mcs<Word>>();
}

#[test]
fn clh_with_few_nodes() {
    exclude_with_few_nodes::<Clh<Word>>();
}

#[test]
fn qspin_with_few_nodes() {
    exclude_with_few_nodes::<Qspin<Word>>();
}
