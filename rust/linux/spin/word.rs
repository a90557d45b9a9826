// SPDX-License-Identifier: GPL-2.0-only

//! The kernel's [`Word`], and the waiting array.

use super::shim;
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
    pub(super) use kernel::processor::cpu_relax as pause;
    use kernel::sync::atomic::{Acquire, Atomic, Full, Relaxed, Release};

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
        fn store_relaxed(&self, value: u32) {
            self.0.store(value, Relaxed);
        }

        #[inline(always)]
        fn store_release(&self, value: u32) {
            self.0.store(value, Release);
        }

        #[inline(always)]
        fn swap_acq_rel(&self, value: u32) -> u32 {
            // The kernel has no other order that is both.
            self.0.xchg(value, Full)
        }

        #[inline(always)]
        fn fetch_add_relaxed(&self, value: u32) -> u32 {
            self.0.fetch_add(value, Relaxed)
        }

        #[inline(always)]
        fn fetch_add_acquire(&self, value: u32) -> u32 {
            self.0.fetch_add(value, Acquire)
        }

        #[inline(always)]
        fn fetch_add_release(&self, value: u32) -> u32 {
            self.0.fetch_add(value, Release)
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
        fn cmpxchg_acquire(&self, old: u32, new: u32) -> bool {
            self.0.cmpxchg(old, new, Acquire).is_ok()
        }

        #[inline(always)]
        fn cmpxchg_release(&self, old: u32, new: u32) -> bool {
            self.0.cmpxchg(old, new, Release).is_ok()
        }

        #[inline(always)]
        fn wait_acquire(&self, awaited: locks::Awaited) -> u32 {
            loop {
                let value = self.0.load(Acquire);
                if awaited.holds(value) {
                    return value;
                }
                pause();
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
/// | `store_relaxed` | `WRITE_ONCE()` | one `mov` (volatile access) |
/// | `swap_*` | `atomic_xchg*()` | `xchg`, locked by itself, fully ordered |
/// | `fetch_add_*` | `atomic_fetch_add*()` | `lock xadd`, fully ordered |
/// | `inc_release` | `atomic_fetch_add_release(1)`, value unused | `lock xadd`; `lock add` orders the same |
/// | `cmpxchg_*` | `atomic_try_cmpxchg*()` | `lock cmpxchg`, fully ordered |
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

    /// `cpu_relax()`.
    #[inline(always)]
    pub(super) fn pause() {
        // SAFETY: `pause` is safe everywhere.
        unsafe { asm!("pause", options(nostack, preserves_flags)) };
    }

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

    impl Word {
        #[inline(always)]
        fn swap(&self, mut value: u32) -> u32 {
            // SAFETY: `self.0` is valid for reads and writes and aligned.
            unsafe {
                asm!("xchg dword ptr [{cell}], {value:e}",
                     value = inout(reg) value, cell = in(reg) self.0.get(),
                     options(nostack, preserves_flags));
            }
            value
        }

        #[inline(always)]
        fn fetch_add(&self, mut value: u32) -> u32 {
            // SAFETY: `self.0` is valid for reads and writes and aligned.
            unsafe {
                asm!("lock xadd dword ptr [{cell}], {value:e}",
                     value = inout(reg) value, cell = in(reg) self.0.get(),
                     options(nostack));
            }
            value
        }

        #[inline(always)]
        fn cmpxchg(&self, old: u32, new: u32) -> bool {
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
        fn store_relaxed(&self, value: u32) {
            self.store(value);
        }

        #[inline(always)]
        fn store_release(&self, value: u32) {
            self.store(value);
        }

        #[inline(always)]
        fn swap_acq_rel(&self, value: u32) -> u32 {
            self.swap(value)
        }

        #[inline(always)]
        fn fetch_add_relaxed(&self, value: u32) -> u32 {
            self.fetch_add(value)
        }

        #[inline(always)]
        fn fetch_add_acquire(&self, value: u32) -> u32 {
            self.fetch_add(value)
        }

        #[inline(always)]
        fn fetch_add_release(&self, value: u32) -> u32 {
            self.fetch_add(value)
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
            self.cmpxchg(old, new)
        }

        #[inline(always)]
        fn cmpxchg_acquire(&self, old: u32, new: u32) -> bool {
            self.cmpxchg(old, new)
        }

        #[inline(always)]
        fn cmpxchg_release(&self, old: u32, new: u32) -> bool {
            self.cmpxchg(old, new)
        }

        #[inline(always)]
        fn wait_acquire(&self, awaited: locks::Awaited) -> u32 {
            loop {
                let value = self.load();
                if awaited.holds(value) {
                    return value;
                }
                pause();
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
///
/// All queue locks share their CPU's nodes. A made-up token, or a node that is given back twice, would
/// reach other locks and other memory. So only unsafe code gets hold of this.
pub struct Linux(());

impl Linux {
    /// The kernel.
    ///
    /// # Safety
    ///
    /// The caller gives `unlock` each token once, and `put` each node once, as it got them. It asks for no
    /// other node than these.
    #[inline(always)]
    pub const unsafe fn new() -> Self {
        Self(())
    }
}

/// More than one thread of a CPU can want a lock, each with preemption off. Those are a task, a
/// softirq, a hard interrupt and an NMI.
pub(crate) const CONTEXTS: u32 = 4;

impl locks::World for Linux {
    type Word = Word;

    const MOST_CONTENDERS: u32 = CONTEXTS * kernel::bindings::NR_CPUS;

    #[inline(always)]
    fn slot(&self, index: u32) -> &Word {
        // The lock has masked the index already. This mask lets the compiler leave out the panic.
        &WAIT_ARRAY.0[(index & (WAIT_ARRAY_SLOTS - 1)) as usize]
    }

    #[inline(always)]
    fn pause(&self) {
        imp::pause();
    }

    #[inline(always)]
    fn while_contended<L, T>(&self, lock: &L, wait: impl FnOnce() -> T) -> T {
        let lock = core::ptr::from_ref(lock).cast();
        // SAFETY: The kernel takes it for a name.
        unsafe { shim::handover_contention_begin(lock) };
        let result = wait();
        // SAFETY: As above.
        unsafe { shim::handover_contention_end(lock) };
        // perf tells one wait from another by the callers of its begin and its end. So the end is called, as the begin is: a
        // jump in the place of this function's return would leave this function out.
        // SAFETY: No instruction.
        unsafe { core::arch::asm!("", options(nomem, nostack, preserves_flags)) };
        result
    }
}

// A one-word TWA has room for an owner and 65,534 waiters, so it checks nothing here.
const _: () = assert!(
    <Linux as locks::World>::MOST_CONTENDERS < 1 << 16,
    "a one-word TWA has no room for four threads of each of NR_CPUS"
);

/// TWA with the paper's LongTermThreshold.
pub type KernelTwa = Twa<Word>;
/// The classic ticket lock.
pub type KernelTicket = locks::Ticket<Word>;
