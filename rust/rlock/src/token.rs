// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0

//! Tokens: the right to write, and the operations that may be refused.

use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::sync::atomic::Ordering;

use crate::owner::{revoked, Lock, Slot};
use crate::record::Record;
use crate::section;
use crate::word::Ownership;

/// The token no longer owns its lock, and never will again; nothing was written. Somebody
/// took it away, or the thread's generation is over after so many commits
/// ([`Config::operations`](crate::Config::operations)): acquire again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the ownership was revoked")]
pub struct Revoked;

/// The right to write the slots of a lock's data, until it is revoked.
///
/// Derefs to the data; an operation's slot is named through [`data`](Self::data), which
/// borrows the lock and not the token. Dropping it keeps the ownership: the thread's next
/// [`acquire`](crate::Owner::acquire) of the lock costs some loads, and who else wants the lock
/// cancels it.
///
/// It cannot outlive lock or owner, nor leave its thread:
///
/// ```compile_fail,E0505
/// # use rlock::{Lock, Owner, Slot};
/// let lock = Lock::new(Slot::new(0));
/// let owner = Owner::register().unwrap();
/// let mut token = owner.acquire(&lock).unwrap();
/// drop(lock);
/// let _ = token.is_valid();
/// ```
///
/// ```compile_fail,E0277
/// # use rlock::Owner;
/// let owner = Owner::register().unwrap();
/// std::thread::scope(|scope| {
///     scope.spawn(|| drop(owner));
/// });
/// ```
///
/// As long as operations succeed, no other thread wrote a slot of this lock since the
/// acquisition: to read slots, compute, and commit one store is atomic. (The same thread
/// may: by another token of the lock, inside [`stage`](Self::stage)'s closure, say.) That
/// the slots are this lock's own is the caller's duty: nothing checks it.
pub struct Token<'t, T> {
    data: &'t T,
    record: &'static Record,
    ownership: Ownership,
    /// Commits left; the record's is brought up to date when the token is dropped.
    budget: u32,
    owner: PhantomData<*mut ()>,
}

impl<'t, T> Token<'t, T> {
    #[inline(always)]
    pub(crate) fn new(lock: &'t Lock<T>, record: &'static Record, ownership: Ownership) -> Self {
        Self {
            data: lock,
            record,
            ownership,
            budget: record.budget.load(Ordering::Relaxed),
            owner: PhantomData,
        }
    }

    /// By value: a token whose address nobody takes stays in registers.
    #[inline(always)]
    fn revoked(&mut self) -> Revoked {
        self.budget = revoked(self.record, self.ownership);
        Revoked
    }

    /// Writes `value` to `slot`, if the token still owns its lock.
    ///
    /// No locked instruction, no system call: some eight plain instructions.
    #[inline(always)]
    pub fn store(&mut self, slot: &'t Slot, value: u64) -> Result<(), Revoked> {
        #[cfg(feature = "stats")]
        let _time = self.record.stats.time();
        if section::store(
            self.record,
            self.ownership,
            &mut self.budget,
            &slot.0,
            value,
        ) {
            Ok(())
        } else {
            Err(self.revoked())
        }
    }

    /// Adds `value` to `slot`, wrapping, if the token still owns its lock. Costs what
    /// [`store`](Self::store) does.
    #[inline(always)]
    pub fn add(&mut self, slot: &'t Slot, value: u64) -> Result<(), Revoked> {
        #[cfg(feature = "stats")]
        let _time = self.record.stats.time();
        if section::add(
            self.record,
            self.ownership,
            &mut self.budget,
            &slot.0,
            value,
        ) {
            Ok(())
        } else {
            Err(self.revoked())
        }
    }

    /// Writes `value` to `slot` if that is `expected` and the token still owns its
    /// lock. `Ok(false)` when it is something else. One comparison more than
    /// [`store`](Self::store).
    #[inline(always)]
    pub fn compare_and_store(
        &mut self,
        slot: &'t Slot,
        expected: u64,
        value: u64,
    ) -> Result<bool, Revoked> {
        #[cfg(feature = "stats")]
        let _time = self.record.stats.time();
        let budget = &mut self.budget;
        match section::compare_and_store(
            self.record,
            self.ownership,
            budget,
            &slot.0,
            expected,
            value,
        ) {
            Some(written) => Ok(written),
            None => Err(self.revoked()),
        }
    }

    /// Stage, then commit: `stage` gets what `slot` holds, writes to memory that nobody
    /// else sees yet, and says what is to be written to `slot`; that is the one store
    /// by which all of it becomes visible, or is not.
    ///
    /// Who reads the new value from the slot sees what `stage` wrote.
    #[inline(always)]
    pub fn stage(&mut self, slot: &'t Slot, stage: impl FnOnce(u64) -> u64) -> Result<(), Revoked> {
        let value = stage(slot.load());
        self.store(slot, value)
    }

    /// Whether the token still owns its lock, as far as can be seen now.
    pub fn is_valid(&self) -> bool {
        self.record.shared.state.load(Ordering::Acquire) == self.ownership.bits()
    }

    /// Ends every ownership of the thread, this token's among them.
    pub fn release(mut self) {
        self.revoked();
    }

    /// The data, for as long as the lock is borrowed.
    #[inline(always)]
    pub fn data(&self) -> &'t T {
        self.data
    }
}

impl<T> Deref for Token<'_, T> {
    type Target = T;

    #[inline(always)]
    fn deref(&self) -> &T {
        self.data
    }
}

impl<T> Drop for Token<'_, T> {
    #[inline(always)]
    fn drop(&mut self) {
        self.record.budget.store(self.budget, Ordering::Relaxed);
    }
}

impl<T> fmt::Debug for Token<'_, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.ownership, f)
    }
}
