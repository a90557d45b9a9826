// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! ALock, the asymmetric lock for RDMA memory, of Baran, Nelson-Slivon, Tseng and Palmieri (2024).
//! Threads of the node that the lock lies on take it with CPU instructions. Threads of other nodes
//! take it with a few verbs. No thread uses its card's loopback.
//!
//! # Examples
//!
//! With the feature `verbs`, one of three nodes of a cluster:
//!
//! ```no_run
//! # #[cfg(feature = "verbs")]
//! # fn run(rank: u16) -> Result<(), alock::cluster::Error> {
//! use std::{sync::Arc, time::Duration};
//!
//! use alock::{Node, Rendezvous, Settings};
//!
//! let (patience, silence) = (Duration::from_secs(60), Duration::from_secs(10));
//! let rendezvous = Rendezvous::join("node0:18550", rank, 3, patience, silence)?;
//! let node = Node::attach(Arc::new(rendezvous), &Settings::default())?;
//! let threads = node.threads()?;
//! // Any lock of the cluster: by the CPU if it lies on this node, else by verbs.
//! let mut guard = threads[0].lock(7)?;
//! let value = guard.load(0)?;
//! guard.store(0, value + 1)?;
//! guard.unlock()?;
//! node.rendezvous().barrier()
//! # }
//! ```
//!
//! # How it works
//!
//! A remote compare-and-swap is not atomic with a CPU's. To the CPU it is a read and a later write,
//! as the paper's Table 1 says. So the two kinds never modify the same word. Each cohort has a
//! queue of its own. The queues' leaders compete by Peterson's algorithm, which needs loads and
//! stores alone.
//!
//! | promised | |
//! |---|---|
//! | exclusion | always |
//! | first come, first served | within a cohort, from the moment a thread is in the queue |
//! | bounded bypass | while the first of one cohort waits, the other cohort enters at most as often as its budget says |
//! | no starvation | of local threads, and of remote threads that are in the queue |
//!
//! **Joining the remote queue** is lock-free, and is not free from starvation. It takes a
//! compare-and-swap that no other remote thread's comes before. Some thread always succeeds; a
//! single one may in theory never. A swap in one step would cure this, and InfiniBand's verbs have
//! none. Some cards' masked compare-and-swap would be one, from memory; none has been tried. A
//! fetch-and-add would cure it too, with a slot for every waiting thread at every lock. Such a lock
//! exceeds 64 bytes.
//!
//! # Where it runs
//!
//! | on | take | it needs |
//! |---|---|---|
//! | RDMA devices | `cluster`, of the feature `verbs`; its page has a whole program | `libibverbs.so.1` at run time, cmake and libclang to build |
//! | simulated clusters | the crate `handover-alock-sim` | Rust alone |
//! | a card of your own | [`lock`], over your [`remote::Verbs`] | |
//!
//! It has run on soft-RoCE alone, on x86-64. What other devices must promise is in `nic`'s
//! documentation of `Writes`. Which device barriers other CPUs need has not been examined.
//!
//! The way from the paper to the code: Algorithm 2 is [`lock`], Algorithm 3 is `queue`, Algorithm 4
//! is `peterson`. Each is written once, over [`access::Access`].

pub mod access;
#[cfg(feature = "baselines")]
#[doc(hidden)]
pub mod baselines;
#[cfg(feature = "verbs")]
pub mod cluster;
#[cfg(feature = "verbs")]
pub use cluster::{Guard, Node, Rendezvous, Settings, Thread};
pub mod litmus;
pub mod local;
pub mod lock;
pub mod pace;
mod peterson;
#[cfg(any(test, feature = "verbs"))]
mod polls;
pub mod ptr;
mod queue;
pub mod remote;
pub mod word;
