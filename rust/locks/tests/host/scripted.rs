// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A world on one thread: while a lock waits, a script does what the other CPUs
//! do. No test here depends on timing, and a lock that no script wakes panics.

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
};

use handover_locks::{World, WAIT_ARRAY_SLOTS};

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

    fn store_release(&self, value: u32) {
        self.record(Event::Grant(value));
        self.value.set(value);
    }

    fn fetch_inc_relaxed(&self) -> u32 {
        self.value.replace(self.value.get().wrapping_add(1))
    }

    fn inc_release(&self) {
        let slot = self.slot.expect("only slots are notified");
        self.record(Event::Notify(slot));
        self.fetch_inc_relaxed();
    }

    fn cmpxchg_relaxed(&self, old: u32, new: u32) -> bool {
        let is_old = self.value.get() == old;
        if is_old {
            self.value.set(new);
        }
        is_old
    }

    fn wait_acquire(&self, mut done: impl FnMut(u32) -> bool) -> u32 {
        self.record(self.slot.map_or(Event::WaitForGrant, Event::WaitOnSlot));
        while !done(self.value.get()) {
            let step = self.script.steps.borrow_mut().pop_front();
            step.expect("waits, and nobody comes")();
        }
        self.value.get()
    }
}

/// The waiting array.
pub(crate) struct Slots(Vec<Word>);

impl Slots {
    /// All slots, zero.
    pub(crate) fn new(script: &'static Script) -> Self {
        let slot = |index| Word {
            slot: Some(index),
            ..Word::new(0, script)
        };
        Self((0..WAIT_ARRAY_SLOTS).map(slot).collect())
    }
}

impl World for Slots {
    type Word = Word;

    fn slot(&self, index: u32) -> &Word {
        &self.0[index as usize]
    }
}

/// A lock at `grant` with `others` ahead of the next one that comes, its world
/// and their script.
pub(crate) fn lock_behind<L>(
    new: fn(Word, Word) -> L,
    grant: u32,
    others: u32,
) -> (&'static L, &'static Slots, &'static Script) {
    let script = Script::new();
    let ticket = Word::new(grant.wrapping_add(others), script);
    let lock = new(ticket, Word::new(grant, script));
    let world = Slots::new(script);
    (
        Box::leak(Box::new(lock)),
        Box::leak(Box::new(world)),
        script,
    )
}
