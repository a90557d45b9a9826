// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Pictures, parsed again.
#![expect(dead_code, reason = "each test's program has its own copy")]

use std::path::PathBuf;

use roxmltree::{Document, Node};

/// A folder of the repository.
pub(crate) fn folder(name: &str) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../..")
        .join(name)
}

pub(crate) fn number(node: Node<'_, '_>, name: &str) -> f64 {
    let value = node.attribute(name).unwrap_or_else(|| panic!("no {name}"));
    let value: f64 = value.parse().unwrap_or_else(|_| panic!("{name}: {value}"));
    assert!(value.is_finite(), "{name}: {value}");
    value
}

/// A text's left, top, right and lower edge. Letters are taken for as wide as most are.
#[derive(Clone, Debug)]
pub(crate) struct Text {
    pub(crate) words: String,
    pub(crate) edges: [f64; 4],
    pub(crate) size: f64,
    pub(crate) anchor: String,
}

pub(crate) fn texts(document: &Document<'_>) -> Vec<Text> {
    let all = document.descendants().filter(|it| it.has_tag_name("text"));
    all.map(text).collect()
}

pub(crate) fn text(it: Node<'_, '_>) -> Text {
    let words = it.text().unwrap_or_default().to_owned();
    let inherited = it.ancestors().find_map(|it| it.attribute("font-size"));
    let size: f64 = inherited.unwrap_or("12").parse().unwrap();
    let long: f64 = words
        .chars()
        .map(|it| if it < '\u{2e80}' { 0.5 } else { 1.0 })
        .sum();
    let long = long * size;
    let anchor = it.attribute("text-anchor").unwrap_or("start");
    let high = size * 0.7;
    let edges = match it.attribute("transform") {
        // Upwards, around its middle.
        Some(turned) => {
            let numbers = turned.trim_start_matches("translate(");
            let (x, rest) = numbers.split_once(',').unwrap();
            let (y, rest) = rest.split_once(')').unwrap();
            assert_eq!(rest, " rotate(-90)");
            let (x, y): (f64, f64) = (x.parse().unwrap(), y.parse().unwrap());
            [x - high, y - long / 2.0, x, y + long / 2.0]
        }
        None => {
            let (x, y) = (number(it, "x"), number(it, "y"));
            let left = match anchor {
                "start" => x,
                "middle" => x - long / 2.0,
                "end" => x - long,
                other => panic!("anchor {other}"),
            };
            [left, y - high, left + long, y]
        }
    };
    Text {
        words,
        edges,
        size,
        anchor: anchor.to_owned(),
    }
}

pub(crate) fn size(document: &Document<'_>) -> (f64, f64) {
    let root = document.root_element();
    (number(root, "width"), number(root, "height"))
}

/// What every picture is: named for screen readers, white behind, whole, its texts apart.
pub(crate) fn check(svg: &str) {
    let document = Document::parse(svg).unwrap_or_else(|why| panic!("{why}: {svg}"));
    let root = document.root_element();
    let (wide, high) = size(&document);
    assert_eq!(
        root.attribute("viewBox"),
        Some(&format!("0 0 {wide} {high}")[..])
    );
    assert_eq!(root.attribute("role"), Some("img"));
    let child = |name: &'static str| {
        let mut all = root.children().filter(move |it| it.has_tag_name(name));
        all.next().unwrap_or_else(|| panic!("no {name}"))
    };
    for name in ["title", "desc"] {
        let words = child(name).text().unwrap_or_default();
        assert!(!words.trim().is_empty(), "an empty {name}");
    }
    let behind = child("rect");
    assert_eq!(behind.attribute("fill"), Some("#ffffff"));
    assert_eq!(behind.attribute("width"), Some("100%"));
    let all = texts(&document);
    for (at, it) in all.iter().enumerate() {
        let [left, top, right, low] = it.edges;
        assert!(
            left >= 0.0 && top >= 0.0 && right <= wide && low <= high,
            "{it:?} is not within {wide} x {high}"
        );
        for other in &all[at + 1..] {
            let [x, y, xx, yy] = other.edges;
            let apart = right <= x || xx <= left || low <= y || yy <= top;
            assert!(
                apart || it.words.trim().is_empty() || other.words.trim().is_empty(),
                "{it:?} lies on {other:?}"
            );
        }
    }
}

/// A class' groups below a node.
pub(crate) fn groups<'a>(node: Node<'a, 'a>, class: &'static str) -> Vec<(String, Node<'a, 'a>)> {
    let all = node.descendants();
    let all = all.filter(move |it| it.attribute("class") == Some(class));
    all.map(|it| (it.attribute("data-name").unwrap().to_owned(), it))
        .collect()
}
