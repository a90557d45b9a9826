// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0

//! A device, opened: its port, its address, what it promises.

use crate::endpoint::{mtu_bytes, Endpoint, Remote};
use crate::queue::{Path, QueuePair};
use crate::verbs::Registered;
use crate::writes::{driver, Writes};
use crate::{Error, Memory};
use sideway::ibverbs::address::{Gid, GidType};
use sideway::ibverbs::device::{DeviceInfo, DeviceList};
use sideway::ibverbs::device_context::{AtomicCapability, DeviceContext, LinkLayer, PortState};
use sideway::ibverbs::protection_domain::ProtectionDomain;
use sideway::ibverbs::AccessFlags;
use std::net::Ipv6Addr;
use std::sync::Arc;

/// Which device, and how patient its connections are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// The device's name, as `ibv_devices` lists it; by default the first.
    pub device: Option<String>,
    /// Which of the port's addresses to use; by default the first of RoCE v2 that is an
    /// IPv4 address, and index 0 where none is.
    pub gid_index: Option<u8>,
    /// The device's port; by default 1, the first.
    pub port: u8,
    /// An unanswered packet is sent again after 4.096 µs · 2^timeout, at most 31; by
    /// default 18, which is 1.07 s and does for a slow guest. 0 is never: what is lost is
    /// waited for without end.
    pub timeout: u8,
    /// How often, 0 to 7; by default 6. An operation that a dead peer never answers fails
    /// after about (retries + 1) timeouts. With 7, which rxe takes for 'for ever', and where the
    /// device hangs, after four times that and a second ([`Error::Silent`](crate::Error)).
    pub retries: u8,
    /// How many operations may be out on a queue pair; by default 16. Costs 64 bytes of
    /// registered memory each.
    pub depth: u32,
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
        }
    }
}

impl Options {
    fn check(&self) -> Result<(), Error> {
        for (option, value, least, most) in [
            ("timeout", u64::from(self.timeout), 0, 31),
            ("retries", u64::from(self.retries), 0, 7),
            ("depth", u64::from(self.depth), 1, 1 << 15),
        ] {
            in_range(option, value, least, most)?;
        }
        Ok(())
    }
}

fn in_range(option: &'static str, value: u64, least: u64, most: u64) -> Result<(), Error> {
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

/// One of a port's addresses.
#[derive(Debug, Clone, Copy)]
struct Address {
    index: u32,
    gid: [u8; 16],
    roce2: bool,
}

/// The address at `asked`, or the one to take by default.
fn choose(addresses: &[Address], asked: Option<u8>) -> Option<Address> {
    let at = |index: u32| {
        addresses
            .iter()
            .find(|address| address.index == index)
            .copied()
    };
    if let Some(asked) = asked {
        return at(u32::from(asked));
    }
    let is_ipv4 = |address: &&Address| Ipv6Addr::from(address.gid).to_ipv4_mapped().is_some();
    // A path names its address in 8 bits.
    let named = addresses.iter().filter(|address| address.index <= 255);
    let ipv4 = named.filter(|address| address.roce2).find(is_ipv4).copied();
    ipv4.or_else(|| at(0))
}

/// An RDMA device, opened; for all threads. What is made of it keeps it open.
pub struct Nic {
    pd: Arc<ProtectionDomain>,
    context: Arc<DeviceContext>,
    options: Options,
    name: String,
    capabilities: u64,
    lid: u16,
    mtu: u16,
    address: Address,
    global: bool,
    /// Reads and compare-and-swaps at a time: sent, and answered.
    initiates: u8,
    answers: u8,
}

impl Nic {
    /// Opens the device and looks at its port. Costs some ten system calls.
    ///
    /// # Errors
    ///
    /// [`Error::OutOfRange`] for options that no device takes; [`Error::List`],
    /// [`Error::NoDevice`], [`Error::NoGid`], [`Error::PortDown`], [`Error::NoAtomics`] by
    /// name; [`Error::Verbs`] where the library fails.
    pub fn open(options: &Options) -> Result<Nic, Error> {
        options.check()?;
        let list = DeviceList::new().map_err(|error| Error::List(error.into()))?;
        let found = list.iter().find(|device| match &options.device {
            Some(name) => *name == device.name(),
            None => true,
        });
        let device = found.ok_or_else(|| Error::NoDevice {
            asked: options.device.clone(),
            there: list.iter().map(|device| device.name()).collect(),
        })?;
        let name = device.name();
        let context = device
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
        let address = choose(&addresses, options.gid_index).ok_or_else(|| Error::NoGid {
            device: name.clone(),
            port: options.port,
            index: options.gid_index.unwrap_or(0),
            there: usize::try_from(port.gid_tbl_len()).unwrap_or(0),
            set: addresses.iter().map(|address| address.index).collect(),
        })?;
        let ethernet = port.attr.link_layer == LinkLayer::Ethernet as u8;
        let pd = context
            .alloc_pd()
            .map_err(Error::verbs(&name, "allocate a protection domain"))?;
        Ok(Nic {
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
        })
    }

    /// The device's name.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The index of the address that its connections use.
    #[must_use]
    pub fn gid_index(&self) -> u8 {
        // `choose` takes none beyond.
        self.address.index as u8
    }

    /// How a word of the memory behind this device is to be written so that it comes as
    /// one. Looks at `/sys` where the device has no atomic write.
    ///
    /// # Errors
    ///
    /// [`Error::TornWrites`] where no way is known.
    pub fn writes(&self) -> Result<Writes, Error> {
        let driver = driver("/sys/class/infiniband".as_ref(), &self.name);
        Writes::of(self.capabilities, driver.as_deref()).map_err(|reason| Error::TornWrites {
            device: self.name.clone(),
            reason,
        })
    }

    /// Lets peers that are connected to this device read, write and compare-and-swap in
    /// all of `memory`, until the region is dropped.
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
        let registered = Registered::new(&self.pd, memory, access)
            .map_err(Error::verbs(&self.name, "register memory"))?;
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
        QueuePair::new(self, self.options.depth, self.writes()?)
    }

    pub(crate) fn pd(&self) -> &Arc<ProtectionDomain> {
        &self.pd
    }

    pub(crate) fn context(&self) -> &Arc<DeviceContext> {
        &self.context
    }

    pub(crate) fn endpoint(&self, qpn: u32, psn: u32, writes: Writes) -> Endpoint {
        Endpoint {
            qpn,
            psn,
            lid: self.lid,
            gid: self.address.gid,
            mtu: self.mtu,
            port: self.options.port,
            reads: self.answers,
            writes,
        }
    }

    pub(crate) fn path(&self) -> Path {
        Path {
            device: self.name.clone(),
            gid_index: self.gid_index(),
            global: self.global,
            timeout: self.options.timeout,
            retries: self.options.retries,
            initiates: self.initiates,
        }
    }
}

impl std::fmt::Debug for Nic {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Nic")
            .field("name", &self.name)
            .field(
                "address",
                &Gid {
                    raw: self.address.gid,
                }
                .to_string(),
            )
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

/// What a device says that it can have at a time; more than 16 brings a lock nothing.
fn at_a_time(most: i32) -> u8 {
    most.clamp(1, 16) as u8
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
        roce2: entry.gid_type() == GidType::RoceV2,
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
    /// As [`Memory::word`]: when `offset` is no word's.
    #[must_use]
    pub fn remote(&self, offset: usize) -> Remote {
        // The same panic where it is made, not an error at the peer.
        let _ = self.memory().word(offset);
        Remote {
            addr: self.addr() + offset as u64,
            rkey: self.rkey(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::Ipv4Addr;

    fn address(index: u32, gid: [u8; 16], roce2: bool) -> Address {
        Address { index, gid, roce2 }
    }

    fn ipv4(last: u8) -> [u8; 16] {
        Ipv4Addr::new(10, 0, 0, last).to_ipv6_mapped().octets()
    }

    #[test]
    fn a_device_is_for_all_threads() {
        fn is_shared<T: Send + Sync>() {}
        is_shared::<Nic>();
        is_shared::<Region>();
    }

    #[test]
    fn the_default_address_is_roce_v2_of_ipv4() {
        let link_local = Ipv6Addr::new(0xfe80, 0, 0, 0, 0, 0, 0, 1).octets();
        let table = [
            address(0, link_local, true),
            address(2, ipv4(1), false),
            address(3, ipv4(1), true),
            address(5, ipv4(2), true),
        ];
        assert_eq!(choose(&table, None).unwrap().index, 3);
        assert_eq!(choose(&table, Some(2)).unwrap().index, 2);
        assert_eq!(choose(&table[..1], None).unwrap().index, 0);
        assert!(choose(&table, Some(1)).is_none());
        assert!(choose(&table[1..2], None).is_none());
        assert!(choose(&[], None).is_none());
    }

    #[test]
    fn an_index_that_no_path_can_name_is_not_chosen() {
        assert!(choose(&[address(256, ipv4(1), true)], None).is_none());
    }

    #[test]
    fn options_are_within_what_the_verbs_take() {
        assert!(Options::default().check().is_ok());
        let refused = |change: fn(&mut Options)| {
            let mut options = Options::default();
            change(&mut options);
            options.check().unwrap_err().to_string()
        };
        assert_eq!(
            refused(|options| options.timeout = 32),
            "timeout is 32, of 0 to 31"
        );
        assert_eq!(
            refused(|options| options.retries = 8),
            "retries is 8, of 0 to 7"
        );
        assert_eq!(
            refused(|options| options.depth = 0),
            "depth is 0, of 1 to 32768"
        );
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
