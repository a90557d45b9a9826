// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The kernel's results (`make bench-kernel`): writers, and the uncontended pair.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::bars::{self, Bars};
use crate::figure::{Axis, Figure, Look, Panel, Series, Unit, KERNELS, LOCKS, OTHERS, UNORDERED};
use crate::finding::range;
use crate::sheet::{self, Checked};
use crate::spread::Spread;

/// The lock whose throughput, or time, the others are divided by.
pub(crate) const BASE: &str = "raw_spin_lock";
/// What titles speak of.
pub(crate) const OURS: [(&str, &str); 3] = [
    ("one_word_twa", "one-word TWA"),
    ("twa", "TWA"),
    ("ticket", "ticket"),
];
/// The locks that share a panel, so that few lie on each other.
const PANELS: [(&str, &[&str]); 3] = [
    ("tickets", &["twa", "ticket", "one_word_twa"]),
    ("queues, and ttas", &["mcs", "clh", "ttas"]),
    (
        "the kernel's own",
        &["spin_lock", "qspinlock", "raw_res_spin_lock"],
    ),
];
/// What the looks mean, for a reader without colour vision.
pub(crate) const MARKS: &str =
    "full: our locks; hollow: the kernel's; crossed: ttas, which keeps no order";
/// Where a timed loop lies, the neutral place first; what a table may say.
const LAYOUTS: [&str; 2] = ["far", "near"];
/// How a section calls its lock; what a table may say.
const SHAPES: [&str; 3] = ["inlined", "called", "bound"];

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

pub(crate) fn look_of(lock: &str) -> Look {
    match lock {
        "twa" => LOCKS[0],
        "ticket" => LOCKS[1],
        "one_word_twa" => LOCKS[2],
        "mcs" => LOCKS[3],
        "clh" => LOCKS[4],
        "spin_lock" => KERNELS[0],
        BASE => KERNELS[1],
        "qspinlock" => KERNELS[2],
        "raw_res_spin_lock" => KERNELS[3],
        "ttas" => UNORDERED,
        _ => OTHERS[0],
    }
}

/// Throughput to that of `raw_spin_lock` in the same run, by writers, a panel a kernel and kind of
/// lock. A boot's figure is the median of its runs.
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
    let known = |lock: &&str| PANELS.iter().any(|it| it.1.contains(lock));
    let rest = locks.iter().copied().filter(|it| !known(it));
    let kinds = PANELS.map(|(name, locks)| (name, locks.to_vec()));
    let kinds = kinds.into_iter().chain([("others", rest.collect())]);
    let panels = kinds.flat_map(|(name, locks)| {
        let panel = |kernel: &&str| Panel {
            title: format!("{kernel} kernel: {name}"),
            series: locks.iter().filter_map(|it| series(kernel, it)).collect(),
        };
        kernels.iter().map(panel).collect::<Vec<_>>()
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
    let mut small_print = print(what, remarks);
    small_print.insert(1, MARKS.to_owned());
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
        small_print,
    })
}

#[derive(Deserialize)]
struct Pair {
    kernel: String,
    layout: String,
    lock: String,
    shape: String,
    boots: u32,
    ns: f64,
    to_raw_spin_lock: f64,
    to_raw_spin_lock_min: f64,
    to_raw_spin_lock_max: f64,
    to_qspinlock: f64,
    to_qspinlock_min: f64,
    to_qspinlock_max: f64,
    to_spin_lock: f64,
    to_spin_lock_min: f64,
    to_spin_lock_max: f64,
    to_twa: f64,
    to_twa_min: f64,
    to_twa_max: f64,
}

impl Pair {
    /// Each ratio's median, least and most, in the columns' order.
    fn ratios(&self) -> [[f64; 3]; 4] {
        [
            [
                self.to_raw_spin_lock,
                self.to_raw_spin_lock_min,
                self.to_raw_spin_lock_max,
            ],
            [
                self.to_qspinlock,
                self.to_qspinlock_min,
                self.to_qspinlock_max,
            ],
            [
                self.to_spin_lock,
                self.to_spin_lock_min,
                self.to_spin_lock_max,
            ],
            [self.to_twa, self.to_twa_min, self.to_twa_max],
        ]
    }
}

impl Checked for Pair {
    const COLUMNS: &'static [&'static str] = &[
        "kernel",
        "layout",
        "lock",
        "shape",
        "boots",
        "ns",
        "to_raw_spin_lock",
        "to_raw_spin_lock_min",
        "to_raw_spin_lock_max",
        "to_qspinlock",
        "to_qspinlock_min",
        "to_qspinlock_max",
        "to_spin_lock",
        "to_spin_lock_min",
        "to_spin_lock_max",
        "to_twa",
        "to_twa_min",
        "to_twa_max",
    ];

    fn wrong(&self) -> Option<(&'static str, &'static str)> {
        let good = |it: f64| it.is_finite() && it > 0.0;
        let ratios = self.ratios();
        let columns = Self::COLUMNS[6..].iter().copied();
        let mut each = columns.zip(ratios.as_flattened());
        let mut named = Self::COLUMNS[6..].chunks_exact(3).zip(ratios);
        match () {
            () if !LAYOUTS.contains(&&self.layout[..]) => Some(("layout", "far, near")),
            () if !SHAPES.contains(&&self.shape[..]) => Some(("shape", "inlined, called, bound")),
            () if self.boots == 0 => Some(("boots", "from 1")),
            () if !good(self.ns) => Some(("ns", "a number above 0")),
            () => each
                .find(|it| !good(*it.1))
                .map(|it| (it.0, "a number above 0"))
                .or_else(|| {
                    named.find_map(|(columns, [median, least, most])| match () {
                        () if least > median => Some((columns[1], "at most the median beside it")),
                        () if most < median => Some((columns[2], "at least the median beside it")),
                        () => None,
                    })
                }),
        }
    }

    fn identity(&self) -> String {
        let Self {
            kernel,
            layout,
            lock,
            ..
        } = self;
        format!("kernel {kernel}, layout {layout}, lock {lock}")
    }
}

/// What an uncontended pair takes, to that of `raw_spin_lock` in the same layout and run. A group a
/// kernel and layout. The title is of layout `far`.
///
/// # Errors
/// The errors of [`sheet::read`].
pub fn uncontended(path: &Path, file: &str, remarks: &[String]) -> Result<Bars, String> {
    let rows: Vec<Pair> = sheet::read(path)?;
    let kernels = firsts(rows.iter().map(|it| &it.kernel[..]));
    let group = |(kernel, layout): (&str, &str)| bars::Group {
        title: format!("{kernel} kernel, layout {layout}"),
        rows: rows
            .iter()
            .filter(|it| it.kernel == kernel && it.layout == layout)
            .map(|it| bars::Row {
                name: it.lock.clone(),
                value: Spread {
                    least: it.to_raw_spin_lock_min,
                    median: it.to_raw_spin_lock,
                    most: it.to_raw_spin_lock_max,
                },
                note: format!("{:.2} ({:.1} ns, {})", it.to_raw_spin_lock, it.ns, it.shape),
                look: look_of(&it.lock),
            })
            .collect(),
    };
    let places = kernels
        .iter()
        .flat_map(|kernel| LAYOUTS.map(|layout| (*kernel, layout)));
    let groups = places.map(group).filter(|it| !it.rows.is_empty());
    let found: Vec<String> = OURS
        .into_iter()
        .filter_map(|(lock, name)| {
            let these = rows
                .iter()
                .filter(|it| it.lock == lock && it.layout == LAYOUTS[0]);
            let ratios = these.map(|it| it.to_raw_spin_lock);
            Some(format!("{name} {}", range(ratios)?))
        })
        .collect();
    let title = match found.is_empty() {
        true => "What an uncontended pair takes".to_owned(),
        false => format!(
            "Uncontended, layout {}: {} of {BASE}'s time",
            LAYOUTS[0],
            found.join(", ")
        ),
    };
    let boots = rows.iter().map(|it| it.boots).max().unwrap_or(0);
    let what = format!(
        "a lock and an unlock; medians of {boots} boots' ratios to {BASE} in the same layout and run; \
         lines: least to most boot"
    );
    let words = [
        "layout: where the timed loop lies; far: in a page without the functions that the inlined \
         locks call; near: in theirs",
        "shape: inlined: two calls that switch preemption, the lock's steps between them; called: \
         the kernel's lock and unlock; bound: these by the Rust binding",
        MARKS,
    ];
    let mut small_print = print(what, remarks);
    small_print.splice(1..1, words.map(String::from));
    Ok(Bars {
        file: file.to_owned(),
        title,
        axis: Axis {
            name: "time of a pair, to raw_spin_lock's",
            unit: Unit::Number,
        },
        groups: groups.collect(),
        legend: Vec::new(),
        small_print,
    })
}

/// Each once, in the order in which they come.
pub(crate) fn firsts<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut firsts = Vec::new();
    for one in all {
        if !firsts.contains(&one) {
            firsts.push(one);
        }
    }
    firsts
}

pub(crate) fn print(what: String, remarks: &[String]) -> Vec<String> {
    std::iter::once(what)
        .chain(remarks.iter().cloned())
        .collect()
}
