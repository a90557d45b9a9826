// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Tokens: the right to write, and the operations that may be refused.

use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::ptr;
use core::sync::atomic::Ordering;

use crate::lock::{Lock, Slot};
use crate::record::{revoked, Record};
use crate::section;
use crate::word::Ownership;

/// The token no longer owns its lock, and never will again; nothing was written. Another
/// thread took it away, or the thread's generation is over after so many commits
/// ([`Config::operations`](crate::Config::operations)): acquire again.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[error("the ownership was revoked")]
pub struct Revoked;

/// The right to write the slots of a lock's data, until it is revoked.
///
/// Derefs to the data, for reading. Dropping it keeps the ownership. The thread's next
/// [`acquire`](crate::Owner::acquire) of the lock costs some loads. Another thread that wants the
/// lock cancels it.
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
/// As long as operations succeed, no other thread wrote a slot of this lock since the acquisition.
/// To read slots, compute, and commit one store is atomic. The same thread may have written, by
/// another token of the lock, for example inside [`stage`](Self::stage)'s closure.
///
/// # Slots
///
/// An operation gets a function from the lock's data to the slot: `|data| &data.bytes`. A slot that
/// is borrowed from another lock is no result of such a function:
///
/// ```compile_fail,E0277
/// # use rlock::{Lock, Owner, Slot};
/// let (one, other) = (Lock::new(Slot::new(0)), Lock::new(Slot::new(0)));
/// let owner = Owner::register().unwrap();
/// let mut token = owner.acquire(&one).unwrap();
/// token.add(&*other, 1).unwrap();
/// ```
///
/// ```compile_fail,E0597
/// # use rlock::{Lock, Owner, Slot};
/// # let (one, other) = (Lock::new(Slot::new(0)), Lock::new(Slot::new(0)));
/// # let owner = Owner::register().unwrap();
/// # let mut token = owner.acquire(&one).unwrap();
/// token.add(|_| &*other, 1).unwrap();
/// ```
///
/// The slot must lie in the bytes of the data: in a field, an array, a tuple. A slot behind a
/// pointer, in a `Box` or a `static`, may be another lock's as well. An operation on it panics
/// before anything is written. To name a field costs nothing; an element costs the array's own
/// check of the index.
///
/// A lock in the data guards its slots itself, and no token of the outer lock may write them. So
/// the data must be [`Unpin`]. A [`Lock`] is not, and what has one in it is not by itself. What
/// merely points to a lock is:
///
/// ```compile_fail,E0599
/// # use rlock::{Lock, Owner, Slot};
/// let outer = Lock::new(Lock::new(Slot::new(0)));
/// let owner = Owner::register().unwrap();
/// let mut token = owner.acquire(&outer).unwrap();
/// token.add(|inner| &**inner, 1).unwrap();
/// ```
///
/// rlock sees no more than that. [`Unpin`] may be implemented by hand, in safe code, for a type
/// with a lock in it. An operation of the outer lock's token then writes the inner lock's slots. An
/// update of the inner lock's owner may be lost. Do not put such a type in a lock.
pub struct Token<'t, T> {
    data: &'t T,
    record: &'static Record,
    ownership: Ownership,
    /// Commits left; the record's is brought up to date when the token is dropped.
    budget: u32,
    owner: PhantomData<*mut ()>,
}

/// An operation of a token: its section, with the token's record, ownership and budget. What the
/// section refuses ends the generation.
///
/// A macro, so that no function gets the token's address: a token stays in registers.
macro_rules! commit {
    ($token:ident, $section:ident($($operand:expr),*)) => {{
        #[cfg(feature = "stats")]
        let _time = $token.record.stats.time();
        let budget = &mut $token.budget;
        match section::$section($token.record, $token.ownership, budget, $($operand),*) {
            Some(done) => Ok(done),
            None => Err($token.revoked()),
        }
    }};
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

    /// A token, if the thread of `record` owns the lock already. Two loads and a comparison.
    #[inline(always)]
    pub(crate) fn if_mine(record: &'static Record, lock: &'t Lock<T>) -> Option<Self> {
        let mine = record.shared.state.load(Ordering::Relaxed);
        let nested = record.shared.section.load(Ordering::Relaxed) != 0;
        // A state with flags equals no lock's word.
        (lock.word().load(Ordering::Acquire) == mine && !nested)
            .then(|| Self::new(lock, record, Ownership::from_bits(mine)))
    }

    /// Takes `self` by value: a token whose address is not taken stays in registers.
    #[inline(always)]
    fn revoked(&mut self) -> Revoked {
        self.budget = revoked(self.record, self.ownership);
        Revoked
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

impl<'t, T: Unpin> Token<'t, T> {
    /// The slot that `of` names, which is one of the lock's own. Outside the section, and nothing
    /// is left of it where the compiler sees the field.
    #[inline(always)]
    #[track_caller]
    fn slot(&self, of: impl for<'d> FnOnce(&'d T) -> &'d Slot) -> &'t Slot {
        let data: &'t T = self.data;
        let slot = of(data);
        let at = ptr::from_ref(slot)
            .addr()
            .wrapping_sub(ptr::from_ref(data).addr());
        let last = size_of::<T>().checked_sub(size_of::<Slot>());
        if last.is_none_or(|last| at > last) {
            not_of_this_lock();
        }
        slot
    }

    /// Writes `value` to the slot that `of` names, if the token still owns its lock.
    ///
    /// No locked instruction, no system call: some eight plain instructions.
    ///
    /// # Panics
    ///
    /// If the slot is not in the bytes of the lock's data, as every operation. Nothing is written
    /// then.
    ///
    /// # Examples
    ///
    /// ```
    /// use rlock::{Lock, Owner, Slot};
    ///
    /// struct Arena {
    ///     head: Slot,
    ///     bytes: [Slot; 4],
    /// }
    ///
    /// let arena = Lock::new(Arena { head: Slot::new(0), bytes: [const { Slot::new(0) }; 4] });
    /// let owner = Owner::register()?;
    /// let mut token = owner.acquire(&arena)?;
    /// token.store(|arena| &arena.head, 7)?;
    /// token.add(|arena| &arena.bytes[2], 512)?;
    /// // Reading takes no lock, and with the token it is exact.
    /// token.store(|arena| &arena.head, arena.head.load() + 1)?;
    /// assert_eq!((arena.head.load(), arena.bytes[2].load()), (8, 512));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    #[inline(always)]
    #[track_caller]
    pub fn store(
        &mut self,
        of: impl for<'d> FnOnce(&'d T) -> &'d Slot,
        value: u64,
    ) -> Result<(), Revoked> {
        let slot = self.slot(of);
        commit!(self, store(&slot.0, value))
    }

    /// Adds `value` to the slot that `of` names, wrapping, if the token still owns its lock. Costs
    /// what [`store`](Self::store) does, and panics as that does.
    #[inline(always)]
    #[track_caller]
    pub fn add(
        &mut self,
        of: impl for<'d> FnOnce(&'d T) -> &'d Slot,
        value: u64,
    ) -> Result<(), Revoked> {
        let slot = self.slot(of);
        commit!(self, add(&slot.0, value))
    }

    /// Writes `value` to the slot that `of` names if that is `expected` and the token still owns
    /// its lock. `Ok(false)` when it is something else. One comparison more than
    /// [`store`](Self::store); panics as that does.
    #[inline(always)]
    #[track_caller]
    pub fn compare_and_store(
        &mut self,
        of: impl for<'d> FnOnce(&'d T) -> &'d Slot,
        expected: u64,
        value: u64,
    ) -> Result<bool, Revoked> {
        let slot = self.slot(of);
        commit!(self, compare_and_store(&slot.0, expected, value))
    }

    /// Stage, then commit. `stage` gets what the slot that `of` names holds. It writes to memory
    /// that no other thread sees yet, and returns what is to be written to the slot. That one store
    /// makes all of it visible, or nothing. Panics as [`store`](Self::store) does, before `stage`
    /// is called.
    ///
    /// A thread that reads the new value from the slot sees what `stage` wrote.
    #[inline(always)]
    #[track_caller]
    pub fn stage(
        &mut self,
        of: impl for<'d> FnOnce(&'d T) -> &'d Slot,
        stage: impl FnOnce(u64) -> u64,
    ) -> Result<(), Revoked> {
        let slot = self.slot(of);
        let value = stage(slot.load());
        commit!(self, store(&slot.0, value))
    }
}

#[cold]
#[inline(never)]
#[track_caller]
fn not_of_this_lock() -> ! {
    panic!("the slot is not the lock's own; allowed is one in the bytes of its data");
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
