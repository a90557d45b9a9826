// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The world of the threads of one process.

use handover_locks::{Node, Nodes, Pool, World, WAIT_ARRAY_SLOTS};

#[cfg(feature = "park")]
use crate::policy::{Chosen, Park, Yield};
use crate::{
    cell::Cell,
    policy::{Policy, Spin},
};

/// The nodes of a pool.
const EACH: u32 = 32;
/// The pools, a power of two.
const POOLS: u32 = 64;

/// The waiting array and the nodes that all locks of a policy share.
///
/// There are 2048 nodes, one for each thread that holds or awaits a queue lock. A thread that finds none waits with no
/// place in the queue.
pub struct Process<P> {
    slots: [Cell<P>; WAIT_ARRAY_SLOTS as usize],
    pools: [Pool<Cell<P>, { EACH as usize }>; POOLS as usize],
}

impl<P: Policy> Process<P> {
    /// An empty waiting array, and nodes that no thread uses.
    pub(crate) const fn new() -> Self {
        Self {
            slots: [const { Cell::new(0) }; WAIT_ARRAY_SLOTS as usize],
            pools: [const {
                Pool::new(
                    Cell::new(Pool::<Cell<P>, { EACH as usize }>::ALL),
                    [const { Node::new(Cell::new(0), Cell::new(0)) }; EACH as usize],
                )
            }; POOLS as usize],
        }
    }
}

/// A policy whose locks have a world.
pub trait Home: Policy {
    /// The world of all locks of this policy.
    ///
    /// # Safety
    ///
    /// The caller gives `unlock` each token once, and `put` each node once, as it got them. It asks for no other node.
    /// All queue locks share their nodes, so that whoever does otherwise breaks the locks of others.
    unsafe fn process() -> &'static Process<Self>;
}

macro_rules! homes {
    ($($policy:ident),*) => { $(
        impl Home for $policy {
            #[inline(always)]
            unsafe fn process() -> &'static Process<Self> {
                static PROCESS: Process<$policy> = Process::new();
                &PROCESS
            }
        }
    )* };
}

homes!(Spin);
#[cfg(feature = "park")]
homes!(Chosen, Park, Yield);

impl<P: Policy> World for Process<P> {
    type Word = Cell<P>;

    #[inline(always)]
    fn slot(&self, index: u32) -> &Cell<P> {
        &self.slots[index as usize]
    }

    #[inline(always)]
    fn pause(&self) {
        P::pause();
    }
}

/// The pool at which the calling thread begins. Its stack tells threads apart, whose stacks lie megabytes apart.
#[inline(always)]
fn first_pool() -> u32 {
    let here = 0u8;
    let stack = ((&raw const here).addr() >> 21) as u32;
    stack.wrapping_mul(0x9e37_79b9) >> (32 - POOLS.trailing_zeros())
}

/// A node's index is that of its pool, then that of the node in it, plus one: 0 is none.
impl<P: Policy> Nodes for Process<P> {
    #[inline]
    fn take(&self) -> Option<u32> {
        let first = first_pool();
        (0..POOLS).find_map(|more| {
            let pool = (first + more) % POOLS;
            Some(pool * EACH + self.pools[pool as usize].take()? + 1)
        })
    }

    #[inline]
    fn put(&self, node: u32) {
        let node = node - 1;
        self.pools[(node / EACH) as usize].put(node % EACH);
    }

    #[inline(always)]
    fn node(&self, node: u32) -> &Node<Cell<P>> {
        let node = node - 1;
        self.pools[(node / EACH) as usize].node(node % EACH)
    }
}
