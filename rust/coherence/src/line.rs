// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A cache line, as its directory sees it, and what a request for it does.

use crate::machine::{ps, Costs, Time, Topology};

/// How far a request went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Distance {
    /// The core had the line.
    Own,
    /// The core's other thread wrote it last.
    Sibling,
    /// It came from the socket.
    Socket,
    /// It came from another socket.
    Far,
    /// No cache had it.
    Memory,
}

impl Distance {
    /// Their number.
    pub const COUNT: usize = 5;
}

/// What a request took.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Served {
    /// From its service to its end.
    pub(crate) latency: Time,
    /// How long the line serves nobody else.
    pub(crate) blocked: Time,
    pub(crate) from: Distance,
    /// The copies that it invalidated.
    pub(crate) invalidated: u32,
}

/// A line. It has an owner, who alone may write, or copies that all may read, or is in memory alone.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line {
    owner: Option<u32>,
    /// A bit for each core that has a copy; the owner has one.
    copies: u128,
    /// A bit for each socket whose L3 has a copy that is not older than the line.
    l3: u8,
    /// The CPU that wrote it last.
    writer: Option<u32>,
    /// How often it was written.
    pub(crate) version: u64,
}

const fn bit(core: u32) -> u128 {
    1 << core
}

impl Line {
    /// Whether the core needs no one else to read it, or to write it.
    pub(crate) fn is_hit(&self, core: u32, writes: bool) -> bool {
        if writes {
            self.owner == Some(core)
        } else {
            self.copies & bit(core) != 0
        }
    }

    /// The cores whose copies a write by `core` invalidates.
    pub(crate) fn others(&self, core: u32) -> u128 {
        self.copies & !bit(core)
    }

    /// An access by `cpu` that its core's cache serves.
    pub(crate) fn hit(
        &mut self,
        topology: Topology,
        costs: &Costs,
        cpu: u32,
        kind: Kind,
    ) -> Served {
        let core = topology.core(cpu);
        debug_assert!(self.is_hit(core, kind.writes()), "no hit");
        let is_siblings =
            self.owner == Some(core) && self.writer.is_some_and(|writer| writer != cpu);
        let (from, mut ns) = if is_siblings {
            (Distance::Sibling, costs.sibling)
        } else {
            (Distance::Own, costs.hit)
        };
        if kind == Kind::Locked {
            ns = ns.max(costs.locked);
        }
        self.written(cpu, kind);
        Served {
            latency: ps(ns),
            blocked: 0,
            from,
            invalidated: 0,
        }
    }

    /// A request of `cpu`, whose core's cache cannot serve it.
    pub(crate) fn miss(
        &mut self,
        topology: Topology,
        costs: &Costs,
        cpu: u32,
        kind: Kind,
    ) -> Served {
        let core = topology.core(cpu);
        let socket = topology.socket(core);
        let (from, mut latency, mut blocked);
        if let Some(owner) = self.owner {
            let is_near = topology.socket(owner) == socket;
            from = if is_near {
                Distance::Socket
            } else {
                Distance::Far
            };
            latency = if is_near {
                costs.same_socket
            } else {
                costs.other_socket
            };
            blocked = latency * costs.transfer_share;
        } else if self.copies & bit(core) != 0 {
            from = Distance::Own;
            (latency, blocked) = (costs.hit, 0.0);
        } else if self.l3 & (1 << socket) != 0 {
            from = Distance::Socket;
            (latency, blocked) = (costs.shared, costs.read_service);
        } else if self.l3 != 0 {
            from = Distance::Far;
            (latency, blocked) = (costs.shared_far, costs.read_service);
        } else {
            from = Distance::Memory;
            (latency, blocked) = (costs.memory, costs.read_service);
        }
        let mut invalidated = 0;
        if kind.writes() {
            let others = self.others(core);
            invalidated = others.count_ones();
            if self.owner.is_none() && others != 0 {
                let near = (others & topology.cores_of(socket)).count_ones();
                let far = invalidated - near;
                let mut snoop = 0.0_f64;
                if near != 0 {
                    snoop = costs.snoop + costs.each_copy * f64::from(near);
                }
                if far != 0 {
                    snoop = snoop.max(costs.snoop_far + costs.each_copy * f64::from(far));
                }
                latency = latency.max(snoop);
                blocked = blocked.max(latency * costs.transfer_share);
            }
            if kind == Kind::Locked {
                latency += costs.locked;
            }
            self.owner = Some(core);
            self.copies = bit(core);
            self.l3 = 0;
        } else {
            if let Some(owner) = self.owner.take() {
                self.l3 |= 1 << topology.socket(owner);
            }
            self.copies |= bit(core);
            self.l3 |= 1 << socket;
        }
        self.written(cpu, kind);
        Served {
            latency: ps(latency),
            blocked: ps(blocked),
            from,
            invalidated,
        }
    }

    fn written(&mut self, cpu: u32, kind: Kind) {
        if kind.writes() {
            self.writer = Some(cpu);
            self.version += 1;
        }
    }
}

/// What an access does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Write,
    /// A read-modify-write.
    Locked,
}

impl Kind {
    pub(crate) fn writes(self) -> bool {
        self != Self::Read
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use proptest::prelude::*;

    use super::*;

    /// A line, as MESI's states of each cache: told apart from [`Line`], which keeps bits.
    #[derive(Default)]
    struct Caches {
        modified: Option<u32>,
        shared: BTreeSet<u32>,
        in_l3: BTreeSet<u32>,
        last_writer: Option<u32>,
    }

    impl Caches {
        fn is_hit(&self, core: u32, writes: bool) -> bool {
            self.modified == Some(core) || (!writes && self.shared.contains(&core))
        }

        /// Where the line comes from, and which cores lose it.
        fn access(
            &mut self,
            topology: Topology,
            cpu: u32,
            kind: Kind,
        ) -> (Distance, BTreeSet<u32>) {
            let core = topology.core(cpu);
            let socket = topology.socket(core);
            let is_siblings =
                self.modified == Some(core) && self.last_writer.is_some_and(|last| last != cpu);
            let from = match self.modified {
                Some(owner) if owner == core && is_siblings => Distance::Sibling,
                Some(owner) if owner == core => Distance::Own,
                Some(owner) if topology.socket(owner) == socket => Distance::Socket,
                Some(_) => Distance::Far,
                None if self.shared.contains(&core) => Distance::Own,
                None if self.in_l3.contains(&socket) => Distance::Socket,
                None if !self.in_l3.is_empty() => Distance::Far,
                None => Distance::Memory,
            };
            let mut lost = BTreeSet::new();
            if kind.writes() {
                lost = std::mem::take(&mut self.shared);
                lost.extend(self.modified);
                lost.remove(&core);
                self.modified = Some(core);
                self.in_l3.clear();
                self.last_writer = Some(cpu);
            } else if self.modified != Some(core) {
                if let Some(owner) = self.modified.take() {
                    self.shared.insert(owner);
                    self.in_l3.insert(topology.socket(owner));
                }
                self.shared.insert(core);
                self.in_l3.insert(socket);
            }
            (from, lost)
        }

        /// From its service to its end, in nanoseconds, out of the costs' descriptions.
        fn cost(
            topology: Topology,
            costs: &Costs,
            (cpu, kind): (u32, Kind),
            from: Distance,
            lost: &BTreeSet<u32>,
            was_modified: bool,
            is_hit: bool,
        ) -> f64 {
            let core = topology.core(cpu);
            let fetch = match (from, was_modified) {
                (Distance::Own, _) => costs.hit,
                (Distance::Sibling, _) => costs.sibling,
                (Distance::Socket, true) => costs.same_socket,
                (Distance::Far, true) => costs.other_socket,
                (Distance::Socket, false) => costs.shared,
                (Distance::Far, false) => costs.shared_far,
                (Distance::Memory, _) => costs.memory,
            };
            let near = lost
                .iter()
                .filter(|&&one| topology.socket(one) == topology.socket(core))
                .count() as f64;
            let far = lost.len() as f64 - near;
            let snoops = [(near, costs.snoop), (far, costs.snoop_far)]
                .into_iter()
                .filter(|&(copies, _)| copies > 0.0 && !was_modified)
                .map(|(copies, first)| first + copies * costs.each_copy);
            let reached = snoops.fold(fetch, f64::max);
            match kind {
                Kind::Locked if is_hit => reached.max(costs.locked),
                Kind::Locked => reached + costs.locked,
                _ => reached,
            }
        }
    }

    fn accesses() -> impl Strategy<Value = (Topology, Vec<(u32, Kind)>)> {
        (1..=3u32, 1..=4u32, 1..=2u32)
            .prop_map(|(sockets, cores, threads)| Topology {
                sockets,
                cores,
                threads,
            })
            .prop_flat_map(|topology| {
                let one = (0..topology.cpus(), prop_oneof![3 => Just(Kind::Read), 1 => Just(Kind::Write), 1 => Just(Kind::Locked)]);
                (Just(topology), prop::collection::vec(one, 1..60))
            })
    }

    proptest! {
        /// Hits, origins, losses and times are those of the caches' states.
        #[test]
        fn a_line_is_its_caches((topology, accesses) in accesses()) {
            let costs = Costs::default();
            let (mut line, mut caches) = (Line::default(), Caches::default());
            for (cpu, kind) in accesses {
                let core = topology.core(cpu);
                let is_hit = line.is_hit(core, kind.writes());
                prop_assert_eq!(is_hit, caches.is_hit(core, kind.writes()));
                let version = line.version;
                let served = if is_hit {
                    line.hit(topology, &costs, cpu, kind)
                } else {
                    line.miss(topology, &costs, cpu, kind)
                };
                let was_modified = caches.modified.is_some();
                let (from, lost) = caches.access(topology, cpu, kind);
                prop_assert_eq!(served.from, from);
                prop_assert_eq!(served.invalidated as usize, lost.len());
                let due = Caches::cost(topology, &costs, (cpu, kind), from, &lost, was_modified, is_hit);
                prop_assert_eq!(served.latency, ps(due));
                prop_assert_eq!(line.version, version + u64::from(kind.writes()));
                if !is_hit {
                    let least = if was_modified { costs.transfer_share * costs.same_socket } else { 0.0 };
                    prop_assert!(served.blocked >= ps(least) && served.blocked <= served.latency.max(ps(costs.read_service)));
                }
                // One writer, or readers.
                prop_assert!(caches.modified.is_none() || caches.shared.is_empty());
            }
        }
    }
}
