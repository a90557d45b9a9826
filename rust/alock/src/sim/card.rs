//! A simulated thread's network card.

use std::cell::Cell;
use std::rc::Rc;

use super::cpu::{check, wait, Glance};
use super::memory::Want;
use super::{Cluster, Connections, Lost, Nanos, State, Writes};
use crate::access::Looked;
use crate::pace::Pace;
use crate::ptr::{LockPtr, NodeId, Place, Ptr};
use crate::remote::Verbs;

/// The verbs of one thread of `node`, by its node's card.
pub struct Card {
    cluster: Cluster,
    node: NodeId,
    pace: Pace,
    /// Of that node.
    thread: u16,
    connections: Connections,
    posted: Cell<u64>,
    looked: Cell<Option<Glance>>,
}

impl Card {
    /// For the thread number `thread` of that node.
    pub fn new(cluster: &Cluster, node: NodeId, thread: u16, connections: Connections) -> Self {
        Self {
            cluster: cluster.clone(),
            node,
            pace: Pace::default(),
            thread,
            connections,
            posted: Cell::new(0),
            looked: Cell::new(None),
        }
    }

    /// How many work requests this thread has posted.
    pub fn work_requests(&self) -> u64 {
        self.posted.get()
    }

    fn state(&self) -> &Rc<State> {
        &self.cluster.0
    }

    /// From card to card.
    fn way(&self, to: NodeId) -> Nanos {
        let state = self.state();
        let model = &state.model;
        state.about(if to == self.node {
            model.loopback
        } else {
            model.wire
        })
    }

    /// The way there: until the other card has done its part but for the memory.
    async fn send(&self, to: Place) {
        let sent = self.post(to);
        self.arrive(to, sent).await;
    }

    /// Gives the card a work request. When it has sent it.
    fn post(&self, to: Place) -> Nanos {
        let state = self.state();
        let model = &state.model;
        self.posted.set(self.posted.get() + 1);
        // What was looked at before is not what is waited for after it.
        self.looked.set(None);
        state.work_requests.set(state.work_requests.get() + 1);
        let mine = state.node(self.node);
        let posted = (state.clock.now() + state.about(model.post)).max(mine.out_free.get());
        let ends = self.ends(to);
        let sent = posted + state.about(model.send) + state.fetch_pair(self.node, ends.near);
        mine.out_free.set(sent);
        sent
    }

    fn ends(&self, to: Place) -> super::pairs::Ends {
        let nodes = self.state().nodes.len();
        self.connections.ends(nodes, self.node, self.thread, to)
    }

    /// What was sent comes to the other card, which serves one at a time.
    async fn arrive(&self, to: Place, sent: Nanos) {
        let state = self.state();
        self.reach(sent + self.way(to.node())).await;
        let there = state.node(to.node());
        let begun = state.clock.now().max(there.in_free.get());
        let fetched = state.fetch_pair(to.node(), self.ends(to).far);
        let served = begun + state.about(state.model.serve) + fetched;
        there.in_free.set(served);
        self.reach(served).await;
    }

    /// The way back: when the thread has the completion.
    async fn complete(&self, to: NodeId, done: Nanos) -> Result<(), Lost> {
        let state = self.state();
        let model = &state.model;
        let at = done + self.way(to) + state.about(model.completion);
        state.clock.until(at.max(state.clock.now() + 1)).await;
        if state.node(to).dead.get() {
            // The card tries again and again, and gives up.
            state.clock.sleep(model.detection).await;
            return Err(Lost(to));
        }
        state.stall().await;
        Ok(())
    }

    /// The one way of a card's access to its host's memory.
    async fn half(&self) {
        let state = self.state();
        state.clock.sleep(state.about(state.model.half())).await;
    }

    /// A read of the other host's memory, and the way back.
    async fn fetch(&self, lock: LockPtr) -> Result<[u64; 3], Lost> {
        self.half().await;
        let words = self.copy(lock).await;
        let done = self.state().clock.now() + self.state().model.half();
        self.complete(lock.0.node(), done).await?;
        Ok(words)
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
            Writes::Single => state.put(to, value),
            Writes::Torn => {
                let before = state.load(to);
                state.put(to, (before & !0xffff_ffff) | (value & 0xffff_ffff));
                self.reach(state.clock.now() + pause).await;
                let before = state.load(to);
                state.put(to, (before & 0xffff_ffff) | (value & !0xffff_ffff));
            }
            Writes::Doubled => {
                state.put(to, value);
                let state = Rc::clone(state);
                let at = state.clock.now() + pause;
                let clock = Rc::clone(&state);
                clock.clock.at(at, move || state.put(to, value));
            }
        }
    }

    /// Reads one word of data.
    pub async fn get(&self, from: Place) -> Result<u64, Lost> {
        self.send(from).await;
        self.half().await;
        let value = self.state().load(from);
        let done = self.state().clock.now() + self.state().model.half();
        self.complete(from.node(), done).await?;
        Ok(value)
    }
}

impl Verbs for Card {
    type Fault = Lost;

    async fn cas(&self, at: Place, old: u64, new: u64) -> Result<u64, Lost> {
        let state = self.state();
        let model = &state.model;
        self.send(at).await;
        let units = &state.node(at.node()).atomic_free;
        // A word's unit has it from its read to its write.
        let unit = &units[(at.offset() / 64) as usize % units.len()];
        let read = (state.clock.now() + state.about(model.half())).max(unit.get());
        let write = read + state.about(model.pcie);
        unit.set(write + 1);
        if model.in_order > 0 {
            let serving = &state.node(at.node()).in_free;
            serving.set(serving.get().max(write));
        }
        self.reach(read).await;
        let found = state.load(at);
        self.reach(write).await;
        if found == old && !self.dead(at.node()) {
            state.put(at, new);
        }
        // What it read was there before, and is on its way.
        let done = read + model.half();
        self.complete(at.node(), done).await?;
        Ok(found)
    }

    async fn write(&self, to: Place, value: u64) -> Result<(), Lost> {
        self.send(to).await;
        // Acknowledged when it is there, not when it is in the memory.
        let done = self.state().clock.now();
        self.half().await;
        if !self.dead(to.node()) {
            self.put(to, value).await;
        }
        self.complete(to.node(), done).await
    }

    async fn read(&self, lock: LockPtr) -> Result<[u64; 3], Lost> {
        let began = self.state().clock.now();
        self.send(lock.0.word(0)).await;
        let words = self.fetch(lock).await?;
        self.pace.took(self.state().clock.now() - began);
        Ok(words)
    }

    async fn write_and_read(&self, to: Place, value: u64, lock: LockPtr) -> Result<[u64; 3], Lost> {
        // In this order, by one queue pair.
        let sent = self.post(to);
        let second = self.post(lock.0.word(0));
        self.arrive(to, sent).await;
        let state = self.state();
        let there = state.clock.now() + state.about(state.model.half());
        self.arrive(lock.0.word(0), second).await;
        self.reach(there.max(state.clock.now())).await;
        if !self.dead(to.node()) {
            self.put(to, value).await;
        }
        self.fetch(lock).await
    }

    fn load(&self, place: Place) -> u64 {
        self.looked.set(Some(Glance::at(&self.cluster, place)));
        self.state().load(place)
    }

    fn store(&self, place: Place, value: u64, _known: bool) {
        // Nobody waits for it to get there.
        let _there = self.state().fetch(place, Want::Store);
        self.state().store(place, value);
    }

    fn is_there(&self, line: Ptr) -> bool {
        self.state().is_there(line)
    }

    fn overwritten(&self) -> Lost {
        Lost(self.node)
    }

    fn is_own(&self, place: Place) -> bool {
        place.node() == self.node
    }

    async fn wait(&self, looked: Looked, turn: u32) -> Result<(), Lost> {
        let glance = self.looked.take();
        match looked {
            Looked::Own => wait(&self.cluster, glance, turn, 100).await,
            Looked::Tail => check(&self.cluster),
            Looked::Lock => {
                check(&self.cluster)?;
                self.state().clock.sleep(self.pace.pause(turn).max(1)).await;
                Ok(())
            }
        }
    }
}
