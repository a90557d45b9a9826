// SPDX-License-Identifier: GPL-2.0-only

//! A world that counts what is done to its words, to see that TWA's long-term
//! path is really taken.

use super::team::{reached, together, Muster};
use crate::{
    locks::{self, RawLock, Twa, World},
    spin::Word,
};
use kernel::{
    prelude::*,
    sync::{
        atomic::{Atomic, Relaxed},
        SetOnce,
    },
};

/// What was done to a word.
struct Tally {
    increments: Atomic<u32>,
    waits: Atomic<u32>,
}

impl Tally {
    const fn new() -> Self {
        Self {
            increments: Atomic::new(0),
            waits: Atomic::new(0),
        }
    }
}

/// The kernel's word, with its steps counted before they are taken.
struct Counted<'a> {
    word: Word,
    tally: &'a Tally,
}

impl<'a> Counted<'a> {
    fn new(tally: &'a Tally) -> Self {
        Self {
            word: Word::new(0),
            tally,
        }
    }
}

impl locks::Word for Counted<'_> {
    fn load_relaxed(&self) -> u32 {
        self.word.load_relaxed()
    }

    fn load_acquire(&self) -> u32 {
        self.word.load_acquire()
    }

    fn store_release(&self, value: u32) {
        self.word.store_release(value);
    }

    fn fetch_inc_relaxed(&self) -> u32 {
        self.tally.increments.add(1u32, Relaxed);
        self.word.fetch_inc_relaxed()
    }

    fn inc_release(&self) {
        self.tally.increments.add(1u32, Relaxed);
        self.word.inc_release();
    }

    fn cmpxchg_relaxed(&self, old: u32, new: u32) -> bool {
        self.word.cmpxchg_relaxed(old, new)
    }

    fn wait_acquire(&self, done: impl FnMut(u32) -> bool) -> u32 {
        self.tally.waits.add(1u32, Relaxed);
        self.word.wait_acquire(done)
    }
}

/// A world whose waiting array has one slot: every long-term waiter is there.
struct OneSlot<'a>(Counted<'a>);

impl<'a> World for OneSlot<'a> {
    type Word = Counted<'a>;

    fn slot(&self, _: u32) -> &Counted<'a> {
        &self.0
    }
}

/// Waits and notifications up to some moment.
#[derive(Clone, Copy)]
pub(super) struct Counts {
    /// Short-term waits.
    pub(super) on_grant: u32,
    /// Long-term waits.
    pub(super) on_slot: u32,
    /// Notifications.
    pub(super) notified: u32,
}

/// [`Counts`] while the owner stays, and in the end.
pub(super) struct Seen {
    pub(super) held: Counts,
    pub(super) end: Counts,
}

/// One thread owns a TWA lock until three wait: one for its grant, two long
/// term. It gives up when it has seen fewer for too long.
pub(super) fn three_wait() -> Result<Seen> {
    let (ticket, grant, slot) = (Tally::new(), Tally::new(), Tally::new());
    let counts = || Counts {
        on_grant: grant.waits.load(Relaxed),
        on_slot: slot.waits.load(Relaxed),
        notified: slot.increments.load(Relaxed),
    };
    let world = OneSlot(Counted::new(&slot));
    let lock = Twa::<_, 1>::new(Counted::new(&ticket), Counted::new(&grant));
    let held = SetOnce::new();
    let muster = Muster::new(4);
    together(4, |id| {
        let _present = muster.fall_in();
        let owner = id == 0;
        // The others come once a thread owns the lock.
        reached(|| owner || ticket.increments.load(Relaxed) > 0);
        let mine = lock.lock(&world);
        if owner {
            reached(|| counts().on_grant == 1 && counts().on_slot == 2);
            held.populate(counts());
        }
        lock.unlock(&world, mine);
    })?;
    Ok(Seen {
        held: held.copy().ok_or(EINVAL)?,
        end: counts(),
    })
}
