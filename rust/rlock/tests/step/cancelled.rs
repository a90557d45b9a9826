// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A cancellation at every boundary: a canceller that had success writes next, and what it
//! wrote stays.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use rlock::protocol::Position;
use rlock::{section, Busy, Cancel, Lock, Owner, Slot, Token};

use crate::trap::{self, Stepper};

/// What the canceller writes; what the victim would.
const THEIRS: u64 = 100;
const OURS: u64 = 7;

/// The victim, in the handler, and the canceller, in its thread, take turns.
struct Meeting {
    turn: AtomicU32,
    rest: Rest,
}

/// What the victim does meanwhile, in its handler.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Rest {
    Runs,
    Sleeps,
    /// The victim sleeps so that no signal wakes it: it waits for a child that shares its memory.
    SleepsDeeply,
}

const VICTIMS: u32 = 0;
const CANCELLERS: u32 = 1;
const OVER: u32 = 2;

impl Meeting {
    fn hand_over(&self) {
        if self.rest == Rest::SleepsDeeply {
            let this = ptr::from_ref(self).cast_mut().cast();
            let flags = libc::CLONE_VM | libc::CLONE_VFORK;
            let mut stack = [0_u64; 2048];
            // SAFETY: the child has a stack of its own, and this thread waits for it.
            unsafe {
                let top = stack.as_mut_ptr().add(stack.len()).cast();
                let child = libc::clone(Self::child, top, flags, this);
                assert!(child > 0);
                libc::waitpid(child, ptr::null_mut(), libc::__WCLONE);
            }
        } else {
            self.turn.store(CANCELLERS, Ordering::SeqCst);
            self.wait();
        }
    }

    extern "C" fn child(this: *mut libc::c_void) -> i32 {
        // SAFETY: the parent waits meanwhile.
        let this = unsafe { &*this.cast::<Self>() };
        this.turn.store(CANCELLERS, Ordering::SeqCst);
        this.wait();
        0
    }

    fn wait(&self) {
        while self.turn.load(Ordering::SeqCst) == CANCELLERS {
            if self.rest == Rest::Runs {
                std::hint::spin_loop();
                continue;
            }
            let time = libc::timespec {
                tv_sec: 0,
                tv_nsec: 50_000,
            };
            // SAFETY: reads the time alone; async-signal-safe.
            unsafe { libc::nanosleep(&time, ptr::null_mut()) };
        }
    }
}

struct Interrupt<'a> {
    at: usize,
    step: Cell<usize>,
    place: Cell<Option<Position>>,
    slot: &'a Slot,
    value: Cell<u64>,
    meeting: &'a Meeting,
}

impl Stepper for Interrupt<'_> {
    fn at(&self, rip: u64) {
        let step = self.step.get();
        self.step.set(step + 1);
        if step != self.at {
            return;
        }
        for bounds in section::all() {
            if (bounds.begin..bounds.committed).contains(&rip) {
                self.place.set(Some(Position::Before));
            } else if (bounds.committed..bounds.end).contains(&rip)
                || (bounds.out..bounds.out_end).contains(&rip)
            {
                self.place.set(Some(Position::After));
            }
        }
        self.value.set(self.slot.load());
        self.meeting.hand_over();
    }
}

/// The circumstances of a cancellation.
#[derive(Clone, Copy, Debug)]
struct Scene {
    /// The handler that stands on the section has the signal blocked.
    masked: bool,
    rest: Rest,
    /// The victim's thread blocks the signal itself.
    blocked: bool,
    /// The program put another handler in the place of rlock's.
    displaced: bool,
    mode: fn() -> Cancel,
}

const SLEEPING: Scene = Scene {
    masked: false,
    rest: Rest::Sleeps,
    blocked: false,
    displaced: false,
    mode: || Cancel::Try,
};

type Tally = BTreeMap<(String, String), u32>;

/// One operation, interrupted after its instruction `at`. False when it has fewer.
fn interrupt(
    at: usize,
    scene: Scene,
    operation: impl Fn(&mut Token<'_, Slot>) -> bool,
    tally: &mut Tally,
) -> bool {
    let lock = Lock::new(Slot::new(0));
    let meeting = Meeting {
        turn: AtomicU32::new(VICTIMS),
        rest: scene.rest,
    };
    let (lock, meeting) = (&lock, &meeting);
    std::thread::scope(|scope| {
        let canceller = scope.spawn(|| {
            let owner = Owner::register().unwrap();
            loop {
                match meeting.turn.load(Ordering::SeqCst) {
                    VICTIMS => std::thread::yield_now(),
                    OVER => return None,
                    _ => break,
                }
            }
            let found = owner.acquire_by(lock, (scene.mode)()).map(|mut token| {
                token.store(|slot| slot, THEIRS).unwrap();
            });
            meeting.turn.store(OVER, Ordering::SeqCst);
            Some(found)
        });
        let owner = Owner::register().unwrap();
        let mut token = owner.acquire(lock).unwrap();
        trap::block(scene.blocked);
        let interrupt = Interrupt {
            at,
            step: Cell::new(0),
            place: Cell::new(None),
            slot: lock,
            value: Cell::new(0),
            meeting,
        };
        let done = trap::step(&interrupt, || operation(&mut token));
        meeting.turn.store(OVER, Ordering::SeqCst);
        trap::block(false);
        let place = interrupt.place.get();
        let committed = interrupt.value.get() == OURS;
        let Some(found) = canceller.join().unwrap() else {
            // The operation was over before.
            assert!(done && lock.load() == OURS);
            return false;
        };
        match found {
            Ok(()) => {
                // What the victim commits after this is a lost update.
                assert_eq!(lock.load(), THEIRS, "after {at}, in {place:?}");
                assert_eq!(done, committed, "after {at}, in {place:?}");
            }
            Err(Busy::Running | Busy::InSection | Busy::Deadline) => {
                assert_eq!(lock.load(), if done { OURS } else { 0 }, "after {at}");
            }
            Err(why) => panic!("{why}"),
        }
        let key = (format!("{place:?}"), format!("{found:?}"));
        *tally.entry(key).or_default() += 1;
        true
    })
}

/// Every boundary of every operation. The tally says how many ended how.
fn every_boundary(scene: Scene) -> Tally {
    let _one = trap::install(scene.masked);
    let _other = scene.displaced.then(trap::displace);
    let mut tally = Tally::new();
    let operations: [fn(&mut Token<'_, Slot>) -> bool; 3] = [
        |token| token.store(|slot| slot, OURS).is_ok(),
        |token| token.add(|slot| slot, OURS).is_ok(),
        |token| token.compare_and_store(|slot| slot, 0, OURS) == Ok(true),
    ];
    for operation in operations {
        let steps = (0..)
            .take_while(|&at| interrupt(at, scene, operation, &mut tally))
            .count();
        assert!(steps > 8, "{steps} instructions?");
    }
    println!("{scene:?}: {tally:?}");
    // Every section was interrupted before its commit and after.
    for place in [Position::Before, Position::After] {
        let key = format!("{:?}", Some(place));
        let met: u32 = tally
            .iter()
            .filter(|((place, _), _)| *place == key)
            .map(|(_, count)| count)
            .sum();
        assert!(met >= 3, "{met} interruptions in {place:?}");
    }
    // Outside sections a victim that sleeps is cancelled, and a strict one always.
    if scene.rest != Rest::Runs || matches!((scene.mode)(), Cancel::Strict(_)) {
        assert!(succeeded(&tally, "None") > 0);
    }
    tally
}

fn succeeded(tally: &Tally, place: &str) -> u32 {
    let key = (place.to_string(), "Ok(())".to_string());
    tally.get(&key).copied().unwrap_or(0)
}

fn soon() -> Duration {
    Duration::from_millis(10)
}

fn waiting() -> Cancel {
    Cancel::within(soon())
}

fn strictly() -> Cancel {
    Cancel::strictly_within(soon())
}

#[test]
fn a_try_from_a_handler_that_sleeps() {
    every_boundary(SLEEPING);
}

#[test]
fn a_try_from_a_handler_that_sleeps_masked() {
    every_boundary(Scene {
        masked: true,
        ..SLEEPING
    });
}

#[test]
fn a_try_from_a_handler_that_runs() {
    every_boundary(Scene {
        rest: Rest::Runs,
        ..SLEEPING
    });
}

#[test]
fn a_wait_from_a_handler_that_sleeps() {
    every_boundary(Scene {
        mode: waiting,
        ..SLEEPING
    });
}

/// A signal that is pending while the thread sleeps. At every boundary the cancellation
/// succeeds, and the section is left out when the handler returns.
#[test]
fn a_wait_from_a_handler_that_sleeps_deeply() {
    let tally = every_boundary(Scene {
        rest: Rest::SleepsDeeply,
        mode: || Cancel::within(Duration::from_secs(5)),
        ..SLEEPING
    });
    assert!(succeeded(&tally, "Some(Before)") >= 3);
    assert!(tally.keys().all(|(_, found)| found == "Ok(())"));
}

#[test]
fn a_wait_from_a_handler_that_sleeps_masked() {
    every_boundary(Scene {
        masked: true,
        mode: waiting,
        ..SLEEPING
    });
}

#[test]
fn a_strict_one_from_a_handler_that_runs() {
    every_boundary(Scene {
        rest: Rest::Runs,
        mode: strictly,
        ..SLEEPING
    });
}

#[test]
fn a_strict_one_from_a_handler_that_runs_masked() {
    every_boundary(Scene {
        masked: true,
        rest: Rest::Runs,
        mode: strictly,
        ..SLEEPING
    });
}

/// Hole 2: a victim that blocks the signal is not believed to run its handler.
#[test]
fn a_victim_that_blocks_the_signal() {
    for mode in [SLEEPING.mode, waiting, strictly] {
        let tally = every_boundary(Scene {
            blocked: true,
            mode,
            ..SLEEPING
        });
        assert_eq!(succeeded(&tally, "Some(Before)"), 0);
    }
}

/// Hole 10: with another handler in rlock's place no section is left out.
#[test]
fn a_handler_in_the_place_of_ours() {
    for mode in [SLEEPING.mode, waiting, strictly] {
        let tally = every_boundary(Scene {
            displaced: true,
            mode,
            ..SLEEPING
        });
        assert_eq!(succeeded(&tally, "Some(Before)"), 0);
    }
}
