// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What a handler that stands on a section may and may not do. What is left when it does
//! not come back.

use std::cell::Cell;
use std::sync::atomic::Ordering;

use rlock::word::CANCELLED;
use rlock::{section, testing, Busy, Cancel, Counter, Lock, Owner, Revoked, Slot};

use crate::trap::{self, Stepper};

fn flag() -> u64 {
    testing::own().section.load(Ordering::Relaxed)
}

/// Calls `act` at every boundary.
struct Each<F: Fn(u64)> {
    act: F,
}

impl<F: Fn(u64)> Stepper for Each<F> {
    fn at(&self, rip: u64) {
        (self.act)(rip);
    }
}

/// A new hazard: a section inside a handler would clear the flag of the section that it
/// stands on.
#[test]
fn an_acquisition_inside_a_section_is_refused() {
    let _one = trap::install(false);
    let lock = Lock::new(Slot::new(0));
    let other = Lock::new(Slot::new(0));
    let owner = Owner::register().unwrap();
    let mut token = owner.acquire(&lock).unwrap();
    // Counted there and looked at here: a handler must not panic.
    let (inside, outside, wrong) = (Cell::new(0), Cell::new(0), Cell::new(0));
    let each = Each {
        act: |_| {
            // Both the lock that is owned and one that is not.
            for wanted in [&lock, &other] {
                let found = owner.acquire(wanted).map(drop);
                let (expected, count) = if flag() != 0 {
                    (Err(Busy::Nested), &inside)
                } else {
                    (Ok(()), &outside)
                };
                count.set(count.get() + 1);
                if found != expected {
                    wrong.set(wrong.get() + 1);
                }
            }
        },
    };
    let stored = trap::step(&each, || token.store(|slot| slot, 1));
    assert_eq!(wrong.get(), 0);
    stored.unwrap();
    assert!(inside.get() >= 6 && outside.get() >= 10);
}

/// A new hazard: a signal that comes while a section fails must not be put off for ever.
#[test]
fn a_signal_at_every_boundary_of_a_section_that_fails() {
    let _one = trap::install(false);
    let lock = Lock::new(Slot::new(0));
    let owner = Owner::register().unwrap();
    let before = section::all().count();
    assert!(before > 0);
    let failing = Cell::new(0);
    for at in 0.. {
        owner.release_all();
        let mut token = owner.acquire(&lock).unwrap();
        testing::own().state.fetch_or(CANCELLED, Ordering::Relaxed);
        let step = Cell::new(0);
        let each = Each {
            act: |rip| {
                if step.replace(step.get() + 1) == at {
                    if section::all().any(|s| (s.out..s.out_end).contains(&rip)) {
                        failing.set(failing.get() + 1);
                    }
                    // SAFETY: sends a signal that is handled.
                    unsafe { libc::raise(libc::SIGURG) };
                }
            },
        };
        let result = trap::step(&each, || token.store(|slot| slot, 1));
        assert_eq!(result, Err(Revoked));
        assert_eq!(flag(), 0);
        assert!(!trap::is_blocked(), "after {at}");
        if step.get() <= at {
            // It has no more instructions.
            break;
        }
    }
    assert!(
        failing.get() >= 2,
        "{} boundaries out of line",
        failing.get()
    );
    assert_eq!(lock.load(), 0);
}

/// Goes on after the section, with its flag set, as a `siglongjmp` would.
struct Leave;

impl Stepper for Leave {
    fn at(&self, rip: u64) {
        if let Some(section) = section::all().find(|s| s.begin == rip) {
            trap::go_to(section.end);
        }
    }
}

/// Hole 11: no canceller is told that the victim is out, and a thread can be mended.
#[test]
fn a_section_that_is_never_left() {
    let _one = trap::install(false);
    let lock = Lock::new(Slot::new(0));
    std::thread::scope(|scope| {
        let (tell, told) = std::sync::mpsc::channel();
        let (go, going) = std::sync::mpsc::channel();
        let lock = &lock;
        scope.spawn(move || {
            let owner = Owner::register().unwrap();
            let mut token = owner.acquire(lock).unwrap();
            // It says that it committed; what it committed is unknown.
            let _ = trap::step(&Leave, || token.store(|slot| slot, 1));
            assert_ne!(flag(), 0);
            assert_eq!(owner.acquire(lock).map(drop), Err(Busy::Nested));
            tell.send(()).unwrap();
            going.recv().unwrap();
            // SAFETY: this is no signal handler.
            unsafe { owner.forget_section() };
            assert!(!trap::is_blocked());
            assert_eq!(flag(), 0);
            owner.acquire(lock).map(drop).unwrap();
            // Once more, and then the thread ends.
            let mut token = owner.acquire(lock).unwrap();
            let _ = trap::step(&Leave, || token.store(|slot| slot, 1));
            assert_ne!(flag(), 0);
        });
        told.recv().unwrap();
        let soon = std::time::Duration::from_millis(20);
        for mode in [Cancel::Try, Cancel::strictly_within(soon)] {
            // It is in no section, but no canceller can know: a refusal, or a proof.
            let _ = lock.cancel(mode);
        }
        go.send(()).unwrap();
    });
    // An ended thread stands in no section.
    let owner = Owner::register().unwrap();
    owner.acquire(&lock).map(drop).unwrap();
}

/// A counter in a handler, at every instruction of an addition to the same counter. All
/// is in the sum, and what came on a section is counted beside the block.
#[test]
fn a_counter_in_a_handler_at_every_instruction() {
    static COUNTER: Counter = Counter::new();
    let _one = trap::install(false);
    // The first addition gives it its number and the thread its block.
    COUNTER.add(1);
    let (came, on_section) = (Cell::new(0), Cell::new(0));
    let each = Each {
        act: |_| {
            came.set(came.get() + 1);
            on_section.set(on_section.get() + u64::from(flag() != 0));
            COUNTER.add(1);
        },
    };
    let mut adds = 1;
    for _ in 0..100 {
        trap::step(&each, || COUNTER.add(1));
        adds += 1;
    }
    assert!(on_section.get() >= 300, "{}", on_section.get());
    assert_eq!(COUNTER.sum(), adds + came.get());
}

/// A new hazard: a handler on a section ends its thread's ownerships. Another thread
/// would then believe that nothing is to come.
#[test]
fn an_end_inside_a_section_only_asks() {
    let _one = trap::install(false);
    let lock = Lock::new(Slot::new(0));
    let owner = Owner::register().unwrap();
    let inside = Cell::new(0);
    for at in 0.. {
        let mut token = owner.acquire(&lock).unwrap();
        let mine = testing::word(&lock);
        let (step, wrong) = (Cell::new(0), Cell::new(0));
        let each = Each {
            act: |_| {
                if step.replace(step.get() + 1) != at {
                    return;
                }
                let stands = flag() != 0;
                owner.release_all();
                let state = testing::own().state.load(Ordering::Relaxed);
                // Its generation goes on, and is asked to end.
                if stands {
                    inside.set(inside.get() + 1);
                    wrong.set(wrong.get() + u32::from(state != mine | CANCELLED));
                } else {
                    wrong.set(wrong.get() + u32::from(state <= mine));
                }
            },
        };
        let before = lock.load();
        let result = trap::step(&each, || token.store(|slot| slot, before + 1));
        assert_eq!(wrong.get(), 0, "after {at}");
        assert_eq!(lock.load() - before, u64::from(result.is_ok()));
        drop(token);
        if step.get() <= at {
            break;
        }
        // It goes on.
        owner
            .acquire(&lock)
            .unwrap()
            .store(|slot| slot, before + 1)
            .unwrap();
    }
    assert!(inside.get() >= 3);
}

/// A new hazard: a signal that is pending at a fork does not come to the child. The
/// child's section would go on.
#[test]
fn a_fork_inside_a_cancelled_section() {
    let _one = trap::install(false);
    let lock = Lock::new(Slot::new(0));
    let owner = Owner::register().unwrap();
    let forked = Cell::new(0);
    for at in 0.. {
        owner.release_all();
        let mut token = owner.acquire(&lock).unwrap();
        let (step, child) = (Cell::new(0), Cell::new(-1));
        let each = Each {
            act: |rip| {
                let here = section::all().any(|s| (s.begin..s.committed).contains(&rip));
                if step.replace(step.get() + 1) == at && here {
                    // A canceller had success: the signal is as good as pending.
                    testing::own().state.fetch_or(CANCELLED, Ordering::Relaxed);
                    // SAFETY: no thread is in the allocator here; the child makes
                    // system calls alone.
                    child.set(unsafe { libc::fork() });
                }
            },
        };
        let before = lock.load();
        let result = trap::step(&each, || token.store(|slot| slot, before + 1));
        if child.get() == 0 {
            let good = result == Err(Revoked) && lock.load() == before;
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(i32::from(!good)) };
        }
        if child.get() > 0 {
            let mut status = 0;
            // SAFETY: of its own child; writes the status.
            let waited = unsafe { libc::waitpid(child.get(), &mut status, 0) };
            assert_eq!(waited, child.get());
            assert_eq!(status, 0, "after {at}");
            forked.set(forked.get() + 1);
        }
        if step.get() <= at {
            break;
        }
    }
    assert!(forked.get() >= 2, "{} forks", forked.get());
}
