// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A cluster in one thread and in virtual time: the same locks over simulated CPUs and
//! network cards. One seed, one run.
//!
//! Threads are coroutines, as futures. An access to memory happens at one moment of virtual
//! time. Between two accesses anything else may happen. A card's compare-and-swap is what the
//! paper's Table 1 says: a read and, later, a write. A card does one at a time. Its reads of
//! more than four bytes may tear, and where [`Costs::writes`] says so its writes are not single
//! either.
//!
//! A thread of the lock's node and one of another, with the lock between them:
//!
//! ```
//! use alock::lock::{acquire, release, Budgets};
//! use alock::ptr::{Descriptor, LockPtr, NodeId, Ptr};
//! use alock::remote::{Remote, Verbs};
//! use alock_sim::{Card, Cluster, Connections, Cpu, End, Costs};
//!
//! let cluster = Cluster::new(2, 4096, Costs::default(), 1);
//! let line = |node, number: u64| Ptr::new(NodeId(node), 64 * number).unwrap();
//! let (lock, data) = (LockPtr(line(0, 1)), line(0, 2).word(0));
//! let budgets = Budgets::default();
//!
//! let it = cluster.clone();
//! cluster.spawn(NodeId(0), async move {
//!     let (cpu, mine) = (Cpu::new(&it), Descriptor(line(0, 3)));
//!     for _ in 0..10 {
//!         let held = acquire(&cpu, lock, mine, budgets.local, &mut || true).await.unwrap();
//!         let value = cpu.load(data).await;
//!         cpu.store(data, value + 1).await;
//!         release(&cpu, lock, mine, held.unwrap()).await.unwrap();
//!     }
//! });
//! let it = cluster.clone();
//! cluster.spawn(NodeId(1), async move {
//!     let connections = Connections { threads: 1, loopback: false, full: false };
//!     let card = Card::new(&it, NodeId(1), 0, connections);
//!     let (remote, mine) = (Remote::new(&card), Descriptor(line(1, 3)));
//!     for _ in 0..10 {
//!         let held = acquire(&remote, lock, mine, budgets.remote, &mut || true).await.unwrap();
//!         let value = card.get(data).await.unwrap();
//!         card.write(data, value + 1).await.unwrap();
//!         release(&remote, lock, mine, held.unwrap()).await.unwrap();
//!     }
//! });
//! assert_eq!(cluster.run(1_000_000), End::Finished);
//! assert_eq!(cluster.peek(data), 20);
//! ```

mod card;
mod clock;
mod cluster;
mod costs;
mod cpu;
mod memory;
mod pairs;

pub use card::Card;
pub use clock::End;
pub use cluster::{Cluster, Lost};
pub use costs::{Constant, Costs, Nanos, WriteKind};
pub use cpu::Cpu;
pub use pairs::Connections;
