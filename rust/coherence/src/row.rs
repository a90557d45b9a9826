// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A run as a row of a table.

use crate::{
    bench::{Outcome, Part, Settings},
    engine::Counts,
    line::Distance,
    locks::Lock,
};

/// The columns. Counts of traffic are of an acquisition. Counts of a hand-over are of one to a thread that waited. It lasts
/// from the call of `unlock` until the next owner is in. They are empty where nobody waited.
pub const COLUMNS: [&str; 31] = [
    "workload",
    "lock",
    "threads",
    "machine",
    "topology",
    "slots",
    "seed",
    "section_ns",
    "between_ns",
    "warm_up_ns",
    "time_ns",
    "rounds",
    "acquisitions",
    "handovers",
    "millions_per_s",
    "handover_p50_ns",
    "handover_p90_ns",
    "handover_p99_ns",
    "jain",
    "invalidations_per_handover",
    "rereads_per_handover",
    "far_per_handover",
    "lock_invalidations",
    "slot_invalidations",
    "node_invalidations",
    "release_invalidations",
    "looks_again",
    "sibling_transfers",
    "socket_transfers",
    "far_transfers",
    "failed_exchanges",
];

/// The row of a run with the costs of the machine of this number.
///
/// # Examples
///
/// ```
/// use coherence::{lock, row, Settings, Workload, COLUMNS};
///
/// let settings = Settings::new(Workload::Throw, 2, 1);
/// let lock = lock("mcs").unwrap();
/// let outcome = (lock.run)(&settings).unwrap();
/// let row = row(lock, 0, &settings, &outcome);
/// assert_eq!((&row[0][..], &row[1][..]), ("throw", "mcs"));
/// assert_eq!((COLUMNS[11], row[11].parse()), ("rounds", Ok(outcome.rounds)));
/// ```
pub fn row(
    lock: &Lock,
    machine: usize,
    settings: &Settings,
    outcome: &Outcome,
) -> [String; COLUMNS.len()] {
    let each = |count| format!("{:.2}", outcome.of_each(count));
    let handover = |count| {
        let each = outcome.of_each_handover(count);
        each.map_or_else(String::new, |it| format!("{it:.2}"))
    };
    let all = |of: fn(&Counts) -> u64| outcome.all(of);
    let part = |part: Part| outcome.counts[part as usize].invalidations;
    let from = |distance: Distance| outcome.all(|counts| counts.transfers[distance as usize]);
    let ns = |quantile| {
        let ps = outcome.handovers.value_at_quantile(quantile);
        match outcome.contended {
            0 => String::new(),
            _ => format!("{:.1}", ps as f64 / 1000.0),
        }
    };
    let times = settings.workload.times(&settings.costs);
    [
        settings.workload.name().to_owned(),
        lock.name.to_owned(),
        settings.threads.to_string(),
        machine.to_string(),
        settings.topology.to_string(),
        settings.slots.to_string(),
        settings.seed.to_string(),
        format!("{:.1}", times.section),
        format!("{:.1}", times.between.1),
        settings.warm_up.to_string(),
        settings.time.to_string(),
        outcome.rounds.to_string(),
        outcome.sum().to_string(),
        outcome.contended.to_string(),
        format!("{:.3}", outcome.millions_a_second()),
        ns(0.5),
        ns(0.9),
        ns(0.99),
        format!("{:.4}", outcome.jain()),
        handover(outcome.during.invalidations),
        handover(outcome.during.looks_again),
        handover(outcome.during.far),
        each(part(Part::Lock)),
        each(part(Part::Slots)),
        each(part(Part::Nodes)),
        each(all(|counts| counts.released)),
        each(all(|counts| counts.looks_again)),
        each(from(Distance::Sibling)),
        each(from(Distance::Socket)),
        each(from(Distance::Far)),
        each(all(|counts| counts.failed)),
    ]
}
