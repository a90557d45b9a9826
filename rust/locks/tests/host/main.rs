// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The locks alone: states, the wrap, the waiting array, admission.

mod apart;
mod awaited;
mod nodes;
#[path = "../../examples/process/world.rs"]
mod process;
mod scripted;
mod slots;
mod states;
mod threads;
mod trace;
mod waiting;

/// The wrap comes soon after a start here.
const NEAR_WRAP: u32 = u32::MAX - 2;
