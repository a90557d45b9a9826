// SPDX-License-Identifier: GPL-2.0-only

//! Locks that a writer takes before the one of its section, and releases after it.

use super::{
    arena::Arena,
    subject::Subject,
    writer::{bump, told, Writer},
};
use crate::{
    measure::perturb::MAX_NESTED,
    spin::{nodes::NODES_PER_CPU, word::CONTEXTS},
};

// There are as many nodes as locks that a CPU may wait for: the nested ones, and one of each context.
const _: () = assert!(NODES_PER_CPU >= (MAX_NESTED + CONTEXTS) as usize);

/// The nested locks that a writer has.
pub(super) struct Nested {
    /// A bit for each.
    set: u32,
    tokens: [u32; MAX_NESTED as usize],
}

impl Nested {
    /// Whether the lock at `at` is one of `set`.
    #[inline(always)]
    fn is_of(set: u32, at: usize) -> bool {
        set >> at & 1 != 0
    }

    /// Takes those of `set`: the lowest first, so that no two writers wait for each other.
    ///
    /// # Safety
    ///
    /// The arena's locks are of type `S`, and this writer has none of them.
    #[inline(always)]
    pub(super) unsafe fn lock<S: Subject>(me: &Writer, arena: &Arena, set: u32) -> Self {
        let mut tokens = [0; MAX_NESTED as usize];
        for (at, (cell, token)) in arena.perturb.nested.iter().zip(&mut tokens).enumerate() {
            if Self::is_of(set, at) {
                // SAFETY: By this function's contract.
                *token = unsafe { S::lock(cell.state::<S>()) };
                told::<S>(me, *token);
                bump(&me.nested);
            }
        }
        Self { set, tokens }
    }

    /// Releases them, the last first.
    ///
    /// # Safety
    ///
    /// This writer took them, of `arena`, by `lock` of the same `S`.
    #[inline(always)]
    pub(super) unsafe fn unlock<S: Subject>(self, arena: &Arena) {
        let all = arena.perturb.nested.iter().zip(&self.tokens);
        for (at, (cell, token)) in all.enumerate().rev() {
            if Self::is_of(self.set, at) {
                // SAFETY: By this function's contract.
                unsafe { S::unlock(cell.state::<S>(), *token) };
            }
        }
    }
}
