// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Throughput on simulated CPUs (`make figures-twa`), by their number.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::figure::{Axis, Figure, Look, Panel, Series, Unit, KERNELS, LOCKS, UNORDERED};
use crate::finding::{counted, range};
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

#[derive(Deserialize)]
struct Run {
    lock: String,
    threads: u32,
    machine: u32,
    topology: String,
    seed: u64,
    section_ns: f64,
    between_ns: f64,
    millions_per_s: f64,
}

impl Checked for Run {
    const COLUMNS: &'static [&'static str] = &[
        "lock",
        "threads",
        "machine",
        "topology",
        "seed",
        "section_ns",
        "between_ns",
        "millions_per_s",
    ];

    fn wrong(&self) -> Option<(&'static str, &'static str)> {
        match () {
            () if self.threads == 0 => Some(("threads", "from 1")),
            () if self.millions_per_s.is_nan() || self.millions_per_s <= 0.0 => {
                Some(("millions_per_s", "above 0"))
            }
            () => None,
        }
    }

    fn identity(&self) -> String {
        let Self {
            lock,
            threads,
            machine,
            seed,
            ..
        } = self;
        format!("{lock}, {threads} threads, machine {machine}, seed {seed}")
    }
}

/// Acquisitions a second by the number of threads. A point has the spread over the machines of the sweep.
///
/// # Errors
/// The errors of [`sheet::read`].
pub fn throughput(path: &Path, file: &str, remarks: &[String]) -> Result<Figure, String> {
    let rows: Vec<Run> = sheet::read(path)?;
    let mut rates: BTreeMap<(&str, u32), BTreeMap<u32, f64>> = BTreeMap::new();
    for row in &rows {
        let of = rates.entry((&row.lock, row.threads)).or_default();
        of.insert(row.machine, row.millions_per_s);
    }
    let series = |&(lock, name, look): &Lock| {
        let mine = rates.iter().filter(|it| it.0 .0 == lock);
        let points = mine
            .filter_map(|(key, it)| Some((f64::from(key.1), Spread::of(it.values().copied())?)));
        Series {
            name: name.to_owned(),
            look,
            is_curve: false,
            points: points.collect(),
        }
    };
    let panels = PANELS.iter().map(|(title, locks)| Panel {
        title: (*title).to_owned(),
        series: locks
            .iter()
            .map(series)
            .filter(|it| !it.points.is_empty())
            .collect(),
    });
    let most = rows.iter().map(|it| it.threads).max().unwrap_or(0);
    let nothing = BTreeMap::new();
    // By machine, for both have the same costs there.
    let ratio = |twa, ticket| {
        let of = |lock| rates.get(&(lock, most)).unwrap_or(&nothing);
        let (twa, ticket): (&BTreeMap<u32, f64>, _) = (of(twa), of(ticket));
        range(
            twa.iter()
                .filter_map(|(machine, rate)| Some(rate / ticket.get(machine)?)),
        )
    };
    let title = match (ratio("twa", "ticket"), ratio("twa_apart", "ticket_apart")) {
        (Some(one), Some(two)) => format!(
            "{most} simulated CPUs: TWA has {one} of the ticket lock's throughput, {two} with two lines"
        ),
        _ => "Throughput by the number of CPUs".to_owned(),
    };
    let machines = rates.values().map(BTreeMap::len).max().unwrap_or(0);
    let mut small_print = Vec::new();
    if let Some(first) = rows.first() {
        small_print.push(format!(
            "{}: sections of {} ns, 0 to {} ns between them; seed {}; medians, bars: least to most",
            first.topology, first.section_ns, first.between_ns, first.seed
        ));
        small_print.push(format!(
            "of {}, the first with the default costs, each other with costs out of their ranges",
            counted(machines, "machine")
        ));
    }
    small_print.extend(remarks.iter().cloned());
    Ok(Figure {
        file: file.to_owned(),
        title,
        x: Axis {
            name: "threads, each with a CPU",
            unit: Unit::Rate,
        },
        y: Axis {
            name: "million acquisitions a second",
            unit: Unit::Number,
        },
        columns: 2,
        panels: panels.collect(),
        small_print,
    })
}
