// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Loom's atomics, by the names of `core`'s.

pub(crate) use loom::sync::atomic::Ordering;
use loom::sync::atomic::{fence, Ordering::*};

use crate::membarrier;

pub(crate) struct AtomicU32(loom::sync::atomic::AtomicU32);

/// The access with this order, between fences where it is SeqCst.
fn ordered<R>(order: Ordering, weaker: Ordering, access: impl FnOnce(Ordering) -> R) -> R {
    if !matches!(order, SeqCst) {
        return access(order);
    }
    fence(SeqCst);
    let result = access(weaker);
    fence(SeqCst);
    result
}

impl AtomicU32 {
    pub(crate) fn new(value: u32) -> Self {
        Self(loom::sync::atomic::AtomicU32::new(value))
    }

    pub(crate) fn load(&self, order: Ordering) -> u32 {
        ordered(order, Acquire, |order| self.0.load(order))
    }

    pub(crate) fn store(&self, value: u32, order: Ordering) {
        ordered(order, Release, |order| self.0.store(value, order));
    }

    pub(crate) fn swap(&self, value: u32, order: Ordering) -> u32 {
        ordered(order, AcqRel, |order| self.0.swap(value, order))
    }

    pub(crate) fn fetch_add(&self, value: u32, order: Ordering) -> u32 {
        ordered(order, AcqRel, |order| self.0.fetch_add(value, order))
    }

    pub(crate) fn fetch_sub(&self, value: u32, order: Ordering) -> u32 {
        ordered(order, AcqRel, |order| self.0.fetch_sub(value, order))
    }

    pub(crate) fn compare_exchange(
        &self,
        old: u32,
        new: u32,
        order: Ordering,
        failure: Ordering,
    ) -> Result<u32, u32> {
        ordered(order, AcqRel, |order| {
            self.0.compare_exchange(old, new, order, failure)
        })
    }
}

/// The compiler keeps the order; the CPU may be interrupted here.
pub(crate) fn compiler_fence(_: Ordering) {
    membarrier::interrupt();
}
