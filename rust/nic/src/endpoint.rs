// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What peers tell each other, by any other way, before they are connected.

use crate::{Error, Writes};
use serde::{Deserialize, Serialize};
use std::fmt;
use std::net::Ipv6Addr;

/// One side of a connection, for the other to connect to.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Endpoint {
    /// The queue pair's number, 24 bits.
    pub qpn: u32,
    /// The number of its first packet, 24 bits, by chance.
    pub psn: u32,
    /// Its port's address on an InfiniBand subnet; 0 on Ethernet.
    pub lid: u16,
    /// Its port's global address; on Ethernet, the IP address.
    pub gid: [u8; 16],
    /// The largest packet that its port takes, in bytes: 256 to 4096, a power of two.
    pub mtu: u16,
    /// Its port's number on its device.
    pub port: u8,
    /// The reads and compare-and-swaps that it answers at a time, at least 1.
    pub reads: u8,
    /// How its memory is to be written to.
    pub writes: Writes,
}

impl Endpoint {
    /// Refuses what no queue pair can be, as a message from elsewhere may be.
    pub(crate) fn check(&self) -> Result<(), Error> {
        let what = if self.qpn >> 24 != 0 {
            "its queue pair's number has more than 24 bits"
        } else if self.psn >> 24 != 0 {
            "its packet number has more than 24 bits"
        } else if mtu_code(self.mtu).is_none() {
            "its mtu is none of 256, 512, 1024, 2048 and 4096"
        } else if self.reads == 0 {
            "it answers no reads"
        } else {
            return Ok(());
        };
        Err(Error::Endpoint {
            peer: self.to_string(),
            what,
        })
    }
}

/// The name of a peer in messages: its address and its queue pair's number.
impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let address = Ipv6Addr::from(self.gid);
        write!(f, "queue pair {} at ", self.qpn)?;
        match address.to_ipv4_mapped() {
            Some(address) => write!(f, "{address}")?,
            None if address.is_unspecified() => write!(f, "lid {}", self.lid)?,
            None => write!(f, "{address}")?,
        }
        if self.port != 1 {
            write!(f, ", port {}", self.port)?;
        }
        Ok(())
    }
}

/// `enum ibv_mtu` of a size in bytes.
pub(crate) fn mtu_code(bytes: u16) -> Option<u32> {
    match bytes {
        256 => Some(1),
        512 => Some(2),
        1024 => Some(3),
        2048 => Some(4),
        4096 => Some(5),
        _ => None,
    }
}

/// The size in bytes of an `enum ibv_mtu`; the smallest for one that is not known.
pub(crate) fn mtu_bytes(code: u32) -> u16 {
    match code {
        2 => 512,
        3 => 1024,
        4 => 2048,
        5 => 4096,
        _ => 256,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RemoteWord;

    fn endpoint() -> Endpoint {
        Endpoint {
            qpn: 17,
            psn: 0xff_ffff,
            lid: 0,
            gid: std::net::Ipv4Addr::new(10, 0, 0, 1)
                .to_ipv6_mapped()
                .octets(),
            mtu: 1024,
            port: 1,
            reads: 16,
            writes: Writes::Atomic,
        }
    }

    #[test]
    fn an_endpoint_survives_the_way() {
        let line = serde_json::to_string(&endpoint()).unwrap();
        assert_eq!(serde_json::from_str::<Endpoint>(&line).unwrap(), endpoint());
        assert!(line.contains("\"writes\":\"atomic\""), "{line}");
        let remote = RemoteWord {
            addr: 4096,
            rkey: 3,
        };
        let line = serde_json::to_string(&remote).unwrap();
        assert_eq!(serde_json::from_str::<RemoteWord>(&line).unwrap(), remote);
    }

    #[test]
    fn what_no_queue_pair_can_be_is_refused() {
        assert!(endpoint().check().is_ok());
        let refused = |change: fn(&mut Endpoint)| {
            let mut peer = endpoint();
            change(&mut peer);
            peer.check().unwrap_err().to_string()
        };
        assert!(refused(|peer| peer.qpn = 1 << 24).contains("queue pair's number"));
        assert!(refused(|peer| peer.psn = 1 << 24).contains("packet number"));
        assert!(refused(|peer| peer.mtu = 1500).contains("mtu"));
        assert!(refused(|peer| peer.reads = 0).contains("reads"));
    }

    #[test]
    fn a_peer_is_named_by_its_address() {
        let mut peer = endpoint();
        assert_eq!(peer.to_string(), "queue pair 17 at 10.0.0.1");
        peer.port = 2;
        assert_eq!(peer.to_string(), "queue pair 17 at 10.0.0.1, port 2");
        peer.gid = [0; 16];
        peer.lid = 5;
        peer.port = 1;
        assert_eq!(peer.to_string(), "queue pair 17 at lid 5");
        peer.gid[0] = 0xfe;
        peer.gid[1] = 0x80;
        peer.gid[15] = 9;
        assert_eq!(peer.to_string(), "queue pair 17 at fe80::9");
    }

    #[test]
    fn sizes_have_codes() {
        for bytes in [256, 512, 1024, 2048, 4096] {
            assert_eq!(mtu_bytes(mtu_code(bytes).unwrap()), bytes);
        }
        assert_eq!(mtu_code(0), None);
        assert_eq!(mtu_bytes(77), 256);
    }

    #[test]
    fn a_remote_further_on_keeps_its_key() {
        let remote = RemoteWord {
            addr: 4096,
            rkey: 3,
        };
        assert_eq!(
            remote.at(64),
            RemoteWord {
                addr: 4160,
                rkey: 3
            }
        );
    }
}
