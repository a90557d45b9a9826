// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Times are kept whole beside the histograms: what these say is found once more from all of them, sorted.

use crate::locks::Lock;
use crate::outcome::outcome;
use crate::table::plan;
use handover_measure::latency::{Clock, Histogram, Latency, Times, BUCKETS};
use handover_measure::outcome::Outcome;
use proptest::collection::vec;
use proptest::prelude::*;

/// Times of every size, often at the edge of a bucket.
fn ticks() -> impl Strategy<Value = u64> {
    let near_edge = (0u32..64, 0u64..3)
        .prop_map(|(bits, off)| (1u64 << bits).saturating_add(off).saturating_sub(1));
    prop_oneof![near_edge, 0u64..5000, any::<u64>(), Just(u64::MAX)]
}

fn histogram(times: &[u64]) -> Histogram {
    let mut histogram = Histogram::EMPTY;
    times.iter().for_each(|&ticks| histogram.add(ticks));
    histogram
}

/// The bucket of a time: how often it can be halved, at most 63.
fn bucket(mut ticks: u64) -> usize {
    let mut halved = 0;
    while ticks > 0 {
        ticks /= 2;
        halved += 1;
    }
    halved.min(63)
}

/// What a histogram is to say of these times. `None` where there is none.
fn due(times: &[u64], percent: u64) -> Option<u64> {
    let mut sorted = times.to_vec();
    sorted.sort_unstable();
    let rank = (sorted.len() as u128 * u128::from(percent))
        .div_ceil(100)
        .max(1) as usize;
    let that = *sorted.get(rank - 1)?;
    let longest = *sorted.last()?;
    Some(match bucket(that) {
        63 => longest,
        bits => ((1u128 << bits) - 1).min(longest.into()) as u64,
    })
}

/// A time in nanoseconds, none too short.
fn ns(ticks: u64, khz: u32) -> u64 {
    (u128::from(ticks) * 1_000_000)
        .div_ceil(khz.into())
        .min(u64::MAX.into()) as u64
}

/// Writers' stamps: arrival, the last release, admission.
fn stamps() -> impl Strategy<Value = (u64, u64, u64)> {
    let stamp = || prop_oneof![1 => Just(0u64), 5 => 1u64..3000];
    (stamp(), stamp(), stamp())
}

proptest! {
    #[test]
    fn a_histogram_has_every_time(times in vec(ticks(), 0..60)) {
        let it = histogram(&times);
        prop_assert_eq!(it.count(), times.len() as u64);
        for at in 0..BUCKETS {
            let due = times.iter().filter(|&&ticks| bucket(ticks) == at).count();
            prop_assert_eq!(it.counts[at], due as u64, "{}", at);
        }
        prop_assert_eq!(it.sum, times.iter().copied().fold(0, u64::wrapping_add));
        prop_assert_eq!(it.longest, times.iter().copied().max().unwrap_or(0));
    }

    #[test]
    fn so_many_are_at_most_that_long(times in vec(ticks(), 0..60), percent in 1u64..=100) {
        let it = histogram(&times);
        prop_assert_eq!(it.at_most(percent), due(&times, percent));
        if let Some(most) = it.at_most(percent) {
            let within = times.iter().filter(|&&ticks| ticks <= most).count() as u64;
            prop_assert!(within * 100 >= percent * times.len() as u64);
        }
    }

    #[test]
    fn the_mean_is_of_all(times in vec(0u64..1 << 50, 0..60)) {
        let (n, sum) = (times.len() as u128, times.iter().copied().map(u128::from).sum::<u128>());
        let due = (2 * sum + n).checked_div(2 * n).map(|it| it as u64);
        prop_assert_eq!(histogram(&times).mean(), due);
    }

    #[test]
    fn joined_is_all_together(mut some in vec(ticks(), 0..30), others in vec(ticks(), 0..30)) {
        let mut both = histogram(&some);
        both.join(&histogram(&others));
        some.extend(others);
        prop_assert_eq!(both, histogram(&some));
    }

    #[test]
    fn a_histogram_is_read_again(times in vec(ticks(), 0..60)) {
        let text = histogram(&times).to_string();
        let words = text.split('+').filter(|&word| word != "none");
        let mut counts = [0u64; BUCKETS];
        let mut last = None;
        for word in words {
            let (bits, count) = word.split_once('=').unwrap();
            let bits: usize = bits.parse().unwrap();
            prop_assert!(last < Some(bits), "{}", text);
            last = Some(bits);
            counts[bits] = count.parse().unwrap();
            prop_assert!(counts[bits] > 0);
        }
        prop_assert_eq!(counts, histogram(&times).counts);
        prop_assert_eq!(text == "none", times.is_empty());
    }

    /// A hand-over is counted where the writer came before the release. No time is less than none.
    #[test]
    fn a_hand_over_is_to_who_waited(all in vec(stamps(), 0..40)) {
        let mut latency = Latency::EMPTY;
        for &(arrived, released, admitted) in &all {
            latency.note(arrived, released, admitted);
        }
        let waits: Vec<u64> = all.iter().map(|&(arrived, _, admitted)| admitted.max(arrived) - arrived).collect();
        let handed = all.iter().filter(|(arrived, released, _)| arrived < released);
        let handovers: Vec<u64> = handed.map(|&(_, released, admitted)| admitted.max(released) - released).collect();
        prop_assert_eq!(latency.wait, histogram(&waits));
        prop_assert_eq!(latency.handover, histogram(&handovers));
    }

    #[test]
    fn ticks_are_nanoseconds(ticks in ticks(), khz in prop_oneof![1u32..9, 1_000_000u32..5_000_000, any::<u32>().prop_map(|it| it.max(1))]) {
        let clock = Clock { khz, stamp_ns: 0 };
        prop_assert_eq!(clock.ns(ticks), ns(ticks, khz));
    }

    /// The quickest try, and none too short.
    #[test]
    fn a_stamp_costs_its_share_of_the_quickest_try(tries in vec(0u64..1 << 30, 0..6), stamps in 0u32..2000, khz in 1u32..5_000_000) {
        let clock = Clock::measured(khz, tries.iter().copied(), stamps);
        prop_assert_eq!(clock.is_some(), !tries.is_empty());
        if let (Some(clock), Some(&least)) = (clock, tries.iter().min()) {
            let stamps = u64::from(stamps.max(1));
            let (stamp_ns, all) = (clock.ns(0) + u64::from(clock.stamp_ns), ns(least, khz));
            prop_assert_eq!(clock.khz, khz);
            if all <= u64::from(u32::MAX) {
                prop_assert!(stamp_ns * stamps >= all && (stamp_ns == 0 || (stamp_ns - 1) * stamps < all));
            }
        }
    }

    /// Each writer has two rows under its own run, and the run two more.
    #[test]
    fn rows_are_of_each_writer_and_of_all((runs, times) in runs_and_times(), khz in 1u32..5_000_000, stamp_ns in 0u32..99) {
        let latencies = latencies(&times);
        let text = Times { runs: &runs, latencies: &latencies, clock: Clock { khz, stamp_ns } }.to_string();
        let mut lines = text.lines();
        prop_assert_eq!(
            lines.next(),
            Some("lock,writers,run,writer,what,count,mean_ns,p50_ns,p99_ns,longest_ns,tsc_khz,stamp_ns,histogram")
        );
        let mut left = &times[..];
        for run in &runs {
            let (mine, others) = left.split_at(run.writers as usize);
            left = others;
            let each = mine.iter().enumerate().map(|(at, these)| ((at + 1).to_string(), these.clone()));
            let all = mine.iter().fold((vec![], vec![]), |(mut a, mut b), (c, d)| {
                a.extend(c);
                b.extend(d);
                (a, b)
            });
            for (writer, (waits, handovers)) in each.chain([("all".to_owned(), all)]) {
                for (what, these) in [("wait", waits), ("handover", handovers)] {
                    let head = format!("{},{},{},{writer},{what}", run.lock.name, run.writers, run.run);
                    let fields = fields(&these, khz).join(",");
                    let due = format!("{head},{},{fields},{khz},{stamp_ns},{}", these.len(), histogram(&these));
                    prop_assert_eq!(lines.next(), Some(&*due));
                }
            }
        }
        prop_assert_eq!(lines.next(), None);
    }

    /// A row of the table has all runs of a lock with its writers, in the plan's order.
    #[test]
    fn the_table_is_of_all_runs((runs, times) in runs_and_times(), khz in 1_000_000u32..5_000_000) {
        let latencies = latencies(&times);
        let plan = plan(&["ticket", "raw_spin_lock", "twa"], &[3, 1]);
        let mut seen = vec![];
        Times { runs: &runs, latencies: &latencies, clock: Clock { khz, stamp_ns: 12 } }
            .table(&plan, |line| seen.push(line.to_string()));
        if times.is_empty() {
            prop_assert!(seen.is_empty());
            return Ok(());
        }
        let mut due = vec![
            "lock              writers     what        count     mean ns      p50 ns      p99 ns    longest ns".to_owned(),
        ];
        let mut of_runs = vec![];
        let mut left = &times[..];
        for run in &runs {
            let (mine, others) = left.split_at(run.writers as usize);
            left = others;
            of_runs.push((run, mine));
        }
        for writers in [3, 1] {
            for lock in ["ticket", "raw_spin_lock", "twa"] {
                let these = || of_runs.iter().filter(|(run, _)| run.lock.name == lock && run.writers == writers);
                if these().count() == 0 {
                    continue;
                }
                let waits: Vec<u64> = these().flat_map(|it| it.1).flat_map(|it| it.0.clone()).collect();
                let handovers: Vec<u64> = these().flat_map(|it| it.1).flat_map(|it| it.1.clone()).collect();
                if waits.is_empty() {
                    continue;
                }
                for (what, times) in [("wait", waits), ("handover", handovers)] {
                    let it = fields(&times, khz);
                    due.push(format!(
                        "{lock:<17} {writers:>7} {what:>8} {:>12} {:>11} {:>11} {:>11} {:>13}",
                        times.len(), it[0], it[1], it[2], it[3]
                    ));
                }
            }
        }
        let rows = due.len();
        prop_assert_eq!(&seen[..rows], &due[..]);
        prop_assert_eq!(seen.len(), rows + 4);
        prop_assert_eq!(&seen[rows], &format!("a stamp takes 12 ns; each time has one in it (TSC: {khz} kHz)"));
        prop_assert!(seen.iter().all(|line| line.len() <= 100));
        // What is known of a number is that so many took no longer.
        prop_assert!(seen[rows + 3].starts_with("p50, p99 ") && seen[rows + 3].contains("at most") && seen[rows + 3].ends_with("twice too much"));
        // What each kind is: from where, and to where.
        for (line, kind, from, to) in [(&seen[rows + 1], "wait ", "asked for", "owned"), (&seen[rows + 2], "handover ", "release", "next owner")] {
            prop_assert!(line.starts_with(kind), "{}", line);
            let place = |what: &str| line.find(what).ok_or_else(|| TestCaseError::fail(format!("no {what}: {line}")));
            prop_assert!(place(from)? < place(" until ")? && place(" until ")? < place(to)?, "{}", line);
        }
    }
}

/// Mean, p50, p99 and longest, as they are written.
fn fields(times: &[u64], khz: u32) -> [String; 4] {
    let sum: u128 = times.iter().copied().map(u128::from).sum();
    let n = times.len() as u128;
    let mean = (2 * sum + n).checked_div(2 * n).map(|it| it as u64);
    let longest = times.iter().copied().max();
    [mean, due(times, 50), due(times, 99), longest]
        .map(|it| it.map_or("-".to_owned(), |ticks| ns(ticks, khz).to_string()))
}

/// The waits and the hand-overs of a writer.
type Taken = (Vec<u64>, Vec<u64>);

/// Some runs, and the times of each of their writers.
fn runs_and_times() -> impl Strategy<Value = (Vec<Outcome<Lock>>, Vec<Taken>)> {
    vec(outcome(0..6), 0..6).prop_flat_map(|runs| {
        let writers: u32 = runs.iter().map(|run| run.writers).sum();
        let times = || prop_oneof![1 => Just(vec![]), 3 => vec(0u64..1 << 34, 0..9)];
        (Just(runs), vec((times(), times()), writers as usize))
    })
}

fn latencies(times: &[Taken]) -> Vec<Latency> {
    times
        .iter()
        .map(|(waits, handovers)| Latency {
            wait: histogram(waits),
            handover: histogram(handovers),
        })
        .collect()
}

#[test]
fn no_times_are_no_rows() {
    let times = Times::<Lock> {
        runs: &[],
        latencies: &[],
        clock: Clock {
            khz: 1,
            stamp_ns: 1,
        },
    };
    assert_eq!(times.to_string().lines().count(), 1);
}

#[test]
fn a_clock_that_stands_divides_nothing() {
    let clock = Clock {
        khz: 0,
        stamp_ns: 1,
    };
    assert_eq!(clock.ns(3), 3_000_000);
    assert_eq!(clock.to_string(), "tsc_khz=0 stamp_ns=1");
}

#[test]
fn a_stamp_costs_what_the_quickest_try_did() {
    for tries in [[70, 50, 90], [50, 90, 70], [90, 70, 50]] {
        // Of 50 ticks and ten stamps.
        let clock = Clock::measured(1_000_000, tries.into_iter(), 10);
        assert_eq!(
            clock.map(|clock| (clock.khz, clock.stamp_ns)),
            Some((1_000_000, 5))
        );
    }
    assert_eq!(Clock::measured(1, [].into_iter(), 10), None);
}
