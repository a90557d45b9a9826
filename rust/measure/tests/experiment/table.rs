// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The table, made once more from the runs: sorted, in wider numbers, in another order.

use crate::locks::{Lock, LOCKS};
use crate::outcome::{failures, outcome};
use handover_measure::outcome::Outcome;
use handover_measure::perturb::{Perturbations, Perturbed};
use handover_measure::plan::Plan;
use handover_measure::table::{table, Group};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::subsequence;

/// `a / b` times `scale`, rounded half up, in wider numbers.
fn quotient(a: u64, b: u64, scale: u128) -> Option<u64> {
    let (a, b) = (u128::from(a) * scale, u128::from(b));
    (b != 0).then(|| ((2 * a + b) / (2 * b)) as u64)
}

/// The runs of a lock with so many writers.
fn group(all: &[Outcome<Lock>], lock: &Lock, writers: u32) -> Option<Group> {
    let runs: Vec<&Outcome<Lock>> = all
        .iter()
        .filter(|run| run.lock.name == lock.name && run.writers == writers)
        .collect();
    let mut rates: Vec<u64> = runs.iter().map(|run| run.rate()).collect();
    rates.sort_unstable();
    let (n, wide) = (rates.len(), |at: usize| u128::from(rates[at]));
    let spreads: Option<Vec<u64>> = runs
        .iter()
        .map(|run| quotient(run.max, run.min, 100))
        .collect();
    Some(Group {
        runs: n,
        low: *rates.first()?,
        median: ((wide((n - 1) / 2) + wide(n / 2)) / 2) as u64,
        high: *rates.last()?,
        spread: spreads.and_then(|all| all.into_iter().max()),
        jain_ppm: runs.iter().map(|run| run.jain_ppm).min()?,
        failures: runs
            .iter()
            .map(|&run| failures(run))
            .sum::<u128>()
            .min(u64::MAX.into()) as u64,
    })
}

/// Hundredths, padded to the right.
fn padded(hundredths: Option<u64>, width: usize) -> String {
    let text = hundredths.map_or("-".to_owned(), |it| format!("{}.{:02}", it / 100, it % 100));
    format!("{text:>width$}")
}

fn lines(plan: &Plan<Lock>, runs: &[Outcome<Lock>], rates: &mut [u64]) -> Vec<String> {
    let mut lines = vec![];
    table(plan, runs, rates, |line| lines.push(line.to_string()));
    lines
}

/// A plan of these locks and numbers of writers.
pub(crate) fn plan(names: &[&str], writers: &[u32]) -> Plan<Lock> {
    let writers: Vec<String> = writers.iter().map(u32::to_string).collect();
    let words = format!(
        "torture_type={} nwriters_stress={}",
        names.join(","),
        writers.join(",")
    );
    let plan = Plan::default().with(&words).map_err(|why| why.to_string());
    plan.unwrap()
}

/// What stands below each table.
const EXPLAINED: &str = "\
lock     its name in torture_type
writers  threads that take it again and again
runs     how many there were
median/s acquisitions a second of all writers, the median of the runs
min/s    the same, of the slowest run
max/s    the same, of the fastest run
ratio    the median to the kernel's lock (raw_spin_lock, else spin_lock); above 1 is faster
max/min  the most acquisitions of a writer to the least, in the worst run; -: one had none
Jain     fairness in the worst run; 1.00: all writers alike; 1/writers: one had all
failures checks that failed, in all runs; above 0 the lock is broken";

proptest! {
    #[test]
    fn a_group_is_of_its_runs_alone(runs in vec(outcome(0..2), 0..14), room in 0usize..14) {
        for lock in &LOCKS[..3] {
            for writers in 1..5 {
                let due = group(&runs, lock, writers).filter(|group| group.runs <= room);
                prop_assert_eq!(Group::of(&runs, lock, writers, &mut vec![9; room]), due);
            }
        }
    }

    /// Ratios are to `raw_spin_lock`, else to `spin_lock`, of the locks that were asked for.
    #[test]
    fn the_table_is_made_of_its_groups(
        runs in vec(outcome(0..6), 0..30),
        names in subsequence(vec!["twa", "spin_lock", "raw_spin_lock", "mcs", "ticket"], 1..=5).prop_shuffle(),
        writers in subsequence(vec![1u32, 2, 3], 1..=3).prop_shuffle(),
    ) {
        let seen = lines(&plan(&names, &writers), &runs, &mut [0; 30]);
        let mut due = vec![
            "lock              writers runs    median/s       min/s       max/s  ratio  max/min   Jain failures".to_owned(),
        ];
        let to = ["raw_spin_lock", "spin_lock"].into_iter().find(|name| names.contains(name));
        let entry = |name| LOCKS.iter().find(|lock| lock.name == name).unwrap();
        for &writers in &writers {
            let to = to.and_then(|name| group(&runs, entry(name), writers)).map_or(0, |group| group.median);
            for name in &names {
                if let Some(row) = group(&runs, entry(name), writers) {
                    due.push(format!(
                        "{name:<17} {writers:>7} {:>4} {:>11} {:>11} {:>11} {} {} {} {:>8}",
                        row.runs, row.median, row.low, row.high, padded(quotient(row.median, to, 100), 6),
                        padded(row.spread, 8), padded(quotient(row.jain_ppm, 10_000, 1), 6), row.failures,
                    ));
                }
            }
        }
        let steal: u64 = runs.iter().map(|run| run.steal_ns / 1_000_000).sum();
        due.push(format!("steal time: {steal} ms"));
        due.extend(EXPLAINED.lines().map(str::to_owned));
        prop_assert_eq!(seen, due);
    }

    /// A row that has no room is left out; the others stay.
    #[test]
    fn a_row_without_room_is_left_out(runs in vec(outcome(0..2), 0..14), room in 0usize..7) {
        let plan = plan(&["twa", "ticket"], &[1, 2, 3]);
        let (all, some) = (lines(&plan, &runs, &mut [0; 14]), lines(&plan, &runs, &mut vec![0; room]));
        let count = |line: &String| line.split_whitespace().nth(2).and_then(|text| text.parse::<usize>().ok());
        let rows = 1..all.len() - 11;
        let due = all.iter().enumerate().filter(|(at, line)| !rows.contains(at) || count(line) <= Some(room));
        prop_assert_eq!(some, due.map(|(_, line)| line.clone()).collect::<Vec<_>>());
    }
}

/// An experiment as `make run` prints it.
#[test]
fn a_table_by_hand() {
    let run = |at: usize, acquisitions, min, max, jain_ppm| Outcome {
        lock: &LOCKS[at],
        writers: 2,
        run: 1,
        ns: 2_000_000_000,
        acquisitions,
        min,
        max,
        jain_ppm,
        owner_failures: 0,
        counter_failures: 0,
        order_failures: 0,
        progress_failures: 0,
        hung: 0,
        steal_ns: 1_999_999,
        cs_steps: 20,
        ncs_steps: 400,
        checks: handover_measure::words::Checks::ALL,
        duration: 2,
        stall_secs: 10,
        seed: 1,
        nice: 19,
        first_ticket: None,
        wait_failures: 0,
        deadlock_failures: 0,
        perturbations: Perturbations::OFF,
        perturbed: Perturbed::default(),
    };
    let runs = [
        run(0, 3_000_000, 1_000_000, 2_000_000, 900_000),
        run(4, 1_000_000, 500_000, 500_000, 1_000_000),
        run(4, 3_000_000, 0, 3_000_000, 500_000),
        run(0, 3_000_002, 1_500_001, 1_500_001, 1_000_000),
    ];
    let plan = plan(&["twa", "raw_spin_lock", "ticket"], &[2, 1]);
    let seen = lines(&plan, &runs, &mut [0; 2]);
    assert_eq!(
        seen[1..4],
        [
            "twa                     2    2     1500000     1500000     1500001   1.50     2.00   0.90        0",
            "raw_spin_lock           2    2     1000000      500000     1500000   1.00        -   0.50        0",
            "steal time: 4 ms",
        ]
    );
    assert_eq!(seen[4..].join("\n"), EXPLAINED);
    // Ten lines for ten columns, in their order; and nothing is wider than 100 characters.
    let names = EXPLAINED
        .lines()
        .map(|line| line.split(' ').next().unwrap());
    assert_eq!(
        names.collect::<Vec<_>>(),
        seen[0].split_whitespace().collect::<Vec<_>>()
    );
    assert!(seen.iter().all(|line| line.len() <= 100));
    // The longest name of a lock has no more room.
    assert_eq!(seen[0].find(" writers"), Some("raw_res_spin_lock".len()));
}

/// The table of writers that were perturbed says by what. Of several locks a writer draws one, in another loop.
#[test]
fn perturbed_writers_have_no_figures() {
    let due = |more: &str| {
        let words = format!("torture_type=twa nwriters_stress=2{more}");
        let plan = Plan::<Lock>::default()
            .with(&words)
            .map_err(|why| why.to_string())
            .unwrap();
        lines(&plan, &[], &mut [])
    };
    let plain = due("");
    for words in ["nlocks=7", "stutter=2", "stutter=2 nlocks=7"] {
        let mut perturbed = due(&format!(" {words}"));
        assert_eq!(
            perturbed.remove(2),
            format!("perturbed: {words}: the rates are no figures")
        );
        assert_eq!(perturbed, plain);
    }
    // These say how, and not that anything is done.
    assert_eq!(due(" onoff_holdoff=3 rt_boost_factor=7"), plain);
}
