// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0

//! What users hold: owners, locks, slots. Their tokens are in [`crate::token`].

use core::fmt;
use core::marker::PhantomData;
use core::ops::Deref;
use core::sync::atomic::{AtomicU64, Ordering};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};

use crate::cancel::{self, Cancel};
use crate::fork;
use crate::kernel::{File, Kernel};
use crate::protocol::{self, Busy};
use crate::record::{self, Record};
use crate::section;
use crate::setup::{self, Error, Setup};
use crate::signal;
use crate::token::Token;
use crate::word::{Ownership, CANCELLED};

/// A word that changes only through a token of the lock that guards it, and that
/// everybody may read.
///
/// An atomic: readers race with nobody. Eight bytes.
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

    /// Writes, where nobody else can.
    pub fn set(&mut self, value: u64) {
        *self.0.get_mut() = value;
    }
}

impl fmt::Debug for Slot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.load(), f)
    }
}

/// Data and its revocable lock. The lock is eight bytes: who owns it.
///
/// Reading the data takes no lock. Its [`Slot`]s change by way of a [`Token`]. Not for
/// memory that processes share: an owner's index means something in one process only.
#[derive(Default)]
pub struct Lock<T> {
    word: AtomicU64,
    data: T,
}

impl<T> Lock<T> {
    /// A free lock around `data`.
    pub const fn new(data: T) -> Self {
        Self {
            word: AtomicU64::new(Ownership::NOBODY.bits()),
            data,
        }
    }

    /// Ends the ownership of whoever owns the lock. After `Ok` the owner of that moment
    /// writes nothing more under it, and all that it wrote is seen. The lock is not the
    /// caller's by that: another thread may acquire it at once.
    ///
    /// Any thread may, registered or not. Costs what [`Cancel`] says; nothing when
    /// nobody owns it.
    pub fn cancel(&self, mode: Cancel) -> Result<(), Busy> {
        let owner = Ownership::from_bits(self.word.load(Ordering::Acquire));
        if owner == Ownership::NOBODY {
            return Ok(());
        }
        cancel::cancel(owner, mode)
    }

    pub(crate) fn word(&self) -> &AtomicU64 {
        &self.word
    }

    /// The data, where nobody else can have it.
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

/// A thread's part in rlock: what acquires locks. A handle: a thread may have several,
/// and owns until the last is dropped.
///
/// Not for signal handlers. What they commit between another's read and its commit, by the
/// same thread and generation, that one's commit overwrites; and an operation of a token
/// that was acquired before, in a handler that interrupted a section, clears that
/// section's flag: what another thread writes may then be lost. (An acquisition inside a
/// section is refused, [`Busy::Nested`], and [`release_all`](Self::release_all) there ends
/// nothing before the section has ended.)
pub struct Owner {
    /// The thread's pointer is the thread's.
    not_send: PhantomData<*mut ()>,
}

impl Owner {
    /// Registers the calling thread (or, where it is, gives another handle).
    ///
    /// Sets rlock up if nobody has. Three descriptors a thread, kept as long as the
    /// process; some ten microseconds. Unblocks the signal in the calling thread, where
    /// it must stay unblocked: who blocks it can be cancelled only strictly.
    pub fn register() -> Result<Self, Error> {
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
        let setup = setup::get_or_default()?;
        fork::check_sharing().map_err(|_| Error::OtherProcess)?;
        let record = record::claim(setup.config.first_generation)?.ok_or(Error::Exhausted)?;
        publish(record, setup);
        record.handles.store(1, Ordering::Relaxed);
        section::set_own(record);
        drop(blocked);
        signal::unblock();
        Ok(Self {
            not_send: PhantomData,
        })
    }

    /// The record of the calling thread, which is registered as long as there is a
    /// handle.
    #[inline(always)]
    fn record(&self) -> &'static Record {
        // SAFETY: set by `register` in this thread, which the handle cannot leave, to a
        // record, which is never unmapped; null again only without handles.
        unsafe { &*section::own() }
    }

    /// Acquires `lock`, if need be by cancelling its owner, once ([`Cancel::Try`]).
    ///
    /// Some loads when the thread owns it already. Otherwise a compare-and-swap, and what
    /// the cancellation costs. No order among those who want it: who tries first after
    /// it is free has it.
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
        let (record, ownership) = acquire_slowly(&lock.word, mode)?;
        Ok(Token::new(lock, record, ownership))
    }

    /// A lock that is the thread's, before anybody else sees it; and its token.
    pub(crate) fn born<'s: 't, 't, T>(
        &'t self,
        data: T,
        place: impl FnOnce(Lock<T>) -> Result<&'s Lock<T>, Busy>,
    ) -> Result<(&'s Lock<T>, Token<'t, T>), Busy> {
        let (record, mine) = ready()?;
        let lock = place(Lock {
            word: AtomicU64::new(mine.bits()),
            data,
        })?;
        if record.place.load(Ordering::Relaxed) == 0 {
            cancel::publish_place(record);
        }
        Ok((lock, Token::new(lock, record, mine)))
    }

    /// A token, if the thread owns the lock already. Two loads and a comparison.
    #[inline(always)]
    pub(crate) fn acquire_if_mine<'t, T>(&self, lock: &'t Lock<T>) -> Option<Token<'t, T>> {
        token_if_mine(self.record(), lock)
    }

    /// Of the calling thread, if it is registered: a token of the lock that was the
    /// `number`th hint, if the thread owns that. `home` is whose the lock is.
    #[inline(always)]
    pub(crate) fn hinted<'t, T: Send + Sync>(
        number: usize,
        _home: &'static crate::PerCpu<T>,
    ) -> Option<Token<'t, T>> {
        // SAFETY: null or a record's; and a hint is null or a lock in a static `home`,
        // which stays.
        unsafe {
            let record = section::own().as_ref()?;
            let lock = record.hints[number].load(Ordering::Relaxed);
            token_if_mine(record, lock.cast::<Lock<T>>().as_ref()?)
        }
    }

    /// Remembers a lock, of a static's instance.
    pub(crate) fn set_hint<T>(&self, number: usize, lock: &'static Lock<T>) {
        let lock = core::ptr::from_ref(lock).cast_mut().cast();
        self.record().hints[number].store(lock, Ordering::Relaxed);
    }

    /// Ends every ownership of the thread, at once: their tokens are revoked.
    ///
    /// One locked instruction.
    pub fn release_all(&self) {
        renew(self.record());
    }

    /// After a `siglongjmp` out of a signal handler, which may have interrupted a
    /// section that is now never left: without this, acquisitions fail with
    /// [`Busy::Nested`]. Ends every ownership of the thread, and unblocks the signal.
    ///
    /// # Safety
    ///
    /// The thread must not be inside a section: not be in a signal handler.
    pub unsafe fn forget_section(&self) {
        let record = self.record();
        record.shared.section.store(0, Ordering::Release);
        renew(record);
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

/// Enters the calling thread into its record: the thread and its files, before any lock
/// holds a generation of it.
pub(crate) fn publish(record: &Record, setup: &Setup) {
    let kernel = setup.config.kernel;
    let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    record
        .limit
        .store(setup.config.operations, Ordering::Relaxed);
    record
        .budget
        .store(setup.config.operations, Ordering::Relaxed);
    for file in File::ALL {
        // Without the file (no such file, no descriptor left) the thread can be
        // cancelled by the other proofs, or strictly.
        let opened = kernel.open(tid, file).ok();
        let inode = opened.as_ref().and_then(|fd| kernel.inode(fd.as_fd()));
        put(record, file, opened, kernel);
        record.inodes[file as usize].store(inode.unwrap_or(0), Ordering::Release);
    }
    record.place.store(0, Ordering::Relaxed);
    record.tid.store(tid, Ordering::Release);
}

/// Makes `fd` the record's `file`, under the number that the record has.
fn put(record: &Record, file: File, fd: Option<OwnedFd>, kernel: &dyn Kernel) {
    let number = &record.files[file as usize];
    let mut old = number.load(Ordering::Relaxed).abs() - 1;
    if old >= 0 {
        // SAFETY: asked about alone; whoever has it.
        let inode = kernel.inode(unsafe { BorrowedFd::borrow_raw(old) });
        if inode != Some(record.inodes[file as usize].load(Ordering::Relaxed)) {
            // Somebody closed it, and it may be anybody's now: it is forgotten.
            old = -1;
        }
    }
    match fd {
        // Kept for the next thread.
        None => number.store(-(old + 1), Ordering::Release),
        Some(fd) if old < 0 => number.store(fd.into_raw_fd() + 1, Ordering::Release),
        Some(fd) => {
            // SAFETY: the one is this function's, the other the record's, as was seen.
            let rc = unsafe { libc::dup3(fd.as_fd().as_raw_fd(), old, libc::O_CLOEXEC) };
            let kept = if rc < 0 { -(old + 1) } else { old + 1 };
            number.store(kept, Ordering::Release);
        }
    }
}

#[inline(always)]
fn token_if_mine<'t, T>(record: &'static Record, lock: &'t Lock<T>) -> Option<Token<'t, T>> {
    let mine = record.shared.state.load(Ordering::Relaxed);
    let nested = record.shared.section.load(Ordering::Relaxed) != 0;
    // A state with flags equals no lock's word.
    (lock.word.load(Ordering::Acquire) == mine && !nested)
        .then(|| Token::new(lock, record, Ownership::from_bits(mine)))
}

/// Calls `f` with the calling thread's own owner, which it gets at the first call and
/// keeps until it ends. `None` where it cannot have one, or has ended.
pub(crate) fn thread_owner<R>(f: impl FnOnce(&Owner) -> R) -> Option<R> {
    thread_local! {
        static OWNER: Option<Owner> = Owner::register().ok();
    }
    OWNER.try_with(|owner| owner.as_ref().map(f)).ok().flatten()
}

/// Begins the thread's next generation. In a handler on a section only asks for its end:
/// the section may still commit.
#[cold]
fn renew(record: &'static Record) {
    if record.shared.section.load(Ordering::Relaxed) != 0 {
        record.shared.state.fetch_or(CANCELLED, Ordering::SeqCst);
        return;
    }
    if record.shared.state.load(Ordering::Relaxed) & CANCELLED != 0 {
        // Somebody else ran here, or this thread elsewhere.
        record.place.store(0, Ordering::Relaxed);
    }
    record
        .budget
        .store(record.limit.load(Ordering::Relaxed), Ordering::Relaxed);
    protocol::advance(&record.shared);
}

/// The calling thread's record, and a generation of it with which it may acquire.
fn ready() -> Result<(&'static Record, Ownership), Busy> {
    fork::check_sharing()?;
    // SAFETY: the caller's thread is registered.
    let mut record: &'static Record = unsafe { &*section::own() };
    if record.shared.section.load(Ordering::Relaxed) != 0 {
        return Err(Busy::Nested);
    }
    // Somebody asked for the end of this generation, or the record is used up.
    if record.shared.state.load(Ordering::Relaxed) != record.ownership().bits() {
        if record.ownership().next().is_none() {
            record = replace(record)?;
        } else {
            renew(record);
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
    if evicted || record.place.load(Ordering::Relaxed) == 0 {
        cancel::publish_place(record);
    }
    Ok((record, mine))
}

/// After a token was refused: ends the generation that it is of, unless the thread has
/// gone on to another one already. Returns the budget of the next.
#[cold]
#[inline(never)]
pub(crate) fn revoked(record: &'static Record, ownership: Ownership) -> u32 {
    if record.ownership() == ownership {
        renew(record);
    }
    record.limit.load(Ordering::Relaxed)
}

/// A thread whose record is used up gets another one.
fn replace(old: &'static Record) -> Result<&'static Record, Busy> {
    let _blocked = signal::block_all();
    let setup = setup::get().ok_or(Busy::OtherProcess)?;
    let new = record::claim(setup.config.first_generation)
        .ok()
        .flatten()
        .ok_or(Busy::NoRecord)?;
    publish(new, setup);
    let handles = old.handles.load(Ordering::Relaxed);
    new.handles.store(handles, Ordering::Relaxed);
    section::set_own(new);
    old.give_back();
    Ok(new)
}
