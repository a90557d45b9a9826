// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The way from a run's medians to each figure's series.

use std::collections::BTreeMap;

use super::data::{look_of, Data};
use super::medians::{Medians, Table};
use super::row::{Key, Lock};
use super::titles;
use crate::figure::{Axis, Figure, Panel, Points, Series, Unit, OTHERS};
use crate::finding::counted;
use crate::spread::Spread;

/// The figures of so many nodes.
pub(super) struct Of<'r> {
    pub(super) data: &'r Data<'r>,
    pub(super) table: &'r Table,
    pub(super) nodes: u16,
    /// Whether there are others of other numbers of nodes.
    pub(super) several: bool,
}

const THREADS: Axis = Axis {
    name: "threads per node",
    unit: Unit::Count,
};
const RATE: Axis = Axis {
    name: "acquisitions per second, all nodes",
    unit: Unit::Rate,
};

impl Of<'_> {
    fn file(&self, stem: &str) -> String {
        match self.several {
            true => format!("{stem}-{}-nodes.svg", self.nodes),
            false => format!("{stem}.svg"),
        }
    }

    fn here(&self) -> impl Iterator<Item = (&Key, &Medians)> {
        self.table
            .first()
            .filter(|(key, _)| key.nodes == self.nodes)
    }

    /// A panel a table size (from top to bottom) and locality (from left to right).
    fn grid(&self, series: impl Fn(u32, u8) -> Vec<Series>) -> (usize, Vec<Panel>) {
        let of = |get: fn(&Key) -> u32| {
            let mut values: Vec<u32> = self.here().map(|(key, _)| get(key)).collect();
            values.sort_unstable();
            values.dedup();
            values
        };
        let localities = of(|key| key.locality.into());
        let mut panels = Vec::new();
        for locks in of(|key| key.locks) {
            for &locality in &localities {
                panels.push(Panel {
                    title: format!("{locks} locks, {locality} % local"),
                    series: series(locks, locality as u8),
                });
            }
        }
        (localities.len(), panels)
    }

    /// The paper's Figure 5.
    pub(super) fn throughput(&self) -> Figure {
        let (columns, panels) = self.grid(|locks, locality| {
            let here = self.here();
            by_lock(
                here.filter(|(key, _)| (key.locks, key.locality) == (locks, locality))
                    .map(|(key, it)| (key.lock, f64::from(key.threads), it.throughput)),
            )
        });
        Figure {
            file: self.file("throughput"),
            title: titles::throughput(self.nodes, || self.here()),
            x: THREADS,
            y: RATE,
            columns,
            panels,
            small_print: self.medians(&self.pair()),
        }
    }

    /// The paper's Figure 6.
    pub(super) fn latency(&self) -> Figure {
        let threads = self.here().map(|(key, _)| key.threads).max().unwrap_or(0);
        let (columns, panels) = self.grid(|locks, locality| {
            let points = self
                .latencies(threads)
                .filter(|(key, _)| (key.locks, key.locality) == (locks, locality));
            let curve = |lock: Lock, counts: &[(u64, u64)]| Series {
                name: lock.name().into(),
                look: look_of(lock),
                is_curve: true,
                points: cumulated(counts),
            };
            points.map(|(key, it)| curve(key.lock, it)).collect()
        });
        Figure {
            file: self.file("latency"),
            title: titles::latency(
                self.nodes,
                Some(threads),
                self.latencies(threads)
                    .map(|(key, it)| (*key, titles::median(it))),
            ),
            x: Axis {
                name: "latency",
                unit: Unit::Time,
            },
            y: Axis {
                name: "share of operations that took no longer",
                unit: Unit::Share,
            },
            columns,
            panels,
            small_print: self.small_print(&format!("all rounds together{}", self.pair())),
        }
    }

    /// The paper's Figure 4; here a panel a table size and local budget.
    pub(super) fn budgets(&self) -> Figure {
        let (local, remote) = self.table.first_budgets.unwrap_or_default();
        let all: Vec<_> = self
            .table
            .all
            .iter()
            .filter(|(key, _)| key.nodes == self.nodes)
            .collect();
        let threads = all.iter().map(|(key, _)| key.threads).max().unwrap_or(0);
        let mut panels: BTreeMap<(u32, u32), BTreeMap<u8, Points>> = BTreeMap::new();
        for (key, it) in all.iter().filter(|(key, _)| key.threads == threads) {
            let (Some((local, remote)), Some(base)) = (key.budgets(), self.table.base(key)) else {
                continue;
            };
            let of = panels.entry((key.locks, local)).or_default();
            let speed_up = it.throughput.over(base.throughput.median);
            of.entry(key.locality)
                .or_default()
                .push((remote.into(), speed_up));
        }
        let locals = self
            .table
            .values(|key| key.local_budget)
            .into_iter()
            .flatten()
            .count();
        let localities = self.table.values(|key| key.locality);
        let panels = panels.into_iter().map(|((locks, local), series)| Panel {
            title: format!("{locks} locks, local budget {local}"),
            series: series
                .into_iter()
                .map(|(locality, points)| Series {
                    name: format!("{locality} % local"),
                    look: OTHERS[localities.binary_search(&locality).unwrap_or(0) % OTHERS.len()],
                    is_curve: false,
                    points,
                })
                .collect(),
        });
        let panels: Vec<Panel> = match self.table.has_pairs() {
            true => panels.collect(),
            false => Vec::new(),
        };
        Figure {
            file: self.file("budgets"),
            title: titles::budgets(self.nodes, threads, &panels),
            x: Axis {
                name: "remote budget",
                unit: Unit::Count,
            },
            y: Axis {
                name: "throughput, to the first budgets'",
                unit: Unit::Ratio,
            },
            columns: if locals > 1 { locals } else { 3 },
            panels,
            small_print: self.medians(&format!(
                "; 1: the median with local budget {local} and remote budget {remote}"
            )),
        }
    }

    /// The paper's Figure 1: which locks need loopback, where everything is local.
    pub(super) fn loopback(&self) -> Figure {
        let baselines: Vec<_> = self
            .here()
            .filter(|(key, _)| {
                key.locality == 100 && matches!(key.lock, Lock::RdmaSpin | Lock::RdmaMcs)
            })
            .collect();
        let title = titles::loopback(self.nodes, &baselines);
        let mut panels: BTreeMap<u32, Vec<_>> = BTreeMap::new();
        for (key, it) in baselines {
            let point = (key.lock, f64::from(key.threads), it.throughput);
            panels.entry(key.locks).or_default().push(point);
        }
        let panels = panels.into_iter().map(|(locks, points)| Panel {
            title: format!("{locks} locks"),
            series: by_lock(points.into_iter()),
        });
        Figure {
            file: self.file("loopback"),
            title,
            x: THREADS,
            y: RATE,
            columns: 3,
            panels: panels.collect(),
            small_print: self.medians(""),
        }
    }

    /// The two percentiles of latencies, where only rows are left.
    pub(super) fn percentiles(&self) -> Figure {
        let (columns, panels) = self.grid(|locks, locality| {
            let here = self.here();
            // A logarithmic axis has no 0.
            let spread = |it: &Medians| Spread {
                least: it.p50_ns.max(1) as f64,
                median: it.p50_ns.max(1) as f64,
                most: it.p99_ns.max(it.p50_ns).max(1) as f64,
            };
            by_lock(
                here.filter(|(key, _)| (key.locks, key.locality) == (locks, locality))
                    .map(|(key, it)| (key.lock, f64::from(key.threads), spread(it))),
            )
        });
        let medians = self.here().map(|(key, it)| (*key, it.p50_ns));
        Figure {
            file: self.file("percentiles"),
            title: titles::latency(self.nodes, None, medians),
            x: THREADS,
            y: Axis {
                name: "latency: median, and up to the 99th percentile",
                unit: Unit::Time,
            },
            columns,
            panels: match self.data.latencies.is_empty() {
                true => panels,
                false => Vec::new(),
            },
            small_print: self.small_print(&format!(
                "medians of the rounds' percentiles; bars: up to the 99th{}",
                self.pair()
            )),
        }
    }

    /// The latencies of every lock once, with so many threads.
    fn latencies(&self, threads: u16) -> impl Iterator<Item = (&Key, &[(u64, u64)])> {
        let all = self.data.latencies.iter().filter(move |(key, _)| {
            self.table.is_first(key) && (key.nodes, key.threads) == (self.nodes, threads)
        });
        all.map(|(key, counts)| (key, *counts))
    }

    /// ALock's budgets, where they are known.
    fn pair(&self) -> String {
        let pair = self.table.first_budgets;
        pair.map_or(String::new(), |(local, remote)| {
            format!("; alock's budgets: local {local}, remote {remote}")
        })
    }

    fn small_print(&self, what: &str) -> Vec<String> {
        small_print(self.data, &counted(self.nodes, "node"), what)
    }

    fn medians(&self, more: &str) -> Vec<String> {
        self.small_print(&(medians(self.table) + more))
    }
}

/// How many queue pairs a node holds.
pub(super) fn queue_pairs(data: &Data<'_>, table: &Table, all_nodes: &[u16]) -> Figure {
    let panels = all_nodes.iter().map(|&of| {
        // The same for every table size and locality, or the bars show it.
        let mut seen: BTreeMap<(Lock, u16), Vec<f64>> = BTreeMap::new();
        for (key, it) in table.first().filter(|(key, _)| key.nodes == of) {
            let seen = seen.entry((key.lock, key.threads)).or_default();
            seen.extend([
                it.queue_pairs.least,
                it.queue_pairs.median,
                it.queue_pairs.most,
            ]);
        }
        let points = seen.into_iter().filter_map(|((lock, threads), seen)| {
            Some((lock, f64::from(threads), Spread::of(seen.into_iter())?))
        });
        Panel {
            title: counted(of, "node"),
            series: by_lock(points),
        }
    });
    let which = all_nodes
        .iter()
        .map(u16::to_string)
        .collect::<Vec<_>>()
        .join(", ");
    Figure {
        file: "queue-pairs.svg".into(),
        title: titles::queue_pairs(table),
        x: THREADS,
        y: Axis {
            name: "queue pairs of a node",
            unit: Unit::Number,
        },
        columns: 3,
        panels: panels.collect(),
        small_print: small_print(
            data,
            &format!("{which} nodes"),
            "as counted in the run; bars: least to most",
        ),
    }
}

/// The lines on where it was run, what is drawn, what else is to be known.
fn small_print(data: &Data<'_>, nodes: &str, what: &str) -> Vec<String> {
    let mut lines = vec![format!("{nodes}{}; {what}", data.place)];
    lines.extend(data.remarks.iter().cloned());
    lines
}

fn medians(table: &Table) -> String {
    let rounds = table.all.values().map(|it| it.rounds).max().unwrap_or(0);
    match rounds {
        0 => "medians".into(),
        1 => "one round".into(),
        _ => format!("medians of {rounds} rounds, bars: least to most"),
    }
}

/// A series a lock, in the order of the tables.
fn by_lock(points: impl Iterator<Item = (Lock, f64, Spread)>) -> Vec<Series> {
    let mut locks: BTreeMap<Lock, Points> = BTreeMap::new();
    for (lock, x, y) in points {
        locks.entry(lock).or_default().push((x, y));
    }
    let series = locks.into_iter().map(|(lock, points)| Series {
        name: lock.name().into(),
        look: look_of(lock),
        is_curve: false,
        points,
    });
    series.collect()
}

/// How many took no longer, of all. It begins at 0, at the least value.
fn cumulated(counts: &[(u64, u64)]) -> Points {
    let all: u64 = counts.iter().map(|(_, count)| count).sum();
    let at = |value: u64, share: f64| {
        let share = Spread {
            least: share,
            median: share,
            most: share,
        };
        // A logarithmic axis has no 0.
        (value.max(1) as f64, share)
    };
    let mut so_far = 0;
    let mut points: Vec<_> = counts
        .first()
        .map(|&(value, _)| at(value, 0.0))
        .into_iter()
        .collect();
    points.extend(counts.iter().map(|&(value, count)| {
        so_far += count;
        at(value, so_far as f64 / all as f64)
    }));
    points
}
