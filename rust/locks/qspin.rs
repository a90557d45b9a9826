// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The algorithm of the kernel's qspinlock, for models and simulators.

use super::{
    node::{wait_without_node, NONE},
    Awaited, Make, Nodes, RawLock, Word,
};

/// A queued spinlock: MCS whose head waits on the lock's word, and a place for one waiter before the
/// queue.
///
/// | bits | what |
/// |---|---|
/// | 0 | locked |
/// | 8 | pending: a thread without a node is next |
/// | 16 to 31 | tail: the queue's last node, or 0 |
///
/// The kernel's lock on most machines writes bytes and half-words of the word. It does so here in a world that can
/// ([`Word::swap_acq_rel_part`], [`Word::store_release_part`]). In any other all accesses have 32 bits. Here a thread
/// becomes pending by a cmpxchg. The kernel sets the bit first, and may have to clear it again. A node is given back
/// before `lock` returns. The token is 0.
///
/// # Promises
///
/// Exclusion. FIFO admission from the step on that sets `pending` or the tail. The first is a cmpxchg, and the second
/// too where a part cannot be swapped. Other threads may make it fail without bound. The kernel's cannot fail.
/// `try_lock` and a thread without a node enter whenever the word is 0.
///
/// # Cost
///
/// Uncontended: one locked read-modify-write to acquire. One to release, or a store of a byte.
///
/// # Source
///
/// Long and Zijlstra, the kernel's `kernel/locking/qspinlock.c`: the algorithm, not the text.
///
/// # Examples
///
/// ```
/// # mod process { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/process/world.rs")); }
/// # use process::{Cell, Process};
/// use handover_locks::{Qspin, RawLock};
///
/// let world = Process::new();
/// let lock = Qspin::new(Cell::new(0));
/// let token = lock.lock(&world);
/// assert!(lock.try_lock(&world).is_none());
/// lock.unlock(&world, token);
/// ```
#[repr(transparent)]
pub struct Qspin<C> {
    word: C,
}

const FREE: u32 = 0;
const LOCKED: u32 = 1;
const PENDING: u32 = 1 << 8;
const TAIL_SHIFT: u32 = 16;
const TAIL: u32 = u32::MAX << TAIL_SHIFT;

/// What a node's flag says to the thread that waits on it: it is the queue's head.
const HEAD: u32 = 1;

impl<C> Qspin<C> {
    /// A lock over a word that holds 0: free.
    pub const fn new(word: C) -> Self {
        Self { word }
    }
}

impl<C: Word> Qspin<C> {
    /// Takes the word from `FREE`. Acquire, pairs with the release in `unlock`.
    #[inline(always)]
    fn take(&self) -> bool {
        self.word.cmpxchg_acquire(FREE, LOCKED)
    }

    #[cold]
    fn wait<W: Nodes<Word = C>>(&self, world: &W) {
        world.while_contended(self, || {
            if !self.lock_pending() {
                self.lock_queued(world);
            }
        });
    }

    /// Acquires as the one thread that waits without a node, or says that another thread waits.
    fn lock_pending(&self) -> bool {
        loop {
            match self.word.load_relaxed() {
                FREE => {
                    if self.take() {
                        return true;
                    }
                }
                LOCKED => {
                    if self.word.cmpxchg_relaxed(LOCKED, LOCKED | PENDING) {
                        break;
                    }
                }
                _ => return false,
            }
        }
        // Acquire, pairs with the release in `unlock`. None but this thread takes the word meanwhile.
        self.word.wait_acquire(Awaited::bits(LOCKED, 0));
        self.word.store_relaxed_part(PENDING, LOCKED);
        true
    }

    fn lock_queued<W: Nodes<Word = C>>(&self, world: &W) {
        let Some(me) = world.take() else {
            if self.try_lock(world).is_none() {
                wait_without_node(self, &self.word, world);
            }
            return;
        };
        let node = world.node(me);
        node.next.store_relaxed(NONE);
        node.flag.store_relaxed(0);
        let before = self.swap_tail(me);
        if before != NONE {
            // Release, pairs with the acquire below: the flag is cleared before it is set.
            world.node(before).next.store_release(me);
            // Acquire, pairs with the release below.
            node.flag.wait_acquire(Awaited::is(HEAD));
        }
        // Acquire, pairs with the release in `unlock`.
        let word = self.word.wait_acquire(Awaited::bits(LOCKED | PENDING, 0));
        if word >> TAIL_SHIFT != me || !self.word.cmpxchg_relaxed(word, LOCKED) {
            self.word.store_relaxed_part(FREE, LOCKED);
            let next = node.next.wait_acquire(Awaited::not(NONE));
            world.node(next).flag.store_release(HEAD);
        }
        world.put(me);
    }

    /// Makes `node` the last of the queue, and returns the one that was.
    ///
    /// Release, pairs with the next thread's acquire of the tail: that thread links itself after
    /// `next` was cleared.
    fn swap_tail(&self, node: u32) -> u32 {
        self.word.swap_acq_rel_part(TAIL, node << TAIL_SHIFT) >> TAIL_SHIFT
    }
}

impl<C> Make<C> for Qspin<C> {
    fn make(_: u32, mut word: impl FnMut(u32) -> C) -> Self {
        Self::new(word(FREE))
    }
}

impl<W: Nodes> RawLock<W> for Qspin<W::Word> {
    const EXCLUDES: bool = true;
    const FIFO: bool = true;
    const TICKET_BITS: u32 = 0;

    #[inline(always)]
    fn lock(&self, world: &W) -> u32 {
        if !self.take() {
            self.wait(world);
        }
        0
    }

    #[inline(always)]
    fn try_lock(&self, _: &W) -> Option<u32> {
        // A look first: a failing cmpxchg would take the line from the owner.
        (self.word.load_relaxed() == FREE && self.take()).then_some(0)
    }

    /// Release, pairs with the acquires in `take`, `lock_pending` and `lock_queued`.
    #[inline(always)]
    fn unlock(&self, _: &W, _: u32) {
        self.word.store_release_part(LOCKED, FREE);
    }

    #[inline(always)]
    fn is_locked(&self) -> bool {
        self.word.load_relaxed() & LOCKED != 0
    }
}
