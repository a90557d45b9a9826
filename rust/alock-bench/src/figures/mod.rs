//! Which figures a run has, and what is in them. Only the run's own figures are drawn:
//! medians, with bars from the least round to the most.

mod axis;
mod panels;
mod plot;
mod svg;
#[cfg(test)]
mod tests;

use std::path::Path;

use crate::files;
use crate::medians::{Spread, Table};
use crate::point::Lock;
use crate::record::Record;

pub(crate) use plot::draw;

/// The files' names begin so.
const STEMS: [&str; 5] = [
    "throughput",
    "latency",
    "budgets",
    "loopback",
    "queue-pairs",
];

/// A figure: panels that share their axes.
pub(crate) struct Figure {
    pub(crate) file: String,
    title: String,
    x: Axis,
    y: Axis,
    columns: usize,
    panels: Vec<Panel>,
    small_print: Vec<String>,
}

struct Axis {
    name: &'static str,
    unit: Unit,
}

/// How an axis' numbers are written, and where its ticks are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unit {
    /// Ticks at the values themselves.
    Count,
    /// 10 k, 1 M. From 0, or logarithmic if the range wants it.
    Rate,
    /// Likewise, of small numbers, and always from 0.
    Number,
    /// In ns, logarithmic; written with its unit.
    Time,
    /// 0 to 1.
    Share,
    /// Around 1.
    Ratio,
}

/// By x.
type Points = Vec<(f64, Spread)>;

struct Panel {
    title: String,
    series: Vec<Series>,
}

struct Series {
    name: String,
    look: Look,
    /// A curve has no marks and no bars.
    is_curve: bool,
    points: Points,
}

/// A series' look is its own in every figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Look {
    color: svg::Color,
    shape: Shape,
}

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Shape {
    Circle,
    Triangle,
    Square,
    Diamond,
}

/// Of the palette by Okabe and Ito, which is told apart by (nearly) all eyes.
const fn look_of(lock: Lock) -> Look {
    let (color, shape) = match lock {
        Lock::Alock => ((0, 114, 178), Shape::Circle),
        Lock::RdmaSpin => ((213, 94, 0), Shape::Triangle),
        Lock::RdmaMcs => ((0, 158, 115), Shape::Square),
        Lock::Busted => ((110, 110, 110), Shape::Diamond),
    };
    Look { color, shape }
}

/// Of what is no lock: the palette's other colours.
const OTHERS: [Look; 4] = [
    Look {
        color: (204, 121, 167),
        shape: Shape::Circle,
    },
    Look {
        color: (230, 159, 0),
        shape: Shape::Triangle,
    },
    Look {
        color: (86, 180, 233),
        shape: Shape::Square,
    },
    Look {
        color: (0, 0, 0),
        shape: Shape::Diamond,
    },
];

/// All that the run has points for.
pub(crate) fn of(record: &Record, table: &Table) -> Vec<Figure> {
    let nodes = table.values(|key| key.nodes);
    let several = nodes.len() > 1;
    let mut figures = Vec::new();
    for &nodes in &nodes {
        let here = panels::Of {
            record,
            table,
            nodes,
            several,
        };
        figures.extend([
            here.throughput(),
            here.latency(),
            here.budgets(),
            here.loopback(),
        ]);
    }
    figures.push(panels::queue_pairs(record, table, &nodes));
    let has_points = |it: &Figure| it.panels.iter().any(|panel| !panel.series.is_empty());
    figures.into_iter().filter(has_points).collect()
}

/// Removes what an earlier run drew.
pub(crate) fn remove(dir: &Path) -> Result<(), String> {
    let entries = std::fs::read_dir(dir).map_err(|it| format!("{}: {it}", dir.display()))?;
    for entry in entries {
        let entry = entry.map_err(|it| format!("{}: {it}", dir.display()))?;
        let name = entry.file_name();
        match name.to_str() {
            Some(name) if is_ours(name) => files::remove(dir, name)?,
            _ => {}
        }
    }
    Ok(())
}

/// `throughput.svg`, `throughput-5-nodes.svg` and so on.
fn is_ours(name: &str) -> bool {
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
