// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The options beside the pages that have them, for tests.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use clap::CommandFactory;

use crate::Options;

/// The long options in the tables of a section: of each piece of code the first word.
fn tabled(page: &str, section: &str) -> BTreeSet<String> {
    let behind = page.split_once(section).map(|(_, behind)| behind);
    let behind = behind.unwrap_or_else(|| panic!("the page has no section {section:?}"));
    let whole = behind.split("\n## ").next().unwrap_or(behind);
    let rows = whole.lines().filter(|line| line.starts_with('|'));
    let pieces = rows.flat_map(|row| row.split('`').skip(1).step_by(2));
    let words = pieces.filter_map(|piece| piece.split_whitespace().next());
    words
        .filter_map(|word| word.strip_prefix("--"))
        .map(str::to_owned)
        .collect()
}

#[test]
fn options_are_read_from_tables_alone() {
    let page = "## A\n| `-a`, `--all`: see `--set X` |\n`--none`\n## B\n| `--other` |\n";
    let found: Vec<_> = tabled(page, "## A\n").into_iter().collect();
    assert_eq!(found, ["all", "set"]);
}

/// The pages are the repository's, and are not in a package.
#[test]
fn the_pages_tables_have_every_option_and_no_other() {
    let repository = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    if !repository.join("docs/README.md").exists() {
        return;
    }
    let read = |page| fs::read_to_string(repository.join(page)).unwrap();
    let mut tabled_options = tabled(&read("docs/alock.md"), "\n## alock-bench\n");
    tabled_options.append(&mut tabled(&read("docs/simulator.md"), "\n## Options\n"));
    let command = Options::command();
    let options = command.get_arguments().filter_map(|it| it.get_long());
    let options: BTreeSet<_> = options
        .filter(|name| !["help", "version"].contains(name))
        .map(str::to_owned)
        .collect();
    assert_eq!(options, tabled_options);
}
