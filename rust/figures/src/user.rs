// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Programs under each lock (`make bench-user`), by their threads.
//!
//! A point has the spread over rounds. A ratio is of one round.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

use crate::figure::{Axis, Figure, Look, Panel, Series, Unit, KERNELS, LOCKS, UNORDERED};
use crate::finding::{counted, range};
use crate::sheet::{self, Checked};
use crate::spread::Spread;

/// The locks: their names in the table and in the legend, and their looks.
const SHOWN: [(&str, &str, Look); 7] = [
    ("glibc", "glibc's mutex", KERNELS[0]),
    ("ttas", "TTAS", UNORDERED),
    ("clh", "CLH", LOCKS[4]),
    ("mcs", "MCS", LOCKS[3]),
    ("one-word-twa", "one-word TWA", LOCKS[2]),
    ("ticket", "ticket", LOCKS[1]),
    ("twa", "TWA", LOCKS[0]),
];

#[derive(Deserialize)]
struct Run {
    program: String,
    threads: u32,
    run: u32,
    lock: String,
    ops: u64,
    seconds: f64,
}

impl Run {
    /// Millions a second.
    fn rate(&self) -> f64 {
        self.ops as f64 / self.seconds / 1e6
    }
}

impl Checked for Run {
    const COLUMNS: &'static [&'static str] =
        &["program", "threads", "run", "lock", "ops", "seconds"];

    fn wrong(&self) -> Option<(&'static str, &'static str)> {
        match () {
            () if self.threads == 0 => Some(("threads", "from 1")),
            () if self.ops == 0 => Some(("ops", "from 1")),
            () if self.seconds.is_nan() || self.seconds <= 0.0 => Some(("seconds", "above 0")),
            () => None,
        }
    }

    fn identity(&self) -> String {
        let Self {
            program,
            threads,
            run,
            lock,
            ..
        } = self;
        format!("{program}, {lock}, {threads} threads, round {run}")
    }
}

/// Each program's rates by the number of threads.
///
/// # Errors
/// The errors of [`sheet::read`].
pub fn by_threads(path: &Path, file: &str, remarks: &[String]) -> Result<Figure, String> {
    let rows: Vec<Run> = sheet::read(path)?;
    // In the table's order.
    let mut programs: Vec<&str> = Vec::new();
    for row in &rows {
        if !programs.contains(&&row.program[..]) {
            programs.push(&row.program);
        }
    }
    let panels = programs.iter().map(|&program| Panel {
        title: program.to_owned(),
        series: SHOWN
            .iter()
            .map(|&(lock, name, look)| Series {
                name: name.to_owned(),
                look,
                is_curve: false,
                points: points(&rows, program, lock),
            })
            .filter(|series| !series.points.is_empty())
            .collect(),
    });
    let rounds = rows.iter().map(|it| it.run).collect::<BTreeSet<_>>().len();
    let mut small_print = vec![format!(
        "medians of {}, in which the locks take turns; bars: least to most",
        counted(rounds, "round")
    )];
    small_print.extend(remarks.iter().cloned());
    Ok(Figure {
        file: file.to_owned(),
        title: title(&rows, &programs),
        x: Axis {
            name: "threads",
            unit: Unit::Rate,
        },
        y: Axis {
            name: "million operations a second",
            unit: Unit::Number,
        },
        columns: 2,
        panels: panels.collect(),
        small_print,
    })
}

/// The rates of a program under a lock, by its threads.
fn points(rows: &[Run], program: &str, lock: &str) -> Vec<(f64, Spread)> {
    let mut rates: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
    for row in rows {
        if row.program == program && row.lock == lock {
            rates.entry(row.threads).or_default().push(row.rate());
        }
    }
    let spread = |(threads, rates): (u32, Vec<f64>)| {
        Some((f64::from(threads), Spread::of(rates.into_iter())?))
    };
    rates.into_iter().filter_map(spread).collect()
}

/// What the table has of TWA beside the ticket lock, with the most threads, of each program.
fn title(rows: &[Run], programs: &[&str]) -> String {
    let most = rows.iter().map(|it| it.threads).max().unwrap_or(0);
    let rate = |program: &str, lock: &str, run: u32| {
        let mut found = rows.iter().filter(|it| {
            it.program == program && it.lock == lock && it.run == run && it.threads == most
        });
        found.next().map(Run::rate)
    };
    let runs: BTreeSet<u32> = rows.iter().map(|it| it.run).collect();
    let of = |&program: &&str| {
        let ratio = |&run: &u32| Some(rate(program, "twa", run)? / rate(program, "ticket", run)?);
        let said = range(runs.iter().filter_map(ratio))?;
        Some(format!("{said} in {program}"))
    };
    let each: Vec<String> = programs.iter().filter_map(of).collect();
    if each.is_empty() {
        return "Programs by their threads".to_owned();
    }
    format!(
        "{}: TWA has so much of the ticket lock's rate: {}",
        counted(most as usize, "thread"),
        each.join(", ")
    )
}
