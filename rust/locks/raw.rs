// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What every lock here can do.

use super::World;

/// A lock without data, in the world `W`.
///
/// `lock` returns a *token* that the owner hands back to `unlock`: its ticket, its node, or 0. A
/// harness checks the order of admission by tickets.
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
///     let token = lock.lock(world);
///     let result = work();
///     lock.unlock(world, token);
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

    /// Whether threads are admitted in the order in which they first write the lock's first word.
    const FIFO: bool;

    /// How many bits a ticket has, where tokens are tickets; else 0. Tickets are given out one by one
    /// from the first on, and granted in that order.
    const TICKET_BITS: u32;

    /// Acquires, waiting as long as it takes. Returns the owner's token.
    fn lock(&self, world: &W) -> u32;

    /// Acquires if the lock is free and no waiter has a place in the order. Never waits. Fails also when another CPU's
    /// attempt comes between.
    fn try_lock(&self, world: &W) -> Option<u32>;

    /// Releases, handing over to the waiter that is next, if any.
    ///
    /// `token` must be what the caller's `lock` or `try_lock` returned, and is given back once.
    /// Otherwise the lock no longer excludes. In a world with nodes the other locks do not either then, and
    /// such a world may have undefined behaviour.
    ///
    /// After the store by which the next owner enters, this touches no word of the lock. So the
    /// next owner may free the lock.
    ///
    /// From before `lock` until this returns, the caller must not be descheduled where others
    /// could wait for it forever. In a kernel, preemption stays off.
    fn unlock(&self, world: &W, token: u32);

    /// Whether the lock is owned at some moment during the call.
    fn is_locked(&self) -> bool;
}

/// A lock that a world can make out of its words.
///
/// # Examples
///
/// ```
/// # mod process { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/process/world.rs")); }
/// # use process::{Cell, Process};
/// use handover_locks::{Make, RawLock, Ticket};
///
/// let lock = Ticket::make(7, Cell::new);
/// assert_eq!(lock.lock(&Process::new()), 7);
/// ```
pub trait Make<C>: Sized {
    /// A free lock. Its first ticket is `first`, where it has tickets; of more bits than a ticket
    /// has, the low ones count.
    fn make(first: u32, word: impl FnMut(u32) -> C) -> Self;
}
