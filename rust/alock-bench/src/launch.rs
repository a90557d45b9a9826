//! Which node this is, from the options or from what a launcher set.

use std::env;

/// Where a process stands in its cluster.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) rank: u16,
    pub(crate) size: u16,
    pub(crate) address: String,
}

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

pub(crate) fn place(
    rank: Option<u16>,
    size: Option<u16>,
    address: Option<&str>,
) -> Result<Place, String> {
    place_by(rank, size, address, &|name| env::var(name).ok())
}

fn place_by(
    rank: Option<u16>,
    size: Option<u16>,
    address: Option<&str>,
    get: &impl Fn(&str) -> Option<String>,
) -> Result<Place, String> {
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
    let address = match (address, get("MASTER_ADDR"), get("MASTER_PORT")) {
        (Some(address), ..) => address.to_owned(),
        (None, Some(host), Some(port)) => format!("{host}:{port}"),
        (None, Some(host), None) => format!("{host}:18550"),
        _ if size == 1 => "127.0.0.1:18550".to_owned(),
        _ => return Err("where is rank 0? give --rendezvous HOST:PORT, or set MASTER_ADDR".into()),
    };
    Ok(Place {
        rank,
        size,
        address,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with(set: &[(&str, &str)], rank: Option<u16>) -> Result<Place, String> {
        place_by(rank, None, None, &|name| {
            let found = set.iter().find(|(key, _)| *key == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn launchers_are_understood() {
        for (rank, size) in [
            ("RANK", "WORLD_SIZE"),
            ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
            ("PMI_RANK", "PMI_SIZE"),
            ("SLURM_PROCID", "SLURM_NTASKS"),
        ] {
            let it = with(&[(rank, "1"), (size, "3"), ("MASTER_ADDR", "a")], None).unwrap();
            assert_eq!(
                it,
                Place {
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
            Place {
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
}
