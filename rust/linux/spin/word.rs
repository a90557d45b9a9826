// SPDX-License-Identifier: GPL-2.0-only

//! The kernel's [`Word`], and the waiting array.

use crate::locks::{self, Twa, WAIT_ARRAY_SLOTS};

pub use self::imp::Word;

/// Where `CONFIG_RUST_INLINE_HELPERS` is on, `kernel::sync::atomic` compiles to
/// the instructions themselves. Kernels with KASAN, KCSAN or KMSAN take it also where that is off.
/// Those sanitizers see the C helpers' accesses, and see no access of the assembly below.
#[cfg(any(
    CONFIG_RUST_INLINE_HELPERS,
    CONFIG_KASAN,
    CONFIG_KCSAN,
    CONFIG_KMSAN,
    not(CONFIG_X86_64)
))]
mod imp {
    use super::locks;
    use kernel::{
        processor::cpu_relax,
        sync::atomic::{Acquire, Atomic, Relaxed, Release},
    };

    /// A 32-bit cell: `atomic_t`.
    #[repr(transparent)]
    pub struct Word(Atomic<u32>);

    impl Word {
        /// A cell that holds `value`.
        pub const fn new(value: u32) -> Self {
            Self(Atomic::new(value))
        }
    }

    impl locks::Word for Word {
        #[inline(always)]
        fn load_relaxed(&self) -> u32 {
            self.0.load(Relaxed)
        }

        #[inline(always)]
        fn load_acquire(&self) -> u32 {
            self.0.load(Acquire)
        }

        #[inline(always)]
        fn store_release(&self, value: u32) {
            self.0.store(value, Release);
        }

        #[inline(always)]
        fn fetch_inc_relaxed(&self) -> u32 {
            self.0.fetch_add(1u32, Relaxed)
        }

        #[inline(always)]
        fn inc_release(&self) {
            self.0.fetch_add(1u32, Release);
        }

        #[inline(always)]
        fn cmpxchg_relaxed(&self, old: u32, new: u32) -> bool {
            self.0.cmpxchg(old, new, Relaxed).is_ok()
        }

        #[inline(always)]
        fn wait_acquire(&self, mut done: impl FnMut(u32) -> bool) -> u32 {
            loop {
                let value = self.0.load(Acquire);
                if done(value) {
                    return value;
                }
                cpu_relax();
            }
        }
    }
}

/// Where it is off, `kernel::sync::atomic` and `cpu_relax()` call a C function
/// for every access. On x86-64 without a sanitizer the same instructions are written here.
///
/// | here | the kernel's | what the kernel makes of it on x86-64 |
/// |---|---|---|
/// | `load_relaxed` | `READ_ONCE()` | one `mov` (volatile access) |
/// | `load_acquire` | `smp_load_acquire()` | `READ_ONCE(); barrier()` |
/// | `store_release` | `smp_store_release()` | `barrier(); WRITE_ONCE()` |
/// | `fetch_inc_relaxed` | `atomic_fetch_add_relaxed(1)` | `lock xadd`, fully ordered |
/// | `inc_release` | `atomic_fetch_add_release(1)`, value unused | `lock xadd`; `lock add` orders the same |
/// | `cmpxchg_relaxed` | `atomic_try_cmpxchg_relaxed()` | `lock cmpxchg`, fully ordered |
///
/// x86 is TSO. Loads are not reordered with loads, nor stores with stores, nor a store with an
/// earlier load. So acquire and release need no instruction, only that the compiler keeps the
/// order. Every block below is a `barrier()` by itself, also the relaxed ones. Without the options
/// `nomem` and `readonly` the compiler must assume that a block reads and writes all memory.
#[cfg(not(any(
    CONFIG_RUST_INLINE_HELPERS,
    CONFIG_KASAN,
    CONFIG_KCSAN,
    CONFIG_KMSAN,
    not(CONFIG_X86_64)
)))]
mod imp {
    use super::locks;
    use core::{arch::asm, cell::UnsafeCell};

    /// A 32-bit cell: `atomic_t`.
    #[repr(transparent)]
    pub struct Word(UnsafeCell<u32>);

    // SAFETY: Every access to the cell is one instruction that is atomic on
    // x86-64 (an aligned `mov`, or locked).
    unsafe impl Sync for Word {}

    impl Word {
        /// A cell that holds `value`.
        pub const fn new(value: u32) -> Self {
            Self(UnsafeCell::new(value))
        }

        #[inline(always)]
        fn load(&self) -> u32 {
            let value;
            // SAFETY: `self.0` is valid for reads and aligned.
            unsafe {
                asm!("mov {value:e}, dword ptr [{cell}]",
                     value = lateout(reg) value, cell = in(reg) self.0.get(),
                     options(nostack, preserves_flags));
            }
            value
        }

        #[inline(always)]
        fn store(&self, value: u32) {
            // SAFETY: `self.0` is valid for writes and aligned.
            unsafe {
                asm!("mov dword ptr [{cell}], {value:e}",
                     value = in(reg) value, cell = in(reg) self.0.get(),
                     options(nostack, preserves_flags));
            }
        }
    }

    impl locks::Word for Word {
        #[inline(always)]
        fn load_relaxed(&self) -> u32 {
            self.load()
        }

        #[inline(always)]
        fn load_acquire(&self) -> u32 {
            self.load()
        }

        #[inline(always)]
        fn store_release(&self, value: u32) {
            self.store(value);
        }

        #[inline(always)]
        fn fetch_inc_relaxed(&self) -> u32 {
            let mut value = 1u32;
            // SAFETY: `self.0` is valid for reads and writes and aligned.
            unsafe {
                asm!("lock xadd dword ptr [{cell}], {value:e}",
                     value = inout(reg) value, cell = in(reg) self.0.get(),
                     options(nostack));
            }
            value
        }

        #[inline(always)]
        fn inc_release(&self) {
            // SAFETY: `self.0` is valid for reads and writes and aligned.
            unsafe {
                asm!("lock add dword ptr [{cell}], 1", cell = in(reg) self.0.get(),
                     options(nostack));
            }
        }

        #[inline(always)]
        fn cmpxchg_relaxed(&self, old: u32, new: u32) -> bool {
            let seen: u32;
            // SAFETY: `self.0` is valid for reads and writes and aligned.
            unsafe {
                asm!("lock cmpxchg dword ptr [{cell}], {new:e}",
                     cell = in(reg) self.0.get(), new = in(reg) new,
                     inlateout("eax") old => seen,
                     options(nostack));
            }
            seen == old
        }

        #[inline(always)]
        fn wait_acquire(&self, mut done: impl FnMut(u32) -> bool) -> u32 {
            loop {
                let value = self.load();
                if done(value) {
                    return value;
                }
                // SAFETY: `pause` is `cpu_relax()`, and safe everywhere.
                unsafe { asm!("pause", options(nostack, preserves_flags)) };
            }
        }
    }
}

/// The waiting array, on a line of its own (the paper's 128-byte sectors).
#[repr(C, align(128))]
pub(crate) struct WaitArray(pub(crate) [Word; WAIT_ARRAY_SLOTS as usize]);

/// One array for all locks of this module.
pub(crate) static WAIT_ARRAY: WaitArray =
    WaitArray([const { Word::new(0) }; WAIT_ARRAY_SLOTS as usize]);

/// The kernel.
pub struct Linux;

impl locks::World for Linux {
    type Word = Word;

    #[inline(always)]
    fn slot(&self, index: u32) -> &Word {
        // The lock has masked the index already. This mask lets the compiler leave out the panic.
        &WAIT_ARRAY.0[(index & (WAIT_ARRAY_SLOTS - 1)) as usize]
    }
}

/// TWA with the paper's LongTermThreshold.
pub type KernelTwa = Twa<Word, 1>;
/// The classic ticket lock.
pub type KernelTicket = locks::Ticket<Word>;
