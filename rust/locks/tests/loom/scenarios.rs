// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What the threads of a search do.
//!
//! Each scenario starts from a lock that is free, and near the wrap where
//! `start` is.

use std::sync::Arc;

use handover_locks::{RawLock, Twa};
use loom::thread;

use crate::worlds::{Cell, Data, Given, OneSlot};

/// A lock, its world and its data.
struct Model<C, L> {
    world: OneSlot<C>,
    lock: L,
    data: Data,
}

impl<C: Cell, L: RawLock<OneSlot<C>>> Model<C, L> {
    // The Arc is std's: loom does not see it, so it orders nothing.
    fn new(new: fn(C, C) -> L, start: u32) -> Arc<Self> {
        Arc::new(Self {
            world: OneSlot::new(C::new(0)),
            lock: new(C::new(start), C::new(start)),
            data: Data::new(start),
        })
    }

    fn lock(&self) {
        let ticket = self.lock.lock(&self.world);
        self.data.admit(ticket);
        self.lock.unlock(&self.world, ticket);
    }

    fn try_lock(&self) -> bool {
        let ticket = self.lock.try_lock(&self.world);
        if let Some(ticket) = ticket {
            self.data.admit(ticket);
            self.lock.unlock(&self.world, ticket);
        }
        ticket.is_some()
    }

    fn assert_free(&self) {
        assert!(!self.lock.is_locked());
        assert!(!self.lock.is_contended());
    }
}

/// Two threads, `rounds` each.
pub(crate) fn two_threads<C: Cell, L>(new: fn(C, C) -> L, rounds: u32, start: u32)
where
    L: RawLock<OneSlot<C>> + Send + Sync + 'static,
{
    let model = Model::new(new, start);
    let work = move |model: &Model<C, L>| (0..rounds).for_each(|_| model.lock());
    let other = thread::spawn({
        let model = model.clone();
        move || work(&model)
    });
    work(&model);
    other.join().unwrap();
    model.assert_free();
    assert_eq!(model.data.next(), start.wrapping_add(2 * rounds));
}

/// What a thread with a given ticket holds.
struct Holder<C, L> {
    world: OneSlot<Given<C>>,
    lock: L,
    data: Arc<Data>,
}

impl<C: Cell, L: RawLock<OneSlot<Given<C>>>> Holder<C, L> {
    /// Holders that draw the tickets from `first` on, of a lock whose
    /// notifications hit `slot`.
    fn new<const N: usize>(
        new: fn(Given<C>, Given<C>) -> L,
        first: u32,
        slot: &Arc<C>,
    ) -> [Self; N] {
        let grant = Arc::new(C::new(first));
        let data = Arc::new(Data::new(first));
        let mut ticket = first;
        [(); N].map(|()| {
            let drawn = ticket;
            ticket = ticket.wrapping_add(1);
            Self {
                world: OneSlot::new(Given::Shared(slot.clone())),
                lock: new(Given::Ticket(drawn), Given::Shared(grant.clone())),
                data: data.clone(),
            }
        })
    }

    fn lock(&self) -> u32 {
        let ticket = self.lock.lock(&self.world);
        self.data.admit(ticket);
        ticket
    }

    fn unlock(&self, ticket: u32) {
        self.lock.unlock(&self.world, ticket);
    }
}

/// The owner, and two waiters. The last one does not unlock: no thread would
/// notice.
pub(crate) fn three_given<C: Cell, L>(new: fn(Given<C>, Given<C>) -> L, start: u32)
where
    L: RawLock<OneSlot<Given<C>>> + Send + 'static,
{
    let slot = Arc::new(C::new(0));
    let [owner, next, last] = Holder::new(new, start, &slot);
    let owned = owner.lock();
    thread::spawn(move || next.unlock(next.lock()));
    thread::spawn(move || last.lock());
    owner.unlock(owned);
}

/// The owner and a waiter of one lock, and the owner of another one whose
/// notification hits the same slot.
pub(crate) fn shared_slot<C: Cell>(start: u32) {
    let slot = Arc::new(C::new(0));
    let [owner, waiter] = Holder::new(Twa::<Given<C>, 0>::new, start, &slot);
    let [other] = Holder::new(Twa::<Given<C>, 0>::new, start, &slot);
    let owned = owner.lock();
    thread::spawn(move || waiter.lock());
    thread::spawn(move || other.unlock(other.lock()));
    owner.unlock(owned);
}

/// One thread that waits, one that does not.
pub(crate) fn try_lock_against_lock<C: Cell, L>(new: fn(C, C) -> L, start: u32)
where
    L: RawLock<OneSlot<C>> + Send + Sync + 'static,
{
    let model = Model::new(new, start);
    let other = thread::spawn({
        let model = model.clone();
        move || model.lock()
    });
    let got = [model.try_lock(), model.try_lock()];
    other.join().unwrap();
    model.assert_free();
    let admitted = 1 + got.map(u32::from).iter().sum::<u32>();
    assert_eq!(model.data.next(), start.wrapping_add(admitted));
}

/// Two threads that do not wait: one of them gets the lock, or both.
pub(crate) fn try_lock_against_try_lock<C: Cell, L>(new: fn(C, C) -> L, start: u32)
where
    L: RawLock<OneSlot<C>> + Send + Sync + 'static,
{
    let model = Model::new(new, start);
    let other = thread::spawn({
        let model = model.clone();
        move || model.try_lock()
    });
    let got = [model.try_lock(), other.join().unwrap()];
    model.assert_free();
    assert!(got.contains(&true), "a free lock was given to nobody");
    let admitted = got.map(u32::from).iter().sum();
    assert_eq!(model.data.next(), start.wrapping_add(admitted));
}

/// One thread that takes the lock, one that asks whether a thread waits. No
/// thread ever does, and a negative difference would say that one does.
///
/// It is the first thread that takes the lock. So loom begins with the
/// execution in which the other one comes last. There that thread may see any
/// mixture of old and new. The other way round loom passes that execution over
/// (see `crate::search`).
pub(crate) fn queue_length<C: Cell, L>(new: fn(C, C) -> L, start: u32)
where
    L: RawLock<OneSlot<C>> + Send + Sync + 'static,
{
    let model = Model::new(new, start);
    let other = thread::spawn({
        let model = model.clone();
        move || assert!(!model.lock.is_contended(), "somebody waits for nobody")
    });
    model.lock();
    other.join().unwrap();
    model.assert_free();
}
