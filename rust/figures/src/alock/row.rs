// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What a row of `raw.csv` says.

use serde::{Deserialize, Serialize};

use crate::sheet::Checked;

/// A kind of lock, as it is called in options and tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[cfg_attr(
    feature = "clap",
    derive(clap::ValueEnum),
    value(rename_all = "snake_case")
)]
#[expect(missing_docs, reason = "help would print it as the values' own")]
pub enum Lock {
    Alock,
    RdmaSpin,
    RdmaMcs,
    /// Does not exclude; to see that the end's check finds that
    Busted,
}

impl Lock {
    /// The name in options and tables.
    pub fn name(self) -> &'static str {
        match self {
            Self::Alock => "alock",
            Self::RdmaSpin => "rdma_spin",
            Self::RdmaMcs => "rdma_mcs",
            Self::Busted => "busted",
        }
    }

    /// Whether budgets mean anything to it.
    pub fn has_budgets(self) -> bool {
        self == Self::Alock
    }
}

/// A point and a lock, in the order of the tables.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Key {
    /// The nodes of the cluster.
    pub nodes: u16,
    /// The threads of a node.
    pub threads: u16,
    /// The locks of all nodes.
    pub locks: u32,
    /// The share of operations on the own node's locks, in percent.
    pub locality: u8,
    /// The lock that is measured.
    pub lock: Lock,
    /// The local budget of a lock that has some.
    pub local_budget: Option<u32>,
    /// The remote budget, likewise.
    pub remote_budget: Option<u32>,
}

impl Key {
    /// The lock's budgets, local and remote.
    pub fn budgets(&self) -> Option<(u32, u32)> {
        self.local_budget.zip(self.remote_budget)
    }
}

/// A point in a round: a row of `raw.csv`. The header is a promise.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[expect(
    missing_docs,
    reason = "the columns are explained in alock-bench's manual"
)]
pub struct Row {
    pub round: u64,
    pub lock: Lock,
    pub nodes: u16,
    pub threads: u16,
    pub locks: u32,
    pub locality: u8,
    pub operations: u64,
    pub seconds: f64,
    pub throughput: f64,
    pub p50_ns: u64,
    pub p99_ns: u64,
    pub work_requests: u64,
    /// The queue pairs of all nodes.
    pub queue_pairs: u64,
    pub least_of_a_thread: u64,
    pub most_of_a_thread: u64,
    /// Tables of before there were lists of budgets have none.
    #[serde(default)]
    pub local_budget: Option<u32>,
    #[serde(default)]
    pub remote_budget: Option<u32>,
}

impl Row {
    /// The key of the row in the tables.
    pub fn key(&self) -> Key {
        Key {
            nodes: self.nodes,
            threads: self.threads,
            locks: self.locks,
            locality: self.locality,
            lock: self.lock,
            local_budget: self.local_budget,
            remote_budget: self.remote_budget,
        }
    }
}

impl Checked for Row {
    const COLUMNS: &'static [&'static str] = &[
        "round",
        "lock",
        "nodes",
        "threads",
        "locks",
        "locality",
        "operations",
        "seconds",
        "throughput",
        "p50_ns",
        "p99_ns",
        "work_requests",
        "queue_pairs",
        "least_of_a_thread",
        "most_of_a_thread",
    ];

    fn wrong(&self) -> Option<(&'static str, &'static str)> {
        let rate = self.throughput;
        match () {
            () if self.nodes == 0 => Some(("nodes", "from 1")),
            () if self.threads == 0 => Some(("threads", "from 1")),
            () if self.locality > 100 => Some(("locality", "0 to 100")),
            () if !(rate.is_finite() && rate >= 0.0) => Some(("throughput", "a number from 0")),
            () => None,
        }
    }

    fn identity(&self) -> String {
        format!("{}, {:?}", self.round, self.key())
    }
}

/// A row of `budgets.csv`: medians.
#[derive(Clone, Debug, PartialEq, Deserialize)]
pub(crate) struct Budgets {
    pub(crate) lock: Lock,
    pub(crate) local_budget: u32,
    pub(crate) remote_budget: u32,
    pub(crate) nodes: u16,
    pub(crate) threads: u16,
    pub(crate) locks: u32,
    pub(crate) locality: u8,
    pub(crate) throughput: f64,
    pub(crate) p50_ns: u64,
    pub(crate) p99_ns: u64,
}

impl Budgets {
    pub(crate) fn key(&self) -> Key {
        Key {
            nodes: self.nodes,
            threads: self.threads,
            locks: self.locks,
            locality: self.locality,
            lock: self.lock,
            local_budget: Some(self.local_budget),
            remote_budget: Some(self.remote_budget),
        }
    }
}

impl Checked for Budgets {
    const COLUMNS: &'static [&'static str] = &[
        "lock",
        "local_budget",
        "remote_budget",
        "nodes",
        "threads",
        "locks",
        "locality",
        "throughput",
        "p50_ns",
        "p99_ns",
    ];

    fn wrong(&self) -> Option<(&'static str, &'static str)> {
        let rate = self.throughput;
        (!(rate.is_finite() && rate > 0.0)).then_some(("throughput", "a number above 0"))
    }

    fn identity(&self) -> String {
        format!("{:?}", self.key())
    }
}
