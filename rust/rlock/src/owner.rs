// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Owners: a thread's part in rlock.

use core::fmt;
use core::marker::PhantomData;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::cancel::{self, Cancel};
use crate::files;
use crate::fork;
use crate::found::{self, Error};
use crate::lock::Lock;
use crate::protocol::{self, Busy};
use crate::record::{self, Record};
use crate::section;
use crate::setup;
use crate::signal;
use crate::token::Token;
use crate::word::Ownership;

/// A thread's part in rlock: what acquires locks. A handle: a thread may have several,
/// and owns until the last is dropped.
///
/// Not for signal handlers. A handler may commit between an interrupted operation's read and its
/// commit, by the same thread and generation. The interrupted commit then overwrites the
/// handler's. An operation of an earlier token, in a handler that interrupted a section, also
/// clears that section's flag. What another thread writes may then be lost.
///
/// An acquisition inside a section is refused by [`Busy::Nested`].
/// [`release_all`](Self::release_all) there ends nothing before the section has ended.
///
/// # Examples
///
/// ```
/// use rlock::{Lock, Owner, Slot};
///
/// let lock = Lock::new(Slot::new(0));
/// let owner = Owner::register()?;
/// owner.acquire(&lock)?.store(|slot| slot, 7)?;
/// // The next thread has no owner to cancel.
/// owner.release_all();
/// assert_eq!(lock.load(), 7);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Owner {
    /// The thread's pointer is the thread's.
    not_send: PhantomData<*mut ()>,
}

impl Owner {
    /// Registers the calling thread. A thread that is registered gets another handle.
    ///
    /// Sets rlock up if that has not been done. Three descriptors a thread, kept as long as the
    /// process; some ten microseconds. Unblocks the signal in the calling thread, where it must
    /// stay unblocked. A thread that blocks it can be cancelled only strictly.
    ///
    /// A signal handler may call it only when rlock is set up. One that interrupted the set-up is
    /// refused ([`Error::Reentered`]).
    pub fn register() -> Result<Self, Error> {
        // Before signals are blocked: it waits, and no signal could end it.
        let setup = setup::get_or_default()?;
        let blocked = signal::block_all();
        // SAFETY: the thread's pointer is null or a record's.
        if let Some(record) = unsafe { section::own().as_ref() } {
            let handles = record.handles.load(Ordering::Relaxed);
            // As many as that were forgotten, not held.
            let Some(more) = handles.checked_add(1) else {
                return Err(Error::Exhausted);
            };
            record.handles.store(more, Ordering::Relaxed);
            return Ok(Self {
                not_send: PhantomData,
            });
        }
        fork::check_sharing().map_err(|_| Error::OtherProcess)?;
        let record = record::claim(setup.config.first_generation)?.ok_or(Error::Exhausted)?;
        files::publish(record, setup);
        record.handles.store(1, Ordering::Relaxed);
        section::set_own(record);
        drop(blocked);
        signal::unblock();
        Ok(Self {
            not_send: PhantomData,
        })
    }

    /// Another view of a handle that the calling thread has.
    ///
    /// # Safety
    ///
    /// The thread must have a handle as long as this is there, and drop one of both only.
    pub(crate) unsafe fn assume_registered() -> Self {
        Self {
            not_send: PhantomData,
        }
    }

    /// The record of the calling thread, which is registered as long as there is a
    /// handle.
    #[inline(always)]
    pub(crate) fn record(&self) -> &'static Record {
        // SAFETY: set by `register` in this thread, which the handle cannot leave, to a
        // record, which is never unmapped; null again only without handles.
        unsafe { &*section::own() }
    }

    /// Acquires `lock`, if need be by cancelling its owner, once ([`Cancel::Try`]).
    ///
    /// Some loads when the thread owns it already. Otherwise a compare-and-swap, and what the
    /// cancellation costs. No order among waiting threads: the first attempt after the release
    /// succeeds.
    #[inline]
    pub fn acquire<'t, T>(&'t self, lock: &'t Lock<T>) -> Result<Token<'t, T>, Busy> {
        self.acquire_by(lock, Cancel::Try)
    }

    /// Acquires `lock`, if need be by cancelling its owner as hard as `mode` says.
    #[inline]
    pub fn acquire_by<'t, T>(
        &'t self,
        lock: &'t Lock<T>,
        mode: Cancel,
    ) -> Result<Token<'t, T>, Busy> {
        if let Some(token) = self.acquire_if_mine(lock) {
            return Ok(token);
        }
        let (record, ownership) = acquire_slowly(lock.word(), mode)?;
        Ok(Token::new(lock, record, ownership))
    }

    /// A lock that is the thread's, before any other sees it; and its token. `publish` makes it
    /// with the owner that it is given, and shows it.
    pub(crate) fn born<'s: 't, 't, T>(
        &'t self,
        publish: impl FnOnce(Ownership) -> Result<&'s Lock<T>, Busy>,
    ) -> Result<(&'s Lock<T>, Token<'t, T>), Busy> {
        let (record, mine) = ready()?;
        let lock = publish(mine)?;
        if record.last_cpu.load(Ordering::Relaxed) == 0 {
            cancel::publish_last_cpu(record);
        }
        Ok((lock, Token::new(lock, record, mine)))
    }

    /// A token, if the thread owns the lock already. Two loads and a comparison.
    #[inline(always)]
    pub(crate) fn acquire_if_mine<'t, T>(&self, lock: &'t Lock<T>) -> Option<Token<'t, T>> {
        Token::if_mine(self.record(), lock)
    }

    /// Ends every ownership of the thread, at once: their tokens are revoked.
    ///
    /// One locked instruction.
    pub fn release_all(&self) {
        record::renew(self.record());
    }

    /// Ends what a `siglongjmp` out of a signal handler left. The handler may have interrupted a
    /// section that is now never left. Without this call, acquisitions then fail with
    /// [`Busy::Nested`]. Ends every ownership of the thread, and unblocks the signal.
    ///
    /// # Safety
    ///
    /// The thread must not be inside a section: not be in a signal handler.
    pub unsafe fn forget_section(&self) {
        let record = self.record();
        record.shared.section.store(0, Ordering::Release);
        record::renew(record);
        signal::unblock();
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        let _blocked = signal::block_all();
        let record = self.record();
        let handles = record.handles.load(Ordering::Relaxed) - 1;
        record.handles.store(handles, Ordering::Relaxed);
        if handles == 0 {
            section::set_own(core::ptr::null());
            record.give_back();
        }
    }
}

impl fmt::Debug for Owner {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.record().ownership(), f)
    }
}

/// The calling thread's record, and a generation of it with which it may acquire.
fn ready() -> Result<(&'static Record, Ownership), Busy> {
    fork::check_sharing()?;
    // SAFETY: the caller's thread is registered.
    let mut record: &'static Record = unsafe { &*section::own() };
    if record.shared.section.load(Ordering::Relaxed) != 0 {
        return Err(Busy::Nested);
    }
    // A canceller asked for the end of this generation, or the record is used up.
    if record.shared.state.load(Ordering::Relaxed) != record.ownership().bits() {
        if record.ownership().next().is_none() {
            record = replace(record)?;
        } else {
            record::renew(record);
        }
    }
    Ok((record, record.ownership()))
}

#[cold]
fn acquire_slowly(word: &AtomicU64, mode: Cancel) -> Result<(&'static Record, Ownership), Busy> {
    let (record, mine) = ready()?;
    let mut evicted = false;
    protocol::acquire(word, mine, |owner| {
        evicted = owner.index() != mine.index();
        cancel::cancel(owner, mode)
    })?;
    // Once a time slice or so, not at each forced release.
    if evicted || record.last_cpu.load(Ordering::Relaxed) == 0 {
        cancel::publish_last_cpu(record);
    }
    Ok((record, mine))
}

/// A thread whose record is used up gets another one.
fn replace(old: &'static Record) -> Result<&'static Record, Busy> {
    let _blocked = signal::block_all();
    let setup = found::get().ok_or(Busy::OtherProcess)?;
    let new = record::claim(setup.config.first_generation)
        .ok()
        .flatten()
        .ok_or(Busy::NoRecord)?;
    files::publish(new, setup);
    let handles = old.handles.load(Ordering::Relaxed);
    new.handles.store(handles, Ordering::Relaxed);
    section::set_own(new);
    old.give_back();
    Ok(new)
}
