// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Simulates the coherence of many CPUs' caches under the real code of a lock.
//!
//! The locks are those of [`handover_locks`], unchanged, with the layout that they have in memory. Nothing here says how
//! fast a machine is. It says how a lock's time grows with the CPUs that want it, if accesses cost what [`Costs`] says.

mod bench;
mod diameter;
mod engine;
mod line;
mod locks;
mod machine;
pub mod paper;
mod ping;
pub mod plan;
mod profile;
mod row;
mod sweep;
pub mod tables;
mod workload;
mod world;

pub use self::bench::{run, run_with, Fault, Outcome, Part, Settings};
pub use self::diameter::diameter;
pub use self::engine::{Counts, Stopped, Traffic};
pub use self::line::Distance;
pub use self::locks::{lock, Lock, LOCKS, NO_LOCK};
pub use self::machine::{Cost, Costs, NoTopology, Source, Time, Topology};
pub use self::ping::ping_pong;
pub use self::profile::{NoProfile, Profile};
pub use self::row::{row, COLUMNS};
pub use self::sweep::draws;
pub use self::workload::{Times, Workload};
pub use self::world::{Sim, SimWord};
