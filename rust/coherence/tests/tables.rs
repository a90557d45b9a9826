// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The committed tables are what `make figures-twa` makes.

use std::{collections::BTreeMap, fs, path::PathBuf};

use coherence::{
    paper::{self, rates},
    tables::TABLES,
    Costs, Source, COLUMNS,
};

fn data(file: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../docs/results/data")
        .join(file)
}

fn committed(file: &str) -> String {
    fs::read_to_string(data(file)).unwrap_or_else(|error| panic!("{file}: {error}"))
}

/// Each table has a row for each run of its plan, in order. Each 59th run gives its row once more, to the byte.
#[test]
fn the_tables_are_what_their_seed_gives() {
    for table in TABLES {
        let text = committed(table.file);
        let mut lines = text.lines();
        assert_eq!(lines.next(), Some(&COLUMNS.join(",")[..]), "{}", table.file);
        let runs = table.plan().runs();
        let rows: Vec<&str> = lines.collect();
        assert_eq!(rows.len(), runs.len(), "{}", table.file);
        for (number, (run, row)) in runs.iter().zip(&rows).enumerate() {
            let settings = &run.settings;
            let point = [
                settings.workload.name(),
                run.lock.name,
                &settings.threads.to_string(),
                &run.machine.to_string(),
                &settings.topology.to_string(),
                &settings.slots.to_string(),
            ];
            assert!(row.starts_with(&format!("{},", point.join(","))), "{row}");
            if number % 59 == 17 {
                assert_eq!(run.row().expect("a run").join(","), *row, "{}", table.file);
            }
        }
    }
}

#[test]
fn the_verdicts_are_what_the_tables_give() {
    let tables: BTreeMap<_, _> = TABLES
        .iter()
        .filter(|it| paper::reads(it.file))
        .map(|it| {
            (
                it.file.to_owned(),
                rates(&committed(it.file)).expect(it.file),
            )
        })
        .collect();
    let mut due = csv::Writer::from_writer(Vec::new());
    due.write_record(paper::VERDICT_COLUMNS).expect("memory");
    for row in paper::verdicts(&tables).expect("all runs") {
        due.write_record(row).expect("memory");
    }
    let due = String::from_utf8(due.into_inner().expect("memory")).expect("text");
    assert_eq!(committed(paper::FILE), due);
}

/// The page has each cost as it is swept, and no other.
#[test]
fn the_page_has_each_cost() {
    let page = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/coherence.md");
    let page = fs::read_to_string(page).expect("the page");
    let (_, after) = page
        .split_once("| cost | default | range | source | what |\n|---|---|---|---|---|\n")
        .expect("the table of the costs");
    let said: Vec<&str> = after.lines().take_while(|it| it.starts_with('|')).collect();
    let due: Vec<String> = Costs::ALL
        .iter()
        .map(|cost| {
            let source = match cost.source {
                Source::Read(source) => source
                    .split_once("core-to-core")
                    .map(|_| "core-to-core")
                    .expect("the one source"),
                Source::Free => "free",
            };
            let (least, most) = cost.swept;
            format!(
                "| `{}` | {} | {least} to {most} | {source} | {} |",
                cost.name, cost.default, cost.about
            )
        })
        .collect();
    assert_eq!(said, due);
}
