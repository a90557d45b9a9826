// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The lock in simulated clusters: many seeds, each with other interleavings.

mod bad;
mod cluster;
mod litmus;
mod observed;
mod overwritten;
mod steps;
mod waits;

use alock_sim::{Costs, End, WriteKind};
use cluster::{Kind, Work};

fn seeds() -> u64 {
    let number = std::env::var("ALOCK_SEEDS").ok();
    number.and_then(|number| number.parse().ok()).unwrap_or(300)
}

/// Runs it with many seeds; every one must be clean. In every other one threads lose their
/// CPUs now and then.
fn always(work: &Work) {
    for seed in 0..seeds() {
        let mut work = *work;
        work.costs.stall_percent = seed % 2 * 5;
        if let Err(why) = work.run(seed) {
            panic!("seed {seed} of {work:?}: {why}");
        }
    }
}

/// Some seed must show it.
fn shows(work: &Work) -> String {
    (0..seeds())
        .find_map(|seed| work.run(seed).err())
        .expect("no seed showed a failure")
}

#[test]
fn two_nodes_one_lock() {
    always(&Work::default());
}

#[test]
fn one_local_and_one_remote_thread() {
    always(&Work {
        threads: 1,
        ..Work::default()
    });
}

#[test]
fn all_remote() {
    always(&Work {
        locality: 0,
        ..Work::default()
    });
}

#[test]
fn all_local() {
    let work = Work {
        locality: 100,
        threads: 3,
        ..Work::default()
    };
    always(&work);
}

#[test]
fn budgets_of_one() {
    always(&Work {
        budgets: (1, 1),
        threads: 3,
        ..Work::default()
    });
}

#[test]
fn four_nodes_and_twelve_threads() {
    always(&Work {
        nodes: 4,
        threads: 3,
        locality: 50,
        ..Work::default()
    });
}

#[test]
fn long_sections_let_queues_grow() {
    always(&Work {
        hold: 20_000,
        think: 0,
        nodes: 3,
        ..Work::default()
    });
}

/// A thread that cannot have the lock at once leaves. Its successor gets the lock nevertheless.
#[test]
fn who_tries_and_gives_up() {
    always(&Work {
        kind: Kind::Impatient,
        threads: 3,
        ..Work::default()
    });
}

#[test]
fn several_locks_at_once() {
    always(&Work {
        locks: 4,
        pairs: true,
        threads: 3,
        ..Work::default()
    });
}

/// The paper's Table 1 at work: CPUs and cards modify one word.
#[test]
fn a_mixed_compare_and_swap_loses() {
    let why = shows(&Work {
        kind: Kind::Mixed,
        ..Work::default()
    });
    assert!(why.contains("lost"), "{why}");
}

#[test]
fn baselines_exclude_through_loopback() {
    always(&Work {
        kind: Kind::RdmaSpin,
        ..Work::default()
    });
    always(&Work {
        kind: Kind::RdmaMcs,
        ..Work::default()
    });
}

/// What a plain WRITE may be breaks the lock; that is why the device must promise more.
#[test]
fn torn_and_doubled_writes_break_it() {
    for writes in [WriteKind::Torn, WriteKind::Doubled] {
        let costs = Costs {
            writes,
            ..Costs::default()
        };
        shows(&Work {
            costs,
            threads: 3,
            nodes: 3,
            budgets: (1, 1),
            ..Work::default()
        });
    }
}

/// So do writes that come in another order than they were made in.
#[test]
fn relaxed_ordering_breaks_it() {
    let costs = Costs {
        relaxed: true,
        ..Costs::default()
    };
    let why = shows(&Work {
        costs,
        ..Work::default()
    });
    assert!(why.contains("lost"), "{why}");
}

/// The same seed is the same run.
#[test]
fn a_seed_is_a_run() {
    let work = Work {
        threads: 3,
        ..Work::default()
    };
    assert_eq!(work.run(7).unwrap(), work.run(7).unwrap());
    assert_ne!(work.run(7).unwrap(), work.run(8).unwrap());
}

/// A lock and unlock cost at most four verbs remotely, none locally.
#[test]
fn an_uncontended_lock_costs_four_verbs_or_none() {
    let alone = Work {
        nodes: 2,
        threads: 1,
        only_node: Some(1),
        ops: 10,
        ..Work::default()
    };
    let remote = Work {
        locality: 0,
        ..alone
    };
    assert_eq!(remote.run(1).unwrap().lock_requests, 4 * 10);
    let local = Work {
        locality: 100,
        ..alone
    };
    assert_eq!(local.run(1).unwrap().lock_requests, 0);
}

/// A node dies: each waiter is told, and no thread gets a lock that the node may have held.
#[test]
fn a_dead_node_is_an_error_for_who_waits() {
    for seed in 0..seeds() {
        let work = Work {
            kill: Some(300_000),
            ops: 2000,
            nodes: 3,
            ..Work::default()
        };
        let (end, lost) = work
            .run_killed(seed)
            .unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        assert_eq!(end, End::Finished, "seed {seed}: somebody waits for ever");
        assert!(lost > 0, "seed {seed}: nobody was told");
    }
}

/// The bench's costs: CPUs that spin are woken by what they wait for, and by nothing else.
/// A change that wakes no CPU leaves threads stuck.
#[test]
fn who_spins_sees_every_change() {
    for kind in [Kind::ALock, Kind::Impatient, Kind::RdmaSpin, Kind::RdmaMcs] {
        for (locality, hold) in [(50, 0), (90, 5000)] {
            always(&Work {
                kind,
                locality,
                hold,
                threads: 3,
                costs: Costs::connectx3(),
                ..Work::default()
            });
        }
    }
}

/// They hear of a dead node, too.
#[test]
fn who_spins_hears_of_a_dead_node() {
    for seed in 0..seeds() {
        let work = Work {
            kill: Some(100_000),
            ops: 2000,
            nodes: 3,
            threads: 3,
            costs: Costs::connectx3(),
            ..Work::default()
        };
        let (end, lost) = work
            .run_killed(seed)
            .unwrap_or_else(|why| panic!("seed {seed}: {why}"));
        assert_eq!(end, End::Finished, "seed {seed}: somebody waits for ever");
        assert!(lost > 0, "seed {seed}: nobody was told");
    }
}
