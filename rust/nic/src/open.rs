// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A device, opened: its port, its address, what it promises.

use crate::choose::{self, Address, Kind, PortIs, Unchosen};
use crate::device::Device;
use crate::endpoint::mtu_bytes;
use crate::options::in_range;
use crate::queue::QueuePair;
use crate::verbs::Registered;
use crate::writes::{driver, Writes};
use crate::{Error, Memory, Options, RemoteWord};
use sideway::ibverbs::address::{Gid, GidType};
use sideway::ibverbs::device::{self, DeviceInfo, DeviceList};
use sideway::ibverbs::device_context::{AtomicCapability, DeviceContext, LinkLayer, PortState};
use sideway::ibverbs::AccessFlags;
use std::sync::Arc;

/// An RDMA device, opened; for all threads. What is made of it keeps it open.
///
/// # Examples
///
/// ```no_run
/// use nic::{Memory, Nic, Options};
///
/// # fn main() -> Result<(), nic::Error> {
/// let options = Options { device: Some("mlx5_0".into()), ..Options::default() };
/// let nic = Nic::open(&options)?;
/// println!("{} writes words by {:?}", nic.name(), nic.writes()?);
/// let region = nic.register(Memory::new(4096)?)?;
/// println!("its first word, for a peer: {:?}", region.remote(0));
/// # Ok(())
/// # }
/// ```
pub struct Nic {
    device: Device,
}

impl Nic {
    /// Opens the device and looks at its port. Costs some ten system calls, and three for each
    /// device that is there where none is asked for by name.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for options that no device takes; [`Error::List`],
    /// [`Error::NoDevice`], [`Error::NoGid`], [`Error::OnlyRoceV1`], [`Error::PortDown`], [`Error::NoAtomics`] by
    /// name; [`Error::Verbs`] where the library fails.
    pub fn open(options: &Options) -> Result<Nic, Error> {
        options.check()?;
        let list = DeviceList::new().map_err(|error| Error::List(error.into()))?;
        let found = match &options.device {
            Some(name) => list.iter().find(|device| *name == device.name()),
            None => {
                let ports: Vec<_> = list.iter().map(|it| port_is(&it, options.port)).collect();
                choose::device(&ports).and_then(|number| list.iter().nth(number))
            }
        };
        let found = found.ok_or_else(|| Error::NoDevice {
            asked: options.device.clone(),
            there: list.iter().map(|device| device.name()).collect(),
        })?;
        let name = found.name();
        let context = found
            .open()
            .map_err(Error::verbs(&name, "open the device"))?;
        let attr = context
            .query_device()
            .map_err(Error::verbs(&name, "ask for its attributes"))?;
        in_range("port", options.port.into(), 1, attr.phys_port_cnt().into())?;
        let most = u64::try_from(attr.max_qp_wr()).unwrap_or(0);
        in_range("depth", options.depth.into(), 1, most)?;
        // Compared as numbers: sideway's conversions panic at what they do not know.
        if attr.attr.orig_attr.atomic_cap == AtomicCapability::None as u32 {
            return Err(Error::NoAtomics { device: name });
        }
        let port = context
            .query_port(options.port)
            .map_err(Error::verbs(&name, "ask for its port's attributes"))?;
        if port.attr.state != PortState::Active as u32 {
            return Err(Error::PortDown {
                device: name,
                port: options.port,
            });
        }
        let addresses = addresses(&context, options.port)
            .map_err(Error::verbs(&name, "ask for its addresses"))?;
        let ethernet = port.attr.link_layer == LinkLayer::Ethernet as u8;
        options.check_port(port.attr.pkey_tbl_len)?;
        let set = || addresses.iter().map(|address| address.index).collect();
        let address = choose::address(&addresses, ethernet, options.gid_index);
        let address = address.map_err(|why| match why {
            Unchosen::NotThere(index) => Error::NoGid {
                device: name.clone(),
                port: options.port,
                index,
                there: usize::try_from(port.gid_tbl_len()).unwrap_or(0),
                set: set(),
            },
            Unchosen::OnlyV1 => Error::OnlyRoceV1 {
                device: name.clone(),
                port: options.port,
                set: set(),
            },
        })?;
        let pd = context
            .alloc_pd()
            .map_err(Error::verbs(&name, "allocate a protection domain"))?;
        let device = Device {
            pd,
            options: options.clone(),
            capabilities: attr.attr.device_cap_flags_ex,
            lid: port.lid(),
            mtu: mtu_bytes(port.attr.active_mtu),
            address,
            // On InfiniBand the subnet's own address does, unless another is asked for.
            global: ethernet || port.lid() == 0 || options.gid_index.is_some(),
            initiates: at_a_time(attr.max_qp_init_rd_atom()),
            answers: at_a_time(attr.max_qp_rd_atom()),
            name,
            context,
        };
        Ok(Nic { device })
    }

    /// The device's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.device.name
    }

    /// The index of the address that its connections use.
    #[must_use]
    pub fn gid_index(&self) -> u8 {
        self.device.gid_index()
    }

    /// How a word of the memory behind this device is to be written so that it comes as
    /// one. Reads the driver's name from `/sys`.
    ///
    /// # Errors
    ///
    /// [`Error::TornWrites`] where no way is known.
    pub fn writes(&self) -> Result<Writes, Error> {
        let driver = driver("/sys/class/infiniband".as_ref(), &self.device.name);
        let trusted = self.device.options.plain_writes;
        let writes = Writes::of(self.device.capabilities, &driver, trusted);
        writes.map_err(|reason| Error::TornWrites {
            device: self.device.name.clone(),
            reason,
        })
    }

    /// Lets connected peers read, write and compare-and-swap in all of `memory`, until the region
    /// is dropped.
    ///
    /// Costs a system call and pins the memory (`RLIMIT_MEMLOCK` counts it).
    ///
    /// # Errors
    ///
    /// [`Error::Verbs`] where the device or the limit does not allow it.
    pub fn register(&self, memory: Arc<Memory>) -> Result<Region, Error> {
        let access = AccessFlags::LocalWrite
            | AccessFlags::RemoteRead
            | AccessFlags::RemoteWrite
            | AccessFlags::RemoteAtomic;
        let registered = Registered::new(&self.device.pd, memory, access)
            .map_err(Error::verbs(&self.device.name, "register memory"))?;
        Ok(Region { registered })
    }

    /// A queue pair, to be connected. Its results have memory of their own, which no peer
    /// can reach.
    ///
    /// Costs three system calls, and pins a page for each 64 of the options' `depth`.
    ///
    /// # Errors
    ///
    /// [`Error::TornWrites`] as [`Nic::writes`], [`Error::Memory`], [`Error::Verbs`].
    pub fn queue_pair(&self) -> Result<QueuePair, Error> {
        QueuePair::new(&self.device, self.device.options.depth, self.writes()?)
    }
}

impl std::fmt::Debug for Nic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Nic")
            .field("name", &self.device.name)
            .field(
                "address",
                &Gid {
                    raw: self.device.address.gid,
                }
                .to_string(),
            )
            .field("options", &self.device.options)
            .finish_non_exhaustive()
    }
}

/// What a device says that it can have at a time; more than 16 brings a lock nothing.
fn at_a_time(most: i32) -> u8 {
    most.clamp(1, 16) as u8
}

/// What that port of a device is like. A device that cannot be asked is not chosen.
fn port_is(device: &device::Device<'_>, port: u8) -> PortIs {
    let state = device
        .open()
        .ok()
        .and_then(|it| it.query_port(port).ok())
        .map(|it| it.attr.state);
    match state {
        Some(state) if state == PortState::Active as u32 => PortIs::Up,
        Some(_) => PortIs::Down,
        None => PortIs::Missing,
    }
}

fn addresses(
    context: &DeviceContext,
    port: u8,
) -> Result<Vec<Address>, sideway::ibverbs::device_context::QueryGidTableError> {
    let table = context.query_gid_table()?;
    let ours = table
        .iter()
        .filter(|entry| entry.port_num() == u32::from(port));
    let addresses = ours.map(|entry| Address {
        index: entry.gid_index(),
        gid: entry.gid().raw,
        kind: match entry.gid_type() {
            GidType::InfiniBand => Kind::InfiniBand,
            GidType::RoceV1 => Kind::RoceV1,
            GidType::RoceV2 => Kind::RoceV2,
        },
    });
    Ok(addresses.collect())
}

/// Memory that peers can reach.
#[derive(Debug)]
pub struct Region {
    registered: Registered,
}

impl Region {
    /// The memory; the CPU's way to it.
    #[must_use]
    pub fn memory(&self) -> &Arc<Memory> {
        self.registered.memory()
    }

    /// Its first byte's address, as peers say it.
    #[must_use]
    pub fn addr(&self) -> u64 {
        self.memory().addr()
    }

    /// Its length in bytes.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it never is empty")]
    pub fn len(&self) -> usize {
        self.memory().len()
    }

    /// The key of this machine's own accesses through the device.
    #[must_use]
    pub fn lkey(&self) -> u32 {
        self.registered.lkey()
    }

    /// The key of peers' accesses.
    #[must_use]
    pub fn rkey(&self) -> u32 {
        self.registered.rkey()
    }

    /// The word at `offset`, in bytes, for a peer to access.
    ///
    /// # Panics
    ///
    /// Panics as [`Memory::word`] does: when `offset` is no word's.
    #[must_use]
    pub fn remote(&self, offset: usize) -> RemoteWord {
        // The same panic where it is made, not an error at the peer.
        let _ = self.memory().word(offset);
        RemoteWord {
            addr: self.addr() + offset as u64,
            rkey: self.rkey(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_device_is_for_all_threads() {
        fn is_shared<T: Send + Sync>() {}
        is_shared::<Nic>();
        is_shared::<Region>();
    }

    #[test]
    fn a_device_that_is_not_there_is_an_error() {
        let options = Options {
            device: Some("no such device".into()),
            ..Options::default()
        };
        match Nic::open(&options) {
            Err(Error::NoDevice { asked, there }) => {
                assert_eq!(asked.as_deref(), Some("no such device"));
                assert!(!there.contains(&"no such device".to_owned()));
            }
            // Where there is no libibverbs, or no ib_uverbs.
            Err(Error::List(_)) => {}
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_device_says_at_least_one_at_a_time() {
        assert_eq!(at_a_time(0), 1);
        assert_eq!(at_a_time(-1), 1);
        assert_eq!(at_a_time(8), 8);
        assert_eq!(at_a_time(128), 16);
    }
}
