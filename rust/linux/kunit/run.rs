// SPDX-License-Identifier: GPL-2.0-only

//! What a run is told by its writers, and what it asks of its caller.

use kernel::macros::kunit_tests;

#[kunit_tests(handover_run)]
mod handover_run {
    use crate::kunit::{
        caller::{acquires_once, given, reaches, run_of, Caller},
        recorders::{arena, course},
        team::{begins, cpus},
    };
    use crate::{
        harness::{
            arena::{phase, Arena},
            plan::{self, Plan},
            shim::{self, Thread},
            torture::{self, Record},
            writer::{self, Writer},
        },
        locks::Word as _,
        measure::{perturb::Perturbations, prng::Prng},
        spin::Word,
    };
    use core::ptr::{from_ref, null};
    use kernel::{
        ffi::{c_int, c_void},
        prelude::*,
        sync::atomic::{Atomic, Relaxed},
    };

    /// Time that is stolen from each CPU.
    struct Stolen;

    impl Stolen {
        /// More than any host steals in a run.
        const NS: u64 = 10_000_000_000_000;

        /// Each CPU loses another time.
        fn steal(times: u64) {
            for cpu in 0..cpus() {
                let ns = Self::NS
                    .wrapping_mul(u64::from(cpu) + 1)
                    .wrapping_mul(times);
                // SAFETY: It is online.
                unsafe { shim::handover_steal(cpu, ns) };
            }
        }
    }

    /// What is stolen from any CPU in a run is said of it, and nothing of what was stolen before.
    #[test]
    fn a_run_knows_what_was_stolen() -> Result {
        let plan = plan::with(
            &Plan::default(),
            "torture_type=ticket nwriters_stress=1 duration=1 runs=1",
        )?;
        let lock = plan.locks().next().ok_or(EINVAL)?;
        let mut record = Record::new(&plan, 1)?;
        Stolen::steal(1);
        begins();
        let times = Atomic::new(0u64);
        let told = |_| {
            Stolen::steal(1);
            times.add(1u64, Relaxed);
        };
        let control = Caller {
            told: &told,
            ..Caller::new()
        };
        let outcome = torture::run(&plan, lock, 1, 1, &control, &mut record);
        let times = times.load(Relaxed);
        Stolen::steal((1 + times).wrapping_neg());
        let outcome = outcome?.ok_or(EINVAL)?;
        // 1 + 2 + ... of each CPU.
        let each = u64::from(cpus() * (cpus() + 1) / 2);
        assert!(times > 0);
        assert_eq!(outcome.steal_ns / Stolen::NS, each * times);
        assert_eq!(outcome.failures(), 0);
        Ok(())
    }

    /// Failures of each kind, another number for each writer, which acquires as often as its number says.
    fn faulty(me: &Writer, arena: &Arena) -> Prng {
        let id = u64::from(me.id);
        for (count, times) in [
            (&me.owner_failures, 1),
            (&me.order_failures, 10),
            (&me.wait_failures, 100),
            (&me.deadlock_failures, 1000),
            (&me.counted, 3),
            (&me.total, 4),
        ] {
            count.write(times * id);
        }
        while arena.course.phase.load_relaxed() != phase::STOP {
            shim::sleep_ms(1);
        }
        Prng::new(1)
    }

    /// What each writer found is in the run's outcome.
    #[test]
    fn failures_are_all_writers() -> Result {
        unsafe extern "C" fn main(arg: *mut c_void) -> c_int {
            // SAFETY: It is what `Run` gives its writers.
            unsafe { writer::writer(arg, faulty) }
        }
        let words =
            "torture_type=ticket duration=1 runs=1 checks=owner,order seed=18446744073709551615";
        // What was told of the run while it ran. Those that did not count are none.
        let most = Atomic::new(0u64);
        let told = |all| most.store(most.load(Relaxed).max(all), Relaxed);
        let caller = Caller {
            told: &told,
            ..Caller::new()
        };
        // Of the outcome: four kinds of failures, and the acquisitions. Of each writer the same.
        let (all, each, seed) = run_of(&caller, words, 3, main, |outcome, record| {
            let all = [
                outcome.owner_failures,
                outcome.order_failures,
                outcome.wait_failures,
                outcome.deadlock_failures,
                outcome.failures(),
                outcome.acquisitions,
                outcome.min,
                outcome.max,
            ];
            let mut each = [[0; 6]; 3];
            for (share, each) in record.shares.iter().zip(&mut each) {
                *each = [
                    share.owner_failures,
                    share.order_failures,
                    share.wait_failures,
                    share.deadlock_failures,
                    share.acquisitions,
                    share.total,
                ];
            }
            (all, (record.shares.len(), each), outcome.seed)
        })?
        .ok_or(EINVAL)?;
        // 1 + 2 + 3 of each.
        assert!(all == [6, 60, 600, 6000, 6666, 18, 3, 9]);
        let due = [1, 2, 3].map(|id| [1, 10, 100, 1000, 3, 4].map(|times| times * id));
        assert!(each == (3, due));
        // Which was the last one there is.
        assert_eq!(seed, u64::MAX);
        assert_eq!(most.load(Relaxed), 18);
        Ok(())
    }

    /// How often each number was that of a writer or of its interrupts, four bits a number.
    static NUMBERED: Atomic<u64> = Atomic::new(0);

    fn numbered(me: &Writer, arena: &Arena) -> Prng {
        // SAFETY: It is null, or the run's as long as the writer is.
        let irq = unsafe { me.irq.as_ref() };
        for id in [me.id, irq.map_or(0, |irq| irq.id)] {
            NUMBERED.add(1u64 << (4 * id), Relaxed);
        }
        me.total.write(1);
        reaches(arena, phase::STOP);
        Prng::new(1)
    }

    /// An interrupt is no writer, nor another one: else it would be taken for the owner.
    #[test]
    fn interrupts_have_numbers_of_their_own() -> Result {
        unsafe extern "C" fn main(arg: *mut c_void) -> c_int {
            // SAFETY: It is what `Run` gives its writers.
            unsafe { writer::writer(arg, numbered) }
        }
        NUMBERED.store(0u64, Relaxed);
        let words = "torture_type=twa_irq irq_interval=1000 duration=1 runs=1 checks=owner";
        let seen = run_of(&Caller::new(), words, 3, main, |outcome, _| {
            outcome.failures()
        });
        assert_eq!(seen, Ok(Some(0)));
        assert_eq!(NUMBERED.load(Relaxed), 0x1111110);
        Ok(())
    }

    /// Two of a run's locks are taken, the last and another one.
    fn two_of_five(me: &Writer, arena: &Arena) -> Prng {
        for (unit, sections) in [(1, 7), (3, 1)] {
            arena.perturb.more[unit].guarded.counter.write(sections);
        }
        me.total.write(1);
        reaches(arena, phase::STOP);
        Prng::new(1)
    }

    /// Locks that no writer took do not count.
    #[test]
    fn locks_that_were_taken_count() -> Result {
        unsafe extern "C" fn main(arg: *mut c_void) -> c_int {
            // SAFETY: It is what `Run` gives its writers.
            unsafe { writer::writer(arg, two_of_five) }
        }
        let words = "torture_type=ticket nlocks=5 duration=1 runs=1 checks=owner";
        let seen = run_of(&Caller::new(), words, 1, main, |outcome, _| {
            outcome.perturbed.locks
        });
        assert_eq!(seen, Ok(Some(2)));
        Ok(())
    }

    /// A run whose writers never begin is no run that was stopped.
    #[test]
    fn a_run_that_does_not_begin() -> Result {
        unsafe extern "C" fn main(arg: *mut c_void) -> c_int {
            // SAFETY: It is what `Run` gives its writers.
            unsafe { writer::writer(arg, |_, _| Prng::new(1)) }
        }
        let words = "torture_type=ticket duration=1 runs=1 stall_secs=1 checks=owner";
        let none = Caller::new();
        assert_eq!(run_of(&none, words, 2, main, |_, _| ()), Err(ETIMEDOUT));
        assert_eq!(none.pins(), (1, 1));
        Ok(())
    }

    /// A thread that is no writer yet when its run is over.
    ///
    /// # Safety
    ///
    /// As [`given`].
    unsafe extern "C" fn absent(arg: *mut c_void) -> c_int {
        // SAFETY: By this function's contract.
        let (me, arena) = unsafe { given(arg) };
        reaches(arena, phase::STOP);
        me.done.store_release(1);
        // SAFETY: This is a kthread.
        unsafe { shim::await_stop() };
        0
    }

    /// Writers that do not come are waited for, for five seconds, and then for a second more than the watchdog's. A stop is
    /// heard at once. (The least of three waits counts: a busy host takes longer.)
    #[test]
    fn writers_that_do_not_come() -> Result {
        let words = "torture_type=ticket duration=1 runs=1 stall_secs=1 checks=owner";
        let run = |is_stopped| {
            let from = shim::now_ns();
            // A wait without a bound ends, too.
            let caller = Caller {
                stopping: &|| is_stopped || shim::now_ns() - from > 40_000_000_000,
                ..Caller::new()
            };
            let end = run_of(&caller, words, 2, absent, |_, _| ());
            (end, (shim::now_ns() - from) / 1_000_000)
        };
        let mut least = u64::MAX;
        let mut end = Ok(None);
        for _ in 0..3 {
            let took;
            (end, took) = run(false);
            least = least.min(took);
            if end != Err(ETIMEDOUT) || took < 9000 {
                break;
            }
        }
        let (stopped, at_once) = run(true);
        assert_eq!([end, stopped], [Err(ETIMEDOUT), Ok(None)]);
        assert!((7000..9000).contains(&least) && at_once < 3000);
        Ok(())
    }

    /// Set once the module is pinned.
    static IS_PINNED: Word = Word::new(0);

    /// A writer of so many acquisitions that does not leave until the module is pinned.
    ///
    /// # Safety
    ///
    /// As [`given`].
    unsafe fn stays<const ACQUIRED: u64>(arg: *mut c_void) -> c_int {
        // SAFETY: By this function's contract.
        let (me, arena) = unsafe { given(arg) };
        me.here.write(true);
        reaches(arena, phase::MUSTER);
        me.mustered.write(true);
        reaches(arena, phase::WARM);
        me.total.write(ACQUIRED);
        reaches(arena, phase::STOP);
        while IS_PINNED.load_relaxed() == 0 {
            shim::sleep_ms(1);
        }
        shim::sleep_ms(100);
        me.done.store_release(1);
        // SAFETY: This is a kthread.
        unsafe { shim::await_stop() };
        0
    }

    /// # Safety
    ///
    /// As [`given`].
    unsafe extern "C" fn begins_and_stays(arg: *mut c_void) -> c_int {
        // SAFETY: By this function's contract.
        unsafe { stays::<1>(arg) }
    }

    /// # Safety
    ///
    /// As [`given`].
    unsafe extern "C" fn only_stays(arg: *mut c_void) -> c_int {
        // SAFETY: By this function's contract.
        unsafe { stays::<0>(arg) }
    }

    /// Before anybody is waited for, the module is kept: if a writer stalled, and if one did not begin. If all leave it is
    /// kept no longer.
    #[test]
    fn who_may_hang_keeps_the_module() -> Result {
        let pins = || {
            IS_PINNED.store_relaxed(1);
            true
        };
        let caller = || Caller {
            pins: &pins,
            ..Caller::new()
        };
        let words = "torture_type=ticket duration=60 runs=1 stall_secs=1 checks=progress";
        let stalled = caller();
        IS_PINNED.store_relaxed(0);
        let seen = run_of(&stalled, words, 2, begins_and_stays, |outcome, _| {
            [outcome.progress_failures, outcome.hung]
        });
        let words = "torture_type=ticket duration=60 runs=1 stall_secs=1 checks=owner";
        let late = caller();
        IS_PINNED.store_relaxed(0);
        let none = run_of(&late, words, 2, only_stays, |_, _| ());
        assert_eq!(seen, Ok(Some([2, 0])));
        assert_eq!(none, Err(ETIMEDOUT));
        assert_eq!([stalled.pins(), late.pins()], [(1, 1); 2]);
        Ok(())
    }

    /// A module that is being unloaded cannot be kept. It is asked for each time that the writers were waited for long enough.
    #[test]
    fn who_cannot_keep_the_module_waits() -> Result {
        let asked = Atomic::new(0u32);
        let pins = || {
            let before = asked.fetch_add(1u32, Relaxed);
            IS_PINNED.store_relaxed((before > 0).into());
            false
        };
        let caller = Caller {
            pins: &pins,
            ..Caller::new()
        };
        let words = "torture_type=ticket duration=60 runs=1 stall_secs=1 checks=owner";
        IS_PINNED.store_relaxed(0);
        let end = run_of(&caller, words, 2, only_stays, |_, _| ());
        assert_eq!(end, Err(ETIMEDOUT));
        // Before the wait, and after it. Writers leave a while later.
        assert_eq!(caller.pins(), (2, 0));
        Ok(())
    }

    /// A writer that goes on until its run's end, and does not leave then before the module was asked for.
    fn stays_at_the_end(me: &Writer, arena: &Arena) -> Prng {
        while arena.course.phase.load_relaxed() != phase::STOP {
            me.total.write(me.total.read() + 1);
            shim::sleep_ms(1);
        }
        while IS_PINNED.load_relaxed() == 0 {
            shim::sleep_ms(1);
        }
        Prng::new(1)
    }

    /// Writers that stand still after their run's end have stalled, too. The watch goes on until they are done or given up.
    #[test]
    fn a_stall_at_the_end_is_one() -> Result {
        unsafe extern "C" fn main(arg: *mut c_void) -> c_int {
            // SAFETY: It is what `Run` gives its writers.
            unsafe { writer::writer(arg, stays_at_the_end) }
        }
        let pins = || {
            IS_PINNED.store_relaxed(1);
            false
        };
        let caller = Caller {
            pins: &pins,
            ..Caller::new()
        };
        // The watchdog speaks three quarters of a second before they are given up. A busy host may take that, now and then.
        let words = "torture_type=ticket duration=1 runs=1 stall_secs=5 checks=progress";
        let mut seen = Ok(None);
        for _ in 0..3 {
            IS_PINNED.store_relaxed(0);
            seen = run_of(&caller, words, 2, main, |outcome, _| {
                [outcome.progress_failures, outcome.hung]
            });
            if seen != Ok(Some([0, 0])) {
                break;
            }
        }
        assert_eq!(seen, Ok(Some([2, 0])));
        Ok(())
    }

    /// A writer that is refused late, as by its timer.
    fn refused_late(me: &Writer, arena: &Arena) -> Prng {
        shim::sleep_ms(100);
        me.is_refused.write(true);
        me.total.write(1);
        reaches(arena, phase::STOP);
        Prng::new(1)
    }

    /// Refusals are looked at when all writers have begun.
    #[test]
    fn a_late_refusal_ends_the_run() {
        unsafe extern "C" fn main(arg: *mut c_void) -> c_int {
            // SAFETY: It is what `Run` gives its writers.
            unsafe { writer::writer(arg, refused_late) }
        }
        let words = "torture_type=ticket duration=1 runs=1 checks=owner";
        let end = run_of(&Caller::new(), words, 2, main, |_, _| ());
        assert_eq!(end, Err(EINVAL));
    }

    /// A writer says that it stands on a CPU when it is called, and not when it is there.
    #[test]
    fn a_writer_stands_when_it_is_called() -> Result {
        unsafe extern "C" fn main(arg: *mut c_void) -> c_int {
            // SAFETY: It is a writer's whose arena stays.
            unsafe { writer::writer(arg, |_, _| Prng::new(1)) }
        }
        begins();
        let arena = arena(course(phase::HOLD, 0, 0, 1), Perturbations::OFF)?;
        let writer = Writer::new(&raw const *arena, 1, null(), null());
        let arg = from_ref(&writer).cast_mut().cast();
        // SAFETY: The writer stays until the thread is stopped below. `writer::writer` ends with `await_stop`.
        let thread = unsafe { Thread::create(main, arg, c"ho_kunit", 1, None) }?;
        thread.start();
        let is_here = shim::await_ms(5000, || false, || writer.here.read());
        shim::sleep_ms(50);
        let too_early = writer.mustered.read();
        // Release, pairs with the acquire of the writer's wait.
        arena.course.phase.store_release(phase::MUSTER);
        let stands = shim::await_ms(5000, || false, || writer.mustered.read());
        arena.course.phase.store_release(phase::STOP);
        thread.stop();
        assert!(is_here && !too_early && stands);
        Ok(())
    }

    /// Writers of the last run that stood on a CPU before it began.
    static STOOD: Atomic<u32> = Atomic::new(0);

    /// A writer that comes to its CPU late, as its run is stopped after.
    ///
    /// # Safety
    ///
    /// As [`given`].
    unsafe extern "C" fn slow_to_muster(arg: *mut c_void) -> c_int {
        // SAFETY: By this function's contract.
        let (me, arena) = unsafe { given(arg) };
        me.here.write(true);
        reaches(arena, phase::MUSTER);
        // One after the other.
        shim::sleep_ms(20 * me.id);
        let is_mustered = arena.course.phase.load_relaxed() == phase::MUSTER;
        STOOD.add(u32::from(is_mustered), Relaxed);
        // SAFETY: This is a writer's kthread.
        unsafe { acquires_once(me, arena) }
    }

    /// No writer begins before all stand on a CPU, for a tenth of a second. (Of five runs one is to show it, for a busy host
    /// takes longer.)
    #[test]
    fn writers_begin_together() -> Result {
        assert!(cpus() >= 2);
        let words = "torture_type=ticket duration=1 runs=1 checks=owner";
        let mut most = 0;
        for _ in 0..5 {
            STOOD.store(0u32, Relaxed);
            run_of(&Caller::new(), words, 2, slow_to_muster, |_, _| ())?;
            most = most.max(STOOD.load(Relaxed));
            if most == 2 {
                break;
            }
        }
        assert_eq!(most, 2);
        Ok(())
    }

    /// What is stolen before the measured time is none of its time.
    #[test]
    fn what_was_stolen_before_does_not_count() -> Result {
        let [asked, told] = [const { Atomic::new(0u64) }; 2];
        // The run asks whether it is to go on right before it tells how far it is.
        let stopping = || {
            if told.load(Relaxed) == 0 {
                Stolen::steal(1);
                asked.add(1u64, Relaxed);
            }
            false
        };
        let tell = |_| told.add(1u64, Relaxed);
        let caller = Caller {
            stopping: &stopping,
            told: &tell,
            ..Caller::new()
        };
        let words = "torture_type=ticket duration=1 runs=1 checks=owner";
        let seen = run_of(&caller, words, 2, slow_to_muster, |outcome, _| {
            outcome.steal_ns
        });
        let asked = asked.load(Relaxed);
        Stolen::steal(asked.wrapping_neg());
        let each = u64::from(cpus() * (cpus() + 1) / 2);
        assert!(asked > 1);
        assert_eq!(seen?.map(|ns| ns / Stolen::NS), Some(each));
        Ok(())
    }

    /// A writer that has much stolen from all CPUs when the measured time is over, and is late itself.
    ///
    /// # Safety
    ///
    /// As [`given`].
    unsafe extern "C" fn late_thief(arg: *mut c_void) -> c_int {
        // SAFETY: By this function's contract.
        let (me, arena) = unsafe { given(arg) };
        me.here.write(true);
        me.mustered.write(true);
        reaches(arena, phase::WARM);
        me.total.write(1);
        reaches(arena, phase::STOP);
        // The run's own look comes before.
        shim::sleep_ms(300);
        Stolen::steal(1);
        // Release, pairs with the acquire in `Run::join`.
        me.done.store_release(1);
        // SAFETY: This is a writer's kthread.
        unsafe { shim::await_stop() };
        0
    }

    /// What is stolen after the measured time is none of its time, though writers are waited for. (Of five runs one is to show
    /// it, for a busy host may keep the run from its look.)
    #[test]
    fn what_was_stolen_after_does_not_count() -> Result {
        let words = "torture_type=ticket duration=1 runs=1 checks=owner";
        let mut seen = None;
        for _ in 0..5 {
            let stolen = run_of(&Caller::new(), words, 1, late_thief, |outcome, _| {
                outcome.steal_ns
            });
            Stolen::steal(1u64.wrapping_neg());
            seen = stolen?.map(|ns| ns / Stolen::NS);
            if seen == Some(0) {
                break;
            }
        }
        assert_eq!(seen, Some(0));
        Ok(())
    }
}
