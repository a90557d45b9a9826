// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Which figures a run of `alock-bench` has, and what is in them. Only the run's own figures
//! are drawn: medians, with bars from the least round to the most.

mod data;
mod medians;
mod panels;
mod row;
mod titles;

use std::path::Path;

pub use data::{Counts, Data};
pub use medians::{Medians, Table};
pub use row::{Key, Lock, Row};

use crate::figure::Figure;
use crate::{sheet, Spread};

/// The files' names begin so.
const STEMS: [&str; 6] = [
    "throughput",
    "latency",
    "percentiles",
    "budgets",
    "loopback",
    "queue-pairs",
];

/// All that the run has points for.
pub fn of(data: &Data<'_>, table: &Table) -> Vec<Figure> {
    let nodes = table.values(|key| key.nodes);
    let several = nodes.len() > 1;
    let mut figures = Vec::new();
    for &nodes in &nodes {
        let here = panels::Of {
            data,
            table,
            nodes,
            several,
        };
        figures.extend([
            here.throughput(),
            here.latency(),
            here.percentiles(),
            here.budgets(),
            here.loopback(),
        ]);
    }
    figures.push(panels::queue_pairs(data, table, &nodes));
    let has_points = |it: &Figure| it.panels.iter().any(|panel| !panel.series.is_empty());
    figures.into_iter().filter(has_points).collect()
}

/// Whether a figure of a run may have this name: `throughput.svg`, `throughput-5-nodes.svg`
/// and so on.
pub fn is_name(name: &str) -> bool {
    STEMS.iter().any(|stem| {
        let rest = name
            .strip_prefix(stem)
            .and_then(|it| it.strip_suffix(".svg"));
        rest.is_some_and(|rest| {
            let nodes = rest
                .strip_prefix('-')
                .and_then(|it| it.strip_suffix("-nodes"));
            rest.is_empty() || nodes.is_some_and(|it| it.parse::<u16>().is_ok())
        })
    })
}

/// The figures of a file of rows, `raw.csv`.
///
/// # Errors
/// The errors of [`sheet::read`].
pub fn of_rows(path: &Path, remarks: &[String]) -> Result<Vec<Figure>, String> {
    let rows: Vec<Row> = sheet::read(path)?;
    Ok(of(&only(remarks), &Table::of(&rows)))
}

/// The figure of a file of medians, `budgets.csv`.
///
/// # Errors
/// The errors of [`sheet::read`].
pub fn of_budgets(path: &Path, remarks: &[String]) -> Result<Vec<Figure>, String> {
    let rows: Vec<row::Budgets> = sheet::read(path)?;
    let median = |it: &row::Budgets| Medians {
        throughput: Spread::one(it.throughput),
        p50_ns: it.p50_ns,
        p99_ns: it.p99_ns,
        queue_pairs: Spread::one(0.0),
        rounds: 0,
    };
    let table = Table {
        first_budgets: rows.iter().find_map(|it| it.key().budgets()),
        all: rows.iter().map(|it| (it.key(), median(it))).collect(),
    };
    let mut figures = of(&only(remarks), &table);
    figures.retain(|it| it.file.starts_with("budgets"));
    Ok(figures)
}

fn only(remarks: &[String]) -> Data<'static> {
    Data {
        remarks: remarks.to_vec(),
        ..Data::default()
    }
}
