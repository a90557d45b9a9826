// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The locks alone: states, the wrap, the waiting array, admission.

#[macro_use]
#[path = "../atomics/mod.rs"]
mod atomics;
mod scripted;
mod slots;
mod states;
mod threads;
mod waiting;

/// The wrap comes soon after a start here.
const NEAR_WRAP: u32 = u32::MAX - 2;
