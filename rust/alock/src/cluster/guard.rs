// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A lock that is held: its data, and its release.

use std::fmt;

use super::card::Wire;
use super::{Error, Reason};
#[cfg(feature = "baselines")]
use crate::baselines;
use crate::local::{Gone, Local};
use crate::lock::{release, Held};
use crate::ptr::{Cohort, Descriptor, LockPtr, WordPtr};
use crate::remote::{Remote, Verbs};
use crate::word::{Memory, Word};

/// A lock that is held. Released when it is dropped, also while a panic unwinds. There is no
/// poison: the next holder finds data that a panic left half changed. It stays with its thread
/// (neither `Send` nor `Sync`).
///
/// # Examples
/// ```no_run
/// # use alock::cluster::{Error, Thread};
/// /// Adds to the first word that the lock protects, wherever that lies.
/// fn add(thread: &Thread, key: u64, more: u64) -> Result<(), Error> {
///     let mut guard = thread.lock(key)?;
///     let value = guard.load(0)?;
///     guard.store(0, value.wrapping_add(more))?;
///     // A drop does the same, but its caller gets no error.
///     guard.unlock()
/// }
/// ```
#[must_use = "it is released at once otherwise"]
pub struct Guard<'t> {
    pub(super) wire: &'t Wire,
    pub(super) lock: LockPtr,
    pub(super) mine: Descriptor,
    /// `None` when it was released.
    pub(super) held: Option<Had>,
}

#[derive(Clone, Copy, Debug)]
pub(super) enum Had {
    ALock(Held),
    #[cfg(feature = "baselines")]
    Spin,
    #[cfg(feature = "baselines")]
    Mcs,
    #[cfg(feature = "baselines")]
    Nothing,
}

impl fmt::Debug for Guard<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Guard")
            .field("lock", &self.lock)
            .finish_non_exhaustive()
    }
}

impl<'t> Guard<'t> {
    fn at(&self, word: u32) -> Result<WordPtr, Error> {
        let geometry = &self.wire.table.geometry;
        let at = (word < geometry.words).then(|| geometry.data(self.lock, word));
        at.flatten().ok_or(Error::OutOfRange {
            what: "the word",
            is: word.into(),
            least: 0,
            most: u64::from(geometry.words) - 1,
        })
    }

    /// Reads a word of the data: a load, or a verb.
    ///
    /// # Errors
    /// [`Error::OutOfRange`] where there is no such word; [`Error::Link`] and [`Error::Nic`].
    pub fn load(&self, word: u32) -> Result<u64, Error> {
        let at = self.at(word)?;
        if self.wire.is_own(at) {
            return Ok(self.wire.table.word(at.offset()).load_acquire());
        }
        self.wire.finish(self.wire.get(at))
    }

    /// Writes a word of the data: a store, or a verb that is complete afterwards. It is in the
    /// memory before the next holder loads it; until the unlock it need not be.
    ///
    /// # Errors
    /// The errors of [`Guard::load`].
    pub fn store(&mut self, word: u32, value: u64) -> Result<(), Error> {
        let at = self.at(word)?;
        if self.wire.is_own(at) {
            self.wire.table.word(at.offset()).store_release(value);
            return Ok(());
        }
        self.wire.finish(self.wire.write(at, value))
    }

    /// Releases the lock: one RMW where it is local, one verb where not. A waiter costs a store
    /// or a verb more. A drop does the same. Where a drop fails, all nodes are told that this
    /// node is lost, since no caller gets the error.
    ///
    /// If a thread has joined the queue behind, this waits until that thread has linked itself.
    /// It does so in the call in which it joined, whatever it does after it. [`Thread::post`]
    /// joins, too.
    ///
    /// [`Thread::post`]: super::Thread::post
    ///
    /// # Errors
    /// [`Error::Link`], [`Error::Lost`] and [`Error::Nic`]. The lock may then never be granted
    /// again.
    pub fn unlock(mut self) -> Result<(), Error> {
        self.release()
    }

    fn release(&mut self) -> Result<(), Error> {
        let Some(held) = self.held.take() else {
            return Ok(());
        };
        let (wire, lock, mine) = (self.wire, self.lock, self.mine);
        let it = &*wire.table;
        match held {
            Had::ALock(held) if lock.cohort(wire.rank()) == Cohort::Local => {
                let released = wire.finish(release(&Local::new(it), lock, mine, held));
                released.map_err(|Gone| wire.gone())?;
            }
            Had::ALock(held) => wire.finish(release(&Remote::new(wire), lock, mine, held))?,
            #[cfg(feature = "baselines")]
            Had::Spin => {
                wire.finish(baselines::spin_unlock(wire, lock.tail(Cohort::Remote)))?;
            }
            #[cfg(feature = "baselines")]
            Had::Mcs => wire.finish(baselines::mcs_unlock(wire, lock, mine))?,
            #[cfg(feature = "baselines")]
            Had::Nothing => {}
        }
        wire.give_back(mine, lock);
        Ok(())
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        if self.release().is_err() {
            // No caller gets the error: all nodes are to know.
            let rendezvous = &self.wire.table.rendezvous;
            rendezvous.report(rendezvous.rank(), Reason::Failed);
        }
    }
}
