// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What a program asks of a device and of its connections.

use crate::writes::PlainWrites;
use crate::Error;

/// Which device, how its packets go, and how patient its connections are.
///
/// # Examples
/// ```
/// use nic::{Nic, Options, PlainWrites};
///
/// let options = Options {
///     device: Some("mlx5_0".into()),
///     gid_index: Some(3),
///     ..Options::default()
/// };
/// assert_eq!((options.port, options.retries), (1, 6));
/// assert_eq!(options.plain_writes, PlainWrites::Known);
/// // What no device takes is refused before one is opened.
/// let refused = Nic::open(&Options { retries: 8, ..options });
/// assert_eq!(refused.unwrap_err().to_string(), "retries is 8, of 0 to 7");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The device's name, as `ibv_devices` lists it; by default the first whose port is up.
    pub device: Option<String>,
    /// Which of the port's addresses to use. By default, on Ethernet, the first of RoCE v2: of
    /// IPv4, else of IPv6 (global or unique local), else link-local. One of RoCE v1 must be asked
    /// for. On InfiniBand the one at index 0.
    pub gid_index: Option<u8>,
    /// The device's port; by default 1, the first.
    pub port: u8,
    /// An unanswered packet is sent again after 4.096 µs · 2^timeout. At most 31. By default 18,
    /// which is 1.07 s and does for a slow guest. 0 is never: what is lost is waited for without
    /// end.
    pub timeout: u8,
    /// How often, 0 to 7. By default 6. An operation that a dead peer never answers fails after
    /// about `retries + 1` timeouts. With 7, which rxe takes for 'for ever', it takes four times
    /// that and a second. It takes as long where the device hangs. In both cases the error is
    /// [`Error::Silent`](crate::Error).
    pub retries: u8,
    /// How many operations may be out on a queue pair; by default 16. Costs 64 bytes of
    /// registered memory each.
    pub depth: u32,
    /// Whether a plain write of 8 bytes is taken for single where the device has no atomic write.
    /// By default it is, of the drivers that are known for it.
    pub plain_writes: PlainWrites,
    /// The traffic class of global routes, on RoCE v2 the IP header's DSCP and ECN; by default 0.
    /// Which class loses no packet is the network's to say.
    pub traffic_class: u8,
    /// The service level, 0 to 15; by default 0. On Ethernet it is the priority of VLAN's tag.
    pub service_level: u8,
    /// Which of the port's partition keys, by its index in the port's table; by default 0.
    pub pkey_index: u16,
    /// How many routers a packet passes at most, at least 1; by default 64.
    pub hop_limit: u8,
}

impl Default for Options {
    fn default() -> Options {
        Options {
            device: None,
            gid_index: None,
            port: 1,
            timeout: 18,
            retries: 6,
            depth: 16,
            plain_writes: PlainWrites::Known,
            traffic_class: 0,
            service_level: 0,
            pkey_index: 0,
            hop_limit: 64,
        }
    }
}

impl Options {
    /// What no device takes, before one is opened.
    pub(crate) fn check(&self) -> Result<(), Error> {
        for (option, value, least, most) in [
            ("timeout", u64::from(self.timeout), 0, 31),
            ("retries", u64::from(self.retries), 0, 7),
            ("depth", u64::from(self.depth), 1, 1 << 15),
            ("service_level", u64::from(self.service_level), 0, 15),
            ("hop_limit", u64::from(self.hop_limit), 1, 255),
        ] {
            in_range(option, value, least, most)?;
        }
        Ok(())
    }

    /// What this device's port does not take: it has so many partition keys.
    pub(crate) fn check_port(&self, pkeys: u16) -> Result<(), Error> {
        let most = u64::from(pkeys.max(1)) - 1;
        in_range("pkey_index", self.pkey_index.into(), 0, most)
    }
}

pub(crate) fn in_range(
    option: &'static str,
    value: u64,
    least: u64,
    most: u64,
) -> Result<(), Error> {
    if (least..=most).contains(&value) {
        return Ok(());
    }
    Err(Error::OutOfRange {
        option,
        value,
        least,
        most,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn options_are_within_what_the_verbs_take() {
        assert!(Options::default().check().is_ok());
        let refused = |change: fn(&mut Options)| {
            let mut options = Options::default();
            change(&mut options);
            options.check().unwrap_err().to_string()
        };
        for (change, said) in [
            (
                (|it| it.timeout = 32) as fn(&mut Options),
                "timeout is 32, of 0 to 31",
            ),
            (|it| it.retries = 8, "retries is 8, of 0 to 7"),
            (|it| it.depth = 0, "depth is 0, of 1 to 32768"),
            (
                |it| it.service_level = 16,
                "service_level is 16, of 0 to 15",
            ),
            (|it| it.hop_limit = 0, "hop_limit is 0, of 1 to 255"),
        ] {
            assert_eq!(refused(change), said);
        }
        let most = Options {
            timeout: 31,
            retries: 7,
            depth: 1 << 15,
            service_level: 15,
            hop_limit: 255,
            traffic_class: 255,
            ..Options::default()
        };
        assert!(most.check().is_ok());
    }

    #[test]
    fn a_partition_key_is_one_of_the_ports() {
        let asked = |pkey_index, pkeys| {
            let options = Options {
                pkey_index,
                ..Options::default()
            };
            options.check_port(pkeys).map_err(|why| why.to_string())
        };
        assert_eq!(asked(0, 1), Ok(()));
        assert_eq!(asked(127, 128), Ok(()));
        assert_eq!(
            asked(128, 128),
            Err("pkey_index is 128, of 0 to 127".into())
        );
        assert_eq!(asked(1, 0), Err("pkey_index is 1, of 0 to 0".into()));
    }
}
