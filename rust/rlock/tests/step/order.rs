// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The assembly's accesses come in the order of the protocol's own section.

use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering;

use rlock::protocol::{self, Action, Shared, Word};
use rlock::word::{Ownership, CANCELLED};
use rlock::{testing, Lock, Owner, Slot, Token};

use crate::trap::{self, Stepper};

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Access {
    SetFlag,
    ReadState,
    Commit,
    ClearFlag,
}

/// Which accesses the protocol's section makes.
fn of_the_protocol() -> Vec<Access> {
    #[derive(Default)]
    struct Recorder {
        value: Cell<u64>,
        log: RefCell<Vec<u64>>,
    }
    thread_local! {
        static LOG: RefCell<Vec<Access>> = const { RefCell::new(Vec::new()) };
    }
    fn tell(access: Access) {
        LOG.with_borrow_mut(|log| log.push(access));
    }
    impl Word for Recorder {
        fn load_relaxed(&self) -> u64 {
            tell(Access::ReadState);
            self.value.get()
        }
        fn load_acquire(&self) -> u64 {
            unreachable!()
        }
        fn store_relaxed(&self, value: u64) {
            assert_ne!(value, 0);
            tell(Access::SetFlag);
            self.log.borrow_mut().push(value);
        }
        fn store_release(&self, value: u64) {
            assert_eq!(value, 0);
            tell(Access::ClearFlag);
        }
        fn cmpxchg(&self, _: u64, _: u64) -> Result<(), u64> {
            unreachable!()
        }
        fn fetch_or(&self, _: u64) -> u64 {
            unreachable!()
        }
    }
    let mine = Ownership::new(1, 1);
    let own = Shared::<Recorder>::default();
    own.state.value.set(mine.bits());
    let done = protocol::section(&own, mine, || tell(Access::Commit), |_| Action::Return);
    assert!(done);
    assert_eq!(own.section.log.borrow()[..], [mine.bits()]);
    LOG.with_borrow(Vec::clone)
}

/// Watches the words between instructions, and spoils the state before the `spoil`th.
struct Watch<'a> {
    spoil: usize,
    step: Cell<usize>,
    slot: &'a Slot,
    before: Cell<(u64, u64)>,
    seen: RefCell<Vec<(usize, Access)>>,
}

impl Stepper for Watch<'_> {
    fn at(&self, _: u64) {
        let step = self.step.get();
        self.step.set(step + 1);
        let own = testing::own();
        let now = (own.section.load(Ordering::Relaxed), self.slot.load());
        let before = self.before.replace(now);
        // Room enough: nothing is allocated inside a step.
        let mut seen = self.seen.borrow_mut();
        assert!(seen.len() < seen.capacity());
        if now.0 != before.0 {
            let access = if now.0 == 0 {
                Access::ClearFlag
            } else {
                Access::SetFlag
            };
            seen.push((step, access));
        }
        if now.1 != before.1 {
            seen.push((step, Access::Commit));
        }
        if step == self.spoil {
            own.state.fetch_or(CANCELLED, Ordering::Relaxed);
        }
    }
}

/// Which accesses an operation makes, with the number of the instruction.
fn of_the_assembly(operation: impl Fn(&mut Token<'_, Slot>) -> bool) -> Vec<(usize, Access)> {
    let lock = Lock::new(Slot::new(0));
    let owner = Owner::register().unwrap();
    let run = |spoil| {
        owner.release_all();
        let mut token = owner.acquire(&lock).unwrap();
        let watch = Watch {
            spoil,
            step: Cell::new(0),
            slot: &lock,
            before: Cell::new((0, lock.load())),
            seen: RefCell::new(Vec::with_capacity(16)),
        };
        let done = trap::step(&watch, || operation(&mut token));
        (done, watch.seen.into_inner(), watch.step.get())
    };
    let (done, mut seen, steps) = run(usize::MAX);
    assert!(done);
    // Spoilt after instruction n the operation fails, up to the one that reads it.
    let first_too_late = (0..steps).find(|&spoil| run(spoil).0).unwrap();
    assert!((first_too_late..steps).all(|spoil| run(spoil).0));
    seen.push((first_too_late, Access::ReadState));
    seen.sort_by_key(|&(step, _)| step);
    seen
}

fn check(name: &str, operation: impl Fn(&mut Token<'_, Slot>) -> bool) {
    let _one = trap::install(false);
    let seen = of_the_assembly(operation);
    println!("{name}: {seen:?}");
    let order: Vec<Access> = seen.iter().map(|&(_, access)| access).collect();
    assert_eq!(order, of_the_protocol(), "{name}");
    // No two in one instruction.
    assert!(seen.windows(2).all(|pair| pair[0].0 < pair[1].0));
}

#[test]
fn store_has_the_protocols_order() {
    check("store", |token| {
        token.store(|slot| slot, token.load() + 1).is_ok()
    });
}

#[test]
fn add_has_the_protocols_order() {
    check("add", |token| token.add(|slot| slot, 1).is_ok());
}

#[test]
fn compare_and_store_has_the_protocols_order() {
    check("compare_and_store", |token| {
        let now = token.load();
        token.compare_and_store(|slot| slot, now, now + 1) == Ok(true)
    });
}
