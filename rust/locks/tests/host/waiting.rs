// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! How a lock waits and hands over: on which word, in which order.

use handover_locks::{RawLock, Ticket, Twa, Word as _, World as _, WAIT_ARRAY_SLOTS};

use super::{
    scripted::{
        lock_behind,
        Event::{self, Grant, LookAtSlot, Notify, WaitForGrant, WaitOnSlot},
        Slots, Word,
    },
    NEAR_WRAP,
};

/// Acquires behind `others` owners, near the wrap. Each of these unlocks when
/// the lock is seen to wait. Returns what happened.
fn lock_behind_owners<L>(new: fn(Word, Word) -> L, others: u32) -> Vec<Event>
where
    L: RawLock<Slots> + 'static,
{
    let (lock, world, script) = lock_behind(new, NEAR_WRAP, others);
    for ahead in 0..others {
        script.then(move || lock.unlock(world, NEAR_WRAP.wrapping_add(ahead)));
    }
    assert_eq!(lock.is_locked(), others > 0);
    assert_eq!(lock.is_contended(), others > 1);
    assert_eq!(lock.lock(world), NEAR_WRAP.wrapping_add(others));
    assert!(!lock.is_contended());
    script.events()
}

/// What happens between the first wait and the last grant, with slots replaced
/// by whether they are the waiter's own.
fn shape(events: &[Event]) -> String {
    let own = events.iter().find_map(|event| match event {
        LookAtSlot(slot) | WaitOnSlot(slot) => Some(*slot),
        _ => None,
    });
    let letter = |event: &Event| match *event {
        WaitForGrant => 'w',
        Grant(_) => 'g',
        LookAtSlot(slot) if Some(slot) == own => 'L',
        WaitOnSlot(slot) if Some(slot) == own => 'W',
        Notify(slot) if Some(slot) == own => 'N',
        LookAtSlot(_) | WaitOnSlot(_) => '?',
        Notify(_) => 'n',
    };
    events.iter().map(letter).collect()
}

#[test]
fn ticket_waits_for_grant() {
    assert_eq!(shape(&lock_behind_owners(Ticket::new, 0)), "");
    assert_eq!(shape(&lock_behind_owners(Ticket::new, 1)), "wg");
    assert_eq!(shape(&lock_behind_owners(Ticket::new, 5)), "wggggg");
}

/// With `T` or fewer ahead a waiter is near, and reads no slot. Behind more it waits on its slot.
/// The unlock that leaves `T` ahead notifies that slot, and no other does. The
/// grant is stored before.
fn waits_long_term<const T: u32>() {
    for others in 0..T + 4 {
        let expect = match others {
            0 => String::new(),
            _ if others <= T => format!("w{}", "gn".repeat(others as usize)),
            _ => {
                let far = "gn".repeat((others - T) as usize - 1);
                let near = "gn".repeat(T as usize);
                format!("LW{far}gNLw{near}")
            }
        };
        let events = lock_behind_owners(Twa::<_, T>::new, others);
        assert_eq!(shape(&events), expect, "behind {others}, threshold {T}");
    }
}

#[test]
fn twa_waits_long_term_threshold_0() {
    waits_long_term::<0>();
}

#[test]
fn twa_waits_long_term_threshold_1() {
    waits_long_term::<1>();
}

#[test]
fn twa_waits_long_term_threshold_2() {
    waits_long_term::<2>();
}

/// A notification that was meant for another costs a look at `grant`.
#[test]
fn twa_collision_is_benign() {
    let (lock, world, script) = lock_behind(Twa::<_>::new, NEAR_WRAP, 2);
    script.then(|| (0..WAIT_ARRAY_SLOTS).for_each(|slot| world.slot(slot).inc_release()));
    script.then(|| lock.unlock(world, NEAR_WRAP));
    script.then(|| lock.unlock(world, NEAR_WRAP.wrapping_add(1)));
    assert_eq!(lock.lock(world), NEAR_WRAP.wrapping_add(2));
    let events = script.events();
    let looks = events.iter().filter(|event| matches!(event, WaitOnSlot(_)));
    assert_eq!(looks.count(), 2);
}
