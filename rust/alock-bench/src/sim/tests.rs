// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Points, quickly. What the costs must have shows in what they find.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use alock::lock::Budgets;
use alock_sim::Costs;
use clap::parser::ValueSource;
use clap::{CommandFactory, FromArgMatches};

use super::{points, run, Options, Pairs};
use crate::point::{Found, Lock, Point};

fn point(lock: Lock, nodes: u16, threads: u16) -> Point {
    Point {
        lock,
        nodes,
        threads,
        locks: 20,
        locality: 85,
        budgets: Budgets::default(),
        duration: Duration::from_micros(200),
        think: Duration::ZERO,
        hold: Duration::ZERO,
        at_work: nodes,
    }
}

fn costs(changes: &[&str]) -> Costs {
    options(changes).costs().unwrap()
}

fn options(changes: &[&str]) -> Options {
    Options {
        set: changes.iter().map(|&it| it.to_owned()).collect(),
        ..Options::default()
    }
}

/// Acquisitions with other numbers.
fn rate(point: &Point, changes: &[&str]) -> f64 {
    rate_with(point, changes, &Options::default())
}

fn rate_with(point: &Point, changes: &[&str], options: &Options) -> f64 {
    run(point, options, costs(changes), 1).unwrap().throughput()
}

/// All that a run says, in one text.
fn all(found: &Found) -> String {
    format!("{:?}", found.threads)
}

#[test]
fn the_data_has_every_change() {
    for lock in [Lock::Alock, Lock::RdmaSpin, Lock::RdmaMcs] {
        for empty in [false, true] {
            for locality in [0, 50, 85, 100] {
                for seed in 0..5 {
                    let mut point = point(lock, 2, 4);
                    (point.locality, point.locks) = (locality, 2);
                    let options = Options {
                        empty,
                        ..Options::default()
                    };
                    let found = run(&point, &options, Costs::connectx3(), seed).unwrap();
                    assert!(found.operations() > 20, "{point:?}: {}", found.operations());
                }
            }
        }
    }
}

/// A lock that does not exclude is found, also where the section is as short as it can
/// be.
#[test]
fn a_lost_change_is_found() {
    for empty in [false, true] {
        let mut point = point(Lock::Busted, 2, 4);
        (point.locks, point.duration) = (2, Duration::from_millis(1));
        let options = Options {
            empty,
            ..Options::default()
        };
        let why = run(&point, &options, Costs::connectx3(), 1).unwrap_err();
        assert!(why.contains("an update was lost"), "{why}");
    }
}

#[test]
fn a_seed_is_a_result() {
    for lock in [Lock::Alock, Lock::RdmaSpin, Lock::RdmaMcs] {
        let run = |seed| all(&run(&point(lock, 3, 4), &options(&[]), costs(&[]), seed).unwrap());
        assert_eq!(run(1), run(1));
        assert_ne!(run(1), run(2));
    }
}

#[test]
fn work_requests_and_queue_pairs_are_counted() {
    let alone = |lock, locality| {
        let mut point = point(lock, 2, 1);
        (point.locality, point.locks) = (locality, 1000);
        let found = run(&point, &options(&[]), costs(&[]), 1).unwrap();
        let requests = found.work_requests() as f64 / found.operations() as f64;
        (requests, found.queue_pairs())
    };
    // Four to lock and unlock, and two for the data.
    let (requests, pairs) = alone(Lock::Alock, 0);
    assert!((6.0..6.2).contains(&requests), "{requests}");
    assert_eq!(pairs, 2);
    assert_eq!(alone(Lock::Alock, 100), (0.0, 2));
    let (requests, pairs) = alone(Lock::RdmaSpin, 100);
    assert_eq!((requests, pairs), (2.0, 2 * 3));
    let (requests, pairs) = alone(Lock::RdmaMcs, 0);
    assert!((4.0..4.2).contains(&requests), "{requests}");
    assert_eq!(pairs, 2 * 3);
    let full = Options {
        pairs: Pairs::Full,
        ..Options::default()
    };
    let found = run(&point(Lock::RdmaSpin, 10, 8), &full, costs(&[]), 1).unwrap();
    assert_eq!(found.queue_pairs(), 10 * 1280);
}

/// One thread after the other: the sums of the costs's times.
#[test]
fn uncontended_times_are_sums_of_the_models() {
    let it = Costs::connectx3();
    let there = it.post + it.send + it.serve;
    let both = |way| 2 * way + it.completion;
    // From read to write of a compare-and-swap nothing is added: the answer is on its way.
    let cas = |way| there + it.pcie + both(way);
    let write = |way| there + both(way);
    for (locality, way) in [(0, it.wire), (100, it.loopback)] {
        let mut point = point(Lock::RdmaSpin, 2, 1);
        (point.locality, point.locks) = (locality, 100_000);
        let options = Options {
            empty: true,
            ..Options::default()
        };
        let found = run(&point, &options, costs(&["jitter_percent=0"]), 1).unwrap();
        let median = found.latency().value_at_quantile(0.5);
        // The first operations fetch the queue pairs' state; the change takes one ns.
        let sum = it.operation + cas(way) + 1 + write(way);
        assert!(
            median.abs_diff(sum) <= sum / 200,
            "{locality} %: {median}, {sum}"
        );
    }
}

/// Twelve threads that take turns on one card cannot do more than its unit.
#[test]
fn atomics_take_turns() {
    let mut point = point(Lock::RdmaSpin, 1, 12);
    (point.locality, point.locks) = (100, 1000);
    let found = run(&point, &options(&[]), costs(&[]), 1).unwrap();
    let each = found.seconds() * 1e9 / found.operations() as f64;
    assert!(each >= Costs::connectx3().pcie as f64 * 0.97, "{each}");
    let many = rate(&point, &["atomic_units=64"]);
    assert!(many > 1.5 * found.throughput(), "{many}");
}

/// Others wait with a compare-and-swap that waits, if the card is said to be so.
#[test]
fn a_card_that_serves_in_order_lets_all_wait_for_atomics() {
    let mut point = point(Lock::RdmaSpin, 4, 8);
    (point.locality, point.locks) = (85, 4);
    let (free, in_order) = (rate(&point, &[]), rate(&point, &["in_order=1"]));
    assert!(in_order < 0.8 * free, "{in_order}, {free}");
}

#[test]
fn more_queue_pairs_than_the_card_holds_are_slow() {
    let mut point = point(Lock::RdmaSpin, 10, 8);
    (point.locality, point.locks) = (0, 1000);
    point.duration = Duration::from_micros(500);
    let few = rate(&point, &[]);
    // They fit: nothing to fetch but at the start.
    let less = rate(&point, &["pair_fetch=0"]);
    assert!(few > 0.9 * less, "{few}, {less}");
    let full = Options {
        pairs: Pairs::Full,
        ..Options::default()
    };
    let many = rate_with(&point, &[], &full);
    assert!(many < 0.9 * few, "{many}, {few}");
    // It is the room, not something else of the many.
    let room = rate_with(&point, &["pair_cache=100000", "pair_fetch=0"], &full);
    assert!(room > 0.95 * less, "{room}, {less}");
}

/// Which of them makes a lock slower.
#[test]
fn each_time_costs() {
    let remote = |lock| {
        let mut point = point(lock, 4, 4);
        (point.locality, point.locks) = (50, 1000);
        point
    };
    let spin = remote(Lock::RdmaSpin);
    let before = rate(&spin, &[]);
    for change in [
        "post=2000",
        "wire=2000",
        "loopback=2000",
        "pcie=2000",
        "completion=2000",
        "send=2000",
        "serve=2000",
        "operation=5000",
    ] {
        let after = rate(&spin, &[change]);
        assert!(after < 0.9 * before, "{change}: {after}, {before}");
    }
    let mut local = point(Lock::Alock, 1, 8);
    (local.locality, local.locks) = (100, 1);
    let before = rate(&local, &[]);
    for change in ["line=500", "cpu_rmw=500", "cpu_barrier=2000"] {
        let after = rate(&local, &[change]);
        assert!(after < 0.9 * before, "{change}: {after}, {before}");
    }
    // What only the card does is nothing to it.
    for change in ["wire=5000", "loopback=5000", "pcie=5000", "send=5000"] {
        assert_eq!(
            rate(&local, &[change]).to_bits(),
            before.to_bits(),
            "{change}"
        );
    }
}

/// A line that others had costs: several threads on one lock do less than one alone.
#[test]
fn contending_cpus_move_lines() {
    let mut one = point(Lock::Alock, 1, 1);
    (one.locality, one.locks) = (100, 1);
    let mut eight = one;
    eight.threads = 8;
    let (one, eight) = (rate(&one, &[]), rate(&eight, &[]));
    assert!(eight < one, "{eight}, {one}");
}

#[test]
fn what_is_no_number_of_the_model_is_refused() {
    for (change, text) in [
        ("wire", "NAME=NUMBER"),
        ("wires=1", "one of cpu_access, cpu_rmw,"),
        ("wire=-1", "a number of 0 to 1000000000"),
        ("wire=1e3", "a number of 0 to"),
    ] {
        let why = options(&[change]).costs().unwrap_err();
        assert!(why.contains(text) && !why.contains('\n'), "{why}");
    }
    assert_eq!(costs(&["wire=7"]).wire, 7);
}

/// A folder of its own.
fn folder(name: &str) -> PathBuf {
    let name = format!("alock-bench-{}-{name}", std::process::id());
    std::env::temp_dir().join(name)
}

fn bench(arguments: &str, out: &Path) -> Result<(), String> {
    let matches = crate::Options::command()
        .try_get_matches_from(std::iter::once("alock-bench").chain(arguments.split_whitespace()))
        .map_err(|error| error.to_string())?;
    let mut options = crate::Options::from_arg_matches(&matches).map_err(|it| it.to_string())?;
    options.out = out.to_owned();
    crate::run(&options, &matches).map_err(|error| error.to_string())
}

/// The whole of it, twice: the same bytes, however many run at once.
#[test]
fn the_same_seed_is_the_same_table() {
    let run = |name: &str, more: &str| {
        let out = folder(name);
        let few = "--device sim --nodes 2,3 --threads 1,3 --locks 20 --locality 85,100 --duration 1 --rounds 2";
        bench(&format!("{few} {more}"), &out).unwrap();
        let files = ["raw.csv", "summary.csv", "costs.csv"]
            .map(|file| std::fs::read_to_string(out.join(file)).unwrap());
        std::fs::remove_dir_all(&out).unwrap();
        files
    };
    let [raw, summary, costs] = run("one", "--jobs 1");
    assert_eq!(
        run("two", "--jobs 2"),
        [raw.clone(), summary.clone(), costs.clone()]
    );
    // All of a seed's bits count, also in the last one's second round.
    for (name, seed) in [("other", 2), ("high", 1 + (1 << 32)), ("last", u64::MAX)] {
        assert_ne!(run(name, &format!("--seed {seed}"))[0], raw);
    }
    // Three kinds, two sizes, two numbers of threads, two localities, two rounds.
    assert_eq!(raw.lines().count(), 1 + 3 * 2 * 2 * 2 * 2);
    assert_eq!(summary.lines().count(), 1 + 3 * 2 * 2 * 2);
    assert_eq!(costs.lines().count(), 1 + Costs::CONSTANTS.len());
    let [_, _, changed] = run("set", "--set wire=1000");
    let other: Vec<_> = changed.lines().filter(|it| !costs.contains(*it)).collect();
    assert_eq!(other.len(), 1, "{other:?}");
    assert!(other[0].starts_with("wire,1000,") && other[0].ends_with(",--set"));
}

#[test]
fn options_that_do_not_fit_are_refused_in_a_line() {
    let out = folder("none");
    for (arguments, text) in [
        ("--device sim --rank 0", "--rank is not for --device sim"),
        ("--device sim --polls 8", "--polls is not"),
        ("--device sim --ib-port 1", "--ib-port is not"),
        ("--device sim --port 7", "--port is not"),
        ("--device sim --nodes 0", "--nodes is at least 1"),
        ("--device sim --nodes 1", "--locality 100"),
        ("--device sim --threads 65", "--threads 65: at most 64"),
        ("--device sim --threads 0", "--threads is at least 1"),
        ("--device sim --set wires=1", "one of cpu_access"),
        (
            "--rank 0 --size 2 --rendezvous x:1 --nodes 3",
            "--nodes: there are 2",
        ),
        (
            "--rank 0 --size 2 --rendezvous x:1 --nodes 2,3",
            "--nodes: there are 2",
        ),
        (
            "--rank 0 --size 2 --rendezvous x:1 --empty",
            "--empty is for --device sim",
        ),
        (
            "--rank 0 --size 2 --rendezvous x:1 --set wire=1",
            "--set is for",
        ),
    ] {
        let why = bench(arguments, &out).unwrap_err();
        assert!(
            why.contains(text) && !why.contains('\n'),
            "{arguments}: {why}"
        );
    }
    assert!(!out.exists(), "something was written");
}

/// What is run without being told: the list.
#[test]
fn defaults_are_the_papers_list() {
    let matches = crate::Options::command().get_matches_from(["alock-bench", "--device", "sim"]);
    let options = crate::Options::from_arg_matches(&matches).unwrap();
    let chosen = |it: &str| matches.value_source(it) == Some(ValueSource::CommandLine);
    let (_, points) = points(&options.set, &options.nodes, chosen).unwrap();
    // Kinds, nodes, threads, locks, localities, rounds.
    assert_eq!(points.len(), 3 * 3 * 5 * 3 * 4 * 3);
    let nodes: BTreeSet<_> = points.iter().map(|(_, it)| it.nodes).collect();
    assert_eq!(nodes, BTreeSet::from([5, 10, 20]));
    let threads = points.iter().map(|(_, it)| it.threads).max();
    assert_eq!(threads, Some(12));
}
