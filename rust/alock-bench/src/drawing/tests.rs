// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Every figure is parsed again: each series is there, with all its points.

use std::collections::BTreeMap;

use figures::alock::Lock;
use figures::plot::draw;

use super::*;
use crate::example;

/// Marks of each panel and series, and the points of its longest line.
type Drawn = BTreeMap<(String, String), (usize, usize)>;

fn drawn(svg: &str) -> Drawn {
    let document = roxmltree::Document::parse(svg).unwrap();
    let name = |node: roxmltree::Node<'_, '_>| node.attribute("data-name").unwrap().to_owned();
    let mut found = Drawn::new();
    let is = |class: &'static str| {
        move |it: &roxmltree::Node<'_, '_>| it.attribute("class") == Some(class)
    };
    for panel in document.descendants().filter(is("panel")) {
        for series in panel.children().filter(is("series")) {
            let marks = series.children().filter(is("mark")).count();
            let lines = series.children().filter(|it| it.has_tag_name("polyline"));
            let points = lines.map(|it| it.attribute("points").unwrap().split(' ').count());
            let key = (name(panel), name(series));
            assert!(found
                .insert(key, (marks, points.max().unwrap_or(0)))
                .is_none());
        }
    }
    found
}

fn texts(svg: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(svg).unwrap();
    let texts = document.descendants().filter(|it| it.has_tag_name("text"));
    texts
        .map(|it| it.text().unwrap_or_default().to_owned())
        .collect()
}

fn figures(record: &Record) -> BTreeMap<String, String> {
    let figures = of(record, &record.table());
    figures
        .iter()
        .map(|it| (it.file.clone(), draw(it)))
        .collect()
}

const LOCKS: [&str; 3] = ["alock", "rdma_spin", "rdma_mcs"];

/// What a throughput figure of these must have.
fn grid(sizes: &[u32], localities: &[u8], points: usize) -> Drawn {
    let mut want = Drawn::new();
    for locks in sizes {
        for locality in localities {
            for lock in LOCKS {
                let panel = format!("{locks} locks, {locality} % local");
                // One point has a mark and no line.
                want.insert((panel, lock.into()), (points, points));
            }
        }
    }
    want
}

const SET: &str = "--rounds 3 --threads 1,2,4 --locks 20,100 --locality 85,95,100";

#[test]
fn throughput_has_every_lock_at_every_point() {
    let record = example::record(&[2], SET);
    let want = grid(&[20, 100], &[85, 95, 100], 3);
    assert_eq!(drawn(&figures(&record)["throughput.svg"]), want);
    // The control: a lock whose runs are gone from one panel, and a lock that is gone.
    let mut less = record.clone();
    less.runs
        .retain(|run| (run.row.lock, run.row.locks, run.row.locality) != (Lock::RdmaMcs, 100, 95));
    assert_ne!(drawn(&figures(&less)["throughput.svg"]), want);
    let mut less = record.clone();
    less.runs.retain(|run| run.row.lock != Lock::RdmaSpin);
    assert_ne!(drawn(&figures(&less)["throughput.svg"]), want);
    // And a point that is gone from each.
    let mut less = record;
    less.runs.retain(|run| run.row.threads != 4);
    assert_eq!(
        drawn(&figures(&less)["throughput.svg"]),
        grid(&[20, 100], &[85, 95, 100], 2)
    );
}

#[test]
fn latency_has_every_bucket_of_the_most_threads() {
    let record = example::record(&[2], SET);
    let drawn = drawn(&figures(&record)["latency.svg"]);
    let mut want = Drawn::new();
    for point in record.points.iter().filter(|it| it.key.threads == 4) {
        let panel = format!("{} locks, {} % local", point.key.locks, point.key.locality);
        // And where it begins.
        want.insert(
            (panel, point.key.lock.name().into()),
            (0, 1 + point.latency.len()),
        );
    }
    assert_eq!(want.len(), 2 * 3 * 3);
    assert_eq!(drawn, want);
}

#[test]
fn budgets_have_a_series_a_locality() {
    let record = example::record(
        &[2],
        &format!("{SET} --local-budget 5,10 --remote-budget 5,10,20"),
    );
    let drawn_figures = figures(&record);
    let mut want = Drawn::new();
    for locks in [20, 100] {
        for local in [5, 10] {
            for locality in [85, 95, 100] {
                let panel = format!("{locks} locks, local budget {local}");
                want.insert((panel, format!("{locality} % local")), (3, 3));
            }
        }
    }
    assert_eq!(drawn(&drawn_figures["budgets.svg"]), want);
    // The other figures have the first pair alone.
    assert_eq!(
        drawn(&drawn_figures["throughput.svg"]),
        grid(&[20, 100], &[85, 95, 100], 3)
    );
    assert!(!figures(&example::record(&[2], SET)).contains_key("budgets.svg"));
}

#[test]
fn loopback_has_the_baselines_where_all_is_local() {
    let figures = figures(&example::record(&[2], SET));
    let mut want = Drawn::new();
    for locks in [20, 100] {
        for lock in &LOCKS[1..] {
            want.insert((format!("{locks} locks"), (*lock).into()), (3, 3));
        }
    }
    assert_eq!(drawn(&figures["loopback.svg"]), want);
}

#[test]
fn queue_pairs_are_a_nodes() {
    let record = example::record(&[2, 5], SET);
    let table = record.table();
    let all = of(&record, &table);
    let figure = all.iter().find(|it| it.file == "queue-pairs.svg").unwrap();
    let panel = figure
        .panels
        .iter()
        .find(|it| it.title == "5 nodes")
        .unwrap();
    for series in &panel.series {
        let of_thread = if series.name == "alock" { 4.0 } else { 6.0 };
        let found = series
            .points
            .iter()
            .map(|(threads, it)| it.median / threads);
        assert_eq!(found.collect::<Vec<_>>(), [of_thread; 3]);
    }
    let drawn = drawn(&draw(figure));
    assert_eq!(drawn.len(), 2 * 3);
    assert!(drawn.values().all(|it| *it == (3, 3)));
}

#[test]
fn a_run_has_the_figures_that_it_has_points_for() {
    let names = |nodes: &[u16], arguments: &str| {
        let figures = figures(&example::record(nodes, arguments));
        figures.into_keys().collect::<Vec<_>>()
    };
    let one = "--rounds 1 --threads 1 --locks 20";
    assert_eq!(
        names(&[2], &format!("{one} --locality 85")),
        ["latency.svg", "queue-pairs.svg", "throughput.svg"]
    );
    assert_eq!(
        names(&[1], &format!("{one} --locality 100 --lock alock")),
        ["latency.svg", "queue-pairs.svg", "throughput.svg"]
    );
    assert_eq!(
        names(&[5, 20], &format!("{one} --locality 100")),
        [
            "latency-20-nodes.svg",
            "latency-5-nodes.svg",
            "loopback-20-nodes.svg",
            "loopback-5-nodes.svg",
            "queue-pairs.svg",
            "throughput-20-nodes.svg",
            "throughput-5-nodes.svg",
        ]
    );
    assert!(names(&[5, 20], &format!("{one} --locality 100"))
        .iter()
        .all(|name| alock::is_name(name)));
    assert!(!alock::is_name("throughput-x-nodes.svg") && !alock::is_name("throughputs.svg"));
}

#[test]
fn every_figure_says_what_it_shows_and_where() {
    let record = example::record(&[2], &format!("{SET} --remote-budget 20,5"));
    let figures = figures(&record);
    assert_eq!(figures.len(), 5);
    for (name, svg) in &figures {
        let texts = texts(svg);
        let has = |text: &str| {
            assert!(
                texts.iter().any(|it| it.contains(text)),
                "{name}: {text}: {texts:?}"
            )
        };
        has("2 nodes");
        has("device rxe0");
        match &name[..] {
            "latency.svg" => has("all rounds together"),
            "queue-pairs.svg" => has("as counted in the run"),
            _ => has("medians of 3 rounds, bars: least to most"),
        }
        has("1 < 2 & \"so on\"");
        // A locks' colour is the same everywhere.
        let document = roxmltree::Document::parse(svg).unwrap();
        let legend = |lock: &str| {
            document.descendants().find(|it| {
                it.attribute("class") == Some("legend") && it.attribute("data-name") == Some(lock)
            })
        };
        for (lock, color) in [
            ("alock", "#0072b2"),
            ("rdma_spin", "#d55e00"),
            ("rdma_mcs", "#009e73"),
        ] {
            let Some(entry) = legend(lock) else {
                assert!(
                    name == "budgets.svg" || (name == "loopback.svg" && lock == "alock"),
                    "{name} has no {lock}"
                );
                continue;
            };
            let line = entry
                .children()
                .find(|it| it.has_tag_name("polyline"))
                .unwrap();
            assert_eq!(line.attribute("stroke"), Some(color), "{name}");
        }
        // White, whatever is behind it.
        let first = document
            .root_element()
            .children()
            .find(|it| it.has_tag_name("rect"))
            .unwrap();
        assert_eq!(first.attribute("fill"), Some("#ffffff"));
    }
}
