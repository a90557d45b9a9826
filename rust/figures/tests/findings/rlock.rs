// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! rlock, and the study of collisions.

use super::*;

#[test]
fn rlocks_increment() {
    // What the benchmark compares with is what the figure compares with.
    let bench = common::folder("rust/rlock-bench/src/methods.rs");
    let bench = fs::read_to_string(bench).unwrap();
    let (_, after) = bench.split_once("LOCKED: [&str; ").unwrap();
    let (list, _) = after.split_once("];").unwrap();
    let locked: Vec<&str> = list.split('"').skip(1).step_by(2).collect();
    assert_eq!(locked, figures::rlock::LOCKED);
    let rows = table("rlock.csv");
    let one = |row: &&Row| row["threads"] == "1" && row["cpus"] == "1";
    let alone: Vec<&Row> = rows.iter().filter(one).collect();
    let ours = alone.iter().find(|it| it["method"] == "rlock").unwrap();
    let least = alone
        .iter()
        .filter(|it| locked.contains(&&it["method"][..]))
        .min_by(|a, b| f(a, "cycles").total_cmp(&f(b, "cycles")))
        .unwrap();
    let want = format!(
        "rlock's increment: {} of the cheapest locked one ({})",
        digits(f(ours, "cycles") / f(least, "cycles")),
        least["method"]
    );
    title("rlock-cost.svg", &want);
    let svg = svg("rlock-cost.svg");
    let document = Document::parse(&svg).unwrap();
    let bars = common::groups(document.root_element(), "series");
    assert_eq!(bars.len(), rows.len());
}

#[test]
fn rlocks_cancellation() {
    let rows = table("rlock-cancel.csv");
    let of = |within: bool| {
        let these = rows
            .iter()
            .filter(|it| (it["victim"] == "in_section") == within);
        let mut ns: Vec<f64> = these.map(|it| f(it, "median_ns")).collect();
        ns.sort_by(f64::total_cmp);
        (ns[0], ns[ns.len() - 1])
    };
    let (out, within) = (of(false), of(true));
    // The units of this table; another one's may be others.
    assert!(out.0 < 1e3 && out.1 < 1e6 && within.0 < 1e6 && within.1 < 1e9);
    let want = format!(
        "A cancellation: {} ns to {} \u{b5}s; of a victim within a section {} \u{b5}s to {} ms",
        digits(out.0),
        digits(out.1 / 1e3),
        digits(within.0 / 1e3),
        digits(within.1 / 1e6)
    );
    title("rlock-cancel.svg", &want);
}

#[test]
fn the_studys_collisions() {
    let rows = table("study.csv");
    let shown = |row: &&Row| row["threshold"] == "1" && row["contenders"] == "32";
    let of = |slots: &str| {
        let these = rows.iter().filter(shown).filter(|it| it["slots"] == slots);
        let per =
            |it: &Row| 100.0 * (f(it, "same_lock") + f(it, "other_lock")) / f(it, "long_term");
        range(&these.map(per).collect::<Vec<_>>())
    };
    let want = format!(
        "32 threads: {} collisions per 100 long-term waits with 1 slot, {} with 4096",
        of("1"),
        of("4096")
    );
    title("study-collisions.svg", &want);
    let svg = svg("study-collisions.svg");
    let document = Document::parse(&svg).unwrap();
    let series = common::groups(document.root_element(), "series");
    assert_eq!(series.len(), 2 * 3);
    for (_, node) in series {
        let marks = node
            .children()
            .filter(|it| it.attribute("class") == Some("mark"));
        assert_eq!(marks.count(), 7);
    }
}
