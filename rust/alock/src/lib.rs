// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0

//! ALock, the asymmetric lock for RDMA memory (Baran, Nelson-Slivon, Tseng and Palmieri
//! 2024): threads of the node that the lock lies on take it with CPU instructions, threads
//! of other nodes with a few verbs, and nobody by loopback.
//!
//! A remote compare-and-swap is not atomic with a CPU's (the paper's Table 1: to the CPU it
//! is a read and a later write). So the two kinds never modify the same word: each cohort
//! has a queue of its own, and the queues' leaders compete by Peterson's algorithm, which
//! needs loads and stores alone.
//!
//! | promised | |
//! |---|---|
//! | exclusion | always |
//! | first come, first served | within a cohort, from the moment a thread is in the queue |
//! | bounded bypass | while the first of one cohort waits, the other cohort enters at most as often as its budget says |
//! | no starvation | of local threads, and of remote ones that are in the queue. To join it a remote thread needs a compare-and-swap that no other remote thread comes before: some thread always succeeds, a single one may in theory never. (A one-step enqueue needs a swap or a ticket; verbs have neither a swap nor room for a ticket's slots in 64 bytes) |
//!
//! **To use it** in a program on RDMA: `cluster` (feature `verbs`, with a
//! whole program; needs `libibverbs.so.1` at run time, and cmake and libclang to build). On
//! simulated clusters: [`sim`], with the feature or without. On a card of one's own: implement
//! [`remote::Verbs`], and drive [`lock`] with it. Seen to run on soft-RoCE alone, on x86-64:
//! what other devices must promise is in `nic`'s documentation (`Writes`), and what device
//! barriers other CPUs need was not examined.
//!
//! The way from the paper to the code: Algorithm 2 is [`lock`], Algorithm 3 is `queue`,
//! Algorithm 4 is `peterson`; each is written once, over [`access::Access`].

pub mod access;
#[cfg(feature = "verbs")]
pub mod cluster;
pub mod local;
pub mod lock;
pub mod pace;
mod peterson;
pub mod ptr;
mod queue;
pub mod remote;
pub mod rivals;
pub mod sim;
pub mod word;
