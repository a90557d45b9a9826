// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0

//! Verbs as a lock uses them: compare-and-swap, read and write of eight aligned bytes in
//! another machine's memory, on reliable connections, by `libibverbs`.
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
//! Of a word that a CPU and peers reach: a remote write is single with the CPU's loads,
//! stores and read-modify-writes ([`Writes`]). A remote read may be torn by a store: soft-RoCE
//! copies bytes, of which each is whole. (Of cards the literature says that they read eight
//! aligned bytes as one.) A remote compare-and-swap is atomic with others through the same
//! device, and a CPU's load sees no part of it; with the CPU's stores and read-modify-writes,
//! and with remote writes, it is not atomic: their changes may be lost. (rxe writes without the
//! lock that its compare-and-swaps take.)
//!
//! Made of `sideway` (MPL-2.0) and, where that lacks a call, `rdma-mummy-sys` (MIT);
//! `libibverbs.so.1` is opened when the program starts, so that a program of this crate
//! runs without it, too: [`Nic::open`] fails then.
//!
//! A limit: a device that is taken out while a program uses it (hot unplug, a fatal reset)
//! may refuse to destroy its queue pairs, and sideway ends the process then (it asserts).
//! Soft-RoCE does not.
//!
//! All foreign calls that sideway does not wrap are in `verbs.rs`.

mod endpoint;
mod error;
mod memory;
mod open;
mod queue;
mod request;
mod ring;
mod silence;
mod status;
mod verbs;
mod writes;

pub use endpoint::{Endpoint, Remote};
pub use error::Error;
pub use memory::Memory;
pub use open::{Nic, Options, Region};
pub use queue::QueuePair;
pub use request::{Completion, Request};
pub use ring::MAX_WORDS;
pub use status::Status;
pub use writes::Writes;
