// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Programs in C, each with every lock and every way to wait.

mod programs_of;

use std::{collections::BTreeMap, path::Path, process::Command};

use programs_of::{compiled, handover, text};

const LOCKS: [&str; 6] = ["ticket", "twa", "one-word-twa", "mcs", "clh", "ttas"];

/// The numbers of a line `name=number name=number`.
fn numbers(line: &str) -> BTreeMap<String, u64> {
    line.split_whitespace()
        .filter_map(|pair| {
            let (name, number) = pair.split_once('=')?;
            Some((name.to_owned(), number.parse().ok()?))
        })
        .collect()
}

/// Runs the program under each lock; what it prints is what the statistics say.
fn under_every_lock(program: &str, waits: &[&str]) {
    let program = &compiled(program, "locks", &[]);
    for lock in LOCKS {
        for wait in waits {
            let how = format!("{lock}, {wait}");
            let ended = handover(program, &["--stats", "--lock", lock, "--wait", wait]);
            let (said, told) = (text(&ended.stdout), text(&ended.stderr));
            assert!(ended.status.success(), "{how}: {}: {told}", ended.status);
            let told = told
                .lines()
                .rfind(|line| line.starts_with(&format!("handover: lock={lock} wait={wait} ")))
                .unwrap_or_else(|| panic!("{how}: no statistics: {told}"));
            let told = numbers(told);
            for (name, number) in numbers(&said) {
                assert_eq!(told.get(&name), Some(&number), "{how}: {name}: {told:?}");
            }
            assert!(told["locks"] > 0, "{how}: {told:?}");
        }
    }
}

#[test]
fn mutexes_of_each_kind() {
    under_every_lock("mutexes", &["park", "yield"]);
}

#[test]
fn condition_variables() {
    under_every_lock("conditions", &["park", "yield"]);
}

#[test]
fn forks() {
    under_every_lock("forks", &["park", "yield"]);
}

#[test]
fn threads_that_come_and_go() {
    under_every_lock("threads", &["park", "yield"]);
}

#[test]
fn threads_enter_in_the_order_in_which_they_came() {
    under_every_lock("order", &["park", "yield", "spin"]);
}

/// A program in Python: its own locks are semaphores, and the interpreter's is a mutex with a condition variable.
#[test]
fn python() {
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/programs/threads.py");
    for lock in LOCKS {
        let ended = handover(&program, &["--stats", "--lock", lock]);
        let told = text(&ended.stderr);
        assert!(ended.status.success(), "{lock}: {told}");
        assert_eq!(text(&ended.stdout), "done\n", "{lock}");
        let told = numbers(told.lines().last().unwrap_or_default());
        assert!(told["cond_timed_waits"] > 0, "{lock}: {told:?}");
        assert_eq!(told["locks"] + told["try_locks"], told["unlocks"], "{lock}");
        assert_eq!(told["left_conds"], 0, "{lock}");
    }
}

/// The programs' checks are right for glibc's own functions as well.
#[test]
fn programs_end_well_without_the_library() {
    for program in ["mutexes", "conditions", "forks", "threads", "order"] {
        let ended = Command::new(compiled(program, "glibc", &[]))
            .output()
            .expect("it runs");
        assert!(ended.status.success(), "{program}: {}", text(&ended.stderr));
    }
}
