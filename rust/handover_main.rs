// SPDX-License-Identifier: GPL-2.0

//! Handover: ticket and TWA spinlocks, and a harness that tortures, checks and
//! measures them beside the kernel's own.

use kernel::prelude::*;

pub mod linux;
pub mod locks;

module! {
    type: linux::Module,
    name: "handover",
    authors: ["The Handover authors"],
    description: "Ticket and TWA spinlocks with a torture and benchmark harness",
    license: "GPL",
}
