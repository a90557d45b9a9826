// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The way of a queue pair's packets, how it is connected, and how words are written at its end.

use crate::endpoint::{mtu_code, Endpoint};
use crate::{Error, Options, Writes};
use sideway::ibverbs::address::{AddressHandleAttribute, Gid};
use sideway::ibverbs::queue_pair::{QueuePairAttribute, QueuePairState};
use sideway::ibverbs::AccessFlags;

/// What of an opened device a connection depends on.
pub(crate) struct Origin {
    pub(crate) device: String,
    pub(crate) gid_index: u8,
    /// Whether packets have a global header.
    pub(crate) global: bool,
    /// Reads and compare-and-swaps that may be out at a time.
    pub(crate) initiates: u8,
}

/// What of the device and of the options `connect` needs.
pub(crate) struct Path {
    pub(crate) device: String,
    pub(crate) timeout: u8,
    pub(crate) retries: u8,
    gid_index: u8,
    global: bool,
    initiates: u8,
    traffic_class: u8,
    service_level: u8,
    pkey_index: u16,
    hop_limit: u8,
}

/// The address vector of a connection, in numbers that a test can compare.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Way {
    lid: u16,
    port: u8,
    service_level: u8,
    /// The global header; `None` within a subnet of InfiniBand.
    global: Option<Global>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Global {
    gid: [u8; 16],
    gid_index: u8,
    hop_limit: u8,
    traffic_class: u8,
}

impl Way {
    /// The same for sideway, whose attribute cannot be read back. No other code makes one.
    fn attribute(&self) -> AddressHandleAttribute {
        let mut to = AddressHandleAttribute::new();
        to.setup_dest_lid(self.lid)
            .setup_port(self.port)
            .setup_service_level(self.service_level);
        if let Some(Global {
            gid,
            gid_index,
            hop_limit,
            traffic_class,
        }) = self.global
        {
            let flow_label = 0;
            to.setup_grh(
                &Gid { raw: gid },
                flow_label,
                gid_index,
                hop_limit,
                traffic_class,
            );
        }
        to
    }
}

impl Path {
    pub(crate) fn new(origin: Origin, options: &Options) -> Path {
        Path {
            device: origin.device,
            timeout: options.timeout,
            retries: options.retries,
            gid_index: origin.gid_index,
            global: origin.global,
            initiates: origin.initiates,
            traffic_class: options.traffic_class,
            service_level: options.service_level,
            pkey_index: options.pkey_index,
            hop_limit: options.hop_limit,
        }
    }

    /// How words are written at `peer`.
    pub(crate) fn writes(&self, mine: Writes, peer: &Endpoint) -> Result<Writes, Error> {
        let writes = Writes::between(mine, peer.writes);
        writes.ok_or_else(|| Error::TornWrites {
            device: peer.to_string(),
            reason: format!(
                "it takes atomic writes, which {} does not send",
                self.device
            ),
        })
    }

    /// The way to `peer`, by that port.
    fn way(&self, peer: &Endpoint, port: u8) -> Way {
        let global = self.global.then_some(Global {
            gid: peer.gid,
            gid_index: self.gid_index,
            hop_limit: self.hop_limit,
            traffic_class: self.traffic_class,
        });
        Way {
            lid: peer.lid,
            port,
            service_level: self.service_level,
            global,
        }
    }

    /// The first of three states of `mine` on the way to a connection.
    pub(crate) fn init(&self, mine: &Endpoint) -> QueuePairAttribute {
        let mut to = QueuePairAttribute::new();
        to.setup_state(QueuePairState::Init)
            .setup_pkey_index(self.pkey_index)
            .setup_port(mine.port)
            .setup_access_flags(
                AccessFlags::RemoteRead | AccessFlags::RemoteWrite | AccessFlags::RemoteAtomic,
            );
        to
    }

    /// The second: it takes what `peer` sends.
    pub(crate) fn ready_to_receive(&self, mine: &Endpoint, peer: &Endpoint) -> QueuePairAttribute {
        let way = self.way(peer, mine.port).attribute();
        // Checked before: it has a code.
        let mtu = mtu_code(mine.mtu.min(peer.mtu)).unwrap_or(1);
        let mut to = QueuePairAttribute::new();
        to.setup_state(QueuePairState::ReadyToReceive)
            .setup_path_mtu(mtu.into())
            .setup_dest_qp_num(peer.qpn)
            .setup_rq_psn(peer.psn)
            .setup_max_dest_read_atomic(mine.reads)
            .setup_min_rnr_timer(12)
            .setup_address_vector(&way);
        to
    }

    /// The third: it sends.
    pub(crate) fn ready_to_send(&self, mine: &Endpoint, peer: &Endpoint) -> QueuePairAttribute {
        let mut to = QueuePairAttribute::new();
        to.setup_state(QueuePairState::ReadyToSend)
            .setup_sq_psn(mine.psn)
            .setup_timeout(self.timeout)
            .setup_retry_cnt(self.retries)
            .setup_rnr_retry(7)
            .setup_max_read_atomic(self.initiates.min(peer.reads));
        to
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(global: bool) -> Path {
        let options = Options {
            timeout: 17,
            retries: 4,
            traffic_class: 106,
            service_level: 5,
            pkey_index: 2,
            hop_limit: 9,
            ..Options::default()
        };
        let origin = Origin {
            device: "mlx5_0".into(),
            gid_index: 3,
            global,
            initiates: 14,
        };
        Path::new(origin, &options)
    }

    fn mine() -> Endpoint {
        Endpoint {
            qpn: 21,
            psn: 22,
            lid: 23,
            gid: [24; 16],
            mtu: 4096,
            port: 6,
            reads: 15,
            writes: Writes::Plain,
        }
    }

    fn peer(writes: Writes) -> Endpoint {
        Endpoint {
            qpn: 17,
            psn: 1,
            lid: 4,
            gid: [7; 16],
            mtu: 1024,
            port: 1,
            reads: 16,
            writes,
        }
    }

    /// A plain write into soft-RoCE's memory would tear: such a peer is refused.
    #[test]
    fn a_peer_is_written_to_as_its_memory_takes_it() {
        use Writes::{Atomic, Plain};
        let of = |mine, theirs| path(true).writes(mine, &peer(theirs)).ok();
        assert_eq!(of(Atomic, Atomic), Some(Atomic));
        assert_eq!(of(Atomic, Plain), Some(Plain));
        assert_eq!(of(Plain, Plain), Some(Plain));
        assert_eq!(of(Plain, Atomic), None);
        let refused = path(true).writes(Plain, &peer(Atomic));
        let said = refused.unwrap_err().to_string();
        assert!(
            said.contains("queue pair 17") && said.contains("mlx5_0"),
            "{said}"
        );
    }

    /// Each number is another one: none can stand where another belongs.
    #[test]
    fn a_way_has_what_the_options_say() {
        let way = Way {
            lid: 4,
            port: 6,
            service_level: 5,
            global: Some(Global {
                gid: [7; 16],
                gid_index: 3,
                hop_limit: 9,
                traffic_class: 106,
            }),
        };
        let found = path(true).way(&peer(Writes::Plain), mine().port);
        assert_eq!(found, way);
        let within = Way {
            global: None,
            ..way
        };
        let found = path(false).way(&peer(Writes::Plain), mine().port);
        assert_eq!(found, within);
    }

    /// What is read back of the three states.
    #[test]
    fn a_connection_has_what_options_and_ends_say() {
        let (path, mine, peer) = (path(true), mine(), peer(Writes::Plain));
        let init = path.init(&mine);
        assert_eq!((init.pkey_index(), init.port()), (2, 6));
        let receives = path.ready_to_receive(&mine, &peer);
        assert_eq!((receives.dest_qp_num(), receives.rq_psn()), (17, 1));
        assert_eq!(receives.max_dest_read_atomic(), 15);
        assert_eq!(Some(receives.path_mtu() as u32), mtu_code(1024));
        let sends = path.ready_to_send(&mine, &peer);
        assert_eq!((sends.sq_psn(), sends.max_read_atomic()), (22, 14));
        assert_eq!((sends.timeout(), sends.retry_cnt()), (17, 4));
    }
}
