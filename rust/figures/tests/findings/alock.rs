// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! ALock.

use super::*;

/// The median over rounds of a column, by point, of one number of nodes.
fn points(file: &str, nodes: &str, column: &str) -> BTreeMap<[String; 4], f64> {
    let mut all: BTreeMap<[String; 4], Vec<f64>> = BTreeMap::new();
    for row in table(file).iter().filter(|it| it["nodes"] == nodes) {
        let key = ["lock", "threads", "locks", "locality"].map(|it| row[it].clone());
        all.entry(key).or_default().push(f(row, column));
    }
    all.into_iter().map(|(key, it)| (key, median(it))).collect()
}

/// ALock's to the spinlock's at 95 % local.
fn ratios(file: &str, nodes: &str, column: &str) -> Vec<f64> {
    let all = points(file, nodes, column);
    let ours = all
        .iter()
        .filter(|it| it.0[0] == "alock" && it.0[3] == "95");
    ours.map(|(key, it)| {
        let mut other = key.clone();
        other[0] = "rdma_spin".into();
        it / all[&other]
    })
    .collect()
}

#[test]
fn alocks_throughput() {
    for (file, data, nodes) in [
        ("alock-throughput.svg", "alock-raw.csv", "2"),
        ("alock-sim-throughput-5-nodes.svg", "alock-sim-raw.csv", "5"),
        (
            "alock-sim-throughput-20-nodes.svg",
            "alock-sim-raw.csv",
            "20",
        ),
    ] {
        let times = range(&ratios(data, nodes, "throughput"));
        let want =
            format!("ALock, {nodes} nodes: {times} times the spinlock's throughput at 95 % local");
        title(file, &want);
        let svg = svg(file);
        let document = Document::parse(&svg).unwrap();
        let marks = document.descendants().filter(|it| {
            let of = it.parent().and_then(|it| it.attribute("class"));
            it.attribute("class") == Some("mark") && of == Some("series")
        });
        assert_eq!(marks.count(), points(data, nodes, "throughput").len());
    }
}

#[test]
fn alocks_latency() {
    for (file, data, nodes) in [
        ("alock-percentiles.svg", "alock-raw.csv", "2"),
        (
            "alock-sim-percentiles-20-nodes.svg",
            "alock-sim-raw.csv",
            "20",
        ),
    ] {
        let inverse: Vec<f64> = ratios(data, nodes, "p50_ns")
            .iter()
            .map(|it| 1.0 / it)
            .collect();
        let times = range(&inverse);
        title(
            file,
            &format!("{nodes} nodes: the spinlock's median latency is {times} times ALock's at 95 % local"),
        );
    }
}

#[test]
fn alocks_other_figures() {
    for (file, data, nodes, place, (few, many)) in [
        (
            "alock-loopback.svg",
            "alock-raw.csv",
            "2",
            "2 nodes",
            ("1", "2"),
        ),
        (
            "alock-sim-loopback-1-node.svg",
            "alock-sim-loopback-raw.csv",
            "1",
            "1 node",
            ("1", "16"),
        ),
    ] {
        let all = points(data, nodes, "throughput");
        let most = all
            .iter()
            .filter(|it| it.0[0] != "alock" && it.0[3] == "100" && it.0[1] == many);
        let growth = most.map(|(key, it)| {
            let mut one = key.clone();
            one[1] = few.into();
            it / all[&one]
        });
        let growth: Vec<f64> = growth.collect();
        // A whole number, in these.
        let threads = many.parse::<u16>().unwrap() / few.parse::<u16>().unwrap();
        let times = range(&growth);
        title(
            file,
            &format!("Loopback, {place}, all local: {threads} times the threads, {times} times the throughput"),
        );
    }
    for (file, data, nodes, threads) in [
        ("alock-queue-pairs.svg", "alock-raw.csv", "2", "2"),
        ("alock-sim-queue-pairs.svg", "alock-sim-raw.csv", "20", "12"),
    ] {
        let pairs = points(data, nodes, "queue_pairs");
        let of = |is_alock: bool| {
            let these = pairs.iter().filter(|it| it.0[1] == threads);
            let these = these.filter(|it| (it.0[0] == "alock") == is_alock);
            let mut each: Vec<_> = these
                .map(|it| it.1 / nodes.parse::<f64>().unwrap())
                .collect();
            each.sort_by(f64::total_cmp);
            each.dedup();
            // Whole numbers, in these.
            let words: Vec<_> = each.iter().map(f64::to_string).collect();
            match &words[..] {
                [one] => one.clone(),
                [least, .., most] => format!("{least} to {most}"),
                [] => panic!("no points"),
            }
        };
        let want = format!(
            "{nodes} nodes, {threads} threads each: {} queue pairs a node for ALock, {} for the others",
            of(true),
            of(false)
        );
        title(file, &want);
    }
    let rows = table("alock-budgets.csv");
    let base = |row: &Row| {
        let first = |it: &&Row| {
            let same = ["local_budget", "remote_budget"];
            same.iter().all(|name| it[*name] == rows[0][*name])
                && ["threads", "locks", "locality"]
                    .iter()
                    .all(|name| it[*name] == row[*name])
        };
        f(rows.iter().find(first).unwrap(), "throughput")
    };
    let ups: Vec<f64> = rows
        .iter()
        .map(|it| f(it, "throughput") / base(it))
        .collect();
    let times = range(&ups);
    title(
        "alock-budgets.svg",
        &format!("ALock's budgets, 2 nodes, 2 threads per node: {times} times the first pair's"),
    );
    // The simulator's: medians of the rounds, of rows.
    let mut rounds: BTreeMap<[String; 2], Vec<f64>> = BTreeMap::new();
    for row in table("alock-sim-budgets-raw.csv") {
        let key = ["locality", "remote_budget"].map(|it| row[it].clone());
        rounds.entry(key).or_default().push(f(&row, "throughput"));
    }
    let medians: BTreeMap<_, _> = rounds
        .into_iter()
        .map(|(key, it)| (key, median(it)))
        .collect();
    let ups: Vec<f64> = medians
        .iter()
        .map(|(key, it)| it / medians[&[key[0].clone(), "5".to_owned()]])
        .collect();
    let times = range(&ups);
    title(
        "alock-sim-budgets.svg",
        &format!("ALock's budgets, 20 nodes, 12 threads per node: {times} times the first pair's"),
    );
}
