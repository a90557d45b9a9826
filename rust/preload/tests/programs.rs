// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Programs in C, each with every lock and every way to wait.

mod programs_of;

use std::{collections::BTreeMap, path::Path, process::Command};

use programs_of::{compiled, handover, library, text};

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
    compiled_under_every_lock(&compiled(program, "locks", &[]), waits);
}

fn compiled_under_every_lock(program: &Path, waits: &[&str]) {
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

#[test]
fn mutexes_at_their_worst_moments() {
    under_every_lock("faults", &["park", "yield"]);
}

/// A library that the program needs is initialised first.
#[test]
fn constructors_that_run_before_the_librarys() {
    let library = compiled(
        "early",
        "library.so",
        &[
            "-DLIBRARY",
            "-shared",
            "-fPIC",
            "-Wl,-soname,early-library.so",
        ],
    );
    let path = format!("-Wl,-rpath,{}", env!("CARGO_TARGET_TMPDIR"));
    let program = compiled(
        "early",
        "program",
        &[library.to_str().expect("a path"), &path],
    );
    compiled_under_every_lock(&program, &["park"]);
}

/// The control: one turn each, of which the first wait is never over. glibc releases by a zero in the lock's first word, and
/// acquires where it finds one. The lock has written there since. With more turns glibc may find its zero again.
#[test]
fn mutexes_replaced_without_condition_variables_hang() {
    let naive = compiled("naive", "control.so", &["-shared", "-fPIC"]);
    let [once, often] = [("once", "-DTURNS=1"), ("often", "-DTURNS=1000")]
        .map(|(name, turns)| compiled("turns", name, &[turns]));
    let under = |preloaded: &Path, program: &Path, lock: &str, limit_s: &str| {
        Command::new("timeout")
            .arg(limit_s)
            .arg(program)
            .env("LD_PRELOAD", preloaded)
            .env("LIBRARY", library())
            .env("HANDOVER_LOCK", lock)
            .output()
            .expect("timeout is there")
            .status
    };
    for lock in LOCKS {
        for program in [&once, &often] {
            let ended = under(&library(), program, lock, "60");
            assert!(ended.success(), "{lock}: {program:?}: {ended}");
        }
    }
    for lock in ["ticket", "twa", "one-word-twa"] {
        let ended = under(&naive, &once, lock, "2");
        assert_eq!(ended.code(), Some(124), "{lock}, the control: {ended}");
    }
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

/// A child's counts, and its longest wait, begin at 0. The parent's stay.
#[test]
fn a_child_has_not_waited() {
    let program = compiled("waited", "locks", &[]);
    for lock in LOCKS {
        let ended = handover(&program, &["--stats", "--lock", lock]);
        let told = text(&ended.stderr);
        assert!(ended.status.success(), "{lock}: {told}");
        let lines: Vec<_> = told.lines().map(numbers).collect();
        let [child, parent] = &lines[..] else {
            panic!("{lock}: no line of each: {told}");
        };
        assert_eq!(child["locks"], 1, "{lock}: {told}");
        assert_eq!((child["contended"], child["longest_wait_ns"]), (0, 0));
        assert_eq!((parent["locks"], parent["contended"]), (2, 1), "{lock}");
        let range = 10_000_000..10_000_000_000;
        assert!(range.contains(&parent["longest_wait_ns"]), "{lock}: {told}");
    }
}

/// The programs' checks are right for glibc's own functions as well.
#[test]
fn programs_end_well_without_the_library() {
    for program in [
        "mutexes",
        "conditions",
        "forks",
        "threads",
        "order",
        "faults",
        "turns",
    ] {
        let ended = Command::new(compiled(program, "glibc", &[]))
            .output()
            .expect("it runs");
        assert!(ended.status.success(), "{program}: {}", text(&ended.stderr));
    }
}
