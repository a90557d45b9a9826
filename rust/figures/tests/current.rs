// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What is committed is what the data give.

mod common;

use std::fs;
use std::path::Path;

use figures::list;

const LIST: &str = "docs/results/figures.toml";

fn copy(to: &Path) {
    fs::create_dir(to.join("data")).unwrap();
    for folder in ["", "data"] {
        let from = common::folder("docs/results").join(folder);
        for entry in fs::read_dir(from).unwrap() {
            let from = entry.unwrap().path();
            if from.is_file() {
                fs::copy(&from, to.join(folder).join(from.file_name().unwrap())).unwrap();
            }
        }
    }
}

#[test]
fn committed_figures_are_current() {
    let stale = list::stale(&common::folder(LIST)).unwrap();
    assert_eq!(stale, [""; 0], "`make figures` draws them");
}

/// The control: an edited picture, a missing one, one that the list does not have, and changed
/// data.
#[test]
fn what_is_not_current_is_found() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    copy(dir.path());
    let stale = || list::stale(&at("figures.toml")).unwrap();
    assert_eq!(stale(), [""; 0]);
    let svg = fs::read_to_string(at("rlock-cost.svg")).unwrap();
    fs::write(
        at("rlock-cost.svg"),
        svg.replacen("</title>", " more</title>", 1),
    )
    .unwrap();
    fs::remove_file(at("kernel-writers.svg")).unwrap();
    fs::write(at("mine.svg"), svg).unwrap();
    let mut csv = fs::read_to_string(at("data/rlock-cancel.csv")).unwrap();
    // The first digit of a median: less, and no more than the percentile beside it.
    let (before, _) = csv.split_once("try,sleeping,").unwrap();
    csv.remove(before.len() + "try,sleeping,".len());
    fs::write(at("data/rlock-cancel.csv"), csv).unwrap();
    let said = stale();
    assert_eq!(said.len(), 4, "{said:?}");
    for (line, name) in said
        .iter()
        .zip(["kernel-writers", "mine", "rlock-cancel", "rlock-cost"])
    {
        assert!(line.contains(&format!("/{name}.svg: ")), "{line}");
    }
    // Drawn, it is current but for the picture that the list does not have.
    list::draw(&at("figures.toml")).unwrap();
    assert_eq!(stale().len(), 1);
}

#[test]
fn the_same_data_give_the_same_bytes() {
    let path = common::folder(LIST);
    let drawn = list::drawn(&path).unwrap();
    assert_eq!(drawn, list::drawn(&path).unwrap());
    assert!(drawn.len() >= 13);
    for (name, svg) in drawn {
        println!("{name}");
        common::check(&svg);
    }
}

#[test]
fn every_figure_says_what_it_hangs_on() {
    let list = fs::read_to_string(common::folder(LIST)).unwrap();
    for (name, svg) in list::drawn(&common::folder(LIST)).unwrap() {
        let document = roxmltree::Document::parse(&svg).unwrap();
        let texts: Vec<_> = common::texts(&document)
            .into_iter()
            .map(|it| it.words)
            .collect();
        let has = |words: &str| texts.iter().any(|it| it.contains(words));
        if ["sim", "study", "coherence"]
            .iter()
            .any(|it| name.contains(it))
        {
            assert!(has("a model"), "{name}");
        } else {
            let emulated = has("accelerator tcg") && has("emulation: the time of translated code");
            assert!(
                has("kernel ")
                    && has("CPUs")
                    && has("EPYC") != has("Intel Xeon")
                    && emulated != has("no emulation"),
                "{name}: {texts:?}"
            );
        }
    }
    assert!(list.contains("accelerator = \"tcg\""));
}

#[test]
fn more_vcpus_than_cpus_are_for_correctness_only() {
    let dir = tempfile::tempdir().unwrap();
    copy(dir.path());
    let at = dir.path().join("figures.toml");
    let list = fs::read_to_string(&at).unwrap();
    let only = |list: &str| {
        fs::write(&at, list).unwrap();
        let svg = list::drawn(&at).unwrap();
        let of = |name: &str| svg.iter().find(|it| it.0 == name).unwrap().1.clone();
        let says = |name| of(name).contains(">more vCPUs than CPUs: correctness only</text>");
        (says("kernel-writers.svg"), says("rlock-cost.svg"))
    };
    assert_eq!(only(&list), (false, false));
    assert_eq!(
        only(&list.replacen("vcpus = 2", "vcpus = 3", 1)),
        (true, false)
    );
}
