// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What every lock here can do.

use super::World;

/// A lock without data, in the world `W`.
///
/// `lock` returns a *ticket* that the owner hands back to `unlock`. A lock that
/// queues by tickets needs it there. A harness checks the order of admission by
/// it.
///
/// # Examples
///
/// ```
/// # mod process { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/process/world.rs")); }
/// # use process::{Cell, Process};
/// use handover_locks::{RawLock, Ticket, Twa};
///
/// /// What `work` returns, run by the lock's owner.
/// fn with<R>(lock: &impl RawLock<Process>, world: &Process, work: impl FnOnce() -> R) -> R {
///     let ticket = lock.lock(world);
///     let result = work();
///     lock.unlock(world, ticket);
///     result
/// }
///
/// let world = Process::new();
/// let ticket = Ticket::new(Cell::new(7), Cell::new(7));
/// assert!(with(&ticket, &world, || ticket.try_lock(&world).is_none()));
/// let twa = Twa::<Cell>::new(Cell::new(7), Cell::new(7));
/// assert!(with(&twa, &world, || twa.try_lock(&world).is_none()));
/// ```
pub trait RawLock<W: World> {
    /// Whether two owners can never overlap.
    const EXCLUDES: bool;

    /// Whether the lock is granted in the order of tickets. Tickets are given out one by one,
    /// from the first on.
    const FIFO: bool;

    /// Acquires, waiting as long as it takes. Returns the owner's ticket.
    fn lock(&self, world: &W) -> u32;

    /// Acquires if the lock is free and has no waiter. Never waits. Fails also when another CPU's
    /// attempt comes between.
    fn try_lock(&self, world: &W) -> Option<u32>;

    /// Releases, handing over to the waiter that is next, if any.
    ///
    /// `ticket` must be what the caller's `lock` or `try_lock` returned, and is given back once.
    /// Otherwise the lock no longer excludes.
    ///
    /// From before `lock` until this returns, the caller must not be descheduled where others
    /// could wait for it forever. In a kernel, preemption stays off.
    fn unlock(&self, world: &W, ticket: u32);

    /// Whether the lock is owned at some moment during the call.
    fn is_locked(&self) -> bool;

    /// Whether the lock has a waiter at some moment during the call, or changes hands during it.
    fn is_contended(&self) -> bool;
}
