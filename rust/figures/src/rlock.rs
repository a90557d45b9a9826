// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! rlock's results (`make bench-rlock`): what an increment costs, and what a cancellation.

use std::path::Path;

use serde::Deserialize;

use crate::bars::{Bars, Group, Row};
use crate::figure::{Axis, Look, Unit, BESIDE, LOCKS};
use crate::finding::{number, times};
use crate::sheet::{self, Checked};
use crate::spread::Spread;

/// The methods with a locked instruction: those that rlock is compared with.
pub const LOCKED: [&str; 7] = [
    "xchg",
    "fas",
    "fas_cas",
    "lock_add",
    "pthread",
    "std",
    "parking_lot",
];

#[derive(Deserialize)]
struct Cost {
    method: String,
    threads: u32,
    cpus: u32,
    cycles: f64,
    ns: f64,
}

impl Checked for Cost {
    const COLUMNS: &'static [&'static str] = &["method", "threads", "cpus", "cycles", "ns"];

    fn wrong(&self) -> Option<(&'static str, &'static str)> {
        let good = |it: f64| it.is_finite() && it > 0.0;
        match () {
            () if self.threads == 0 => Some(("threads", "from 1")),
            () if self.cpus == 0 => Some(("cpus", "from 1")),
            () if !good(self.cycles) => Some(("cycles", "a number above 0")),
            () if !good(self.ns) => Some(("ns", "a number above 0")),
            () => None,
        }
    }

    fn identity(&self) -> String {
        format!(
            "{}, {} threads, {} CPUs",
            self.method, self.threads, self.cpus
        )
    }
}

fn family(method: &str) -> (&'static str, Look) {
    match method {
        it if it.starts_with("rlock") => ("rlock", LOCKS[0]),
        it if LOCKED.contains(&it) => ("with a locked instruction", LOCKS[1]),
        _ => ("neither", BESIDE),
    }
}

/// What an increment costs, by each method.
///
/// # Errors
/// The errors of [`sheet::read`].
pub fn cost(path: &Path, file: &str, remarks: &[String]) -> Result<Bars, String> {
    let rows: Vec<Cost> = sheet::read(path)?;
    let alone = || rows.iter().filter(|it| (it.threads, it.cpus) == (1, 1));
    let ours = alone().find(|it| it.method == "rlock");
    let locked = alone().filter(|it| LOCKED.contains(&&it.method[..]));
    let cheapest = locked.min_by(|a, b| a.cycles.total_cmp(&b.cycles));
    let title = match (ours, cheapest) {
        (Some(ours), Some(it)) => format!(
            "rlock's increment: {} of the cheapest locked one ({})",
            number(ours.cycles / it.cycles),
            it.method
        ),
        _ => "What an increment costs".to_owned(),
    };
    let row = |it: &Cost| Row {
        name: match (it.threads, it.cpus) {
            (1, 1) => it.method.clone(),
            (threads, 1) => format!("{}, {threads} threads, 1 CPU", it.method),
            (threads, cpus) => format!("{}, {threads} threads, {cpus} CPUs", it.method),
        },
        value: Spread::one(it.ns),
        note: format!("{:.2} ns, {:.1} cycles", it.ns, it.cycles),
        look: family(&it.method).1,
    };
    let mut legend: Vec<(String, Look)> = Vec::new();
    for (name, look) in rows.iter().map(|it| family(&it.method)) {
        if legend.iter().all(|it| it.0 != name) {
            legend.push((name.to_owned(), look));
        }
    }
    let what = "medians; cycles are of the time stamp counter; one thread on one CPU but where \
                the name says more"
        .to_owned();
    Ok(Bars {
        file: file.to_owned(),
        title,
        axis: Axis {
            name: "ns an increment",
            unit: Unit::Number,
        },
        groups: vec![Group {
            title: String::new(),
            rows: rows.iter().map(row).collect(),
        }],
        legend,
        small_print: std::iter::once(what)
            .chain(remarks.iter().cloned())
            .collect(),
    })
}

#[derive(Deserialize)]
struct Cancel {
    mode: String,
    victim: String,
    median_ns: f64,
    p99_ns: f64,
}

impl Checked for Cancel {
    const COLUMNS: &'static [&'static str] = &["mode", "victim", "median_ns", "p99_ns"];

    fn wrong(&self) -> Option<(&'static str, &'static str)> {
        match () {
            () if !(self.median_ns.is_finite() && self.median_ns > 0.0) => {
                Some(("median_ns", "a number above 0"))
            }
            () if !self.p99_ns.is_finite() || self.p99_ns < self.median_ns => {
                Some(("p99_ns", "a number, no less than `median_ns`"))
            }
            () => None,
        }
    }

    fn identity(&self) -> String {
        format!("{} of {}", self.mode, self.victim)
    }
}

/// What a cancellation takes, by what its victim does.
///
/// # Errors
/// The errors of [`sheet::read`].
pub fn cancel(path: &Path, file: &str, remarks: &[String]) -> Result<Bars, String> {
    let rows: Vec<Cancel> = sheet::read(path)?;
    let of = |in_section: bool| {
        let these = rows
            .iter()
            .filter(move |it| (it.victim == "in_section") == in_section);
        times(these.map(|it| it.median_ns))
    };
    let title = match (of(false), of(true)) {
        (Some(out), Some(within)) => {
            format!("A cancellation: {out}; of a victim within a section {within}")
        }
        (Some(out), None) => format!("A cancellation: {out}"),
        _ => "What a cancellation takes".to_owned(),
    };
    let mut groups: Vec<Group> = Vec::new();
    for it in &rows {
        let title = format!("{} cancellation, the victim is", it.mode);
        let time = |ns| times(std::iter::once(ns)).unwrap_or_default();
        let row = Row {
            name: it.victim.replace('_', " "),
            value: Spread {
                least: it.median_ns,
                median: it.median_ns,
                most: it.p99_ns,
            },
            note: format!("{} (99 %: {})", time(it.median_ns), time(it.p99_ns)),
            look: LOCKS[0],
        };
        match groups.iter_mut().find(|it| it.title == title) {
            Some(group) => group.rows.push(row),
            None => groups.push(Group {
                title,
                rows: vec![row],
            }),
        }
    }
    let what = "marks: medians; lines: up to the 99th percentile".to_owned();
    Ok(Bars {
        file: file.to_owned(),
        title,
        axis: Axis {
            name: "time of a cancellation",
            unit: Unit::Time,
        },
        groups,
        legend: Vec::new(),
        small_print: std::iter::once(what)
            .chain(remarks.iter().cloned())
            .collect(),
    })
}
