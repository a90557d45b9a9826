// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Memory that a device may read and write while the program does.

use crate::Error;
use rustix::mm::{mmap_anonymous, munmap, MapFlags, ProtFlags};
use std::ptr::{null_mut, NonNull};
use std::sync::atomic::AtomicU64;
use std::sync::Arc;

/// Zeroed, page-aligned memory of words that the CPU and devices share.
///
/// Every access of the program's goes through [`AtomicU64`]. Whatever a device does to it
/// is no undefined behaviour, only a value. It is mapped shared: a fork leaves the pages
/// that a device knows with parent and child alike.
///
/// # Examples
///
/// ```
/// use nic::Memory;
/// use std::sync::atomic::Ordering;
///
/// # fn main() -> Result<(), nic::Error> {
/// let memory = Memory::new(100)?;
/// // Whole pages.
/// assert!(memory.len() >= 4096);
/// memory.word(8).store(7, Ordering::Release);
/// assert_eq!(memory.word(8).load(Ordering::Acquire), 7);
/// # Ok(())
/// # }
/// ```
///
/// # Invariants
///
/// `base` begins a mapping of `len` bytes, a multiple of the page's size. The mapping is
/// readable, writable and this value's until it is dropped.
#[derive(Debug)]
pub struct Memory {
    base: NonNull<AtomicU64>,
    len: usize,
}

// SAFETY: a mapping is the process's, not a thread's.
unsafe impl Send for Memory {}
// SAFETY: what is given out of it is shared references to atomics.
unsafe impl Sync for Memory {}

impl Memory {
    /// Maps memory for at least `bytes` bytes, rounded up to whole pages; one page for 0.
    ///
    /// Costs a system call, and a page fault a page once it is touched or registered.
    ///
    /// # Errors
    ///
    /// [`Error::Memory`] when the kernel refuses.
    pub fn new(bytes: usize) -> Result<Arc<Memory>, Error> {
        let refused = |source| Error::Memory { bytes, source };
        let page = rustix::param::page_size();
        let len = bytes
            .max(1)
            .checked_next_multiple_of(page)
            .ok_or_else(|| refused(std::io::ErrorKind::OutOfMemory.into()))?;
        let prot = ProtFlags::READ | ProtFlags::WRITE;
        // SAFETY: the address is the kernel's choice, so nothing is mapped over.
        let mapped = unsafe { mmap_anonymous(null_mut(), len, prot, MapFlags::SHARED) };
        let base = mapped.map_err(|errno| refused(errno.into()))?;
        let base = NonNull::new(base.cast())
            .ok_or_else(|| refused(std::io::ErrorKind::OutOfMemory.into()))?;
        Ok(Arc::new(Memory { base, len }))
    }

    /// Its length in bytes: whole pages.
    #[must_use]
    #[expect(clippy::len_without_is_empty, reason = "it never is empty")]
    pub fn len(&self) -> usize {
        self.len
    }

    /// The address of its first byte, as this process and the device say it.
    #[must_use]
    pub fn addr(&self) -> u64 {
        // A usize is at most 64 bits wide here.
        self.base.as_ptr().expose_provenance() as u64
    }

    /// The word at `offset`, in bytes.
    ///
    /// # Panics
    ///
    /// Panics as indexing does: when `offset` is no multiple of 8 or not within the memory.
    #[must_use]
    #[inline]
    pub fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(
            offset % 8 == 0 && offset < self.len,
            "no word at {offset} of {} bytes",
            self.len
        );
        // SAFETY: a multiple of 8 below `len`, so it is within the mapping.
        let word = unsafe { self.base.add(offset / 8) };
        // SAFETY: aligned, zeroed when it was mapped, and lives as long as `self`.
        unsafe { word.as_ref() }
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        // SAFETY: by the type's invariant this is its own mapping, and no thread has it now.
        let unmapped = unsafe { munmap(self.base.as_ptr().cast(), self.len) };
        // It fails for ranges that are none.
        debug_assert!(unmapped.is_ok());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::Relaxed;

    #[test]
    fn memory_is_zeroed_words_in_whole_pages() {
        let memory = Memory::new(4097).unwrap();
        let page = rustix::param::page_size();
        assert_eq!(memory.len() % page, 0);
        assert!(memory.len() >= 4097);
        assert_eq!(memory.addr() % page as u64, 0);
        for offset in (0..memory.len()).step_by(8) {
            assert_eq!(memory.word(offset).load(Relaxed), 0);
        }
        memory.word(memory.len() - 8).store(7, Relaxed);
        assert_eq!(memory.word(memory.len() - 8).load(Relaxed), 7);
        assert_eq!(memory.word(8).as_ptr().addr() as u64, memory.addr() + 8);
    }

    #[test]
    fn none_is_a_page() {
        assert_eq!(Memory::new(0).unwrap().len(), rustix::param::page_size());
    }

    #[test]
    fn too_much_is_an_error() {
        assert!(matches!(Memory::new(usize::MAX), Err(Error::Memory { .. })));
        assert!(matches!(Memory::new(1 << 60), Err(Error::Memory { .. })));
    }

    #[test]
    #[should_panic(expected = "no word at")]
    fn a_word_past_the_end_panics() {
        let memory = Memory::new(8).unwrap();
        let _ = memory.word(memory.len());
    }

    #[test]
    #[should_panic(expected = "no word at 4")]
    fn a_word_off_its_alignment_panics() {
        let _ = Memory::new(8).unwrap().word(4);
    }
}
