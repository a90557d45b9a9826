// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Simulates the coherence of many CPUs' caches under the real code of a lock.
//!
//! The locks are those of [`handover_locks`], unchanged, with the layout that they have in memory. Nothing here says how
//! fast a machine is. It says how a lock's time grows with the CPUs that want it, if accesses cost what [`Costs`] says.

mod bench;
mod engine;
mod line;
mod locks;
mod machine;
mod sweep;
mod world;

pub use self::bench::{run, run_with, Fault, Outcome, Part, Settings};
pub use self::engine::{Counts, Stopped};
pub use self::line::Distance;
pub use self::locks::{lock, Lock, LOCKS};
pub use self::machine::{Cost, Costs, NoTopology, Source, Time, Topology};
pub use self::sweep::draws;
pub use self::world::{Sim, SimWord};
