// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A median, and how far the values lie apart.

/// A median, and the least and the most beside it.
///
/// # Examples
///
/// ```
/// use figures::Spread;
///
/// let rounds = Spread::of([4.0, 1.0, 2.0, 6.0].into_iter()).expect("there are rounds");
/// assert_eq!(rounds.all(), [1.0, 3.0, 6.0]);
/// assert_eq!(rounds.over(2.0).median, 1.5);
/// assert_eq!(Spread::of(std::iter::empty()), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Spread {
    /// The least of the values.
    pub least: f64,
    /// The middle one, or between the two that are.
    pub median: f64,
    /// The most of them.
    pub most: f64,
}

impl Spread {
    /// Computes the spread of these values; none of nothing. Sorts them.
    pub fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let half = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[half]
        } else {
            (values[half - 1] + values[half]) / 2.0
        };
        Some(Self {
            least,
            median,
            most,
        })
    }

    /// The spread of one value.
    pub const fn one(value: f64) -> Self {
        Self {
            least: value,
            median: value,
            most: value,
        }
    }

    /// All three, divided by `base`.
    pub fn over(self, base: f64) -> Self {
        Self {
            least: self.least / base,
            median: self.median / base,
            most: self.most / base,
        }
    }

    /// All three, least first.
    pub const fn all(self) -> [f64; 3] {
        [self.least, self.median, self.most]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_middle_one_or_between_two() {
        let of = |values: &[f64]| Spread::of(values.iter().copied());
        assert_eq!(of(&[]), None);
        let is = |least, median, most| {
            Some(Spread {
                least,
                median,
                most,
            })
        };
        assert_eq!(of(&[3.0]), is(3.0, 3.0, 3.0));
        assert_eq!(of(&[9.0, 1.0, 2.0]), is(1.0, 2.0, 9.0));
        assert_eq!(of(&[9.0, 1.0, 2.0, 4.0]), is(1.0, 3.0, 9.0));
        assert_eq!(
            of(&[9.0, 1.0, 2.0]).unwrap().over(2.0),
            is(0.5, 1.0, 4.5).unwrap()
        );
    }
}
