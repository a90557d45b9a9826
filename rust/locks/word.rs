// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What a world gives to a lock.

/// A 32-bit cell shared between CPUs.
///
/// The names carry the ordering, in the sense of C11 and of the kernel's memory model alike.
/// *Acquire* is `smp_load_acquire()`. *Release* is `smp_store_release()` or a `_release` atomic.
/// *Relaxed* is `READ_ONCE()` or a `_relaxed` atomic. Nothing here is a full barrier.
///
/// Arithmetic wraps.
///
/// # Examples
///
/// ```
/// # mod process { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/process/world.rs")); }
/// # use process::{Cell, Process};
/// use handover_locks::Word;
///
/// let word = Cell::new(u32::MAX);
/// assert_eq!(word.fetch_inc_relaxed(), u32::MAX);
/// assert!(word.cmpxchg_relaxed(0, 5));
/// assert_eq!(word.wait_acquire(|value| value == 5), 5);
/// ```
pub trait Word {
    /// Reads. Orders nothing.
    fn load_relaxed(&self) -> u32;

    /// Reads. What follows in program order stays after it.
    fn load_acquire(&self) -> u32;

    /// Writes. What precedes in program order stays before it.
    fn store_release(&self, value: u32);

    /// Adds one in one atomic step and returns the value before. Orders nothing.
    fn fetch_inc_relaxed(&self) -> u32;

    /// Adds one in one atomic step. What precedes stays before it.
    ///
    /// The step must be a RMW, not a load and a store, for two reasons. No increment may be lost.
    /// And an acquire that reads a later thread's increment must see what preceded this one. Only
    /// RMWs continue a release sequence: C11's 5.1.2.4, and `rmw-sequence` of the kernel's model.
    fn inc_release(&self);

    /// Writes `new` if the value is `old`, in one atomic step, and says whether
    /// it did. Orders nothing.
    fn cmpxchg_relaxed(&self, old: u32, new: u32) -> bool;

    /// Waits until `done(value)` and returns that value, read with acquire.
    ///
    /// Waiting is a primitive, like `smp_cond_load_acquire()`: a kernel spins
    /// with `cpu_relax()`, a model checker blocks or yields. `done` must depend
    /// on its argument alone. It need not see every value the word takes.
    fn wait_acquire(&self, done: impl FnMut(u32) -> bool) -> u32;
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

    /// The waiting array's slot `index`, which is less than
    /// [`WAIT_ARRAY_SLOTS`](super::WAIT_ARRAY_SLOTS).
    ///
    /// A world has one array for all its locks. It may give several indices the
    /// same cell: a collision costs a waiter a look at its grant, nothing else.
    fn slot(&self, index: u32) -> &Self::Word;
}
