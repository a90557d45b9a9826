// SPDX-License-Identifier: GPL-2.0-only

//! What a run of the uncontended pairs is to be read with.

/// Pairs a sample: some tens of milliseconds.
pub(crate) const PAIRS: u32 = 300_000;

/// How a section calls its lock.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// Two calls that switch preemption, and the lock's own steps inlined between.
    Inlined,
    /// Two calls, of the kernel's lock and unlock.
    Called,
    /// The same by way of the kernel's Rust binding.
    Bound,
}

impl Shape {
    /// Its name in tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Inlined => "inlined",
            Self::Called => "called",
            Self::Bound => "bound",
        }
    }
}

/// Where the timed loop lies. Under emulation that decides what a call costs.
#[derive(Clone, Copy)]
pub(crate) enum Layout {
    /// In the page of the functions that the inlined locks call.
    Near,
    /// In a page without them.
    Far,
}

impl Layout {
    /// Both.
    pub(crate) const ALL: [Self; 2] = [Self::Near, Self::Far];

    /// Its name in tables.
    pub(crate) const fn name(self) -> &'static str {
        match self {
            Self::Near => "near",
            Self::Far => "far",
        }
    }
}
