//! A simulated thread's network card.

use std::rc::Rc;

use super::cpu::{check, wait};
use super::{Cluster, Lost, Nanos, State, Writes};
use crate::access::Looked;
use crate::pace::Pace;
use crate::ptr::{LockPtr, NodeId, Place};
use crate::remote::Verbs;

/// The verbs of one thread of `node`, by its node's card.
pub struct Card {
    cluster: Cluster,
    node: NodeId,
    pace: Pace,
}

impl Card {
    /// For a thread of that node, with a queue pair to each of `peers` nodes.
    pub fn new(cluster: &Cluster, node: NodeId, peers: u32) -> Self {
        let pairs = &cluster.0.node(node).pairs;
        pairs.set(pairs.get() + peers);
        Self {
            cluster: cluster.clone(),
            node,
            pace: Pace::default(),
        }
    }

    fn state(&self) -> &Rc<State> {
        &self.cluster.0
    }

    /// The way there: when the other card begins with it.
    fn send(&self, to: NodeId) -> Nanos {
        let state = self.state();
        let model = &state.model;
        state.work_requests.set(state.work_requests.get() + 1);
        let mine = state.node(self.node);
        let mut sent = (state.clock.now() + state.about(model.post)).max(mine.out_free.get());
        sent += state.about(model.service);
        // As often as its state is probably not in the card.
        let pairs = u64::from(mine.pairs.get());
        let cached = u64::from(model.pair_cache);
        if pairs > cached && self.cluster.roll(pairs) >= cached {
            sent += model.pcie;
        }
        mine.out_free.set(sent);
        let way = if to == self.node {
            model.loopback
        } else {
            model.wire
        };
        let there = state.node(to);
        let served = (sent + state.about(way)).max(there.in_free.get()) + model.service;
        there.in_free.set(served);
        served
    }

    /// The way back: when the thread has the completion.
    async fn complete(&self, to: NodeId, done: Nanos) -> Result<(), Lost> {
        let state = self.state();
        let model = &state.model;
        let way = if to == self.node {
            model.loopback
        } else {
            model.wire
        };
        let at = done + state.about(way) + state.about(model.pcie);
        state.clock.until(at.max(state.clock.now() + 1)).await;
        if state.node(to).dead.get() {
            // The card tries again and again, and gives up.
            state.clock.sleep(model.detection).await;
            return Err(Lost(to));
        }
        state.stall().await;
        Ok(())
    }

    /// A moment of the other card.
    async fn reach(&self, at: Nanos) {
        self.state().clock.until(at).await;
    }

    /// Reads words, each in halves.
    async fn copy(&self, lock: LockPtr) -> [u64; 3] {
        let state = self.state();
        let mut words = [0; 3];
        for (index, word) in words.iter_mut().enumerate() {
            let place = lock.0.word(index as u8);
            let low = state.load(place);
            if state.model.torn_reads {
                self.reach(state.clock.now() + 1 + self.cluster.roll(20))
                    .await;
            }
            let high = state.load(place);
            *word = (high & !0xffff_ffff) | (low & 0xffff_ffff);
        }
        words
    }

    fn dead(&self, node: NodeId) -> bool {
        self.state().node(node).dead.get()
    }

    async fn put(&self, to: Place, value: u64) {
        let state = self.state();
        let pause = 1 + self.cluster.roll(state.model.write_gap.max(1));
        match state.model.writes {
            Writes::Single => state.store(to, value),
            Writes::Torn => {
                let before = state.load(to);
                state.store(to, (before & !0xffff_ffff) | (value & 0xffff_ffff));
                self.reach(state.clock.now() + pause).await;
                let before = state.load(to);
                state.store(to, (before & 0xffff_ffff) | (value & !0xffff_ffff));
            }
            Writes::Doubled => {
                state.store(to, value);
                let state = Rc::clone(state);
                let at = state.clock.now() + pause;
                let clock = Rc::clone(&state);
                clock.clock.at(at, move || state.store(to, value));
            }
        }
    }

    /// Reads one word of data.
    pub async fn get(&self, from: Place) -> Result<u64, Lost> {
        let served = self.send(from.node());
        self.reach(served).await;
        let value = self.state().load(from);
        self.complete(from.node(), self.state().clock.now()).await?;
        Ok(value)
    }
}

impl Verbs for Card {
    type Fault = Lost;

    async fn cas(&self, at: Place, old: u64, new: u64) -> Result<u64, Lost> {
        let state = self.state();
        let model = &state.model;
        let served = self.send(at.node());
        let there = state.node(at.node());
        // One at a time.
        let read = served.max(there.atomic_free.get());
        let write = read + state.about(model.pcie);
        there.atomic_free.set(write + 1);
        self.reach(read).await;
        let found = state.load(at);
        self.reach(write).await;
        if found == old && !self.dead(at.node()) {
            state.store(at, new);
        }
        self.complete(at.node(), write).await?;
        Ok(found)
    }

    async fn write(&self, to: Place, value: u64) -> Result<(), Lost> {
        let served = self.send(to.node());
        self.reach(served).await;
        if !self.dead(to.node()) {
            self.put(to, value).await;
        }
        self.complete(to.node(), self.state().clock.now()).await
    }

    async fn read(&self, lock: LockPtr) -> Result<[u64; 3], Lost> {
        let began = self.state().clock.now();
        let served = self.send(lock.0.node());
        self.reach(served).await;
        let words = self.copy(lock).await;
        self.complete(lock.0.node(), self.state().clock.now())
            .await?;
        self.pace.took(self.state().clock.now() - began);
        Ok(words)
    }

    async fn write_and_read(&self, to: Place, value: u64, lock: LockPtr) -> Result<[u64; 3], Lost> {
        let written = self.send(to.node());
        let served = self.send(to.node());
        self.reach(written).await;
        if !self.dead(to.node()) {
            self.put(to, value).await;
        }
        self.reach(served.max(self.state().clock.now())).await;
        let words = self.copy(lock).await;
        self.complete(to.node(), self.state().clock.now()).await?;
        Ok(words)
    }

    fn load(&self, place: Place) -> u64 {
        self.state().load(place)
    }

    fn store(&self, place: Place, value: u64, _known: bool) {
        self.state().store(place, value);
    }

    fn is_own(&self, place: Place) -> bool {
        place.node() == self.node
    }

    async fn wait(&self, looked: Looked, turn: u32) -> Result<(), Lost> {
        match looked {
            Looked::Own => wait(&self.cluster, turn, 100).await,
            Looked::Lock => {
                check(&self.cluster)?;
                self.state().clock.sleep(self.pace.pause(turn)).await;
                Ok(())
            }
        }
    }
}
