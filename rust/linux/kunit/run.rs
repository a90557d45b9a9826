// SPDX-License-Identifier: GPL-2.0-only

//! What a run computes, in the kernel too: `rust/measure` has the properties.

use kernel::macros::kunit_tests;

#[kunit_tests(handover_run)]
mod handover_run {
    use crate::kunit::{irq::dropped_beside_its_handler, team::cpus};
    use crate::{
        harness::writer::Writer,
        measure::{outcome::Share, prng::first_ticket, statistics::jain_ppm},
    };
    use core::ptr::null;
    use kernel::prelude::*;

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
