// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What a plan and a table know of a lock.

/// A lock that can be named, out of a list of all. Two are the same where they lie at the
/// same place of the list.
pub trait Listed: Copy + 'static {
    /// The writers' nice value. A workload states it.
    const NICE: i32;
    /// How many uncontended pairs one run times. A workload states it.
    const PAIRS: u32;

    /// Every lock, in the order of `all`.
    fn list() -> &'static [Self];

    /// Its name in `torture_type`.
    fn name(&self) -> &'static str;

    /// Whether a plan takes it that is not told which.
    fn is_usual(&self) -> bool;

    /// Whether `all` has it.
    fn is_in_all(&self) -> bool;

    /// Whether its uncontended pair can be timed.
    fn has_pair(&self) -> bool;
}
