// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What chance decides, from the seed, the round and the thread. All their bits count, so that
//! no two of them are one run.

use rand::{RngCore, SeedableRng};
use rand_pcg::Pcg64Mcg;

/// A round's seed.
pub(crate) fn of_round(seed: u64, round: u64) -> u64 {
    mixed(seed, round)
}

/// The choices of a thread in a round: of thread `number` of node `rank`, on every device.
pub(crate) fn of_thread(round: u64, rank: u16, number: u16) -> Pcg64Mcg {
    let thread = (u64::from(rank) << 16) | u64::from(number);
    Pcg64Mcg::seed_from_u64(mixed(round, thread))
}

/// What a generator draws first; then that of another, whose seed is both. A sum would make
/// the second round of one seed the first of the next.
fn mixed(seed: u64, part: u64) -> u64 {
    let drawn = Pcg64Mcg::seed_from_u64(seed).next_u64();
    Pcg64Mcg::seed_from_u64(drawn ^ part).next_u64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// The first numbers of a thread.
    fn drawn(seed: u64, round: u64, rank: u16, number: u16) -> [u64; 4] {
        let mut random = of_thread(of_round(seed, round), rank, number);
        [(); 4].map(|()| random.next_u64())
    }

    #[test]
    fn all_the_same_is_the_same() {
        assert_eq!(drawn(1, 2, 3, 4), drawn(1, 2, 3, 4));
        // The last seed has rounds, too.
        assert_eq!(drawn(u64::MAX, 5, 0, 0), drawn(u64::MAX, 5, 0, 0));
    }

    #[test]
    fn nothing_is_left_out() {
        let mut seeds: Vec<u64> = (0..64).map(|bit| 1 << bit).collect();
        // Neighbours; and those that differ in high bits alone.
        seeds.extend([
            0,
            3,
            5,
            (1 << 32) + 1,
            (1 << 33) + 1,
            u64::MAX,
            u64::MAX - 1,
        ]);
        let mut seen = BTreeMap::new();
        for &seed in &seeds {
            for round in [0, 1, 2, 1 << 32] {
                for rank in [0, 1, 2, 1 << 15, u16::MAX] {
                    for number in [0, 1, 2, u16::MAX] {
                        let of = (seed, round, rank, number);
                        for one in drawn(seed, round, rank, number) {
                            let before = seen.insert(one, of);
                            assert_eq!(before, None, "{of:?} draws a number of its");
                        }
                    }
                }
            }
        }
    }

    /// Threads whose names differ in a bit choose as if they had nothing to do with each other.
    #[test]
    fn neighbours_differ_in_half_of_the_bits() {
        let base = drawn(1, 0, 0, 0);
        for other in [
            drawn(2, 0, 0, 0),
            drawn(1 + (1 << 32), 0, 0, 0),
            drawn(1 + (1 << 63), 0, 0, 0),
            drawn(1, 1, 0, 0),
            drawn(1, 0, 1, 0),
            drawn(1, 0, 1 << 15, 0),
            drawn(1, 0, 0, 1),
        ] {
            let bits: u32 = (0..4).map(|at| (base[at] ^ other[at]).count_ones()).sum();
            assert!((88..=168).contains(&bits), "{bits} of 256");
        }
    }
}
