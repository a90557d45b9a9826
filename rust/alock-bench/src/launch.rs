// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Which node this is, from the options or from what a launcher set.

use std::env;

/// The position of a process in its cluster.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Membership {
    pub(crate) rank: u16,
    pub(crate) size: u16,
    pub(crate) address: String,
}

/// Rank 0's, if no other is named.
const PORT: u16 = 18550;

/// What launchers set, in the order of preference: torchrun and Kubernetes' operators,
/// Open MPI, PMIx and PMI, Slurm.
const RANKS: [&str; 5] = [
    "RANK",
    "OMPI_COMM_WORLD_RANK",
    "PMIX_RANK",
    "PMI_RANK",
    "SLURM_PROCID",
];
const SIZES: [&str; 4] = [
    "WORLD_SIZE",
    "OMPI_COMM_WORLD_SIZE",
    "PMI_SIZE",
    "SLURM_NTASKS",
];

fn number(
    what: &str,
    names: &[&str],
    get: &impl Fn(&str) -> Option<String>,
) -> Result<Option<u16>, String> {
    for name in names {
        if let Some(text) = get(name) {
            let found = text.parse();
            return found
                .map(Some)
                .map_err(|_| format!("{name}={text}: the {what} is a number of 0 to 65535"));
        }
    }
    Ok(None)
}

/// A TCP port to listen at.
pub(crate) fn tcp_port(text: &str) -> Result<u16, String> {
    let port = text.parse().ok().filter(|&port| port > 0);
    port.ok_or_else(|| "a TCP port is a number of 1 to 65535".into())
}

/// A port of a device.
pub(crate) fn ib_port(text: &str) -> Result<u8, String> {
    let port = text.parse().ok().filter(|&port| port > 0);
    port.ok_or_else(|| "a device's port is a number of 1 to 255".into())
}

/// HOST or HOST:PORT.
fn host_and_port(text: &str) -> Option<(&str, Option<u16>)> {
    // Colons in brackets are an address of IPv6.
    let at = text.rfind(']').map_or(0, |at| at + 1);
    let (host, port) = match text[at..].split_once(':') {
        Some((rest, port)) => (&text[..at + rest.len()], Some(tcp_port(port).ok()?)),
        None => (text, None),
    };
    let whole = host.starts_with('[') == host.ends_with(']');
    (!host.is_empty() && whole).then_some((host, port))
}

pub(crate) fn membership(
    rank: Option<u16>,
    size: Option<u16>,
    address: Option<&str>,
    port: Option<u16>,
) -> Result<Membership, String> {
    membership_by(rank, size, address, port, &|name| env::var(name).ok())
}

fn membership_by(
    rank: Option<u16>,
    size: Option<u16>,
    address: Option<&str>,
    port: Option<u16>,
    get: &impl Fn(&str) -> Option<String>,
) -> Result<Membership, String> {
    let rank = match rank {
        Some(rank) => Some(rank),
        None => number("rank", &RANKS, get)?,
    };
    let size = match size {
        Some(size) => Some(size),
        None => number("size", &SIZES, get)?,
    };
    let Some(rank) = rank else {
        return Err(format!(
            "which rank? give --rank, or set one of {}",
            RANKS.join(", ")
        ));
    };
    let Some(size) = size else {
        return Err(format!(
            "how many nodes? give --size, or set one of {}",
            SIZES.join(", ")
        ));
    };
    if rank >= size {
        return Err(format!(
            "rank {rank} of {size} nodes: ranks are 0 to {}",
            size.max(1) - 1
        ));
    }
    let (host, its) = match (address, get("MASTER_ADDR")) {
        (Some(text), _) => {
            let (host, its) = host_and_port(text).ok_or_else(|| {
                format!(
                    "--rendezvous {text}: HOST or HOST:PORT, IPv6 in brackets, the port 1 to 65535"
                )
            })?;
            (host.to_owned(), its)
        }
        (None, Some(host)) => (host, None),
        _ if size == 1 => ("127.0.0.1".to_owned(), None),
        _ => return Err("where is rank 0? give --rendezvous HOST, or set MASTER_ADDR".into()),
    };
    let port = match (its, port, get("MASTER_PORT")) {
        (Some(its), Some(port), _) if its != port => {
            return Err(format!("--port {port}: --rendezvous has port {its}"));
        }
        (Some(port), ..) | (None, Some(port), _) => port,
        (None, None, Some(text)) => {
            tcp_port(&text).map_err(|allowed| format!("MASTER_PORT={text}: {allowed}"))?
        }
        (None, None, None) => PORT,
    };
    Ok(Membership {
        rank,
        size,
        address: format!("{host}:{port}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    fn with(set: &[(&str, &str)], rank: Option<u16>) -> Result<Membership, String> {
        by(set, rank, None, None)
    }

    fn by(
        set: &[(&str, &str)],
        rank: Option<u16>,
        address: Option<&str>,
        port: Option<u16>,
    ) -> Result<Membership, String> {
        membership_by(rank, None, address, port, &|name| {
            let found = set.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    /// Rank 0's address for a node of two, or why there is none.
    fn address(
        set: &[(&str, &str)],
        address: Option<&str>,
        port: Option<u16>,
    ) -> Result<String, String> {
        let two = [&[("RANK", "1"), ("WORLD_SIZE", "2")], set].concat();
        by(&two, None, address, port).map(|it| it.address)
    }

    #[test]
    fn launchers_are_understood() {
        for (rank, size) in [
            ("RANK", "WORLD_SIZE"),
            ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
            ("PMIX_RANK", "SLURM_NTASKS"),
            ("PMI_RANK", "PMI_SIZE"),
            ("SLURM_PROCID", "SLURM_NTASKS"),
        ] {
            let it = with(&[(rank, "1"), (size, "3"), ("MASTER_ADDR", "a")], None).unwrap();
            assert_eq!(
                it,
                Membership {
                    rank: 1,
                    size: 3,
                    address: "a:18550".into()
                }
            );
        }
        // An option comes first.
        let set = [
            ("RANK", "1"),
            ("WORLD_SIZE", "3"),
            ("MASTER_ADDR", "a"),
            ("MASTER_PORT", "7"),
        ];
        let it = with(&set, Some(2)).unwrap();
        assert_eq!(
            it,
            Membership {
                rank: 2,
                size: 3,
                address: "a:7".into()
            }
        );
    }

    #[test]
    fn what_is_missing_is_said() {
        assert!(with(&[], None).unwrap_err().contains("--rank"));
        assert!(with(&[("RANK", "1")], None).unwrap_err().contains("--size"));
        assert!(with(&[("RANK", "x")], None).unwrap_err().contains("RANK=x"));
        let two = [("RANK", "2"), ("WORLD_SIZE", "2")];
        assert!(with(&two, None).unwrap_err().contains("ranks are 0 to 1"));
        let one = [("RANK", "1"), ("WORLD_SIZE", "2")];
        assert!(with(&one, None).unwrap_err().contains("--rendezvous"));
    }

    #[test]
    fn a_port_is_the_addresses_own_then_the_options_then_the_launchers() {
        let launcher = [("MASTER_ADDR", "a"), ("MASTER_PORT", "7")];
        for (set, given, port, expected) in [
            (&launcher[..0], Some("b"), None, "b:18550"),
            (&launcher[..0], Some("b"), Some(8), "b:8"),
            (&launcher[..0], Some("b:9"), None, "b:9"),
            (&launcher[..0], Some("b:9"), Some(9), "b:9"),
            (&launcher[..0], Some("[::1]"), None, "[::1]:18550"),
            (&launcher[..0], Some("[::1]:9"), None, "[::1]:9"),
            (&launcher[..1], None, None, "a:18550"),
            (&launcher[..1], None, Some(8), "a:8"),
            (&launcher, None, None, "a:7"),
            (&launcher, None, Some(8), "a:8"),
            (&launcher, Some("b"), None, "b:7"),
            (&launcher, Some("b:9"), None, "b:9"),
            // A wrong port, of an address that is not used.
            (&[("MASTER_PORT", "x")], Some("b:9"), None, "b:9"),
        ] {
            let it = address(set, given, port).unwrap();
            assert_eq!(it, expected, "{set:?} {given:?} {port:?}");
        }
        let alone = [("RANK", "0"), ("WORLD_SIZE", "1")];
        assert_eq!(with(&alone, None).unwrap().address, "127.0.0.1:18550");
        let it = by(&alone, None, None, Some(8)).unwrap();
        assert_eq!(it.address, "127.0.0.1:8");
    }

    #[test]
    fn what_is_no_port_is_refused() {
        for text in ["0", "65536", "-1", "x", "", "1 "] {
            assert!(tcp_port(text).unwrap_err().ends_with("1 to 65535"));
            let given = format!("b:{text}");
            let why = address(&[], Some(&given), None).unwrap_err();
            let names = format!("--rendezvous b:{text}: HOST or HOST:PORT, ");
            assert!(
                why.starts_with(&names) && why.ends_with("the port 1 to 65535"),
                "{why}"
            );
            let set = [("MASTER_ADDR", "a"), ("MASTER_PORT", text)];
            let why = address(&set, None, None).unwrap_err();
            let names = format!("MASTER_PORT={text}: ");
            assert!(
                why.starts_with(&names) && why.ends_with("1 to 65535"),
                "{why}"
            );
        }
        for text in ["0", "256", "x"] {
            assert!(ib_port(text).unwrap_err().ends_with("1 to 255"));
        }
        assert_eq!((tcp_port("65535"), ib_port("255")), (Ok(65535), Ok(255)));
        for text in [
            "", ":7", "::1", "::1:7", "[::1", "::1]:7", "[::1]x:7", "b:7:8",
        ] {
            let why = address(&[], Some(text), None).unwrap_err();
            assert!(why.contains("IPv6 in brackets"), "{text}: {why}");
        }
        let why = address(&[], Some("b:9"), Some(8)).unwrap_err();
        assert_eq!(why, "--port 8: --rendezvous has port 9");
    }

    #[test]
    fn an_option_that_takes_no_such_value_says_so_in_a_line() {
        for (arguments, flag, allowed) in [
            ("-i 0", "'0' for '--ib-port ", "a number of 1 to 255"),
            (
                "--ib-port 256",
                "'256' for '--ib-port ",
                "a number of 1 to 255",
            ),
            ("-p 0", "'0' for '--port ", "a number of 1 to 65535"),
            ("--port x", "'x' for '--port ", "a number of 1 to 65535"),
        ] {
            let all = std::iter::once("alock-bench").chain(arguments.split_whitespace());
            let error = crate::Options::command().try_get_matches_from(all);
            let why = crate::refused(&error.unwrap_err()).unwrap();
            assert!(
                why.starts_with(&format!("invalid value {flag}")) && why.ends_with(allowed),
                "{why}"
            );
            assert!(!why.contains('\n'), "{why}");
        }
        // What has no such value is clap's to say.
        let error = crate::Options::command().try_get_matches_from(["alock-bench", "--help"]);
        assert_eq!(crate::refused(&error.unwrap_err()), None);
    }
}
