// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Pointers into the memory of all nodes, and what lies there.

use core::fmt;
use core::num::NonZeroU64;

/// A node's number: one of 65,536. The paper's four bits hold 16, and it ran 20.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct NodeId(pub u16);

/// A pointer to 64 aligned bytes of a node's registered memory, in eight bytes.
///
/// | bits | |
/// |---|---|
/// | 0 to 7 | [`Ptr::TAG`], in every pointer |
/// | 8 to 23 | the node |
/// | 24 to 63 | the offset in its memory, in lines of 64 bytes |
///
/// Null is eight zero bytes. A READ of a word that a CPU writes may tear: soft-RoCE copies bytes.
/// Its bytes are then from different moments. [`Ptr::is_null_in`] is sound all the same, by the
/// tag's byte alone. The other bytes are not used.
///
/// # Invariants
/// Its lowest byte is the tag.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ptr(NonZeroU64);

impl Ptr {
    /// The lowest byte of every pointer.
    pub const TAG: u8 = 0xA5;
    /// No pointer.
    pub const NULL: u64 = 0;
    /// Bytes of a line: a lock and a descriptor are one each.
    pub const LINE: u64 = 64;

    /// The line at `offset` bytes of `node`'s memory. `None` if that is no multiple of 64,
    /// or beyond 64 TiB.
    pub const fn new(node: NodeId, offset: u64) -> Option<Self> {
        let line = offset / Self::LINE;
        if offset % Self::LINE != 0 || line >> 40 != 0 {
            return None;
        }
        let bits = (line << 24) | ((node.0 as u64) << 8) | Self::TAG as u64;
        match NonZeroU64::new(bits) {
            // INVARIANT: the tag is in its lowest byte.
            Some(bits) => Some(Self(bits)),
            None => None,
        }
    }

    /// The pointer that a word holds; `None` of null.
    pub const fn from_bits(bits: u64) -> Option<Self> {
        match NonZeroU64::new(bits) {
            // INVARIANT: as compared.
            Some(it) if bits as u8 == Self::TAG => Some(Self(it)),
            _ => None,
        }
    }

    /// The bits of the word that holds it.
    pub const fn bits(self) -> u64 {
        self.0.get()
    }

    /// Whether a word of which perhaps only single bytes are right is null. `None` where no thread
    /// wrote it, as far as its lowest byte tells.
    pub const fn is_null_in(torn: u64) -> Option<bool> {
        match torn as u8 {
            0 => Some(true),
            Self::TAG => Some(false),
            _ => None,
        }
    }

    /// The node whose memory it is.
    pub const fn node(self) -> NodeId {
        NodeId((self.bits() >> 8) as u16)
    }

    /// The offset in that memory, in bytes.
    pub const fn offset(self) -> u64 {
        (self.bits() >> 24) * Self::LINE
    }

    /// The word number `index` (of eight) of this line.
    pub const fn word(self, index: u8) -> WordPtr {
        WordPtr { line: self, index }
    }
}

impl fmt::Debug for Ptr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{:#x}", self.node().0, self.offset())
    }
}

/// An eight-byte word of some node's memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WordPtr {
    line: Ptr,
    index: u8,
}

impl WordPtr {
    /// The node whose memory it is.
    pub const fn node(self) -> NodeId {
        self.line.node()
    }

    /// The offset in that memory, in bytes.
    pub const fn offset(self) -> u64 {
        self.line.offset() + 8 * self.index as u64
    }
}

/// The queue that a thread competes in: by how it accesses *this* lock, not by what it is.
/// Each access decides anew (docs/alock.md, mistake 8).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Cohort {
    /// Threads of the lock's own node, with CPU instructions.
    Local = 0,
    /// Threads of other nodes, with verbs.
    Remote = 1,
}

impl Cohort {
    /// The other one.
    pub const fn other(self) -> Self {
        match self {
            Self::Local => Self::Remote,
            Self::Remote => Self::Local,
        }
    }
}

/// A lock: one line, of which three words are used. The source is the paper's Algorithm 1 and
/// Figure 3.
///
/// | word | | written by |
/// |---|---|---|
/// | 0 | tail of the local queue | CPUs' `xchg` and `cmpxchg` |
/// | 1 | tail of the remote queue | verbs' compare-and-swap |
/// | 2 | `victim`: the cohort that yields | both, by plain 8-byte stores; never by an RMW |
///
/// A tail is also Peterson's flag: not null while its cohort wants the lock or has it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LockPtr(pub Ptr);

impl LockPtr {
    /// How many words of a lock a reader looks at, from the first.
    pub const WORDS: u8 = 3;

    /// The end of the cohort's queue.
    pub const fn tail(self, of: Cohort) -> WordPtr {
        self.0.word(of as u8)
    }

    /// The cohort that yields.
    pub const fn victim(self) -> WordPtr {
        self.0.word(2)
    }

    /// How a thread of `node` accesses this lock.
    pub fn cohort(self, node: NodeId) -> Cohort {
        if self.0.node() == node {
            Cohort::Local
        } else {
            Cohort::Remote
        }
    }
}

/// A descriptor: an element of a queue, one line in the memory of its thread's node.
///
/// | word | | written by |
/// |---|---|---|
/// | 0 | `budget`: [`Descriptor::WAITING`], then what was handed over | its thread before it joins; its predecessor |
/// | 1 | `next`: the thread that waits behind, or null | its thread before it joins; its successor |
///
/// | `budget` | what its predecessor hands over |
/// |---|---|
/// | 1 to the cohort's budget less 1 | the lock, and as many entries of the cohort, this one included |
/// | 0 | the lock, and that the other cohort's turn has come: yield first |
/// | [`Descriptor::PLACE`] | not the lock, but the place of a leader that withdrew: only poll |
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Descriptor(pub Ptr);

impl Descriptor {
    /// The budget of one that waits (the paper's -1).
    pub const WAITING: u64 = u64::MAX;

    /// A leader's place, handed on without the lock. Eight bytes of text. No count overwritten by
    /// another count looks so, nor a part of [`Descriptor::WAITING`].
    pub const PLACE: u64 = u64::from_le_bytes(*b"my place");

    /// What its predecessor hands over.
    pub const fn budget(self) -> WordPtr {
        self.0.word(0)
    }

    /// The thread that waits behind.
    pub const fn next(self) -> WordPtr {
        self.0.word(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_come_back() {
        for node in [0, 1, 255, 256, 65_535] {
            for offset in [0, 64, 1 << 20, ((1 << 40) - 1) * 64] {
                let ptr = Ptr::new(NodeId(node), offset).unwrap();
                assert_eq!((ptr.node().0, ptr.offset()), (node, offset));
                assert_eq!(Ptr::from_bits(ptr.bits()), Some(ptr));
                assert_eq!(ptr.word(2).offset(), offset + 16);
            }
        }
        assert_eq!(Ptr::from_bits(Ptr::NULL), None);
    }

    /// A line of a log names the node and the line.
    #[test]
    fn a_pointer_says_where_it_points() {
        let line = Ptr::new(NodeId(3), 0x1c0).unwrap();
        assert_eq!(format!("{line:?}"), "3:0x1c0");
    }

    #[test]
    fn what_is_no_line_is_no_pointer() {
        assert_eq!(Ptr::new(NodeId(0), 8), None);
        assert_eq!(Ptr::new(NodeId(0), 1 << 46), None);
    }

    #[test]
    fn null_is_told_from_torn_words() {
        let (a, b) = (
            Ptr::new(NodeId(7), 64 * 0x12_3456).unwrap().bits(),
            Ptr::new(NodeId(600), 64 * 0xab_cdef).unwrap().bits(),
        );
        // Any mixture of the bytes of two pointers is not null ...
        for mask in 0..=255_u64 {
            let bytes = (0..8)
                .map(|i| (((mask >> i) & 1) * 0xff) << (8 * i))
                .sum::<u64>();
            assert_eq!(Ptr::is_null_in((a & bytes) | (b & !bytes)), Some(false));
            // ... and one of a pointer's and null's is what its lowest byte is.
            assert_eq!(Ptr::is_null_in(a & bytes), Some(bytes & 1 == 0));
        }
    }

    #[test]
    fn what_no_thread_wrote_is_neither() {
        for byte in 1..=255_u64 {
            let is = (byte == u64::from(Ptr::TAG)).then_some(false);
            assert_eq!(Ptr::is_null_in(byte), is, "{byte:#x}");
        }
    }
}
