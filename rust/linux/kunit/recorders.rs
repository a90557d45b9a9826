// SPDX-License-Identifier: GPL-2.0-only

//! Locks for one writer, which see what it does. A [`Recorder`] has the state of the writer's generator at each lock and unlock.
//!
//! A step of the work is a step of the generator. So two states say how many steps lie between them, in the section and
//! outside.

use crate::{
    harness::{
        arena::{phase, Arena, Course, Guarded, Once, Perturb},
        pairs::Shape,
        perturbed, shim,
        subject::{LockCell, Subject, REFUSED},
        writer::{self, Writer},
    },
    locks::Word as _,
    measure::{perturb::Perturbations, prng::Prng, words::Checks},
    spin::{InterruptsOff, KernelTwa, SpinBackend, Word},
};
use core::ptr::null;
use kernel::prelude::*;

/// A lock for one writer. It keeps what it sees, and ends the run when it has no more room.
pub(super) struct Recorder;

/// What a [`Recorder`] sees: the states of its one writer's generator, two for each section.
pub(super) struct Record {
    pub(super) seen: KVVec<u64>,
    pub(super) phase: *const Word,
}

impl Record {
    pub(super) fn keep(&mut self, state: u64) {
        // There is room: the run ends at the last one, if it ends with an unlock.
        let _ = self.seen.push_within_capacity(state);
        if self.seen.len() == self.seen.capacity() {
            // SAFETY: The arena, in which the phase lies, outlives the run.
            unsafe { &*self.phase }.store_relaxed(phase::STOP);
        }
    }
}

// SAFETY: There is one writer.
unsafe impl Subject for Recorder {
    type State = Record;
    const EXCLUDES: bool = true;
    const TICKET_BITS: u32 = 0;
    const SHAPE: Shape = Shape::Called;

    unsafe fn init(_: *mut Self::State, _: u32, _: usize) {}

    unsafe fn lock(_: *mut Self::State) -> u32 {
        0
    }

    unsafe fn try_lock(_: *mut Self::State) -> Option<u32> {
        None
    }

    unsafe fn unlock(_: *mut Self::State, _: u32) {}

    unsafe fn lock_at(state: *mut Self::State, at: u64) -> u32 {
        // SAFETY: There is one writer.
        unsafe { &mut *state }.keep(at);
        0
    }

    unsafe fn unlock_at(state: *mut Self::State, _: u32, at: u64) {
        // SAFETY: There is one writer.
        unsafe { &mut *state }.keep(at);
    }
}

/// A lock that is never given: its one writer would wait for ever each time. It ends the run as a [`Recorder`] does.
pub(super) struct Refuser;

// SAFETY: There is one writer.
unsafe impl Subject for Refuser {
    type State = Record;
    const EXCLUDES: bool = true;
    const TICKET_BITS: u32 = 0;
    const SHAPE: Shape = Shape::Called;
    const REFUSES: bool = true;

    unsafe fn init(_: *mut Self::State, _: u32, _: usize) {}

    unsafe fn lock(_: *mut Self::State) -> u32 {
        REFUSED
    }

    unsafe fn try_lock(_: *mut Self::State) -> Option<u32> {
        None
    }

    unsafe fn unlock(_: *mut Self::State, _: u32) {}

    unsafe fn lock_at(state: *mut Self::State, at: u64) -> u32 {
        // SAFETY: There is one writer.
        unsafe { &mut *state }.keep(at);
        REFUSED
    }
}

/// A lock for one writer. The measured time begins in its third section, and the run's end after its sixth.
pub(super) struct Turner;

/// What a [`Turner`] knows.
pub(super) struct Turn {
    pub(super) sections: u32,
    pub(super) phase: *const Word,
}

// SAFETY: There is one writer.
unsafe impl Subject for Turner {
    type State = Turn;
    const EXCLUDES: bool = true;
    const TICKET_BITS: u32 = 0;
    const SHAPE: Shape = Shape::Called;

    unsafe fn init(_: *mut Self::State, _: u32, _: usize) {}

    unsafe fn lock(state: *mut Self::State) -> u32 {
        // SAFETY: There is one writer.
        let turn = unsafe { &mut *state };
        turn.sections += 1;
        if turn.sections == 3 {
            // SAFETY: The arena, in which the phase lies, outlives the run.
            unsafe { &*turn.phase }.store_relaxed(phase::MEASURE);
        }
        0
    }

    unsafe fn try_lock(_: *mut Self::State) -> Option<u32> {
        None
    }

    unsafe fn unlock(state: *mut Self::State, _: u32) {
        // SAFETY: There is one writer.
        let turn = unsafe { &mut *state };
        if turn.sections == 6 {
            // SAFETY: The arena, in which the phase lies, outlives the run.
            unsafe { &*turn.phase }.store_relaxed(phase::STOP);
        }
    }
}

/// The same, which has to be tried, and is given after a millisecond.
pub(super) struct Tried;

// SAFETY: There is one writer.
unsafe impl Subject for Tried {
    type State = Turn;
    const EXCLUDES: bool = true;
    const TICKET_BITS: u32 = 0;
    const SHAPE: Shape = Shape::Called;

    unsafe fn init(_: *mut Self::State, _: u32, _: usize) {}

    unsafe fn lock(state: *mut Self::State) -> u32 {
        // SAFETY: By this function's contract.
        unsafe { Turner::lock(state) }
    }

    unsafe fn try_lock(state: *mut Self::State) -> Option<u32> {
        shim::hold_ms(1);
        // SAFETY: By this function's contract.
        Some(unsafe { Turner::lock(state) })
    }

    unsafe fn unlock(state: *mut Self::State, token: u32) {
        // SAFETY: By this function's contract.
        unsafe { Turner::unlock(state, token) };
    }
}

/// A lock for interrupt handlers.
pub(super) type Handled = SpinBackend<KernelTwa, InterruptsOff>;

/// A lock for one writer, which sees how long its holds are.
pub(super) struct Holder;

/// What a [`Holder`] sees.
pub(super) struct Held {
    /// The writer's own count of long holds, and what it was when the section began, and when that was.
    pub(super) count: *const Once<u64>,
    pub(super) before: u64,
    pub(super) begun: u64,
    /// How many long holds there were, of how many sections, and the least one's nanoseconds.
    pub(super) holds: u32,
    pub(super) sections: u32,
    pub(super) least: u64,
    pub(super) phase: *const Word,
}

impl Held {
    pub(super) fn holds(&self) -> u64 {
        // SAFETY: The writer outlives the run.
        unsafe { &*self.count }.read()
    }
}

// SAFETY: There is one writer.
unsafe impl Subject for Holder {
    type State = Held;
    const EXCLUDES: bool = true;
    const TICKET_BITS: u32 = 0;
    const SHAPE: Shape = Shape::Called;

    unsafe fn init(_: *mut Self::State, _: u32, _: usize) {}

    unsafe fn lock(state: *mut Self::State) -> u32 {
        // SAFETY: There is one writer.
        let held = unsafe { &mut *state };
        held.before = held.holds();
        held.begun = shim::now_ns();
        0
    }

    unsafe fn try_lock(_: *mut Self::State) -> Option<u32> {
        None
    }

    unsafe fn unlock(state: *mut Self::State, _: u32) {
        // SAFETY: There is one writer.
        let held = unsafe { &mut *state };
        let ns = shim::now_ns().saturating_sub(held.begun);
        held.sections += 1;
        if held.holds() != held.before {
            held.holds += 1;
            held.least = held.least.min(ns);
        }
        if held.holds == 5 || held.sections == 10_000_000 {
            // SAFETY: The arena, in which the phase lies, outlives the run.
            unsafe { &*held.phase }.store_relaxed(phase::STOP);
        }
    }
}

/// A lock whose tickets have so many bits. Nobody takes it.
pub(super) struct Ticketed<const BITS: u32>;

// SAFETY: Nobody takes it.
unsafe impl<const BITS: u32> Subject for Ticketed<BITS> {
    type State = ();
    const EXCLUDES: bool = true;
    const TICKET_BITS: u32 = BITS;
    const SHAPE: Shape = Shape::Called;

    unsafe fn init(_: *mut (), _: u32, _: usize) {}

    unsafe fn lock(_: *mut ()) -> u32 {
        0
    }

    unsafe fn try_lock(_: *mut ()) -> Option<u32> {
        None
    }

    unsafe fn unlock(_: *mut (), _: u32) {}
}

/// The loop of a writer.
pub(super) type Laps = fn(&Writer, &Arena) -> Prng;

/// The loops of a writer: that of figures, and the one for perturbed writers where nothing perturbs them.
pub(super) const LAPS: [Laps; 2] = [writer::laps::<Recorder>, perturbed::laps::<Recorder>];

/// A run that a [`Recorder`] sees.
pub(super) struct Work {
    pub(super) seed: u64,
    pub(super) id: u32,
    pub(super) cs_steps: u32,
    pub(super) ncs_steps: u32,
}

/// What a [`Recorder`] saw of a run, and what the writer counted. These are all sections, and those of the measured time.
/// Then come the locks that it was not given, and the nested ones that it took.
pub(super) struct Seen {
    pub(super) states: KVVec<u64>,
    pub(super) total: u64,
    pub(super) counted: u64,
    pub(super) refused: u64,
    pub(super) nested: u64,
}

/// The course of a run that is in this phase, with all checks.
pub(super) fn course(phase: u32, cs_steps: u32, ncs_steps: u32, seed: u64) -> Course {
    Course {
        phase: Word::new(phase),
        cs_steps,
        ncs_steps,
        checks: Checks::ALL,
        seed,
    }
}

/// An arena with a lock that is none yet.
pub(super) fn arena(course: Course, plan: Perturbations) -> Result<KBox<Arena>> {
    Ok(KBox::new(
        Arena {
            lock: LockCell::new(),
            guarded: Guarded::new(0),
            course,
            perturb: Perturb::new(plan, 1, 0)?,
        },
        GFP_KERNEL,
    )?)
}

/// Gives an arena that has no lock yet one with room for so many states: a [`Recorder`], or a [`Refuser`].
pub(super) fn recorded(arena: &Arena, states: usize) -> Result<*mut Record> {
    let record = Record {
        seen: KVVec::with_capacity(states, GFP_KERNEL)?,
        phase: &raw const arena.course.phase,
    };
    let state = arena.lock.state::<Recorder>();
    // SAFETY: The cell is empty and has room.
    unsafe { state.write(record) };
    Ok(state)
}

impl Work {
    /// So many sections of one writer, in this phase.
    pub(super) fn seen(&self, laps: Laps, sections: usize, phase: u32) -> Result<Seen> {
        self.kept(laps, 2 * sections, phase, Perturbations::OFF)
    }

    /// The same until so many states are kept, with what may perturb it.
    pub(super) fn kept(
        &self,
        laps: Laps,
        states: usize,
        phase: u32,
        plan: Perturbations,
    ) -> Result<Seen> {
        let course = course(phase, self.cs_steps, self.ncs_steps, self.seed);
        let arena = arena(course, plan)?;
        let state = recorded(&arena, states)?;
        let writer = Writer::new(&raw const *arena, self.id, null(), null());
        laps(&writer, &arena);
        // SAFETY: `recorded` wrote it, and the writer has left.
        let record = unsafe { state.read() };
        Ok(Seen {
            states: record.seen,
            total: writer.total.read(),
            counted: writer.counted.read(),
            refused: writer.share().deadlock_failures,
            nested: writer.perturbed().nested,
        })
    }
}

/// How many steps of the generator lie between two states; None if more than `most`.
///
/// xorshift64 with 13, 7 and 17 (Marsaglia 2003), computed here anew.
pub(super) fn steps(from: u64, to: u64, most: u32) -> Option<u32> {
    let mut x = from;
    for n in 0..=most {
        if x == to {
            return Some(n);
        }
        x ^= x << 13;
        x ^= x >> 7;
        x ^= x << 17;
    }
    None
}

/// The steps of each section, and of the work after each but the last.
pub(super) fn counts(
    states: &[u64],
    most: u32,
) -> impl Iterator<Item = (Option<u32>, Option<u32>)> + '_ {
    states
        .chunks_exact(2)
        .zip(states[2..].chunks_exact(2))
        .map(move |(at, next)| (steps(at[0], at[1], most), steps(at[1], next[0], most)))
}
