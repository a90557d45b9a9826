// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The simulator against what is known without it.

use coherence::{lock, Costs, Fault, Outcome, Part, Settings, Source, Workload, LOCKS};

const SECTION: f64 = 12.0;
const PLAIN: Workload = Workload::Plain {
    section: SECTION,
    between: 540.0,
};
/// The lock is always wanted.
const SATURATED: Workload = Workload::Plain {
    section: SECTION,
    between: 0.0,
};

fn settings(threads: u32, seed: u64) -> Settings {
    Settings::new(PLAIN, threads, seed)
}

fn outcome(name: &str, settings: &Settings) -> Outcome {
    (lock(name).expect("a lock of the list").run)(settings)
        .unwrap_or_else(|fault| panic!("{name}: {fault}"))
}

/// Numbers of threads around those at which the machine changes: a socket's turn, a core's second thread.
const THREADS: [u32; 8] = [1, 2, 3, 4, 8, 36, 37, 72];

#[test]
fn every_lock_excludes_on_every_number_of_cpus() {
    for lock in LOCKS.iter().filter(|lock| lock.excludes) {
        for threads in THREADS {
            for seed in 0..3 {
                let outcome = outcome(lock.name, &settings(threads, seed));
                assert!(
                    outcome.sum() > 100,
                    "{} with {threads} threads: {} acquisitions",
                    lock.name,
                    outcome.sum()
                );
            }
        }
    }
}

#[test]
fn what_excludes_nobody_is_found() {
    let busted = LOCKS
        .iter()
        .find(|lock| !lock.excludes)
        .expect("the control");
    for seed in 0..20 {
        let fault = (busted.run)(&settings(4, seed)).expect_err("two owners at a time");
        assert!(matches!(fault, Fault::TwoOwners { .. }), "{fault}");
    }
}

/// The order of tickets is checked at each acquisition. Of threads that come to the lock at once the next is drawn. So in
/// a saturated run all have nearly as many turns.
#[test]
fn a_fifo_lock_gives_each_thread_as_many_turns() {
    for lock in LOCKS
        .iter()
        .filter(|lock| lock.is_fifo && lock.excludes && lock.name != "qspin")
    {
        for threads in [4, 36, 72] {
            let saturated = Settings {
                workload: SATURATED,
                ..settings(threads, 5)
            };
            let jain = outcome(lock.name, &saturated).jain();
            assert!(jain > 0.97, "{} with {threads} threads: {jain}", lock.name);
        }
    }
    let saturated = Settings {
        workload: SATURATED,
        ..settings(72, 5)
    };
    let jain = outcome("ttas", &saturated).jain();
    assert!(jain < 0.9, "the control, which is not FIFO: {jain}");
}

#[test]
fn one_seed_is_one_run() {
    for lock in LOCKS.iter().filter(|lock| lock.excludes) {
        let [one, same, other] = [7, 7, 8].map(|seed| outcome(lock.name, &settings(40, seed)));
        assert_eq!(format!("{one:?}"), format!("{same:?}"), "{}", lock.name);
        assert_ne!(format!("{one:?}"), format!("{other:?}"), "{}", lock.name);
    }
}

/// An uncontended pair, from its accesses alone. The next locked access waits until a store has left the buffer. That is as
/// long as the store took, for no other CPU reads its word.
#[test]
fn an_uncontended_pair_costs_the_sum_of_its_accesses() {
    let costs = Costs::default();
    let cases: [(&str, f64); 6] = [
        ("ticket", costs.locked + costs.hit + costs.hit),
        ("twa", costs.locked + costs.hit + costs.hit + costs.locked),
        ("one_word_twa", costs.locked + costs.locked),
        // Both words of its node, the swap; a look at `next`, the cmpxchg.
        (
            "mcs",
            2.0 * costs.hit + costs.locked + costs.hit + costs.locked,
        ),
        // The flag of its node, the swap; the cmpxchg.
        ("clh", costs.hit + costs.locked + costs.locked),
        // A look, the cmpxchg; the store.
        ("ttas", costs.hit + costs.locked + costs.hit),
    ];
    for (name, pair) in cases {
        let alone = Settings {
            workload: SATURATED,
            // TWA comes to all 4096 slots, whose 256 lines are in no cache at first.
            time: 2_000_000.0,
            ..settings(1, 3)
        };
        let outcome = outcome(name, &alone);
        let cold = if name == "twa" {
            256.0 * costs.memory
        } else {
            0.0
        };
        let each = (alone.time - cold) / outcome.sum() as f64;
        let due = pair + SECTION;
        assert!(
            (each / due - 1.0).abs() < 0.01,
            "{name}: {each:.2} ns a pair, {due:.2} due"
        );
    }
}

/// Where the lock is always wanted, a run is nothing but sections and hand-overs.
#[test]
fn hand_overs_and_sections_fill_the_time() {
    for name in [
        "ticket",
        "twa",
        "one_word_twa",
        "mcs",
        "clh",
        "ticket_apart",
        "twa_apart",
    ] {
        for threads in [4, 20, 37, 72] {
            let saturated = Settings {
                workload: SATURATED,
                ..settings(threads, 11)
            };
            let outcome = outcome(name, &saturated);
            let filled = outcome.sum() as f64 * (SECTION + outcome.handovers.mean() / 1000.0);
            let share = filled / saturated.time;
            assert!(
                (0.97..1.03).contains(&share),
                "{name} with {threads} threads fill {share:.3} of the time"
            );
        }
    }
}

/// Two CPUs of a socket hand over by one transfer each way, as the costs say.
#[test]
fn a_free_machine_is_faster_and_a_dear_one_slower() {
    for name in ["ticket", "twa", "mcs"] {
        let run = |factor: f64| {
            let costs = Costs {
                same_socket: 44.0 * factor,
                other_socket: 118.0 * factor,
                ..Costs::default()
            };
            outcome(
                name,
                &Settings {
                    costs,
                    ..settings(36, 2)
                },
            )
            .millions_a_second()
        };
        let (near, usual, far) = (run(0.5), run(1.0), run(2.0));
        assert!(
            near > usual * 1.1 && usual > far * 1.1,
            "{name}: {near:.2}, {usual:.2}, {far:.2}"
        );
    }
}

/// All waiters of a ticket lock have a copy of the line that the release writes; TWA's release reaches few.
#[test]
fn a_release_of_the_ticket_lock_reaches_all_waiters() {
    for threads in [8, 16, 32] {
        let saturated = Settings {
            workload: SATURATED,
            ..settings(threads, 4)
        };
        let [ticket, twa] = ["ticket_apart", "twa_apart"]
            .map(|name| outcome(name, &saturated))
            .map(|outcome| {
                outcome.counts[Part::Lock as usize].invalidations as f64 / outcome.sum() as f64
            });
        assert!(
            ticket > 0.7 * f64::from(threads),
            "{threads} threads: {ticket:.1}"
        );
        assert!(twa < 6.0, "{threads} threads: {twa:.1}");
    }
}

#[test]
fn more_threads_than_cpus_are_refused() {
    let fault = (LOCKS[0].run)(&settings(73, 1)).expect_err("73 threads on 72 CPUs");
    assert_eq!(fault.to_string(), "73 threads: 2x18x2 has 72 CPUs");
    assert!((LOCKS[0].run)(&settings(0, 1)).is_err());
}

#[test]
fn ranges_hold_half_and_twice_of_the_default() {
    for cost in Costs::ALL {
        let (least, most) = cost.swept;
        assert!(
            least <= cost.default / 2.0 && most >= cost.default * 2.0,
            "{}",
            cost.name
        );
        if let Source::Read(source) = cost.source {
            assert!(source.len() > 20, "{}: {source}", cost.name);
        }
    }
}
