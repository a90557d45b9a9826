// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Every access that a lock makes in a scripted world, a line each. The suite of the proofs
//! compares them with those of the programs that are proved (`tests/proof/traces.v`).

use std::{
    cell::{Cell, RefCell},
    collections::VecDeque,
    fmt::{Debug, Display},
    io::Write,
};

use handover_locks::{Awaited, OneWordTwa, RawLock, Ticket, Twa, World, WAIT_ARRAY_SLOTS};

/// The world's one key.
const KEY: u32 = 2989;
/// What the slots hold first. The next notification wraps.
const SLOTS_HOLD: u32 = u32::MAX;

/// The record, and what others do while a lock waits: one step each time.
#[derive(Default)]
struct Script {
    lines: RefCell<Vec<String>>,
    steps: RefCell<VecDeque<Box<dyn FnOnce()>>>,
    /// Before the lines of others.
    who: Cell<&'static str>,
}

impl Script {
    fn line(&self, line: impl Display) {
        let who = self.who.get();
        self.lines.borrow_mut().push(format!("{who}{line}"));
    }

    /// Has the others take their next step.
    fn step(&self) {
        let step = self.steps.borrow_mut().pop_front();
        let who = self.who.replace("other: ");
        step.expect("waits, and nobody comes")();
        self.who.set(who);
    }
}

/// A word with a name.
struct Word {
    name: String,
    value: Cell<u32>,
    script: &'static Script,
}

impl Word {
    fn new(name: impl Into<String>, value: u32, script: &'static Script) -> Self {
        Self {
            name: name.into(),
            value: Cell::new(value),
            script,
        }
    }

    /// Records what `operation` with these arguments returns.
    fn did<T: Debug>(&self, operation: &str, arguments: &[&dyn Debug], result: T) -> T {
        let mut call = format!("{operation} {}", self.name);
        for argument in arguments {
            call += &format!(" {argument:?}");
        }
        self.script.line(format_args!("{call} -> {result:?}"));
        result
    }

    fn add(&self, operation: &str, value: u32) -> u32 {
        let before = self.value.get();
        self.value.set(before.wrapping_add(value));
        self.did(operation, &[&value], before)
    }

    fn cmpxchg(&self, operation: &str, old: u32, new: u32) -> bool {
        let is_old = self.value.get() == old;
        if is_old {
            self.value.set(new);
        }
        self.did(operation, &[&old, &new], is_old)
    }
}

// There is one thread, so nothing is out of order.
impl handover_locks::Word for Word {
    fn load_relaxed(&self) -> u32 {
        self.did("load_relaxed", &[], self.value.get())
    }

    fn load_acquire(&self) -> u32 {
        self.did("load_acquire", &[], self.value.get())
    }

    fn store_relaxed(&self, value: u32) {
        self.value.set(value);
        self.did("store_relaxed", &[&value], ());
    }

    fn store_release(&self, value: u32) {
        self.value.set(value);
        self.did("store_release", &[&value], ());
    }

    fn swap_acq_rel(&self, value: u32) -> u32 {
        self.did("swap_acq_rel", &[&value], self.value.replace(value))
    }

    fn fetch_add_relaxed(&self, value: u32) -> u32 {
        self.add("fetch_add_relaxed", value)
    }

    fn fetch_add_acquire(&self, value: u32) -> u32 {
        self.add("fetch_add_acquire", value)
    }

    fn fetch_add_release(&self, value: u32) -> u32 {
        self.add("fetch_add_release", value)
    }

    fn inc_release(&self) {
        self.value.set(self.value.get().wrapping_add(1));
        self.did("inc_release", &[], ());
    }

    fn cmpxchg_relaxed(&self, old: u32, new: u32) -> bool {
        self.cmpxchg("cmpxchg_relaxed", old, new)
    }

    fn cmpxchg_acquire(&self, old: u32, new: u32) -> bool {
        self.cmpxchg("cmpxchg_acquire", old, new)
    }

    fn cmpxchg_release(&self, old: u32, new: u32) -> bool {
        self.cmpxchg("cmpxchg_release", old, new)
    }

    fn wait_acquire(&self, awaited: Awaited) -> u32 {
        if awaited.holds(self.value.get()) {
            return self.did("wait_acquire", &[&awaited], self.value.get());
        }
        let call = format!("wait_acquire {} {awaited:?}", self.name);
        self.script.line(call);
        while !awaited.holds(self.value.get()) {
            self.script.step();
        }
        self.script
            .line(format_args!("waited -> {}", self.value.get()));
        self.value.get()
    }
}

/// The world: an array, and one key for all locks.
struct Recorded {
    slots: Vec<Word>,
}

impl Recorded {
    fn new(script: &'static Script) -> &'static Self {
        let slot = |index| Word::new(format!("slot {index}"), SLOTS_HOLD, script);
        Box::leak(Box::new(Self {
            slots: (0..WAIT_ARRAY_SLOTS).map(slot).collect(),
        }))
    }
}

impl World for Recorded {
    type Word = Word;

    fn slot(&self, index: u32) -> &Word {
        &self.slots[index as usize]
    }

    fn key<L>(&self, _: &L) -> u32 {
        KEY
    }

    fn pause(&self) {
        unreachable!("no lock here pauses");
    }

    fn overcrowded(&self) -> ! {
        panic!("overcrowded");
    }
}

/// A lock at `grant` with `others` before the next one that comes, its world, and their script.
struct Scene<L: 'static> {
    name: &'static str,
    grant: u32,
    others: u32,
    lock: &'static L,
    world: &'static Recorded,
    script: &'static Script,
}

impl<L: RawLock<Recorded> + 'static> Scene<L> {
    /// The ticket that is `after` behind the grant.
    fn ticket(&self, after: u32) -> u32 {
        self.grant.wrapping_add(after) & (u32::MAX >> (32 - L::TICKET_BITS))
    }

    /// What `call` does while the others unlock one by one. Prints it, and returns its lines.
    fn tell<T: Debug>(&self, what: &str, out: &mut dyn Write, call: impl FnOnce(&Self) -> T) {
        for other in 0..self.others {
            let (lock, world, ticket) = (self.lock, self.world, self.ticket(other));
            let step = move || lock.unlock(world, ticket);
            self.script.steps.borrow_mut().push_back(Box::new(step));
        }
        let result = call(self);
        self.script.line(format_args!("{what} -> {result:?}"));
        for line in self.script.lines.take() {
            let (name, grant, others) = (self.name, self.grant, self.others);
            writeln!(out, "{name} {what} grant={grant} others={others}: {line}").unwrap();
        }
    }
}

/// The grants from which each scenario begins: near each wrap, and far from them.
const GRANTS: [u32; 5] = [0, 65534, 65535, u32::MAX - 1, u32::MAX];

/// Every scene of a lock that `make` makes of a grant and the number of others.
fn scenes<L: 'static>(
    name: &'static str,
    others: core::ops::Range<u32>,
    make: impl Fn(u32, u32, &'static Script) -> L,
) -> Vec<Scene<L>> {
    let scene = |grant, others| {
        let script: &'static Script = Box::leak(Box::default());
        Scene {
            name,
            grant,
            others,
            lock: Box::leak(Box::new(make(grant, others, script))),
            world: Recorded::new(script),
            script,
        }
    };
    GRANTS
        .iter()
        .flat_map(|&grant| others.clone().map(move |others| (grant, others)))
        .map(|(grant, others)| scene(grant, others))
        .collect()
}

/// What `lock` and `unlock` do in every scene.
fn locks_and_unlocks<L: RawLock<Recorded> + 'static>(
    name: &'static str,
    out: &mut dyn Write,
    make: impl Fn(u32, u32, &'static Script) -> L,
) {
    for scene in scenes(name, 0..5, &make) {
        scene.tell("lock", out, |s| s.lock.lock(s.world));
    }
    for scene in scenes(name, 1..5, &make) {
        scene.tell("unlock", out, |s| s.lock.unlock(s.world, s.ticket(0)));
    }
}

/// The two words of a lock at `grant`.
fn two_words(grant: u32, others: u32, script: &'static Script) -> (Word, Word) {
    let ticket = Word::new("ticket", grant.wrapping_add(others), script);
    (ticket, Word::new("grant", grant, script))
}

/// The one word of a lock at `grant`.
fn one_word(grant: u32, others: u32, script: &'static Script) -> OneWordTwa<Word> {
    let word = (grant.wrapping_add(others) << 16) | (grant & 0xffff);
    OneWordTwa::new(Word::new("word", word, script))
}

/// All lines go to the file that `HANDOVER_TRACES` names. Without it they are made all the same.
#[test]
fn every_access_is_told() {
    let mut all = Vec::new();
    locks_and_unlocks("ticket", &mut all, |grant, others, script| {
        let (ticket, grant) = two_words(grant, others, script);
        Ticket::new(ticket, grant)
    });
    locks_and_unlocks("twa", &mut all, |grant, others, script| {
        let (ticket, grant) = two_words(grant, others, script);
        Twa::<Word>::new(ticket, grant)
    });
    locks_and_unlocks("one-word", &mut all, one_word);
    for scene in scenes("one-word", 0..2, one_word) {
        scene.tell("try_lock", &mut all, |s| s.lock.try_lock(s.world));
    }
    assert!(!all.is_empty());
    if let Some(file) = std::env::var_os("HANDOVER_TRACES") {
        std::fs::write(file, all).unwrap();
    }
}
