// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The world of a lock on the simulated machine.

use std::cell::RefCell;

use handover_locks::{Awaited, Node, Nodes, Word, World, WAIT_ARRAY_SLOTS};

use crate::engine::{Call, Clock, Engine};

/// A word of the simulated memory. It lies where a real one would: its line is that of its address.
#[derive(Debug)]
#[repr(transparent)]
pub struct SimWord {
    /// What it holds until it is written.
    initial: u32,
}

impl SimWord {
    /// A word that holds `value`.
    pub const fn new(value: u32) -> Self {
        Self { initial: value }
    }

    fn call(&self, call: impl FnOnce(crate::engine::Place) -> Call) -> u32 {
        let clock = Clock::current();
        let place = clock.place(std::ptr::from_ref(self).addr(), self.initial);
        clock.call(call(place))
    }
}

/// The bytes that have one of these bits.
const fn bytes_of(bits: u32) -> u32 {
    let mut bytes = bits.to_le_bytes();
    let mut byte = 0;
    while byte < bytes.len() {
        if bytes[byte] != 0 {
            bytes[byte] = u8::MAX;
        }
        byte += 1;
    }
    u32::from_le_bytes(bytes)
}

/// x86-TSO: the machine gives each order that a name asks for, so that names alike are one access.
impl Word for SimWord {
    fn load_relaxed(&self) -> u32 {
        self.call(Call::Load)
    }

    fn load_acquire(&self) -> u32 {
        self.call(Call::Load)
    }

    fn store_relaxed(&self, value: u32) {
        self.call(|place| Call::Store(place, u32::MAX, value));
    }

    fn store_release(&self, value: u32) {
        self.call(|place| Call::Store(place, u32::MAX, value));
    }

    fn swap_acq_rel(&self, value: u32) -> u32 {
        self.call(|place| Call::Swap(place, u32::MAX, value))
    }

    fn fetch_add_relaxed(&self, value: u32) -> u32 {
        self.call(|place| Call::Add(place, value))
    }

    fn fetch_add_acquire(&self, value: u32) -> u32 {
        self.call(|place| Call::Add(place, value))
    }

    fn fetch_add_release(&self, value: u32) -> u32 {
        self.call(|place| Call::Add(place, value))
    }

    fn inc_release(&self) {
        self.call(|place| Call::Add(place, 1));
    }

    fn cmpxchg_relaxed(&self, old: u32, new: u32) -> bool {
        self.call(|place| Call::Exchange(place, old, new)) == old
    }

    fn cmpxchg_acquire(&self, old: u32, new: u32) -> bool {
        self.cmpxchg_relaxed(old, new)
    }

    fn cmpxchg_release(&self, old: u32, new: u32) -> bool {
        self.cmpxchg_relaxed(old, new)
    }

    /// x86's xchg of a byte or a half.
    fn swap_acq_rel_part(&self, mask: u32, value: u32) -> u32 {
        self.call(|place| Call::Swap(place, mask, value))
    }

    /// x86's mov to a byte or a half.
    fn store_relaxed_part(&self, old: u32, new: u32) {
        self.call(|place| Call::Store(place, bytes_of(old | new), new));
    }

    fn store_release_part(&self, old: u32, new: u32) {
        self.store_relaxed_part(old, new);
    }

    fn wait_acquire(&self, awaited: Awaited) -> u32 {
        self.call(|place| Call::Wait(place, awaited))
    }
}

/// The nodes of a CPU: as many as locks that it holds or awaits at a time.
const NODES: u32 = 2;

#[repr(C, align(4096))]
struct Slots([SimWord; WAIT_ARRAY_SLOTS as usize]);

/// The waiting array and the nodes of the machine.
pub struct Sim {
    slots: Box<Slots>,
    /// The index's bits that choose a slot.
    slot_mask: u32,
    nodes: Vec<Node<SimWord>>,
    /// The nodes that a CPU has left. They are its own, so it is not simulated that they are kept.
    free: RefCell<Vec<Vec<u32>>>,
    key: u32,
    pause: crate::Time,
}

impl Sim {
    /// The world of a machine of so many CPUs, with so many slots, a power of two. `key` stands for the lock's address.
    pub(crate) fn new(cpus: u32, slots: u32, key: u32, pause: crate::Time) -> Self {
        Self {
            slot_mask: slots - 1,
            slots: Box::new(Slots(
                [const { SimWord::new(0) }; WAIT_ARRAY_SLOTS as usize],
            )),
            nodes: (0..cpus * NODES)
                .map(|_| Node::new(SimWord::new(0), SimWord::new(0)))
                .collect(),
            free: RefCell::new(
                (0..cpus)
                    .map(|cpu| (cpu * NODES + 1..=(cpu + 1) * NODES).rev().collect())
                    .collect(),
            ),
            key,
            pause,
        }
    }

    pub(crate) fn map(&self, engine: &mut Engine, slots: usize, nodes: usize) {
        engine.map(&*self.slots, slots);
        engine.map(&self.nodes[..], nodes);
    }
}

impl World for Sim {
    type Word = SimWord;

    fn slot(&self, index: u32) -> &SimWord {
        &self.slots.0[(index & self.slot_mask) as usize]
    }

    fn key<L>(&self, _: &L) -> u32 {
        self.key
    }

    fn pause(&self) {
        Clock::current().call(Call::Work(self.pause));
    }
}

impl Nodes for Sim {
    fn take(&self) -> Option<u32> {
        self.free.borrow_mut()[Clock::current().cpu() as usize].pop()
    }

    /// CLH gives back another's node: it is then the CPU's own.
    fn put(&self, node: u32) {
        self.free.borrow_mut()[Clock::current().cpu() as usize].push(node);
    }

    fn node(&self, node: u32) -> &Node<SimWord> {
        &self.nodes[node as usize - 1]
    }
}
