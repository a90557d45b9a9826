// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A simulated thread.

use std::cell::{Cell, RefCell};
use std::num::NonZeroU32;
use std::rc::Rc;

use alock::access::Access;
use alock::baselines;
use alock::lock::{acquire, release};
use alock::ptr::{Cohort, Descriptor, LockPtr, NodeId, WordPtr};
use alock::remote::{Remote, Verbs};
use alock_sim::{Card, Cluster, Connections, Cpu, Lost};
use hdrhistogram::Histogram;
use rand::Rng;

use super::Table;
use crate::point::{histogram, Lock, Point, Worked};

pub(crate) struct Worker {
    point: Point,
    empty: bool,
    table: Table,
    cluster: Cluster,
    node: NodeId,
    thread: u16,
    cpu: Cpu,
    card: Card,
    connections: Connections,
    latency: RefCell<Histogram<u64>>,
    /// Operations that ended before the time was over, and after it: one a thread at most.
    operations: Cell<u64>,
    late: Cell<u64>,
    /// The work requests of those in time.
    requests: Cell<u64>,
    lost: Cell<Option<Lost>>,
}

impl Worker {
    pub(crate) fn new(
        point: Point,
        empty: bool,
        table: Table,
        cluster: &Cluster,
        node: NodeId,
        thread: u16,
        connections: Connections,
    ) -> Self {
        Self {
            point,
            empty,
            table,
            cluster: cluster.clone(),
            node,
            thread,
            cpu: Cpu::new(cluster),
            card: Card::new(cluster, node, thread, connections),
            connections,
            latency: RefCell::new(histogram()),
            operations: Cell::new(0),
            late: Cell::new(0),
            requests: Cell::new(0),
            lost: Cell::new(None),
        }
    }

    /// Operations that ended when the time was over.
    pub(crate) fn late(&self) -> u64 {
        self.late.get()
    }

    /// What it did, when all are through. The rate is that of the time in which all were at
    /// work. A thread that waits long for its last lock so makes none of the others slower.
    /// On real devices the time is long, and the last operation counts for nothing. The
    /// latency is that of all operations.
    pub(crate) fn worked(&self) -> Result<Worked, String> {
        if let Some(Lost(node)) = self.lost.get() {
            return Err(format!("node {} is lost", node.0));
        }
        Ok(Worked {
            operations: self.operations.get(),
            seconds: self.point.duration.as_secs_f64(),
            latency: self.latency.borrow().clone(),
            work_requests: self.requests.get(),
            queue_pairs: self.connections.of_a_thread(self.point.nodes),
        })
    }

    /// Works as the thread of a real device does, until the time is over.
    pub(crate) async fn live(self: Rc<Self>, mut random: impl Rng) {
        let point = &self.point;
        let start = self.cluster.now();
        let duration = point.duration.as_nanos() as u64;
        let works = self.node.0 < point.at_work;
        while works && self.cluster.now() - start < duration {
            let (node, number) = point.choose(self.node.0, &mut random);
            let began = self.cluster.now();
            self.pass(self.cluster.costs().operation).await;
            if let Err(lost) = self.operation(node, number).await {
                self.lost.set(Some(lost));
                return;
            }
            // It grows as it must.
            let _ = self.latency.borrow_mut().record(self.cluster.now() - began);
            if self.cluster.now() - start <= duration {
                self.operations.set(self.operations.get() + 1);
                self.requests.set(self.card.work_requests());
            } else {
                self.late.set(1);
            }
            self.pass(point.think.as_nanos() as u64).await;
        }
    }

    async fn pass(&self, time: u64) {
        if time > 0 {
            self.cluster.sleep(time).await;
        }
    }

    async fn operation(&self, node: u16, number: u32) -> Result<(), Lost> {
        let lock = self.table.lock(node, number);
        let data = self.table.data(node, number);
        let mine = self.table.descriptor(self.node.0, self.thread);
        let budgets = &self.point.budgets;
        match self.point.lock {
            Lock::Alock if lock.cohort(self.node) == Cohort::Local => {
                self.by(&self.cpu, lock, mine, budgets.local, data).await
            }
            Lock::Alock => {
                let remote = Remote::new(&self.card);
                self.by(&remote, lock, mine, budgets.remote, data).await
            }
            Lock::RdmaSpin => {
                let word = lock.tail(Cohort::Remote);
                baselines::spin_lock(&self.card, word).await?;
                self.section(data).await?;
                baselines::spin_unlock(&self.card, word).await
            }
            Lock::RdmaMcs => {
                baselines::mcs_lock(&self.card, lock, mine).await?;
                self.section(data).await?;
                baselines::mcs_unlock(&self.card, lock, mine).await
            }
            Lock::Busted => self.section(data).await,
        }
    }

    async fn by<A: Access<Fault = Lost>>(
        &self,
        access: &A,
        lock: LockPtr,
        mine: Descriptor,
        budget: NonZeroU32,
        data: WordPtr,
    ) -> Result<(), Lost> {
        let held = acquire(access, lock, mine, budget, &mut || true).await?;
        // It never gives up.
        let Some(held) = held else {
            unreachable!("a wait without end has ended")
        };
        self.section(data).await?;
        release(access, lock, mine, held).await
    }

    /// Changes the data. A change of another thread meanwhile is lost.
    async fn section(&self, data: WordPtr) -> Result<(), Lost> {
        let hold = self.point.hold.as_nanos() as u64;
        if self.empty {
            let value = self.cluster.peek(data);
            self.cluster.sleep(hold.max(1)).await;
            self.cluster.poke(data, value + 1);
            return Ok(());
        }
        let own = self.card.is_own(data);
        let value = if own {
            self.cpu.load(data).await
        } else {
            self.card.get(data).await?
        };
        self.pass(hold).await;
        if own {
            self.cpu.store(data, value + 1).await;
            return Ok(());
        }
        self.card.write(data, value + 1).await
    }
}
