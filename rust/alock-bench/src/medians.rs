//! What the rounds of each point come to.

use std::collections::BTreeMap;

use crate::record::{Key, Record, Row};

/// A median, and the least and the most beside it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Spread {
    pub(crate) least: f64,
    pub(crate) median: f64,
    pub(crate) most: f64,
}

impl Spread {
    /// None of nothing.
    pub(crate) fn of(values: impl Iterator<Item = f64>) -> Option<Self> {
        let mut values: Vec<f64> = values.collect();
        values.sort_by(f64::total_cmp);
        let (least, most) = (*values.first()?, *values.last()?);
        let half = values.len() / 2;
        let median = if values.len() % 2 == 1 {
            values[half]
        } else {
            (values[half - 1] + values[half]) / 2.0
        };
        Some(Self {
            least,
            median,
            most,
        })
    }

    pub(crate) fn over(self, base: f64) -> Self {
        Self {
            least: self.least / base,
            median: self.median / base,
            most: self.most / base,
        }
    }
}

/// Of a point's rounds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Medians {
    pub(crate) throughput: Spread,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
    /// Of a node.
    pub(crate) queue_pairs: Spread,
    pub(crate) rounds: usize,
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
pub(crate) struct Table {
    pub(crate) all: BTreeMap<Key, Medians>,
    /// The pair of budgets that the others are compared with, and that stands beside the
    /// rivals: the first that ran.
    pub(crate) first_budgets: Option<(u32, u32)>,
}

impl Table {
    pub(crate) fn of(record: &Record) -> Self {
        let mut rows: BTreeMap<Key, Vec<&Row>> = BTreeMap::new();
        for run in &record.runs {
            rows.entry(run.row.key()).or_default().push(&run.row);
        }
        let medians = rows
            .iter()
            .filter_map(|(key, rows)| Some((*key, Medians::of(rows)?)));
        Self {
            all: medians.collect(),
            first_budgets: record.runs.iter().find_map(|run| run.row.key().budgets()),
        }
    }

    /// Of every lock once.
    pub(crate) fn first(&self) -> impl Iterator<Item = (&Key, &Medians)> {
        self.all.iter().filter(|(key, _)| self.is_first(key))
    }

    pub(crate) fn is_first(&self, key: &Key) -> bool {
        !key.lock.has_budgets() || key.budgets() == self.first_budgets
    }

    /// Whether ALock ran with more than one pair of budgets.
    pub(crate) fn has_pairs(&self) -> bool {
        self.all.keys().any(|key| !self.is_first(key))
    }

    /// The same point with the first budgets.
    pub(crate) fn base(&self, key: &Key) -> Option<&Medians> {
        let (local_budget, remote_budget) = self.first_budgets.unzip();
        let key = Key {
            local_budget,
            remote_budget,
            ..*key
        };
        self.all.get(&key)
    }

    /// A property's values, each once, in their order.
    pub(crate) fn values<T: Ord>(&self, get: impl Fn(&Key) -> T) -> Vec<T> {
        let mut values: Vec<T> = self.all.keys().map(get).collect();
        values.sort();
        values.dedup();
        values
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_median_is_the_middle_one_or_between_two() {
        let of = |values: &[f64]| Spread::of(values.iter().copied());
        assert_eq!(of(&[]), None);
        let is = |least, median, most| {
            Some(Spread {
                least,
                median,
                most,
            })
        };
        assert_eq!(of(&[3.0]), is(3.0, 3.0, 3.0));
        assert_eq!(of(&[9.0, 1.0, 2.0]), is(1.0, 2.0, 9.0));
        assert_eq!(of(&[9.0, 1.0, 2.0, 4.0]), is(1.0, 3.0, 9.0));
        assert_eq!(
            of(&[9.0, 1.0, 2.0]).unwrap().over(2.0),
            is(0.5, 1.0, 4.5).unwrap()
        );
    }
}
