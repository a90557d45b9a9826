// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The table of the mutexes that a program uses most, beside what the program has timed itself.

mod programs_of;

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use programs_of::{compiled, handover, library, refused, text};

/// A place for a table.
fn place(name: &str) -> PathBuf {
    let place = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_file(&place);
    place
}

/// The fields of a line `name=number name=number`, after its first word.
fn numbers(line: &str) -> BTreeMap<&str, u64> {
    line.split_whitespace()
        .skip(1)
        .map(|pair| {
            let (name, number) = pair.split_once('=').expect("a pair");
            (name, number.parse().expect("a number"))
        })
        .collect()
}

/// A row of the table, by column.
struct Row<'a>(BTreeMap<&'a str, &'a str>);

impl Row<'_> {
    fn number(&self, column: &str) -> u64 {
        self.0[column].parse().expect("a number")
    }

    /// How many times a histogram has, and the least and the most that their sum can be.
    fn histogram(&self, column: &str) -> [u64; 3] {
        let mut all = [0; 3];
        for pair in self.0[column].split_whitespace() {
            let (place, count) = pair.split_once(':').expect("place:count");
            let (place, count): (u32, u64) = (place.parse().unwrap(), count.parse().unwrap());
            assert!(count > 0, "{column}");
            all[0] += count;
            all[1] += if place == 0 { 0 } else { count << place };
            all[2] += (count << (place + 1)) - count;
        }
        all
    }
}

/// The table's rows, in their order.
fn rows(table: &str) -> Vec<Row<'_>> {
    let mut lines = table.lines();
    let columns: Vec<&str> = lines.next().expect("a head").split(',').collect();
    assert_eq!(
        columns,
        [
            "address",
            "symbol",
            "calls",
            "contended",
            "hold_ns",
            "gap_ns",
            "hold",
            "gap"
        ]
    );
    lines
        .map(|line| {
            let cells: Vec<&str> = line.split(',').collect();
            assert_eq!(cells.len(), columns.len(), "{line}");
            Row(columns.iter().copied().zip(cells).collect())
        })
        .collect()
}

/// Runs the program that times its mutexes, and compares.
fn compared(lock: &str) {
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("other-{lock}.so"));
    let made = Command::new("cc")
        .args(["-shared", "-fPIC", "-x", "c", "-o"])
        .arg(&library)
        .arg("-")
        .stdin(fs::File::open(source("of_a_library.c")).expect("it is there"))
        .status();
    assert!(made.expect("`cc` is there").success());
    let file = place(&format!("profile-{lock}.csv"));
    let program = compiled("uses", lock, &[]);
    let profile = file.to_str().expect("a path");
    let ended = programs_of::handover_with(
        &program,
        &[library.to_str().expect("a path")],
        &["--lock", lock, "--profile", profile],
    );
    let said = text(&ended.stdout);
    assert!(ended.status.success(), "{lock}: {}", text(&ended.stderr));
    assert_eq!(text(&ended.stderr), "", "{lock}");
    let table = fs::read_to_string(&file).expect("a table");
    let rows = rows(&table);
    assert!(
        rows.windows(2)
            .all(|pair| pair[0].number("calls") >= pair[1].number("calls")),
        "{lock}: {table}"
    );
    let mut compared = 0;
    for line in said.lines() {
        let symbol = line.split_whitespace().next().expect("a name");
        let due = numbers(line);
        let how = format!("{lock}: {line}\n{table}");
        let row = rows
            .iter()
            .find(|row| row.0["address"] == format!("{:#x}", due["at"]))
            .unwrap_or_else(|| panic!("no row: {how}"));
        assert_eq!(row.0["symbol"], symbol, "{how}");
        assert_eq!(row.number("calls"), due["calls"], "{how}");
        assert_eq!(row.number("contended"), due["contended"], "{how}");
        for (kind, count) in [("hold", due["calls"]), ("gap", due["gaps"])] {
            let sum = row.number(&format!("{kind}_ns"));
            let [low, high] = ["low", "high"].map(|end| due[&*format!("{kind}_{end}")]);
            assert!((low..=high).contains(&sum), "{kind}: {low}..={high}: {how}");
            let [times, least, most] = row.histogram(kind);
            assert_eq!(times, count, "{kind}: {how}");
            assert!((least..=most).contains(&sum), "{kind}: {how}");
        }
        compared += 1;
    }
    assert_eq!(compared, 5, "{said}");
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(name)
}

#[test]
fn holds_and_gaps_are_those_of_the_program() {
    for lock in ["twa", "mcs", "ttas"] {
        compared(lock);
    }
}

#[test]
fn many_mutexes_leave_a_hundred_rows_and_the_rest() {
    let file = place("many.csv");
    let program = compiled("many", "profile", &[]);
    let ended = handover(
        &program,
        &["--stats", "--profile", file.to_str().expect("a path")],
    );
    assert!(ended.status.success(), "{}", text(&ended.stderr));
    let table = fs::read_to_string(&file).expect("a table");
    let rows = rows(&table);
    // As `many.c` has it: 20,000 mutexes, each once, and 99 of them 10 times more.
    assert_eq!(rows.len(), 101, "{table}");
    assert!(rows[..99].iter().all(|row| row.number("calls") == 11));
    assert_eq!(rows[99].number("calls"), 1);
    // Each of the 99 is called again and again: ten gaps. The others of this thread are no gaps of it.
    assert!(rows[..99].iter().all(|row| row.histogram("gap")[0] == 10));
    assert_eq!(rows[99].histogram("gap"), [0; 3]);
    assert_eq!(rows[100].0["symbol"], "others");
    let all: u64 = rows.iter().map(|row| row.number("calls")).sum();
    assert_eq!(all, 20_000 + 99 * 10);
    // Beside a profile the statistics count as ever.
    assert!(text(&ended.stderr).contains(&format!(" locks={all} ")));
}

#[test]
fn a_table_that_cannot_be_written_is_said_at_once() {
    refused(
        &handover(Path::new("true"), &["--profile", "/no/folder/x"]),
        "/no/folder/x: No such file",
    );
    let ended = Command::new("/bin/true")
        .env("LD_PRELOAD", library())
        .env("HANDOVER_PROFILE", "")
        .output();
    refused(
        &ended.expect("it runs"),
        "HANDOVER_PROFILE=: needed: a file's path",
    );
}

/// The file lies where it was named, wherever the program goes. It may start another, and may be run without handover-run.
#[test]
fn a_table_lies_where_it_was_named() {
    let goes = "import os; os.chdir('/'); import threading; threading.Thread().start()";
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR"));
    let [started, by_itself] = ["started.csv", "by-itself.csv"].map(place);
    let ended = Command::new(env!("CARGO_BIN_EXE_handover-run"))
        .arg("--library")
        .arg(library())
        .args(["--profile", "started.csv", "--"])
        .args(["sh", "-c", "cd / && exec python3 -c \"$0\"", goes])
        .current_dir(folder)
        .output()
        .expect("it runs");
    assert!(ended.status.success(), "{}", text(&ended.stderr));
    let ended = Command::new("python3")
        .args(["-c", goes])
        .env("LD_PRELOAD", library())
        .env("HANDOVER_PROFILE", "by-itself.csv")
        .current_dir(folder)
        .output()
        .expect("it runs");
    assert!(ended.status.success(), "{}", text(&ended.stderr));
    for file in [started, by_itself] {
        let table = fs::read_to_string(&file).expect("a table");
        assert!(!rows(&table).is_empty(), "{}", file.display());
    }
}

#[test]
fn without_it_there_is_no_table() {
    let file = place("none.csv");
    for program in ["true", "python3"] {
        let ended = Command::new(env!("CARGO_BIN_EXE_handover-run"))
            .arg("--library")
            .arg(library())
            .args(["--", program])
            .env("HANDOVER_PROFILE", &file)
            .stdin(std::process::Stdio::null())
            .output()
            .expect("it runs");
        assert!(ended.status.success());
        assert!(!file.exists(), "{program}");
    }
}
