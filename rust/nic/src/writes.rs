// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0

//! Whether eight bytes that are written remotely arrive as one store.

use serde::{Deserialize, Serialize};
use std::path::Path;

/// How eight aligned bytes are written into the memory behind a device so that no reader
/// there ever sees a part of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Writes {
    /// By the verb for it, ATOMIC WRITE (InfiniBand, volume 1, annex A19): the device says
    /// that it carries it out.
    Atomic,
    /// By a plain RDMA WRITE: the device's are known to be single
    /// ([`Writes::PLAIN_DRIVERS`]).
    Plain,
}

/// The bit of `device_cap_flags_ex` by which the kernel says that a device carries out
/// atomic writes (`IB_UVERBS_DEVICE_ATOMIC_WRITE`).
const ATOMIC_WRITE: u64 = 1 << 40;

impl Writes {
    /// The kernel's drivers of devices whose plain writes of eight aligned bytes are single.
    ///
    /// From the literature, not seen here: "RDMA reads and writes are only atomic with
    /// their local counterparts for accesses within a single cache line" (*ALock*, SPAA
    /// 2024, section 1 and table 1, run on ConnectX-3, `mlx4_core`), after *FaRM*, NSDI
    /// 2014, whose reads without locks stand on it. For `mlx5_core` the word is weaker: it
    /// is what RDMA locks and stores of the last ten years assume of it, and `librpma`'s
    /// `rpma_atomic_write` was a plain inline write of 8 bytes. It takes a host that keeps
    /// a transfer to a cache line whole, as x86-64's do, and memory registered without
    /// relaxed ordering, as this crate's is.
    ///
    /// Soft-RoCE is not among them: its plain write is a `memcpy`, which was seen to tear
    /// and may store twice.
    pub const PLAIN_DRIVERS: [&'static str; 2] = ["mlx4_core", "mlx5_core"];

    /// What a device of these capabilities and this driver promises, or why nothing.
    pub(crate) fn of(capabilities: u64, driver: Option<&str>) -> Result<Writes, String> {
        if capabilities & ATOMIC_WRITE != 0 {
            return Ok(Writes::Atomic);
        }
        match driver {
            Some(driver) if Writes::PLAIN_DRIVERS.contains(&driver) => Ok(Writes::Plain),
            Some(driver) => Err(format!(
                "it has no atomic write, and of the driver {driver} it is not known that a plain write of 8 bytes is single"
            )),
            None => Err("it has no atomic write, and it is a software device".into()),
        }
    }

    /// How a device of `mine` writes to memory behind one of `theirs`: the memory's device
    /// does the store, this one sends the verb.
    pub(crate) fn between(mine: Writes, theirs: Writes) -> Option<Writes> {
        match (mine, theirs) {
            (Writes::Atomic, Writes::Atomic) => Some(Writes::Atomic),
            (_, Writes::Plain) => Some(Writes::Plain),
            (Writes::Plain, Writes::Atomic) => None,
        }
    }
}

/// The driver of the device `name` below `class` (`/sys/class/infiniband`); a software
/// device has none.
pub(crate) fn driver(class: &Path, name: &str) -> Option<String> {
    let link = std::fs::read_link(class.join(name).join("device/driver")).ok()?;
    Some(link.file_name()?.to_str()?.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_verb_goes_first() {
        assert_eq!(Writes::of(1 << 40, None), Ok(Writes::Atomic));
        assert_eq!(Writes::of(u64::MAX, Some("mlx5_core")), Ok(Writes::Atomic));
    }

    #[test]
    fn plain_writes_are_for_the_drivers_in_the_list() {
        assert_eq!(Writes::of(0, Some("mlx5_core")), Ok(Writes::Plain));
        assert_eq!(Writes::of(!(1 << 40), Some("mlx4_core")), Ok(Writes::Plain));
    }

    #[test]
    fn soft_roce_without_the_verb_is_refused() {
        assert!(Writes::of(!(1 << 40), None)
            .unwrap_err()
            .contains("software device"));
        let said = Writes::of(0, Some("irdma")).unwrap_err();
        assert!(said.contains("the driver irdma"), "{said}");
    }

    #[test]
    fn the_memorys_device_decides() {
        use Writes::{Atomic, Plain};
        assert_eq!(Writes::between(Atomic, Atomic), Some(Atomic));
        assert_eq!(Writes::between(Plain, Plain), Some(Plain));
        assert_eq!(Writes::between(Atomic, Plain), Some(Plain));
        // A plain write into soft-RoCE's memory: torn.
        assert_eq!(Writes::between(Plain, Atomic), None);
    }

    #[test]
    fn a_driver_is_where_the_link_leads() {
        let class = std::env::temp_dir().join(format!("nic-driver-{}", std::process::id()));
        let device = class.join("mlx5_0/device");
        std::fs::create_dir_all(&device).unwrap();
        std::os::unix::fs::symlink("../../bus/pci/drivers/mlx5_core", device.join("driver"))
            .unwrap();
        std::fs::create_dir_all(class.join("rxe0")).unwrap();
        assert_eq!(driver(&class, "mlx5_0").as_deref(), Some("mlx5_core"));
        assert_eq!(driver(&class, "rxe0"), None);
        assert_eq!(driver(&class, "none"), None);
        std::fs::remove_dir_all(&class).unwrap();
    }
}
