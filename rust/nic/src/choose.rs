// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Which device, and which of its port's addresses, where none is asked for.

use std::net::Ipv6Addr;

/// What an address of a port's table is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A subnet of InfiniBand.
    InfiniBand,
    /// Ethernet, without IP: packets do not leave their segment.
    RoceV1,
    /// UDP over IP.
    RoceV2,
}

/// One of a port's addresses.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Address {
    pub(crate) index: u32,
    pub(crate) gid: [u8; 16],
    pub(crate) kind: Kind,
}

/// How well an address serves by default; the least one is taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Ipv4,
    /// Global or unique local, as in a fabric of IPv6 alone.
    Ipv6,
    LinkLocal,
}

impl Address {
    /// The rank of an address of RoCE v2; `None` of the others.
    fn rank(&self) -> Option<Rank> {
        let ip = Ipv6Addr::from(self.gid);
        match self.kind {
            Kind::RoceV2 if ip.to_ipv4_mapped().is_some() => Some(Rank::Ipv4),
            Kind::RoceV2 if ip.segments()[0] & 0xffc0 == 0xfe80 => Some(Rank::LinkLocal),
            Kind::RoceV2 => Some(Rank::Ipv6),
            Kind::InfiniBand | Kind::RoceV1 => None,
        }
    }
}

/// Why none of a port's addresses is taken.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Unchosen {
    /// There is none at that index.
    NotThere(u8),
    /// On Ethernet there are addresses of RoCE v1 alone: one must be asked for.
    OnlyV1,
}

/// The address at `asked`. By default, on Ethernet, the first of RoCE v2: of IPv4, else of IPv6,
/// else a link's own. On InfiniBand, the address at index 0.
pub(crate) fn address(
    addresses: &[Address],
    ethernet: bool,
    asked: Option<u8>,
) -> Result<Address, Unchosen> {
    let at = |index: u8| {
        let mut all = addresses.iter();
        let found = all.find(|address| address.index == u32::from(index));
        found.copied().ok_or(Unchosen::NotThere(index))
    };
    if let Some(asked) = asked {
        return at(asked);
    }
    // A path names its address in 8 bits.
    let named = addresses.iter().filter(|address| address.index <= 255);
    let ranked = named.filter_map(|address| Some((address.rank()?, *address)));
    if let Some((_, best)) = ranked.min_by_key(|(rank, address)| (*rank, address.index)) {
        return Ok(best);
    }
    if ethernet && !addresses.is_empty() {
        return Err(Unchosen::OnlyV1);
    }
    at(0)
}

/// What a device's port is like.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PortIs {
    Up,
    Down,
    /// It has no such port, or cannot be asked.
    Missing,
}

/// Which of these devices, by the port that is to be used. It is the first whose port is up, else
/// the first that has the port, else the first.
pub(crate) fn device(ports: &[PortIs]) -> Option<usize> {
    let first = |is| ports.iter().position(|&port| port == is);
    first(PortIs::Up)
        .or_else(|| first(PortIs::Down))
        .or_else(|| first(PortIs::Missing))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn v4(last: u8) -> [u8; 16] {
        Ipv4Addr::new(10, 0, 0, last).to_ipv6_mapped().octets()
    }

    fn v6(first: u16, last: u16) -> [u8; 16] {
        Ipv6Addr::new(first, 0, 0, 0, 0, 0, 0, last).octets()
    }

    fn table(of: &[(u32, [u8; 16], Kind)]) -> Vec<Address> {
        of.iter()
            .map(|&(index, gid, kind)| Address { index, gid, kind })
            .collect()
    }

    fn index(of: &[(u32, [u8; 16], Kind)], ethernet: bool) -> Result<u32, Unchosen> {
        address(&table(of), ethernet, None).map(|it| it.index)
    }

    use Kind::{InfiniBand, RoceV1, RoceV2};

    /// The table as `mlx5` fills it: each address as v1, then as v2.
    const LINK: u16 = 0xfe80;

    #[test]
    fn roce_v2_goes_first_and_ipv4_of_it() {
        let full = [
            (0, v6(LINK, 1), RoceV1),
            (1, v6(LINK, 1), RoceV2),
            (2, v4(1), RoceV1),
            (3, v6(0x2001, 1), RoceV2),
            (4, v4(1), RoceV2),
            (5, v4(2), RoceV2),
        ];
        assert_eq!(index(&full, true), Ok(4));
        let order: Vec<_> = full.iter().rev().copied().collect();
        assert_eq!(index(&order, true), Ok(4));
    }

    #[test]
    fn a_fabric_of_ipv6_alone_has_a_global_one() {
        for global in [0x2001, 0xfd00, 0xfec0] {
            let some = [
                (0, v6(LINK, 1), RoceV1),
                (1, v6(LINK, 1), RoceV2),
                (2, v6(global, 1), RoceV1),
                (3, v6(global, 1), RoceV2),
            ];
            assert_eq!(index(&some, true), Ok(3), "{global:x}");
            assert_eq!(index(&some[..2], true), Ok(1));
        }
        // All of fe80::/10 is a link's.
        let links = [(0, v6(0xfebf, 1), RoceV2), (1, v6(0xfec0, 1), RoceV2)];
        assert_eq!(index(&links, true), Ok(1));
    }

    #[test]
    fn roce_v1_is_for_who_asks() {
        let v1 = [(0, v6(LINK, 1), RoceV1), (2, v4(1), RoceV1)];
        assert_eq!(index(&v1, true), Err(Unchosen::OnlyV1));
        for asked in [0, 2] {
            let got = address(&table(&v1), true, Some(asked)).unwrap();
            assert_eq!(got.index, u32::from(asked));
        }
        let missing = address(&table(&v1), true, Some(1));
        assert_eq!(missing, Err(Unchosen::NotThere(1)));
    }

    #[test]
    fn infiniband_has_its_first() {
        let ib = [(0, v6(LINK, 1), InfiniBand), (1, v6(LINK, 2), InfiniBand)];
        assert_eq!(index(&ib, false), Ok(0));
        assert_eq!(index(&ib[1..], false), Err(Unchosen::NotThere(0)));
        assert_eq!(index(&[], false), Err(Unchosen::NotThere(0)));
        assert_eq!(index(&[], true), Err(Unchosen::NotThere(0)));
    }

    #[test]
    fn an_index_that_no_path_can_name_is_not_chosen() {
        let far = [(256, v4(1), RoceV2), (257, v6(LINK, 1), RoceV2)];
        assert_eq!(index(&far, true), Err(Unchosen::OnlyV1));
        let both = [(256, v4(1), RoceV2), (3, v6(LINK, 1), RoceV2)];
        assert_eq!(index(&both, true), Ok(3));
    }

    #[test]
    fn a_port_that_is_up_goes_before_one_that_is_down() {
        use PortIs::{Down, Missing, Up};
        for (ports, chosen) in [
            (&[][..], None),
            (&[Up, Up], Some(0)),
            (&[Down, Up, Up], Some(1)),
            (&[Missing, Down, Up], Some(2)),
            (&[Missing, Down, Down], Some(1)),
            (&[Down, Missing], Some(0)),
            (&[Missing, Missing], Some(0)),
        ] {
            assert_eq!(device(ports), chosen, "{ports:?}");
        }
    }
}
