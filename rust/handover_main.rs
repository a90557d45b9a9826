// SPDX-License-Identifier: GPL-2.0-only

//! Handover: ticket and TWA spinlocks, and a harness that tortures, checks and
//! measures them beside the kernel's own.

use kernel::prelude::*;

#[path = "linux/harness/mod.rs"]
mod harness;
#[cfg(CONFIG_KUNIT = "y")]
#[path = "linux/kunit/mod.rs"]
mod kunit;
pub mod locks;
pub mod measure;
#[path = "linux/spin/mod.rs"]
pub mod spin;

module! {
    type: harness::Module,
    name: "handover",
    authors: ["The Handover authors"],
    description: "Ticket and TWA spinlocks with a torture and benchmark harness",
    license: "GPL",
}
