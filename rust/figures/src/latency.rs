// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Waits and hand-overs of the kernel's locks (`make bench-kernel`).

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use crate::bars::{Bars, Group, Row};
use crate::figure::{Axis, Unit};
use crate::finding::{counted, range, times};
use crate::kernel::{firsts, look_of, print, BASE, MARKS, OURS};
use crate::sheet::{self, Checked};
use crate::spread::Spread;

/// The times, as a table and a reader call them; the one that a title is of comes first.
const TIMES: [(&str, &str); 2] = [("handover", "hand-over"), ("wait", "wait")];

#[derive(Deserialize)]
struct Times {
    kernel: String,
    boot: u32,
    lock: String,
    writers: u32,
    run: u32,
    what: String,
    count: u64,
    p99_ns: f64,
    longest_ns: f64,
    tsc_khz: f64,
    histogram: String,
}

impl Times {
    /// The median in nanoseconds, as if a bucket's times were spread evenly over it. None where the histogram has not
    /// `count` times, bucket by bucket.
    fn half(&self) -> Option<f64> {
        let (mut sum, mut half, mut last) = (0, None, None);
        for word in self.histogram.split('+') {
            let (bits, times) = word.split_once('=')?;
            let (bits, times): (i32, u64) = (bits.parse().ok()?, times.parse().ok()?);
            if last >= Some(bits) || !(0..64).contains(&bits) || times == 0 {
                return None;
            }
            last = Some(bits);
            let left = self.count as f64 / 2.0 - sum as f64;
            sum += times;
            if half.is_none() && left <= times as f64 {
                let low = if bits == 0 { 0.0 } else { 2_f64.powi(bits - 1) };
                let ticks = low + left / times as f64 * (2_f64.powi(bits) - low);
                half = Some(ticks * 1e6 / self.tsc_khz);
            }
        }
        half.filter(|_| sum == self.count)
    }
}

impl Checked for Times {
    const COLUMNS: &'static [&'static str] = &[
        "kernel",
        "boot",
        "lock",
        "writers",
        "run",
        "what",
        "count",
        "p99_ns",
        "longest_ns",
        "tsc_khz",
        "histogram",
    ];

    fn wrong(&self) -> Option<(&'static str, &'static str)> {
        match () {
            // Who has nobody beside it is handed nothing.
            () if self.writers < 2 => Some(("writers", "from 2")),
            () if TIMES.iter().all(|it| it.0 != self.what) => Some(("what", "handover, wait")),
            () if self.count == 0 => Some(("count", "from 1")),
            () if !(self.tsc_khz.is_finite() && self.tsc_khz > 0.0) => {
                Some(("tsc_khz", "a number above 0"))
            }
            () if self.half().is_none() => Some((
                "histogram",
                "bits=count words joined by +, that are `count` together",
            )),
            () if !self.longest_ns.is_finite() => Some(("longest_ns", "a number")),
            () if !(self.p99_ns >= 0.0 && self.p99_ns <= self.longest_ns) => {
                Some(("p99_ns", "0 to longest_ns"))
            }
            () => None,
        }
    }

    fn identity(&self) -> String {
        let Self {
            kernel,
            boot,
            lock,
            writers,
            run,
            what,
            ..
        } = self;
        format!("kernel {kernel}, boot {boot}, lock {lock}, {writers} writers, run {run}, {what}")
    }
}

/// The times of a lock, a kernel and a number of writers, over boots.
struct Found {
    /// The boots' medians to those of [`BASE`].
    ratio: Spread,
    /// What stands beside the bar.
    note: String,
}

/// Median waits and hand-overs to those of `raw_spin_lock` in the same run. A group a time, kernel and number of writers. A
/// boot's figure is the median of its runs. Beside a bar stand the medians of the boots' percentiles, and the longest time.
///
/// # Errors
/// The errors of [`sheet::read`]; and where a run has no row of `raw_spin_lock`.
pub fn latency(path: &Path, file: &str, remarks: &[String]) -> Result<Bars, String> {
    let rows: Vec<Times> = sheet::read(path)?;
    let kernels = firsts(rows.iter().map(|it| &it.kernel[..]));
    let locks = firsts(rows.iter().map(|it| &it.lock[..]));
    let mut writers: Vec<u32> = rows.iter().map(|it| it.writers).collect();
    writers.sort_unstable();
    writers.dedup();
    let key = |it: &Times| {
        (
            it.kernel.clone(),
            it.boot,
            it.writers,
            it.run,
            it.what.clone(),
        )
    };
    let bases = rows.iter().filter(|it| it.lock == BASE);
    let half = |it: &Times| it.half().unwrap_or(0.0);
    let bases: BTreeMap<_, f64> = bases.map(|it| (key(it), half(it))).collect();
    if let Some(row) = rows.iter().find(|it| !bases.contains_key(&key(it))) {
        let of = row.identity();
        return Err(format!(
            "{}: {of}: no row of {BASE} beside it; allowed: one",
            path.display()
        ));
    }
    let found = |what: &str, kernel: &str, writers: u32, lock: &str| -> Option<Found> {
        let these = || {
            rows.iter().filter(move |it| {
                it.what == what && it.kernel == kernel && it.writers == writers && it.lock == lock
            })
        };
        let of_boots = |value: &dyn Fn(&Times) -> f64| {
            let mut boots: BTreeMap<u32, Vec<f64>> = BTreeMap::new();
            for row in these() {
                boots.entry(row.boot).or_default().push(value(row));
            }
            let medians = boots.into_values();
            Spread::of(medians.filter_map(|runs| Some(Spread::of(runs.into_iter())?.median)))
        };
        let time = |value: f64| times(std::iter::once(value)).unwrap_or_default();
        let ratio = of_boots(&|it| half(it) / bases[&key(it)])?;
        let note = format!(
            "{:.2} ({}; p99 {}, longest {})",
            ratio.median,
            time(of_boots(&half)?.median),
            time(of_boots(&|it| it.p99_ns)?.median),
            time(these().map(|it| it.longest_ns).fold(0.0, f64::max)),
        );
        Some(Found { ratio, note })
    };
    let mut groups = Vec::new();
    for (what, name) in TIMES {
        for kernel in &kernels {
            for &writers in &writers {
                let row = |lock: &&str| {
                    let Found { ratio, note } = found(what, kernel, writers, lock)?;
                    Some(Row {
                        name: (*lock).to_owned(),
                        value: ratio,
                        note,
                        look: look_of(lock),
                    })
                };
                let rows: Vec<Row> = locks.iter().filter_map(row).collect();
                let of = counted(writers as usize, "writer");
                if !rows.is_empty() {
                    groups.push(Group {
                        title: format!("{kernel} kernel, {of}: {name}"),
                        rows,
                    });
                }
            }
        }
    }
    let handovers = |lock: &str| -> Vec<Spread> {
        let points = kernels
            .iter()
            .flat_map(|kernel| writers.iter().map(move |it| (kernel, *it)));
        points
            .filter_map(|(kernel, writers)| Some(found(TIMES[0].0, kernel, writers, lock)?.ratio))
            .collect()
    };
    let ours = OURS.map(|(lock, name)| (handovers(lock), name));
    let medians: Vec<String> = ours
        .iter()
        .filter_map(|(spreads, name)| {
            let medians = spreads.iter().map(|it| it.median);
            Some(format!("{name} {}", range(medians)?))
        })
        .collect();
    let ends = ours.iter().flat_map(|it| &it.0);
    let title = match range(ends.flat_map(|it| [it.least, it.most])) {
        None => "Waits and hand-overs beside the kernel's spinlock".to_owned(),
        Some(all) => format!(
            "The median hand-over, to the kernel's spinlock's: {}; single boots {all}",
            medians.join(", ")
        ),
    };
    let boots = firsts(rows.iter().map(|it| it.boot)).len();
    let what = format!(
        "median times; medians of {boots} boots' ratios to {BASE} in the same run; lines: least to most boot"
    );
    let words = [
        "hand-over: from before the release until the next owner has the lock, if that one waited; \
         wait: from before the lock is asked for",
        "medians: of histograms by powers of two, as if each bucket's times were spread evenly; p99: the median of boots' upper bounds",
        MARKS,
    ];
    let mut small_print = print(what, remarks);
    small_print.splice(1..1, words.map(String::from));
    Ok(Bars {
        file: file.to_owned(),
        title,
        axis: Axis {
            name: "median time, to raw_spin_lock's",
            unit: Unit::Number,
        },
        groups,
        legend: Vec::new(),
        small_print,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A group, as its title and what each bar says.
    type Said = (String, Vec<(String, Spread, String)>);

    fn said(groups: &[Group]) -> Vec<Said> {
        let row = |it: &Row| (it.name.clone(), it.value, it.note.clone());
        groups
            .iter()
            .map(|it| (it.title.clone(), it.rows.iter().map(row).collect()))
            .collect()
    }

    /// A group is the same whether or not there are other kernels, numbers of writers and times.
    #[test]
    fn a_group_is_of_its_rows_alone() {
        let head = "kernel,boot,lock,writers,run,what,count,p99_ns,longest_ns,tsc_khz,histogram";
        let mut rows = Vec::new();
        let mut bucket = 0;
        for kernel in ["a", "b"] {
            for writers in [2, 4, 8] {
                for (what, _) in TIMES {
                    for boot in 1..=2 {
                        for lock in [BASE, "twa"] {
                            // No two rows have the same times.
                            bucket += 1;
                            let (p99, longest) = (1000 * bucket, 1001 * bucket);
                            let histogram = format!("{}=4+{}=5", bucket % 40, bucket % 40 + 1);
                            let run = format!("{kernel},{boot},{lock},{writers},1,{what},9");
                            let row = format!("{run},{p99},{longest},1000000,{histogram}");
                            rows.push((format!("{kernel} {writers} {what}"), row));
                        }
                    }
                }
            }
        }
        let dir = tempfile::tempdir().unwrap();
        let drawn = |rows: &[&str]| {
            let path = dir.path().join("t.csv");
            std::fs::write(&path, format!("{head}\n{}\n", rows.join("\n"))).unwrap();
            said(&latency(&path, "t.svg", &[]).unwrap().groups)
        };
        let all: Vec<&str> = rows.iter().map(|(_, row)| &row[..]).collect();
        let mut due = Vec::new();
        let mut points: Vec<&str> = rows.iter().map(|(point, _)| &point[..]).collect();
        points.dedup();
        for point in points {
            let these: Vec<&str> = rows
                .iter()
                .filter_map(|(of, row)| (of == point).then_some(&row[..]))
                .collect();
            due.extend(drawn(&these));
        }
        let mut seen = drawn(&all);
        seen.sort_by(|a, b| a.0.cmp(&b.0));
        due.sort_by(|a, b| a.0.cmp(&b.0));
        assert_eq!(seen.len(), 12);
        assert_eq!(seen, due);
    }

    #[test]
    fn half_of_the_times_are_before_the_median() {
        let half = |histogram: &str, count| {
            let it = Times {
                kernel: String::new(),
                boot: 1,
                lock: String::new(),
                writers: 2,
                run: 1,
                what: String::new(),
                count,
                p99_ns: 0.0,
                longest_ns: 0.0,
                tsc_khz: 500_000.0,
                histogram: histogram.to_owned(),
            };
            it.half()
        };
        // A tick is 2 ns. The first two are at a bucket's edge.
        assert_eq!(half("6=4+8=4", 8), Some(128.0));
        assert_eq!(half("6=4+7=4+8=8", 16), Some(256.0));
        assert_eq!(half("7=4", 4), Some(192.0));
        assert_eq!(half("7=3", 3), Some(192.0));
        assert_eq!(half("6=2+8=6", 8), Some(2.0 * (128.0 + 128.0 / 3.0)));
        assert_eq!(half("0=3+9=1", 4), Some(2.0 * 2.0 / 3.0));
    }
}
