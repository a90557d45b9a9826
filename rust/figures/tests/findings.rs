// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What titles say, and how many points there are, computed anew from the committed tables by
//! other means.

mod common;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::OnceLock;

use figures::list;
use roxmltree::Document;

type Row = BTreeMap<String, String>;

fn table(name: &str) -> Vec<Row> {
    let text = fs::read_to_string(common::folder("docs/results/data").join(name)).unwrap();
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        let pairs = header.iter().zip(line.split(','));
        pairs
            .map(|(name, value)| (name.to_string(), value.to_owned()))
            .collect()
    };
    lines.map(row).collect()
}

fn f(row: &Row, name: &str) -> f64 {
    row[name].parse().unwrap()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    (values[(n - 1) / 2] + values[n / 2]) / 2.0
}

/// Three digits from 1 to 2, two decimals below, two digits from 2 on.
fn digits(value: f64) -> String {
    let decimals = if value < 1.995 {
        2
    } else {
        usize::from(value < 9.95)
    };
    format!("{value:.decimals$}")
}

fn range(values: &[f64]) -> String {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let (least, most) = (digits(values[0]), digits(values[values.len() - 1]));
    if least == most {
        least
    } else {
        format!("{least} to {most}")
    }
}

fn svg(file: &str) -> String {
    static ALL: OnceLock<Vec<(String, String)>> = OnceLock::new();
    let all =
        ALL.get_or_init(|| list::drawn(&common::folder("docs/results/figures.toml")).unwrap());
    all.iter().find(|it| it.0 == file).unwrap().1.clone()
}

#[track_caller]
fn title(file: &str, want: &str) {
    let svg = svg(file);
    let document = Document::parse(&svg).unwrap();
    let titles = document
        .root_element()
        .children()
        .find(|it| it.has_tag_name("title"));
    assert_eq!(titles.unwrap().text(), Some(want));
    // It also stands above, in as many lines as it needs.
    let texts = common::texts(&document)
        .into_iter()
        .filter(|it| it.size == 16.0);
    let lines: Vec<String> = texts.map(|it| it.words).collect();
    assert_eq!(lines.join(" "), want);
}

#[test]
fn contended() {
    let rows = table("contended.csv");
    let rate = |row: &Row| f(row, "acquisitions") / f(row, "seconds");
    let mut ratios: BTreeMap<(String, String, String), Vec<f64>> = BTreeMap::new();
    for row in &rows {
        let base = rows.iter().find(|it| {
            it["lock"] == "raw_spin_lock"
                && ["kernel", "boot", "writers", "run"]
                    .iter()
                    .all(|name| it[*name] == row[*name])
        });
        let key = (
            row["lock"].clone(),
            row["kernel"].clone(),
            row["writers"].clone(),
        );
        ratios
            .entry(key)
            .or_default()
            .push(rate(row) / rate(base.unwrap()));
    }
    let of = |lock: &str| {
        let these = ratios.iter().filter(|it| it.0 .0 == lock);
        range(&these.map(|it| median(it.1.clone())).collect::<Vec<_>>())
    };
    let want = format!(
        "1 to 4 writers: one-word TWA {}, TWA {}, ticket {} of the kernel's spinlock's rate",
        of("one_word_twa"),
        of("twa"),
        of("ticket")
    );
    title("kernel-writers.svg", &want);
    let svg = svg("kernel-writers.svg");
    let document = Document::parse(&svg).unwrap();
    let series = common::groups(document.root_element(), "series");
    // Each lock but the base, on both kernels.
    let mut drawn: Vec<&str> = series.iter().map(|it| &it.0[..]).collect();
    drawn.sort_unstable();
    let locks: BTreeSet<&str> = rows.iter().map(|it| &it["lock"][..]).collect();
    let others = locks.iter().filter(|it| **it != "raw_spin_lock");
    let twice: Vec<&str> = others.flat_map(|it| [*it, *it]).collect();
    assert_eq!(drawn, twice);
    for (_, node) in series {
        let marks = node
            .children()
            .filter(|it| it.attribute("class") == Some("mark"));
        assert_eq!(marks.count(), 3);
    }
}

#[test]
fn uncontended() {
    // By kernel, layout and lock, then by boot and run: from the raw data.
    let mut ns: BTreeMap<[String; 3], BTreeMap<[String; 2], f64>> = BTreeMap::new();
    let raw = table("uncontended-raw.csv");
    for row in &raw {
        let [kernel, layout, lock, boot, run] =
            ["kernel", "layout", "lock", "boot", "run"].map(|it| row[it].clone());
        let mine = ns.entry([kernel, layout, lock]).or_default();
        mine.insert([boot, run], f(row, "ns") / f(row, "pairs"));
    }
    let ratio = |[kernel, layout, lock]: [&str; 3]| {
        let of = |lock: &str| &ns[&[kernel, layout, lock].map(str::to_owned)];
        let (mine, base) = (of(lock), of("raw_spin_lock"));
        let mut boots: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (run, ns) in mine {
            let boot = boots.entry(&run[0]).or_default();
            boot.push(ns / base[run]);
        }
        median(boots.into_values().map(median).collect())
    };
    // The table has six decimals, the title two.
    let of = |lock: &str| {
        let each = ["stock", "test"].map(|it| ratio([it, "far", lock]));
        range(&each.map(|it| (it * 1e6).round() / 1e6))
    };
    let want = format!(
        "Uncontended, layout far: one-word TWA {}, TWA {}, ticket {} of raw_spin_lock's time",
        of("one_word_twa"),
        of("twa"),
        of("ticket")
    );
    title("kernel-uncontended.svg", &want);
    // Both layouts of each kernel, the neutral one first, and each lock in the table's order.
    let svg = svg("kernel-uncontended.svg");
    let document = Document::parse(&svg).unwrap();
    let panels = common::groups(document.root_element(), "panel");
    let titles: Vec<&str> = panels.iter().map(|it| &it.0[..]).collect();
    let places = [
        ("stock", "far"),
        ("stock", "near"),
        ("test", "far"),
        ("test", "near"),
    ];
    let want = places.map(|(kernel, layout)| format!("{kernel} kernel, layout {layout}"));
    assert_eq!(titles, want);
    let rows = table("uncontended.csv");
    for ((kernel, layout), (_, panel)) in places.into_iter().zip(panels) {
        let here = rows
            .iter()
            .filter(|it| it["kernel"] == kernel && it["layout"] == layout);
        let bars = common::groups(panel, "series");
        assert_eq!(bars.len(), here.clone().count());
        for (row, (name, bar)) in here.zip(bars) {
            assert_eq!(name, row["lock"]);
            let said = ratio([kernel, layout, &name]);
            assert!((f(row, "to_raw_spin_lock") - said).abs() < 6e-7, "{row:?}");
            let note = format!(
                "{:.2} ({:.1} ns, {})",
                f(row, "to_raw_spin_lock"),
                f(row, "ns"),
                row["shape"]
            );
            let texts = bar.children().filter(|it| it.has_tag_name("text"));
            let texts: Vec<_> = texts.filter_map(|it| it.text()).collect();
            assert_eq!(texts, [&name[..], &note[..]]);
        }
    }
}

/// Without its colour a mark still says whose lock it is, and which of ours.
#[test]
fn locks_are_told_apart_without_colour() {
    let svg = svg("kernel-writers.svg");
    let document = Document::parse(&svg).unwrap();
    let mut looks: BTreeMap<String, String> = BTreeMap::new();
    for (name, node) in common::groups(document.root_element(), "legend") {
        let mark = node
            .children()
            .find(|it| it.attribute("class") == Some("mark"));
        let mark = mark.unwrap();
        let corners = mark.attribute("points").map(|it| {
            let points = it.split(' ').map(|it| it.split_once(',').unwrap());
            let points = points.map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()));
            let points: Vec<(f64, f64)> = points.collect();
            // Where a corner lies from the first.
            let of =
                |at: &(f64, f64)| format!("{:.1} {:.1}", at.0 - points[0].0, at.1 - points[0].1);
            points.iter().map(of).collect::<Vec<_>>()
        });
        let is_hollow = mark.attribute("stroke").is_some();
        // One line of the series, and those of a cross.
        let lines = node.children().filter(|it| it.has_tag_name("polyline"));
        let look = format!("{corners:?} {is_hollow} {}", lines.count());
        let is_ours = ["twa", "ticket", "one_word_twa", "mcs", "clh"].contains(&&name[..]);
        assert_eq!(is_ours, !is_hollow, "{name}");
        assert_eq!(name == "ttas", look.ends_with('3'), "{name}: {look}");
        if let Some(other) = looks.insert(look, name.clone()) {
            panic!("{name} looks as {other}");
        }
    }
    assert_eq!(looks.len(), 8);
}

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

/// A column of each machine, of the runs that are as asked.
fn of_machines(rows: &[Row], asked: &[(&str, &str)], column: &str) -> Vec<f64> {
    let mut machines = BTreeMap::new();
    for row in rows {
        if asked.iter().all(|(name, value)| row[*name] == *value) {
            let before = machines.insert(&row["machine"], f(row, column));
            assert!(before.is_none(), "two runs");
        }
    }
    assert_eq!(machines.len(), 24, "{asked:?}");
    machines.into_values().collect()
}

/// The ratios of two runs, machine by machine.
fn ratios_of(rows: &[Row], one: &[(&str, &str)], other: &[(&str, &str)]) -> String {
    let of = |asked| of_machines(rows, asked, "rounds");
    let each = of(one).into_iter().zip(of(other));
    range(&each.map(|(one, other)| one / other).collect::<Vec<_>>())
}

#[test]
fn the_simulated_cpus() {
    for (name, workload, most) in [
        ("throughput", "mutexbench", "72"),
        ("throw", "throw", "72"),
        ("stress-latency", "stress_latency", "72"),
        ("locktorture", "locktorture", "72"),
        ("outlook", "mutexbench", "256"),
    ] {
        let rows = match name {
            "throughput" => table("coherence.csv"),
            _ => table(&format!("coherence-{name}.csv")),
        };
        let ratio = |one, other| {
            ratios_of(
                &rows,
                &[("lock", one), ("threads", most)],
                &[("lock", other), ("threads", most)],
            )
        };
        let mut want = format!(
            "{workload}, {most} simulated CPUs: TWA has {} of the ticket lock's throughput, {} with two lines",
            ratio("twa", "ticket"),
            ratio("twa_apart", "ticket_apart")
        );
        if name == "locktorture" {
            want += &format!(", and {} of qspinlock's algorithm", ratio("twa", "qspin"));
        }
        title(&format!("coherence-{name}.svg"), &want);
    }
}

#[test]
fn the_simulated_hand_overs() {
    let rows = table("coherence.csv");
    let of = |lock, column| of_machines(&rows, &[("lock", lock), ("threads", "72")], column);
    for (name, column, what) in [
        (
            "invalidations",
            "invalidations_per_handover",
            "copies that a hand-over invalidates",
        ),
        (
            "rereads",
            "rereads_per_handover",
            "waiters that read again during a hand-over",
        ),
        (
            "far",
            "far_per_handover",
            "transfers between sockets during a hand-over",
        ),
    ] {
        let [ticket, twa, mcs] = ["ticket", "twa", "mcs"].map(|lock| range(&of(lock, column)));
        let want = format!(
            "mutexbench, 72 simulated CPUs: {what}: {ticket} with the ticket lock, {twa} with TWA, {mcs} with MCS"
        );
        title(&format!("coherence-{name}.svg"), &want);
    }
    let [ticket, twa, mcs] =
        ["ticket", "twa", "mcs"].map(|lock| format!("{} ns", range(&of(lock, "handover_p50_ns"))));
    let want = format!(
        "mutexbench, 72 simulated CPUs: a hand-over takes {ticket} with the ticket lock, {twa} with TWA, {mcs} with MCS"
    );
    title("coherence-handover.svg", &want);
}

#[test]
fn the_invalidation_diameter() {
    let rows = table("coherence-diameter.csv");
    let ratio = ratios_of(&rows, &[("threads", "72")], &[("threads", "1")]);
    let slowed = format!("With 71 readers a writer has {ratio} of its rate alone");
    title("coherence-diameter.svg", &slowed);
    let copies = range(&of_machines(
        &rows,
        &[("threads", "72")],
        "lock_invalidations",
    ));
    let lost = format!("With 71 readers a write invalidates {copies} copies");
    title("coherence-diameter-copies.svg", &lost);
}

#[test]
fn twas_threshold_and_slots() {
    let rows = table("coherence-thresholds.csv");
    let to_paper = |lock| {
        ratios_of(
            &rows,
            &[("lock", lock), ("threads", "72")],
            &[("lock", "twa"), ("threads", "72")],
        )
    };
    let want = format!(
        "72 simulated CPUs: with a threshold of 0 TWA has {} of its throughput, with one of 8 {}",
        to_paper("twa_threshold_0"),
        to_paper("twa_threshold_8")
    );
    title("coherence-thresholds.svg", &want);
    let rows = table("coherence-slots.csv");
    let one = ratios_of(
        &rows,
        &[("slots", "1"), ("threads", "72")],
        &[("slots", "4096"), ("threads", "72")],
    );
    let want = format!("72 simulated CPUs: with 1 slot TWA has {one} of its throughput with 4096");
    title("coherence-slots.svg", &want);
}

/// Each point of a simulated curve has its bar, from the least to the most machine. Its mark is at the median.
#[test]
fn simulated_points_have_the_whole_band() {
    for (name, file, column) in [
        ("throughput", "coherence", "millions_per_s"),
        ("far", "coherence", "far_per_handover"),
        ("throw", "coherence-throw", "millions_per_s"),
    ] {
        let rows = table(&format!("{file}.csv"));
        let threads: BTreeSet<u32> = rows
            .iter()
            .filter(|it| !it[column].is_empty())
            .map(|it| it["threads"].parse().unwrap())
            .collect();
        let svg = svg(&format!("coherence-{name}.svg"));
        let document = Document::parse(&svg).unwrap();
        let series = common::groups(document.root_element(), "series");
        let (_, node) = series.iter().find(|it| it.0 == "TWA").unwrap();
        let ends = |it: roxmltree::Node<'_, '_>| -> Option<[f64; 4]> {
            let numbers: Vec<f64> = it
                .attribute("points")?
                .split([' ', ','])
                .map(|it| it.parse().unwrap())
                .collect();
            numbers.try_into().ok()
        };
        // From below upwards; the caps lie across.
        let bars: Vec<(f64, f64)> = node
            .children()
            .filter_map(ends)
            .filter(|it| it[0] == it[2])
            .map(|it| (it[1], it[3]))
            .collect();
        let marks: Vec<f64> = node
            .children()
            .filter(|it| it.attribute("class") == Some("mark"))
            .map(|it| common::number(it, "cy"))
            .collect();
        assert_eq!((bars.len(), marks.len()), (threads.len(), threads.len()));
        let spreads: Vec<[f64; 3]> = threads
            .iter()
            .map(|it| {
                let asked = [("lock", "twa"), ("threads", &it.to_string()[..])];
                let each = of_machines(&rows, &asked, column);
                let of = |fold: fn(f64, f64) -> f64| each.iter().copied().reduce(fold).unwrap();
                [of(f64::min), median(each.clone()), of(f64::max)]
            })
            .collect();
        let widest = |it: &[f64; 3]| it[2] - it[0];
        let by_width = |a: &usize, b: &usize| widest(&spreads[*a]).total_cmp(&widest(&spreads[*b]));
        let at = (0..spreads.len()).max_by(by_width).unwrap();
        let unit = (bars[at].0 - bars[at].1) / widest(&spreads[at]);
        let zero = bars[at].0 + unit * spreads[at][0];
        for ((bar, mark), [least, median, most]) in bars.iter().zip(&marks).zip(&spreads) {
            for (seen, due) in [(bar.0, least), (*mark, median), (bar.1, most)] {
                let due = zero - unit * due;
                assert!((seen - due).abs() < 0.5, "{name}: {seen}, {due} due");
            }
        }
    }
}

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
