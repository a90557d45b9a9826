// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What the threads of a search do.
//!
//! Each scenario starts from a lock that is free, and near the wrap where there are tickets.

use std::sync::Arc;

use handover_locks::{Make, Node, Pool, RawLock};
use loom::{
    sync::atomic::{AtomicBool, Ordering::Relaxed},
    thread,
};

use crate::{
    worlds::{Cell, Data, Model, Order, Probe, NODES, SLOTS},
    NEAR_WRAP,
};

/// A lock that a model can make in the world whose cell is `C`.
pub(crate) trait Lock<C: Cell>:
    RawLock<Model<Probe<C>>> + Make<Probe<C>> + Send + Sync + 'static
{
}

impl<C: Cell, L: RawLock<Model<Probe<C>>> + Make<Probe<C>> + Send + Sync + 'static> Lock<C> for L {}

fn probe<C: Cell>(value: u32) -> Probe<C> {
    Probe::new(Arc::new(C::new(value)))
}

/// A lock, its world and its data.
struct Scene<C: Cell, L> {
    world: Model<Probe<C>>,
    lock: L,
    order: Order,
    data: Data,
}

impl<C: Cell, L: Lock<C>> Scene<C, L> {
    // The Arc is std's: loom does not see it, so it orders nothing.
    fn new() -> Arc<Self> {
        Self::with_nodes(NODES)
    }

    fn with_nodes(nodes: usize) -> Arc<Self> {
        let order = Order::default();
        let lock = L::make(NEAR_WRAP, |value| probe(value).noting(&order));
        Arc::new(Self {
            world: Model::new([(); SLOTS].map(|()| probe(0)), probe).with_nodes(nodes),
            lock,
            order,
            data: Data::new(NEAR_WRAP),
        })
    }

    /// What an owner does.
    fn admit(&self, token: u32) {
        self.data.admit(token, L::TICKET_BITS);
        if L::TICKET_BITS == 0 && L::FIFO && token != 0 {
            let first = self.order.lock().unwrap().pop_front();
            assert_eq!(first, Some(token), "admitted out of order");
        }
    }

    fn lock(&self) {
        let token = self.lock.lock(&self.world);
        self.admit(token);
        self.lock.unlock(&self.world, token);
    }

    fn try_lock(&self) -> bool {
        let token = self.lock.try_lock(&self.world);
        if let Some(token) = token {
            self.admit(token);
            self.lock.unlock(&self.world, token);
        }
        token.is_some()
    }

    fn is_free_after(&self, admitted: u32) {
        assert!(!self.lock.is_locked());
        assert!(self.world.all_nodes_are_back());
        assert_eq!(self.data.next(), NEAR_WRAP.wrapping_add(admitted));
    }
}

/// Two threads, so many rounds each.
pub(crate) fn two_threads<C: Cell, L: Lock<C>>(rounds: [u32; 2]) {
    in_a_scene(&Scene::<C, L>::new(), rounds);
}

/// Some threads, a round each.
pub(crate) fn threads<C: Cell, L: Lock<C>>(threads: usize) {
    in_a_scene(&Scene::<C, L>::new(), vec![1; threads]);
}

/// So many nodes, and a thread for each number, with so many rounds.
pub(crate) fn few_nodes<C: Cell, L: Lock<C>>(nodes: usize, rounds: &[u32]) {
    in_a_scene(&Scene::<C, L>::with_nodes(nodes), rounds);
}

/// A thread for each number, with so many rounds. The first is the search's own.
fn in_a_scene<C: Cell, L: Lock<C>>(scene: &Arc<Scene<C, L>>, rounds: impl AsRef<[u32]>) {
    let work = |scene: &Scene<C, L>, rounds: u32| (0..rounds).for_each(|_| scene.lock());
    let (own, others) = rounds.as_ref().split_first().unwrap();
    let others: Vec<_> = others
        .iter()
        .map(|&rounds| {
            let scene = scene.clone();
            thread::spawn(move || work(&scene, rounds))
        })
        .collect();
    work(scene, *own);
    others.into_iter().for_each(|other| other.join().unwrap());
    scene.is_free_after(rounds.as_ref().iter().sum());
}

/// The next owner frees the lock: `unlock` touches no word of it after the hand-over. The owner before
/// came by `lock`, or tried.
///
/// Both threads have the lock's words, and the owner looks before each access whether they are there.
/// The next owner does not: a look of its own would hide the owner's last one from loom (see
/// `crate::search`).
pub(crate) fn next_owner_frees<C: Cell, L: Lock<C>>(is_tried: bool) {
    let is_there = Arc::new(AtomicBool::new(true));
    let mut cells = Vec::new();
    let lock = L::make(NEAR_WRAP, |value| {
        let cell = Arc::new(C::new(value));
        cells.push(cell.clone());
        Probe::new(cell).mortal(&is_there)
    });
    let mut cells = cells.into_iter();
    let next_owners = L::make(NEAR_WRAP, |_| Probe::new(cells.next().unwrap()));
    let world = Arc::new(Model::new([(); SLOTS].map(|()| probe(0)), probe));

    let token = if is_tried {
        lock.try_lock(&world).expect("a free lock")
    } else {
        lock.lock(&world)
    };
    let other = thread::spawn({
        let world = world.clone();
        move || {
            next_owners.lock(&world);
            is_there.store(false, Relaxed);
        }
    });
    lock.unlock(&world, token);
    other.join().unwrap();
}

/// Two threads take nodes of a pool that has one, and give it back. A node is one thread's at a time.
pub(crate) fn pool<C: Cell>() {
    let pool = Pool::new(probe::<C>(1), [Node::new(probe(0), probe(0))]);
    let scene = Arc::new((pool, Data::new(0)));
    let work = |(pool, data): &(Pool<Probe<C>, 1>, Data)| {
        let mut taken = 0;
        for _ in 0..2 {
            if let Some(number) = pool.take() {
                assert_eq!(number, 0);
                data.admit(0, 0);
                pool.put(number);
                taken += 1;
            }
        }
        taken
    };
    let other = thread::spawn({
        let scene = scene.clone();
        move || work(&scene)
    });
    let taken = work(&scene) + other.join().unwrap();
    assert_eq!(scene.0.free(), 1);
    assert_eq!(scene.1.next(), taken);
}

/// One thread that waits, one that does not, twice each.
pub(crate) fn try_lock_against_lock<C: Cell, L: Lock<C>>() {
    let scene = Scene::<C, L>::new();
    let other = thread::spawn({
        let scene = scene.clone();
        move || (0..2).for_each(|_| scene.lock())
    });
    let got = [scene.try_lock(), scene.try_lock()];
    other.join().unwrap();
    scene.is_free_after(2 + got.map(u32::from).iter().sum::<u32>());
}

/// Two threads that do not wait: one of them gets the lock, or both.
pub(crate) fn try_lock_against_try_lock<C: Cell, L: Lock<C>>() {
    let scene = Scene::<C, L>::new();
    let other = thread::spawn({
        let scene = scene.clone();
        move || scene.try_lock()
    });
    let got = [scene.try_lock(), other.join().unwrap()];
    assert!(got.contains(&true), "a free lock was given to nobody");
    scene.is_free_after(got.map(u32::from).iter().sum());
}

/// One thread that takes the lock, one that asks whether a thread waits. No
/// thread ever does, and a negative difference would say that one does.
///
/// It is the first thread that takes the lock. So loom begins with the
/// execution in which the other one comes last. There that thread may see any
/// mixture of old and new. The other way round loom passes that execution over
/// (see `crate::search`).
pub(crate) fn queue_length<C: Cell, L: Lock<C>>(is_contended: fn(&L) -> bool) {
    let scene = Scene::<C, L>::new();
    let other = thread::spawn({
        let scene = scene.clone();
        move || assert!(!is_contended(&scene.lock), "somebody waits for nobody")
    });
    scene.lock();
    other.join().unwrap();
    scene.is_free_after(1);
    assert!(!is_contended(&scene.lock));
}

/// What a thread with a given ticket holds.
struct Holder<C: Cell, L> {
    world: Model<Probe<C>>,
    lock: L,
    data: Arc<Data>,
}

impl<C: Cell, L: Lock<C>> Holder<C, L> {
    /// Holders that draw the tickets from the first on, of a lock whose
    /// notifications hit `slots`.
    fn new<const N: usize>(slots: &[Arc<C>; SLOTS]) -> [Self; N] {
        let grant = Arc::new(C::new(NEAR_WRAP));
        let data = Arc::new(Data::new(NEAR_WRAP));
        let mut ticket = NEAR_WRAP;
        [(); N].map(|()| {
            let drawn = ticket;
            ticket = ticket.wrapping_add(1);
            let mut words = [probe(0).given(drawn), Probe::new(grant.clone())].into_iter();
            Self {
                world: Model::new(slots.clone().map(Probe::new), probe),
                lock: L::make(NEAR_WRAP, |_| words.next().unwrap()),
                data: data.clone(),
            }
        })
    }

    fn lock(&self) -> u32 {
        let ticket = self.lock.lock(&self.world);
        self.data.admit(ticket, L::TICKET_BITS);
        ticket
    }

    fn unlock(&self, ticket: u32) {
        self.lock.unlock(&self.world, ticket);
    }
}

fn slots<C: Cell>() -> [Arc<C>; SLOTS] {
    [(); SLOTS].map(|()| Arc::new(C::new(0)))
}

/// The owner, and two waiters. The last one does not unlock: no thread would
/// notice.
pub(crate) fn three_given<C: Cell, L: Lock<C>>() {
    let [owner, next, last] = Holder::<C, L>::new(&slots());
    let owned = owner.lock();
    thread::spawn(move || next.unlock(next.lock()));
    thread::spawn(move || last.lock());
    owner.unlock(owned);
}

/// The owner and a waiter of one lock, and the owner of another one whose
/// notification hits the same slot.
pub(crate) fn shared_slot<C: Cell, L: Lock<C>>() {
    let slots = slots();
    let [owner, waiter] = Holder::<C, L>::new(&slots);
    let [other] = Holder::<C, L>::new(&slots);
    let owned = owner.lock();
    thread::spawn(move || waiter.lock());
    thread::spawn(move || other.unlock(other.lock()));
    owner.unlock(owned);
}
