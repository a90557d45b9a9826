// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The root of the package: `mod.rs`, without a standard library. The kernel module takes `mod.rs` as a module of its own.

#![no_std]

#[path = "mod.rs"]
mod locks;

pub use self::locks::*;
