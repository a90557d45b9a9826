//! Where an axis begins and ends, its ticks, and how they are written.

use super::Unit;

/// From here on a linear axis shows nothing of the least values.
const WANTS_LOG: f64 = 20.0;

/// An axis as it is drawn. Its coordinates are the values, or their decimal logarithms.
pub(super) struct Scale {
    unit: Unit,
    pub(super) log: bool,
    pub(super) from: f64,
    pub(super) to: f64,
    pub(super) ticks: Vec<f64>,
}

impl Scale {
    /// Of an axis that shows these values.
    pub(super) fn of(unit: Unit, values: &[f64]) -> Self {
        let least = values.iter().copied().fold(f64::INFINITY, f64::min);
        let most = values.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        match unit {
            Unit::Count => Self::counts(values, least, most),
            Unit::Share => Self {
                unit,
                log: false,
                from: 0.0,
                to: 1.0,
                ticks: vec![0.0, 0.25, 0.5, 0.75, 1.0],
            },
            Unit::Time => Self::log(unit, least, most),
            Unit::Rate if least > 0.0 && most / least > WANTS_LOG => Self::log(unit, least, most),
            Unit::Rate | Unit::Number => Self::linear(unit, 0.0, most),
            Unit::Ratio => Self::linear(unit, least.min(1.0), most.max(1.0)),
        }
    }

    pub(super) fn at(&self, value: f64) -> f64 {
        if self.log {
            value.log10()
        } else {
            value
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
        }
    }

    fn linear(unit: Unit, least: f64, most: f64) -> Self {
        let span = if most > least { most - least } else { 1.0 };
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
        }
    }

    fn log(unit: Unit, least: f64, most: f64) -> Self {
        let (from, to) = (least.log10(), most.log10());
        let margin = ((to - from) * 0.04).max(0.05);
        let (from, to) = (from - margin, to + margin);
        let decades = (from.ceil() as i32)..=(to.floor() as i32);
        let apart = 1 + decades.clone().count() / 7;
        let mut ticks: Vec<f64> = decades.step_by(apart).map(f64::from).collect();
        if ticks.len() < 3 {
            let decades = (from.floor() as i32)..=(to.ceil() as i32);
            let of = |it: i32| [1.0_f64, 2.0, 5.0].map(|step| step.log10() + f64::from(it));
            ticks = decades
                .flat_map(of)
                .filter(|it| (from..=to).contains(it))
                .collect();
        }
        Self {
            unit,
            log: true,
            from,
            to,
            ticks,
        }
    }

    /// As the coordinate of a tick is written.
    pub(super) fn label(&self, at: f64) -> String {
        let value = if self.log { 10.0_f64.powf(at) } else { at };
        match self.unit {
            Unit::Rate => scaled(value, &[(1e9, " G"), (1e6, " M"), (1e3, " k"), (1.0, "")]),
            Unit::Time => scaled(
                value,
                &[(1e9, " s"), (1e6, " ms"), (1e3, " \u{b5}s"), (1.0, " ns")],
            ),
            Unit::Count | Unit::Number => short(value),
            Unit::Share | Unit::Ratio => format!("{value:.2}"),
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

/// With no more digits than it needs.
fn short(value: f64) -> String {
    let text = format!("{value:.3}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
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
