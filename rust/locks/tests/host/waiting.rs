// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! How a lock waits and hands over: on which word, in which order.

use handover_locks::{
    OneWordTwa, RawLock, Ticket, Ttas, Twa, Word as _, World as _, WAIT_ARRAY_SLOTS,
};

use super::{
    process::Process,
    scripted::{
        lock_behind,
        Event::{self, Grant, LookAtSlot, Notify, WaitForGrant, WaitOnSlot},
        Script, Scripted, Tickets, Word,
    },
    NEAR_WRAP,
};

/// Acquires behind `others` owners, near the wrap. Each of these unlocks when
/// the lock is seen to wait. Returns what happened.
fn lock_behind_owners<L: Tickets>(others: u32) -> Vec<Event> {
    let (lock, world, script) = lock_behind::<L>(NEAR_WRAP, others);
    let mask = u32::MAX >> (32 - L::TICKET_BITS);
    let ticket = move |ahead: u32| NEAR_WRAP.wrapping_add(ahead) & mask;
    for ahead in 0..others {
        script.then(move || lock.unlock(world, ticket(ahead)));
    }
    assert_eq!(lock.is_locked(), others > 0);
    assert_eq!(lock.is_contended(), others > 1);
    assert_eq!(lock.lock(world), ticket(others));
    assert!(!lock.is_contended());
    // The world was told, once, around all of it.
    let told = script.contended.borrow().len();
    assert_eq!(told, usize::from(others > 0));
    assert_eq!((script.waits_untold.get(), script.early_ends.get()), (0, 0));
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
    assert_eq!(shape(&lock_behind_owners::<Ticket<Word>>(0)), "");
    assert_eq!(shape(&lock_behind_owners::<Ticket<Word>>(1)), "wg");
    assert_eq!(shape(&lock_behind_owners::<Ticket<Word>>(5)), "wggggg");
}

/// With `threshold` or fewer ahead a waiter is near, and reads no slot. Behind more it waits on its
/// slot. The unlock that leaves `threshold` ahead notifies that slot, and no other does. The grant is
/// stored before. An unlock that leaves no far waiter does what `rest` says.
fn waits_long_term<L: Tickets>(threshold: u32, rest: &str) {
    for others in 0..threshold + 4 {
        let near = rest.repeat(others.min(threshold) as usize);
        let expect = match others.checked_sub(threshold) {
            _ if others == 0 => String::new(),
            None | Some(0) => format!("w{near}"),
            Some(far) => format!("LW{}gNLw{near}", "gn".repeat(far as usize - 1)),
        };
        let events = lock_behind_owners::<L>(others);
        assert_eq!(
            shape(&events),
            expect,
            "behind {others}, threshold {threshold}"
        );
    }
}

#[test]
fn twa_waits_long_term_threshold_0() {
    waits_long_term::<Twa<Word, 0>>(0, "gn");
}

#[test]
fn twa_waits_long_term_threshold_1() {
    waits_long_term::<Twa<Word>>(1, "gn");
}

#[test]
fn twa_waits_long_term_threshold_2() {
    waits_long_term::<Twa<Word, 2>>(2, "gn");
}

/// In one word an unlock sees that no far thread waits, and notifies none.
#[test]
fn one_word_twa_waits_long_term() {
    waits_long_term::<OneWordTwa<Word, 0>>(0, "g");
    waits_long_term::<OneWordTwa<Word>>(1, "g");
    waits_long_term::<OneWordTwa<Word, 2>>(2, "g");
}

/// Behind 65,534 others a thread waits as behind any other number. Its place is the last but one.
#[test]
fn one_word_twa_has_room_for_65_535() {
    let (lock, world, script) = lock_behind::<OneWordTwa<Word>>(NEAR_WRAP, 65_534);
    let first = NEAR_WRAP & 0xffff;
    script.then(move || {
        for ahead in 0..65_534 {
            lock.unlock(world, first.wrapping_add(ahead) & 0xffff);
        }
    });
    let last = lock.lock(world);
    assert_eq!(last, first.wrapping_add(65_534) & 0xffff);
    assert!(RawLock::<Scripted>::is_locked(lock) && !lock.is_contended());
    lock.unlock(world, last);
    assert!(!RawLock::<Scripted>::is_locked(lock));
}

/// A thread that draws behind 65,535 others would have the next one find the lock free.
#[test]
fn one_word_twa_ends_behind_65_535() {
    let (lock, world, _) = lock_behind::<OneWordTwa<Word>>(NEAR_WRAP, 65_535);
    let lock = std::panic::AssertUnwindSafe(|| lock.lock(world));
    let why = std::panic::catch_unwind(lock).expect_err("it has a place");
    assert_eq!(why.downcast_ref(), Some(&"overcrowded"));
}

/// A world of at most so many threads.
struct Bounded<const MOST: u32>(&'static Scripted);

impl<const MOST: u32> handover_locks::World for Bounded<MOST> {
    type Word = Word;
    const MOST_CONTENDERS: u32 = MOST;

    fn slot(&self, index: u32) -> &Word {
        self.0.slot(index)
    }

    fn pause(&self) {}

    fn overcrowded(&self) -> ! {
        panic!("overcrowded");
    }
}

/// Where the world bounds its threads, but to one more than have room, that one ends the program.
#[test]
fn a_world_of_65_536_is_checked() {
    let (lock, world, _) = lock_behind::<OneWordTwa<Word>>(7, 65_535);
    let last = std::panic::AssertUnwindSafe(|| RawLock::lock(lock, &Bounded::<65_536>(world)));
    let why = std::panic::catch_unwind(last).expect_err("it has a place");
    assert_eq!(why.downcast_ref(), Some(&"overcrowded"));
}

/// Where the world bounds its threads nothing is checked.
#[test]
fn a_bounded_world_checks_nothing() {
    let (lock, world, script) = lock_behind::<OneWordTwa<Word>>(7, 65_535);
    script.then(move || (0..65_535).for_each(|ahead| lock.unlock(world, (7 + ahead) & 0xffff)));
    let world = Bounded::<65_535>(world);
    let last = RawLock::lock(lock, &world);
    assert_eq!(last, 6);
}

/// The default of `overcrowded` ends the program: the thread after this one would own the lock too.
#[test]
fn overcrowding_aborts() {
    const CHILD: &str = "HANDOVER_OVERCROWDED";
    let name = "waiting::overcrowding_aborts";
    if std::env::var_os(CHILD).is_some() {
        let result = std::panic::catch_unwind(|| Process::new().overcrowded());
        unreachable!("{:?}", result.is_err());
    }
    let program = std::env::current_exe().unwrap();
    let child = std::process::Command::new(program)
        .args(["--exact", name, "--nocapture"])
        .env(CHILD, "1")
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&child.stderr);
    assert_eq!(
        std::os::unix::process::ExitStatusExt::signal(&child.status),
        Some(6),
        "{said}"
    );
    assert!(
        said.contains("more threads want a lock than it has tickets"),
        "{said}"
    );
}

/// A thread that finds the lock taken again pauses twice as long each time, up to a bound. While it
/// pauses it does not look.
#[test]
fn ttas_backs_off() {
    let script = Script::new();
    let world: &Scripted = Box::leak(Box::new(Scripted::new(script)));
    let lock: &Ttas<Word> = Box::leak(Box::new(Ttas::new(Word::new(0, script))));
    let owner = lock.lock(world);
    let seen = Box::leak(Box::new(std::cell::RefCell::new(Vec::new())));
    let pauses = &*seen;
    for round in 0..13 {
        // The owner leaves; another thread takes the lock first, but in the last round.
        script.then(move || {
            pauses.borrow_mut().push(script.pauses.take());
            lock.unlock(world, owner);
        });
        if round < 12 {
            script.before_cmpxchg(move || {
                lock.lock(world);
            });
            // The other thread's own cmpxchg.
            script.before_cmpxchg(|| ());
        }
    }
    lock.lock(world);
    let expect: Vec<u32> = (0..13).map(|round| (1 << round).min(1024)).collect();
    assert_eq!(*seen.borrow(), expect);
}

/// A notification that was meant for another costs a look at `grant`.
#[test]
fn twa_collision_is_benign() {
    collision_is_benign::<Twa<Word>>();
    collision_is_benign::<OneWordTwa<Word>>();
}

fn collision_is_benign<L: Tickets>() {
    let (lock, world, script) = lock_behind::<L>(0, 2);
    script.then(|| (0..WAIT_ARRAY_SLOTS).for_each(|slot| world.slot(slot).inc_release()));
    script.then(|| lock.unlock(world, 0));
    script.then(|| lock.unlock(world, 1));
    assert_eq!(lock.lock(world), 2);
    let events = script.events();
    let looks = events.iter().filter(|event| matches!(event, WaitOnSlot(_)));
    assert_eq!(looks.count(), 2);
}
