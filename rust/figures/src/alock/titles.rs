// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What ALock's figures say above: how it does beside the others.

use std::collections::BTreeMap;

use super::medians::{Medians, Table};
use super::row::{Key, Lock};
use crate::figure::Panel;
use crate::finding::{count, counted, counts, range};

/// The lock that ALock is compared with: the first that is there.
const BESIDE: [(Lock, &str); 2] = [(Lock::RdmaSpin, "the spinlock"), (Lock::RdmaMcs, "MCS")];

/// `alock / other`, of what both have points of, with the locality at which it is taken.
/// That is the highest below 100 %, or else the highest.
fn beside(values: &BTreeMap<Key, f64>) -> Option<(&'static str, u8, Vec<f64>)> {
    let alocks = || values.iter().filter(|(key, _)| key.lock == Lock::Alock);
    let localities = || alocks().map(|(key, _)| key.locality);
    let below = localities().filter(|it| *it < 100).max();
    let locality = below.or_else(|| localities().max())?;
    BESIDE.into_iter().find_map(|(lock, name)| {
        let of = |key: &Key| Key {
            lock,
            local_budget: None,
            remote_budget: None,
            ..*key
        };
        let here = alocks().filter(|(key, _)| key.locality == locality);
        let ratios = here.filter_map(|(key, it)| Some(it / values.get(&of(key))?));
        let ratios: Vec<f64> = ratios.filter(|it| it.is_finite()).collect();
        (!ratios.is_empty()).then_some((name, locality, ratios))
    })
}

pub(super) fn throughput<'t, I>(nodes: u16, here: impl Fn() -> I) -> String
where
    I: Iterator<Item = (&'t Key, &'t Medians)>,
{
    let values = here()
        .map(|(key, it)| (*key, it.throughput.median))
        .collect();
    let nodes = counted(nodes, "node");
    match beside(&values).and_then(|(name, at, it)| Some((name, at, range(it.into_iter())?))) {
        Some((name, at, times)) => {
            format!("ALock, {nodes}: {times} times {name}'s throughput at {at} % local")
        }
        None => format!("Throughput, {nodes}"),
    }
}

pub(super) fn latency(
    nodes: u16,
    threads: Option<u16>,
    medians: impl Iterator<Item = (Key, u64)>,
) -> String {
    let values = medians.map(|(key, ns)| (key, ns.max(1) as f64)).collect();
    let mut place = counted(nodes, "node");
    if let Some(threads) = threads {
        place += &format!(", {} per node", counted(threads, "thread"));
    }
    let found = beside(&values).and_then(|(name, at, it)| {
        // The other way round: more is slower.
        Some((name, at, range(it.into_iter().map(f64::recip))?))
    });
    match found {
        Some((name, at, times)) => {
            format!("{place}: {name}'s median latency is {times} times ALock's at {at} % local")
        }
        None => format!("Latency of lock, change and unlock, {place}"),
    }
}

/// The least value at which half of them are.
pub(super) fn median(counts: &[(u64, u64)]) -> u64 {
    let all: u64 = counts.iter().map(|(_, count)| count).sum();
    let mut so_far = 0;
    let half = counts.iter().find(|(_, count)| {
        so_far += count;
        2 * so_far >= all
    });
    half.map_or(0, |(value, _)| *value)
}

pub(super) fn budgets(nodes: u16, threads: u16, panels: &[Panel]) -> String {
    let series = panels.iter().flat_map(|it| &it.series);
    let medians = series.flat_map(|it| &it.points).map(|(_, it)| it.median);
    let place = format!("{}, {}", counted(nodes, "node"), counted(threads, "thread"));
    match range(medians) {
        Some(times) => format!("ALock's budgets, {place} per node: {times} times the first pair's"),
        None => format!("ALock's budgets, {place} per node"),
    }
}

/// What more threads bring a lock whose threads go through their own card.
pub(super) fn loopback(nodes: u16, all: &[(&Key, &Medians)]) -> String {
    let place = counted(nodes, "node");
    let threads = || all.iter().map(|(key, _)| key.threads);
    let (Some(few), Some(many)) = (threads().min(), threads().max()) else {
        return format!("Loopback, {place}");
    };
    let rate = |of: &Key, threads: u16| {
        let mut found = all
            .iter()
            .filter(|(key, _)| (key.lock, key.locks, key.threads) == (of.lock, of.locks, threads));
        found.next().map(|(_, it)| it.throughput.median)
    };
    let most = all.iter().filter(|(key, _)| key.threads == many);
    let growth = most.filter_map(|(key, it)| Some(it.throughput.median / rate(key, few)?));
    match range(growth.filter(|it| it.is_finite())) {
        Some(times) if few < many => format!(
            "Loopback, {place}, all local: {} times the threads, {times} times the throughput",
            count(f64::from(many) / f64::from(few))
        ),
        _ => format!("Loopback, {place}: every lock is local"),
    }
}

pub(super) fn queue_pairs(table: &Table) -> String {
    let plain = || "Queue pairs that a node needs".to_owned();
    let most = table.first().map(|(key, _)| (key.nodes, key.threads)).max();
    let Some((nodes, threads)) = most else {
        return plain();
    };
    let here = || {
        let all = table.first();
        all.filter(move |(key, _)| (key.nodes, key.threads) == (nodes, threads))
    };
    let of = |is_alock: bool| {
        let these = here().filter(move |(key, _)| (key.lock == Lock::Alock) == is_alock);
        counts(these.map(|(_, it)| it.queue_pairs.median))
    };
    let place = format!("{}, {}", counted(nodes, "node"), counted(threads, "thread"));
    match (of(true), of(false)) {
        (Some(ours), Some(theirs)) => {
            format!("{place} each: {ours} queue pairs a node for ALock, {theirs} for the others")
        }
        _ => plain(),
    }
}
