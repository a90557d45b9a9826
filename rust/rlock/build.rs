// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Refuses the targets that rlock is not for. Builds nothing: `links` in `Cargo.toml`, by which
//! cargo tells two copies in one program, asks for a build script too.

/// Why rlock is not for a target, of which these are cargo's names. `None` where it is.
///
/// x32 has the names of x86-64 Linux, and pointers of half a word. The sections move whole words.
pub(crate) fn refused(arch: &str, os: &str, pointer_width: &str) -> Option<&'static str> {
    let is_ours = (arch, os, pointer_width) == ("x86_64", "linux", "64");
    (!is_ours).then_some(
        "rlock is for x86-64 Linux with 64-bit pointers: its sections are x86-64 assembly, its \
         proofs Linux's /proc and membarrier",
    )
}

/// The lines for cargo. `target` gives what cargo says of the target, such as its `ARCH`.
pub(crate) fn told(target: impl Fn(&str) -> String) -> Vec<String> {
    let mut lines = vec!["cargo::rerun-if-changed=build.rs".to_string()];
    if let Some(why) = refused(&target("ARCH"), &target("OS"), &target("POINTER_WIDTH")) {
        // Ends the build.
        lines.push(format!("cargo::error={why}"));
    }
    lines
}

fn main() {
    let target = |what: &str| std::env::var(format!("CARGO_CFG_TARGET_{what}")).unwrap_or_default();
    for line in told(target) {
        println!("{line}");
    }
}
