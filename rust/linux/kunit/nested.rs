// SPDX-License-Identifier: GPL-2.0-only

//! Nested locks, seen by locks that know who has them.

use super::work::arena;
use crate::{
    harness::{
        arena::{phase, Course},
        pairs::Shape,
        perturbed,
        subject::Subject,
        writer::Writer,
    },
    locks::Word as _,
    measure::{perturb::Perturbations, words::Checks},
    spin::Word,
};
use core::ptr::null;
use kernel::{macros::kunit_tests, prelude::*};

/// A lock for one writer, which sees in which order it and those nested around it are released.
struct Stacked;

/// What all of a writer's [`Stacked`] locks see. They are those that it has, the last one last. `wrong` counts releases of another.
struct Stack {
    held: KVec<*const Level>,
    deepest: usize,
    wrong: u32,
    sections: u32,
    phase: *const Word,
}

/// A [`Stacked`] lock, and whether it is the section's own.
struct Level {
    stack: *mut Stack,
    is_own: bool,
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
        let (stack, is_own) = unsafe { (&mut *(*state).stack, (*state).is_own) };
        stack.wrong += u32::from(stack.held.pop() != Some(state.cast_const()));
        if is_own {
            stack.sections += 1;
            if stack.sections == 200 {
                // SAFETY: The arena, in which the phase lies, outlives the run.
                unsafe { &*stack.phase }.store_relaxed(phase::STOP);
            }
        }
    }
}

/// What 200 sections with eight nested locks see.
fn of_200() -> Result<Stack> {
    let course = Course {
        phase: Word::new(phase::MEASURE),
        cs_steps: 1,
        ncs_steps: 1,
        checks: Checks::ALL,
        seed: 9,
    };
    let plan = Perturbations {
        nested_locks: 8,
        ..Perturbations::OFF
    };
    let arena = arena(course, plan)?;
    let mut stack = Stack {
        held: KVec::with_capacity(9, GFP_KERNEL)?,
        deepest: 0,
        wrong: 0,
        sections: 0,
        phase: &raw const arena.course.phase,
    };
    let to = &raw mut stack;
    let level = |is_own| Level { stack: to, is_own };
    for cell in &arena.perturb.nested {
        // SAFETY: The cell is empty and has room.
        unsafe { cell.state::<Stacked>().write(level(false)) };
    }
    // SAFETY: As above.
    unsafe { arena.lock.state::<Stacked>().write(level(true)) };
    let writer = Writer::new(&raw const *arena, 1, null(), null());
    perturbed::laps::<Stacked>(&writer, &arena);
    Ok(stack)
}

#[kunit_tests(handover_nested)]
mod handover_nested {
    use super::*;

    /// A section's nested locks are taken before its own, and go after it, the last first.
    #[test]
    fn nested_locks_are_a_stack() -> Result {
        let seen = of_200()?;
        assert_eq!((seen.wrong, seen.held.len(), seen.sections), (0, 0, 200));
        // All eight with one of 256 draws, and six at least with one of seven.
        assert!(seen.deepest >= 7);
        Ok(())
    }
}
