// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The library as a file: which C libraries it serves, and what it replaces.

mod programs_of;

use std::{collections::BTreeSet, fs};

use object::{read::elf::ElfFile64, Object, ObjectSection, ObjectSymbol};

use programs_of::library;

/// The functions that a program's calls reach in this file instead of the C library.
fn exported(file: &ElfFile64<'_>) -> BTreeSet<String> {
    file.dynamic_symbols()
        .filter(|symbol| symbol.is_definition() && symbol.is_global())
        .filter_map(|symbol| Some(symbol.name().ok()?.to_owned()))
        .collect()
}

#[test]
fn it_needs_no_c_library_newer_than_2_35() {
    let bytes = fs::read(library()).expect("the library is there");
    let file = ElfFile64::<object::Endianness>::parse(&*bytes).expect("it is a library");
    let names = file.section_by_name(".dynstr").expect("it has names");
    let newest = names
        .data()
        .expect("they are there")
        .split(|byte| *byte == 0)
        .filter_map(|name| std::str::from_utf8(name).ok()?.strip_prefix("GLIBC_2."))
        .filter_map(|version| version.split('.').next()?.parse::<u32>().ok())
        .max();
    assert!(
        (17..=35).contains(&newest.expect("it needs some")),
        "{newest:?}"
    );
}

#[test]
fn it_replaces_mutexes_and_condition_variables_alone() {
    let bytes = fs::read(library()).expect("the library is there");
    let file = ElfFile64::<object::Endianness>::parse(&*bytes).expect("it is a library");
    let exported = exported(&file);
    // What glibc's header declares for both; the rest of their functions are glibc's, which go by the attributes alone.
    let of_mutexes = [
        "init",
        "destroy",
        "lock",
        "trylock",
        "timedlock",
        "clocklock",
        "unlock",
    ]
    .map(|name| format!("pthread_mutex_{name}"));
    let of_conds = [
        "init",
        "destroy",
        "wait",
        "timedwait",
        "clockwait",
        "signal",
        "broadcast",
    ]
    .map(|name| format!("pthread_cond_{name}"));
    let due: BTreeSet<String> = of_mutexes.into_iter().chain(of_conds).collect();
    assert_eq!(exported, due);
}
