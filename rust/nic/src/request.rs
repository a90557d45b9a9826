// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! An operation before it is posted, and after.

use crate::ring::MAX_WORDS;
use crate::verbs::Verb;
use crate::{Error, RemoteWord, Writes};

/// An operation on a word of the peer's memory, for [`post_list`](crate::QueuePair::post_list).
///
/// # Examples
/// Data are written, and the word that guards them is cleared, with one doorbell.
/// ```no_run
/// use nic::{Error, QueuePair, RemoteWord, WorkRequest};
///
/// fn write_and_clear(queue: &mut QueuePair, guard: RemoteWord, data: u64) -> Result<bool, Error> {
///     let write = WorkRequest::write(guard.at(8), data);
///     let clear = WorkRequest::cas(guard, 1, 0);
///     queue.post_list(100, &[write, clear])?;
///     // The last request alone completes: it has the word as it was.
///     Ok(queue.wait()?.value() == 1)
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkRequest {
    pub(crate) remote: RemoteWord,
    kind: Kind,
    pub(crate) fence: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Cas { old: u64, new: u64 },
    Read { words: usize },
    Write { value: u64 },
}

impl WorkRequest {
    /// Compare-and-swap: `new` if the word is `old`. Its result is the word as it was.
    ///
    /// Atomic with others through the same device; not with remote writes, nor with the CPU's
    /// stores and read-modify-writes. One that fails writes nothing.
    #[must_use]
    #[inline]
    pub fn cas(remote: RemoteWord, old: u64, new: u64) -> WorkRequest {
        WorkRequest::new(remote, Kind::Cas { old, new })
    }

    /// Reads `words` words, 1 to [`MAX_WORDS`]. Soft-RoCE copies bytes: a word read while
    /// it changes may come torn there.
    #[must_use]
    #[inline]
    pub fn read(remote: RemoteWord, words: usize) -> WorkRequest {
        WorkRequest::new(remote, Kind::Read { words })
    }

    /// Writes a word so that no reader there sees a part of it ([`Writes`]). It has no result.
    ///
    /// Once it completes, the peer's card has it. A later read or compare-and-swap of this queue
    /// pair finds it in the memory. Until then the peer's CPU, or another queue pair, may find the
    /// old word.
    #[must_use]
    #[inline]
    pub fn write(remote: RemoteWord, value: u64) -> WorkRequest {
        WorkRequest::new(remote, Kind::Write { value })
    }

    /// The same, sent only once the reads and compare-and-swaps before it on this queue
    /// pair have their answers (`IBV_SEND_FENCE`). Without a fence InfiniBand keeps no order
    /// between those and a write or compare-and-swap behind them.
    #[must_use]
    #[inline]
    pub fn fenced(mut self) -> WorkRequest {
        self.fence = true;
        self
    }

    #[inline]
    fn new(remote: RemoteWord, kind: Kind) -> WorkRequest {
        WorkRequest {
            remote,
            kind,
            fence: false,
        }
    }

    #[inline]
    pub(crate) fn check(&self) -> Result<(), Error> {
        if self.remote.addr % 8 != 0 {
            return Err(Error::Unaligned(self.remote.addr));
        }
        match self.kind {
            Kind::Read { words } if words == 0 || words > MAX_WORDS => Err(Error::Words(words)),
            _ => Ok(()),
        }
    }

    #[inline]
    pub(crate) fn words(&self) -> usize {
        match self.kind {
            Kind::Cas { .. } => 1,
            Kind::Read { words } => words,
            Kind::Write { .. } => 0,
        }
    }

    #[inline]
    pub(crate) fn verb(&self, writes: Writes) -> Verb {
        match (self.kind, writes) {
            (Kind::Cas { old, new }, _) => Verb::Cas { old, new },
            (Kind::Read { words }, _) => Verb::Read { words },
            (Kind::Write { value }, Writes::Atomic) => Verb::AtomicWrite { value },
            (Kind::Write { value }, Writes::Plain) => Verb::PlainWrite { value },
        }
    }
}

/// An operation that succeeded.
///
/// # Examples
/// ```no_run
/// use nic::{Completion, Error, QueuePair, RemoteWord};
///
/// fn two_words(queue: &mut QueuePair, from: RemoteWord) -> Result<[u64; 2], Error> {
///     queue.post_read(5, from, 2)?;
///     let read: Completion = queue.wait()?;
///     assert_eq!(read.id, 5);
///     assert_eq!(read.value(), read.values()[0]);
///     Ok([read.values()[0], read.values()[1]])
/// }
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Completion {
    /// The number with which it was posted.
    pub id: u64,
    words: [u64; MAX_WORDS],
    len: usize,
}

impl Completion {
    /// One of `len` words, at most [`MAX_WORDS`], that `word` says.
    pub(crate) fn new(id: u64, len: usize, word: impl Fn(usize) -> u64) -> Completion {
        let mut words = [0; MAX_WORDS];
        for (i, to) in words[..len].iter_mut().enumerate() {
            *to = word(i);
        }
        Completion { id, words, len }
    }

    /// The words that came: one of a compare-and-swap, none of a write.
    #[must_use]
    #[inline]
    pub fn values(&self) -> &[u64] {
        &self.words[..self.len]
    }

    /// The first of the words; 0 where none came.
    #[must_use]
    #[inline]
    pub fn value(&self) -> u64 {
        self.words[0]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REMOTE: RemoteWord = RemoteWord {
        addr: 4096,
        rkey: 1,
    };

    #[test]
    fn what_no_device_takes_is_refused_before() {
        assert!(matches!(
            WorkRequest::read(REMOTE, 0).check(),
            Err(Error::Words(0))
        ));
        assert!(matches!(
            WorkRequest::read(REMOTE, 9).check(),
            Err(Error::Words(9))
        ));
        assert!(WorkRequest::read(REMOTE, 8).check().is_ok());
        for request in [
            WorkRequest::cas(REMOTE.at(4), 0, 1),
            WorkRequest::read(REMOTE.at(4), 1),
            WorkRequest::write(REMOTE.at(4), 1),
        ] {
            assert!(matches!(request.check(), Err(Error::Unaligned(4100))));
        }
    }

    #[test]
    fn a_write_is_the_verb_that_the_memory_takes() {
        let write = WorkRequest::write(REMOTE, 7);
        assert!(matches!(
            write.verb(Writes::Atomic),
            Verb::AtomicWrite { value: 7 }
        ));
        assert!(matches!(
            write.verb(Writes::Plain),
            Verb::PlainWrite { value: 7 }
        ));
        assert!(matches!(
            WorkRequest::read(REMOTE, 2).verb(Writes::Plain),
            Verb::Read { words: 2 }
        ));
    }

    #[test]
    fn a_completion_has_as_many_values_as_came() {
        let read = Completion::new(5, 2, |i| 10 + i as u64);
        assert_eq!(
            (read.id, read.value(), read.values()),
            (5, 10, &[10, 11][..])
        );
        let write = Completion::new(6, 0, |_| 9);
        assert_eq!((write.value(), write.values()), (0, &[][..]));
    }

    #[test]
    fn a_fence_is_asked_for() {
        assert!(!WorkRequest::cas(REMOTE, 0, 1).fence);
        assert!(WorkRequest::cas(REMOTE, 0, 1).fenced().fence);
    }
}
