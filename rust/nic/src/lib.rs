// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Verbs as a lock uses them, by `libibverbs`. They are compare-and-swap, read and write of
//! eight aligned bytes in another machine's memory, on reliable connections.
//!
//! ```no_run
//! use nic::{Memory, Nic, Options};
//! # fn exchange<T>(mine: T) -> T { mine }
//! # fn main() -> Result<(), nic::Error> {
//! let nic = Nic::open(&Options::default())?;
//! let region = nic.register(Memory::new(4096)?)?;
//! let mut queue = nic.queue_pair()?;
//! // Both go to the peer by any other way, and what the peer says comes back.
//! let (peer, theirs) = exchange((queue.endpoint().clone(), region.remote(0)));
//! queue.connect(&peer)?;
//! queue.post_cas(1, theirs, 0, 7)?;
//! assert_eq!(queue.wait()?.value(), 0);
//! # Ok(())
//! # }
//! ```
//!
//! These hold for a word that a CPU and peers reach. A remote write is single with the CPU's
//! loads, stores and read-modify-writes: see [`Writes`]. A remote read may be torn by a store:
//! soft-RoCE copies bytes, of which each is whole. Cards read eight aligned bytes as one, says
//! the literature.
//!
//! A remote compare-and-swap is atomic with others through the same device, and a CPU's load
//! sees no part of it. It is not atomic with the CPU's stores and read-modify-writes, nor with
//! remote writes: their changes may be lost. Rxe writes without the lock that its
//! compare-and-swaps take.
//!
//! The crate is made of `sideway` (MPL-2.0) and, where that lacks a call, `rdma-mummy-sys`
//! (MIT). `libibverbs.so.1` is opened when the program starts. A program of this crate runs
//! without it, too: [`Nic::open`] fails then.
//!
//! A limit: a device may be taken out while a program uses it, by hot unplug or a fatal reset.
//! It may then refuse to destroy its queue pairs, and sideway's assertion ends the process.
//! Soft-RoCE does not refuse.
//!
//! All foreign calls that sideway does not wrap are in `verbs.rs`.

mod choose;
mod device;
mod endpoint;
mod error;
mod memory;
mod open;
mod options;
mod path;
mod queue;
mod remote;
mod request;
mod ring;
mod silence;
mod status;
mod verbs;
mod writes;

pub use endpoint::Endpoint;
pub use error::Error;
pub use memory::Memory;
pub use open::{Nic, Region};
pub use options::Options;
pub use queue::QueuePair;
pub use remote::RemoteWord;
pub use request::{Completion, WorkRequest};
pub use ring::MAX_WORDS;
pub use status::Status;
pub use writes::{PlainWrites, Writes};
