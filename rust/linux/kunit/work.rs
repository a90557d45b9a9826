// SPDX-License-Identifier: GPL-2.0-only

//! What writers do, seen by a lock that records them. It has the state of a writer's generator at each lock and unlock.
//!
//! A step of the work is a step of the generator. So two states say how many steps lie between them, in the section and
//! outside.

use crate::{
    harness::{
        arena::{phase, Arena, Course, Guarded, Once, Perturb},
        interrupts,
        pairs::Shape,
        perturbed, shim,
        subject::{LockCell, Subject, REFUSED},
        times::{self, Times},
        writer::{self, section, Writer},
    },
    locks::Word as _,
    measure::{perturb::Perturbations, prng::Prng, words::Checks},
    spin::{self, InterruptsOff, KernelTwa, SpinBackend, Word},
};
use core::{mem::offset_of, ptr::null};
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

/// A lock that is never given: its one writer would wait for ever each time. It ends the run as a [`Recorder`] does.
struct Refuser;

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
struct Turner;

/// What a [`Turner`] knows.
struct Turn {
    sections: u32,
    phase: *const Word,
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
struct Tried;

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
type Handled = SpinBackend<KernelTwa, InterruptsOff>;

/// A lock for one writer, which sees how long its holds are.
struct Holder;

/// What a [`Holder`] sees.
struct Held {
    /// The writer's own count of long holds, and what it was when the section began, and when that was.
    count: *const Once<u64>,
    before: u64,
    begun: u64,
    /// How many long holds there were, of how many sections, and the least one's nanoseconds.
    holds: u32,
    sections: u32,
    least: u64,
    phase: *const Word,
}

impl Held {
    fn holds(&self) -> u64 {
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
struct Ticketed<const BITS: u32>;

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

/// What a [`Recorder`] saw of a run, and what the writer counted. These are all sections, and those of the measured time.
/// Then come the locks that it was not given, and the nested ones that it took.
struct Seen {
    states: KVVec<u64>,
    total: u64,
    counted: u64,
    refused: u64,
    nested: u64,
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
fn recorded(arena: &Arena, states: usize) -> Result<*mut Record> {
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
    fn seen(&self, laps: Laps, sections: usize, phase: u32) -> Result<Seen> {
        self.kept(laps, 2 * sections, phase, Perturbations::OFF)
    }

    /// The same until so many states are kept, with what may perturb it.
    fn kept(&self, laps: Laps, states: usize, phase: u32, plan: Perturbations) -> Result<Seen> {
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

    /// A section counts if it began in the measured time, whenever it ends.
    #[test]
    fn sections_count_by_their_begin() -> Result {
        for laps in [writer::laps::<Turner> as Laps, perturbed::laps::<Turner>] {
            let course = course(phase::WARM, 1, 1, 5);
            let arena = arena(course, Perturbations::OFF)?;
            let turn = Turn {
                sections: 0,
                phase: &raw const arena.course.phase,
            };
            // SAFETY: The cell is empty and has room.
            unsafe { arena.lock.state::<Turner>().write(turn) };
            let writer = Writer::new(&raw const *arena, 1, null(), null());
            laps(&writer, &arena);
            assert_eq!((writer.total.read(), writer.counted.read()), (6, 3));
        }
        Ok(())
    }

    /// A writer that gets no timer is refused, and its run does not count.
    #[test]
    fn who_gets_no_timer_is_refused() -> Result {
        let course = course(phase::HOLD, 1, 1, 1);
        let arena = arena(course, Perturbations::OFF)?;
        let irq = Writer::new(&raw const *arena, 2, null(), null());
        let of = |microseconds| {
            let writer = Writer::new(&raw const *arena, 1, &irq, null());
            let timer = interrupts::interrupts::<Handled>(&writer, microseconds);
            (timer.is_some(), writer.is_refused.read())
        };
        // The first one's would tick in a thousand seconds.
        assert_eq!([of(1_000_000_000), of(0)], [(true, false), (false, true)]);
        Ok(())
    }

    /// A lock that was not given has no times: nobody was admitted.
    #[test]
    fn refused_locks_have_no_times() -> Result {
        for (laps, due) in [
            (perturbed::laps::<Refuser> as Laps, 0),
            (perturbed::laps::<Recorder>, 20),
        ] {
            let course = course(phase::MEASURE, 1, 1, 5);
            let arena = arena(course, Perturbations::OFF)?;
            let state = recorded(&arena, 40)?;
            let times = Times::new();
            let writer = Writer::new(&raw const *arena, 1, null(), &times);
            laps(&writer, &arena);
            // SAFETY: `recorded` wrote it, and the writer has left.
            drop(unsafe { state.read() });
            // SAFETY: This thread was the writer, and it is done.
            let latency = unsafe { times.of_done() };
            assert_eq!(latency.wait.count(), due);
        }
        Ok(())
    }

    /// A wait begins before the lock is tried, where it is.
    #[test]
    fn a_wait_is_the_trys_too() -> Result {
        let course = course(phase::WARM, 1, 1, 5);
        let plan = Perturbations {
            try_lock: 1,
            ..Perturbations::OFF
        };
        let arena = arena(course, plan)?;
        let turn = Turn {
            sections: 0,
            phase: &raw const arena.course.phase,
        };
        // SAFETY: The cell is empty and has room.
        unsafe { arena.lock.state::<Tried>().write(turn) };
        let times = Times::new();
        let writer = Writer::new(&raw const *arena, 1, null(), &times);
        perturbed::laps::<Tried>(&writer, &arena);
        // SAFETY: This thread was the writer, and it is done.
        let latency = unsafe { times.of_done() };
        assert_eq!((writer.perturbed().tries, latency.wait.count()), (6, 3));
        // A kernel that does not trust its counter has stamps of nothing.
        if let Some(clock) = times::clock() {
            let least = latency.wait.at_most(1).unwrap_or(0);
            assert!(clock.ns(least) >= 900_000);
        }
        Ok(())
    }

    /// Each lock that was refused is counted: the section's, and nested ones.
    #[test]
    fn refused_locks_are_counted() -> Result {
        let work = Work {
            seed: 7,
            id: 1,
            cs_steps: 1,
            ncs_steps: 1,
        };
        let nested = Perturbations {
            nested_locks: 8,
            ..Perturbations::OFF
        };
        for laps in LAPS {
            assert_eq!(work.seen(laps, 50, phase::MEASURE)?.refused, 0);
        }
        for (laps, plan, has_nested) in [
            (writer::laps::<Refuser> as Laps, Perturbations::OFF, false),
            (perturbed::laps::<Refuser>, Perturbations::OFF, false),
            (perturbed::laps::<Refuser>, nested, true),
        ] {
            let seen = work.kept(laps, 50, phase::MEASURE, plan)?;
            assert_eq!(seen.total, 50);
            assert_eq!((seen.nested != 0), has_nested);
            assert_eq!(seen.refused, 50 + seen.nested);
        }
        Ok(())
    }

    /// Another ticket than the next one is seen, in the bits that a ticket has, where the check is on.
    #[test]
    fn another_ticket_is_seen() {
        type Section = fn(&Writer, &Guarded, Checks, u32);
        fn of<const BITS: u32>(me: &Writer, guarded: &Guarded, checks: Checks, ticket: u32) {
            section::<Ticketed<BITS>>(me, guarded, checks, ticket, &mut Prng::new(1), |_| ());
        }
        let writer = Writer::new(null(), 3, null(), null());
        let guarded = Guarded::new(7);
        let failures = |section: Section, checks, ticket| {
            let had = writer.order_failures.read();
            guarded.next.write(7);
            section(&writer, &guarded, checks, ticket);
            (writer.order_failures.read() - had, guarded.next.read())
        };
        let [none, order] =
            ["owner,counter,progress", "order"].map(|it| Checks::parse(it).unwrap_or(Checks::ALL));
        for section in [of::<16> as Section, of::<32>] {
            assert_eq!(failures(section, order, 7), (0, 8));
            assert_eq!(failures(section, order, 6), (1, 7));
            assert_eq!(failures(section, order, 8), (1, 9));
            assert_eq!(failures(section, none, 6), (0, 7));
        }
        assert_eq!(failures(of::<16>, order, 0x1_0007).0, 0);
        assert_eq!(failures(of::<32>, order, 0x1_0007).0, 1);
        assert_eq!(failures(of::<0>, order, 6).0, 0);
    }

    /// What one thread writes shares no cache line with what another writes, nor what a section protects with its lock.
    #[test]
    fn no_lines_are_shared() {
        for align in [
            align_of::<Writer>(),
            align_of::<Guarded>(),
            align_of::<Course>(),
            align_of::<Perturb>(),
            align_of::<LockCell>(),
        ] {
            assert!(align >= 128);
        }
        for offset in [
            offset_of!(Arena, lock),
            offset_of!(Arena, guarded),
            offset_of!(Arena, course),
            offset_of!(Arena, perturb),
            size_of::<Writer>(),
            size_of::<LockCell>(),
        ] {
            assert_eq!(offset % 128, 0);
        }
    }

    /// A long hold takes its time. (A host may add to it, but to each of five no such time again.)
    #[test]
    fn holds_have_their_time() -> Result {
        let course = course(phase::MEASURE, 0, 0, 5);
        let plan = Perturbations {
            long_hold: 20,
            ..Perturbations::OFF
        };
        let arena = arena(course, plan)?;
        let writer = Writer::new(&raw const *arena, 1, null(), null());
        let held = Held {
            count: &raw const writer.long_holds,
            before: 0,
            begun: 0,
            holds: 0,
            sections: 0,
            least: u64::MAX,
            phase: &raw const arena.course.phase,
        };
        let state = arena.lock.state::<Holder>();
        // SAFETY: The cell is empty and has room.
        unsafe { state.write(held) };
        perturbed::laps::<Holder>(&writer, &arena);
        // SAFETY: It was written above, and the writer has left.
        let held = unsafe { state.read() };
        assert_eq!(held.holds, 5);
        assert_eq!(writer.perturbed().long_holds, 5);
        assert!((20_000_000..40_000_000).contains(&held.least));
        Ok(())
    }

    /// A section in an interrupt has the steps of any. In a pause there is none.
    #[test]
    fn interrupts_have_the_same_work() -> Result {
        for cs_steps in [0, 1, 20, 400] {
            let course = course(phase::MEASURE, cs_steps, 7, 5);
            let arena = arena(course, Perturbations::OFF)?;
            let state = recorded(&arena, 40)?;
            let irq = Writer::new(&raw const *arena, 2, null(), null());
            let tick = || {
                // SAFETY: Paired with `interrupts_enable` below.
                unsafe { spin::shim::handover_interrupts_disable() };
                // SAFETY: It is a record of interrupts, whose arena has such a lock. Interrupts are off.
                unsafe { interrupts::tick::<Recorder>((&raw const irq).cast_mut().cast()) };
                // SAFETY: Paired with `interrupts_disable` above.
                unsafe { spin::shim::handover_interrupts_enable() };
                irq.total.read()
            };
            assert_eq!(tick(), 1);
            arena.perturb.pause.store_relaxed(1);
            assert_eq!(tick(), 1);
            arena.perturb.pause.store_relaxed(0);
            // The last two find that the run is over.
            for _ in 0..21 {
                tick();
            }
            // SAFETY: `recorded` wrote it.
            let record = unsafe { state.read() };
            assert_eq!((irq.total.read(), record.seen.len()), (20, 40));
            for at in record.seen.chunks_exact(2) {
                assert_eq!(steps(at[0], at[1], 500), Some(cs_steps));
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
