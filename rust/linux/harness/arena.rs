// SPDX-License-Identifier: GPL-2.0-only

//! What a run's writers share: the locks, what those protect, the course; and what perturbs them.

use super::subject::LockCell;
use crate::{
    locks::Word as _,
    measure::{perturb::Perturbations, words::Checks},
    spin::Word,
};
use core::cell::UnsafeCell;
use kernel::prelude::*;

/// A value that one thread writes at a time and others may read: `READ_ONCE()`
/// and `WRITE_ONCE()`. Under a lock that does not exclude, its writers race:
/// that is what it is for.
#[repr(transparent)]
pub(crate) struct Once<T>(UnsafeCell<T>);

// SAFETY: All accesses are volatile accesses of a machine word.
unsafe impl<T: Copy + Send> Sync for Once<T> {}

impl<T: Copy> Once<T> {
    pub(crate) const fn new(value: T) -> Self {
        const { assert!(size_of::<T>() <= size_of::<usize>()) };
        Self(UnsafeCell::new(value))
    }

    #[inline(always)]
    pub(crate) fn read(&self) -> T {
        // SAFETY: The cell is valid; a volatile read of a word cannot tear.
        unsafe { self.0.get().read_volatile() }
    }

    #[inline(always)]
    pub(crate) fn write(&self, value: T) {
        // SAFETY: The cell is valid; a volatile write of a word cannot tear.
        unsafe { self.0.get().write_volatile(value) };
    }
}

/// The stages of a run, in their order.
pub(crate) mod phase {
    /// Writers are made; those that are there sleep.
    pub(crate) const HOLD: u32 = 0;
    /// Writers stand on their CPUs, awake, so that they begin together.
    pub(crate) const MUSTER: u32 = 1;
    /// Writers run; not all of them may have begun, nothing counts.
    pub(crate) const WARM: u32 = 2;
    /// All writers run; acquisitions count.
    pub(crate) const MEASURE: u32 = 3;
    /// Writers leave.
    pub(crate) const STOP: u32 = 4;
}

/// A word that each section adds one to, by plain accesses, where KCSAN looks on. A lock that does not exclude or does
/// not order makes a data race of them. Other kernels have no such word.
pub(super) struct Plain(#[cfg(CONFIG_KCSAN)] UnsafeCell<u64>);

// SAFETY: By the contract of `bump`.
unsafe impl Sync for Plain {}

impl Plain {
    const fn new() -> Self {
        Self(
            #[cfg(CONFIG_KCSAN)]
            UnsafeCell::new(0),
        )
    }

    /// Adds one.
    ///
    /// # Safety
    ///
    /// The caller must own the lock. Owners of a lock that does not exclude race here, for KCSAN to see.
    #[inline(always)]
    pub(super) unsafe fn bump(&self) {
        // SAFETY: The cell is valid. By this function's contract no other thread accesses it.
        #[cfg(CONFIG_KCSAN)]
        unsafe {
            *self.0.get() += 1
        };
    }
}

/// What the lock protects.
#[repr(C, align(128))]
pub(crate) struct Guarded {
    /// The writer that is in the critical section, or 0.
    pub(crate) owner: Once<u32>,
    /// The ticket that is to be admitted next.
    pub(crate) next: Once<u32>,
    /// Sections completed.
    pub(crate) counter: Once<u64>,
    /// The last owner's stamp, where stamps are taken; else 0.
    pub(crate) released: Once<u64>,
    pub(super) plain: Plain,
}

impl Guarded {
    /// Before the first section, of which the ticket is `first`.
    pub(crate) const fn new(first: u32) -> Self {
        Self {
            owner: Once::new(0),
            next: Once::new(first),
            counter: Once::new(0),
            released: Once::new(0),
            plain: Plain::new(),
        }
    }
}

/// What writers share: read by all, written by the control thread alone.
#[repr(C, align(128))]
pub(crate) struct Course {
    pub(crate) phase: Word,
    pub(crate) cs_steps: u32,
    pub(crate) ncs_steps: u32,
    pub(crate) checks: Checks,
    pub(crate) seed: u64,
}

/// A lock beside the first, and what it protects.
#[repr(C)]
pub(crate) struct Unit {
    pub(crate) lock: LockCell,
    pub(crate) guarded: Guarded,
}

/// What perturbs a run's writers; nothing, where `plan` is off.
#[repr(C, align(128))]
pub(crate) struct Perturb {
    pub(crate) plan: Perturbations,
    pub(crate) writers: u32,
    /// 1: the writers pause. It orders nothing.
    pub(crate) pause: Word,
    /// The CPU that no writer is to run on, or [`NO_CPU`]. It orders nothing.
    pub(crate) spared: Word,
    /// The locks beside the first.
    pub(crate) more: KVVec<Unit>,
    /// The locks that are taken before, in this order.
    pub(crate) nested: KVVec<LockCell>,
}

/// No CPU's number; the one after it is the first.
pub(crate) const NO_CPU: u32 = u32::MAX;

impl Perturb {
    /// Room for all locks; there are none yet.
    pub(crate) fn new(plan: Perturbations, writers: u32, first_ticket: u32) -> Result<Self> {
        let (more, nested) = (plan.nlocks.saturating_sub(1), plan.nested_locks);
        let mut perturb = Self {
            plan,
            writers,
            pause: Word::new(0),
            spared: Word::new(NO_CPU),
            more: KVVec::with_capacity(more as usize, GFP_KERNEL)?,
            nested: KVVec::with_capacity(nested as usize, GFP_KERNEL)?,
        };
        for _ in 0..more {
            let unit = Unit {
                lock: LockCell::new(),
                guarded: Guarded::new(first_ticket),
            };
            perturb.more.push(unit, GFP_KERNEL)?;
        }
        for _ in 0..nested {
            perturb.nested.push(LockCell::new(), GFP_KERNEL)?;
        }
        Ok(perturb)
    }
}

/// A run's shared state: the lock, what it protects, the course; and what perturbs it.
#[repr(C)]
pub(crate) struct Arena {
    pub(crate) lock: LockCell,
    pub(crate) guarded: Guarded,
    pub(crate) course: Course,
    pub(crate) perturb: Perturb,
}

impl Arena {
    /// Makes all locks, once the arena is where it stays.
    pub(crate) fn init(&mut self, init: fn(&mut LockCell, u32, usize), first_ticket: u32) {
        init(&mut self.lock, first_ticket, 0);
        for unit in self.perturb.more.iter_mut() {
            init(&mut unit.lock, first_ticket, 0);
        }
        for (at, lock) in self.perturb.nested.iter_mut().enumerate() {
            init(lock, first_ticket, 1 + at);
        }
    }

    /// One of the locks of which a section needs one, and what it protects.
    pub(super) fn unit(&self, at: u32) -> (&LockCell, &Guarded) {
        match (at as usize)
            .checked_sub(1)
            .and_then(|at| self.perturb.more.get(at))
        {
            Some(unit) => (&unit.lock, &unit.guarded),
            None => (&self.lock, &self.guarded),
        }
    }

    /// What all these locks protect.
    pub(crate) fn all_guarded(&self) -> impl Iterator<Item = &Guarded> {
        let more = self.perturb.more.iter().map(|unit| &unit.guarded);
        Iterator::chain(core::iter::once(&self.guarded), more)
    }

    /// Whether the writers pause.
    pub(crate) fn is_paused(&self) -> bool {
        self.perturb.pause.load_relaxed() != 0
    }
}
