// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0

//! What every lock here can do.

use super::World;

/// A lock without data, in the world `W`.
///
/// `lock` returns a *ticket* that the owner hands back to `unlock`: locks that
/// queue by tickets need it there, and a harness can check admission order by
/// it.
pub trait RawLock<W: World> {
    /// Whether two owners can never overlap.
    const EXCLUDES: bool;

    /// Whether the lock is granted in the order of tickets, which are given out
    /// one by one from the first on.
    const FIFO: bool;

    /// Acquires, waiting as long as it takes. Returns the owner's ticket.
    fn lock(&self, world: &W) -> u32;

    /// Acquires if nobody owns the lock or waits for it; never waits. Fails
    /// also when another CPU's attempt comes between.
    fn try_lock(&self, world: &W) -> Option<u32>;

    /// Releases, handing over to the waiter that is next, if any.
    ///
    /// `ticket` must be the one that the caller's `lock` or `try_lock`
    /// returned, and each is given back once; otherwise the lock no longer
    /// excludes. From before `lock` until this returns, the caller must not be
    /// descheduled where others could wait for it forever (in a kernel:
    /// preemption stays off).
    fn unlock(&self, world: &W, ticket: u32);

    /// Whether somebody owns the lock, at some moment during the call.
    fn is_locked(&self) -> bool;

    /// Whether somebody waits for the lock at some moment during the call, or
    /// the lock changed hands during it.
    fn is_contended(&self) -> bool;
}
