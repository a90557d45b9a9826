// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What the rounds of each point come to.

use std::collections::BTreeMap;

use super::row::{Key, Row};
use crate::spread::Spread;

/// The medians of a point's rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Medians {
    /// Acquisitions a second, of all nodes.
    pub throughput: Spread,
    /// The median of the rounds' medians.
    pub p50_ns: u64,
    /// The median of the rounds' 99th percentiles.
    pub p99_ns: u64,
    /// The queue pairs of a node.
    pub queue_pairs: Spread,
    /// How many there were; 0 where the table does not say.
    pub rounds: usize,
}

impl Medians {
    fn of(rows: &[&Row]) -> Option<Self> {
        let of = |get: fn(&Row) -> f64| Spread::of(rows.iter().map(|row| get(row)));
        Some(Self {
            throughput: of(|row| row.throughput)?,
            p50_ns: of(|row| row.p50_ns as f64)?.median.round() as u64,
            p99_ns: of(|row| row.p99_ns as f64)?.median.round() as u64,
            queue_pairs: of(|row| row.queue_pairs as f64 / f64::from(row.nodes))?,
            rounds: rows.len(),
        })
    }
}

/// All points' medians.
///
/// # Examples
///
/// ```
/// use figures::alock::{of, Data, Row, Table};
/// use figures::sheet::parse;
///
/// let rows: Vec<Row> = parse(
///     "round,lock,nodes,threads,locks,locality,operations,seconds,throughput,p50_ns,p99_ns,\
///      work_requests,queue_pairs,least_of_a_thread,most_of_a_thread\n\
///      0,alock,2,1,20,85,500,0.5,1000,700,9000,900,4,240,260\n\
///      1,alock,2,1,20,85,700,0.5,1400,500,8000,900,4,340,360\n",
/// )?;
/// let table = Table::of(&rows);
/// let medians = table.all[&rows[0].key()];
/// assert_eq!((medians.throughput.median, medians.rounds), (1200.0, 2));
/// let figures = of(&Data::default(), &table);
/// assert!(figures.iter().any(|it| it.file == "throughput.svg"));
/// # Ok::<(), String>(())
/// ```
#[derive(Clone, Debug)]
pub struct Table {
    /// The medians of each point.
    pub all: BTreeMap<Key, Medians>,
    /// The pair of budgets that the others are compared with, and that stands beside the
    /// baselines: the first that ran.
    pub first_budgets: Option<(u32, u32)>,
}

impl Table {
    /// Computes the medians of these runs, in the order in which they were.
    pub fn of<'r>(runs: impl IntoIterator<Item = &'r Row>) -> Self {
        let mut rows: BTreeMap<Key, Vec<&Row>> = BTreeMap::new();
        let mut first_budgets = None;
        for row in runs {
            let key = row.key();
            first_budgets = first_budgets.or(key.budgets());
            rows.entry(key).or_default().push(row);
        }
        let medians = rows
            .iter()
            .filter_map(|(key, rows)| Some((*key, Medians::of(rows)?)));
        Self {
            all: medians.collect(),
            first_budgets,
        }
    }

    /// The points of every lock once.
    pub fn first(&self) -> impl Iterator<Item = (&Key, &Medians)> {
        self.all.iter().filter(|(key, _)| self.is_first(key))
    }

    /// Whether it stands beside the others: it has the first budgets, or none.
    pub fn is_first(&self, key: &Key) -> bool {
        !key.lock.has_budgets() || key.budgets() == self.first_budgets
    }

    /// Whether ALock ran with more than one pair of budgets.
    pub fn has_pairs(&self) -> bool {
        self.all.keys().any(|key| !self.is_first(key))
    }

    /// The same point with the first budgets.
    pub fn base(&self, key: &Key) -> Option<&Medians> {
        let (local_budget, remote_budget) = self.first_budgets.unzip();
        let key = Key {
            local_budget,
            remote_budget,
            ..*key
        };
        self.all.get(&key)
    }

    /// A property's values, each once, in their order.
    pub fn values<T: Ord>(&self, get: impl Fn(&Key) -> T) -> Vec<T> {
        let mut values: Vec<T> = self.all.keys().map(get).collect();
        values.sort();
        values.dedup();
        values
    }
}
