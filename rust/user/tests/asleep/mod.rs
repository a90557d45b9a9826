// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Threads that sleep.

use std::fs;

use handover_user::{Home, Park, Process};

pub(crate) fn world() -> &'static Process<Park> {
    // SAFETY: Tokens and nodes go back once.
    unsafe { Park::process() }
}

/// Whether the thread sleeps, as /proc says.
pub(crate) fn sleeps(thread: u32) -> bool {
    let said = fs::read_to_string(format!("/proc/self/task/{thread}/stat")).unwrap_or_default();
    said.rsplit(") ")
        .next()
        .is_some_and(|rest| rest.starts_with('S'))
}
