// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The study of TWA's array (`make study`): counts, by its slots.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;

use crate::figure::{Axis, Figure, Panel, Series, Unit, LOCKS};
use crate::finding::{counted, range};
use crate::sheet::{self, Checked};
use crate::spread::Spread;

/// The threshold that the kernel's locks have.
const THRESHOLD: u32 = 1;

#[derive(Deserialize)]
struct Run {
    lock: String,
    threshold: u32,
    slots: u32,
    contenders: u32,
    locks: u32,
    seed: u64,
    long_term: u32,
    same_lock: u32,
    other_lock: u32,
}

impl Checked for Run {
    const COLUMNS: &'static [&'static str] = &[
        "lock",
        "threshold",
        "slots",
        "contenders",
        "locks",
        "seed",
        "long_term",
        "same_lock",
        "other_lock",
    ];

    fn wrong(&self) -> Option<(&'static str, &'static str)> {
        match () {
            () if self.slots == 0 => Some(("slots", "from 1")),
            () if self.contenders == 0 => Some(("contenders", "from 1")),
            () if self.locks == 0 => Some(("locks", "from 1")),
            () => None,
        }
    }

    fn identity(&self) -> String {
        let Self {
            lock,
            threshold,
            slots,
            contenders,
            locks,
            seed,
            ..
        } = self;
        format!(
            "{lock}, threshold {threshold}, {slots} slots, {contenders} contenders, {locks} locks, \
             seed {seed}"
        )
    }
}

/// Collisions per 100 long-term waits by the array's slots, with the most contenders. A panel has a
/// lock, a series a number of locks that share the array.
///
/// # Errors
/// The errors of [`sheet::read`].
pub fn collisions(path: &Path, file: &str, remarks: &[String]) -> Result<Figure, String> {
    let rows: Vec<Run> = sheet::read(path)?;
    let most = rows.iter().map(|it| it.contenders).max().unwrap_or(0);
    let shown = rows
        .iter()
        .filter(|it| (it.threshold, it.contenders) == (THRESHOLD, most) && it.long_term > 0);
    let mut ratios: BTreeMap<(&str, u32, u32), Vec<f64>> = BTreeMap::new();
    for row in shown {
        let collisions = f64::from(row.same_lock) + f64::from(row.other_lock);
        let of = ratios.entry((&row.lock, row.locks, row.slots)).or_default();
        of.push(100.0 * collisions / f64::from(row.long_term));
    }
    let numbers: BTreeSet<u32> = ratios.keys().map(|it| it.1).collect();
    let series = |lock: &str, (number, look)| {
        let mine = ratios
            .iter()
            .filter(|it| (it.0 .0, it.0 .1) == (lock, number));
        let points =
            mine.filter_map(|(key, it)| Some((f64::from(key.2), Spread::of(it.iter().copied())?)));
        Series {
            name: counted(number as usize, "lock"),
            look,
            is_curve: false,
            points: points.collect(),
        }
    };
    let names: BTreeSet<&str> = ratios.keys().map(|it| it.0).collect();
    let panels = names.into_iter().rev().map(|lock| Panel {
        title: lock.to_owned(),
        series: numbers
            .iter()
            .copied()
            .zip(LOCKS)
            .map(|it| series(lock, it))
            .collect(),
    });
    let at = |slots: Option<u32>| {
        let these = ratios.iter().filter(|it| Some(it.0 .2) == slots);
        range(these.flat_map(|it| it.1.iter().copied()))
    };
    let slots: BTreeSet<u32> = ratios.keys().map(|it| it.2).collect();
    let (few, many) = (slots.first().copied(), slots.last().copied());
    let title = match (at(few), at(many), few, many) {
        (Some(of_few), Some(of_many), Some(few), Some(many)) => format!(
            "{most} threads: {of_few} collisions per 100 long-term waits with {}, {of_many} with {many}",
            counted(few as usize, "slot")
        ),
        _ => "Collisions by the array's slots".to_owned(),
    };
    let seeds = ratios.values().map(Vec::len).max().unwrap_or(0);
    let what = format!(
        "counts, no times; threshold {THRESHOLD}; the medians of {seeds} seeds, bars: least to most"
    );
    Ok(Figure {
        file: file.to_owned(),
        title,
        x: Axis {
            name: "slots of the array",
            unit: Unit::Rate,
        },
        y: Axis {
            name: "collisions per 100 long-term waits",
            unit: Unit::Number,
        },
        columns: 2,
        panels: panels.collect(),
        small_print: std::iter::once(what)
            .chain(remarks.iter().cloned())
            .collect(),
    })
}
