// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A device that was opened: what a queue pair asks of it.

use crate::choose::Address;
use crate::endpoint::Endpoint;
use crate::path::{Origin, Path};
use crate::{Options, Writes};
use sideway::ibverbs::device_context::DeviceContext;
use sideway::ibverbs::protection_domain::ProtectionDomain;
use std::sync::Arc;

/// An opened device, its port and its address.
pub(crate) struct Device {
    pub(crate) pd: Arc<ProtectionDomain>,
    pub(crate) context: Arc<DeviceContext>,
    pub(crate) options: Options,
    pub(crate) name: String,
    pub(crate) capabilities: u64,
    pub(crate) lid: u16,
    pub(crate) mtu: u16,
    pub(crate) address: Address,
    pub(crate) global: bool,
    /// Reads and compare-and-swaps at a time: sent, and answered.
    pub(crate) initiates: u8,
    pub(crate) answers: u8,
}

impl Device {
    /// The index of the address that its connections use.
    pub(crate) fn gid_index(&self) -> u8 {
        // `choose` takes none beyond.
        self.address.index as u8
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
        let origin = Origin {
            device: self.name.clone(),
            gid_index: self.gid_index(),
            global: self.global,
            initiates: self.initiates,
        };
        Path::new(origin, &self.options)
    }
}
