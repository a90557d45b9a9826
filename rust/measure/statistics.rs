// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Rates, medians, ratios, fairness. Integers alone: a kernel has no floats.

/// `count` in `ns` nanoseconds, as a rate a second; 0 for no time.
///
/// Exact to a microsecond of the time.
pub fn per_second(count: u64, ns: u64) -> u64 {
    count
        .saturating_mul(1_000_000)
        .checked_div(ns / 1000)
        .unwrap_or(0)
}

/// `a / b`, rounded half up; none if `b` is 0.
pub fn rounded(a: u64, b: u64) -> Option<u64> {
    a.saturating_add(b / 2).checked_div(b)
}

/// `a / b` in hundredths, rounded half up; none if `b` is 0.
pub fn hundredths(a: u64, b: u64) -> Option<u64> {
    rounded(a.saturating_mul(100), b)
}

/// Sorts some hundreds of numbers. `core`'s sort would bring panics into a
/// module that objtool does not know.
pub fn insertion_sort(values: &mut [u64]) {
    for end in 1..values.len() {
        for right in (1..=end).rev() {
            match values.get_mut(right - 1..=right) {
                Some([a, b]) if *a > *b => core::mem::swap(a, b),
                _ => break,
            }
        }
    }
}

/// The middle one of sorted values, or the mean of the two in the middle,
/// rounded down; none of none.
pub fn median(sorted: &[u64]) -> Option<u64> {
    let count = sorted.len();
    let (&under, &over) = (
        sorted.get(count.checked_sub(1)? / 2)?,
        sorted.get(count / 2)?,
    );
    Some(under / 2 + over / 2 + (under % 2 + over % 2) / 2)
}

/// The worst run's most over its least, in hundredths; none if some writer
/// acquired nothing. Each run is its (most, least).
pub fn worst_spread(mut runs: impl Iterator<Item = (u64, u64)>) -> Option<u64> {
    runs.try_fold(0, |worst, (most, least)| {
        Some(hundredths(most, least)?.max(worst))
    })
}

/// locktorture's mark of unfairness: the most is over twice the least.
pub fn is_unfair(least: u64, most: u64) -> bool {
    most / 2 > least
}

/// What some writers acquired, taken together.
///
/// # Examples
///
/// ```
/// use handover_measure::statistics::Tally;
///
/// let tally = Tally::of([30, 10].into_iter());
/// assert_eq!((tally.total, tally.min, tally.max), (40, 10, 30));
/// // 40 * 40 / (2 * (900 + 100)).
/// assert!(tally.jain_ppm.abs_diff(800_000) < 5);
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Tally {
    /// Acquisitions of all writers; it saturates.
    pub total: u64,
    /// The least acquisitions of a writer.
    pub min: u64,
    /// The most acquisitions of a writer.
    pub max: u64,
    /// Jain's index, in millionths.
    pub jain_ppm: u64,
}

impl Tally {
    /// Tallies each writer's acquisitions. A writer that acquired nothing counts too. All is 0
    /// where there is no writer.
    pub fn of(counts: impl ExactSizeIterator<Item = u64> + Clone) -> Self {
        let total = counts.clone().fold(0, u64::saturating_add);
        Self {
            total,
            min: counts.clone().min().unwrap_or(0),
            max: counts.clone().max().unwrap_or(0),
            jain_ppm: jain_ppm(counts, total),
        }
    }
}

/// Jain's index of fairness, `(sum x)^2 / (n * sum x^2)`, in millionths,
/// rounded. It is computed from shares of `sum`, in units of 2^-20. It is 0
/// if all counts are. A count above `sum`, which is not their sum then, counts as `sum`.
pub fn jain_ppm(counts: impl ExactSizeIterator<Item = u64>, sum: u64) -> u64 {
    let n = counts.len() as u64;
    // Of long runs the upper 43 bits, so that a share's numerator fits.
    let less = (64 - sum.leading_zeros()).saturating_sub(43);
    let sum = sum >> less;
    let squares = counts
        .map(|count| {
            (((count >> less).min(sum) << 20) + sum / 2)
                .checked_div(sum)
                .unwrap_or(0)
        })
        .map(|share| share * share)
        .fold(0, u64::saturating_add);
    // Rounded shares do not quite add up to 1.
    (1_000_000u64 << 40)
        .checked_div(n.saturating_mul(squares))
        .map_or(0, |jain| jain.min(1_000_000))
}
