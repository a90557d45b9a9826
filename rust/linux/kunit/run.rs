// SPDX-License-Identifier: GPL-2.0-only

//! What a run computes, in the kernel too: `rust/measure` has the properties.

use kernel::macros::kunit_tests;

#[kunit_tests(handover_run)]
mod handover_run {
    use crate::measure::{prng::first_ticket, statistics::jain_ppm};

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
