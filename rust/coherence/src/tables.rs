// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The tables of `make figures-twa`.

use crate::{locks::lock, machine::Topology, plan::Plan, sweep::draws, workload::Workload};

/// The machines of each table: one with the default costs, the others with costs out of their ranges.
pub const MACHINES: usize = 24;

/// The seed of the machines and of the runs.
pub const SEED: u64 = 1;

/// How long nothing is counted, in nanoseconds: longer than one CPU needs to fetch the whole array.
const WARM_UP: f64 = 100_000.0;

/// A machine with four sockets for an outlook beyond the paper: 256 CPUs. Each two sockets are equally far.
pub const OUTLOOK: Topology = Topology {
    sockets: 4,
    cores: 32,
    threads: 2,
};

/// A table.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// The file's name.
    pub file: &'static str,
    /// What the threads do, by its name.
    pub workload: &'static str,
    /// The machines' shape.
    pub topology: Topology,
    /// The locks' names.
    pub locks: &'static [&'static str],
    /// Numbers of threads.
    pub threads: &'static [u32],
    /// Slots of the waiting array.
    pub slots: &'static [u32],
    /// How long a run is, in nanoseconds.
    pub time: f64,
}

/// The locks of user space.
const LOCKS: &[&str] = &[
    "ticket",
    "twa",
    "one_word_twa",
    "mcs",
    "clh",
    "ttas",
    "ticket_apart",
    "twa_apart",
];

/// Fewer than MutexBench's, so that all tables take some minutes.
const THREADS: &[u32] = &[1, 2, 4, 8, 18, 36, 72];

/// The paper's array.
const ARRAY: &[u32] = &[4096];

/// All of them.
pub const TABLES: &[Table] = &[
    Table {
        file: "coherence-diameter.csv",
        workload: "diameter",
        topology: Topology::PAPER,
        locks: &["none"],
        threads: &[1, 2, 3, 4, 8, 12, 18, 24, 36, 48, 72],
        slots: ARRAY,
        time: 500_000.0,
    },
    Table {
        file: "coherence.csv",
        workload: "mutexbench",
        topology: Topology::PAPER,
        locks: &[
            "ticket",
            "twa",
            "one_word_twa",
            "mcs",
            "clh",
            "ttas",
            "ticket_apart",
            "twa_apart",
            "qspin",
        ],
        threads: &[1, 2, 4, 6, 8, 12, 18, 24, 36, 48, 72],
        slots: ARRAY,
        time: 500_000.0,
    },
    Table {
        file: "coherence-throw.csv",
        workload: "throw",
        topology: Topology::PAPER,
        locks: LOCKS,
        threads: THREADS,
        slots: ARRAY,
        time: 500_000.0,
    },
    Table {
        file: "coherence-stress-latency.csv",
        workload: "stress_latency",
        topology: Topology::PAPER,
        locks: LOCKS,
        threads: THREADS,
        slots: ARRAY,
        // A round of one thread takes 5.2 us.
        time: 1_000_000.0,
    },
    Table {
        file: "coherence-leveldb.csv",
        workload: "leveldb",
        topology: Topology::PAPER,
        locks: LOCKS,
        threads: THREADS,
        slots: ARRAY,
        time: 1_000_000.0,
    },
    Table {
        file: "coherence-rocksdb.csv",
        workload: "rocksdb",
        topology: Topology::PAPER,
        locks: LOCKS,
        threads: THREADS,
        slots: ARRAY,
        time: 1_000_000.0,
    },
    Table {
        file: "coherence-locktorture.csv",
        workload: "locktorture",
        topology: Topology::PAPER,
        locks: &[
            "ticket",
            "twa",
            "one_word_twa",
            "mcs",
            "qspin",
            "ticket_apart",
            "twa_apart",
        ],
        threads: THREADS,
        slots: ARRAY,
        time: 500_000.0,
    },
    Table {
        file: "coherence-thresholds.csv",
        workload: "mutexbench",
        topology: Topology::PAPER,
        locks: &[
            "twa_threshold_0",
            "twa",
            "twa_threshold_2",
            "twa_threshold_4",
            "twa_threshold_8",
        ],
        threads: &[18, 72],
        slots: ARRAY,
        time: 500_000.0,
    },
    Table {
        file: "coherence-slots.csv",
        workload: "mutexbench",
        topology: Topology::PAPER,
        locks: &["twa"],
        threads: &[18, 72],
        slots: &[1, 4, 16, 64, 256, 1024, 4096],
        time: 500_000.0,
    },
    Table {
        file: "coherence-outlook.csv",
        workload: "mutexbench",
        topology: OUTLOOK,
        locks: &[
            "ticket",
            "twa",
            "one_word_twa",
            "mcs",
            "ticket_apart",
            "twa_apart",
        ],
        threads: &[8, 64, 128, 256],
        slots: ARRAY,
        time: 300_000.0,
    },
];

impl Table {
    /// What is run for it.
    pub fn plan(&self) -> Plan {
        let named = |name: &&str| lock(name).unwrap_or_else(|| panic!("no lock is called {name}"));
        Plan {
            workload: Workload::named(self.workload)
                .unwrap_or_else(|| panic!("no workload is called {}", self.workload)),
            topology: self.topology,
            locks: self.locks.iter().map(named).collect(),
            threads: self.threads.to_vec(),
            slots: self.slots.to_vec(),
            machines: draws(MACHINES, SEED),
            warm_up: WARM_UP,
            time: self.time,
            seed: SEED,
        }
    }
}
