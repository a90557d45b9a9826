// SPDX-License-Identifier: GPL-2.0-only

//! Nested locks, seen by locks that know who has them.

use super::recorders::{arena, course};
use crate::{
    harness::{arena::phase, pairs::Shape, perturbed, subject::Subject, writer::Writer},
    locks::Word as _,
    measure::{perturb::Perturbations, prng::Prng},
    spin::Word,
};
use core::ptr::null;
use kernel::{macros::kunit_tests, prelude::*};

/// A lock for one writer, which sees in which order it and those nested around it are released.
struct Stacked;

/// What all of a writer's [`Stacked`] locks see. They are those that it has, the last one last. `wrong` counts releases of another.
struct Stack {
    held: KVec<*const Level>,
    /// The nested ones that each section had, a bit each.
    sets: KVec<u32>,
    deepest: usize,
    wrong: u32,
    sections: u32,
    phase: *const Word,
}

/// A [`Stacked`] lock, and its bit; none, where it is the section's own.
struct Level {
    stack: *mut Stack,
    bit: u32,
}

// SAFETY: There is one writer.
unsafe impl Subject for Stacked {
    type State = Level;
    const EXCLUDES: bool = true;
    const TICKET_BITS: u32 = 0;
    const SHAPE: Shape = Shape::Called;

    unsafe fn init(_: *mut Self::State, _: u32, _: usize) {}

    unsafe fn lock(state: *mut Self::State) -> u32 {
        // SAFETY: There is one writer, and the stack outlives the run.
        let stack = unsafe { &mut *(*state).stack };
        // There is room for all.
        let _ = stack.held.push_within_capacity(state);
        stack.deepest = stack.deepest.max(stack.held.len());
        0
    }

    unsafe fn try_lock(_: *mut Self::State) -> Option<u32> {
        None
    }

    unsafe fn unlock(state: *mut Self::State, _: u32) {
        // SAFETY: There is one writer, and the stack outlives the run.
        let (stack, bit) = unsafe { (&mut *(*state).stack, (*state).bit) };
        stack.wrong += u32::from(stack.held.pop() != Some(state.cast_const()));
        if bit == 0 {
            // SAFETY: All levels outlive the run.
            let bits = stack.held.iter().map(|&level| unsafe { &*level }.bit);
            let set = bits.fold(0, |set, bit| set | bit);
            // There is room for all.
            let _ = stack.sets.push_within_capacity(set);
            stack.sections += 1;
            if stack.sections == 200 {
                // SAFETY: The arena, in which the phase lies, outlives the run.
                unsafe { &*stack.phase }.store_relaxed(phase::STOP);
            }
        }
    }
}

const SEED: u64 = 9;

/// What 200 sections of this writer with eight nested locks see.
fn of_200(id: u32) -> Result<Stack> {
    let course = course(phase::MEASURE, 1, 1, SEED);
    let plan = Perturbations {
        nested_locks: 8,
        ..Perturbations::OFF
    };
    let arena = arena(course, plan)?;
    let mut stack = Stack {
        held: KVec::with_capacity(9, GFP_KERNEL)?,
        sets: KVec::with_capacity(200, GFP_KERNEL)?,
        deepest: 0,
        wrong: 0,
        sections: 0,
        phase: &raw const arena.course.phase,
    };
    let to = &raw mut stack;
    let level = |bit| Level { stack: to, bit };
    for (at, cell) in arena.perturb.nested.iter().enumerate() {
        // SAFETY: The cell is empty and has room.
        unsafe { cell.state::<Stacked>().write(level(1 << at)) };
    }
    // SAFETY: As above.
    unsafe { arena.lock.state::<Stacked>().write(level(0)) };
    let writer = Writer::new(&raw const *arena, id, null(), null());
    perturbed::laps::<Stacked>(&writer, &arena);
    Ok(stack)
}

#[kunit_tests(handover_nested)]
mod handover_nested {
    use super::*;

    /// A section's nested locks are taken before its own, and go after it, the last first.
    #[test]
    fn nested_locks_are_a_stack() -> Result {
        let seen = of_200(1)?;
        assert_eq!((seen.wrong, seen.held.len(), seen.sections), (0, 0, 200));
        // All eight with one of 256 draws, and six at least with one of seven.
        assert!(seen.deepest >= 7);
        Ok(())
    }

    /// Each writer draws other nested locks, and the same ones each time. They are none of its work's draws.
    #[test]
    fn each_writer_has_its_own_fate() -> Result {
        let [one, again, two] = [of_200(1)?, of_200(1)?, of_200(2)?].map(|seen| seen.sets);
        assert_eq!(one.len(), 200);
        assert!(one[..] == again[..] && one[..] != two[..]);
        for (id, sets) in [(1, one), (2, two)] {
            let mut work = Prng::new(SEED ^ (id << 32));
            let as_work = sets.iter().all(|&set| {
                // The lock of a section, of which there is one.
                work.below(1);
                work.below(256) == set
            });
            assert!(!as_work);
        }
        Ok(())
    }
}
