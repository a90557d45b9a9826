// SPDX-License-Identifier: GPL-2.0-only

//! Which loop a run's writers have, how long they are boosted, and what is the measured time.

use super::{
    caller::{acquires_once, given, reaches, run_as, run_of, Caller},
    recorders::{arena, course},
};
use crate::{
    harness::{
        arena::{phase, Arena, Guarded},
        interrupts,
        pairs::Shape,
        perturbed,
        plan::{self, Plan},
        registry::{Entry, LOCKS},
        shim,
        subject::Subject,
        writer::Writer,
    },
    locks::Word as _,
    measure::perturb::Perturbations,
    spin::{self, Word},
};
use core::ptr::null;
use kernel::{
    ffi::{c_int, c_void},
    macros::kunit_tests,
    prelude::*,
    sync::atomic::{Atomic, Relaxed},
    task::Task,
};

/// How many writers began. One in the measured loop counts a thousand, one in the perturbed loop one.
static BEGUN: Atomic<u32> = Atomic::new(0);

/// A writer that acquires once, and waits for the end.
///
/// # Safety
///
/// This must be a kthread.
unsafe fn stays(me: &Writer, arena: &Arena, loops: u32) -> c_int {
    BEGUN.add(loops, Relaxed);
    me.here.write(true);
    reaches(arena, phase::MUSTER);
    // SAFETY: By this function's contract.
    unsafe { acquires_once(me, arena) }
}

/// # Safety
///
/// `arg` must be what `Run` gives its writers.
unsafe extern "C" fn measured(arg: *mut c_void) -> c_int {
    // SAFETY: By this function's contract.
    let (me, arena) = unsafe { given(arg) };
    // SAFETY: This is a writer's kthread.
    unsafe { stays(me, arena, 1000) }
}

/// # Safety
///
/// `arg` must be what `Run` gives its writers.
unsafe extern "C" fn otherwise(arg: *mut c_void) -> c_int {
    // SAFETY: By this function's contract.
    let (me, arena) = unsafe { given(arg) };
    // SAFETY: This is a writer's kthread.
    unsafe { stays(me, arena, 1) }
}

/// How many of two writers of this lock begin in either loop, of a run that is stopped at once.
fn begun(lock: &'static Entry, words: &str) -> Result<u32> {
    let plan = plan::with(&Plan::default(), words)?;
    let told = Atomic::new(0u32);
    let stopping = || told.load(Relaxed) != 0;
    let tell = |_| told.store(1u32, Relaxed);
    let caller = Caller {
        stopping: &stopping,
        told: &tell,
        ..Caller::new()
    };
    BEGUN.store(0u32, Relaxed);
    run_as(&caller, &plan, lock, 2, [measured, otherwise], |_, _| ())?.ok_or(EINVAL)?;
    Ok(BEGUN.load(Relaxed))
}

/// What a run with a late end measured, and what it must have measured at least, in nanoseconds.
fn late_end() -> Result<[u64; 2]> {
    // From the first time that the run tells how far it is until it goes on, which is after its time.
    let least = Atomic::new(0u64);
    let tell = |_| {
        if least.load(Relaxed) == 0 {
            let from = shim::now_ns();
            shim::sleep_ms(1500);
            least.store(shim::now_ns() - from, Relaxed);
        }
    };
    let caller = Caller {
        told: &tell,
        ..Caller::new()
    };
    let words = "torture_type=ticket duration=1 runs=1 checks=owner";
    let ns = run_of(&caller, words, 1, measured, |outcome, _| outcome.ns)?;
    Ok([ns.ok_or(EINVAL)?, least.load(Relaxed)])
}

/// A lock for one writer, which counts the sections of a real-time thread.
struct Policy;

/// What a [`Policy`] knows.
struct Sections {
    all: u32,
    boosted: u32,
    phase: *const Word,
}

// SAFETY: There is one writer.
unsafe impl Subject for Policy {
    type State = Sections;
    const EXCLUDES: bool = true;
    const TICKET_BITS: u32 = 0;
    const SHAPE: Shape = Shape::Called;

    unsafe fn init(_: *mut Self::State, _: u32, _: usize) {}

    unsafe fn lock(state: *mut Self::State) -> u32 {
        // SAFETY: There is one writer.
        let state = unsafe { &mut *state };
        state.all += 1;
        // SAFETY: It is this thread, whose policy nobody else sets.
        let policy = unsafe { (*Task::current_raw()).policy };
        state.boosted += u32::from(policy == kernel::bindings::SCHED_FIFO);
        if state.all == Self::SECTIONS {
            // SAFETY: The arena, in which the phase lies, outlives the run.
            unsafe { &*state.phase }.store_relaxed(phase::STOP);
        }
        0
    }

    unsafe fn try_lock(_: *mut Self::State) -> Option<u32> {
        None
    }

    unsafe fn unlock(_: *mut Self::State, _: u32) {}
}

impl Policy {
    /// A tenth more or less is seven standard deviations of the share in so many.
    const SECTIONS: u32 = 15_000;

    /// How many of the sections of one boosted writer are a real-time thread's.
    fn boosted() -> Result<u32> {
        let plan = Perturbations {
            rt_boost: 2,
            rt_boost_factor: 5,
            ..Perturbations::OFF
        };
        let arena = arena(course(phase::MEASURE, 0, 0, 1), plan)?;
        let state = arena.lock.state::<Self>();
        let sections = Sections {
            all: 0,
            boosted: 0,
            phase: &raw const arena.course.phase,
        };
        // SAFETY: The cell is empty and has room.
        unsafe { state.write(sections) };
        let writer = Writer::new(&raw const *arena, 1, null(), null());
        perturbed::laps::<Self>(&writer, &arena);
        // SAFETY: It was written above, and the writer has left.
        Ok(unsafe { state.read() }.boosted)
    }
}

/// A lock for one interrupt, which notes the stamp that it finds as it is released.
struct Stamped;

/// What a [`Stamped`] knows.
struct Stamp {
    guarded: *const Guarded,
    found: u64,
}

// SAFETY: There is one owner.
unsafe impl Subject for Stamped {
    type State = Stamp;
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

    unsafe fn unlock(state: *mut Self::State, _: u32) {
        // SAFETY: There is one owner.
        let state = unsafe { &mut *state };
        // SAFETY: The arena outlives the section.
        state.found = unsafe { &*state.guarded }.released.read();
    }
}

impl Stamped {
    /// The stamp of one interrupt's section, between one before and one after it.
    fn seen(latency: u32) -> Result<[u64; 3]> {
        let plan = Perturbations {
            latency,
            ..Perturbations::OFF
        };
        let arena = arena(course(phase::MEASURE, 1, 0, 1), plan)?;
        let state = arena.lock.state::<Self>();
        let stamp = Stamp {
            guarded: &raw const arena.guarded,
            found: 0,
        };
        // SAFETY: The cell is empty and has room.
        unsafe { state.write(stamp) };
        let record = Writer::new(&raw const *arena, 2, null(), null());
        // SAFETY: Paired with `interrupts_enable` below.
        unsafe { spin::shim::handover_interrupts_disable() };
        let before = shim::stamp();
        // SAFETY: The record's arena has a lock of this type. Interrupts are off.
        unsafe { interrupts::tick::<Self>((&raw const record).cast_mut().cast()) };
        let after = shim::stamp();
        // SAFETY: Paired with `interrupts_disable` above.
        unsafe { spin::shim::handover_interrupts_enable() };
        // SAFETY: It was written above.
        Ok([before, unsafe { state.read() }.found, after])
    }
}

#[kunit_tests(handover_loops)]
mod handover_loops {
    use super::{begun, late_end, shim, Policy, Stamped, LOCKS};
    use kernel::prelude::*;

    /// Writers have the measured loop, whatever their lock is. Where anything is done to them, they have the other one.
    #[test]
    fn the_loop_is_the_plans() -> Result {
        let words = "torture_type=ticket duration=1 runs=1 checks=owner";
        let tries = "torture_type=ticket duration=1 runs=1 checks=owner try_lock=1";
        for lock in LOCKS {
            let seen = (begun(lock, words)?, begun(lock, tries)?);
            if seen != (2000, 2) {
                pr_err!("{}: {} and {}\n", lock.name, seen.0, seen.1);
            }
            assert_eq!(seen, (2000, 2));
        }
        // Whoever takes times has a counter that is trusted.
        if shim::stamp_khz().is_some() {
            let times = "torture_type=ticket duration=1 runs=1 checks=owner latency=1";
            assert_eq!(begun(&LOCKS[0], times)?, 2);
        }
        Ok(())
    }

    /// The measured time ends when the writers are told to leave, which may be late.
    #[test]
    fn a_late_end_is_measured() -> Result {
        let [ns, least] = late_end()?;
        assert!(least >= 1_400_000_000 && ns >= least);
        Ok(())
    }

    /// An owner in an interrupt leaves its stamp before it releases, where times are taken.
    #[test]
    fn interrupts_leave_a_stamp() -> Result {
        assert_eq!(Stamped::seen(0)?[1], 0);
        if shim::stamp_khz().is_some() {
            let [before, found, after] = Stamped::seen(1)?;
            assert!(before <= found && found <= after);
        }
        Ok(())
    }

    /// A boost lasts twice as long as the time to the next one.
    #[test]
    fn two_thirds_are_boosted() -> Result {
        let boosted = Policy::boosted()?;
        assert!(boosted > Policy::SECTIONS * 6 / 10 && boosted < Policy::SECTIONS * 73 / 100);
        Ok(())
    }
}
