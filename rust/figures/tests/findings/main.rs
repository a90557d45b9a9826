// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What titles say, and how many points there are, computed anew from the committed tables by
//! other means.

#[path = "../common/mod.rs"]
mod common;

mod alock;
mod coherence;
mod kernel;
mod rlock;
mod user;

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::sync::OnceLock;

use figures::list;
use roxmltree::Document;

type Row = BTreeMap<String, String>;

fn table(name: &str) -> Vec<Row> {
    let text = fs::read_to_string(common::folder("docs/results/data").join(name)).unwrap();
    let mut lines = text.lines();
    let header: Vec<&str> = lines.next().unwrap().split(',').collect();
    let row = |line: &str| {
        let pairs = header.iter().zip(line.split(','));
        pairs
            .map(|(name, value)| (name.to_string(), value.to_owned()))
            .collect()
    };
    lines.map(row).collect()
}

fn f(row: &Row, name: &str) -> f64 {
    row[name].parse().unwrap()
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    (values[(n - 1) / 2] + values[n / 2]) / 2.0
}

/// Three digits from 1 to 2, two decimals below, two digits from 2 on.
fn digits(value: f64) -> String {
    let decimals = if value < 1.995 {
        2
    } else {
        usize::from(value < 9.95)
    };
    format!("{value:.decimals$}")
}

fn range(values: &[f64]) -> String {
    let mut values = values.to_vec();
    values.sort_by(f64::total_cmp);
    let (least, most) = (digits(values[0]), digits(values[values.len() - 1]));
    if least == most {
        least
    } else {
        format!("{least} to {most}")
    }
}

fn svg(file: &str) -> String {
    static ALL: OnceLock<Vec<(String, String)>> = OnceLock::new();
    let all =
        ALL.get_or_init(|| list::drawn(&common::folder("docs/results/figures.toml")).unwrap());
    all.iter().find(|it| it.0 == file).unwrap().1.clone()
}

#[track_caller]
fn title(file: &str, want: &str) {
    let svg = svg(file);
    let document = Document::parse(&svg).unwrap();
    let titles = document
        .root_element()
        .children()
        .find(|it| it.has_tag_name("title"));
    assert_eq!(titles.unwrap().text(), Some(want));
    // It also stands above, in as many lines as it needs.
    let texts = common::texts(&document)
        .into_iter()
        .filter(|it| it.size == 16.0);
    let lines: Vec<String> = texts.map(|it| it.words).collect();
    assert_eq!(lines.join(" "), want);
}
