// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A world on one thread: while a lock waits, a script does what the other CPUs
//! do. No test here depends on timing, and a lock that no script wakes panics.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
};

use handover_locks::{
    Awaited, Node, Nodes, OneWordTwa, RawLock, Ticket, Twa, World, WAIT_ARRAY_SLOTS,
};

/// What a lock did, as far as a test may care.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Event {
    /// Waits on the lock's own word.
    WaitForGrant,
    /// Loads this slot.
    LookAtSlot(u32),
    /// Waits on this slot.
    WaitOnSlot(u32),
    /// Stores this grant.
    Grant(u32),
    /// Increments this slot.
    Notify(u32),
}

/// What others do while the lock waits: one step each time.
type Step = Box<dyn FnOnce()>;

/// The script and the record of a test.
#[derive(Default)]
pub(crate) struct Script {
    steps: RefCell<VecDeque<Step>>,
    events: RefCell<Vec<Event>>,
    /// What others do just before a cmpxchg.
    before_cmpxchg: RefCell<VecDeque<Step>>,
    /// How often the world paused.
    pub(crate) pauses: Cell<u32>,
    /// How often a node was asked for.
    pub(crate) takes: Cell<u32>,
    /// How often a word was written, or a RMW was tried on it.
    pub(crate) writes: Cell<u32>,
    /// The address of each lock whose contention the world was told of.
    pub(crate) contended: RefCell<Vec<usize>>,
    /// Whether it is now.
    is_contended: Cell<bool>,
    /// How often others took a step, or the world paused, while no contention was told of.
    pub(crate) waits_untold: Cell<u32>,
    /// How often an end was told of while others had steps to take.
    pub(crate) early_ends: Cell<u32>,
}

impl Script {
    /// An empty one. What a step refers to lives for ever, and leaks.
    pub(crate) fn new() -> &'static Self {
        Box::leak(Box::default())
    }

    /// Has the next wait that is not over call `step`.
    pub(crate) fn then(&self, step: impl FnOnce() + 'static) {
        self.steps.borrow_mut().push_back(Box::new(step));
    }

    /// Has the next cmpxchg call `step` first.
    pub(crate) fn before_cmpxchg(&self, step: impl FnOnce() + 'static) {
        self.before_cmpxchg.borrow_mut().push_back(Box::new(step));
    }

    /// Has the others take their next step.
    fn step(&self) {
        self.waits();
        let step = self.steps.borrow_mut().pop_front();
        step.expect("waits, and nobody comes")();
    }

    /// Somebody waits.
    fn waits(&self) {
        if !self.is_contended.get() {
            self.waits_untold.set(self.waits_untold.get() + 1);
        }
    }

    /// What happened since the last call.
    pub(crate) fn events(&self) -> Vec<Event> {
        self.events.take()
    }
}

/// A word of the scripted world: of a lock, or the slot `slot`.
pub(crate) struct Word {
    value: Cell<u32>,
    slot: Option<u32>,
    script: &'static Script,
}

impl Word {
    /// A lock's word.
    pub(crate) fn new(value: u32, script: &'static Script) -> Self {
        Self {
            value: Cell::new(value),
            slot: None,
            script,
        }
    }

    fn record(&self, event: Event) {
        self.script.events.borrow_mut().push(event);
    }
}

impl Word {
    /// Replaces the value by what `change` makes of it, and returns the value before.
    fn change(&self, change: impl FnOnce(u32) -> u32) -> u32 {
        self.script.writes.set(self.script.writes.get() + 1);
        self.value.replace(change(self.value.get()))
    }

    fn cmpxchg(&self, old: u32, new: u32) -> bool {
        let step = self.script.before_cmpxchg.borrow_mut().pop_front();
        step.into_iter().for_each(|step| step());
        self.change(|now| if now == old { new } else { now }) == old
    }
}

// There is one thread, so nothing is out of order.
impl handover_locks::Word for Word {
    fn load_relaxed(&self) -> u32 {
        self.value.get()
    }

    fn load_acquire(&self) -> u32 {
        if let Some(slot) = self.slot {
            self.record(Event::LookAtSlot(slot));
        }
        self.value.get()
    }

    fn store_relaxed(&self, value: u32) {
        self.change(|_| value);
    }

    fn store_release(&self, value: u32) {
        self.record(Event::Grant(value));
        self.change(|_| value);
    }

    fn swap_acq_rel(&self, value: u32) -> u32 {
        self.change(|_| value)
    }

    fn fetch_add_relaxed(&self, value: u32) -> u32 {
        self.change(|now| now.wrapping_add(value))
    }

    fn fetch_add_acquire(&self, value: u32) -> u32 {
        self.change(|now| now.wrapping_add(value))
    }

    fn fetch_add_release(&self, value: u32) -> u32 {
        let before = self.change(|now| now.wrapping_add(value));
        self.record(Event::Grant(self.value.get()));
        before
    }

    fn inc_release(&self) {
        let slot = self.slot.expect("only slots are notified");
        self.record(Event::Notify(slot));
        self.change(|now| now.wrapping_add(1));
    }

    fn cmpxchg_relaxed(&self, old: u32, new: u32) -> bool {
        self.cmpxchg(old, new)
    }

    fn cmpxchg_acquire(&self, old: u32, new: u32) -> bool {
        self.cmpxchg(old, new)
    }

    fn cmpxchg_release(&self, old: u32, new: u32) -> bool {
        self.cmpxchg(old, new)
    }

    fn wait_acquire(&self, awaited: Awaited) -> u32 {
        self.record(self.slot.map_or(Event::WaitForGrant, Event::WaitOnSlot));
        while !awaited.holds(self.value.get()) {
            self.script.step();
        }
        self.value.get()
    }
}

/// How many nodes the world has: few, so that a test can hold all.
pub(crate) const NODES: u32 = 3;

/// The world: a waiting array, nodes, and a script for what waits without a word.
pub(crate) struct Scripted {
    slots: Vec<Word>,
    nodes: Vec<Node<Word>>,
    /// The nodes that no thread uses.
    free: RefCell<Vec<u32>>,
    script: &'static Script,
}

impl Scripted {
    /// All slots are zero. What nodes hold is left over from another use.
    pub(crate) fn new(script: &'static Script) -> Self {
        let slot = |index| Word {
            slot: Some(index),
            ..Word::new(0, script)
        };
        let node = |_| Node::new(Word::new(99, script), Word::new(1, script));
        Self {
            slots: (0..WAIT_ARRAY_SLOTS).map(slot).collect(),
            nodes: (0..NODES).map(node).collect(),
            free: RefCell::new((1..=NODES).collect()),
            script,
        }
    }

    /// How many nodes are in use.
    pub(crate) fn nodes_in_use(&self) -> usize {
        NODES as usize - self.free.borrow().len()
    }
}

impl World for Scripted {
    type Word = Word;

    fn slot(&self, index: u32) -> &Word {
        &self.slots[index as usize]
    }

    fn pause(&self) {
        self.script.waits();
        self.script.pauses.set(self.script.pauses.get() + 1);
    }

    fn while_contended<L, T>(&self, lock: &L, wait: impl FnOnce() -> T) -> T {
        let address = std::ptr::from_ref(lock) as usize;
        self.script.contended.borrow_mut().push(address);
        assert!(!self.script.is_contended.replace(true), "told twice");
        let result = wait();
        self.script.is_contended.set(false);
        if !self.script.steps.borrow().is_empty() {
            let ends = &self.script.early_ends;
            ends.set(ends.get() + 1);
        }
        result
    }

    fn overcrowded(&self) -> ! {
        panic!("overcrowded");
    }
}

impl Nodes for Scripted {
    fn take(&self) -> Option<u32> {
        self.script.takes.set(self.script.takes.get() + 1);
        self.free.borrow_mut().pop()
    }

    fn put(&self, node: u32) {
        let mut free = self.free.borrow_mut();
        assert!(
            (1..=NODES).contains(&node) && !free.contains(&node),
            "{node} is not in use"
        );
        free.push(node);
    }

    fn node(&self, node: u32) -> &Node<Word> {
        &self.nodes[node as usize - 1]
    }
}

/// A lock with tickets, whose state a test chooses.
pub(crate) trait Tickets: RawLock<Scripted> + Sized + 'static {
    /// A lock at `grant` with `others` ahead of the next one that comes.
    fn behind(grant: u32, others: u32, script: &'static Script) -> Self;

    /// Whether a thread waits.
    fn is_contended(&self) -> bool;
}

impl Tickets for Ticket<Word> {
    fn behind(grant: u32, others: u32, script: &'static Script) -> Self {
        let ticket = Word::new(grant.wrapping_add(others), script);
        Self::new(ticket, Word::new(grant, script))
    }

    fn is_contended(&self) -> bool {
        self.is_contended()
    }
}

impl<const T: u32> Tickets for Twa<Word, T> {
    fn behind(grant: u32, others: u32, script: &'static Script) -> Self {
        let ticket = Word::new(grant.wrapping_add(others), script);
        Self::new(ticket, Word::new(grant, script))
    }

    fn is_contended(&self) -> bool {
        self.is_contended()
    }
}

impl<const T: u32> Tickets for OneWordTwa<Word, T> {
    fn behind(grant: u32, others: u32, script: &'static Script) -> Self {
        let word = (grant.wrapping_add(others) << 16) | (grant & 0xffff);
        Self::new(Word::new(word, script))
    }

    fn is_contended(&self) -> bool {
        self.is_contended()
    }
}

/// A lock at `grant` with `others` ahead of the next one that comes, its world
/// and their script.
pub(crate) fn lock_behind<L: Tickets>(
    grant: u32,
    others: u32,
) -> (&'static L, &'static Scripted, &'static Script) {
    let script = Script::new();
    let lock = L::behind(grant, others, script);
    let world = Scripted::new(script);
    (
        Box::leak(Box::new(lock)),
        Box::leak(Box::new(world)),
        script,
    )
}
