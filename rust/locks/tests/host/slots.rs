// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Which slot a ticket waits on.

use handover_locks::{OneWordTwa, RawLock, Twa, World, WAIT_ARRAY_SLOTS};

use super::{
    process,
    scripted::{
        lock_behind,
        Event::{self, Notify, WaitOnSlot},
        Scripted, Tickets, Word,
    },
};

/// 32-bit slots in a 128-byte sector.
const SLOTS_PER_SECTOR: u32 = 128 / 4;

/// The slots that the unlocks of `count` tickets notify, across the wrap.
fn notified(count: u32) -> Vec<u32> {
    let start = 0u32.wrapping_sub(count / 2);
    let (lock, world, script) = lock_behind::<Twa<Word>>(start, 0);
    for _ in 0..count {
        let ticket = lock.lock(world);
        lock.unlock(world, ticket);
    }
    script
        .events()
        .into_iter()
        .filter_map(notified_slot)
        .collect()
}

/// The slot of a notification.
fn notified_slot(event: Event) -> Option<u32> {
    match event {
        Notify(slot) => Some(slot),
        _ => None,
    }
}

/// Tickets of one lock reuse a slot 4096 apart, and no nearer.
#[test]
fn every_slot_once() {
    let slots = notified(2 * WAIT_ARRAY_SLOTS);
    let (first, second) = slots.split_at(WAIT_ARRAY_SLOTS as usize);
    assert_eq!(first, second);
    let mut sorted = first.to_vec();
    sorted.sort_unstable();
    assert!(sorted.into_iter().eq(0..WAIT_ARRAY_SLOTS));
}

/// Tickets first share a 128-byte sector 97 apart.
#[test]
fn neighbours_in_different_sectors() {
    let slots = notified(WAIT_ARRAY_SLOTS);
    let sectors: Vec<u32> = slots.iter().map(|slot| slot / SLOTS_PER_SECTOR).collect();
    let shared = |apart: usize| sectors.windows(apart + 1).any(|w| w[0] == w[apart]);
    assert_eq!(
        (1..WAIT_ARRAY_SLOTS as usize).find(|&apart| shared(apart)),
        Some(97)
    );
}

/// Locks lie a line apart, as in a slab. Of them, 64 use as many slots at the same ticket.
#[test]
fn all_bits_of_the_address_count() {
    #[repr(align(64))]
    struct OnItsLine(Twa<Word>);

    let script = super::scripted::Script::new();
    let world = super::scripted::Scripted::new(script);
    let word = || Word::new(0, script);
    let locks: Vec<OnItsLine> = (0..WAIT_ARRAY_SLOTS / 64)
        .map(|_| OnItsLine(Twa::new(word(), word())))
        .collect();
    for OnItsLine(lock) in &locks {
        lock.unlock(&world, lock.lock(&world));
    }
    let mut slots: Vec<u32> = script
        .events()
        .into_iter()
        .filter_map(notified_slot)
        .collect();
    slots.sort_unstable();
    slots.dedup();
    assert_eq!(slots.len(), locks.len());
}

/// Two locks at the same ticket do not use the same slots.
fn address_keeps_apart<L: Tickets>() {
    let script = super::scripted::Script::new();
    let world: &Scripted = Box::leak(Box::new(Scripted::new(script)));
    // Side by side, so that their addresses differ in the bits that count. Behind an owner and a
    // waiter a thread waits long term.
    let locks: &[L; 4] = Box::leak(Box::new([(); 4].map(|()| L::behind(0, 2, script))));
    for lock in locks {
        script.then(|| lock.unlock(world, 0));
        script.then(|| lock.unlock(world, 1));
        lock.unlock(world, lock.lock(world));
    }
    let mut slots = script.events();
    slots.retain(|event| matches!(event, WaitOnSlot(_)));
    assert_eq!(slots.len(), locks.len());
    for (i, slot) in slots.iter().enumerate() {
        assert!(!slots[..i].contains(slot), "{slots:?}");
    }
}

#[test]
fn address_keeps_locks_apart() {
    address_keeps_apart::<Twa<Word>>();
}

#[test]
fn address_keeps_one_word_locks_apart() {
    address_keeps_apart::<OneWordTwa<Word>>();
}

/// The scripted world, with one key for all locks.
struct OneKey(&'static Scripted);

impl World for OneKey {
    type Word = Word;

    fn slot(&self, index: u32) -> &Word {
        self.0.slot(index)
    }

    fn key<L>(&self, _: &L) -> u32 {
        5
    }

    fn pause(&self) {
        self.0.pause();
    }

    fn overcrowded(&self) -> ! {
        self.0.overcrowded()
    }
}

/// The slot on which the thread after the next but one waits of a lock at `grant`.
fn waits_on<L: Tickets + RawLock<OneKey>>(grant: u32) -> u32 {
    let (lock, world, script) = lock_behind::<L>(grant, 2);
    let bits = u32::MAX >> (32 - <L as RawLock<OneKey>>::TICKET_BITS);
    for ahead in 0..2 {
        let ticket = grant.wrapping_add(ahead) & bits;
        script.then(move || RawLock::<OneKey>::unlock(lock, &OneKey(world), ticket));
    }
    RawLock::<OneKey>::lock(lock, &OneKey(world));
    let waited = script.events().into_iter().find_map(|event| match event {
        WaitOnSlot(slot) => Some(slot),
        _ => None,
    });
    waited.expect("it waits long term")
}

/// A ticket of 16 bits has the slot that it has in 32 bits, across the wrap too.
#[test]
fn one_word_tickets_have_the_same_slots() {
    for grant in [0, 1, 77, 4095, 0x7fff, 0xfffc, 0xfffd, 0xfffe, 0xffff] {
        assert_eq!(
            waits_on::<OneWordTwa<Word>>(grant),
            waits_on::<Twa<Word>>(grant),
            "{grant:#x}"
        );
    }
}

/// Four-byte locks side by side have keys that differ in the bits that choose a slot.
#[test]
fn neighbours_have_keys_of_their_own() {
    let world = process::Process::new();
    let locks: [OneWordTwa<process::Cell>; 16] =
        [(); 16].map(|()| OneWordTwa::new(process::Cell::new(0)));
    let keys = locks
        .each_ref()
        .map(|lock| world.key(lock) % WAIT_ARRAY_SLOTS);
    for (at, key) in keys.iter().enumerate() {
        assert!(!keys[..at].contains(key), "{keys:?}");
    }
}
