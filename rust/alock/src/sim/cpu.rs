//! A simulated thread's CPU.

use super::{Cluster, Lost};
use crate::access::{Access, Looked, Seen};
use crate::local::victim_in;
use crate::ptr::{Cohort, LockPtr, Place, Ptr};

/// Access with CPU instructions, each at one moment.
pub struct Cpu(pub Cluster);

impl Cpu {
    async fn access(&self) {
        let state = &self.0 .0;
        state.clock.sleep(state.about(state.model.cpu_access)).await;
    }

    async fn rmw(&self) {
        let state = &self.0 .0;
        state.clock.sleep(state.about(state.model.cpu_rmw)).await;
    }

    /// A load of this node's data.
    pub async fn load(&self, place: Place) -> u64 {
        self.access().await;
        let value = self.0 .0.load(place);
        self.0 .0.stall().await;
        value
    }

    /// A store to this node's data.
    pub async fn store(&self, place: Place, value: u64) {
        self.access().await;
        self.0 .0.store(place, value);
        self.0 .0.stall().await;
    }
}

impl Access for Cpu {
    type Fault = Lost;

    const COHORT: Cohort = Cohort::Local;

    async fn swap(&self, tail: Place, new: u64) -> Result<u64, Lost> {
        self.rmw().await;
        let found = self.0 .0.load(tail);
        self.0 .0.store(tail, new);
        self.0 .0.stall().await;
        Ok(found)
    }

    async fn clear(&self, tail: Place, mine: u64) -> Result<bool, Lost> {
        self.rmw().await;
        let found = self.0 .0.load(tail) == mine;
        if found {
            self.0 .0.store(tail, Ptr::NULL);
        }
        self.0 .0.stall().await;
        Ok(found)
    }

    async fn swap_if_null(&self, tail: Place, mine: u64) -> Result<bool, Lost> {
        self.rmw().await;
        let found = self.0 .0.load(tail) == Ptr::NULL;
        if found {
            self.0 .0.store(tail, mine);
        }
        self.0 .0.stall().await;
        Ok(found)
    }

    async fn yield_and_look(&self, lock: LockPtr) -> Result<Seen, Lost> {
        self.store(lock.victim(), Self::COHORT as u64).await;
        self.look(lock).await
    }

    async fn look(&self, lock: LockPtr) -> Result<Seen, Lost> {
        let other = self.load(lock.tail(Self::COHORT.other())).await;
        let victim = self.load(lock.victim()).await;
        Ok(Seen {
            other: !Ptr::is_null_in(other),
            victim: victim_in(victim),
        })
    }

    async fn tell(&self, to: Place, value: u64) -> Result<(), Lost> {
        self.store(to, value).await;
        Ok(())
    }

    fn own(&self, place: Place) -> u64 {
        self.0 .0.load(place)
    }

    fn prepare(&self, place: Place, value: u64) {
        self.0 .0.store(place, value);
    }

    async fn wait(&self, _looked: Looked, turn: u32) -> Result<(), Lost> {
        wait(&self.0, turn, 50).await
    }
}

/// Whether all are there.
pub(super) fn check(cluster: &Cluster) -> Result<(), Lost> {
    cluster.0.lost.get().map_or(Ok(()), |node| Err(Lost(node)))
}

/// Waits `least`, and longer the more often it waited.
pub(super) async fn wait(cluster: &Cluster, turn: u32, least: u64) -> Result<(), Lost> {
    check(cluster)?;
    let state = &cluster.0;
    let time = state.about(least << turn.min(4));
    state.clock.sleep(time).await;
    Ok(())
}
