// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The locks with threads of the system, whose processor may reorder.

use std::{cell::UnsafeCell, sync::atomic::AtomicU32, thread};

use handover_locks::{RawLock, Ticket, Twa, World, WAIT_ARRAY_SLOTS};

use super::NEAR_WRAP;

/// More threads than a threshold of one keeps near.
const THREADS: u32 = 4;
const ROUNDS: u32 = 5_000;

struct Word(AtomicU32);

// There may be fewer processors than threads.
word_by_atomics!(Word, thread::yield_now);

struct Process(Vec<Word>);

impl World for Process {
    type Word = Word;

    fn slot(&self, index: u32) -> &Word {
        &self.0[index as usize]
    }
}

/// Admissions, counted without atomics.
struct Counter(UnsafeCell<u32>);

// SAFETY: only the owner of the lock under test uses it; where two do, the test
// is to fail.
unsafe impl Sync for Counter {}

/// Every other round tries first. Each owner sees what the last one did, and is
/// the next one by its ticket.
fn exclude_in_order<L: RawLock<Process> + Sync>(new: fn(Word, Word) -> L) {
    let word = |value| Word(AtomicU32::new(value));
    let world = Process((0..WAIT_ARRAY_SLOTS).map(|_| word(0)).collect());
    let lock = new(word(NEAR_WRAP), word(NEAR_WRAP));
    let admitted = Counter(UnsafeCell::new(NEAR_WRAP));
    let work = || {
        let (lock, world, admitted) = (&lock, &world, &admitted);
        for round in 0..ROUNDS {
            let tried = (round % 2 == 0).then(|| lock.try_lock(world)).flatten();
            let ticket = tried.unwrap_or_else(|| lock.lock(world));
            // SAFETY: this thread owns the lock.
            let admitted = unsafe { &mut *admitted.0.get() };
            assert_eq!(*admitted, ticket);
            *admitted = admitted.wrapping_add(1);
            lock.unlock(world, ticket);
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

#[test]
fn ticket_excludes_in_order() {
    exclude_in_order(Ticket::new);
}

#[test]
fn twa_excludes_in_order() {
    exclude_in_order(Twa::<_>::new);
}

#[test]
fn twa_excludes_in_order_threshold_0() {
    exclude_in_order(Twa::<_, 0>::new);
}
