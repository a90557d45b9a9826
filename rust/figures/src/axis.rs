// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The ends of an axis, its ticks, and how they are written.

use crate::figure::Unit;

/// The ratio from which a linear axis shows nothing of the least values.
const WANTS_LOG: f64 = 20.0;
/// An axis shows no number beyond, and none nearer to 0: their squares are numbers still.
const MOST: f64 = 1e150;
const LEAST: f64 = 1e-150;

/// An axis as it is drawn. Its coordinates are the values, or their decimal logarithms.
pub(crate) struct Scale {
    unit: Unit,
    pub(crate) log: bool,
    pub(crate) from: f64,
    pub(crate) to: f64,
    /// The ticks in their order.
    pub(crate) ticks: Vec<f64>,
    /// The decimals that tell the ticks of a ratio apart.
    decimals: usize,
}

impl Scale {
    /// Makes an axis of these values. Without any it is one from 0 to 1, or what is like it.
    pub(crate) fn of(unit: Unit, values: &[f64]) -> Self {
        let within = |it: &f64| it.clamp(-MOST, MOST);
        let least = values.iter().map(within).fold(f64::INFINITY, f64::min);
        let most = values.iter().map(within).fold(f64::NEG_INFINITY, f64::max);
        let (least, most) = if least <= most {
            (least, most)
        } else {
            (1.0, 1.0)
        };
        match unit {
            Unit::Count => Self::counts(values, least, most),
            Unit::Share => Self {
                unit,
                log: false,
                from: 0.0,
                to: 1.0,
                ticks: vec![0.0, 0.25, 0.5, 0.75, 1.0],
                decimals: 2,
            },
            Unit::Time => Self::log(unit, least.max(LEAST), most.max(LEAST)),
            Unit::Rate if least > LEAST && most / least > WANTS_LOG => Self::log(unit, least, most),
            Unit::Rate | Unit::Number => Self::linear(unit, least.min(0.0), most),
            Unit::Ratio => Self::linear(unit, least.min(1.0), most.max(1.0)),
        }
    }

    pub(crate) fn at(&self, value: f64) -> f64 {
        match self.log {
            true => value.clamp(LEAST, MOST).log10(),
            false => value.clamp(-MOST, MOST),
        }
    }

    fn counts(values: &[f64], least: f64, most: f64) -> Self {
        let mut ticks = values.to_vec();
        ticks.sort_by(f64::total_cmp);
        ticks.dedup();
        // Numbers that stand too close are not written.
        let apart = (most - least) / 12.0;
        let mut last = f64::NEG_INFINITY;
        ticks.retain(|&tick| {
            let keep = tick - last >= apart;
            if keep {
                last = tick;
            }
            keep
        });
        let margin = ((most - least) * 0.08).max(0.5);
        Self {
            unit: Unit::Count,
            log: false,
            from: least - margin,
            to: most + margin,
            ticks,
            decimals: 0,
        }
    }

    fn linear(unit: Unit, least: f64, most: f64) -> Self {
        // What is nearer together than numbers can tell has a span of its own size.
        let size = least.abs().max(most.abs()).max(LEAST);
        let span = match most - least {
            span if span > size * 1e-9 => span,
            _ if most == 0.0 => 1.0,
            _ => size,
        };
        let power = 10.0_f64.powf((span / 6.0).log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].map(|it| it * power);
        let step = step.into_iter().find(|step| span / step <= 6.0);
        let step = step.unwrap_or(10.0 * power);
        let first = (least / step).floor() as i64;
        // A mark is not cut in half.
        let last = ((least + span * 1.02) / step).ceil() as i64;
        Self {
            unit,
            log: false,
            from: first as f64 * step,
            to: last as f64 * step,
            ticks: (first..=last).map(|tick| tick as f64 * step).collect(),
            decimals: (-step.log10().floor()).clamp(2.0, 12.0) as usize,
        }
    }

    fn log(unit: Unit, least: f64, most: f64) -> Self {
        let (from, to) = (least.log10(), most.log10());
        let margin = ((to - from) * 0.04).max(0.05);
        let (mut from, mut to) = (from - margin, to + margin);
        let decades = (from.ceil() as i32)..=(to.floor() as i32);
        let apart = 1 + decades.clone().count() / 7;
        let mut ticks: Vec<f64> = decades.step_by(apart).map(f64::from).collect();
        if ticks.len() < 3 {
            let decades = (from.floor() as i32)..=(to.ceil() as i32);
            let of = |it: i32| [1.0_f64, 2.0, 5.0].map(|step| step.log10() + f64::from(it));
            ticks = decades.flat_map(of).collect();
            // The axis has two of them at least, and whatever lies between.
            let inner = ticks.iter().filter(|it| (from..=to).contains(it));
            if inner.count() < 2 {
                let last_below = ticks.iter().copied().filter(|it| *it <= from);
                from = last_below.fold(from - 1.0, f64::max);
                let first_above = ticks.iter().copied().filter(|it| *it >= to);
                to = first_above.fold(to + 1.0, f64::min);
            }
            ticks.retain(|it| (from..=to).contains(it));
        }
        Self {
            unit,
            log: true,
            from,
            to,
            ticks,
            decimals: 0,
        }
    }

    /// Writes the coordinate of a tick.
    pub(crate) fn label(&self, at: f64) -> String {
        let value = if self.log { 10.0_f64.powf(at) } else { at };
        match self.unit {
            Unit::Rate => scaled(value, &[(1e9, " G"), (1e6, " M"), (1e3, " k"), (1.0, "")]),
            Unit::Time => scaled(
                value,
                &[(1e9, " s"), (1e6, " ms"), (1e3, " \u{b5}s"), (1.0, " ns")],
            ),
            Unit::Count | Unit::Number => short(value),
            Unit::Share | Unit::Ratio if value.abs() < 1e6 => {
                format!("{value:.*}", self.decimals)
            }
            Unit::Share | Unit::Ratio => short(value),
        }
    }
}

fn scaled(value: f64, units: &[(f64, &str)]) -> String {
    let fits = units.iter().find(|(unit, _)| value >= unit * 0.999);
    match fits {
        Some((unit, name)) => format!("{}{name}", short(value / unit)),
        None => short(value),
    }
}

/// Writes no more digits than it needs, and three that count.
fn short(value: f64) -> String {
    let trimmed = |text: &str| text.trim_end_matches('0').trim_end_matches('.').to_owned();
    let size = value.abs();
    if value == 0.0 {
        return "0".into();
    }
    if !(1e-3..1e6).contains(&size) {
        let text = format!("{value:.2e}");
        let (digits, power) = text.split_once('e').unwrap_or((&text, "0"));
        return format!("{}e{power}", trimmed(digits));
    }
    match (2.0 - size.log10().floor()).max(0.0) {
        0.0 => format!("{value:.0}"),
        decimals => trimmed(&format!("{value:.*}", decimals as usize)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(unit: Unit, values: &[f64]) -> Vec<String> {
        let scale = Scale::of(unit, values);
        for &value in values {
            let at = scale.at(value);
            assert!(
                (scale.from..=scale.to).contains(&at),
                "{value} is not on the axis"
            );
        }
        assert!(scale.ticks.len() >= 2 || unit == Unit::Count);
        scale.ticks.iter().map(|&tick| scale.label(tick)).collect()
    }

    /// A twelfth of the axis is far enough.
    #[test]
    fn counts_stand_apart() {
        let of = |values: &[f64]| labels(Unit::Count, values);
        assert_eq!(of(&[1.0, 2.0, 3.0, 13.0]), ["1", "2", "3", "13"]);
        assert_eq!(of(&[1.0, 2.0, 3.0, 14.0]), ["1", "3", "14"]);
    }

    proptest::proptest! {
        /// Whatever the values: all are on the axis, and its ticks are apart and so are their
        /// labels.
        #[test]
        fn an_axis_has_its_values_and_ticks(
            unit in 0..6_usize,
            power in -200.0..200.0_f64,
            parts in proptest::collection::vec(0.0..1.0_f64, 0..9),
            zero in proptest::bool::ANY,
        ) {
            let units = [Unit::Count, Unit::Rate, Unit::Number, Unit::Time, Unit::Share, Unit::Ratio];
            let unit = units[unit];
            let size = match unit {
                Unit::Count => 1e4,
                Unit::Share => 1.0,
                _ => 10.0_f64.powf(power),
            };
            let mut values: Vec<f64> = parts.iter().map(|it| it * size).collect();
            if unit == Unit::Count {
                values.iter_mut().for_each(|it| *it = it.round());
            }
            // Ratios that hardly differ.
            if unit == Unit::Ratio && zero {
                let small = 10.0_f64.powf(-power.abs() / 20.0);
                values = parts.iter().map(|it| 1.0 + it * small).collect();
            } else if zero {
                values.push(0.0);
            }
            let scale = Scale::of(unit, &values);
            proptest::prop_assert!(scale.from < scale.to, "{} {}", scale.from, scale.to);
            for value in &values {
                let at = scale.at(*value);
                proptest::prop_assert!((scale.from..=scale.to).contains(&at), "{value} at {at}");
            }
            for pair in scale.ticks.windows(2) {
                proptest::prop_assert!(pair[0] < pair[1]);
                let labels = (scale.label(pair[0]), scale.label(pair[1]));
                proptest::prop_assert_ne!(&labels.0, &labels.1);
            }
            for tick in &scale.ticks {
                proptest::prop_assert!((scale.from..=scale.to).contains(tick));
            }
            let least = if unit == Unit::Count { values.len().min(1) } else { 2 };
            proptest::prop_assert!(scale.ticks.len() >= least && scale.ticks.len() <= 16);
        }
    }

    #[test]
    fn every_value_is_on_its_axis_and_ticks_are_round() {
        assert_eq!(labels(Unit::Count, &[1.0]), ["1"]);
        assert_eq!(labels(Unit::Count, &[2.0, 1.0, 2.0]), ["1", "2"]);
        assert_eq!(
            labels(Unit::Count, &[1.0, 2.0, 4.0, 8.0, 12.0, 64.0]),
            ["1", "8", "64"]
        );
        assert_eq!(
            labels(Unit::Rate, &[4000.0, 20000.0]),
            ["0", "5 k", "10 k", "15 k", "20 k", "25 k"]
        );
        assert_eq!(labels(Unit::Rate, &[4000.0, 2e6]), ["10 k", "100 k", "1 M"]);
        assert_eq!(
            labels(Unit::Rate, &[0.0, 2e6]),
            ["0", "500 k", "1 M", "1.5 M", "2 M", "2.5 M"]
        );
        assert_eq!(labels(Unit::Rate, &[7.0]), ["0", "2", "4", "6", "8"]);
        assert_eq!(
            labels(Unit::Rate, &[0.0]),
            ["0", "0.2", "0.4", "0.6", "0.8", "1", "1.2"]
        );
        assert_eq!(
            labels(Unit::Number, &[2.0, 8.0]),
            ["0", "2", "4", "6", "8", "10"]
        );
        assert_eq!(
            labels(Unit::Time, &[900.0, 3e6]),
            ["1 \u{b5}s", "10 \u{b5}s", "100 \u{b5}s", "1 ms"]
        );
        assert_eq!(labels(Unit::Time, &[110.0, 300.0]), ["100 ns", "200 ns"]);
        assert_eq!(
            labels(Unit::Ratio, &[1.0, 1.2]),
            ["1.00", "1.05", "1.10", "1.15", "1.20", "1.25"]
        );
    }
}
