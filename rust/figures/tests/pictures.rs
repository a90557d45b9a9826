// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The pictures of how the locks work, which are made by hand.

mod common;

use std::fs;

use roxmltree::Document;

fn pictures() -> Vec<(String, String)> {
    let entries = fs::read_dir(common::folder("docs/pictures")).unwrap();
    let mut all: Vec<_> = entries
        .map(|it| it.unwrap().path())
        .filter(|it| it.extension().is_some_and(|it| it == "svg"))
        .map(|it| {
            let name = it.file_name().unwrap().to_str().unwrap().to_owned();
            (name, fs::read_to_string(it).unwrap())
        })
        .collect();
    all.sort();
    all
}

#[test]
fn the_four_are_there() {
    let names: Vec<String> = pictures().into_iter().map(|it| it.0).collect();
    for name in ["alock-words", "handover", "rlock-section", "twa-states"] {
        assert!(names.contains(&format!("{name}.svg")), "{names:?}");
    }
}

#[test]
fn each_can_be_read_anywhere() {
    for (name, svg) in pictures() {
        println!("{name}");
        common::check(&svg);
        let document = Document::parse(&svg).unwrap();
        assert!(common::size(&document).0 <= 900.0);
        for node in document.descendants() {
            for it in node.attributes() {
                let value = it.value();
                match it.name() {
                    "href" | "src" | "style" => panic!("{name}: {value}"),
                    "font-family" => assert!(["sans-serif", "monospace"].contains(&value)),
                    _ => assert!(
                        !value.contains("url(") || value.starts_with("url(#"),
                        "{value}"
                    ),
                }
            }
            let tag = node.tag_name().name();
            assert!(
                !["style", "image", "script", "foreignObject"].contains(&tag),
                "{tag}"
            );
        }
        // Small letters are not read.
        assert!(common::texts(&document).iter().all(|it| it.size >= 11.0));
    }
}

/// What `Descriptor` of rust/alock says of `budget` (`WAITING`, entries, 0 and `PLACE`).
#[test]
fn alocks_words_name_each_value_of_budget() {
    let all = pictures();
    let (_, svg) = all.iter().find(|it| it.0 == "alock-words.svg").unwrap();
    for value in [
        "waiting (all ones)",
        "left of the budget",
        "(0: yield)",
        "the place of a leader",
    ] {
        assert!(svg.contains(value), "{value}");
    }
}

/// Every text that begins in a box ends in it.
#[test]
fn no_text_leaves_its_box() {
    for (name, svg) in pictures() {
        let document = Document::parse(&svg).unwrap();
        let boxes = document.descendants().filter(|it| it.has_tag_name("rect"));
        let boxes = boxes.filter(|it| it.attribute("x").is_some());
        let boxes: Vec<[f64; 4]> = boxes
            .map(|it| {
                let of = |name| common::number(it, name);
                [
                    of("x"),
                    of("y"),
                    of("x") + of("width"),
                    of("y") + of("height"),
                ]
            })
            .collect();
        assert!(!boxes.is_empty(), "{name}");
        for text in common::texts(&document) {
            let [left, top, right, low] = text.edges;
            let middle = ((left + right) / 2.0, (top + low) / 2.0);
            let around = boxes.iter().filter(|it| {
                (it[0]..it[2]).contains(&middle.0) && (it[1]..it[3]).contains(&middle.1)
            });
            for it in around {
                let within = left >= it[0] && right <= it[2] && top >= it[1] && low <= it[3];
                assert!(within, "{name}: {text:?} leaves {it:?}");
            }
        }
    }
}
