// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The atomics of `park.rs` and `barrier.rs`: a model checker gives them others (`tests/loom`).

pub(crate) use core::sync::atomic::{compiler_fence, AtomicU32, Ordering};
