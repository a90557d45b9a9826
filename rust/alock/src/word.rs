//! The words of a node's memory, as its own CPUs access them.

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
    /// `cmpxchg` with acquire and release if it succeeds, relaxed if not. Whether it did.
    fn cmpxchg(&self, old: u64, new: u64) -> bool;
}

impl Word for core::sync::atomic::AtomicU64 {
    fn load_acquire(&self) -> u64 {
        self.load(core::sync::atomic::Ordering::Acquire)
    }

    fn store_relaxed(&self, value: u64) {
        self.store(value, core::sync::atomic::Ordering::Relaxed);
    }

    fn store_release(&self, value: u64) {
        self.store(value, core::sync::atomic::Ordering::Release);
    }

    fn swap(&self, new: u64) -> u64 {
        self.swap(new, core::sync::atomic::Ordering::AcqRel)
    }

    fn cmpxchg(&self, old: u64, new: u64) -> bool {
        use core::sync::atomic::Ordering::{AcqRel, Relaxed};
        self.compare_exchange(old, new, AcqRel, Relaxed).is_ok()
    }
}

/// A node's memory, as its own threads see it.
pub trait Memory {
    /// Its words.
    type Word: Word;

    /// The word at `offset` bytes.
    ///
    /// # Panics
    /// Where there is none: a pointer of this node that leads out of its memory is a mistake
    /// of this crate.
    fn word(&self, offset: u64) -> &Self::Word;

    /// A full barrier.
    fn smp_mb(&self);

    /// A full barrier after a [`Word::swap`] or a [`Word::cmpxchg`] that succeeded; nothing
    /// where these are full barriers, as x86's locked instructions are.
    fn smp_mb_after_rmw(&self);

    /// Lets time pass after the look number `turn` (from 0) that found nothing. False when
    /// there is nothing to wait for any more.
    fn pause(&self, turn: u32) -> bool;
}
