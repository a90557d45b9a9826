// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The queue lock of Craig, and of Landin and Hagersten.

use super::{
    node::{lock_without_node, NONE, OWN},
    Awaited, Make, Nodes, RawLock, Word,
};

/// The CLH lock: each thread waits on the node of the thread before it.
///
/// | `tail` | state |
/// |---|---|
/// | 0 | free |
/// | a node | owned; the node is the last waiter's, or the owner's |
///
/// The token is the owner's node. An owner with a successor leaves its node, and the successor gives
/// it back. An owner without a successor empties `tail`, and keeps its node. So a free lock holds no
/// node, and `tail` is 0 only while the lock is free. In the published lock a free lock's `tail` is a
/// released node. A `try_lock` that has looked at such a node may meet it again, in use.
///
/// Where the world has no node left, `lock` tries again and again, as [`Mcs`](super::Mcs) does.
///
/// # Promises
///
/// Exclusion. FIFO admission in the order in which threads reach `tail`. A thread that found no node
/// has no place in that order.
///
/// # Cost
///
/// Uncontended: one locked read-modify-write to acquire, one to release. Those of the world's
/// `take` and `put` come to them. A hand-over invalidates one line in one cache.
///
/// # Source
///
/// Craig, "Building FIFO and Priority-Queuing Spin Locks from Atomic Swap", 1993. Magnusson, Landin
/// and Hagersten, "Queue Locks on Cache Coherent Multiprocessors", 1994.
///
/// # Examples
///
/// ```
/// # mod process { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/process/world.rs")); }
/// # use process::{Cell, Process};
/// use handover_locks::{Clh, RawLock};
///
/// let world = Process::new();
/// let lock = Clh::new(Cell::new(0), Cell::new(0));
/// let node = lock.lock(&world);
/// assert!(lock.try_lock(&world).is_none());
/// lock.unlock(&world, node);
/// ```
#[repr(C)]
pub struct Clh<C> {
    /// The last node of the queue.
    tail: C,
    /// The flag of the lock's own node.
    flag: C,
}

/// What a node's flag says to the thread behind it.
const RELEASED: u32 = 1;

impl<C> Clh<C> {
    /// A lock over two words that hold 0: free.
    pub const fn new(tail: C, flag: C) -> Self {
        Self { tail, flag }
    }
}

impl<C: Word> Clh<C> {
    /// Waits for the thread before, and has done with its node.
    ///
    /// Acquire, pairs with the release in `unlock` that found a successor.
    #[cold]
    fn wait<W: Nodes<Word = C>>(&self, world: &W, before: u32) {
        let flag = self.flag_of(world, before);
        world.while_contended(self, || flag.wait_acquire(Awaited::is(RELEASED)));
        if before == OWN {
            flag.store_relaxed(0);
        } else {
            world.put(before);
        }
    }

    /// The flag of `node`.
    #[inline(always)]
    fn flag_of<'a, W: Nodes<Word = C>>(&'a self, world: &'a W, node: u32) -> &'a C {
        if node == OWN {
            &self.flag
        } else {
            &world.node(node).flag
        }
    }
}

impl<C> Make<C> for Clh<C> {
    fn make(_: u32, mut word: impl FnMut(u32) -> C) -> Self {
        Self::new(word(NONE), word(0))
    }
}

impl<W: Nodes> RawLock<W> for Clh<W::Word> {
    const EXCLUDES: bool = true;
    const FIFO: bool = true;
    const TICKET_BITS: u32 = 0;

    /// The swap is an acquire, and pairs with the release in `unlock` that found no successor. It
    /// is a release, too, and pairs with the next thread's swap. That thread reads the flag after
    /// it was cleared.
    #[inline(always)]
    fn lock(&self, world: &W) -> u32 {
        let Some(token) = world.take() else {
            return lock_without_node(self, &self.tail, world);
        };
        world.node(token).flag.store_relaxed(0);
        let before = self.tail.swap_acq_rel(token);
        if before != NONE {
            self.wait(world, before);
        }
        token
    }

    /// Acquire, pairs with the release in `unlock` that found no successor.
    #[inline(always)]
    fn try_lock(&self, _: &W) -> Option<u32> {
        // A look first: a failing cmpxchg would take the line from those that come.
        (self.tail.load_relaxed() == NONE && self.tail.cmpxchg_acquire(NONE, OWN)).then_some(OWN)
    }

    #[inline(always)]
    fn unlock(&self, world: &W, token: u32) {
        if !self.tail.cmpxchg_release(token, NONE) {
            // The node is the successor's from here on.
            self.flag_of(world, token).store_release(RELEASED);
        } else if token != OWN {
            world.put(token);
        }
    }

    #[inline(always)]
    fn is_locked(&self) -> bool {
        self.tail.load_relaxed() != NONE
    }
}
