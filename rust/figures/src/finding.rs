// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The words of a title: a finding, computed from the data.

/// Writes two digits, or as many as stand before the point; near 1, where the second decimal
/// matters, with three.
pub fn number(value: f64) -> String {
    match value.abs() {
        it if it >= 9.95 => format!("{value:.0}"),
        it if it >= 1.995 => format!("{value:.1}"),
        it if it >= 0.01 || it == 0.0 => format!("{value:.2}"),
        _ => format!("{value:.1e}"),
    }
}

/// A count or a ratio of counts: as [`number`], but a whole one has no decimals.
pub fn count(value: f64) -> String {
    match value.fract() == 0.0 {
        true => format!("{value:.0}"),
        false => number(value),
    }
}

/// `1 node`, `2 nodes`.
pub fn counted(number: impl Into<usize>, what: &str) -> String {
    match number.into() {
        1 => format!("1 {what}"),
        number => format!("{number} {what}s"),
    }
}

/// `3.2 to 6.0`, from the least to the most; one number where both read alike. None of nothing.
pub fn range(values: impl Iterator<Item = f64>) -> Option<String> {
    let (least, most) = ends(values)?;
    Some(joined(&number(least), &number(most)))
}

/// The same of counts: `2 to 6`.
pub fn counts(values: impl Iterator<Item = f64>) -> Option<String> {
    let (least, most) = ends(values)?;
    Some(joined(&count(least), &count(most)))
}

/// The same of times in ns: `1.9 to 3.3 µs`.
pub fn times(values: impl Iterator<Item = f64>) -> Option<String> {
    let (least, most) = ends(values)?;
    let ((low, of), (high, unit)) = (scaled(least), scaled(most));
    let low = match of == unit {
        true => low,
        false => format!("{low} {of}"),
    };
    Some(format!("{} {unit}", joined(&low, &high)))
}

/// The least and the most.
fn ends(values: impl Iterator<Item = f64>) -> Option<(f64, f64)> {
    let (mut least, mut most) = (f64::INFINITY, f64::NEG_INFINITY);
    for value in values {
        least = least.min(value);
        most = most.max(value);
    }
    (least <= most).then_some((least, most))
}

fn joined(low: &str, high: &str) -> String {
    match low == high {
        true => low.to_owned(),
        false => format!("{low} to {high}"),
    }
}

fn scaled(ns: f64) -> (String, &'static str) {
    let units = [(1e9, "s"), (1e6, "ms"), (1e3, "\u{b5}s")];
    let (unit, name) = units
        .into_iter()
        .find(|(unit, _)| ns >= 0.9995 * unit)
        .unwrap_or((1.0, "ns"));
    (number(ns / unit), name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_two_digits_and_is_one_number_where_both_read_alike() {
        let of = |values: &[f64]| range(values.iter().copied());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[6.04, 3.15, 4.0]).unwrap(), "3.1 to 6.0");
        assert_eq!(of(&[0.541, 23.9]).unwrap(), "0.54 to 24");
        assert_eq!(of(&[1.0, 1.01]).unwrap(), "1.00 to 1.01");
        assert_eq!(of(&[1.0, 1.001]).unwrap(), "1.00");
        assert_eq!(of(&[9.96, 0.0]).unwrap(), "0.00 to 10");
    }

    #[test]
    fn whole_counts_have_no_decimals() {
        let of = |values: &[f64]| counts(values.iter().copied());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[6.0, 2.0]).unwrap(), "2 to 6");
        assert_eq!(of(&[2.0, 2.5, 2.0]).unwrap(), "2 to 2.5");
        assert_eq!(count(1.0), "1");
    }

    #[test]
    fn times_have_their_units() {
        let of = |values: &[f64]| times(values.iter().copied());
        assert_eq!(of(&[]), None);
        assert_eq!(of(&[731.0, 4959.0]).unwrap(), "731 ns to 5.0 \u{b5}s");
        assert_eq!(of(&[1913.0, 3305.0]).unwrap(), "1.91 to 3.3 \u{b5}s");
        assert_eq!(of(&[3_262_463.0]).unwrap(), "3.3 ms");
        // Three digits of it are those of the next unit.
        assert_eq!(of(&[999.7]).unwrap(), "1.00 \u{b5}s");
        assert_eq!(of(&[999.2]).unwrap(), "999 ns");
    }
}
