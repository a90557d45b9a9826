// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A simulated thread's CPU.

use std::cell::Cell;

use alock::access::{Access, Polled, Seen};
use alock::local::victim_in;
use alock::ptr::{Cohort, LockPtr, Ptr, WordPtr};

use crate::cluster::{Cluster, Lost};
use crate::costs::Nanos;
use crate::memory::Want;

/// Access with CPU instructions, each at one moment.
///
/// # Examples
/// ```
/// # use alock::ptr::{NodeId, Ptr};
/// # use alock_sim::{Cluster, Costs, Cpu, End};
/// let cluster = Cluster::new(1, 4096, Costs::connectx3(), 7);
/// let word = Ptr::new(NodeId(0), 64).unwrap().word(0);
/// let cpu = Cpu::new(&cluster);
/// cluster.spawn(NodeId(0), async move {
///     let value = cpu.load(word).await;
///     cpu.store(word, value + 1).await;
/// });
/// assert_eq!(cluster.run(1_000_000), End::Finished);
/// // Both took time.
/// assert!(cluster.now() > 0 && cluster.peek(word) == 1);
/// ```
pub struct Cpu {
    cluster: Cluster,
    looked: Cell<Option<Glance>>,
    /// Stores that are not yet through; the next locked instruction waits for them.
    owed: Cell<Nanos>,
}

/// A line of the own node's memory that was looked at, and how often it had been written.
#[derive(Clone, Copy)]
pub(crate) struct Glance {
    word: WordPtr,
    version: u64,
}

impl Glance {
    pub(crate) fn at(cluster: &Cluster, word: WordPtr) -> Self {
        let version = cluster.0.memory(word).version(word.offset());
        Self { word, version }
    }
}

impl Cpu {
    /// The CPU of whichever thread uses it.
    pub fn new(cluster: &Cluster) -> Self {
        Self {
            cluster: cluster.clone(),
            looked: Cell::new(None),
            owed: Cell::new(0),
        }
    }

    async fn access(&self, word: WordPtr, want: Want) {
        let state = &self.cluster.0;
        let at = state.fetch(word, want) + state.about(state.costs.cpu_access);
        state.clock.until(at.max(state.clock.now() + 1)).await;
    }

    async fn rmw(&self, word: WordPtr) {
        let state = &self.cluster.0;
        let owed = self.owed.take();
        let at = state.fetch(word, Want::Store) + state.about(state.costs.cpu_rmw) + owed;
        state.clock.until(at.max(state.clock.now() + 1)).await;
    }

    /// A load of this node's data.
    pub async fn load(&self, word: WordPtr) -> u64 {
        self.access(word, Want::Load).await;
        let value = self.cluster.0.load(word);
        self.cluster.0.stall().await;
        value
    }

    /// A store to this node's data.
    pub async fn store(&self, word: WordPtr, value: u64) {
        self.access(word, Want::Store).await;
        self.cluster.0.store(word, value);
        self.cluster.0.stall().await;
    }
}

impl Access for Cpu {
    type Fault = Lost;

    const COHORT: Cohort = Cohort::Local;

    async fn swap(&self, tail: WordPtr, new: u64) -> Result<u64, Lost> {
        self.rmw(tail).await;
        let state = &self.cluster.0;
        let found = state.load(tail);
        state.store(tail, new);
        state.stall().await;
        Ok(found)
    }

    async fn clear(&self, tail: WordPtr, mine: u64) -> Result<u64, Lost> {
        self.rmw(tail).await;
        let state = &self.cluster.0;
        let found = state.load(tail);
        if found == mine {
            state.store(tail, Ptr::NULL);
        }
        state.stall().await;
        Ok(found)
    }

    async fn swap_if_null(&self, tail: WordPtr, mine: u64) -> Result<u64, Lost> {
        self.rmw(tail).await;
        let state = &self.cluster.0;
        let found = state.load(tail);
        if found == Ptr::NULL {
            state.store(tail, mine);
        }
        state.stall().await;
        Ok(found)
    }

    async fn yield_and_look(&self, lock: LockPtr) -> Result<Seen, Lost> {
        self.store(lock.victim(), Self::COHORT as u64).await;
        let state = &self.cluster.0;
        if state.costs.cpu_barrier > 0 {
            state
                .clock
                .sleep(state.about(state.costs.cpu_barrier))
                .await;
        }
        self.look(lock).await
    }

    async fn look(&self, lock: LockPtr) -> Result<Seen, Lost> {
        // What changes after the first of the loads counts as a change.
        let glance = Glance::at(&self.cluster, lock.victim());
        let other = self.load(lock.tail(Self::COHORT.other())).await;
        let victim = self.load(lock.victim()).await;
        self.looked.set(Some(glance));
        Ok(Seen {
            other: self.wanted(other)?,
            victim: victim_in(victim),
        })
    }

    async fn tell(&self, to: WordPtr, value: u64) -> Result<(), Lost> {
        self.store(to, value).await;
        Ok(())
    }

    fn own(&self, word: WordPtr) -> u64 {
        self.looked.set(Some(Glance::at(&self.cluster, word)));
        self.cluster.0.load(word)
    }

    fn prepare(&self, word: WordPtr, value: u64) {
        let state = &self.cluster.0;
        let moved = state.fetch(word, Want::Store) - state.clock.now();
        self.owed.set(self.owed.get() + moved);
        state.store(word, value);
    }

    fn is_there(&self, line: Ptr) -> bool {
        self.cluster.0.is_there(line)
    }

    fn overwritten(&self) -> Lost {
        Lost(self.cluster.0.clock.node_of_running())
    }

    async fn wait(&self, _looked: Polled, turn: u32) -> Result<(), Lost> {
        wait(&self.cluster, self.looked.take(), turn, 50).await
    }
}

/// Whether all are there.
pub(crate) fn check(cluster: &Cluster) -> Result<(), Lost> {
    cluster.0.lost.get().map_or(Ok(()), |node| Err(Lost(node)))
}

/// Waits until what was looked at has changed. Where CPUs do not spin it waits for
/// `least`, and longer the more often it waited.
pub(crate) async fn wait(
    cluster: &Cluster,
    looked: Option<Glance>,
    turn: u32,
    least: u64,
) -> Result<(), Lost> {
    check(cluster)?;
    let state = &cluster.0;
    if !state.costs.spins {
        let time = state.about(least << turn.min(4));
        state.clock.sleep(time).await;
        return Ok(());
    }
    let Some(Glance { word, version }) = looked else {
        // A verb was the poll: the next one at once.
        state.clock.sleep(1).await;
        return Ok(());
    };
    let memory = state.memory(word);
    if memory.version(word.offset()) == version {
        memory.await_change(word.offset(), state.clock.running());
        state.clock.pause().await;
    }
    let at = state.fetch(word, Want::Load);
    state.clock.until(at.max(state.clock.now() + 1)).await;
    Ok(())
}
