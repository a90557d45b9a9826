// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Rates, medians, ratios, fairness. Integers alone: a kernel has no floats.

/// `count` in `ns` nanoseconds, as a rate a second; 0 for no time.
///
/// Exact to a microsecond of the time, for times up to 213 days.
pub fn per_second(count: u64, ns: u64) -> u64 {
    let micros = ns / 1000;
    let whole = count.checked_div(micros).unwrap_or(0);
    // Apart from the whole, so that no count is too much for the product.
    let rest = count.checked_rem(micros).unwrap_or(0);
    let part = rest
        .saturating_mul(1_000_000)
        .checked_div(micros)
        .unwrap_or(0);
    whole.saturating_mul(1_000_000).saturating_add(part)
}

/// A count that others make and that only grows, from a look on.
///
/// # Examples
///
/// ```
/// use handover_measure::statistics::Since;
///
/// let steal_ns = Since::new(700);
/// assert_eq!(steal_ns.grown(1000), 300);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Since(u64);

impl Since {
    /// The count is this now.
    pub const fn new(count: u64) -> Self {
        Self(count)
    }

    /// By how much it has grown when it is this. A count that shrank has not.
    pub const fn grown(self, count: u64) -> u64 {
        count.saturating_sub(self.0)
    }
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
/// assert_eq!(tally.jain_ppm, 800_000);
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
        Self {
            total: counts.clone().fold(0, u64::saturating_add),
            min: counts.clone().min().unwrap_or(0),
            max: counts.clone().max().unwrap_or(0),
            jain_ppm: jain_ppm(counts),
        }
    }
}

/// The bits of a sum whose products below fit in 128, with 2^14 writers.
const JAIN_BITS: u32 = 46;

/// Jain's index of fairness, `(sum x)^2 / (n * sum x^2)`, in millionths, rounded half up. It is 0 if all counts are.
///
/// It is exact where all counts together are below 2^46. Of larger ones the upper bits count. There is no division of
/// 128 bits in a kernel, so that the quotient is searched.
///
/// # Examples
///
/// ```
/// use handover_measure::statistics::jain_ppm;
///
/// // 6 * 6 / (4 * (1 + 4 + 9)) is 0.642857 14...
/// assert_eq!(jain_ppm([1, 2, 3, 0].into_iter()), 642_857);
/// ```
pub fn jain_ppm(counts: impl ExactSizeIterator<Item = u64> + Clone) -> u64 {
    let n = counts.len() as u128;
    let add = |sum: u128, count: u64| sum.wrapping_add(count.into());
    let bits = u128::BITS - counts.clone().fold(0, add).leading_zeros();
    let less = bits.saturating_sub(JAIN_BITS);
    let counts = counts.map(|count| count.checked_shr(less).unwrap_or(0));
    let sum = counts.clone().fold(0, add);
    let squares = counts.fold(0u128, |sum, count| {
        sum.wrapping_add(u128::from(count).wrapping_mul(count.into()))
    });
    let whole = n.wrapping_mul(squares);
    if whole == 0 {
        return 0;
    }
    // Twice all, for the half.
    let twice = sum
        .wrapping_mul(sum)
        .wrapping_mul(2_000_000)
        .wrapping_add(whole);
    // The greatest that fits, from its upper bit on. The index is at most 1, so 20 bits hold it.
    (0..20).rev().fold(0, |ppm: u64, bit| {
        let more = ppm + (1 << bit);
        if whole.wrapping_mul(2).wrapping_mul(more.into()) <= twice {
            more
        } else {
            ppm
        }
    })
}
