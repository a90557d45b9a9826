// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What is said of a run: each number stands where its name says.

use crate::locks::{Lock, LOCKS};
use crate::perturb::{done, perturbations, perturbed, words};
use handover_measure::outcome::{Failures, Line, Now, Outcome, Progress, Rows, Share, Shares};
use handover_measure::words::Checks;
use proptest::prelude::*;

/// Any run of the locks at `places`, with some of a few numbers of writers. A failure is seldom.
pub(crate) fn outcome(places: std::ops::Range<usize>) -> impl Strategy<Value = Outcome<Lock>> {
    let failures = || prop_oneof![4 => Just(0u64), 1 => 0u64..9, 1 => Just(u64::MAX)];
    (
        (places, 1u32..4, 1u32..99, 0u64..1 << 40, 0u64..1 << 40),
        (
            0u64..100,
            0u64..400,
            0u64..=1_000_000,
            failures(),
            failures(),
            failures(),
        ),
        (
            failures(),
            failures(),
            0u64..1 << 40,
            any::<u32>(),
            any::<u32>(),
        ),
        (
            any::<u32>(),
            any::<u32>(),
            any::<u64>(),
            any::<i32>(),
            any::<Option<u32>>(),
        ),
        (failures(), perturbations(), perturbed(), failures()),
    )
        .prop_map(|(a, b, c, d, e)| Outcome {
            lock: &LOCKS[a.0],
            writers: a.1,
            run: a.2,
            ns: a.3,
            acquisitions: a.4,
            min: b.0,
            max: b.1,
            jain_ppm: b.2,
            owner_failures: b.3,
            counter_failures: b.4,
            order_failures: b.5,
            progress_failures: c.0,
            hung: c.1,
            steal_ns: c.2,
            cs_steps: c.3,
            ncs_steps: c.4,
            checks: Checks::parse("counter,progress").unwrap(),
            duration: d.0,
            stall_secs: d.1,
            seed: d.2,
            nice: d.3,
            first_ticket: d.4,
            wait_failures: e.0,
            perturbations: e.1,
            perturbed: e.2,
            deadlock_failures: e.3,
        })
}

/// All failures, in wider numbers.
pub(crate) fn failures(run: &Outcome<Lock>) -> u128 {
    let each = [
        run.owner_failures,
        run.counter_failures,
        run.order_failures,
        run.progress_failures,
        run.wait_failures,
        run.deadlock_failures,
        run.hung,
    ];
    each.into_iter()
        .map(u128::from)
        .sum::<u128>()
        .min(u64::MAX.into())
}

proptest! {
    #[test]
    fn a_row_has_each_number_in_its_column(runs in prop::collection::vec(outcome(0..8), 0..5)) {
        let text = Rows(&runs).to_string();
        prop_assert!(text.ends_with('\n'));
        let mut lines = text.lines();
        let header: Vec<&str> = lines.next().unwrap().split(',').collect();
        prop_assert_eq!(lines.clone().count(), runs.len());
        for (line, run) in lines.zip(&runs) {
            let fields: Vec<&str> = line.split(',').collect();
            prop_assert_eq!(fields.len(), header.len());
            for (&column, &field) in header.iter().zip(&fields) {
                let due = match column {
                    "lock" => run.lock.name.to_owned(),
                    "writers" => run.writers.to_string(),
                    "run" => run.run.to_string(),
                    "seconds" => format!("{}.{:06}", run.ns / 1_000_000_000, run.ns % 1_000_000_000 / 1000),
                    "acquisitions" => run.acquisitions.to_string(),
                    "min" => run.min.to_string(),
                    "max" => run.max.to_string(),
                    "failures" => failures(run).to_string(),
                    "owner_failures" => run.owner_failures.to_string(),
                    "counter_failures" => run.counter_failures.to_string(),
                    "order_failures" => run.order_failures.to_string(),
                    "progress_failures" => run.progress_failures.to_string(),
                    "wait_failures" => run.wait_failures.to_string(),
                    "deadlock_failures" => run.deadlock_failures.to_string(),
                    "hung" => run.hung.to_string(),
                    "jain" => format!("{:.6}", run.jain_ppm as f64 / 1e6),
                    "steal_ns" => run.steal_ns.to_string(),
                    "cs_steps" => run.cs_steps.to_string(),
                    "ncs_steps" => run.ncs_steps.to_string(),
                    "checks" => "counter+progress".to_owned(),
                    "duration" => run.duration.to_string(),
                    "stall_secs" => run.stall_secs.to_string(),
                    "seed" => run.seed.to_string(),
                    "nice" => run.nice.to_string(),
                    "first_ticket" => run.first_ticket.map_or("-".to_owned(), |it| it.to_string()),
                    "perturbations" => words(&run.perturbations, "+"),
                    "perturbed" => done(&run.perturbed, "+"),
                    _ => panic!("no column {column}"),
                };
                prop_assert_eq!(field, due, "{}", column);
            }
        }
        let columns: std::collections::HashSet<&str> = header.iter().copied().collect();
        prop_assert_eq!((columns.len(), header.len()), (27, 27));
    }

    /// Each writer has a row under its own run, wherever that stands.
    #[test]
    fn each_writer_has_a_row(
        (runs, numbers) in prop::collection::vec(outcome(0..8), 0..5).prop_flat_map(|runs| {
            let writers: u32 = runs.iter().map(|run| run.writers).sum();
            (Just(runs), prop::collection::vec(any::<[u64; 6]>(), writers as usize))
        }),
    ) {
        let shares: Vec<Share> = numbers
            .iter()
            .map(|it| Share { acquisitions: it[0], total: it[1], owner_failures: it[2], order_failures: it[3], wait_failures: it[4], deadlock_failures: it[5] })
            .collect();
        let text = Shares { runs: &runs, shares: &shares }.to_string();
        let mut lines = text.lines();
        prop_assert_eq!(lines.next(), Some("lock,writers,run,writer,acquisitions,total,owner_failures,order_failures,wait_failures,deadlock_failures"));
        let mut left = &numbers[..];
        for run in &runs {
            let (mine, others) = left.split_at(run.writers as usize);
            left = others;
            for (index, it) in mine.iter().enumerate() {
                let due = format!("{},{},{},{},{},{},{},{},{},{}", run.lock.name, run.writers, run.run, index + 1, it[0], it[1], it[2], it[3], it[4], it[5]);
                prop_assert_eq!(lines.next(), Some(&*due));
            }
        }
        prop_assert_eq!(lines.next(), None);
    }

    #[test]
    fn a_run_is_told_in_locktortures_words(run in outcome(0..8)) {
        let failures = failures(&run);
        let due = [
            format!("{}-torture: Writes:  Total: {}  ", run.lock.name, run.acquisitions),
            format!("Max/Min: {}/{} ", run.max, run.min),
            if run.max > 2 * run.min + 1 { "???".to_owned() } else { String::new() },
            format!("  Fail: {failures} "),
            if failures > 0 { "!!! ".to_owned() } else { String::new() },
            format!("({} writers, run {}, steal {} ms", run.writers, run.run, run.steal_ns / 1_000_000),
            run.first_ticket.map_or(String::new(), |first| format!(", first ticket {first}")),
            ")".to_owned(),
        ];
        prop_assert_eq!(Line(&run).to_string(), due.concat());
        let due = format!(
            "{}: failures: owner {}, counter {}, order {}, progress {}, wait {}, deadlock {}, hung {}",
            run.lock.name, run.owner_failures, run.counter_failures, run.order_failures, run.progress_failures,
            run.wait_failures, run.deadlock_failures, run.hung
        );
        prop_assert_eq!(Failures(&run).to_string(), due);
    }

    #[test]
    fn a_run_is_cut_and_has_a_rate(mut run in outcome(0..8), seconds in 0u32..2000) {
        run.duration = seconds;
        let due = seconds == 0 || u128::from(run.ns) < u128::from(seconds) * 1_000_000_000;
        prop_assert_eq!(run.is_cut(), due);
        let micros = u128::from(run.ns / 1000);
        let due = (u128::from(run.acquisitions) * 1_000_000).checked_div(micros).unwrap_or(0);
        prop_assert_eq!(u128::from(run.rate()), due);
    }
}

#[test]
fn a_run_that_runs_says_how_far_it_is() {
    let progress = Progress {
        lock: &LOCKS[1],
        writers: 4,
        run: 2,
        elapsed_ms: 1050,
        acquisitions: 77,
    };
    let now = |duration| {
        let progress = &progress;
        let runs = 7;
        Now {
            progress,
            runs,
            duration,
        }
        .to_string()
    };
    assert_eq!(
        now(30),
        "ticket with 4 writers, run 2 of 7: 1.050 s of 30 s, 77 acquisitions"
    );
    assert_eq!(
        now(0),
        "ticket with 4 writers, run 2 of 7: 1.050 s, 77 acquisitions"
    );
}
