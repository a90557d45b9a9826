// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A simulated thread's network card.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;

use alock::access::Polled;
use alock::litmus::{Flag, Sends, Words};
use alock::pace::Pace;
use alock::ptr::{LockPtr, NodeId, Ptr, WordPtr};
use alock::remote::Verbs;

use crate::cluster::{Cluster, Lost, State};
use crate::costs::{Nanos, WriteKind};
use crate::cpu::{check, wait, Glance};
use crate::memory::Want;
use crate::pairs::{Connections, Ends};

/// WRITEs of a thread that are acknowledged and not in the memory, the first one first.
#[derive(Default)]
struct Late {
    /// How many are there by now.
    placed: Cell<u64>,
    /// The writes that are not there yet.
    writes: RefCell<VecDeque<(WordPtr, u64)>>,
}

impl Late {
    /// One more. Its number.
    fn push(&self, to: WordPtr, value: u64) -> u64 {
        let mut writes = self.writes.borrow_mut();
        writes.push_back((to, value));
        self.placed.get() + writes.len() as u64
    }

    /// The next one of the first `number` that is to come there.
    fn pop(&self, number: u64) -> Option<(WordPtr, u64)> {
        if self.placed.get() >= number {
            return None;
        }
        let write = self.writes.borrow_mut().pop_front()?;
        self.placed.set(self.placed.get() + 1);
        Some(write)
    }
}

/// The verbs of one thread of a node, by its node's card.
///
/// # Examples
/// ```
/// # use alock::ptr::{NodeId, Ptr};
/// # use alock::remote::Verbs;
/// # use alock_sim::{Card, Cluster, Connections, Costs, End};
/// # let cluster = Cluster::new(2, 4096, Costs::default(), 7);
/// // Thread 0 of node 1 swaps a word of node 0.
/// let word = Ptr::new(NodeId(0), 64).unwrap().word(0);
/// let connections = Connections { threads: 1, loopback: false, full: false };
/// let card = Card::new(&cluster, NodeId(1), 0, connections);
/// cluster.spawn(NodeId(1), async move {
///     assert_eq!(card.cas(word, 0, 5).await, Ok(0));
///     assert_eq!(card.get(word).await, Ok(5));
/// });
/// assert_eq!(cluster.run(1_000_000), End::Finished);
/// assert_eq!(cluster.work_requests(), 2);
/// ```
pub struct Card {
    cluster: Cluster,
    node: NodeId,
    pace: Pace,
    /// The thread's number among its node's.
    thread: u16,
    connections: Connections,
    posted: Cell<u64>,
    looked: Cell<Option<Glance>>,
    /// The late writes by target node: a queue pair each.
    late: Vec<Rc<Late>>,
}

impl Card {
    /// Makes the card's share of thread number `thread` of that node.
    pub fn new(cluster: &Cluster, node: NodeId, thread: u16, connections: Connections) -> Self {
        Self {
            cluster: cluster.clone(),
            node,
            pace: Pace::default(),
            thread,
            connections,
            posted: Cell::new(0),
            looked: Cell::new(None),
            late: cluster.0.nodes.iter().map(|_| Rc::default()).collect(),
        }
    }

    /// How many work requests this thread has posted.
    pub fn work_requests(&self) -> u64 {
        self.posted.get()
    }

    fn state(&self) -> &Rc<State> {
        &self.cluster.0
    }

    /// The time from card to card.
    fn way(&self, to: NodeId) -> Nanos {
        let state = self.state();
        let costs = &state.costs;
        state.about(if to == self.node {
            costs.loopback
        } else {
            costs.wire
        })
    }

    /// The way there: until the other card has done its part but for the memory.
    async fn send(&self, to: WordPtr) {
        let sent = self.post(to);
        self.arrive(to, sent).await;
    }

    /// Gives the card a work request. When it has sent it.
    fn post(&self, to: WordPtr) -> Nanos {
        let state = self.state();
        let costs = &state.costs;
        self.posted.set(self.posted.get() + 1);
        // What was looked at before is not what is waited for after it.
        self.looked.set(None);
        state.work_requests.set(state.work_requests.get() + 1);
        let mine = state.node(self.node);
        let posted = (state.clock.now() + state.about(costs.post)).max(mine.out_free.get());
        let ends = self.ends(to);
        let sent = posted + state.about(costs.send) + state.fetch_pair(self.node, ends.near);
        mine.out_free.set(sent);
        sent
    }

    fn ends(&self, to: WordPtr) -> Ends {
        let nodes = self.state().nodes.len();
        self.connections.ends(nodes, self.node, self.thread, to)
    }

    /// What was sent comes to the other card, which serves one at a time.
    async fn arrive(&self, to: WordPtr, sent: Nanos) {
        let state = self.state();
        self.reach(sent + self.way(to.node())).await;
        let there = state.node(to.node());
        let begun = state.clock.now().max(there.in_free.get());
        let fetched = state.fetch_pair(to.node(), self.ends(to).far);
        let served = begun + state.about(state.costs.serve) + fetched;
        there.in_free.set(served);
        self.reach(served).await;
    }

    /// The way back: when the thread has the completion.
    async fn complete(&self, to: NodeId, done: Nanos) -> Result<(), Lost> {
        let state = self.state();
        let costs = &state.costs;
        let at = done + self.way(to) + state.about(costs.completion);
        state.clock.until(at.max(state.clock.now() + 1)).await;
        if state.node(to).dead.get() {
            // The card tries again and again, and gives up.
            state.clock.sleep(costs.detection).await;
            return Err(Lost(to));
        }
        state.stall().await;
        Ok(())
    }

    /// The one way of a card's access to its host's memory.
    async fn half(&self) {
        let state = self.state();
        state.clock.sleep(state.about(state.costs.half())).await;
    }

    /// A read of the other host's memory, and the way back.
    async fn fetch(&self, lock: LockPtr) -> Result<[u64; 3], Lost> {
        self.half().await;
        let words = self.copy(lock).await;
        let done = self.state().clock.now() + self.state().costs.half();
        self.complete(lock.0.node(), done).await?;
        Ok(words)
    }

    /// A moment of the other card.
    async fn reach(&self, at: Nanos) {
        self.state().clock.until(at).await;
    }

    /// What this thread wrote there before comes first: the first `number` of them, or all.
    fn push(&self, node: NodeId, number: u64) {
        self.state()
            .settle(node, &self.late[usize::from(node.0)], number);
    }

    /// Acknowledged, and there some day.
    fn put_late(&self, to: WordPtr, value: u64) {
        let (state, node) = (Rc::clone(self.state()), to.node());
        // One that keeps no order is not among those that are pushed, and none pushes it.
        let late = if state.costs.relaxed {
            Rc::default()
        } else {
            Rc::clone(&self.late[usize::from(node.0)])
        };
        let number = late.push(to, value);
        let time = 1 + state.roll(state.costs.placement);
        let clock = Rc::clone(&state);
        let at = state.clock.now() + time;
        clock
            .clock
            .at(at, move || state.settle(node, &late, number));
    }

    /// Reads words, each in halves.
    async fn copy(&self, lock: LockPtr) -> [u64; 3] {
        self.push(lock.0.node(), u64::MAX);
        let state = self.state();
        let mut words = [0; 3];
        for (index, word) in words.iter_mut().enumerate() {
            let at = lock.0.word(index as u8);
            let low = state.load(at);
            if state.costs.torn_reads {
                self.reach(state.clock.now() + 1 + self.cluster.roll(20))
                    .await;
            }
            let high = state.load(at);
            *word = (high & !0xffff_ffff) | (low & 0xffff_ffff);
        }
        words
    }

    fn dead(&self, node: NodeId) -> bool {
        self.state().node(node).dead.get()
    }

    async fn put(&self, to: WordPtr, value: u64) {
        let state = self.state();
        let pause = 1 + self.cluster.roll(state.costs.write_gap.max(1));
        match state.costs.writes {
            WriteKind::Single => state.put(to, value),
            WriteKind::Torn => {
                let before = state.load(to);
                state.put(to, (before & !0xffff_ffff) | (value & 0xffff_ffff));
                self.reach(state.clock.now() + pause).await;
                let before = state.load(to);
                state.put(to, (before & 0xffff_ffff) | (value & !0xffff_ffff));
            }
            WriteKind::Doubled => {
                state.put(to, value);
                let state = Rc::clone(state);
                let at = state.clock.now() + pause;
                let clock = Rc::clone(&state);
                clock.clock.at(at, move || state.put(to, value));
            }
        }
    }

    /// A write's part at the other card. When that has said that it has it.
    async fn deliver(&self, to: WordPtr, value: u64) -> Nanos {
        // Acknowledged when it is there, not when it is in the memory.
        let done = self.state().clock.now();
        let costs = &self.state().costs;
        if costs.placement > 0 && costs.writes == WriteKind::Single {
            self.put_late(to, value);
            return done;
        }
        self.half().await;
        if !self.dead(to.node()) {
            self.put(to, value).await;
        }
        done
    }

    /// A compare-and-swap's part at the other card: what was there, and when that was read.
    async fn swap(&self, at: WordPtr, old: u64, new: u64) -> (u64, Nanos) {
        let state = self.state();
        let costs = &state.costs;
        let units = &state.node(at.node()).atomic_free;
        // A word's unit has it from its read to its write.
        let unit = &units[(at.offset() / 64) as usize % units.len()];
        let read = (state.clock.now() + state.about(costs.half())).max(unit.get());
        let write = read + state.about(costs.pcie);
        unit.set(write + 1);
        if costs.in_order > 0 {
            let serving = &state.node(at.node()).in_free;
            serving.set(serving.get().max(write));
        }
        self.reach(read).await;
        self.push(at.node(), u64::MAX);
        let found = state.load(at);
        self.reach(write).await;
        if found == old && !self.dead(at.node()) {
            state.put(at, new);
        }
        (found, read)
    }

    /// Reads one word of data.
    pub async fn get(&self, from: WordPtr) -> Result<u64, Lost> {
        self.send(from).await;
        self.half().await;
        self.push(from.node(), u64::MAX);
        let value = self.state().load(from);
        let done = self.state().clock.now() + self.state().costs.half();
        self.complete(from.node(), done).await?;
        Ok(value)
    }
}

impl State {
    /// Puts the first `number` of these late writes to `node` into its memory.
    fn settle(&self, node: NodeId, late: &Late, number: u64) {
        while let Some((to, value)) = late.pop(number) {
            if !self.node(node).dead.get() {
                self.put(to, value);
            }
        }
    }
}

impl Sends for Card {
    type Fault = Lost;

    async fn write_and_flag(&self, words: Words, round: u64, flag: Flag) -> Result<(), Lost> {
        // In this order, by one queue pair.
        let (sent, second) = (self.post(words.data), self.post(words.flag));
        self.arrive(words.data, sent).await;
        self.deliver(words.data, round).await;
        self.arrive(words.flag, second).await;
        let done = match flag {
            Flag::Write => self.deliver(words.flag, round).await,
            Flag::Cas => {
                let (_, read) = self.swap(words.flag, round - 1, round).await;
                read + self.state().costs.half()
            }
        };
        self.complete(words.flag.node(), done).await
    }
}

impl Verbs for Card {
    type Fault = Lost;

    async fn cas(&self, at: WordPtr, old: u64, new: u64) -> Result<u64, Lost> {
        self.send(at).await;
        let (found, read) = self.swap(at, old, new).await;
        // What it read was there before, and is on its way.
        let done = read + self.state().costs.half();
        self.complete(at.node(), done).await?;
        Ok(found)
    }

    async fn write(&self, to: WordPtr, value: u64) -> Result<(), Lost> {
        self.send(to).await;
        let done = self.deliver(to, value).await;
        self.complete(to.node(), done).await
    }

    async fn read(&self, lock: LockPtr) -> Result<[u64; 3], Lost> {
        let began = self.state().clock.now();
        self.send(lock.0.word(0)).await;
        let words = self.fetch(lock).await?;
        self.pace.took(self.state().clock.now() - began);
        Ok(words)
    }

    async fn write_and_read(
        &self,
        to: WordPtr,
        value: u64,
        lock: LockPtr,
    ) -> Result<[u64; 3], Lost> {
        // In this order, by one queue pair.
        let sent = self.post(to);
        let second = self.post(lock.0.word(0));
        self.arrive(to, sent).await;
        let state = self.state();
        let there = state.clock.now() + state.about(state.costs.half());
        self.arrive(lock.0.word(0), second).await;
        self.reach(there.max(state.clock.now())).await;
        self.push(to.node(), u64::MAX);
        if !self.dead(to.node()) {
            self.put(to, value).await;
        }
        self.fetch(lock).await
    }

    fn load(&self, at: WordPtr) -> u64 {
        self.looked.set(Some(Glance::at(&self.cluster, at)));
        self.state().load(at)
    }

    fn store(&self, at: WordPtr, value: u64, _known: bool) {
        // No thread waits for it to get there.
        let _there = self.state().fetch(at, Want::Store);
        self.state().store(at, value);
    }

    fn is_there(&self, line: Ptr) -> bool {
        self.state().is_there(line)
    }

    fn overwritten(&self) -> Lost {
        Lost(self.node)
    }

    fn is_own(&self, at: WordPtr) -> bool {
        at.node() == self.node
    }

    async fn wait(&self, polled: Polled, turn: u32) -> Result<(), Lost> {
        let glance = self.looked.take();
        match polled {
            Polled::Own => wait(&self.cluster, glance, turn, 100).await,
            Polled::Tail => check(&self.cluster),
            Polled::Lock => {
                check(&self.cluster)?;
                self.state().clock.sleep(self.pace.pause(turn).max(1)).await;
                Ok(())
            }
        }
    }
}
