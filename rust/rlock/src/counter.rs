// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Counters: many in one per-CPU block.

use core::fmt;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use crate::lock::Slot;
use crate::percpu::PerCpu;
use crate::record::HINTS;
use crate::thread_owner;

/// How many counters a block has: with its lock and links it is a page.
const PER_BLOCK: usize = 500;
/// How many blocks there can be.
const BLOCKS: usize = HINTS;
/// How many bits of a counter's number say its place in its block. The bits above them say the
/// block, so that an addition needs no division.
const PLACE_BITS: u32 = PER_BLOCK.next_power_of_two().trailing_zeros();
const _: () = assert!((BLOCKS << PLACE_BITS) < NONE as usize);

struct Block {
    counts: [Slot; PER_BLOCK],
}

/// Made in place: a handler may need a block, and its stack may be small.
const fn blocks() -> PerCpu<Block> {
    // SAFETY: zeroes are a block, of slots that hold 0.
    unsafe { PerCpu::of_zeroes() }
}

static SETS: [PerCpu<Block>; BLOCKS] = [const { blocks() }; BLOCKS];
/// How many counters have a place.
static PLACED: AtomicU32 = AtomicU32::new(0);

/// A counter: [`add`](Self::add) costs no locked instruction, [`sum`](Self::sum) is
/// exact without a flush.
///
/// Sixteen bytes, and eight for each instance of its block: one page for 500 counters, a CPU at a
/// time. A counter's slot in the block is its own for ever, so counters are meant for statics.
/// After some 16,000 of them a counter is a single atomic word, with the same sums. So it is where
/// rlock cannot be used.
///
/// # Examples
///
/// ```
/// use rlock::Counter;
///
/// static REQUESTS: Counter = Counter::new();
///
/// REQUESTS.add(2);
/// REQUESTS.add(1);
/// assert_eq!(REQUESTS.sum(), 3);
/// ```
pub struct Counter {
    /// What [`number_of`] makes of its place; 0 before its first use, [`NONE`] without a slot.
    number: AtomicU32,
    /// What could not be counted in a block. That is so in a signal handler on a section, and in a
    /// thread that is ending. It is also so where rlock cannot be used.
    rest: AtomicU64,
}

const NONE: u32 = u32::MAX;

impl Counter {
    /// Makes a counter at zero.
    pub const fn new() -> Self {
        Self {
            number: AtomicU32::new(0),
            rest: AtomicU64::new(0),
        }
    }

    /// Adds `n`, wrapping. Never fails, and never hangs. A process's first addition sets rlock up
    /// by [`init`](crate::init). That takes some milliseconds, and at most some seconds. In a
    /// signal handler only if its thread has added to a counter before: a thread's first addition
    /// registers it.
    ///
    /// Some ten plain instructions more than a commit when the thread has the block
    /// already.
    #[inline]
    pub fn add(&self, n: u64) {
        let number = self.number.load(Ordering::Relaxed);
        if let Some((set, index)) = index_of(number) {
            // The owner of a block goes on with it, wherever it runs: until another thread
            // wants it.
            if let Some(mut token) = SETS[set].hinted(set) {
                if token.add(|block| &block.counts[index], n).is_ok() {
                    return;
                }
            }
        }
        self.add_slowly(n);
    }

    #[cold]
    fn add_slowly(&self, n: u64) {
        if !self.add_to_block(n) {
            self.rest.fetch_add(n, Ordering::Relaxed);
        }
    }

    fn add_to_block(&self, n: u64) -> bool {
        let Some((set, index)) = index_of(self.number()) else {
            return false;
        };
        thread_owner::with(|owner| {
            // A revoked token is acquired anew; every other failure is final.
            while let Ok((lock, mut token)) = SETS[set].acquire_with_lock(owner) {
                SETS[set].set_hint(owner, set, lock);
                if token.add(|block| &block.counts[index], n).is_ok() {
                    return true;
                }
            }
            false
        })
        .unwrap_or(false)
    }

    /// The counter's number, given at its first use.
    fn number(&self) -> u32 {
        let number = self.number.load(Ordering::Relaxed);
        if number != 0 {
            return number;
        }
        let most = (BLOCKS * PER_BLOCK) as u32;
        let number = PLACED
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |placed| {
                (placed < most).then_some(placed + 1)
            })
            .map_or(NONE, number_of);
        // Two first uses at once: the loser's place stays unused.
        match self
            .number
            .compare_exchange(0, number, Ordering::Relaxed, Ordering::Relaxed)
        {
            Ok(_) => number,
            Err(now) => now,
        }
    }

    /// What all threads have added. Exact for what happened before the call. Additions under way
    /// are in it or not. Reads one word an instance of the block.
    pub fn sum(&self) -> u64 {
        let rest = self.rest.load(Ordering::Acquire);
        let Some((set, index)) = index_of(self.number.load(Ordering::Relaxed)) else {
            return rest;
        };
        SETS[set]
            .iter()
            .map(|block| block.counts[index].load())
            .fold(rest, u64::wrapping_add)
    }

    /// How many bytes all counters' blocks take.
    pub fn bytes() -> usize {
        SETS.iter().map(PerCpu::bytes).sum()
    }
}

/// The number of the counter with so many before it: its block and its place there, plus one.
fn number_of(before: u32) -> u32 {
    let (set, index) = (before / PER_BLOCK as u32, before % PER_BLOCK as u32);
    (set << PLACE_BITS) + index + 1
}

/// The number of the block that has a counter, and where in it. `None` before its first use, and
/// without a slot.
fn index_of(number: u32) -> Option<(usize, usize)> {
    // Less one, 0 (which wraps) and `NONE` are far above every block's number.
    let place = number.wrapping_sub(1) as usize;
    let (set, index) = (place >> PLACE_BITS, place & ((1 << PLACE_BITS) - 1));
    (set < BLOCKS && index < PER_BLOCK).then_some((set, index))
}

impl Default for Counter {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Debug for Counter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.sum(), f)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lock::Lock;
    use crate::owner::Owner;
    use crate::section;

    /// Every counter has a slot of its own, as long as there are any.
    #[test]
    fn every_number_is_of_one_slot() {
        let slots = (0..BLOCKS).flat_map(|set| (0..PER_BLOCK).map(move |index| (set, index)));
        for (before, slot) in (0..).zip(slots) {
            assert_eq!(index_of(number_of(before)), Some(slot));
        }
        let past_a_block = number_of(PER_BLOCK as u32 - 1) + 1;
        let past_all = number_of((BLOCKS * PER_BLOCK) as u32);
        for number in [0, NONE, past_a_block, past_all] {
            assert_eq!(index_of(number), None, "{number}");
        }
    }

    /// Whether the thread owns the block that it remembers for the counter.
    fn owns_what_it_remembers(counter: &Counter) -> bool {
        let (set, _) = index_of(counter.number()).unwrap();
        // SAFETY: the thread has counted, so it has a record, which remembers a lock of a
        // static's instance.
        let (record, lock) = unsafe {
            let record = &*section::own();
            let lock = record.hints[set].load(Ordering::Relaxed);
            (record, &*lock.cast::<Lock<Block>>())
        };
        lock.word().load(Ordering::Relaxed) == record.shared.state.load(Ordering::Relaxed)
    }

    /// A thread that remembers a block, and has begun a new generation since, counts in a block
    /// that it owns. That holds whether the remembered block was taken or not.
    #[test]
    fn a_remembered_block_is_made_the_threads_own() {
        static COUNTER: Counter = Counter::new();
        let elsewhere = Lock::new(Slot::new(0));
        let owner = Owner::register().unwrap();
        COUNTER.add(1);
        assert!(owns_what_it_remembers(&COUNTER));
        for taken in [false, true] {
            owner.release_all();
            assert!(!owns_what_it_remembers(&COUNTER));
            owner.acquire(&elsewhere).map(drop).unwrap();
            assert!(!owns_what_it_remembers(&COUNTER));
            std::thread::scope(|scope| {
                if taken {
                    let count = || COUNTER.add(1);
                    scope.spawn(count).join().unwrap();
                }
            });
            COUNTER.add(1);
            assert!(owns_what_it_remembers(&COUNTER));
        }
        assert_eq!(COUNTER.sum(), 4);
    }
}
