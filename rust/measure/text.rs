// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! How numbers are written.

use core::fmt::{self, Display, Formatter, Write};

/// Millionths, as a decimal fraction.
pub struct Millionths(pub u64);

impl Display for Millionths {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_fmt(format_args!(
            "{}.{:06}",
            self.0 / 1_000_000,
            self.0 % 1_000_000
        ))
    }
}

/// Thousandths, as a decimal fraction.
pub struct Thousandths(pub u64);

impl Display for Thousandths {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        f.write_fmt(format_args!("{}.{:03}", self.0 / 1000, self.0 % 1000))
    }
}

/// Hundredths as a decimal fraction, or a dash; padded as the format says.
///
/// # Examples
///
/// ```
/// use handover_measure::text::{Hundredths, Millionths, Thousandths};
///
/// assert_eq!(format!("{:>6}|{:>6}", Hundredths(Some(150)), Hundredths(None)), "  1.50|     -");
/// assert_eq!(format!("{} {}", Thousandths(1050), Millionths(999_999)), "1.050 0.999999");
/// ```
pub struct Hundredths(pub Option<u64>);

impl Display for Hundredths {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut text = Fixed::<24>::new();
        match self.0 {
            Some(value) => text.write_fmt(format_args!("{}.{:02}", value / 100, value % 100))?,
            None => text.write_str("-")?,
        }
        f.pad(text.as_str())
    }
}

/// A short text on the stack. What does not fit is refused, and nothing of it is written.
///
/// # Examples
///
/// ```
/// use core::fmt::Write;
/// use handover_measure::text::Fixed;
///
/// let mut text = Fixed::<8>::new();
/// assert!(text.write_str("twa").is_ok());
/// assert!(text.write_str(" and ticket").is_err());
/// assert_eq!(text.as_str(), "twa");
/// ```
pub struct Fixed<const N: usize> {
    bytes: [u8; N],
    len: usize,
}

impl<const N: usize> Fixed<N> {
    /// An empty one.
    pub const fn new() -> Self {
        Self {
            bytes: [0; N],
            len: 0,
        }
    }

    /// What was written.
    pub fn as_str(&self) -> &str {
        let text = self.bytes.get(..self.len).unwrap_or(&[]);
        core::str::from_utf8(text).unwrap_or("")
    }
}

impl<const N: usize> Default for Fixed<N> {
    fn default() -> Self {
        Self::new()
    }
}

impl<const N: usize> Write for Fixed<N> {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        let end = self.len.checked_add(text.len()).ok_or(fmt::Error)?;
        self.bytes
            .get_mut(self.len..end)
            .ok_or(fmt::Error)?
            .copy_from_slice(text.as_bytes());
        self.len = end;
        Ok(())
    }
}
