// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What can go wrong.

use crate::{RemoteWord, Status};
use std::error::Error as Any;

/// Why a call of this crate did not do what it promises.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The devices cannot be listed: no `libibverbs.so.1`, or no support in the kernel.
    #[error(
        "cannot list the RDMA devices (libibverbs.so.1 and the kernel's ib_uverbs are needed)"
    )]
    List(#[source] Box<dyn Any + Send + Sync>),
    /// The device that was asked for is not there, or none is.
    #[error("{}", no_device(asked.as_deref(), there))]
    NoDevice {
        /// The name asked for; `None` when any would do.
        asked: Option<String>,
        /// The names of those that there are.
        there: Vec<String>,
    },
    /// An option's value is out of its range.
    #[error("{option} is {value}, of {least} to {most}")]
    OutOfRange {
        /// The field of [`Options`](crate::Options).
        option: &'static str,
        /// What it was set to.
        value: u64,
        /// The least that it may be.
        least: u64,
        /// The most that it may be.
        most: u64,
    },
    /// The port has no address at that index.
    #[error("{}", no_gid(device, *port, *index, *there, set))]
    NoGid {
        /// The device.
        device: String,
        /// Its port.
        port: u8,
        /// The index asked for.
        index: u8,
        /// How many indices the port's table has.
        there: usize,
        /// The indices that hold an address.
        set: Vec<u32>,
    },
    /// On Ethernet the port has addresses of RoCE v1 alone, and none was asked for.
    #[error("{}", only_v1(device, *port, set))]
    OnlyRoceV1 {
        /// The device.
        device: String,
        /// Its port.
        port: u8,
        /// The indices that hold an address.
        set: Vec<u32>,
    },
    /// The port is not active: no cable, or no network.
    #[error("port {port} of {device} is not active")]
    PortDown {
        /// The device.
        device: String,
        /// Its port.
        port: u8,
    },
    /// The device has no compare-and-swap.
    #[error("{device} has no atomic operations")]
    NoAtomics {
        /// The device.
        device: String,
    },
    /// It is not known that eight bytes written to the device's memory come as one.
    #[error("a write to the memory behind {device} may be torn: {reason}")]
    TornWrites {
        /// The device, or the peer, whose memory it is.
        device: String,
        /// Why.
        reason: String,
    },
    /// What a peer says of itself cannot be.
    #[error("cannot connect to {peer}: {what}")]
    Endpoint {
        /// The peer.
        peer: String,
        /// What is wrong with it.
        what: &'static str,
    },
    /// A call of the verbs library failed.
    #[error("{device}: {what}")]
    Verbs {
        /// The device.
        device: String,
        /// What was being done.
        what: &'static str,
        /// What the library says.
        #[source]
        source: Box<dyn Any + Send + Sync>,
    },
    /// The kernel gives no memory.
    #[error("cannot map {bytes} bytes")]
    Memory {
        /// The bytes that were asked for.
        bytes: usize,
        /// What the kernel says.
        source: std::io::Error,
    },
    /// As many operations are out as the queue pair's depth allows: poll first.
    #[error("no room for {asked} more operations: the queue pair's depth is {depth}")]
    Full {
        /// How many were to be posted.
        asked: usize,
        /// How many may be out.
        depth: usize,
    },
    /// A read of no words, or of more than [`MAX_WORDS`](crate::MAX_WORDS).
    #[error("a read of {0} words, of 1 to 8")]
    Words(usize),
    /// A remote address that is no multiple of 8.
    #[error("the remote address {0:#x} is no multiple of 8")]
    Unaligned(u64),
    /// An operation on a queue pair that has no peer yet.
    #[error("the queue pair is not connected")]
    NotConnected,
    /// A second [`connect`](crate::QueuePair::connect).
    #[error("the queue pair is connected to {peer}, or was meant to be")]
    Connected {
        /// The peer that it has.
        peer: String,
    },
    /// Nothing is out that one could wait for.
    #[error("no operation is out")]
    Idle,
    /// An operation failed. All after it on this queue pair fail, too ([`Status::FLUSHED`]).
    #[error("operation {id} at {peer}, address {:#x}, key {:#x}: {status}", remote.addr, remote.rkey)]
    Completion {
        /// How it ended.
        status: Status,
        /// The peer whose memory it was about.
        peer: String,
        /// The operation's name.
        id: u64,
        /// The word that it was about, and by which key.
        remote: RemoteWord,
    },
    /// An operation on a queue pair that has failed: it takes none any more. Drop it.
    #[error("the queue pair to {peer} has failed")]
    Failed {
        /// The peer.
        peer: String,
    },
    /// Nothing completes: not even an error, for longer than the device may try. It was taken
    /// away, or hangs. The queue pair has failed, and what is out may still be carried out.
    #[error("operations at {peer} have not completed for {} s: the device is gone or hangs", silent.as_secs())]
    Silent {
        /// The peer.
        peer: String,
        /// The time without a completion.
        silent: std::time::Duration,
    },
    /// A completion of no operation that is out: the library's fault, or the device's.
    #[error("{device} completes work request {number}, which is not out")]
    Stray {
        /// The device.
        device: String,
        /// The number.
        number: u64,
    },
}

impl Error {
    /// Whether this side is at fault, as far as that can be told: the call, the library or
    /// the device. Else it is the peer, or what is between.
    #[must_use]
    pub fn is_local(&self) -> bool {
        match self {
            Error::Completion { status, .. } => status.is_local(),
            Error::Failed { .. } => false,
            _ => true,
        }
    }

    pub(crate) fn verbs<E>(device: &str, what: &'static str) -> impl FnOnce(E) -> Error
    where
        E: Into<Box<dyn Any + Send + Sync>>,
    {
        let device = device.to_owned();
        move |source| Error::Verbs {
            device,
            what,
            source: source.into(),
        }
    }
}

fn no_device(asked: Option<&str>, there: &[String]) -> String {
    let there = match there {
        [] => "there are none".to_owned(),
        names => format!("there are: {}", names.join(", ")),
    };
    match asked {
        Some(asked) => format!("no RDMA device {asked:?}; {there}"),
        None => format!("no RDMA device; {there}"),
    }
}

fn no_gid(device: &str, port: u8, index: u8, there: usize, set: &[u32]) -> String {
    let set = match numbers(set) {
        set if set.is_empty() => "none is set".to_owned(),
        set => format!("set: {set}"),
    };
    format!("port {port} of {device} has no GID {index}: there are {there} indices, {set}")
}

fn numbers(of: &[u32]) -> String {
    let of: Vec<String> = of.iter().map(u32::to_string).collect();
    of.join(", ")
}

fn only_v1(device: &str, port: u8, set: &[u32]) -> String {
    format!(
        "port {port} of {device} has no address of RoCE v2; RoCE v1 is to be asked for, by the index of its GID, of {}",
        numbers(set)
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_missing_device_is_named_beside_those_that_are_there() {
        let said = Error::NoDevice {
            asked: Some("mlx5_0".into()),
            there: vec!["rxe0".into(), "rxe1".into()],
        };
        assert_eq!(
            said.to_string(),
            "no RDMA device \"mlx5_0\"; there are: rxe0, rxe1"
        );
        let said = Error::NoDevice {
            asked: None,
            there: vec![],
        };
        assert_eq!(said.to_string(), "no RDMA device; there are none");
    }

    #[test]
    fn a_missing_gid_says_how_many_there_are() {
        let said = Error::NoGid {
            device: "rxe0".into(),
            port: 1,
            index: 9,
            there: 1024,
            set: vec![0, 1],
        };
        assert_eq!(
            said.to_string(),
            "port 1 of rxe0 has no GID 9: there are 1024 indices, set: 0, 1"
        );
    }

    #[test]
    fn roce_v1_alone_says_how_to_ask_for_it() {
        let said = Error::OnlyRoceV1 {
            device: "mlx5_0".into(),
            port: 1,
            set: vec![0, 2],
        };
        assert_eq!(
            said.to_string(),
            "port 1 of mlx5_0 has no address of RoCE v2; RoCE v1 is to be asked for, by the index of its GID, of 0, 2"
        );
    }

    #[test]
    fn a_failed_operation_names_status_peer_id_and_address() {
        let said = Error::Completion {
            status: Status::REMOTE_ACCESS,
            peer: "queue pair 17 at 10.0.0.1".into(),
            id: 3,
            remote: RemoteWord {
                addr: 0x7f00,
                rkey: 0x1a,
            },
        };
        assert_eq!(
            said.to_string(),
            "operation 3 at queue pair 17 at 10.0.0.1, address 0x7f00, key 0x1a: remote access error"
        );
    }

    #[test]
    fn errors_go_between_threads() {
        fn is_send<T: Send + Sync + 'static>() {}
        is_send::<Error>();
    }
}
