// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! How a parameter's value is read. What is not allowed is none.

use core::fmt::{self, Display, Formatter};

/// Whether it has digits, and nothing else.
pub fn has_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|it| it.is_ascii_digit())
}

/// A decimal number from `low` to `high`: digits, with a minus before them if it is negative.
pub fn number(text: &str, low: i64, high: i64) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    let digits = text.strip_prefix('-').filter(|_| number < 0);
    let is_in = low <= number && number <= high;
    (is_in && has_digits(digits.unwrap_or(text))).then_some(number)
}

/// The same, where no number is negative.
pub fn small(text: &str, low: u32, high: u32) -> Option<u32> {
    u32::try_from(number(text, i64::from(low), i64::from(high))?).ok()
}

/// Numbers of writers, separated by commas: 1 to `most`, or -1. Returns how many, or
/// none if one is not allowed or `points` has no room.
pub fn writers(text: &str, points: &mut [i32], most: u32) -> Option<usize> {
    let mut filled = 0;
    for item in text.split(',') {
        let writers = number(item, -1, i64::from(most))?;
        if writers == 0 {
            return None;
        }
        *points.get_mut(filled)? = i32::try_from(writers).ok()?;
        filled += 1;
    }
    Some(filled)
}

/// Replaces -1 among numbers of writers by `twice`. The first number that is there twice
/// then is an error.
pub fn resolve(points: &mut [i32], twice: u32) -> Result<(), i32> {
    for index in 0..points.len() {
        let Some((before, [point, ..])) = points.split_at_mut_checked(index) else {
            break;
        };
        if *point < 0 {
            *point = i32::try_from(twice).unwrap_or(i32::MAX);
        }
        if before.contains(point) {
            return Err(*point);
        }
    }
    Ok(())
}

/// Which checks are on.
///
/// # Examples
///
/// ```
/// use handover_measure::words::Checks;
///
/// let checks = Checks::parse("order,owner").unwrap();
/// assert!(checks.owner() && checks.order() && !checks.progress());
/// assert_eq!(checks.names(" and ").to_string(), "owner and order");
/// assert_eq!(Checks::parse("all"), Some(Checks::ALL));
/// assert_eq!(Checks::parse("speed"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Checks(u8);

impl Checks {
    const NAMES: [&'static str; 4] = ["owner", "counter", "order", "progress"];
    /// Every check.
    pub const ALL: Self = Self(0b1111);

    /// `all`, `none`, or names separated by commas.
    pub fn parse(text: &str) -> Option<Self> {
        match text {
            "all" => Some(Self::ALL),
            "none" => Some(Self(0)),
            _ => {
                let mut checks = 0;
                for name in text.split(',') {
                    checks |= 1 << Self::NAMES.iter().position(|&known| known == name)?;
                }
                Some(Self(checks))
            }
        }
    }

    /// The names of those that are on, with `between` between them; or none.
    pub fn names(self, between: &'static str) -> CheckNames {
        CheckNames(self, between)
    }

    /// The owner word, before and after the section.
    #[inline(always)]
    pub fn owner(self) -> bool {
        self.0 & 1 != 0
    }

    /// The plain counter against the sum of acquisitions.
    pub fn counter(self) -> bool {
        self.0 & 2 != 0
    }

    /// Tickets against the harness's own count.
    #[inline(always)]
    pub fn order(self) -> bool {
        self.0 & 4 != 0
    }

    /// Every writer acquires every now and then.
    pub fn progress(self) -> bool {
        self.0 & 8 != 0
    }
}

/// What [`Checks::names`] returns.
pub struct CheckNames(Checks, &'static str);

impl Display for CheckNames {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(Checks(on), between) = *self;
        let mut first = true;
        for (bit, name) in Checks::NAMES.iter().enumerate() {
            if on & (1 << bit) != 0 {
                f.write_str(if first { "" } else { between })?;
                f.write_str(name)?;
                first = false;
            }
        }
        f.write_str(if first { "none" } else { "" })
    }
}
