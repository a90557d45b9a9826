// SPDX-License-Identifier: GPL-2.0-only

//! What writers do, seen by locks that record it.

use kernel::macros::kunit_tests;

#[kunit_tests(handover_work)]
mod handover_work {
    use crate::kunit::recorders::*;
    use crate::{
        harness::{
            arena::{phase, Arena, Course, Guarded, Perturb},
            interrupts, perturbed,
            subject::LockCell,
            times::{self, Times},
            writer::{self, section, Writer},
        },
        locks::Word as _,
        measure::{perturb::Perturbations, prng::Prng, words::Checks},
        spin,
    };
    use core::{mem::offset_of, ptr::null};
    use kernel::prelude::*;

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
        // A lock without tickets has the same words to touch, and none of them wrong.
        assert_eq!(failures(of::<0>, order, 8), (0, 9));
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
