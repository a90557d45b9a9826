// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The queue lock of Mellor-Crummey and Scott.

use super::{
    node::{lock_without_node, NONE, OWN},
    Awaited, Make, Nodes, RawLock, Word,
};

/// The MCS lock: each thread waits on a node of its own.
///
/// | `tail` | state |
/// |---|---|
/// | 0 | free |
/// | a node | owned; the node is the last waiter's, or the owner's |
///
/// The token is the owner's node. Unlike qspinlock's nodes it is held until `unlock`. Where the
/// world has no node left, `lock` tries again and again. `try_lock` takes the node that is part of
/// the lock. An owner with that node found the lock free. So no other thread can have it.
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
/// Mellor-Crummey and Scott, "Algorithms for Scalable Synchronization on Shared-Memory
/// Multiprocessors", 1991, Fig. 5.
///
/// # Examples
///
/// ```
/// # mod process { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/process/world.rs")); }
/// # use process::{Cell, Process};
/// use handover_locks::{Mcs, RawLock};
///
/// let world = Process::new();
/// let lock = Mcs::new(Cell::new(0), Cell::new(0));
/// let node = lock.lock(&world);
/// assert!(lock.try_lock(&world).is_none());
/// lock.unlock(&world, node);
/// ```
#[repr(C)]
pub struct Mcs<C> {
    /// The last node of the queue.
    tail: C,
    /// The node behind the lock's own.
    next: C,
}

/// What a node's flag says to the thread that waits on it.
const GRANTED: u32 = 1;

impl<C> Mcs<C> {
    /// A lock over two words that hold 0: free.
    pub const fn new(tail: C, next: C) -> Self {
        Self { tail, next }
    }
}

impl<C: Word> Mcs<C> {
    /// Queues behind `before`, and waits.
    ///
    /// The link is a release, and pairs with the acquire in `hand_over`: the grant comes after the
    /// flag was cleared. The wait is an acquire, and pairs with the grant's release in `hand_over`.
    #[cold]
    fn wait<W: Nodes<Word = C>>(&self, world: &W, before: u32, node: u32) {
        // First: the thread before, when it unlocks, waits for the link.
        self.next_of(world, before).store_release(node);
        let flag = &world.node(node).flag;
        world.while_contended(self, || flag.wait_acquire(Awaited::is(GRANTED)));
    }

    /// Where the node behind `node` is found.
    #[inline(always)]
    fn next_of<'a, W: Nodes<Word = C>>(&'a self, world: &'a W, node: u32) -> &'a C {
        if node == OWN {
            &self.next
        } else {
            &world.node(node).next
        }
    }

    /// Hands over to the node `successor`, when it is there.
    #[cold]
    fn hand_over<W: Nodes<Word = C>>(&self, world: &W, node: u32) {
        let next = self.next_of(world, node);
        let successor = next.wait_acquire(Awaited::not(NONE));
        if node == OWN {
            // Before the grant: the next owner may free the lock.
            next.store_relaxed(NONE);
        }
        world.node(successor).flag.store_release(GRANTED);
    }
}

impl<C> Make<C> for Mcs<C> {
    fn make(_: u32, mut word: impl FnMut(u32) -> C) -> Self {
        Self::new(word(NONE), word(NONE))
    }
}

impl<W: Nodes> RawLock<W> for Mcs<W::Word> {
    const EXCLUDES: bool = true;
    const FIFO: bool = true;
    const TICKET_BITS: u32 = 0;

    /// The swap is an acquire, and pairs with the release in `unlock` that found no successor. It
    /// is a release, too, and pairs with the next thread's swap: that thread links itself after
    /// `next` was cleared.
    #[inline(always)]
    fn lock(&self, world: &W) -> u32 {
        let Some(token) = world.take() else {
            return lock_without_node(self, &self.tail, world);
        };
        let node = world.node(token);
        node.next.store_relaxed(NONE);
        node.flag.store_relaxed(0);
        let before = self.tail.swap_acq_rel(token);
        if before != NONE {
            self.wait(world, before, token);
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
        let is_last = self.next_of(world, token).load_relaxed() == NONE
            && self.tail.cmpxchg_release(token, NONE);
        if !is_last {
            self.hand_over(world, token);
        }
        if token != OWN {
            world.put(token);
        }
    }

    #[inline(always)]
    fn is_locked(&self) -> bool {
        self.tail.load_relaxed() != NONE
    }
}
