// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Whether eight bytes that are written remotely arrive as one store.

use serde::{Deserialize, Serialize};
use std::fs;
use std::io::{self, ErrorKind};
use std::path::Path;

/// How eight aligned bytes get into the memory behind a device, so that no reader sees a part of
/// them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Writes {
    /// The verb for it, ATOMIC WRITE of InfiniBand's volume 1, annex A19. The device says that
    /// it carries it out.
    Atomic,
    /// A plain RDMA WRITE: the device's are known to be single
    /// ([`Writes::PLAIN_DRIVERS`]).
    Plain,
}

/// The bit of `device_cap_flags_ex` by which the kernel says that a device carries out
/// atomic writes (`IB_UVERBS_DEVICE_ATOMIC_WRITE`).
const ATOMIC_WRITE: u64 = 1 << 40;

/// Whether a plain write of 8 bytes is taken for single, of a device without atomic writes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub enum PlainWrites {
    /// The drivers of [`Writes::PLAIN_DRIVERS`] alone.
    #[default]
    Known,
    /// Every card. The caller knows that the card and its host store eight aligned bytes at
    /// once. A write that tears breaks locks. The card's provider must have `ibv_wr_*`, or
    /// [`Nic::queue_pair`](crate::Nic::queue_pair) fails.
    ///
    /// A software device is refused all the same: soft-RoCE's plain write was seen to tear. Sysfs
    /// tells it from a card. Without sysfs, as in some containers, the caller is believed.
    Trust,
}

/// The driver of a device, as sysfs has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Driver {
    Named(String),
    /// No hardware is below the device: soft-RoCE, siw.
    Software,
    /// Sysfs is not there, or does not say it: why.
    Unknown(String),
}

impl Writes {
    /// The kernel's drivers of devices whose plain writes of eight aligned bytes are single.
    ///
    /// This is from the literature, and has not been tested here. *ALock*, SPAA 2024, says it in
    /// section 1 and table 1. Its words: "RDMA reads and writes are only atomic with their local
    /// counterparts for accesses within a single cache line". It follows *FaRM*, NSDI 2014, whose
    /// reads without locks stand on it. RDMA locks and stores of the last ten years assume it of
    /// `mlx5_core`. The `rpma_atomic_write` of `librpma` was a plain inline write of 8 bytes.
    ///
    /// What it takes:
    ///
    /// | | |
    /// |---|---|
    /// | the host | keeps a transfer to a cache line whole, as x86-64's do |
    /// | the memory | is registered without relaxed ordering, as this crate's is |
    /// | the firmware | does not force relaxed ordering: `mlxconfig -d DEVICE query PCI_WR_ORDERING` says `per_mkey(0)`, not `force_relax(1)`. Verbs do not show it; a litmus between two nodes can (`alock-bench --check-ordering`) |
    /// | the provider | has `ibv_wr_*`: queue pairs are made with it alone |
    ///
    /// `mlx5_core.sf` is the driver of a sub-function of such a card. `mlx4_core` (ConnectX-3, the
    /// paper's) is none of them: its provider refuses to make a queue pair with `ibv_wr_*`.
    /// Soft-RoCE is none either: its plain write is a `memcpy`, which was seen to tear and may
    /// store twice.
    pub const PLAIN_DRIVERS: [&'static str; 2] = ["mlx5_core", "mlx5_core.sf"];

    /// What a device of these capabilities and this driver promises, or why nothing.
    pub(crate) fn of(
        capabilities: u64,
        driver: &Driver,
        plain: PlainWrites,
    ) -> Result<Writes, String> {
        if capabilities & ATOMIC_WRITE != 0 {
            return Ok(Writes::Atomic);
        }
        let why = match driver {
            Driver::Software => {
                return Err("it has no atomic write, and it is a software device: sysfs has no hardware below it".into());
            }
            _ if plain == PlainWrites::Trust => return Ok(Writes::Plain),
            Driver::Named(name) if Writes::PLAIN_DRIVERS.contains(&name.as_str()) => {
                return Ok(Writes::Plain);
            }
            Driver::Named(name) => format!(
                "of the driver {name} it is not known that a plain write of 8 bytes is single (it is of {})",
                Writes::PLAIN_DRIVERS.join(", ")
            ),
            Driver::Unknown(why) => format!("its driver is not known: {why}"),
        };
        Err(format!(
            "it has no atomic write, and {why}; whoever knows that this card's plain writes of 8 bytes are single says so by `plain_writes`: PlainWrites::Trust"
        ))
    }

    /// How a device of `mine` writes to memory behind one of `theirs`. The memory's device does the
    /// store, this one sends the verb.
    pub(crate) fn between(mine: Writes, theirs: Writes) -> Option<Writes> {
        match (mine, theirs) {
            (Writes::Atomic, Writes::Atomic) => Some(Writes::Atomic),
            (_, Writes::Plain) => Some(Writes::Plain),
            (Writes::Plain, Writes::Atomic) => None,
        }
    }
}

/// The driver of the device `name` below `class` (`/sys/class/infiniband`). A card has a link
/// `device` to its hardware, and that has a link `driver`. A software device has no `device`.
pub(crate) fn driver(class: &Path, name: &str) -> Driver {
    let its = class.join(name);
    let unknown =
        |at: &Path, error: io::Error| Driver::Unknown(format!("{}: {error}", at.display()));
    // Without this a sysfs that is not mounted looks like a software device.
    if let Err(error) = fs::metadata(&its) {
        return unknown(&its, error);
    }
    let device = its.join("device");
    match fs::symlink_metadata(&device) {
        Ok(_) => {}
        Err(error) if error.kind() == ErrorKind::NotFound => return Driver::Software,
        Err(error) => return unknown(&device, error),
    }
    let link = device.join("driver");
    match fs::read_link(&link) {
        Ok(to) => match to.file_name().and_then(|name| name.to_str()) {
            Some(name) => Driver::Named(name.to_owned()),
            None => unknown(&link, ErrorKind::InvalidData.into()),
        },
        Err(error) => unknown(&link, error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Drivers whose provider in rdma-core can make queue pairs with `ibv_wr_*`, for which sideway
    /// always asks. Beside each stands where rdma-core says so.
    const EXTENDED: [(&str, &str); 2] = [
        (
            "mlx5_core",
            "providers/mlx5/qp.c, fill_wr_builders_rc; verbs.c has IBV_QP_INIT_ATTR_SEND_OPS_FLAGS in its mask",
        ),
        ("mlx5_core.sf", "the same provider: it matches devices by their PCI id"),
    ];

    fn named(name: &str) -> Driver {
        Driver::Named(name.into())
    }

    fn known(capabilities: u64, driver: &str) -> Result<Writes, String> {
        Writes::of(capabilities, &named(driver), PlainWrites::Known)
    }

    #[test]
    fn the_verb_goes_first() {
        for plain in [PlainWrites::Known, PlainWrites::Trust] {
            for driver in [
                Driver::Software,
                Driver::Unknown("no sysfs".into()),
                named("mlx5_core"),
            ] {
                for capabilities in [1 << 40, u64::MAX] {
                    let found = Writes::of(capabilities, &driver, plain);
                    assert_eq!(found, Ok(Writes::Atomic), "{driver:?}");
                }
            }
        }
    }

    #[test]
    fn every_driver_in_the_list_can_make_the_queue_pairs() {
        for driver in Writes::PLAIN_DRIVERS {
            let found = EXTENDED.iter().find(|(of, _)| *of == driver);
            assert!(found.is_some(), "{driver}: no source says that it can");
            assert_eq!(known(!(1 << 40), driver), Ok(Writes::Plain));
        }
        assert!(known(!(1 << 40), "mlx4_core").is_err());
    }

    #[test]
    fn a_refusal_names_the_driver_what_is_allowed_and_the_override() {
        let said = known(0, "irdma").unwrap_err();
        for part in [
            "the driver irdma",
            "mlx5_core, mlx5_core.sf",
            "PlainWrites::Trust",
        ] {
            assert!(said.contains(part), "{said}");
        }
        assert!(!said.contains('\n'));
    }

    #[test]
    fn who_knows_the_card_says_so() {
        for driver in ["irdma", "mlx4_core", "bnxt_en"] {
            let trusted = Writes::of(!(1 << 40), &named(driver), PlainWrites::Trust);
            assert_eq!(trusted, Ok(Writes::Plain));
        }
    }

    /// Where sysfs does not say it, a card may be one that the caller knows.
    #[test]
    fn an_unknown_driver_is_no_software_device() {
        let driver = Driver::Unknown("/sys/class/infiniband/mlx5_0: not there".into());
        let trusted = Writes::of(0, &driver, PlainWrites::Trust);
        assert_eq!(trusted, Ok(Writes::Plain));
        let said = Writes::of(0, &driver, PlainWrites::Known).unwrap_err();
        for part in [
            "its driver is not known: /sys/class/infiniband/mlx5_0: not there;",
            "PlainWrites::Trust",
        ] {
            assert!(said.contains(part), "{said}");
        }
        assert!(!said.contains("software"), "{said}");
    }

    #[test]
    fn soft_roce_without_the_verb_is_refused() {
        for plain in [PlainWrites::Known, PlainWrites::Trust] {
            let said = Writes::of(!(1 << 40), &Driver::Software, plain).unwrap_err();
            assert!(said.contains("software device"), "{said}");
            // Nothing that the caller says helps.
            assert!(!said.contains("Trust"), "{said}");
        }
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
        std::fs::create_dir_all(class.join("bare/device")).unwrap();
        assert_eq!(driver(&class, "mlx5_0"), named("mlx5_core"));
        assert_eq!(driver(&class, "rxe0"), Driver::Software);
        // A device that sysfs does not have, and no sysfs at all.
        for (class, name, at) in [
            (class.as_path(), "none", "none: "),
            (Path::new("/proc/no-sysfs"), "mlx5_0", "no-sysfs/mlx5_0: "),
            (class.as_path(), "bare", "bare/device/driver: "),
        ] {
            match driver(class, name) {
                Driver::Unknown(why) => assert!(why.contains(at), "{why}"),
                other => panic!("{name}: {other:?}"),
            }
        }
        std::fs::remove_dir_all(&class).unwrap();
    }
}
