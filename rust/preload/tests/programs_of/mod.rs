// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Programs in C, and how they end under handover-run.

#![allow(dead_code, reason = "no test uses all of it")]

use std::{
    path::{Path, PathBuf},
    process::{Command, Output},
};

/// A program of `programs/`, compiled for this test.
pub(crate) fn compiled(name: &str, test: &str, options: &[&str]) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("tests/programs")
        .join(name)
        .with_extension("c");
    let to = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}-{test}"));
    let said = Command::new("cc")
        .args(["-O1", "-g", "-Wall", "-Wextra", "-pthread", "-o"])
        .args([&to, &source])
        .args(options)
        .output()
        .expect("the C compiler `cc` is there");
    assert!(
        said.status.success(),
        "{}",
        String::from_utf8_lossy(&said.stderr)
    );
    to
}

/// Beside this program, where cargo made it.
pub(crate) fn library() -> PathBuf {
    std::env::current_exe()
        .expect("this program is a file")
        .with_file_name("libhandover.so")
}

pub(crate) fn handover(program: &Path, options: &[&str]) -> Output {
    handover_with(program, &[], options)
}

/// With arguments of the program.
pub(crate) fn handover_with(program: &Path, arguments: &[&str], options: &[&str]) -> Output {
    Command::new("timeout")
        .args(["-k", "5", "120", env!("CARGO_BIN_EXE_handover-run")])
        .arg("--library")
        .arg(library())
        .args(options)
        .arg("--")
        .arg(program)
        .args(arguments)
        .output()
        .expect("timeout is there")
}

pub(crate) fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// One line to the standard error, and the status of a program that cannot be started.
pub(crate) fn refused(ended: &Output, due: &str) {
    let told = text(&ended.stderr);
    assert_eq!(ended.status.code(), Some(127), "{told}");
    assert_eq!(told.lines().count(), 1, "{told}");
    assert!(told.contains(due), "{told}");
}
