// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Which slot a ticket waits on.

use handover_locks::{RawLock, Twa, WAIT_ARRAY_SLOTS};

use super::scripted::{lock_behind, Event::Notify};

/// 32-bit slots in a 128-byte sector.
const SLOTS_PER_SECTOR: u32 = 128 / 4;

/// The slots that the unlocks of `count` tickets notify, across the wrap.
fn notified(count: u32) -> Vec<u32> {
    let start = 0u32.wrapping_sub(count / 2);
    let (lock, world, script) = lock_behind(Twa::<_>::new, start, 0);
    for _ in 0..count {
        let ticket = lock.lock(world);
        lock.unlock(world, ticket);
    }
    let slot = |event| match event {
        Notify(slot) => Some(slot),
        _ => None,
    };
    script.events().into_iter().filter_map(slot).collect()
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

/// Two locks at the same ticket do not use the same slots.
#[test]
fn address_keeps_locks_apart() {
    let script = super::scripted::Script::new();
    let world = super::scripted::Slots::new(script);
    let word = || super::scripted::Word::new(0, script);
    // Side by side, so that their addresses differ in the bits that count.
    let locks: [Twa<_>; 4] = [(); 4].map(|()| Twa::new(word(), word()));
    for lock in &locks {
        lock.unlock(&world, lock.lock(&world));
    }
    let mut slots = script.events();
    slots.retain(|event| matches!(event, Notify(_)));
    for (i, slot) in slots.iter().enumerate() {
        assert!(!slots[..i].contains(slot), "{slots:?}");
    }
}
