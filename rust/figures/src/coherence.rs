// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Locks on simulated CPUs (`make figures-twa`), by their number, by TWA's threshold and by the array's slots.
//!
//! A point has the spread over the machines of the sweep. A ratio is of one machine.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

use crate::figure::{Axis, Figure, Look, Panel, Series, Unit, KERNELS, LOCKS, UNORDERED};
use crate::finding::{counted, range, times};
use crate::sheet::{self, Checked};
use crate::spread::Spread;

/// A lock: its names in the table and in the legend, and its look.
type Lock = (&'static str, &'static str, Look);

/// The panels, each with its locks.
const PANELS: [(&str, &[Lock]); 2] = [
    (
        "a lock's words on one line",
        &[
            ("ttas", "TTAS", UNORDERED),
            ("qspin", "qspinlock's algorithm", KERNELS[0]),
            ("clh", "CLH", LOCKS[4]),
            ("mcs", "MCS", LOCKS[3]),
            ("one_word_twa", "one-word TWA", LOCKS[2]),
            ("ticket", "ticket", LOCKS[1]),
            ("twa", "TWA", LOCKS[0]),
        ],
    ),
    (
        "ticket and grant on two",
        &[
            ("mcs", "MCS", LOCKS[3]),
            ("ticket_apart", "ticket", LOCKS[1]),
            ("twa_apart", "TWA", LOCKS[0]),
        ],
    ),
];

/// The workloads whose sections were measured in a program.
const PROGRAMS: [&str; 2] = ["leveldb", "rocksdb"];

/// TWA's names, by their thresholds.
const THRESHOLDS: [(&str, u32); 5] = [
    ("twa_threshold_0", 0),
    ("twa", 1),
    ("twa_threshold_2", 2),
    ("twa_threshold_4", 4),
    ("twa_threshold_8", 8),
];
/// The paper's threshold, and its array.
const PAPER: (u32, u32) = (1, 4096);

#[derive(Deserialize)]
struct Run {
    workload: String,
    lock: String,
    threads: u32,
    machine: u32,
    topology: String,
    slots: u32,
    seed: u64,
    section_ns: f64,
    between_ns: f64,
    millions_per_s: f64,
    handover_p50_ns: Option<f64>,
    invalidations_per_handover: Option<f64>,
    rereads_per_handover: Option<f64>,
    far_per_handover: Option<f64>,
    lock_invalidations: f64,
}

impl Checked for Run {
    const COLUMNS: &'static [&'static str] = &[
        "workload",
        "lock",
        "threads",
        "machine",
        "topology",
        "slots",
        "seed",
        "section_ns",
        "between_ns",
        "millions_per_s",
        "handover_p50_ns",
        "invalidations_per_handover",
        "rereads_per_handover",
        "far_per_handover",
        "lock_invalidations",
    ];

    fn wrong(&self) -> Option<(&'static str, &'static str)> {
        match () {
            () if self.threads == 0 => Some(("threads", "from 1")),
            () if self.slots == 0 => Some(("slots", "from 1")),
            () if self.millions_per_s.is_nan() || self.millions_per_s <= 0.0 => {
                Some(("millions_per_s", "above 0"))
            }
            () => None,
        }
    }

    fn identity(&self) -> String {
        let Self {
            workload,
            lock,
            threads,
            machine,
            slots,
            seed,
            ..
        } = self;
        format!(
            "{workload}, {lock}, {threads} threads, machine {machine}, {slots} slots, seed {seed}"
        )
    }
}

/// Values by a key, and of each key by machine: one has the same costs for all.
type Values<K> = BTreeMap<K, BTreeMap<u32, f64>>;

fn by<'a, K: Ord>(rows: &'a [Run], of: impl Fn(&'a Run) -> Option<(K, f64)>) -> Values<K> {
    let mut values = Values::new();
    for row in rows {
        if let Some((key, value)) = of(row) {
            let machines: &mut BTreeMap<u32, f64> = values.entry(key).or_default();
            machines.insert(row.machine, value);
        }
    }
    values
}

/// The ratios of two keys, a machine each.
fn ratios<'a, K: Ord>(
    values: &'a Values<K>,
    one: &K,
    other: &K,
) -> impl Iterator<Item = f64> + use<'a, K> {
    let other = values.get(other);
    let each = values.get(one).into_iter().flatten();
    each.filter_map(move |(machine, value)| Some(value / other?.get(machine)?))
}

/// What a figure by the number of CPUs shows of each run.
struct Shown {
    /// The figure's name in the list.
    which: &'static str,
    y: &'static str,
    unit: Unit,
    of: fn(&Run) -> Option<f64>,
}

const SHOWN: [Shown; 5] = [
    Shown {
        which: "throughput",
        y: "million rounds a second",
        unit: Unit::Number,
        of: |it| Some(it.millions_per_s),
    },
    Shown {
        which: "handover",
        y: "median of a hand-over's time",
        unit: Unit::Time,
        of: |it| it.handover_p50_ns,
    },
    Shown {
        which: "invalidations",
        y: "copies invalidated during a hand-over",
        unit: Unit::Number,
        of: |it| it.invalidations_per_handover,
    },
    Shown {
        which: "rereads",
        y: "waiters that read again during a hand-over",
        unit: Unit::Number,
        of: |it| it.rereads_per_handover,
    },
    Shown {
        which: "far",
        y: "transfers between sockets during a hand-over",
        unit: Unit::Number,
        of: |it| it.far_per_handover,
    },
];

/// Figures by the number of threads: throughput, and what a hand-over takes.
///
/// # Errors
/// The errors of [`sheet::read`].
pub fn by_threads(path: &Path, remarks: &[String]) -> Result<Vec<Figure>, String> {
    let rows: Vec<Run> = sheet::read(path)?;
    Ok(SHOWN
        .iter()
        .map(|shown| {
            let values = by(&rows, |it| {
                Some(((&it.lock[..], it.threads), (shown.of)(it)?))
            });
            let series = |&(lock, name, look): &Lock| {
                named(name.to_owned(), look, &values, |key| {
                    (key.0 == lock).then(|| f64::from(key.1))
                })
            };
            let panels = PANELS.iter().map(|(title, locks)| Panel {
                title: (*title).to_owned(),
                series: locks
                    .iter()
                    .map(series)
                    .filter(|it| !it.points.is_empty())
                    .collect(),
            });
            Figure {
                file: format!("{}.svg", shown.which),
                title: title(&rows, shown, &values),
                x: THREADS,
                y: Axis {
                    name: shown.y,
                    unit: shown.unit,
                },
                columns: 2,
                panels: panels.collect(),
                small_print: small_print(&rows, remarks),
            }
        })
        .collect())
}

const THREADS: Axis = Axis {
    name: "threads, each with a CPU",
    unit: Unit::Rate,
};

/// The points of the keys that `x` places.
fn named<K: Ord>(
    name: String,
    look: Look,
    values: &Values<K>,
    x: impl Fn(&K) -> Option<f64>,
) -> Series {
    let points = values.iter().filter_map(|(key, machines)| {
        let spread = Spread::of(machines.values().copied())?;
        Some((x(key)?, spread))
    });
    Series {
        name,
        look,
        is_curve: false,
        points: points.collect(),
    }
}

/// What the table has of TWA beside the ticket lock, with the most threads.
fn title(rows: &[Run], shown: &Shown, values: &Values<(&str, u32)>) -> String {
    let most = rows.iter().map(|it| it.threads).max().unwrap_or(0);
    let workload = rows.first().map_or("", |it| &it.workload);
    let head = format!("{workload}, {most} simulated CPUs");
    let ratio = |one, other| range(ratios(values, &(one, most), &(other, most)));
    if shown.which == "throughput" {
        let mut said = match (ratio("twa", "ticket"), ratio("twa_apart", "ticket_apart")) {
            (Some(one), Some(two)) => format!(
                "{head}: TWA has {one} of the ticket lock's throughput, {two} with two lines"
            ),
            _ => return "Throughput by the number of CPUs".to_owned(),
        };
        if let (Some(qspin), "locktorture") = (ratio("twa", "qspin"), workload) {
            said += &format!(", and {qspin} of qspinlock's algorithm");
        }
        return said;
    }
    let of = |lock| {
        let these = values.get(&(lock, most)).into_iter().flatten();
        let these = these.map(|(_, value)| *value);
        match shown.unit {
            Unit::Time => times(these),
            _ => range(these),
        }
    };
    let what = match shown.which {
        "handover" => "a hand-over takes",
        "invalidations" => "copies that a hand-over invalidates:",
        "rereads" => "waiters that read again during a hand-over:",
        _ => "transfers between sockets during a hand-over:",
    };
    match (of("ticket"), of("twa"), of("mcs")) {
        (Some(ticket), Some(twa), Some(mcs)) => {
            format!("{head}: {what} {ticket} with the ticket lock, {twa} with TWA, {mcs} with MCS")
        }
        _ => shown.y.to_owned(),
    }
}

/// The sweep, the default costs' times, and the machine.
fn small_print(rows: &[Run], remarks: &[String]) -> Vec<String> {
    let machines: BTreeSet<u32> = rows.iter().map(|it| it.machine).collect();
    let mut lines = Vec::new();
    if let Some(first) = rows.first() {
        let mut line = format!("{}, {}", first.workload, first.topology);
        if first.section_ns > 0.0 {
            let most = if PROGRAMS.contains(&&first.workload[..]) {
                "in the mean, drawn as measured"
            } else {
                "at most"
            };
            line += &format!(
                ": sections of {} ns and {} ns between {most}, with the default costs",
                first.section_ns, first.between_ns
            );
        }
        lines.push(format!(
            "{line}; seed {}; medians, bars: least to most",
            first.seed
        ));
        lines.push(format!(
            "of {}, the first with the default costs, each other with costs out of their ranges",
            counted(machines.len(), "machine")
        ));
    }
    lines.extend(remarks.iter().cloned());
    lines
}

/// The invalidation diameter: the writer's rate, and the copies that it invalidates.
///
/// # Errors
/// The errors of [`sheet::read`].
pub fn diameter(path: &Path, remarks: &[String]) -> Result<Vec<Figure>, String> {
    let rows: Vec<Run> = sheet::read(path)?;
    let most = rows.iter().map(|it| it.threads).max().unwrap_or(0);
    let rates = by(&rows, |it| Some((it.threads, it.millions_per_s)));
    let copies = by(&rows, |it| Some((it.threads, it.lock_invalidations)));
    let readers = counted(most.saturating_sub(1) as usize, "reader");
    let slowed = match range(ratios(&rates, &most, &1)) {
        Some(ratio) => format!("With {readers} a writer has {ratio} of its rate alone"),
        None => "The writer's rate by the number of CPUs".to_owned(),
    };
    let lost = match range(
        copies
            .get(&most)
            .into_iter()
            .flatten()
            .map(|(_, value)| *value),
    ) {
        Some(copies) => format!("With {readers} a write invalidates {copies} copies"),
        None => "Copies that a write invalidates".to_owned(),
    };
    let figure = |which: &str, title: String, y, values: &Values<u32>| Figure {
        file: format!("{which}.svg"),
        title,
        x: THREADS,
        y: Axis {
            name: y,
            unit: Unit::Rate,
        },
        columns: 1,
        panels: vec![Panel {
            title: "one thread writes, the others read".to_owned(),
            series: vec![named("writer".to_owned(), LOCKS[1], values, |it| {
                Some(f64::from(*it))
            })],
        }],
        small_print: small_print(&rows, remarks),
    };
    Ok(vec![
        figure("rate", slowed, "million writes a second", &rates),
        figure("copies", lost, "copies that a write invalidates", &copies),
    ])
}

/// TWA's throughput by its threshold or by the array's slots, to that with the paper's.
///
/// # Errors
/// The errors of [`sheet::read`].
pub fn parameters(path: &Path, remarks: &[String]) -> Result<Vec<Figure>, String> {
    let rows: Vec<Run> = sheet::read(path)?;
    let threshold = |lock: &str| Some(THRESHOLDS.iter().find(|it| it.0 == lock)?.1);
    let rates = by(&rows, |it| {
        let key = (it.threads, threshold(&it.lock)?, it.slots);
        Some((key, it.millions_per_s))
    });
    let relative: Values<(u32, u32, u32)> = rates
        .iter()
        .filter_map(|(key, machines)| {
            let paper = rates.get(&(key.0, PAPER.0, PAPER.1))?;
            let each = machines
                .iter()
                .filter_map(|(machine, rate)| Some((*machine, rate / paper.get(machine)?)));
            Some((*key, each.collect()))
        })
        .collect();
    let threads: BTreeSet<u32> = relative.keys().map(|it| it.0).collect();
    let most = threads.last().copied().unwrap_or(0);
    let of = |key: (u32, u32, u32)| {
        range(
            relative
                .get(&key)
                .into_iter()
                .flatten()
                .map(|(_, value)| *value),
        )
    };
    let figure = |which: &str, title: String, x, place: fn(&(u32, u32, u32)) -> Option<f64>| {
        let series = |(&number, look): (&u32, Look)| {
            let name = counted(number as usize, "thread");
            named(name, look, &relative, |key| {
                if key.0 == number {
                    place(key)
                } else {
                    None
                }
            })
        };
        Figure {
            file: format!("{which}.svg"),
            title,
            x,
            y: Axis {
                name: "TWA's throughput, to that with the paper's",
                unit: Unit::Ratio,
            },
            columns: 1,
            panels: vec![Panel {
                title: "TWA on one line".to_owned(),
                series: threads.iter().zip(LOCKS).map(series).collect(),
            }],
            small_print: small_print(&rows, remarks),
        }
    };
    let thresholds: BTreeSet<u32> = relative.keys().map(|it| it.1).collect();
    let slots: BTreeSet<u32> = relative.keys().map(|it| it.2).collect();
    let highest = thresholds.last().copied().unwrap_or(0);
    let fewest = slots.first().copied().unwrap_or(0);
    let by_threshold = match (of((most, 0, PAPER.1)), of((most, highest, PAPER.1))) {
        (Some(none), Some(high)) => format!(
            "{most} simulated CPUs: with a threshold of 0 TWA has {none} of its throughput, with one of {highest} {high}"
        ),
        _ => "TWA by its threshold".to_owned(),
    };
    let by_slots = match of((most, PAPER.0, fewest)) {
        Some(few) => format!(
            "{most} simulated CPUs: with {} TWA has {few} of its throughput with {}",
            counted(fewest as usize, "slot"),
            PAPER.1
        ),
        None => "TWA by the array's slots".to_owned(),
    };
    Ok(vec![
        figure(
            "thresholds",
            by_threshold,
            Axis {
                name: "long-term threshold",
                unit: Unit::Count,
            },
            |key| (key.2 == PAPER.1).then(|| f64::from(key.1)),
        ),
        figure(
            "slots",
            by_slots,
            Axis {
                name: "slots of the array",
                unit: Unit::Rate,
            },
            |key| (key.1 == PAPER.0).then(|| f64::from(key.2)),
        ),
    ])
}
