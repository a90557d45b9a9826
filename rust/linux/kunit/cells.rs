// SPDX-License-Identifier: GPL-2.0-only

//! How the locks of a run and those of locktorture are made, and in which order they are called.

use super::recorders::{arena, course};
use crate::{
    harness::{
        arena::{phase, NO_CPU},
        locktorture::Cells,
        pairs::Shape,
        subject::{LockCell, Subject, REFUSED},
    },
    locks::Word as _,
    measure::perturb::Perturbations,
};
use kernel::{
    macros::kunit_tests,
    prelude::*,
    sync::atomic::{Atomic, Relaxed},
};

/// A lock for one thread, which notes its calls.
struct Noted;

/// How a [`Noted`] lock was made, and the token of its owner.
struct Made {
    first: u32,
    nest: usize,
    token: u32,
}

/// The calls so far: a lock's nest, with [`RELEASE`] for a release and [`WRONG`] for one by another token.
static CALLS: [Atomic<u32>; 32] = [const { Atomic::new(0) }; 32];
static CALLED: Atomic<u32> = Atomic::new(0);
const RELEASE: u32 = 100;
const WRONG: u32 = 1000;

/// Notes a call, and returns how many there were before.
fn note(call: u32) -> u32 {
    let before = CALLED.fetch_add(1u32, Relaxed);
    if let Some(at) = CALLS.get(before as usize) {
        at.store(call, Relaxed);
    }
    before
}

// SAFETY: There is one thread.
unsafe impl Subject for Noted {
    type State = Made;
    const EXCLUDES: bool = true;
    const TICKET_BITS: u32 = 0;
    const SHAPE: Shape = Shape::Called;

    unsafe fn init(state: *mut Made, first: u32, nest: usize) {
        let made = Made {
            first,
            nest,
            token: 0,
        };
        // SAFETY: By this function's contract.
        unsafe { state.write(made) };
    }

    unsafe fn lock(state: *mut Made) -> u32 {
        // SAFETY: There is one thread.
        let made = unsafe { &mut *state };
        // Near the wrap, so that a run crosses it.
        let is_near = (1..=4096).contains(&0u32.wrapping_sub(made.first));
        let call = if is_near { made.nest as u32 } else { WRONG };
        // Another token each time.
        made.token = note(call) + 7;
        made.token
    }

    unsafe fn try_lock(_: *mut Made) -> Option<u32> {
        None
    }

    unsafe fn unlock(state: *mut Made, token: u32) {
        // SAFETY: There is one thread.
        let made = unsafe { &*state };
        let call = if token == made.token { RELEASE } else { WRONG };
        note(call + made.nest as u32);
    }
}

/// The same, which is refused twice before it is given.
struct Refused;

/// The call of one that is refused.
const REFUSAL: u32 = 2000;

// SAFETY: As `Noted`.
unsafe impl Subject for Refused {
    type State = Made;
    const EXCLUDES: bool = true;
    const TICKET_BITS: u32 = 0;
    const SHAPE: Shape = Shape::Called;
    const REFUSES: bool = true;

    unsafe fn init(state: *mut Made, first: u32, nest: usize) {
        // SAFETY: By this function's contract.
        unsafe { Noted::init(state, first, nest) };
    }

    unsafe fn lock(state: *mut Made) -> u32 {
        if CALLED.load(Relaxed) < 2 {
            note(REFUSAL);
            return REFUSED;
        }
        // SAFETY: By this function's contract.
        unsafe { Noted::lock(state) }
    }

    unsafe fn try_lock(_: *mut Made) -> Option<u32> {
        None
    }

    unsafe fn unlock(state: *mut Made, token: u32) {
        // SAFETY: By this function's contract.
        unsafe { Noted::unlock(state, token) };
    }
}

/// Whether the calls so far are these.
fn were_called(due: &[u32]) -> bool {
    CALLED.load(Relaxed) as usize == due.len()
        && due
            .iter()
            .zip(&CALLS)
            .all(|(due, call)| call.load(Relaxed) == *due)
}

/// An arena's lock, made as a run makes it.
fn init(lock: &mut LockCell, first: u32, nest: usize) {
    // SAFETY: The cell has room, and no thread uses it.
    unsafe { Noted::init(lock.state::<Noted>(), first, nest) };
}

/// How it was made.
fn made(lock: &LockCell) -> (u32, usize) {
    // SAFETY: `init` made it, and no thread uses it.
    let made = unsafe { &*lock.state::<Noted>() };
    (made.first, made.nest)
}

#[kunit_tests(handover_cells)]
mod handover_cells {
    use super::*;

    /// Nested locks are taken in their order, and go after the one that excludes, the last first. Each is of a class of its
    /// own, and its first ticket is near the wrap.
    #[test]
    fn locktorture_nests_in_order() -> Result {
        let cells = KBox::new(Cells::new(), GFP_KERNEL)?;
        // SAFETY: No other thread uses them.
        unsafe { cells.init::<Noted>() };
        let mut asked = 0;
        for set in [0, 0x01, 0x80, 0xa5, 0xff, 0x5a] {
            CALLED.store(0u32, Relaxed);
            // SAFETY: `init` made them, and this thread releases them in this order.
            unsafe {
                cells.nested_lock::<Noted>(set);
                cells.write_lock::<Noted>();
                cells.write_unlock::<Noted>();
                cells.nested_unlock::<Noted>(set);
            }
            let nests = (1..=8u32).filter(|nest| set >> (nest - 1) & 1 != 0);
            let mut due = KVec::new();
            for nest in nests.clone() {
                due.push(nest, GFP_KERNEL)?;
            }
            due.push(0, GFP_KERNEL)?;
            due.push(RELEASE, GFP_KERNEL)?;
            for nest in nests.rev() {
                due.push(RELEASE + nest, GFP_KERNEL)?;
            }
            assert!(were_called(&due));
            asked |= set;
            assert_eq!(cells.nested(), asked);
        }
        Ok(())
    }

    /// A lock that is refused is asked for again: locktorture goes on as its owner. Each refusal counts, of nested locks too.
    #[test]
    fn locktorture_asks_again() -> Result {
        let cells = KBox::new(Cells::new(), GFP_KERNEL)?;
        cells.hush(10);
        // SAFETY: No other thread uses them.
        unsafe { cells.init::<Refused>() };
        CALLED.store(0u32, Relaxed);
        // SAFETY: `init` made them, and this thread releases what it acquires.
        unsafe {
            cells.write_lock::<Refused>();
            cells.write_unlock::<Refused>();
        }
        assert!(were_called(&[REFUSAL, REFUSAL, 0, RELEASE]));
        assert_eq!(cells.refusals(), 12);
        CALLED.store(0u32, Relaxed);
        // SAFETY: As above.
        unsafe {
            cells.nested_lock::<Refused>(0x80);
            cells.nested_unlock::<Refused>(0x80);
        }
        assert!(were_called(&[REFUSAL, REFUSAL, 8, RELEASE + 8]));
        assert_eq!(cells.refusals(), 14);
        Ok(())
    }

    /// All locks of a run begin with its first ticket. Nested ones have a class each, and the others have one.
    #[test]
    fn a_run_makes_all_locks() -> Result {
        let course = course(phase::HOLD, 0, 0, 1);
        let plan = Perturbations {
            nlocks: 3,
            nested_locks: 8,
            ..Perturbations::OFF
        };
        let mut arena = arena(course, plan)?;
        arena.init(init, 4711);
        assert_eq!(made(&arena.lock), (4711, 0));
        assert_eq!(arena.perturb.more.len(), 2);
        for unit in arena.perturb.more.iter() {
            assert_eq!(made(&unit.lock), (4711, 0));
        }
        // No CPU is spared yet.
        assert_eq!(arena.perturb.spared.load_relaxed(), NO_CPU);
        assert_eq!(arena.perturb.nested.len(), 8);
        for (at, lock) in arena.perturb.nested.iter().enumerate() {
            assert_eq!(made(lock), (4711, 1 + at));
        }
        Ok(())
    }
}
