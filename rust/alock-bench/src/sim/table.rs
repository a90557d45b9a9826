// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What lies in a simulated node's memory: locks, each with a line of data, and descriptors.

use alock::ptr::{Descriptor, LockPtr, NodeId, Ptr, WordPtr};
use alock_sim::Cluster;

use crate::point::Point;

/// The same at every node.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Table {
    nodes: u16,
    locks: u64,
    threads: u64,
}

/// Nothing is at 0.
const FIRST: u64 = 2 * Ptr::LINE;
/// A lock, and what it protects.
const ROW: u64 = 2 * Ptr::LINE;

impl Table {
    pub(crate) fn new(point: &Point) -> Self {
        Self {
            nodes: point.nodes,
            locks: point.locks_of_a_node().into(),
            threads: point.threads.into(),
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        FIRST + self.locks * ROW + self.threads * Ptr::LINE
    }

    fn line(node: u16, offset: u64) -> Ptr {
        let line = Ptr::new(NodeId(node), offset);
        line.unwrap_or_else(|| unreachable!("lines at multiples of lines"))
    }

    pub(crate) fn lock(&self, node: u16, number: u32) -> LockPtr {
        LockPtr(Self::line(node, FIRST + u64::from(number) * ROW))
    }

    pub(crate) fn data(&self, node: u16, number: u32) -> WordPtr {
        Self::line(node, FIRST + u64::from(number) * ROW + Ptr::LINE).word(0)
    }

    pub(crate) fn descriptor(&self, node: u16, thread: u16) -> Descriptor {
        let offset = FIRST + self.locks * ROW + u64::from(thread) * Ptr::LINE;
        Descriptor(Self::line(node, offset))
    }

    /// What the data adds up to.
    pub(crate) fn sum(&self, cluster: &Cluster) -> u64 {
        let rows = (0..self.nodes).flat_map(|node| (0..self.locks).map(move |it| (node, it)));
        rows.map(|(node, it)| cluster.peek(self.data(node, it as u32)))
            .sum()
    }
}
