//! A simulated thread's CPU.

use std::cell::Cell;

use super::memory::Want;
use super::{Cluster, Lost, Nanos};
use crate::access::{Access, Looked, Seen};
use crate::local::victim_in;
use crate::ptr::{Cohort, LockPtr, Place, Ptr};

/// Access with CPU instructions, each at one moment.
pub struct Cpu {
    cluster: Cluster,
    looked: Cell<Option<Glance>>,
    /// Stores that are not yet through; the next locked instruction waits for them.
    owed: Cell<Nanos>,
}

/// A line of the own node's memory that was looked at, and how often it had been written.
#[derive(Clone, Copy)]
pub(super) struct Glance {
    place: Place,
    version: u64,
}

impl Glance {
    pub(super) fn at(cluster: &Cluster, place: Place) -> Self {
        let version = cluster.0.memory(place).version(place.offset());
        Self { place, version }
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

    async fn access(&self, place: Place, want: Want) {
        let state = &self.cluster.0;
        let at = state.fetch(place, want) + state.about(state.model.cpu_access);
        state.clock.until(at.max(state.clock.now() + 1)).await;
    }

    async fn rmw(&self, place: Place) {
        let state = &self.cluster.0;
        let owed = self.owed.take();
        let at = state.fetch(place, Want::Store) + state.about(state.model.cpu_rmw) + owed;
        state.clock.until(at.max(state.clock.now() + 1)).await;
    }

    /// A load of this node's data.
    pub async fn load(&self, place: Place) -> u64 {
        self.access(place, Want::Load).await;
        let value = self.cluster.0.load(place);
        self.cluster.0.stall().await;
        value
    }

    /// A store to this node's data.
    pub async fn store(&self, place: Place, value: u64) {
        self.access(place, Want::Store).await;
        self.cluster.0.store(place, value);
        self.cluster.0.stall().await;
    }
}

impl Access for Cpu {
    type Fault = Lost;

    const COHORT: Cohort = Cohort::Local;

    async fn swap(&self, tail: Place, new: u64) -> Result<u64, Lost> {
        self.rmw(tail).await;
        let state = &self.cluster.0;
        let found = state.load(tail);
        state.store(tail, new);
        state.stall().await;
        Ok(found)
    }

    async fn clear(&self, tail: Place, mine: u64) -> Result<u64, Lost> {
        self.rmw(tail).await;
        let state = &self.cluster.0;
        let found = state.load(tail);
        if found == mine {
            state.store(tail, Ptr::NULL);
        }
        state.stall().await;
        Ok(found)
    }

    async fn swap_if_null(&self, tail: Place, mine: u64) -> Result<u64, Lost> {
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
        if state.model.cpu_barrier > 0 {
            state
                .clock
                .sleep(state.about(state.model.cpu_barrier))
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

    async fn tell(&self, to: Place, value: u64) -> Result<(), Lost> {
        self.store(to, value).await;
        Ok(())
    }

    fn own(&self, place: Place) -> u64 {
        self.looked.set(Some(Glance::at(&self.cluster, place)));
        self.cluster.0.load(place)
    }

    fn prepare(&self, place: Place, value: u64) {
        let state = &self.cluster.0;
        let moved = state.fetch(place, Want::Store) - state.clock.now();
        self.owed.set(self.owed.get() + moved);
        state.store(place, value);
    }

    fn is_there(&self, line: Ptr) -> bool {
        self.cluster.0.is_there(line)
    }

    fn overwritten(&self) -> Lost {
        Lost(self.cluster.0.clock.node_of_running())
    }

    async fn wait(&self, _looked: Looked, turn: u32) -> Result<(), Lost> {
        wait(&self.cluster, self.looked.take(), turn, 50).await
    }
}

/// Whether all are there.
pub(super) fn check(cluster: &Cluster) -> Result<(), Lost> {
    cluster.0.lost.get().map_or(Ok(()), |node| Err(Lost(node)))
}

/// Waits until what was looked at has changed; where CPUs do not spin, `least`, and longer
/// the more often it waited.
pub(super) async fn wait(
    cluster: &Cluster,
    looked: Option<Glance>,
    turn: u32,
    least: u64,
) -> Result<(), Lost> {
    check(cluster)?;
    let state = &cluster.0;
    if !state.model.spins {
        let time = state.about(least << turn.min(4));
        state.clock.sleep(time).await;
        return Ok(());
    }
    let Some(Glance { place, version }) = looked else {
        // A verb was the look: the next one at once.
        state.clock.sleep(1).await;
        return Ok(());
    };
    let memory = state.memory(place);
    if memory.version(place.offset()) == version {
        memory.await_change(place.offset(), state.clock.running());
        state.clock.pause().await;
    }
    let at = state.fetch(place, Want::Load);
    state.clock.until(at.max(state.clock.now() + 1)).await;
    Ok(())
}
