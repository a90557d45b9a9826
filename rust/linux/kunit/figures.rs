// SPDX-License-Identifier: GPL-2.0-only

//! What the figures of a run rest on, in the kernel too: `rust/measure` has the properties.

use kernel::macros::kunit_tests;

#[kunit_tests(handover_figures)]
mod handover_figures {
    use crate::{
        harness::{
            facts,
            plan::{self, Plan},
            shim,
            times::{self, Times},
            writer::Writer,
        },
        locks::Word as _,
        measure::{outcome::Share, prng::first_ticket, statistics::jain_ppm},
    };
    use core::ptr::null;
    use kernel::{prelude::*, str::CString};

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

    /// A writer's times are read once it is done.
    #[test]
    fn times_are_those_of_the_done() {
        let times = Times::new();
        let writer = Writer::new(null(), 1, null(), &times);
        let before = writer.latency().is_some();
        writer.done.store_release(1);
        assert_eq!((before, writer.latency().is_some()), (false, true));
    }

    /// What a stamp costs, by a loop of its own. (Of twenty tries the least counts, and of five comparisons one.)
    #[test]
    fn a_stamp_costs_what_is_said() -> Result {
        let Some(clock) = times::clock() else {
            // A kernel that does not trust its counter takes no times.
            return Ok(());
        };
        let mut is_alike = false;
        for _ in 0..5 {
            let mut least = u64::MAX;
            for _ in 0..20 {
                let from = shim::stamp();
                for _ in 0..500 {
                    shim::stamp();
                }
                least = least.min(shim::stamp().wrapping_sub(from));
            }
            let ns = clock.ns(least) / 500;
            let said = u64::from(times::clock().map_or(0, |clock| clock.stamp_ns));
            is_alike |= said * 4 >= ns * 3 && said * 3 <= ns * 4 + 6;
        }
        assert!(is_alike);
        Ok(())
    }

    /// A clock that the kernel does not trust at the end spoils what was taken.
    #[test]
    fn a_clock_that_goes_spoils() -> Result {
        let words = "torture_type=ticket nwriters_stress=1 runs=1 latency=1";
        let Ok(plan) = plan::with(&Plan::default(), words) else {
            // A kernel that does not trust its counter takes no times.
            return Ok(());
        };
        let mut facts = facts::gather(&plan, &|| true);
        let khz = facts.clock.ok_or(EINVAL)?.khz;
        let mut said = |stamp_khz| -> Result<bool> {
            facts.at_end(stamp_khz);
            let text = CString::try_from_fmt(fmt!("{facts}"))?;
            Ok(text
                .to_bytes()
                .windows(13)
                .any(|word| word == b"TSC_UNTRUSTED"))
        };
        let (then, later) = (said(Some(khz))?, said(None)?);
        // Without times it spoils nothing.
        facts.clock = None;
        facts.at_end(None);
        let text = CString::try_from_fmt(fmt!("{facts}"))?;
        let none = text
            .to_bytes()
            .windows(13)
            .any(|word| word == b"TSC_UNTRUSTED");
        assert_eq!((then, later, none), (false, true, false));
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

    #[test]
    fn first_tickets() {
        for seed in 0..1000 {
            assert!((1..=8).contains(&0u32.wrapping_sub(first_ticket(seed, 8))));
        }
    }
}
