// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What the membarrier of a thread that goes to sleep costs a thread that runs.
//!
//! `MEMBARRIER_CMD_PRIVATE_EXPEDITED` interrupts each CPU that runs a thread of the process. Here one thread takes and
//! releases a ticket lock that nobody else wants. Another thread, on another CPU, calls membarrier so many times a second.
//! Where it makes none it is as busy.

use std::{
    error::Error,
    fmt::Write,
    fs,
    path::Path,
    sync::{
        atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
        Barrier,
    },
    thread,
    time::{Duration, Instant},
};

use handover_measure::{
    order,
    statistics::{hundredths, insertion_sort, median},
};
use handover_user::{register_barrier, Park, Ticket};
use rustix::thread::{membarrier, sched_getaffinity, sched_setaffinity, CpuSet, MembarrierCommand};

use crate::{
    methods::{Method, Raw},
    pairs::{add, Line},
};

/// Membarriers a second; none, and as many as it can.
const RATES: [(&str, Option<u32>); 5] = [
    ("none", Some(0)),
    ("1000", Some(1000)),
    ("10000", Some(10_000)),
    ("50000", Some(50_000)),
    ("as many as it can", None),
];

/// A rate's round.
#[derive(Clone, Copy, Debug)]
struct Sample {
    rate: &'static str,
    round: u32,
    /// Nanoseconds of all pairs.
    ns: u64,
    /// The membarriers in that time.
    calls: u64,
    /// Nanoseconds of those calls, for who makes them.
    call_ns: u64,
}

fn go_to(cpu: usize) -> rustix::io::Result<()> {
    let mut one = CpuSet::new();
    one.set(cpu);
    sched_setaffinity(None, &one)
}

/// Two CPUs that this thread may use.
fn two_cpus() -> Result<[usize; 2], Box<dyn Error>> {
    let allowed = sched_getaffinity(None)?;
    let mut cpus = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu));
    match (cpus.next(), cpus.next()) {
        (Some(first), Some(second)) => Ok([first, second]),
        _ => Err("interrupted: 1 CPU: allowed: 2 or more".into()),
    }
}

/// Calls membarrier at most so many times a second until `is_over`, and counts the calls and their nanoseconds.
fn interrupt(rate: Option<u32>, is_over: &AtomicBool, calls: &AtomicU64, call_ns: &AtomicU64) {
    let mut last: Option<Instant> = None;
    while !is_over.load(Relaxed) {
        let is_due = match rate {
            None => true,
            Some(0) => false,
            Some(rate) => last.is_none_or(|last| last.elapsed() >= Duration::from_secs(1) / rate),
        };
        if is_due {
            let call = Instant::now();
            membarrier(MembarrierCommand::PrivateExpedited).expect("it is registered");
            let ns = call.elapsed().as_nanos() as u64;
            last = Some(call);
            // One thread writes them.
            call_ns.store(call_ns.load(Relaxed) + ns, Relaxed);
            calls.store(calls.load(Relaxed) + 1, Relaxed);
        }
    }
}

/// The time of so many pairs, while the other CPU calls membarrier.
///
/// # Panics
///
/// If a section is lost, or a CPU refuses a thread.
fn measure(cpus: [usize; 2], rate: (&'static str, Option<u32>), round: u32, pairs: u64) -> Sample {
    let is_over = &Line(AtomicBool::new(false));
    let [calls, call_ns] = &[0, 0].map(|zero| Line(AtomicU64::new(zero)));
    let begin = &Barrier::new(2);
    let (ns, calls, call_ns) = thread::scope(|scope| {
        scope.spawn(move || {
            go_to(cpus[1]).expect("an own CPU");
            begin.wait();
            interrupt(rate.1, &is_over.0, &calls.0, &call_ns.0);
        });
        let reader = scope.spawn(move || {
            let lock = Line(Raw::<Ticket<Park>>::new());
            let counter = Line(AtomicU64::new(0));
            go_to(cpus[0]).expect("an own CPU");
            begin.wait();
            let before = (calls.0.load(Relaxed), call_ns.0.load(Relaxed));
            let from = Instant::now();
            for _ in 0..pairs {
                lock.0.with(|| add(&counter.0));
            }
            let ns = from.elapsed().as_nanos() as u64;
            let after = (calls.0.load(Relaxed), call_ns.0.load(Relaxed));
            is_over.0.store(true, Relaxed);
            assert_eq!(counter.0.into_inner(), pairs, "a section is lost");
            (ns, after.0 - before.0, after.1 - before.1)
        });
        reader.join().expect("it counts")
    });
    Sample {
        rate: rate.0,
        round,
        ns,
        calls,
        call_ns,
    }
}

/// A line of the table.
#[derive(Debug, PartialEq, Eq)]
struct Row {
    rate: &'static str,
    /// Membarriers a second, as made: the median of the rounds.
    made: u64,
    /// Hundredths of the time without any: the median of the rounds' ratios, the least and the most.
    ratio: [u64; 3],
    /// Nanoseconds that a membarrier takes from the thread that it interrupts: the same three.
    lost: Option<[i64; 3]>,
    /// Nanoseconds of a call: the same three.
    call: Option<[u64; 3]>,
}

fn spread(mut values: Vec<u64>) -> Option<[u64; 3]> {
    insertion_sort(&mut values);
    Some([median(&values)?, *values.first()?, *values.last()?])
}

/// The rows, one a rate. Each round is compared with its own round without membarriers.
fn rows(samples: &[Sample]) -> Option<Vec<Row>> {
    RATES
        .iter()
        .map(|(rate, _)| {
            let (mut made, mut ratios, mut call) = (vec![], vec![], vec![]);
            let mut lost: Vec<i64> = vec![];
            for sample in samples.iter().filter(|sample| sample.rate == *rate) {
                let quiet = samples
                    .iter()
                    .find(|other| (other.rate, other.round) == (RATES[0].0, sample.round))?;
                ratios.push(hundredths(sample.ns, quiet.ns)?);
                made.push(
                    (u128::from(sample.calls) * 1_000_000_000 / u128::from(sample.ns)) as u64,
                );
                if sample.calls > 0 {
                    lost.push((sample.ns as i64 - quiet.ns as i64) / sample.calls as i64);
                    call.push(sample.call_ns / sample.calls);
                }
            }
            lost.sort_unstable();
            let lost = match lost[..] {
                [] => None,
                [.., last] => Some([lost[lost.len() / 2], lost[0], last]),
            };
            Some(Row {
                rate,
                made: spread(made)?[0],
                ratio: spread(ratios)?,
                lost,
                call: spread(call),
            })
        })
        .collect()
}

fn table(rows: &[Row]) -> String {
    let mut text = String::from(
        "| wanted a second | made a second | time to none | least | most | ns lost to one | least | most | ns a call |\n\
         |---|---|---|---|---|---|---|---|---|\n",
    );
    for row in rows {
        let [middle, least, most] = row
            .ratio
            .map(|ratio| format!("{}.{:02}", ratio / 100, ratio % 100));
        let _ = write!(
            text,
            "| {} | {} | {middle} | {least} | {most} ",
            row.rate, row.made
        );
        let _ = match row.lost {
            Some([middle, least, most]) => write!(text, "| {middle} | {least} | {most} "),
            None => write!(text, "| | | "),
        };
        let _ = match row.call {
            Some([middle, ..]) => writeln!(text, "| {middle} |"),
            None => writeln!(text, "| |"),
        };
    }
    text
}

pub(crate) fn run(folder: &Path, rounds: u32, pairs: u64) -> Result<(), Box<dyn Error>> {
    if !register_barrier() {
        return Err("interrupted: the kernel refuses membarrier".into());
    }
    let cpus = two_cpus()?;
    let mut samples = Vec::new();
    for round in 0..rounds {
        eprintln!("interrupted: round {} of {rounds}", round + 1);
        for index in order::from(round as usize, RATES.len()) {
            samples.push(measure(cpus, RATES[index], round, pairs));
        }
    }
    fs::create_dir_all(folder)?;
    let mut csv = csv::Writer::from_path(folder.join("user-interrupted.csv"))?;
    csv.write_record(["rate", "round", "pairs", "ns", "calls", "call_ns"])?;
    for sample in &samples {
        csv.write_record([
            sample.rate,
            &sample.round.to_string(),
            &pairs.to_string(),
            &sample.ns.to_string(),
            &sample.calls.to_string(),
            &sample.call_ns.to_string(),
        ])?;
    }
    csv.flush()?;
    print!(
        "{}",
        table(&rows(&samples).ok_or("a round without its quiet one")?)
    );
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(rate: usize, round: u32, ns: u64, calls: u64) -> Sample {
        Sample {
            rate: RATES[rate].0,
            round,
            ns,
            calls,
            call_ns: calls * 700,
        }
    }

    #[test]
    fn a_loss_is_shared_among_the_calls_of_its_own_round() {
        // The second round's machine is twice as slow.
        let mut samples = vec![];
        for (round, slow) in [(0, 1), (1, 2), (2, 1)] {
            samples.push(sample(0, round, 1_000_000 * slow, 0));
            for rate in 1..RATES.len() {
                let calls = 100 * rate as u64;
                samples.push(sample(rate, round, 1_000_000 * slow + calls * 500, calls));
            }
        }
        let rows = rows(&samples).expect("each round has its quiet one");
        assert_eq!(rows.len(), RATES.len());
        assert_eq!((rows[0].made, rows[0].lost, rows[0].call), (0, None, None));
        for (rate, row) in rows.iter().enumerate().skip(1) {
            assert_eq!(row.lost, Some([500; 3]));
            assert_eq!(row.call, Some([700; 3]));
            assert_eq!(row.ratio[2], 100 + 5 * rate as u64);
            assert!(row.ratio[1] < row.ratio[2]);
        }
        assert_eq!(rows[1].made, 100 * 1_000_000_000 / 1_050_000);
        let text = table(&rows);
        assert_eq!(
            text.lines().nth(3),
            Some("| 1000 | 95238 | 1.05 | 1.03 | 1.05 | 500 | 500 | 500 | 700 |")
        );
    }

    #[test]
    fn a_round_without_its_quiet_one_has_no_ratio() {
        assert_eq!(rows(&[sample(0, 0, 1, 0), sample(1, 1, 1, 1)]), None);
    }

    #[test]
    fn calls_are_made_at_the_rate_and_none_where_none_is_wanted() {
        assert!(register_barrier(), "this kernel has membarrier");
        let cpus = two_cpus().expect("two CPUs");
        let quiet = measure(cpus, RATES[0], 0, 1_000_000);
        assert_eq!((quiet.calls, quiet.call_ns), (0, 0));
        let paced = measure(cpus, RATES[2], 0, 5_000_000);
        // A call is a period after the one before. The first and the last may be on an edge.
        let due = paced.ns * 10_000 / 1_000_000_000;
        assert!(
            paced.calls >= 1 && paced.calls <= due + 2,
            "{} of {due}",
            paced.calls
        );
        assert!(paced.call_ns > 0);
    }
}
