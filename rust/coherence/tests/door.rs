// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! `handover-sim`, as a reader calls it.

use std::{fs, path::PathBuf, process::Command};

use coherence::{lock, row, Costs, Profile, Settings, Topology, Workload, COLUMNS};

/// What it prints, or says when it fails.
fn sim(arguments: &str) -> Result<String, String> {
    let output = Command::new(env!("CARGO_BIN_EXE_handover-sim"))
        .args(arguments.split(' '))
        .output()
        .expect("the program");
    let text = |bytes| String::from_utf8(bytes).expect("text");
    if output.status.success() {
        Ok(text(output.stdout))
    } else {
        // The head alone is there before the first run.
        let head = COLUMNS.join(",") + "\n";
        assert!(["", &head[..]].contains(&&text(output.stdout)[..]));
        Err(text(output.stderr))
    }
}

/// The line of a run.
fn line(name: &str, machine: usize, settings: &Settings) -> String {
    let lock = lock(name).expect("a lock of the list");
    let outcome = (lock.run)(settings).expect("a run");
    row(lock, machine, settings, &outcome).join(",")
}

#[test]
fn it_runs_what_it_is_told() {
    let settings = Settings {
        topology: "1x2x2".parse().expect("a topology"),
        slots: 16,
        warm_up: 2000.0,
        time: 30_000.0,
        ..Settings::new(Workload::Throw, 3, 9)
    };
    let said = sim("--workload throw --lock twa,mcs --threads 3 --topology 1x2x2 --slots 16 --warm-up 2000 --time 30000 --seed 9");
    let due = [
        COLUMNS.join(","),
        line("twa", 0, &settings),
        line("mcs", 0, &settings),
    ];
    assert_eq!(said, Ok(due.join("\n") + "\n"));
}

#[test]
fn it_has_defaults() {
    let run = |workload, lock: &str| {
        let settings = Settings {
            time: 5000.0,
            ..Settings::new(workload, 2, 1)
        };
        line(lock, 0, &settings)
    };
    let of = |arguments: &str| {
        let said = sim(&format!("--threads 2 --time 5000 {arguments}")).expect("a run");
        said.lines().skip(1).map(str::to_owned).collect::<Vec<_>>()
    };
    let bench = Workload::MutexBench;
    assert_eq!(of("--seed 1"), [run(bench, "ticket"), run(bench, "twa")]);
    assert_eq!(
        of("--workload diameter"),
        [run(Workload::InvalidationDiameter, "none")]
    );
    let plain = |section, between| Workload::Plain { section, between };
    assert_eq!(
        of("--section 50 --lock clh"),
        [run(plain(50.0, 540.0), "clh")]
    );
    assert_eq!(
        of("--workload plain --between 7 --lock clh"),
        [run(plain(12.0, 7.0), "clh")]
    );
}

#[test]
fn it_takes_a_file_of_costs() {
    let file = std::env::temp_dir().join(format!("handover-costs-{}.json", std::process::id()));
    fs::write(&file, r#"{"same_socket": 90, "mersenne_step": 5}"#).expect("a file");
    let said = sim(&format!(
        "--lock ticket --threads 4 --time 5000 --costs {}",
        file.display()
    ));
    fs::write(&file, r#"{"same_sockets": 90}"#).expect("a file");
    let refused = sim(&format!("--costs {}", file.display()));
    fs::remove_file(&file).expect("the file");
    let settings = Settings {
        topology: Topology::PAPER,
        costs: Costs {
            same_socket: 90.0,
            mersenne_step: 5.0,
            ..Costs::default()
        },
        time: 5000.0,
        ..Settings::new(Workload::MutexBench, 4, 1)
    };
    let said = said.expect("a run");
    assert_eq!(said.lines().nth(1), Some(&line("ticket", 0, &settings)[..]));
    let refused = refused.expect_err("no such cost");
    assert!(
        refused.contains("unknown field `same_sockets`"),
        "{refused}"
    );
}

#[test]
fn it_takes_a_profile() {
    let text = "address,symbol,calls,contended,hold_ns,gap_ns,hold,gap\n\
                0x10,one,8,0,640,4000,5:4 6:3 7:1,8:6 9:1 10:1\n\
                0x20,two,3,0,210,9000,6:3,11:3\n,others,9,,,,,\n";
    let file = std::env::temp_dir().join(format!("handover-profile-{}.csv", std::process::id()));
    fs::write(&file, text).expect("a file");
    let arguments = format!(
        "--lock mcs --threads 3 --time 20000 --profile {}",
        file.display()
    );
    let said = [&arguments, &format!("{arguments} --mutex 0x20")].map(|it| sim(it));
    let wrong = ["--mutex others", "--section 5"].map(|it| sim(&format!("{arguments} {it}")));
    fs::remove_file(&file).expect("the file");
    for (said, mutex) in said.into_iter().zip([None, Some("two")]) {
        let profile = Profile::read("profile", text, mutex).expect("a profile");
        let settings = Settings {
            time: 20_000.0,
            ..Settings::new(Workload::Program(Box::leak(Box::new(profile))), 3, 1)
        };
        let said = said.expect("a run");
        assert_eq!(said.lines().nth(1), Some(&line("mcs", 0, &settings)[..]));
    }
    let due = [
        format!(
            "handover-sim: {}: no mutex has the symbol or address others\n",
            file.display()
        ),
        "handover-sim: profile: --section and --between are of plain alone\n".to_owned(),
    ];
    assert_eq!(wrong, due.map(Err));
}

#[test]
fn what_it_cannot_run_gets_one_line() {
    for (arguments, why) in [
        (
            "--lock spin",
            "no lock is called spin; --lock list prints them",
        ),
        ("--threads 1,73", "73 threads: 2x18x2 has 72 CPUs"),
        ("--slots 3", "3 slots: a power of two is due, 4096 at most"),
        (
            "--workload diameter --lock ticket",
            "diameter: the invalidation diameter runs without a lock, and nothing else does",
        ),
        (
            "--workload throw --section 5",
            "throw: --section and --between are of plain alone",
        ),
        (
            "--costs /dev/null",
            "/dev/null: EOF while parsing a value at line 1 column 0",
        ),
        ("--profile /dev/null", "/dev/null: no mutex"),
        ("--lock busted --threads 8", "busted with 8 threads: at "),
    ] {
        let said = match sim(arguments) {
            Ok(said) => panic!("{arguments}: {said}"),
            Err(said) => said,
        };
        assert!(said.starts_with(&format!("handover-sim: {why}")), "{said}");
        assert_eq!(said.lines().count(), 1, "{said}");
    }
}

#[test]
fn it_judges_the_committed_tables() {
    let data = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/results/data");
    let said = sim(&format!("--paper {}", data.display()));
    assert_eq!(
        said,
        Ok(fs::read_to_string(data.join("paper.csv")).expect("the verdicts"))
    );
    let none = sim("--paper /nowhere").expect_err("no tables");
    assert!(
        none.starts_with("handover-sim: /nowhere/coherence-diameter.csv: "),
        "{none}"
    );
}
