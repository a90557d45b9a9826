// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Programs.

use super::*;

#[test]
fn programs_by_their_threads() {
    let rows = table("user-16-spin-raw.csv");
    let rate = |program: &str, lock: &str, run: &str| {
        let is = |row: &&Row| {
            row["program"] == program
                && row["lock"] == lock
                && row["run"] == run
                && row["threads"] == "16"
        };
        let found: Vec<&Row> = rows.iter().filter(is).collect();
        assert_eq!(found.len(), 1, "{program}, {lock}, {run}");
        f(found[0], "ops") / f(found[0], "seconds")
    };
    let of = |program: &str| {
        let ratio = |run| rate(program, "twa", run) / rate(program, "ticket", run);
        format!("{} in {program}", range(&["1", "2", "3"].map(ratio)))
    };
    let each = ["mutexbench", "stress_latency", "leveldb"]
        .map(of)
        .join(", ");
    let want = format!("16 threads: TWA has so much of the ticket lock's rate: {each}");
    title("user-16.svg", &want);
}
