// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Owners' records: type-stable, never unmapped, found by index.

use core::mem::size_of;
use core::ptr;
use core::sync::atomic::{AtomicI32, AtomicPtr, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::protocol::{self, Shared, Word};
use crate::word::{Ownership, CANCELLED, MAX_RECORDS};

impl Word for AtomicU64 {
    fn load_relaxed(&self) -> u64 {
        self.load(Ordering::Relaxed)
    }
    fn load_acquire(&self) -> u64 {
        self.load(Ordering::Acquire)
    }
    fn store_relaxed(&self, value: u64) {
        self.store(value, Ordering::Relaxed);
    }
    fn store_release(&self, value: u64) {
        self.store(value, Ordering::Release);
    }
    fn cmpxchg(&self, old: u64, new: u64) -> Result<(), u64> {
        self.compare_exchange(old, new, Ordering::SeqCst, Ordering::Acquire)
            .map(|_| ())
    }
    fn fetch_or(&self, bits: u64) -> u64 {
        AtomicU64::fetch_or(self, bits, Ordering::SeqCst)
    }
}

/// The files of a thread that a canceller reads.
pub(crate) const FILES: usize = 3;

/// How many such locks a thread remembers.
pub(crate) const HINTS: usize = 32;

/// One thread's record. Two cache lines: the owner reads and writes the first in every
/// section, and cancellers touch it only to cancel.
///
/// All zero is an unused record.
#[repr(C, align(128))]
#[derive(Debug)]
pub(crate) struct Record {
    /// What the protocol knows.
    pub(crate) shared: Shared<AtomicU64>,
    /// Commits left before the forced release. The owner's own.
    pub(crate) budget: AtomicU32,
    /// How many commits a generation is good for. Set when the record is claimed.
    pub(crate) limit: AtomicU32,
    /// How many `Owner`s of the thread there are. The owner's own.
    pub(crate) handles: AtomicU32,
    /// The thread's CPU, and when. The upper 16 bits are its CPU plus one, the lower 48
    /// its switch count, read just before. 0 is unknown. As long as the count is that,
    /// the thread has not left that CPU, or not got another one since.
    pub(crate) last_cpu: AtomicU64,
    /// The thread; 0 while there is none. Set before the generation is published.
    pub(crate) tid: AtomicU32,
    /// The thread's files, plus one. 0 is never opened, a negative number kept but
    /// another thread's. A number, once here, stays this record's. A later thread's file
    /// is put in its place by `dup3`, so that a canceller never reads another part's
    /// file.
    pub(crate) files: [AtomicI32; FILES],
    /// The files' inodes. They show when another part of the program closed a number and
    /// the kernel gave it out again.
    pub(crate) inodes: [AtomicU64; FILES],
    /// 0 free, 1 a thread's, 2 retired.
    claimed: AtomicU32,
    /// Locks of counters' blocks that the thread had last. The owner's own.
    pub(crate) hints: [AtomicPtr<()>; HINTS],
    #[cfg(feature = "stats")]
    pub(crate) stats: crate::counts::Counts,
}

const FREE: u32 = 0;
const CLAIMED: u32 = 1;
const RETIRED: u32 = 2;

const PER_CHUNK: usize = 1024;
const CHUNKS: usize = MAX_RECORDS / PER_CHUNK;

static TABLE: [AtomicPtr<Record>; CHUNKS] = [const { AtomicPtr::new(ptr::null_mut()) }; CHUNKS];
/// One more than the highest index ever claimed.
static USED: AtomicUsize = AtomicUsize::new(1);

/// The record of `index`, which was in a lock's word.
pub(crate) fn get(index: usize) -> Option<&'static Record> {
    let chunk = TABLE.get(index / PER_CHUNK)?.load(Ordering::Acquire);
    if index == 0 || chunk.is_null() {
        return None;
    }
    // SAFETY: a chunk has PER_CHUNK records and is never unmapped; zeroes are a record.
    Some(unsafe { &*chunk.add(index % PER_CHUNK) })
}

/// Every record that was ever claimed.
pub(crate) fn all() -> impl Iterator<Item = &'static Record> {
    (1..USED.load(Ordering::Acquire)).filter_map(get)
}

fn chunk(number: usize) -> rustix::io::Result<*mut Record> {
    use rustix::mm::{mmap_anonymous, munmap, MapFlags, ProtFlags};
    let slot = &TABLE[number];
    let there = slot.load(Ordering::Acquire);
    if !there.is_null() {
        return Ok(there);
    }
    let bytes = PER_CHUNK * size_of::<Record>();
    // Not by the allocator: allocators are among the users.
    // SAFETY: a fresh mapping; no other thread has it yet.
    let fresh = unsafe {
        mmap_anonymous(
            ptr::null_mut(),
            bytes,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE | MapFlags::NORESERVE,
        )?
    };
    match slot.compare_exchange(
        ptr::null_mut(),
        fresh.cast(),
        Ordering::AcqRel,
        Ordering::Acquire,
    ) {
        Ok(_) => Ok(fresh.cast()),
        Err(there) => {
            // SAFETY: the mapping from above, which no other thread saw.
            unsafe { munmap(fresh, bytes)? };
            Ok(there)
        }
    }
}

/// Claims a free record; its generation is one that no lock holds. `None` when all
/// are in use or used up.
pub(crate) fn claim(first_generation: u64) -> rustix::io::Result<Option<&'static Record>> {
    let mut missing = None;
    for index in 1..MAX_RECORDS {
        let Some(record) = get(index).or_else(|| {
            missing = chunk(index / PER_CHUNK).err();
            get(index)
        }) else {
            return missing.map_or(Ok(None), Err);
        };
        let taken =
            record
                .claimed
                .compare_exchange(FREE, CLAIMED, Ordering::AcqRel, Ordering::Relaxed);
        if taken.is_err() {
            continue;
        }
        USED.fetch_max(index + 1, Ordering::AcqRel);
        if record.shared.state.load(Ordering::Relaxed) == 0 {
            let first = Ownership::new(index, first_generation);
            record.shared.state.store(first.bits(), Ordering::Release);
        }
        return Ok(Some(record));
    }
    Ok(None)
}

impl Record {
    /// The ownership that is valid, or was last.
    pub(crate) fn ownership(&self) -> Ownership {
        Ownership::from_bits(self.shared.state.load(Ordering::Relaxed))
    }

    /// Ends everything that the thread owns and gives the record back. By its thread,
    /// or where that is no more (a child of fork).
    pub(crate) fn give_back(&self) {
        if self.shared.state.load(Ordering::Relaxed) == 0 {
            // Claimed by a thread that a fork left behind before it had a generation.
            self.claimed.store(FREE, Ordering::Release);
            return;
        }
        let next = protocol::advance(&self.shared);
        self.tid.store(0, Ordering::Release);
        self.shared.section.store(0, Ordering::Release);
        let claimed = if next.is_some() { FREE } else { RETIRED };
        self.claimed.store(claimed, Ordering::Release);
    }

    /// Whether a canceller can read anything of the thread.
    pub(crate) fn has_files(&self) -> bool {
        self.files
            .iter()
            .any(|file| file.load(Ordering::Acquire) > 0)
    }

    /// Whether a thread has it.
    pub(crate) fn is_claimed(&self) -> bool {
        self.claimed.load(Ordering::Acquire) == CLAIMED
    }
}

/// Begins the thread's next generation. In a handler on a section only asks for its end:
/// the section may still commit.
#[cold]
pub(crate) fn renew(record: &'static Record) {
    if record.shared.section.load(Ordering::Relaxed) != 0 {
        record.shared.state.fetch_or(CANCELLED, Ordering::SeqCst);
        return;
    }
    if record.shared.state.load(Ordering::Relaxed) & CANCELLED != 0 {
        // Another thread ran here, or this thread elsewhere.
        record.last_cpu.store(0, Ordering::Relaxed);
    }
    record
        .budget
        .store(record.limit.load(Ordering::Relaxed), Ordering::Relaxed);
    protocol::advance(&record.shared);
}

/// Called after a token was refused. Ends the token's generation, unless the thread has
/// gone on to another already. Returns the budget of the next.
#[cold]
#[inline(never)]
pub(crate) fn revoked(record: &'static Record, ownership: Ownership) -> u32 {
    if record.ownership() == ownership {
        renew(record);
    }
    record.limit.load(Ordering::Relaxed)
}
