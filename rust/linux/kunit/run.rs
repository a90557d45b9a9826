// SPDX-License-Identifier: GPL-2.0-only

//! What a run computes, in the kernel too: `rust/measure` has the properties.

use kernel::macros::kunit_tests;

#[kunit_tests(handover_run)]
mod handover_run {
    use crate::kunit::stalls;
    use crate::kunit::{
        irq::dropped_beside_its_handler,
        team::{begins, cpus},
    };
    use crate::{
        harness::{
            arena::{phase, Arena},
            plan::{self, Plan},
            registry::Entry,
            run::Control,
            shim::{self, ThreadFn},
            torture::{self, Record},
            writer::{self, Writer},
        },
        locks::Word as _,
        measure::{
            outcome::{Outcome, Share},
            prng::{first_ticket, Prng},
            statistics::jain_ppm,
        },
    };
    use core::ptr::null;
    use kernel::{
        ffi::{c_int, c_void},
        prelude::*,
        sync::atomic::{Atomic, Relaxed},
    };

    /// Time that is stolen from each CPU.
    struct Stolen;

    impl Stolen {
        /// More than any host steals in a run.
        const NS: u64 = 1_000_000_000_000_000;

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

    /// A caller that asks for nothing, and does something whenever it is told how far the run is.
    struct Told<F: Fn()>(F);

    impl<F: Fn()> Control for Told<F> {
        fn stopping(&self) -> bool {
            false
        }

        fn pin_module(&self) -> bool {
            // SAFETY: No requirements.
            unsafe { shim::handover_pin_module() }
        }

        fn unpin_module(&self) {
            // SAFETY: Paired with `pin_module`.
            unsafe { shim::handover_unpin_module() };
        }

        fn progress(&self, _: &'static Entry, _: u32, _: u32, _: u64, _: impl FnOnce() -> u64) {
            (self.0)();
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
        let control = Told(|| {
            Stolen::steal(1);
            times.add(1u64, Relaxed);
        });
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

    /// What `look` sees of a run of the first lock of this plan, whose writers are `main`. None where there is no outcome.
    fn run_of<T>(
        words: &str,
        writers: u32,
        main: ThreadFn,
        look: impl FnOnce(&Outcome<Entry>, &Record) -> T,
    ) -> Result<Option<T>> {
        begins();
        let plan = plan::with(&Plan::default(), words)?;
        let lock = plan.locks().next().ok_or(EINVAL)?;
        let lock = KBox::new(
            Entry {
                writer: main,
                ..*lock
            },
            GFP_KERNEL,
        )?;
        let mut record = Record::new(&plan, writers)?;
        // SAFETY: The run and its outcome, which refer to it, are gone before it is.
        let entry = unsafe { &*(&raw const *lock) };
        let control = Told(|| ());
        let outcome = torture::run(&plan, entry, writers, 1, &control, &mut record)?;
        Ok(outcome.map(|outcome| look(&outcome, &record)))
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
        let words = "torture_type=ticket duration=1 runs=1 checks=owner,order";
        // Of the outcome: four kinds of failures, and the acquisitions. Of each writer the same.
        let (all, each) = run_of(words, 3, main, |outcome, record| {
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
            (all, (record.shares.len(), each))
        })?
        .ok_or(EINVAL)?;
        // 1 + 2 + 3 of each.
        assert!(all == [6, 60, 600, 6000, 6666, 18, 3, 9]);
        let due = [1, 2, 3].map(|id| [1, 10, 100, 1000, 3, 4].map(|times| times * id));
        assert!(each == (3, due));
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
        assert_eq!(run_of(words, 2, main, |_, _| ()), Err(ETIMEDOUT));
        Ok(())
    }

    /// A writer that has a CPU and acquires nothing has stalled, though another acquires. One without a CPU has not.
    #[test]
    fn one_that_spins_has_stalled() -> Result {
        assert!(cpus() >= 2);
        let [before, after] = stalls::of_three()?;
        assert_eq!((before, after), (1, 1));
        Ok(())
    }

    /// What acts on a stall may sleep on the CPU that hangs.
    #[test]
    fn a_sleep_ends_where_its_cpu_hangs() -> Result {
        assert!(cpus() >= 2);
        assert!(stalls::of_a_sleeper()?);
        Ok(())
    }

    #[test]
    fn jain_of_any_length() {
        for bits in [0, 10, 40, 43, 44, 50, 60] {
            let counts = [3u64, 1, 0, 0].map(|share| share << bits);
            // 16 of 4 * (9 + 1).
            assert_eq!(jain_ppm(counts.into_iter()), 400_000);
        }
    }

    /// What interrupts found is their writer's. What they acquired is not.
    #[test]
    fn interrupts_failures_are_the_writers() {
        let irq = Writer::new(null(), 2, null(), null());
        let writer = Writer::new(null(), 1, &irq, null());
        let counts = [
            (&irq.owner_failures, 100),
            (&irq.order_failures, 200),
            (&irq.total, 300),
            (&irq.counted, 400),
            (&writer.owner_failures, 1),
            (&writer.order_failures, 2),
            (&writer.total, 3),
            (&writer.counted, 4),
        ];
        for (count, value) in counts {
            count.write(value);
        }
        let share = Share {
            acquisitions: 4,
            total: 3,
            owner_failures: 101,
            order_failures: 202,
            wait_failures: 0,
            deadlock_failures: 0,
        };
        assert!(writer.share() == share);
        assert_eq!(writer.perturbed().irqs, 300);
    }

    /// Whoever drops a timer may free what its handler has.
    #[test]
    fn a_timer_waits_for_its_handler() -> Result {
        assert!(cpus() >= 2);
        let [begun, ended, later] = dropped_beside_its_handler()?;
        assert!(begun != 0 && ended == begun && later == begun);
        Ok(())
    }

    #[test]
    fn first_tickets() {
        for seed in 0..1000 {
            assert!((1..=8).contains(&0u32.wrapping_sub(first_ticket(seed, 8))));
        }
    }
}
