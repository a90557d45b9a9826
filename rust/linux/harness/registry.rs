// SPDX-License-Identifier: GPL-2.0-only

//! The locks that can be named: those of `rust/locks/list.rs`, and the kernel's own.

use super::{
    kernels,
    pairs::{Layout, Shape},
    shim::{ThreadFn, TortureCalls},
    subject::{Control, LockCell},
};
use crate::{
    locks::{list::for_each_lock, *},
    spin::{InterruptsOff, KernelTicket, KernelTwa, SpinBackend, Word},
};

/// A lock that can be named.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    /// Its name in `torture_type`.
    pub(crate) name: &'static str,
    /// What it is and promises, for people.
    pub(crate) about: &'static str,
    /// Whether it is taken where no lock is named.
    pub(crate) is_usual: bool,
    /// Whether it is a lock at all.
    pub(crate) excludes: bool,
    /// Whether interrupt handlers may take it. `all` means the locks of which they may not.
    pub(crate) is_irq: bool,
    /// Whether it has tickets, which it admits in order.
    pub(crate) has_tickets: bool,
    /// How a section calls it.
    pub(crate) shape: Shape,
    /// Makes a free lock with this first ticket, of this lock class, in a cell that is not in use.
    pub(crate) init: fn(&mut LockCell, u32, usize),
    /// What a writer's kthread runs.
    pub(crate) writer: ThreadFn,
    /// The same where something perturbs the writers.
    pub(crate) perturbed: ThreadFn,
    /// Runs the timed pairs of the lock in a cell, in which `init` must have made it.
    pub(crate) pairs: unsafe fn(&LockCell, Layout),
    /// Makes the locks of this type that locktorture tortures. Only the module's init may call it.
    pub(crate) make_tortured: fn(),
    /// What locktorture calls.
    pub(crate) tortured: TortureCalls,
    /// Which nested locks it ever acquired, a bit each.
    pub(crate) nested_of_tortured: fn() -> u32,
}

// SAFETY: The name that `tortured` points to is static.
unsafe impl Sync for Entry {}

/// A lock's loops and its entry, in a module with its name. Each writers' loop has a page of its own, and
/// all timed pairs of a layout have one.
macro_rules! entry {
    ($name:ident, $subject:ty, $is_usual:literal, $about:literal) => {
        use crate::harness::{arena::Arena, perturbed, registry::*, subject::Subject as _, writer};
        use kernel::ffi::{c_int, c_void};

        pub(super) const ENTRY: Entry = Entry {
            name: stringify!($name),
            about: $about,
            is_usual: $is_usual,
            excludes: <$subject>::EXCLUDES,
            is_irq: <$subject>::IS_IRQ,
            has_tickets: <$subject>::TICKET_BITS != 0,
            shape: <$subject>::SHAPE,
            init: |cell, first, nest| {
                // SAFETY: The cell is big enough and no other thread uses it.
                unsafe { <$subject>::init(cell.state::<$subject>(), first, nest) }
            },
            writer: run,
            perturbed: run_perturbed,
            pairs,
            make_tortured,
            tortured: TORTURED,
            nested_of_tortured,
        };

        crate::harness::locktorture::tortured!($name, $subject);

        /// # Safety
        ///
        /// `init` made the lock in the cell.
        unsafe fn pairs(cell: &LockCell, layout: Layout) {
            let pairs = match layout {
                Layout::Near => near_pairs,
                Layout::Far => far_pairs,
            };
            // SAFETY: By this function's contract.
            unsafe { pairs(cell) };
        }

        page_aligned!(".text.handover_laps.", $name);
        #[inline(never)]
        #[link_section = concat!(".text.handover_laps.", stringify!($name))]
        fn laps(me: &writer::Writer, arena: &Arena) -> crate::measure::prng::Prng {
            writer::laps::<$subject>(me, arena)
        }

        page_aligned!(".text.handover_perturbed.", $name);
        #[inline(never)]
        #[link_section = concat!(".text.handover_perturbed.", stringify!($name))]
        fn perturbed(me: &writer::Writer, arena: &Arena) -> crate::measure::prng::Prng {
            perturbed::laps::<$subject>(me, arena)
        }

        /// # Safety
        ///
        /// The caller has the duties of [`writer::writer`].
        unsafe extern "C" fn run(arg: *mut c_void) -> c_int {
            // SAFETY: By this function's contract.
            unsafe { writer::writer(arg, laps) }
        }

        /// # Safety
        ///
        /// As `run`.
        unsafe extern "C" fn run_perturbed(arg: *mut c_void) -> c_int {
            // SAFETY: By this function's contract.
            unsafe { writer::writer(arg, perturbed) }
        }

        /// # Safety
        ///
        /// The lock must be in the cell, and stay there meanwhile.
        #[inline(never)]
        #[link_section = ".text.handover"]
        unsafe fn near_pairs(cell: &LockCell) {
            // SAFETY: By this function's contract.
            unsafe { <$subject>::pairs(cell.state::<$subject>()) };
        }

        /// # Safety
        ///
        /// The lock must be in the cell, and stay there meanwhile.
        #[inline(never)]
        #[link_section = ".text.handover_far"]
        unsafe fn far_pairs(cell: &LockCell) {
            // SAFETY: By this function's contract.
            unsafe { <$subject>::pairs(cell.state::<$subject>()) };
        }
    };
}

/// Has a section begin a page. (rustc's functions cannot ask for that.)
macro_rules! page_aligned {
    ($section:literal $(, $name:ident)?) => {
        #[cfg(CONFIG_X86_64)]
        core::arch::global_asm!(concat!(
            ".pushsection ", $section, $(stringify!($name),)? ",\"ax\",@progbits\n.p2align 12\n.popsection"
        ));
    };
}
page_aligned!(".text.handover_far");

/// The list of all entries: of the locks that come second, then of those that come first. The latter
/// may have attributes.
macro_rules! entries {
    (
        { $($(#[$meta:meta])* $own:ident: $subject:ty = $own_kind:ident, $own_about:literal;)* }
        $($name:ident: $lock:ty = $kind:ident, $about:literal;)*
    ) => {
        $(entries!(@$kind $name, $lock, $about);)*
        $($(#[$meta])* mod $own { entries!(@own $own_kind $own, $subject, $own_about); })*

        /// Every lock, in the order of `all`.
        pub(crate) static LOCKS: &[Entry] = {
            const ALL: &[Option<Entry>] = &[
                $(entries!(@entry $kind $name),)*
                $($(#[$meta])* Some($own::ENTRY),)*
            ];
            &some::<{ count(ALL) }>(ALL)
        };
    };
    (@model $name:ident, $lock:ty, $about:literal) => {};
    (@control $name:ident, $lock:ty, $about:literal) => {
        mod $name { entry!($name, Control<$lock>, false, $about); }
    };
    (@usual $name:ident, $lock:ty, $about:literal) => {
        mod $name { entry!($name, SpinBackend<$lock>, true, $about); }
    };
    (@more $name:ident, $lock:ty, $about:literal) => {
        mod $name { entry!($name, SpinBackend<$lock>, false, $about); }
    };
    (@own usual $name:ident, $subject:ty, $about:literal) => { entry!($name, $subject, true, $about); };
    (@own more $name:ident, $subject:ty, $about:literal) => { entry!($name, $subject, false, $about); };
    (@own irq $name:ident, $subject:ty, $about:literal) => { entry!($name, $subject, false, $about); };
    (@entry model $name:ident) => { None };
    (@entry $kind:ident $name:ident) => { Some($name::ENTRY) };
}

/// How many entries there are.
const fn count(all: &[Option<Entry>]) -> usize {
    let (mut at, mut count) = (0, 0);
    while at < all.len() {
        count += all[at].is_some() as usize;
        at += 1;
    }
    count
}

/// The entries that there are.
const fn some<const N: usize>(all: &[Option<Entry>]) -> [Entry; N] {
    let mut entries = [raw_spin_lock::ENTRY; N];
    let (mut at, mut to) = (0, 0);
    while at < all.len() {
        if let Some(entry) = all[at] {
            entries[to] = entry;
            to += 1;
        }
        at += 1;
    }
    entries
}

/// A lock of ours that interrupt handlers may take.
type Irq<R> = SpinBackend<R, InterruptsOff>;

for_each_lock! { entries {
    // Under PREEMPT_RT spin_lock() is another lock, which sleeps.
    #[cfg(not(CONFIG_PREEMPT_RT))]
    spin_lock: kernels::KernelSpin = usual, "the kernel's spin_lock(): exclusion; here the same code as raw_spin_lock, so their difference is noise";
    raw_spin_lock: kernels::KernelRawSpin = usual, "the kernel's raw_spin_lock(): exclusion";
    #[cfg(CONFIG_BPF_SYSCALL)]
    raw_res_spin_lock: kernels::KernelResilient = more, "the kernel's raw_res_spin_lock(), which finds deadlocks: exclusion; deadlock_failures counts what it found";
    #[cfg(all(CONFIG_X86_64, CONFIG_QUEUED_SPINLOCKS))]
    qspinlock: kernels::KernelQueued = more, "the kernel's qspinlock, with its fast path inlined as ours is: exclusion";
    twa_irq: Irq<KernelTwa> = irq, "twa for interrupt handlers too: its owner has interrupts off";
    ticket_irq: Irq<KernelTicket> = irq, "ticket for interrupt handlers too";
    one_word_twa_irq: Irq<OneWordTwa<Word>> = irq, "one_word_twa for interrupt handlers too";
    raw_spin_lock_irq: kernels::KernelRawSpinIrq = irq, "the kernel's raw_spin_lock_irq_disable(): exclusion";
} }
