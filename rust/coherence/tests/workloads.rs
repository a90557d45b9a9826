// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The benchmarks, TWA's parameters and the counts of a hand-over, against what is known without them.

use coherence::{
    draws, lock, ping_pong, plan, row,
    tables::{MACHINES, OUTLOOK, SEED, TABLES},
    Costs, Distance, Outcome, Part, Profile, Settings, Topology, Workload, COLUMNS, LOCKS,
};

const SATURATED: Workload = Workload::Plain {
    section: 12.0,
    between: 0.0,
};

fn outcome(name: &str, settings: &Settings) -> Outcome {
    (lock(name).expect("a lock of the list").run)(settings)
        .unwrap_or_else(|fault| panic!("{name}: {fault}"))
}

/// A program whose mutex was held for 84 ns in the mean, and left alone for 576.
fn program() -> Workload {
    let text = "address,symbol,calls,contended,hold_ns,gap_ns,hold,gap\n\
                0x10,one,8,0,640,4000,5:4 6:3 7:1,8:6 9:1 10:1\n";
    let profile = Profile::read("program", text, None).expect("a profile");
    Workload::Program(Box::leak(Box::new(profile)))
}

/// One thread takes the steps that the paper names, each at its cost, and the uncontended pairs between.
#[test]
fn a_round_alone_takes_what_the_paper_says() {
    let costs = Costs {
        mersenne_step: 7.0,
        torture_step: 11.0,
        delay_loop: 0.5,
        throw_section: 90.0,
        throw_gap: 31.0,
        profile_hold: 1.5,
        profile_gap: 0.75,
        ..Costs::default()
    };
    // The ticket lock: a locked addition and a look; a look and a store.
    let pair = costs.locked + 2.0 * costs.hit;
    let cases = [
        // 4 steps; the step that draws, and 0 to 199.
        (Workload::MutexBench, 4.0 * 7.0 + pair + (1.0 + 99.5) * 7.0),
        (Workload::Throw, 5.0 * (90.0 + pair + 31.0)),
        (Workload::StressLatency, 200.0 * 0.5 + pair + 5000.0 * 0.5),
        (
            Workload::LockTorture,
            20.0 * 11.0 + pair + (1.0 + 199.5) * 11.0,
        ),
        // Holds of 84 ns in the mean, gaps of 576 ns.
        (program(), 84.0 * 1.5 + pair + 576.0 * 0.75),
    ];
    for (workload, due) in cases {
        let settings = Settings {
            costs: costs.clone(),
            time: 20_000_000.0,
            ..Settings::new(workload, 1, 5)
        };
        let each = settings.time / outcome("ticket", &settings).rounds as f64;
        assert!(
            (each / due - 1.0).abs() < 0.01,
            "{workload:?}: {each:.1} ns a round, {due:.1} due"
        );
    }
}

#[test]
fn a_throw_counts_once_for_its_five_locks() {
    for threads in [1, 7, 40] {
        let of = |workload| outcome("mcs", &Settings::new(workload, threads, 2));
        let throws = of(Workload::Throw);
        let begun = throws.sum() - 5 * throws.rounds;
        assert!(
            throws.rounds > 10 && begun <= 4 * u64::from(threads),
            "{throws:?}"
        );
        for workload in [
            Workload::MutexBench,
            Workload::StressLatency,
            Workload::LockTorture,
        ] {
            let outcome = of(workload);
            assert_eq!(outcome.rounds, outcome.sum(), "{workload:?}");
        }
    }
}

fn diameter(threads: u32) -> Outcome {
    outcome(
        "none",
        &Settings {
            warm_up: f64::from(threads % 2) * 20_000.0,
            time: 300_000.0,
            ..Settings::new(Workload::InvalidationDiameter, threads, 4)
        },
    )
}

/// The machine counts each write; a core loses one copy to a write at most, and fetches it again.
#[test]
fn the_diameter_counts_what_the_machine_writes() {
    for threads in [1, 2, 5, 18, 36, 72] {
        let outcome = diameter(threads);
        let word = &outcome.counts[Part::Lock as usize];
        assert!(
            word.writes.abs_diff(outcome.rounds) <= 1,
            "{threads}: {} writes, {} counted",
            word.writes,
            outcome.rounds
        );
        let readers = u64::from(threads.min(36) - 1);
        assert!(
            word.invalidations <= readers * word.writes,
            "{threads} threads"
        );
        // Each copy that is lost was fetched before, some of them before the counts begin.
        let fetched: u64 = [Distance::Socket, Distance::Far, Distance::Memory]
            .map(|from| word.transfers[from as usize])
            .iter()
            .sum();
        assert!(
            fetched.abs_diff(word.invalidations) <= 2 * readers + 1,
            "{threads} threads: {fetched} fetched, {} lost",
            word.invalidations
        );
    }
}

/// A write that finds copies invalidates them, and the next read fetches the line. That slows the writer.
#[test]
fn readers_slow_the_writer() {
    let [alone, two, many] = [1, 2, 72].map(|threads| diameter(threads).millions_a_second());
    assert!(
        (alone - 125.0).abs() < 0.5,
        "an addition takes 8 ns: {alone}"
    );
    assert!(
        two < alone / 5.0 && many < 0.8 * two,
        "{alone}, {two}, {many}"
    );
    let far = Costs {
        snoop: 50.0,
        snoop_far: 130.0,
        ..Costs::default()
    };
    let settings = Settings {
        costs: far,
        ..Settings::new(Workload::InvalidationDiameter, 72, 4)
    };
    assert!(outcome("none", &settings).millions_a_second() < many);
}

#[test]
fn a_benchmark_without_its_lock_is_refused() {
    let run =
        |name, workload| (lock(name).expect("of the list").run)(&Settings::new(workload, 2, 1));
    for (name, workload) in [
        ("ticket", Workload::InvalidationDiameter),
        ("none", Workload::MutexBench),
    ] {
        let fault = run(name, workload).expect_err("no such benchmark");
        assert_eq!(
            fault.to_string(),
            format!(
                "{}: the invalidation diameter runs without a lock, and nothing else does",
                workload.name()
            )
        );
    }
}

/// Sixteen slots lie on one line: a notification wakes all that wait on it. Each further line wakes fewer.
#[test]
fn an_array_of_one_line_wakes_all() {
    let looks = |slots| {
        let settings = Settings {
            slots,
            ..Settings::new(SATURATED, 64, 3)
        };
        let outcome = outcome("twa", &settings);
        outcome.of_each(outcome.all(|counts| counts.looks_again))
    };
    let [one, line, two, four, sixteen, whole] = [1, 16, 32, 64, 256, 4096].map(looks);
    let all = format!("{one:.1}, {line:.1}, {two:.1}, {four:.1}, {sixteen:.1}, {whole:.1}");
    assert!(one > 15.0 && line > 15.0, "{all}");
    assert!(two < line / 1.4 && four < two / 1.4, "{all}");
    assert!(sixteen < four / 1.4 && whole < sixteen / 1.4, "{all}");
}

/// After a warm-up no run meets a line of the array for the first time. Its counts are those of its own time.
#[test]
fn a_warm_array_comes_from_no_memory() {
    for (threads, slots) in [(1, 4096), (7, 4096), (72, 4096), (3, 4)] {
        let cold = Settings {
            slots,
            ..Settings::new(Workload::MutexBench, threads, 6)
        };
        let warm = Settings {
            warm_up: 50_000.0,
            ..cold.clone()
        };
        let memory = |settings| {
            let outcome = outcome("twa", settings);
            let fetched = outcome.counts[Part::Slots as usize].transfers;
            (fetched[Distance::Memory as usize], outcome)
        };
        let ((first, cold), (again, warm)) = (memory(&cold), memory(&warm));
        assert!(
            first > 0 && again == 0,
            "{threads} threads: {first}, {again}"
        );
        let ratio = warm.sum() as f64 / cold.sum() as f64;
        assert!((0.95..1.3).contains(&ratio), "{threads} threads: {ratio}");
        let notified = warm.counts[Part::Slots as usize].writes;
        assert!(
            notified.abs_diff(warm.sum()) <= u64::from(threads),
            "{notified} notifications, {} releases",
            warm.sum()
        );
    }
}

#[test]
fn an_array_has_a_power_of_two_of_slots() {
    for slots in [0, 3, 8192] {
        let settings = Settings {
            slots,
            ..Settings::new(SATURATED, 2, 3)
        };
        let fault = (LOCKS[0].run)(&settings).expect_err("no such array");
        assert_eq!(
            fault.to_string(),
            format!("{slots} slots: a power of two is due, 4096 at most")
        );
    }
}

/// As many waiters as the threshold says wait on `grant`, and lose their copies to a release.
#[test]
fn a_release_reaches_as_many_as_the_threshold_says() {
    let disturbed: Vec<f64> = [
        "twa_threshold_0",
        "twa",
        "twa_threshold_2",
        "twa_threshold_4",
        "twa_threshold_8",
    ]
    .iter()
    .map(|name| {
        let outcome = outcome(name, &Settings::new(SATURATED, 36, 3));
        outcome.of_each(outcome.counts[Part::Lock as usize].released)
    })
    .collect();
    assert!(
        disturbed.windows(2).all(|two| two[0] < two[1]),
        "{disturbed:.2?}"
    );
    let ticket = outcome("ticket", &Settings::new(SATURATED, 36, 3));
    let all = ticket.of_each(ticket.counts[Part::Lock as usize].released);
    assert!(
        disturbed[4] < all,
        "{disturbed:.2?}, and {all:.2} of ticket"
    );
    for (name, threshold) in [
        ("twa", Some(1)),
        ("twa_threshold_8", Some(8)),
        ("mcs", None),
    ] {
        assert_eq!(lock(name).expect("of the list").threshold, threshold);
    }
}

/// One of two threads waits, on the other socket. A hand-over of the ticket lock is a store that takes the waiter's copy,
/// and one look of the waiter.
#[test]
fn a_hand_over_between_two_is_one_copy_and_one_look() {
    let plain = Workload::Plain {
        section: 1000.0,
        // Seldom so short that the one that releases comes again during the hand-over.
        between: 4000.0,
    };
    let settings = Settings {
        time: 4_000_000.0,
        ..Settings::new(plain, 2, 1)
    };
    let outcome = outcome("ticket_apart", &settings);
    let of = |count| outcome.of_each_handover(count).expect("hand-overs");
    let traffic = [
        of(outcome.during.invalidations),
        of(outcome.during.looks_again),
        of(outcome.during.far),
    ];
    // The waiter's copy, its look, and its fetch of what the other socket has written. One that comes just then has not
    // looked before.
    let due = [0.95..=1.05, 0.8..=1.01, 0.95..=1.05];
    for (seen, due) in traffic.into_iter().zip(due) {
        assert!(due.contains(&seen), "{traffic:.2?}");
    }
}

#[test]
fn traffic_during_hand_overs_is_a_part_of_all() {
    for name in ["ticket", "twa", "mcs", "qspin"] {
        let outcome = outcome(name, &Settings::new(Workload::MutexBench, 40, 9));
        let all = |of: fn(&coherence::Counts) -> u64| outcome.all(of);
        assert!(outcome.during.invalidations <= all(|it| it.invalidations));
        assert!(outcome.during.looks_again <= all(|it| it.looks_again));
        assert!(outcome.during.far <= all(coherence::Counts::far));
        assert!(outcome.during.looks_again > 0, "{name}");
        assert!(
            all(|it| it.released) <= all(|it| it.invalidations),
            "{name}"
        );
    }
    let alone = outcome("ticket", &Settings::new(Workload::MutexBench, 1, 9));
    assert_eq!(alone.of_each_handover(1), None);
}

/// A turn takes at least a transfer, and at most the waiter's pause and the store's snoop besides.
#[test]
fn two_cpus_hand_over_a_line_by_one_transfer() {
    let costs = Costs::default();
    for (topology, transfer, snoop) in [
        ("1x1x2", costs.sibling, 0.0),
        ("1x2x1", costs.same_socket, costs.snoop),
        ("2x1x1", costs.other_socket, costs.snoop_far),
    ] {
        let turn = ping_pong(topology.parse().expect("a topology"), &costs, 4000);
        let most = transfer + snoop + costs.each_copy + costs.pause + 2.0 * costs.hit;
        assert!(
            turn > transfer && turn < most,
            "{topology}: {turn:.1}, from {transfer} to {most}"
        );
    }
}

/// A compare-and-exchange fails where others write between: never alone, and of the locks here in those that retry.
#[test]
fn failed_exchanges_are_counted() {
    let failed = |name, threads| {
        let outcome = outcome(name, &Settings::new(SATURATED, threads, 9));
        outcome.all(|counts| counts.failed)
    };
    assert_eq!(failed("qspin", 1), 0);
    assert!(failed("qspin", 40) > 100 && failed("ttas", 40) > 100);
    assert_eq!(failed("ticket", 40), 0);
    // qspinlock's fast path fails once. Who becomes pending may fail, and who leaves the queue empty. The swap of the
    // tail cannot fail, as in the kernel.
    let queued = outcome("qspin", &Settings::new(SATURATED, 40, 9));
    let acquisitions: u64 = queued.acquisitions.iter().sum();
    let failed = queued.all(|counts| counts.failed);
    assert!(failed <= acquisitions * 3 / 2, "{failed} of {acquisitions}");
}

/// The rows come in the order of the runs, and are those of each run alone.
#[test]
fn rows_come_in_their_order() {
    let plan = plan::Plan {
        workload: Workload::MutexBench,
        topology: Topology::PAPER,
        locks: ["mcs", "ticket"]
            .map(|it| lock(it).expect("of the list"))
            .to_vec(),
        threads: vec![1, 72, 2],
        slots: vec![64, 4096],
        machines: draws(3, 1),
        warm_up: 0.0,
        time: 20_000.0,
        seed: 3,
    };
    let runs = plan.runs();
    assert_eq!(runs.len(), 2 * 3 * 2 * 3);
    let mut rows = Vec::new();
    plan::rows::<String>(&runs, |row| {
        rows.push(row.clone());
        Ok(())
    })
    .expect("runs");
    let due: Vec<_> = runs
        .iter()
        .map(|it| {
            row(
                it.lock,
                it.machine,
                &it.settings,
                &(it.lock.run)(&it.settings).expect("a run"),
            )
        })
        .collect();
    assert_eq!(rows, due);
    let points: Vec<String> = rows.iter().map(|it| it[..6].join(",")).collect();
    assert_eq!(points[0], "mutexbench,mcs,1,0,2x18x2,64");
    assert_eq!(points[4], "mutexbench,mcs,1,1,2x18x2,4096");
    assert_eq!(points[35], "mutexbench,ticket,2,2,2x18x2,4096");
    assert_eq!(COLUMNS.len(), rows[0].len());
}

/// A run that fails is named, and nothing after it is taken.
#[test]
fn a_run_that_fails_ends_the_table() {
    let plan = plan::Plan {
        workload: SATURATED,
        topology: Topology::PAPER,
        locks: ["ticket", "busted", "mcs"]
            .map(|it| lock(it).expect("of the list"))
            .to_vec(),
        threads: vec![4],
        slots: vec![4096],
        machines: draws(1, 1),
        warm_up: 0.0,
        time: 20_000.0,
        seed: 3,
    };
    let mut taken = 0;
    let error = plan::rows::<String>(&plan.runs(), |_| {
        taken += 1;
        Ok(())
    })
    .expect_err("two owners");
    assert!(error.starts_with("busted with 4 threads: at "), "{error}");
    assert_eq!(taken, 1);
    let refused = plan::Plan {
        threads: vec![2, 73],
        ..plan
    };
    assert_eq!(
        refused.check(),
        Err("73 threads: 2x18x2 has 72 CPUs".into())
    );
}

/// Each table has the band: the default costs, and each cost over its whole range. That is half to twice at least.
#[test]
fn each_table_has_the_whole_band() {
    for table in TABLES {
        let plan = table.plan();
        assert_eq!(plan.check(), Ok(()), "{}", table.file);
        assert_eq!(plan.machines, draws(MACHINES, SEED), "{}", table.file);
        assert_eq!(plan.runs().len() % MACHINES, 0);
        assert_eq!(plan.machines[0], Costs::default());
    }
    let mut machines = draws(MACHINES, SEED);
    for cost in Costs::ALL {
        let parts: std::collections::BTreeSet<usize> = machines
            .iter_mut()
            .skip(1)
            .map(|machine| {
                let value = *machine.get_mut(cost.name).expect("a cost of the list");
                let times = (value / cost.default).log2();
                assert!(
                    value >= cost.swept.0 && value <= cost.swept.1,
                    "{}: {value}",
                    cost.name
                );
                // Of the octave below the default and the one above, in eighths.
                ((times.clamp(-0.999, 0.999) + 1.0) * 4.0) as usize
            })
            .collect();
        assert_eq!(parts.len(), 8, "{}: {parts:?}", cost.name);
    }
}

/// What the tables must have: the paper's locks and CPUs, the thresholds, the arrays, an outlook.
#[test]
fn the_tables_have_the_papers_points() {
    let of = |file: &str| TABLES.iter().find(|it| it.file == file).expect("a table");
    for workload in Workload::all() {
        let table = TABLES
            .iter()
            .find(|it| it.workload == workload.name())
            .unwrap_or_else(|| panic!("no table of {workload:?}"));
        for threads in [1, 2, 4, 8, 18, 36, 72] {
            assert!(
                table.threads.contains(&threads),
                "{}: {threads}",
                table.file
            );
        }
        assert_eq!(
            (table.topology, table.slots),
            (Topology::PAPER, &[4096][..])
        );
    }
    for lock in [
        "ticket",
        "ticket_apart",
        "twa",
        "twa_apart",
        "one_word_twa",
        "mcs",
        "clh",
        "ttas",
        "qspin",
    ] {
        assert!(of("coherence.csv").locks.contains(&lock), "{lock}");
    }
    assert!(of("coherence-locktorture.csv").locks.contains(&"qspin"));
    assert_eq!(
        of("coherence-slots.csv").slots,
        [1, 4, 16, 64, 256, 1024, 4096]
    );
    let mut thresholds: Vec<u32> = of("coherence-thresholds.csv")
        .locks
        .iter()
        .map(|name| {
            lock(name)
                .expect("of the list")
                .threshold
                .expect("a TWA lock")
        })
        .collect();
    thresholds.sort_unstable();
    assert_eq!(thresholds, [0, 1, 2, 4, 8]);
    assert_eq!((OUTLOOK.cpus(), OUTLOOK.sockets), (256, 4));
    assert!(of("coherence-outlook.csv").threads.contains(&256));
}
