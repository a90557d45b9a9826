// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What locks guard: locks and slots.

use core::fmt;
use core::marker::PhantomPinned;
use core::ops::Deref;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::cancel::{self, Cancel};
use crate::protocol::Busy;
use crate::word::Ownership;

/// A word that changes only through a token of the lock that guards it. Every thread may read it.
///
/// An atomic: a reader makes no data race. Eight bytes.
///
/// # Examples
///
/// ```
/// use rlock::{Lock, Owner, Slot};
///
/// let mut slot = Slot::new(1);
/// slot.set(2);
/// let lock = Lock::new(slot);
/// let owner = Owner::register()?;
/// owner.acquire(&lock)?.add(|slot| slot, 3)?;
/// assert_eq!(lock.load(), 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
#[repr(transparent)]
pub struct Slot(pub(crate) AtomicU64);

impl Slot {
    /// A slot that holds `value`.
    pub const fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }

    /// What it holds now. Acquire: what was written before the value was committed is
    /// seen. A plain load.
    #[inline]
    pub fn load(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }

    /// Writes, where no other thread can.
    pub fn set(&mut self, value: u64) {
        *self.0.get_mut() = value;
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.load(), f)
    }
}

/// Data and its revocable lock. The lock is eight bytes: its ownership.
///
/// Reading the data takes no lock. Its [`Slot`]s change by way of a [`Token`](crate::Token). Not
/// for memory that processes share: an owner's index means something in one process only.
///
/// Not [`Unpin`], though it may be moved. A token's operations ask for data that is. So none
/// reaches a lock that lies in another lock's data. The exception is a type with a hand-written
/// [`Unpin`] ([`Token`](crate::Token#slots)).
///
/// # Examples
///
/// ```
/// use rlock::{Lock, Owner, Slot};
///
/// static TOTALS: Lock<[Slot; 2]> = Lock::new([const { Slot::new(0) }; 2]);
///
/// let owner = Owner::register()?;
/// let mut token = owner.acquire(&TOTALS)?;
/// token.add(|totals| &totals[1], 5)?;
/// assert_eq!(TOTALS[1].load(), 5);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Default)]
pub struct Lock<T> {
    word: AtomicU64,
    _not_unpin: PhantomPinned,
    data: T,
}

impl<T> Lock<T> {
    /// A free lock around `data`.
    pub const fn new(data: T) -> Self {
        Self::owned(Ownership::NOBODY, data)
    }

    /// Ends the lock's present ownership, if there is one. After `Ok` the owner of that
    /// moment writes nothing more under the lock, and all that it wrote is seen. The lock is
    /// not the caller's by that: another thread may acquire it at once.
    ///
    /// Any thread may, registered or not. Costs what [`Cancel`] says, and nothing when the lock is
    /// free.
    pub fn cancel(&self, mode: Cancel) -> Result<(), Busy> {
        let owner = Ownership::from_bits(self.word.load(Ordering::Acquire));
        if owner == Ownership::NOBODY {
            return Ok(());
        }
        cancel::cancel(owner, mode)
    }

    /// A lock that `owner` owns from the first on.
    pub(crate) const fn owned(owner: Ownership, data: T) -> Self {
        Self {
            word: AtomicU64::new(owner.bits()),
            _not_unpin: PhantomPinned,
            data,
        }
    }

    /// Makes zeroes a lock that `owner` owns from the first on, in place.
    ///
    /// # Safety
    ///
    /// `at` must be a lock's memory, all zero and the caller's alone. Zeroes must be a `T`.
    pub(crate) unsafe fn own_zeroes(at: *mut Self, owner: Ownership) {
        // SAFETY: as the caller says; the marker has no bytes.
        unsafe { (&raw mut (*at).word).write(AtomicU64::new(owner.bits())) };
    }

    pub(crate) fn word(&self) -> &AtomicU64 {
        &self.word
    }

    /// The data, where no other thread can have it.
    pub fn get_mut(&mut self) -> &mut T {
        &mut self.data
    }

    /// The data.
    pub fn into_inner(self) -> T {
        self.data
    }
}

impl<T> Deref for Lock<T> {
    type Target = T;

    fn deref(&self) -> &T {
        &self.data
    }
}

impl<T: fmt::Debug> fmt::Debug for Lock<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let owner = Ownership::from_bits(self.word.load(Ordering::Relaxed));
        f.debug_struct("Lock")
            .field("owner", &owner)
            .field("data", &self.data)
            .finish()
    }
}
