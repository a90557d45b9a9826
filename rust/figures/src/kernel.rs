// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The kernel's results (`make bench-kernel`): writers, and the uncontended pair.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::bars::{self, Bars};
use crate::figure::{Axis, Figure, Look, Panel, Series, Unit, BESIDE, LOCKS, OTHERS};
use crate::finding::range;
use crate::sheet::{self, Checked};
use crate::spread::Spread;

/// The lock whose throughput, or time, the others are divided by.
const BASE: &str = "raw_spin_lock";
/// What titles speak of.
const OURS: [(&str, &str); 2] = [("twa", "TWA"), ("ticket", "ticket")];

#[derive(Deserialize)]
struct Writers {
    kernel: String,
    lock: String,
    boot: u32,
    writers: u32,
    run: u32,
    seconds: f64,
    acquisitions: u64,
    failures: u64,
    hung: u64,
}

impl Checked for Writers {
    const COLUMNS: &'static [&'static str] = &[
        "kernel",
        "boot",
        "lock",
        "writers",
        "run",
        "seconds",
        "acquisitions",
        "failures",
        "hung",
    ];

    fn wrong(&self) -> Option<(&'static str, &'static str)> {
        match () {
            () if self.writers == 0 => Some(("writers", "from 1")),
            () if !(self.seconds.is_finite() && self.seconds > 0.0) => {
                Some(("seconds", "a number above 0"))
            }
            () if self.acquisitions == 0 => Some(("acquisitions", "from 1")),
            // A lock that does not exclude has no speed.
            () if self.failures != 0 => Some(("failures", "0")),
            () if self.hung != 0 => Some(("hung", "0")),
            () => None,
        }
    }

    fn identity(&self) -> String {
        let Self {
            kernel,
            boot,
            lock,
            writers,
            run,
            ..
        } = self;
        format!("kernel {kernel}, boot {boot}, lock {lock}, {writers} writers, run {run}")
    }
}

fn look_of(lock: &str) -> Look {
    match lock {
        "twa" => LOCKS[0],
        "ticket" => LOCKS[1],
        "spin_lock" => LOCKS[2],
        BASE | "SpinLock" => BESIDE,
        _ => OTHERS[0],
    }
}

/// Throughput to that of `raw_spin_lock` in the same run, by writers, a panel a kernel. A boot's
/// figure is the median of its runs.
///
/// # Errors
/// The errors of [`sheet::read`]; and where a run has no row of `raw_spin_lock`.
pub fn contended(path: &Path, file: &str, remarks: &[String]) -> Result<Figure, String> {
    let rows: Vec<Writers> = sheet::read(path)?;
    let key = |it: &Writers| (it.kernel.clone(), it.boot, it.writers, it.run);
    let rate = |it: &Writers| it.acquisitions as f64 / it.seconds;
    let bases = rows.iter().filter(|it| it.lock == BASE);
    let bases: BTreeMap<_, _> = bases.map(|it| (key(it), rate(it))).collect();
    let mut runs: BTreeMap<(&str, &str, u32), BTreeMap<u32, Vec<f64>>> = BTreeMap::new();
    for row in rows.iter().filter(|it| it.lock != BASE) {
        let base = bases.get(&key(row)).ok_or_else(|| {
            let of = row.identity();
            format!(
                "{}: {of}: no row of {BASE} beside it; allowed: one",
                path.display()
            )
        })?;
        let of = (&row.kernel[..], &row.lock[..], row.writers);
        let boots = runs.entry(of).or_default();
        boots.entry(row.boot).or_default().push(rate(row) / base);
    }
    // A boot counts once, with the median of its runs.
    let of_boot = |runs: &Vec<f64>| Some(Spread::of(runs.iter().copied())?.median);
    let of_boots = |boots: &BTreeMap<u32, Vec<f64>>| boots.values().filter_map(of_boot).collect();
    let ratios: BTreeMap<_, Vec<f64>> = runs.iter().map(|(of, it)| (*of, of_boots(it))).collect();
    let spread = |of: &(&str, &str, u32)| Spread::of(ratios.get(of)?.iter().copied());
    let kernels = firsts(rows.iter().map(|it| &it.kernel[..]));
    let locks = firsts(rows.iter().map(|it| &it.lock[..]));
    let writers: BTreeMap<u32, ()> = rows.iter().map(|it| (it.writers, ())).collect();
    let series = |kernel: &str, lock: &str| {
        let points = writers.keys();
        let points: Vec<_> = points
            .filter_map(|&it| Some((f64::from(it), spread(&(kernel, lock, it))?)))
            .collect();
        let series = Series {
            name: lock.to_owned(),
            look: look_of(lock),
            is_curve: false,
            points,
        };
        (!series.points.is_empty()).then_some(series)
    };
    let panels = kernels.iter().map(|kernel| Panel {
        title: format!("{kernel} kernel"),
        series: locks
            .iter()
            .filter_map(|lock| series(kernel, lock))
            .collect(),
    });
    let panels: Vec<Panel> = panels.filter(|it| !it.series.is_empty()).collect();
    let found: Vec<String> = OURS
        .into_iter()
        .filter_map(|(lock, name)| {
            let points = ratios.keys().filter(|key| key.1 == lock);
            let medians = points.filter_map(|key| Some(spread(key)?.median));
            Some(format!("{name} {}", range(medians)?))
        })
        .collect();
    let boots = ratios.values().map(Vec::len).max().unwrap_or(0);
    let few = writers.keys().next().copied().unwrap_or(0);
    let many = writers.keys().next_back().copied().unwrap_or(0);
    let title = match found.is_empty() {
        true => "Throughput beside the kernel's spinlock".to_owned(),
        false => format!(
            "{few} to {many} writers: {} of the kernel's spinlock's rate",
            found.join(", ")
        ),
    };
    let what = format!(
        "the medians of {boots} boots' ratios to {BASE} in the same run; bars: least to most boot"
    );
    Ok(Figure {
        file: file.to_owned(),
        title,
        x: Axis {
            name: "writers",
            unit: Unit::Count,
        },
        y: Axis {
            name: "throughput, to raw_spin_lock's",
            unit: Unit::Ratio,
        },
        columns: 2,
        panels,
        small_print: print(what, remarks),
    })
}

#[derive(Deserialize)]
struct Pair {
    kernel: String,
    lock: String,
    ns: f64,
    ratio: f64,
    ratio_min: f64,
    ratio_max: f64,
    boots: u32,
}

impl Checked for Pair {
    const COLUMNS: &'static [&'static str] = &[
        "kernel",
        "lock",
        "ns",
        "ratio",
        "ratio_min",
        "ratio_max",
        "boots",
    ];

    fn wrong(&self) -> Option<(&'static str, &'static str)> {
        let numbers = [
            ("ns", self.ns),
            ("ratio", self.ratio),
            ("ratio_min", self.ratio_min),
            ("ratio_max", self.ratio_max),
        ];
        let wrong = numbers
            .into_iter()
            .find(|(_, it)| !(it.is_finite() && *it > 0.0));
        match wrong {
            Some((column, _)) => Some((column, "a number above 0")),
            None if self.ratio_min > self.ratio => Some(("ratio_min", "at most `ratio`")),
            None if self.ratio_max < self.ratio => Some(("ratio_max", "at least `ratio`")),
            None => None,
        }
    }

    fn identity(&self) -> String {
        format!("kernel {}, lock {}", self.kernel, self.lock)
    }
}

/// What an uncontended pair takes, to that of `raw_spin_lock` in the same boot.
///
/// # Errors
/// The errors of [`sheet::read`].
pub fn uncontended(path: &Path, file: &str, remarks: &[String]) -> Result<Bars, String> {
    let rows: Vec<Pair> = sheet::read(path)?;
    let kernels = firsts(rows.iter().map(|it| &it.kernel[..]));
    let group = |kernel: &&str| bars::Group {
        title: format!("{kernel} kernel"),
        rows: rows
            .iter()
            .filter(|it| it.kernel == *kernel)
            .map(|it| bars::Row {
                name: it.lock.clone(),
                value: Spread {
                    least: it.ratio_min,
                    median: it.ratio,
                    most: it.ratio_max,
                },
                note: format!("{:.2} ({:.1} ns)", it.ratio, it.ns),
                look: look_of(&it.lock),
            })
            .collect(),
    };
    let found: Vec<String> = OURS
        .into_iter()
        .filter_map(|(lock, name)| {
            let these = rows.iter().filter(|it| it.lock == lock);
            Some(format!("{name} {}", range(these.map(|it| it.ratio))?))
        })
        .collect();
    let title = match found.is_empty() {
        true => "What an uncontended pair takes".to_owned(),
        false => format!(
            "Uncontended: {} of the kernel's spinlock's time",
            found.join(", ")
        ),
    };
    let boots = rows.iter().map(|it| it.boots).max().unwrap_or(0);
    let what = format!(
        "a lock and an unlock; medians of {boots} boots' ratios to {BASE} in the same run; \
         lines: least to most boot"
    );
    Ok(Bars {
        file: file.to_owned(),
        title,
        axis: Axis {
            name: "time of a pair, to raw_spin_lock's",
            unit: Unit::Number,
        },
        groups: kernels.iter().map(group).collect(),
        legend: Vec::new(),
        small_print: print(what, remarks),
    })
}

/// Each once, in the order in which they come.
fn firsts<'t>(all: impl Iterator<Item = &'t str>) -> Vec<&'t str> {
    let mut firsts = Vec::new();
    for one in all {
        if !firsts.contains(&one) {
            firsts.push(one);
        }
    }
    firsts
}

fn print(what: String, remarks: &[String]) -> Vec<String> {
    std::iter::once(what)
        .chain(remarks.iter().cloned())
        .collect()
}
