// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The nodes of queue locks.

use super::{Awaited, RawLock, Word, World};

/// A thread's place in the queue of a lock, alone on its cache line.
///
/// # Examples
///
/// [`Pool`] has nodes, and a world hands them out. Its words begin at any value.
///
/// ```
/// # mod process { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/process/world.rs")); }
/// # use process::{Cell, Process};
/// use handover_locks::Node;
///
/// static NODE: Node<Cell> = Node::new(Cell::new(0), Cell::new(0));
/// assert_eq!(align_of_val(&NODE), 64);
/// ```
#[repr(C, align(64))]
pub struct Node<C> {
    /// The node behind this one, or [`NONE`].
    pub(super) next: C,
    /// Whether its thread has what it waits for, or gives it on.
    pub(super) flag: C,
}

impl<C> Node<C> {
    /// A node that no thread uses.
    pub const fn new(next: C, flag: C) -> Self {
        Self { next, flag }
    }

    /// The words. While no thread uses the node they may hold anything: a world that checks its locks writes
    /// to them then.
    pub const fn words(&self) -> [&C; 2] {
        [&self.next, &self.flag]
    }
}

/// No node.
pub(super) const NONE: u32 = 0;

/// The node in the lock itself, of an owner that found the lock free and took no other.
pub(super) const OWN: u32 = u32::MAX;

/// A world that has nodes.
///
/// # Examples
///
/// ```
/// # mod process { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/process/world.rs")); }
/// # use process::{Cell, Process};
/// use handover_locks::Nodes;
///
/// let world = Process::new();
/// let node = world.take().unwrap();
/// assert_ne!(world.take(), Some(node));
/// world.put(node);
/// ```
pub trait Nodes: World {
    /// A node that no thread uses, for the calling thread. None if there is none left.
    ///
    /// An index is neither 0 nor `u32::MAX`, and less than 2^16 where [`Qspin`](super::Qspin) is
    /// used. It may be called by whatever may take a lock, also by an interrupt handler that
    /// interrupted a call.
    fn take(&self) -> Option<u32>;

    /// Gives back a node of `take`, once, in any order, from any thread.
    fn put(&self, node: u32);

    /// The node of an index that `take` returned. It is there as long as the world, also after
    /// it was given back.
    fn node(&self, node: u32) -> &Node<Self::Word>;
}

/// Some nodes of a CPU or a thread, which are taken and given back in any order.
///
/// # Cost
///
/// One locked read-modify-write to take a node, one to give it back.
///
/// # Examples
///
/// ```
/// # mod process { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/process/world.rs")); }
/// # use process::{Cell, Process};
/// use handover_locks::{Node, Pool};
///
/// static NODES: Pool<Cell, 2> =
///     Pool::new(Cell::new(Pool::<Cell, 2>::ALL), [const { Node::new(Cell::new(0), Cell::new(0)) }; 2]);
/// let (first, second) = (NODES.take().unwrap(), NODES.take().unwrap());
/// assert!(first != second && NODES.take().is_none());
/// NODES.put(first);
/// assert_eq!(NODES.take(), Some(first));
/// ```
#[repr(C)]
pub struct Pool<C, const NODES: usize> {
    /// A bit for each node that is free.
    free: C,
    nodes: [Node<C>; NODES],
}

impl<C, const NODES: usize> Pool<C, NODES> {
    /// What the word of a pool holds of which all nodes are free.
    pub const ALL: u32 = {
        assert!(NODES > 0 && NODES <= 32);
        u32::MAX >> (32 - NODES)
    };

    /// A pool of these nodes, with `free` at [`Pool::ALL`].
    pub const fn new(free: C, nodes: [Node<C>; NODES]) -> Self {
        Self { free, nodes }
    }

    /// The node `number`, which is less than `NODES`.
    #[inline(always)]
    pub fn node(&self, number: u32) -> &Node<C> {
        &self.nodes[number as usize]
    }
}

impl<C: Word, const NODES: usize> Pool<C, NODES> {
    /// A node's number, or none if all are taken.
    ///
    /// Acquire, pairs with the release in [`Pool::put`]: the last user's accesses come before the
    /// next one's.
    #[inline(always)]
    pub fn take(&self) -> Option<u32> {
        loop {
            let free = self.free.load_relaxed();
            if free == 0 {
                return None;
            }
            let without_first = free & (free - 1);
            if self.free.cmpxchg_acquire(free, without_first) {
                return Some(free.trailing_zeros());
            }
        }
    }

    /// How many nodes are free, at some moment during the call.
    pub fn free(&self) -> u32 {
        self.free.load_relaxed().count_ones()
    }

    /// Gives back a node that `take` returned, once.
    ///
    /// Release, pairs with the acquire in [`Pool::take`].
    #[inline(always)]
    pub fn put(&self, number: u32) {
        self.free.fetch_add_release(1 << number);
    }
}

/// Acquires without a node: when the lock is free, and with no place in the queue. Its `word` is 0
/// then.
#[cold]
pub(super) fn lock_without_node<W: World>(
    lock: &impl RawLock<W>,
    word: &W::Word,
    world: &W,
) -> u32 {
    lock.try_lock(world)
        .unwrap_or_else(|| world.while_contended(lock, || wait_without_node(lock, word, world)))
}

/// The rest of it, once a `try_lock` failed. It is part of a wait of which the world was told.
pub(super) fn wait_without_node<W: World>(
    lock: &impl RawLock<W>,
    word: &W::Word,
    world: &W,
) -> u32 {
    loop {
        word.wait_acquire(Awaited::is(NONE));
        if let Some(token) = lock.try_lock(world) {
            return token;
        }
    }
}
