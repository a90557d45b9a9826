// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What a run left besides its table, and the locks' looks.

use super::row::{Key, Lock};
use crate::figure::{Look, BESIDE, LOCKS};

/// Values, each the highest of its bucket, in ns, and how often.
pub type Counts<'r> = &'r [(u64, u64)];

/// What a run left, besides its table.
#[derive(Clone, Debug, Default)]
pub struct Data<'r> {
    /// Latencies of each point, all rounds and threads together; empty where only rows are left.
    pub latencies: Vec<(Key, Counts<'r>)>,
    /// The place where it was run, to be said behind the number of nodes.
    pub place: String,
    /// Below every figure.
    pub remarks: Vec<String>,
}

/// Each lock has its look.
pub(super) const fn look_of(lock: Lock) -> Look {
    match lock {
        Lock::Alock => LOCKS[0],
        Lock::RdmaSpin => LOCKS[1],
        Lock::RdmaMcs => LOCKS[2],
        Lock::Busted => BESIDE,
    }
}
