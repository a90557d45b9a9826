// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What handover-run does not start, and why: one line each.

mod programs_of;

use std::{fs, os::unix::fs::PermissionsExt, path::Path, process::Command};

use programs_of::{compiled, handover, library, refused, text};

/// A file of this test's own.
fn file(name: &str, holds: &[u8], mode: u32) -> std::path::PathBuf {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::write(&path, holds).expect("the folder is there");
    fs::set_permissions(&path, fs::Permissions::from_mode(mode)).expect("it is there");
    path
}

#[test]
fn a_program_that_is_not_there() {
    refused(
        &handover(Path::new("no-such-program"), &[]),
        "no-such-program: no such program",
    );
}

#[test]
fn a_program_that_is_linked_statically() {
    let program = compiled("order", "static", &["-static"]);
    refused(&handover(&program, &[]), "linked statically");
}

#[test]
fn a_program_of_musl() {
    let program = compiled(
        "order",
        "musl",
        &["-Wl,--dynamic-linker=/lib/ld-musl-x86_64.so.1"],
    );
    refused(
        &handover(&program, &[]),
        "its loader is /lib/ld-musl-x86_64.so.1; needed: that of glibc",
    );
}

#[test]
fn a_file_that_is_no_program() {
    refused(
        &handover(&file("text", b"text", 0o755), &[]),
        "no program for x86-64",
    );
    // The header of a program for AArch64.
    let mut program = fs::read("/bin/true").expect("it is there");
    program[18..20].copy_from_slice(&183u16.to_le_bytes());
    refused(
        &handover(&file("aarch64", &program, 0o755), &[]),
        "no program for x86-64",
    );
}

#[test]
fn a_script_is_judged_by_its_interpreter() {
    let program = compiled("order", "interpreter", &["-static"]);
    let line = format!("#! {} -x\n", program.display());
    refused(
        &handover(&file("static-script", line.as_bytes(), 0o755), &[]),
        "linked statically",
    );
    let ended = handover(
        &file(
            "script",
            b"#!/bin/sh\necho \"$HANDOVER_LOCK $HANDOVER_WAIT $HANDOVER_STATS.\"\n",
            0o755,
        ),
        &["--lock", "clh", "--wait", "spin"],
    );
    assert_eq!(
        (text(&ended.stdout).as_str(), text(&ended.stderr).as_str()),
        ("clh spin .\n", "")
    );
}

#[test]
fn a_library_that_is_not_there_or_has_a_wrong_name() {
    let with = |library: &Path| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_handover-run"));
        command
            .arg("--library")
            .arg(library)
            .arg("true")
            .output()
            .expect("it runs")
    };
    refused(&with(Path::new("/no/library")), "/no/library: no library");
    for name in ["a b.so", "a:b.so"] {
        let named = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
        fs::copy(library(), &named).expect("the library is there");
        refused(&with(&named), "no space and no colon");
    }
}

#[test]
fn other_libraries_are_loaded_as_well() {
    let beside = Path::new(env!("CARGO_TARGET_TMPDIR")).join("beside.so");
    fs::copy(library(), &beside).expect("the library is there");
    let ended = Command::new(env!("CARGO_BIN_EXE_handover-run"))
        .arg("--library")
        .arg(library())
        .args(["sh", "-c", "echo $LD_PRELOAD"])
        .env("LD_PRELOAD", &beside)
        .output()
        .expect("it runs");
    let due = format!(
        "{}:{}\n",
        fs::canonicalize(library()).expect("it is there").display(),
        beside.display()
    );
    assert_eq!(text(&ended.stdout), due);
}

#[test]
fn a_wrong_variable_is_named_with_what_is_allowed() {
    for (variable, value, due) in [
        (
            "HANDOVER_LOCK",
            "tas\nx",
            r"HANDOVER_LOCK=tas\nx: allowed: twa, ticket, one-word-twa, mcs, clh, ttas",
        ),
        ("HANDOVER_LOCK", "", "HANDOVER_LOCK=: allowed: twa, "),
        (
            "HANDOVER_WAIT",
            "sleep",
            "HANDOVER_WAIT=sleep: allowed: park, yield, spin",
        ),
        ("HANDOVER_STATS", "yes", "HANDOVER_STATS=yes: allowed: 0, 1"),
    ] {
        let ended = Command::new("/bin/true")
            .env("LD_PRELOAD", library())
            .env(variable, value)
            .output();
        refused(&ended.expect("it runs"), due);
    }
}
