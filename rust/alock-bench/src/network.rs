// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The device, and how its packets go.

use clap::builder::RangedU64ValueParser;
use clap::Args;
use nic::PlainWrites;

/// What of the device and the network can be chosen, for real devices.
#[derive(Debug, Args)]
pub(crate) struct Network {
    /// The index of the device's address [default: the first of RoCE v2: IPv4, else IPv6, else
    /// link-local; on InfiniBand 0]
    #[arg(short = 'x', long)]
    gid_index: Option<u8>,
    /// The device's port
    #[arg(short, long, default_value_t = 1, value_parser = crate::launch::ib_port)]
    ib_port: u8,
    /// The devices without an atomic write that are accepted. known: those whose driver is known to
    /// write 8 bytes at once. trust: every card; software devices are refused, and a card of
    /// mlx4_core then fails where its queue pairs are made
    #[arg(long, default_value = "known", value_parser = plain_writes)]
    plain_writes: PlainWrites,
    /// The traffic class of the packets: on RoCE v2 the IP header's DSCP and ECN
    #[arg(long, default_value_t = 0, value_parser = number(0, 255))]
    traffic_class: u8,
    /// The packets' service level: on Ethernet the priority of VLAN's tag
    #[arg(long, default_value_t = 0, value_parser = number(0, 15))]
    service_level: u8,
    /// The index of the partition key in the port's table
    #[arg(long, default_value_t = 0)]
    pkey_index: u16,
    /// The most routers that a packet may pass
    #[arg(long, default_value_t = 64, value_parser = number(1, 255))]
    hop_limit: u8,
}

fn number(least: u64, most: u64) -> RangedU64ValueParser<u8> {
    RangedU64ValueParser::new().range(least..=most)
}

fn plain_writes(text: &str) -> Result<PlainWrites, String> {
    match text {
        "known" => Ok(PlainWrites::Known),
        "trust" => Ok(PlainWrites::Trust),
        _ => Err("known or trust".into()),
    }
}

impl Network {
    /// The options by their names, which say nothing of a simulated cluster.
    pub(crate) const NAMES: [&'static str; 7] = [
        "gid_index",
        "ib_port",
        "plain_writes",
        "traffic_class",
        "service_level",
        "pkey_index",
        "hop_limit",
    ];

    /// Makes the options of `nic`.
    pub(crate) fn options(&self, device: Option<&str>) -> nic::Options {
        nic::Options {
            device: device.map(str::to_owned),
            gid_index: self.gid_index,
            port: self.ib_port,
            plain_writes: self.plain_writes,
            traffic_class: self.traffic_class,
            service_level: self.service_level,
            pkey_index: self.pkey_index,
            hop_limit: self.hop_limit,
            ..nic::Options::default()
        }
    }
}

/// What is said of an option that the device does not take, by its name here. Of the two ports
/// `--port` is the other.
pub(crate) fn named(error: nic::Error) -> Box<dyn std::error::Error> {
    match error {
        nic::Error::OutOfRange {
            option: "port",
            value,
            least,
            most,
        } => format!("--ib-port {value}: the device's ports are {least} to {most}").into(),
        nic::Error::OutOfRange {
            option: "pkey_index",
            value,
            least,
            most,
        } => {
            format!("--pkey-index {value}: the port's partition keys are {least} to {most}").into()
        }
        // Of a software device it says nothing of this option, which does not help there.
        nic::Error::TornWrites { ref reason, .. } if reason.contains("PlainWrites::Trust") => {
            format!("{error}; here it is --plain-writes trust").into()
        }
        nic::Error::OnlyRoceV1 { .. } => format!("{error}; here it is --gid-index").into(),
        other => other.into(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Alone {
        #[command(flatten)]
        network: Network,
    }

    fn parsed(line: &str) -> Result<nic::Options, String> {
        let all = std::iter::once("test").chain(line.split_whitespace());
        let alone = Alone::try_parse_from(all).map_err(|error| error.to_string())?;
        Ok(alone.network.options(Some("rxe0")))
    }

    #[test]
    fn what_is_not_said_is_the_devices_default() {
        let expected = nic::Options {
            device: Some("rxe0".into()),
            ..nic::Options::default()
        };
        assert_eq!(parsed(""), Ok(expected));
    }

    #[test]
    fn what_is_said_comes_to_the_device() {
        let line = "-x 3 -i 2 --plain-writes trust --traffic-class 106 --service-level 5 \
                    --pkey-index 300 --hop-limit 9";
        let expected = nic::Options {
            device: Some("rxe0".into()),
            gid_index: Some(3),
            port: 2,
            plain_writes: PlainWrites::Trust,
            traffic_class: 106,
            service_level: 5,
            pkey_index: 300,
            hop_limit: 9,
            ..nic::Options::default()
        };
        assert_eq!(parsed(line), Ok(expected));
    }

    #[test]
    fn what_no_packet_carries_is_refused() {
        for (line, allowed) in [
            ("--plain-writes no", "known or trust"),
            ("--traffic-class 256", "0..=255"),
            ("--service-level 16", "0..=15"),
            ("--pkey-index 65536", "0..=65535"),
            ("--hop-limit 0", "1..=255"),
        ] {
            let said = parsed(line).unwrap_err();
            let option = line.split_whitespace().next().unwrap();
            assert!(said.contains(option) && said.contains(allowed), "{said}");
        }
    }

    #[test]
    fn an_option_is_offered_where_it_helps() {
        let says = |reason: &str| {
            named(nic::Error::TornWrites {
                device: "rxe0".into(),
                reason: reason.into(),
            })
            .to_string()
        };
        let offered = "here it is --plain-writes trust";
        assert!(says("say PlainWrites::Trust").ends_with(offered));
        assert!(says("a software device").ends_with("a software device"));
    }

    #[test]
    fn every_option_has_its_name() {
        use clap::CommandFactory;
        let command = Alone::command();
        let mut names: Vec<_> = command
            .get_arguments()
            .map(|it| it.get_id().as_str())
            .collect();
        names.retain(|&name| name != "help");
        assert_eq!(names, Network::NAMES);
    }
}
