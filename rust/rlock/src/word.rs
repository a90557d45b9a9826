// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The words of the protocol: what a lock holds, what a record holds.
//!
//! One 64-bit layout serves both, so that every comparison is one of whole words.
//! Khuong's 22-bit sequence, compared with 32-bit counters, went wrong at the wrap.
//!
//! | bits | what |
//! |---|---|
//! | 63..44 | the record's index; 0 is no record's |
//! | 43..3 | generation |
//! | 2..0 | flags of a record's state; always 0 in a lock |

/// A canceller asked the owner to give up this generation.
pub const CANCELLED: u64 = 1;
/// A signal *was sent* after the generation was cancelled. It never means that one is
/// about to be sent. Saves another one where only an answer counts.
pub const SIGNALLED: u64 = 2;
/// The owner's signal handler promised: no store of this generation is to come.
pub const ACKNOWLEDGED: u64 = 4;

const FLAGS: u64 = CANCELLED | SIGNALLED | ACKNOWLEDGED;
const GENERATION_SHIFT: u32 = 3;
const INDEX_SHIFT: u32 = 44;

/// How many records there can be, index 0 included, which is no record's.
pub const MAX_RECORDS: usize = 1 << (64 - INDEX_SHIFT);
/// The generation that no lock ever holds: a record that comes to it is retired.
pub const LAST_GENERATION: u64 = (1 << (INDEX_SHIFT - GENERATION_SHIFT)) - 1;

/// A lock's owner: a record and one of its generations, or none.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Ownership(u64);

impl core::fmt::Debug for Ownership {
    fn fmt(&self, f: &mut core::fmt::Formatter<'_>) -> core::fmt::Result {
        if *self == Self::NOBODY {
            return f.write_str("nobody");
        }
        write!(
            f,
            "record {} in generation {}",
            self.index(),
            self.generation()
        )
    }
}

impl Ownership {
    /// A free lock's.
    pub const NOBODY: Self = Self(0);

    /// The ownership of record `index` (not 0, below [`MAX_RECORDS`]) in `generation`.
    pub const fn new(index: usize, generation: u64) -> Self {
        assert!(index != 0 && index < MAX_RECORDS && generation <= LAST_GENERATION);
        Self(((index as u64) << INDEX_SHIFT) | (generation << GENERATION_SHIFT))
    }

    /// The bits of a lock's word, and of a record's state while nothing is asked of it.
    pub const fn bits(self) -> u64 {
        self.0
    }

    /// What [`bits`](Self::bits) gave.
    pub const fn from_bits(bits: u64) -> Self {
        Self(bits & !FLAGS)
    }

    /// The record's index. 0 is none.
    pub const fn index(self) -> usize {
        (self.0 >> INDEX_SHIFT) as usize
    }

    /// The record's generation.
    pub const fn generation(self) -> u64 {
        (self.0 & ((1 << INDEX_SHIFT) - 1)) >> GENERATION_SHIFT
    }

    /// The same record's next generation. None after the last, which is never given
    /// out.
    pub const fn next(self) -> Option<Self> {
        // The last one is not given out, so a record's use ends one before it.
        if self.generation() + 1 >= LAST_GENERATION {
            return None;
        }
        Some(Self::new(self.index(), self.generation() + 1))
    }

    /// What a retired record's state is: it equals no lock's word, ever.
    pub const fn retired(self) -> u64 {
        Self::new(self.index(), LAST_GENERATION).0 | FLAGS
    }
}

/// What a record's state says of an ownership.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Standing {
    /// Its owner may store.
    Valid,
    /// Its owner will not begin a store; one may be under way.
    Cancelled {
        /// A signal was sent since.
        signalled: bool,
    },
    /// No store of it is to come: acknowledged, or the generation has passed.
    Dead,
}

/// What `state`, read from the record of `ownership`, says of it.
pub const fn standing(state: u64, ownership: Ownership) -> Standing {
    if state & !FLAGS != ownership.0 || state & ACKNOWLEDGED != 0 {
        return Standing::Dead;
    }
    if state & CANCELLED == 0 {
        return Standing::Valid;
    }
    Standing::Cancelled {
        signalled: state & SIGNALLED != 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back() {
        for index in [1, 2, MAX_RECORDS - 1] {
            for generation in [0, 1, 1 << 22, LAST_GENERATION] {
                let ownership = Ownership::new(index, generation);
                assert_eq!(ownership.index(), index);
                assert_eq!(ownership.generation(), generation);
                assert_eq!(Ownership::from_bits(ownership.bits() | FLAGS), ownership);
                assert_ne!(ownership, Ownership::NOBODY);
            }
        }
    }

    #[test]
    fn generations_do_not_wrap() {
        let last = Ownership::new(7, LAST_GENERATION - 1);
        assert_eq!(last.next(), None);
        let before = Ownership::new(7, LAST_GENERATION - 2);
        assert_eq!(before.next(), Some(last));
        assert_eq!(standing(last.retired(), last), Standing::Dead);
        assert_eq!(standing(last.retired(), before), Standing::Dead);
    }

    #[test]
    fn a_state_says_how_an_ownership_stands() {
        let mine = Ownership::new(3, 9);
        let state = mine.bits();
        assert_eq!(standing(state, mine), Standing::Valid);
        let cancelled = Standing::Cancelled { signalled: false };
        assert_eq!(standing(state | CANCELLED, mine), cancelled);
        let signalled = Standing::Cancelled { signalled: true };
        assert_eq!(standing(state | CANCELLED | SIGNALLED, mine), signalled);
        assert_eq!(standing(state | FLAGS, mine), Standing::Dead);
        let later = Ownership::new(3, 10);
        assert_eq!(standing(later.bits(), mine), Standing::Dead);
        assert_eq!(standing(later.bits() | CANCELLED, mine), Standing::Dead);
    }
}
