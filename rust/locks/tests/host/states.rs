// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The states of a lock, as one CPU sees them.

use handover_locks::{Busted, RawLock, Ticket, Twa};

use super::{
    scripted::{lock_behind, Slots, Word},
    NEAR_WRAP,
};

/// Runs `test` on a lock that starts at `start`, free.
fn with<L: 'static>(new: fn(Word, Word) -> L, start: u32, test: impl FnOnce(&L, &Slots)) {
    let (lock, world, _) = lock_behind(new, start, 0);
    test(lock, world);
}

fn free_and_owned<L: RawLock<Slots>>(lock: &L, world: &Slots) {
    for _ in 0..2 {
        assert!(!lock.is_locked());
        assert!(!lock.is_contended());
        let ticket = lock.lock(world);
        assert!(lock.is_locked());
        assert!(!lock.is_contended());
        lock.unlock(world, ticket);
    }
    assert!(!lock.is_locked());
}

fn tickets_in_order<L: RawLock<Slots>>(lock: &L, world: &Slots) {
    for ahead in 0..8 {
        let ticket = lock.lock(world);
        assert_eq!(ticket, NEAR_WRAP.wrapping_add(ahead));
        assert!(lock.is_locked());
        lock.unlock(world, ticket);
        assert!(!lock.is_locked());
    }
}

fn try_lock<L: RawLock<Slots>>(lock: &L, world: &Slots) {
    for ahead in 0..8 {
        let ticket = lock.try_lock(world).expect("a free lock");
        assert_eq!(ticket, NEAR_WRAP.wrapping_add(ahead));
        assert_eq!(lock.try_lock(world), None, "an owned lock");
        assert!(lock.is_locked());
        assert!(!lock.is_contended());
        lock.unlock(world, ticket);
    }
}

#[test]
fn ticket_free_and_owned() {
    with(Ticket::new, 0, free_and_owned);
}

#[test]
fn twa_free_and_owned() {
    with(Twa::<_>::new, 0, free_and_owned);
}

#[test]
fn ticket_in_order_across_the_wrap() {
    with(Ticket::new, NEAR_WRAP, tickets_in_order);
}

#[test]
fn twa_in_order_across_the_wrap() {
    with(Twa::<_>::new, NEAR_WRAP, tickets_in_order);
}

#[test]
fn ticket_try_lock() {
    with(Ticket::new, NEAR_WRAP, try_lock);
}

#[test]
fn twa_try_lock() {
    with(Twa::<_>::new, NEAR_WRAP, try_lock);
}

#[test]
fn busted_excludes_nobody() {
    fn test<L: RawLock<Slots>>(lock: &L, world: &Slots) {
        const { assert!(!L::EXCLUDES && !L::FIFO) };
        assert_eq!([lock.lock(world), lock.lock(world)], [0, 0]);
        assert_eq!(lock.try_lock(world), Some(0));
        assert!(!lock.is_locked() && !lock.is_contended());
    }
    with(|_, _| Busted, 0, test);
}
