// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Costs out of their ranges.

use rand::{seq::SliceRandom, Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::Costs;

/// So many machines, each with costs of its own out of their ranges.
///
/// A Latin hypercube: of each cost's range, in logarithms, each of `count` equal parts is used once. The first machine has
/// the defaults instead.
///
/// # Examples
///
/// ```
/// use coherence::{draws, Costs};
///
/// let machines = draws(8, 1);
/// assert_eq!(machines.len(), 8);
/// assert_eq!(machines[0], Costs::default());
/// assert_eq!(machines, draws(8, 1));
/// ```
pub fn draws(count: usize, seed: u64) -> Vec<Costs> {
    let mut draw = Pcg64Mcg::seed_from_u64(seed);
    let mut machines = vec![Costs::default(); count];
    for cost in Costs::ALL {
        let (least, most) = cost.swept;
        let mut parts: Vec<usize> = (0..count).collect();
        parts.shuffle(&mut draw);
        for (machine, part) in machines.iter_mut().zip(parts) {
            let at = (part as f64 + draw.random::<f64>()) / count as f64;
            *machine.get_mut(cost.name).expect("a cost of the list") =
                least * (most / least).powf(at);
        }
    }
    if let Some(first) = machines.first_mut() {
        *first = Costs::default();
    }
    machines
}
