// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The simulated CPUs.

use super::*;

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
