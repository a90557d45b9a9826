// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The words of a node's memory, as its own CPUs access them. Every ordering and every barrier of
//! the CPUs' side is written here, once. The crate has it for `core`'s atomics. Loom searches it
//! with its own, in `tests/loom`.

use crate::ptr::{Ptr, WordPtr};

/// An eight-byte word whose methods' names carry the ordering. Threads of the node access
/// it so; its network card also writes and reads it.
pub trait Word {
    /// A load.
    fn load_acquire(&self) -> u64;
    /// A store before which nothing else is published.
    fn store_relaxed(&self, value: u64);
    /// A store.
    fn store_release(&self, value: u64);
    /// `xchg`; acquire and release.
    fn swap(&self, new: u64) -> u64;
    /// `cmpxchg`; release if it succeeds, relaxed if not. What was there.
    fn cmpxchg(&self, old: u64, new: u64) -> u64;

    /// A full barrier.
    fn smp_mb();

    /// A full barrier after a [`Word::swap`] or a [`Word::cmpxchg`] that succeeded. It is for the
    /// compiler alone where these are full barriers, as x86's locked instructions are.
    fn smp_mb_after_rmw();
}

/// [`Word`] for a type, by atomics. Behind the type come the way from the word to its atomic, and
/// the atomics' module. The last argument says whether an RMW is a full barrier on this machine.
#[doc(hidden)]
#[macro_export]
macro_rules! word_by_atomics {
    ($type:ty, |$word:ident| $atomic:expr, $($atomics:ident)::+, $rmw_is_barrier:expr) => {
        impl $crate::word::Word for $type {
            #[inline]
            fn load_acquire(&self) -> u64 {
                let $word = self;
                $atomic.load(::core::sync::atomic::Ordering::Acquire)
            }

            #[inline]
            fn store_relaxed(&self, value: u64) {
                let $word = self;
                $atomic.store(value, ::core::sync::atomic::Ordering::Relaxed);
            }

            #[inline]
            fn store_release(&self, value: u64) {
                let $word = self;
                $atomic.store(value, ::core::sync::atomic::Ordering::Release);
            }

            #[inline]
            fn swap(&self, new: u64) -> u64 {
                let $word = self;
                $atomic.swap(new, ::core::sync::atomic::Ordering::AcqRel)
            }

            #[inline]
            fn cmpxchg(&self, old: u64, new: u64) -> u64 {
                use ::core::sync::atomic::Ordering::{Relaxed, Release};
                let $word = self;
                match $atomic.compare_exchange(old, new, Release, Relaxed) {
                    Ok(found) | Err(found) => found,
                }
            }

            #[inline]
            fn smp_mb() {
                $($atomics)::+::fence(::core::sync::atomic::Ordering::SeqCst);
            }

            #[inline]
            fn smp_mb_after_rmw() {
                use ::core::sync::atomic::Ordering::SeqCst;
                if $rmw_is_barrier {
                    ::core::sync::atomic::compiler_fence(SeqCst);
                } else {
                    $($atomics)::+::fence(SeqCst);
                }
            }
        }
    };
}

// x86: `xchg` and `lock cmpxchg` order all loads and stores before them with all after them.
word_by_atomics!(
    core::sync::atomic::AtomicU64,
    |word| word,
    core::sync::atomic,
    cfg!(target_arch = "x86_64")
);

/// A node's memory, as its own threads see it.
pub trait Memory {
    /// Its words.
    type Word: Word;

    /// The word at `offset` bytes.
    ///
    /// # Panics
    /// Panics where there is none. A pointer of this node that leads out of its memory is a
    /// mistake of this crate.
    fn word(&self, offset: u64) -> &Self::Word;

    /// See [`Access::is_there`](crate::access::Access::is_there). The line must be of this node,
    /// since only threads of this node join locally. By default every line may be a descriptor's.
    fn is_there(&self, line: Ptr) -> bool {
        let _ = line;
        true
    }

    /// See [`Access::overwritten`](crate::access::Access::overwritten). By default no other node
    /// is told.
    fn overwritten(&self) {}

    /// Lets time pass after the poll number `turn` (from 0) that found nothing. False when
    /// there is nothing to wait for any more.
    fn pause(&self, turn: u32) -> bool;

    /// Reads a word of an own descriptor, in either cohort. Acquire: pairs with
    /// [`Memory::tell`], or with the card's write.
    fn own(&self, at: WordPtr) -> u64 {
        self.word(at.offset()).load_acquire()
    }

    /// Writes a word of a descriptor of this node, in either cohort. Release.
    fn tell(&self, to: WordPtr, value: u64) {
        self.word(to.offset()).store_release(value);
    }

    /// Writes a word of an own descriptor that no other thread knows, in either cohort.
    fn prepare(&self, at: WordPtr, value: u64) {
        self.word(at.offset()).store_relaxed(value);
    }
}
