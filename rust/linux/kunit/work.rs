// SPDX-License-Identifier: GPL-2.0-only

//! What writers do, seen by a lock that records them. It has the state of a writer's generator at each lock and unlock.
//!
//! A step of the work is a step of the generator. So two states say how many steps lie between them, in the section and
//! outside.

use crate::{
    harness::{
        arena::{phase, Arena, Course, Guarded, Perturb},
        pairs::Shape,
        perturbed,
        subject::{LockCell, Subject},
        writer::{self, section, Writer},
    },
    locks::Word as _,
    measure::{perturb::Perturbations, prng::Prng, words::Checks},
    spin::Word,
};
use core::ptr::null;
use kernel::{macros::kunit_tests, prelude::*};

/// A lock for one writer. It keeps what it sees, and ends the run when it has no more room.
struct Recorder;

/// What a [`Recorder`] sees: the states of its one writer's generator, two for each section.
struct Record {
    seen: KVVec<u64>,
    phase: *const Word,
}

impl Record {
    fn keep(&mut self, state: u64) {
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

/// The loop of a writer.
type Laps = fn(&Writer, &Arena) -> Prng;

/// The loops of a writer: that of figures, and the one for perturbed writers where nothing perturbs them.
const LAPS: [Laps; 2] = [writer::laps::<Recorder>, perturbed::laps::<Recorder>];

/// A run that a [`Recorder`] sees.
struct Work {
    seed: u64,
    id: u32,
    cs_steps: u32,
    ncs_steps: u32,
}

/// What a [`Recorder`] saw of a run, and what the writer counted: all sections, and those of the measured time.
struct Seen {
    states: KVVec<u64>,
    total: u64,
    counted: u64,
}

impl Work {
    /// So many sections of one writer, in this phase.
    fn seen(&self, laps: Laps, sections: usize, phase: u32) -> Result<Seen> {
        let arena = KBox::new(
            Arena {
                lock: LockCell::new(),
                guarded: Guarded::new(0),
                course: Course {
                    phase: Word::new(phase),
                    cs_steps: self.cs_steps,
                    ncs_steps: self.ncs_steps,
                    checks: Checks::ALL,
                    seed: self.seed,
                },
                perturb: Perturb::new(Perturbations::OFF, 1, 0)?,
            },
            GFP_KERNEL,
        )?;
        let record = Record {
            seen: KVVec::with_capacity(2 * sections, GFP_KERNEL)?,
            phase: &raw const arena.course.phase,
        };
        let state = arena.lock.state::<Recorder>();
        // SAFETY: The cell is empty and has room.
        unsafe { state.write(record) };
        let writer = Writer::new(&raw const *arena, self.id, null(), null());
        laps(&writer, &arena);
        // SAFETY: It was written above, and the writer has left.
        let record = unsafe { state.read() };
        Ok(Seen {
            states: record.seen,
            total: writer.total.read(),
            counted: writer.counted.read(),
        })
    }
}

/// How many steps of the generator lie between two states; None if more than `most`.
///
/// xorshift64 with 13, 7 and 17 (Marsaglia 2003), computed here anew.
fn steps(from: u64, to: u64, most: u32) -> Option<u32> {
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
fn counts(states: &[u64], most: u32) -> impl Iterator<Item = (Option<u32>, Option<u32>)> + '_ {
    states
        .chunks_exact(2)
        .zip(states[2..].chunks_exact(2))
        .map(move |(at, next)| (steps(at[0], at[1], most), steps(at[1], next[0], most)))
}

#[kunit_tests(handover_work)]
mod handover_work {
    use super::*;

    /// A section has the steps that it is to have. One step after it draws how many come before the next, which are fewer
    /// than is said.
    #[test]
    fn steps_are_where_they_are_asked_for() -> Result {
        for laps in LAPS {
            for (cs_steps, ncs_steps) in [
                (20, 400),
                (0, 400),
                (20, 0),
                (0, 0),
                (1, 1),
                (400, 20),
                (1, 2),
            ] {
                let work = Work {
                    seed: 7,
                    id: 3,
                    cs_steps,
                    ncs_steps,
                };
                let seen = work.seen(laps, 200, phase::MEASURE)?;
                assert_eq!(seen.states.len(), 400);
                for (inside, outside) in counts(&seen.states, 500) {
                    assert_eq!(inside, Some(cs_steps));
                    assert!(outside.is_some_and(|n| n >= 1 && n <= ncs_steps.max(1)));
                }
            }
        }
        Ok(())
    }

    /// Each number below eight comes about 1000 times in 8000 draws. (Chi square with seven degrees of freedom is above 41
    /// once in a million.)
    #[test]
    fn draws_are_uniform() -> Result {
        for laps in LAPS {
            for id in [1, 2, 1000] {
                let work = Work {
                    seed: 2026,
                    id,
                    cs_steps: 0,
                    ncs_steps: 8,
                };
                let seen = work.seen(laps, 8001, phase::MEASURE)?;
                let mut drawn = [0i64; 8];
                for (_, outside) in counts(&seen.states, 8) {
                    drawn[outside.map_or(0, |n| n as usize - 1)] += 1;
                }
                let squares: i64 = drawn.iter().map(|n| (n - 1000) * (n - 1000)).sum();
                assert_eq!(drawn.iter().sum::<i64>(), 8000);
                assert!(squares < 41 * 1000);
            }
        }
        Ok(())
    }

    /// A seed and a writer's number have draws of their own, and the same ones each time. Both loops draw alike.
    #[test]
    fn each_writer_draws_its_own() -> Result {
        let mut all = KVec::<KVVec<u64>>::new();
        for seed in [0, 1, u64::MAX] {
            for id in [1, 2, 3, 1000] {
                let work = Work {
                    seed,
                    id,
                    cs_steps: 3,
                    ncs_steps: 50,
                };
                let first = work.seen(LAPS[0], 20, phase::MEASURE)?.states;
                for laps in LAPS {
                    assert!(work.seen(laps, 20, phase::MEASURE)?.states[..] == first[..]);
                }
                all.push(first, GFP_KERNEL)?;
            }
        }
        for (at, one) in all.iter().enumerate() {
            for other in &all[..at] {
                assert!(one.iter().all(|state| !other.contains(state)));
            }
        }
        Ok(())
    }

    /// All sections are counted; those of the measured time, apart.
    #[test]
    fn warm_up_does_not_count() -> Result {
        let work = Work {
            seed: 7,
            id: 1,
            cs_steps: 1,
            ncs_steps: 1,
        };
        for laps in LAPS {
            for (phase, counted) in [(phase::WARM, 0), (phase::MEASURE, 50)] {
                let seen = work.seen(laps, 50, phase)?;
                assert_eq!((seen.total, seen.counted), (50, counted));
            }
        }
        Ok(())
    }

    /// Another owner is seen at a section's begin, and at its end.
    #[test]
    fn another_owner_is_seen() {
        let guarded = Guarded::new(0);
        let writer = Writer::new(null(), 3, null(), null());
        let failures = |checks, before: u32, within: u32| {
            let had = writer.owner_failures.read();
            guarded.owner.write(before);
            let mut owner = 0;
            section::<Recorder>(&writer, &guarded, checks, 0, &mut Prng::new(1), |_| {
                owner = guarded.owner.read();
                guarded.owner.write(within);
            });
            (owner, writer.owner_failures.read() - had)
        };
        let none = Checks::parse("none").unwrap_or(Checks::ALL);
        assert_eq!(failures(Checks::ALL, 0, 3), (3, 0));
        assert_eq!(failures(Checks::ALL, 2, 3), (3, 1));
        assert_eq!(failures(Checks::ALL, 0, 2), (3, 1));
        assert_eq!(failures(Checks::ALL, 0, 0), (3, 1));
        assert_eq!(failures(Checks::ALL, 2, 2), (3, 2));
        assert_eq!(failures(none, 2, 5), (2, 0));
        assert_eq!(guarded.counter.read(), 6);
    }
}
