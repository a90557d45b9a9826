// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Which operations are out, and whose slot a result comes to.

use crate::RemoteWord;

/// The words that one read brings at most: a cache line.
pub const MAX_WORDS: usize = 8;

/// What a completion says of the operation that it ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Pending {
    /// The caller's name for it.
    pub(crate) id: u64,
    /// The words that its slot then holds.
    pub(crate) words: usize,
    /// What it is about.
    pub(crate) remote: RemoteWord,
}

/// The operations that are out, oldest first.
///
/// Each has a number, in the order of posting, which is its work request's `wr_id`. The slot
/// of number n is n modulo the number of slots. That is a power of two, at least the depth: a
/// division takes longer than all else here. A reliable connection ends operations in that
/// order, so a completion ends all before it as well (those not signalled).
///
/// # Invariants
///
/// `done <= posted`, and `posted - done` is at most the depth: no two that are out have
/// one slot.
#[derive(Debug)]
pub(crate) struct Ring {
    pending: Vec<Pending>,
    depth: usize,
    done: u64,
    posted: u64,
}

impl Ring {
    /// A ring for `depth` operations, at least one.
    pub(crate) fn new(depth: u32) -> Ring {
        let depth = usize::try_from(depth.max(1)).unwrap_or(1);
        let none = Pending {
            id: 0,
            words: 0,
            remote: RemoteWord { addr: 0, rkey: 0 },
        };
        Ring {
            pending: vec![none; depth.next_power_of_two()],
            depth,
            done: 0,
            posted: 0,
        }
    }

    #[inline]
    pub(crate) fn depth(&self) -> usize {
        self.depth
    }

    /// How many slots there are.
    pub(crate) fn slots(&self) -> usize {
        self.pending.len()
    }

    /// How many were ever posted: work requests, not doorbells.
    #[inline]
    pub(crate) fn posted(&self) -> u64 {
        self.posted
    }

    #[inline]
    pub(crate) fn outstanding(&self) -> usize {
        // At most the depth, which is a usize.
        (self.posted - self.done) as usize
    }

    #[inline]
    pub(crate) fn has_room(&self, count: usize) -> bool {
        count <= self.depth() - self.outstanding()
    }

    #[inline]
    pub(crate) fn slot(&self, number: u64) -> usize {
        // Less than the number of slots, which is a power of two.
        number as usize & (self.pending.len() - 1)
    }

    /// Takes one more in and says its number; `None` when the ring is full.
    #[inline]
    pub(crate) fn push(&mut self, pending: Pending) -> Option<u64> {
        if !self.has_room(1) {
            return None;
        }
        let number = self.posted;
        let slot = self.slot(number);
        self.pending[slot] = pending;
        self.posted += 1;
        Some(number)
    }

    /// Ends the operation `number` and all before it; `None` when it is not out.
    #[inline]
    pub(crate) fn complete(&mut self, number: u64) -> Option<Pending> {
        if number < self.done || number >= self.posted {
            return None;
        }
        self.done = number + 1;
        Some(self.pending[self.slot(number)])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(id: u64) -> Pending {
        let remote = RemoteWord {
            addr: 4096,
            rkey: 3,
        };
        Pending {
            id,
            words: 1,
            remote,
        }
    }

    #[test]
    fn a_full_ring_takes_no_more() {
        let mut ring = Ring::new(2);
        assert_eq!(ring.push(of(10)), Some(0));
        assert_eq!(ring.push(of(11)), Some(1));
        assert_eq!(ring.push(of(12)), None);
        assert_eq!(ring.posted(), 2);
        assert_eq!(ring.complete(0), Some(of(10)));
        assert_eq!(ring.push(of(12)), Some(2));
        assert_eq!(ring.outstanding(), 2);
    }

    #[test]
    fn a_completion_ends_the_unsignalled_before_it() {
        let mut ring = Ring::new(4);
        for id in 0..3 {
            ring.push(of(id));
        }
        assert_eq!(ring.complete(1), Some(of(1)));
        assert_eq!(ring.outstanding(), 1);
        assert_eq!(ring.complete(0), None);
        assert_eq!(ring.complete(2), Some(of(2)));
        assert_eq!(ring.outstanding(), 0);
    }

    #[test]
    fn a_completion_of_nothing_is_none() {
        let mut ring = Ring::new(4);
        assert_eq!(ring.complete(0), None);
        ring.push(of(1));
        assert_eq!(ring.complete(1), None);
        assert_eq!(ring.complete(u64::MAX), None);
        assert_eq!(ring.complete(0), Some(of(1)));
        assert_eq!(ring.complete(0), None);
    }

    #[test]
    fn those_out_have_slots_of_their_own() {
        // Each step posts until it is full or ends some, in all ways that a small
        // counter spells.
        for way in 0u32..1 << 12 {
            let mut ring = Ring::new(3);
            for step in 0..12 {
                if (way >> step) & 1 == 0 {
                    ring.push(of(ring.posted()));
                } else if ring.outstanding() > 0 {
                    let last = ring.posted() - 1;
                    assert_eq!(ring.complete(last), Some(of(last)));
                }
                let out = ring.posted() - ring.outstanding() as u64..ring.posted();
                let mut slots: Vec<usize> = out.map(|number| ring.slot(number)).collect();
                let all = slots.len();
                slots.sort_unstable();
                slots.dedup();
                assert_eq!(slots.len(), all);
            }
        }
    }

    #[test]
    fn a_ring_of_none_is_one_of_one() {
        assert_eq!(Ring::new(0).depth(), 1);
        assert_eq!(Ring::new(0).slots(), 1);
    }

    #[test]
    fn slots_are_a_power_of_two_and_no_more_than_the_depth_are_out() {
        let mut ring = Ring::new(5);
        assert_eq!((ring.depth(), ring.slots()), (5, 8));
        assert!((0..5).all(|id| ring.push(of(id)).is_some()));
        assert_eq!(ring.push(of(5)), None);
    }
}
