// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What runs before the program, and in a child of it.

use crate::{choice, cond, fork, glibc, stats};

/// Runs when the library is loaded. A wrong variable ends the process here.
extern "C" fn at_load() {
    choice::ops();
    glibc::find_all();
    cond::probe();
    // While there is one thread the kernel answers at once.
    handover_user::register_barrier();
    fork::register(in_child);
    stats::begin();
}

extern "C" fn in_child() {
    fork::advance();
    stats::forget();
}

#[used]
#[link_section = ".init_array"]
static AT_LOAD: extern "C" fn() = at_load;
