// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What a world gives to a lock.

/// What a waiter waits for: a condition on a word's value.
///
/// A value and no closure, so that a world can park a waiter by the value that it awaits.
///
/// # Examples
///
/// ```
/// use handover_locks::Awaited;
///
/// assert!(Awaited::is(7).holds(7) && !Awaited::is(7).holds(8));
/// assert!(Awaited::not(7).holds(8) && !Awaited::not(7).holds(7));
/// // The low half alone decides.
/// assert!(Awaited::bits(0xffff, 7).holds(0x1_0007));
/// // Who awaits 7 need not look at what ends in another digit.
/// assert_eq!(Awaited::is(0x17).fixed(0xf), Some(7));
/// assert_eq!(Awaited::not(0x17).fixed(0xf), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Awaited {
    mask: u32,
    value: u32,
    is_equal: bool,
}

impl Awaited {
    /// The word has this value.
    #[inline(always)]
    pub const fn is(value: u32) -> Self {
        Self::bits(u32::MAX, value)
    }

    /// The word has another value than this.
    #[inline(always)]
    pub const fn not(value: u32) -> Self {
        Self {
            is_equal: false,
            ..Self::is(value)
        }
    }

    /// The bits of `mask` are those of `value`, whatever the others are. `value` has no other bits.
    #[inline(always)]
    pub const fn bits(mask: u32, value: u32) -> Self {
        Self {
            mask,
            value,
            is_equal: true,
        }
    }

    /// What the bits of `mask` are in a word that is as awaited, if they can be nothing else.
    ///
    /// A world that parks wakes by it: who awaits other bits than a word has now need not look.
    #[inline(always)]
    pub const fn fixed(self, mask: u32) -> Option<u32> {
        if self.is_equal && self.mask & mask == mask {
            Some(self.value & mask)
        } else {
            None
        }
    }

    /// Whether a word that holds `now` is as awaited.
    #[inline(always)]
    pub const fn holds(self, now: u32) -> bool {
        (now & self.mask == self.value) == self.is_equal
    }
}

/// A 32-bit cell shared between CPUs.
///
/// The names carry the ordering, in the sense of C11 and of the kernel's memory model alike.
/// *Acquire* is `smp_load_acquire()` or an `_acquire` atomic. *Release* is `smp_store_release()` or
/// a `_release` atomic. *Relaxed* is `READ_ONCE()` or a `_relaxed` atomic. Nothing here is a full
/// barrier.
///
/// Every access has all 32 bits, but for a world's own way to write a part. Arithmetic wraps.
///
/// # Examples
///
/// ```
/// # mod process { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/process/world.rs")); }
/// # use process::{Cell, Process};
/// use handover_locks::{Awaited, Word};
///
/// let word = Cell::new(u32::MAX);
/// assert_eq!(word.fetch_add_relaxed(1), u32::MAX);
/// assert!(word.cmpxchg_relaxed(0, 5));
/// assert_eq!(word.wait_acquire(Awaited::is(5)), 5);
/// assert_eq!(word.swap_acq_rel_part(0xff00, 0x0300), 5);
/// word.store_release_part(5, 2);
/// assert_eq!(word.load_relaxed(), 0x0302);
/// ```
pub trait Word {
    /// Reads. Orders nothing.
    fn load_relaxed(&self) -> u32;

    /// Reads. What follows in program order stays after it.
    fn load_acquire(&self) -> u32;

    /// Writes. Orders nothing.
    fn store_relaxed(&self, value: u32);

    /// Writes. What precedes in program order stays before it.
    fn store_release(&self, value: u32);

    /// Writes in one atomic step and returns the value before. What precedes stays before it, and what
    /// follows after it.
    fn swap_acq_rel(&self, value: u32) -> u32;

    /// Adds in one atomic step and returns the value before. Orders nothing.
    fn fetch_add_relaxed(&self, value: u32) -> u32;

    /// The same. What follows stays after it.
    fn fetch_add_acquire(&self, value: u32) -> u32;

    /// The same. What precedes stays before it.
    fn fetch_add_release(&self, value: u32) -> u32;

    /// Adds one in one atomic step. What precedes stays before it.
    ///
    /// The step must be a RMW, not a load and a store, for two reasons. No increment may be lost.
    /// And an acquire that reads a later thread's increment must see what preceded this one. Only
    /// RMWs continue a release sequence: C11's 5.1.2.4, and `rmw-sequence` of the kernel's model.
    fn inc_release(&self);

    /// Writes `new` if the value is `old`, in one atomic step, and says whether
    /// it did. Orders nothing.
    fn cmpxchg_relaxed(&self, old: u32, new: u32) -> bool;

    /// The same. What follows a write stays after it.
    fn cmpxchg_acquire(&self, old: u32, new: u32) -> bool;

    /// The same. What precedes a write stays before it.
    fn cmpxchg_release(&self, old: u32, new: u32) -> bool;

    /// Writes `value` to the bits of `mask` in one atomic step, and returns the value before. What precedes stays
    /// before it, and what follows after it. `value` has no other bits.
    ///
    /// A cmpxchg that is tried again until none comes between. It releases, and a load after it acquires: that one
    /// reads the cmpxchg's value or a later one. A world whose machine swaps a part of a word gives its own, as the
    /// kernel swaps a half. Mixed sizes are nothing that Rust's atomics promise.
    #[inline(always)]
    fn swap_acq_rel_part(&self, mask: u32, value: u32) -> u32 {
        loop {
            let before = self.load_relaxed();
            if self.cmpxchg_release(before, (before & !mask) | value) {
                self.load_acquire();
                return before;
            }
        }
    }

    /// The bits of `old`, which are set, become those of `new`. Orders nothing.
    ///
    /// No other CPU changes the bytes of `old` and `new` meanwhile. It may change the others. So a world whose machine
    /// stores a part of a word may store. The default adds, which is a RMW.
    #[inline(always)]
    fn store_relaxed_part(&self, old: u32, new: u32) {
        self.fetch_add_relaxed(new.wrapping_sub(old));
    }

    /// The same. What precedes stays before it.
    #[inline(always)]
    fn store_release_part(&self, old: u32, new: u32) {
        self.fetch_add_release(new.wrapping_sub(old));
    }

    /// Waits until the value is as `awaited` and returns it, read with acquire.
    ///
    /// Waiting is a primitive, like `smp_cond_load_acquire()`. A kernel spins with `cpu_relax()`. A
    /// model checker blocks or yields. A process may park. It need not see every value the word
    /// takes.
    fn wait_acquire(&self, awaited: Awaited) -> u32;
}

/// What a lock needs from its surroundings besides its own words.
///
/// # Examples
///
/// ```
/// # mod process { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/process/world.rs")); }
/// # use process::{Cell, Process};
/// use handover_locks::{Word, World, WAIT_ARRAY_SLOTS};
///
/// let world = Process::new();
/// let slot = world.slot(WAIT_ARRAY_SLOTS - 1);
/// slot.inc_release();
/// assert_eq!(slot.load_acquire(), 1);
/// ```
pub trait World {
    /// The cell.
    type Word: Word;

    /// The most threads that want one lock at a time, where the world bounds them.
    ///
    /// A lock with room for fewer checks each thread that comes, and ends the program when its room is
    /// full. With a bound that fits it checks nothing.
    const MOST_CONTENDERS: u32 = u32::MAX;

    /// The waiting array's slot `index`, which is less than
    /// [`WAIT_ARRAY_SLOTS`](super::WAIT_ARRAY_SLOTS).
    ///
    /// A world has one array for all its locks. It may give several indices the
    /// same cell: a collision costs a waiter a look at its grant, nothing else.
    fn slot(&self, index: u32) -> &Self::Word;

    /// What keeps locks apart in the waiting array: a lock's address, unless the world numbers its
    /// locks.
    ///
    /// Whatever it returns, it must return the same for a lock as long as a thread wants it.
    #[inline(always)]
    fn key<L>(&self, lock: &L) -> u32 {
        core::ptr::from_ref(lock) as usize as u32
    }

    /// A moment's pause of a thread that looks again soon: `cpu_relax()`. It orders nothing.
    fn pause(&self);

    /// Runs `wait`, in which a thread waits for `lock`. A world that tells of contention does so before and
    /// after.
    ///
    /// A `lock` that finds its lock taken calls this once, with all its waiting in `wait`. The thread owns
    /// the lock when `wait` returns. No other operation calls this. Nothing is ordered by it.
    #[inline(always)]
    fn while_contended<L, T>(&self, _lock: &L, wait: impl FnOnce() -> T) -> T {
        wait()
    }

    /// Ends the program: more threads want a lock than it has room for.
    fn overcrowded(&self) -> ! {
        /// A panic that cannot unwind aborts. Until the program has ended, threads that come may be admitted.
        extern "C" fn abort() -> ! {
            panic!("more threads want a lock than it has tickets");
        }
        abort()
    }
}
