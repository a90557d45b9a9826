// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The sections, in assembly. Beside them is the table in which the signal handler looks up the
//! interrupted instruction. The thread's pointer that it reads is also here.

use core::arch::asm;
use core::ptr;

use crate::protocol::Position;
use crate::record::Record;

#[cfg(not(rlock_replaced))]
mod assembled;
#[cfg(rlock_replaced)]
mod replaced;

#[cfg(not(rlock_replaced))]
pub(crate) use assembled::{add, compare_and_store, store};
#[cfg(rlock_replaced)]
pub(crate) use replaced::{add, compare_and_store, store};

/// What is left of a budget when nothing was committed.
const REFUSED: u32 = u32::MAX;

/// A row of the table: distances from each field's own address.
#[repr(C)]
struct Row {
    /// The first instruction after the flag is set.
    begin: i32,
    /// The first after the commit.
    committed: i32,
    /// The first after the flag is clear.
    end: i32,
    /// The instruction at which a section goes on that fails.
    out: i32,
    /// The first after what a failed section executes.
    out_end: i32,
}

extern "C" {
    #[link_name = "__start_rlock_cs"]
    static TABLE: [Row; 0];
    #[link_name = "__stop_rlock_cs"]
    static TABLE_END: [Row; 0];
}

fn table() -> &'static [Row] {
    // SAFETY: the linker defines both, around the rows of this program or library.
    // There is a row: the one below, if no other code has a section.
    unsafe {
        let begin = ptr::addr_of!(TABLE).cast::<Row>();
        let end = ptr::addr_of!(TABLE_END).cast::<Row>();
        core::slice::from_raw_parts(begin, end.offset_from(begin).unsigned_abs())
    }
}

fn target(field: &i32) -> u64 {
    (ptr::from_ref(field) as u64).wrapping_add_signed(i64::from(*field))
}

/// The addresses of a section, for tests that step through it.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// The first instruction after the flag is set.
    pub begin: u64,
    /// The first after the commit.
    pub committed: u64,
    /// The first after the flag is clear.
    pub end: u64,
    /// The instruction at which a section goes on that fails.
    pub out: u64,
    /// The first after what a failed section executes.
    pub out_end: u64,
}

/// Every section of this program.
pub fn all() -> impl Iterator<Item = Bounds> {
    table().iter().map(|row| Bounds {
        begin: target(&row.begin),
        committed: target(&row.committed),
        end: target(&row.end),
        out: target(&row.out),
        out_end: target(&row.out_end),
    })
}

/// The position of a thread that a signal found at `rip`; and an address. Before a section's
/// commit the thread is to go on there. Else the address is 0.
pub(crate) fn found_at(rip: u64) -> (Position, u64) {
    for section in all() {
        if rip >= section.begin && rip < section.committed {
            return (Position::Before, section.out);
        }
        if rip >= section.committed && rip < section.end
            || rip >= section.out && rip < section.out_end
        {
            return (Position::After, 0);
        }
    }
    (Position::Elsewhere, 0)
}

// A row that no instruction is in: the linker has something to define the table by, also
// in a program that has no section of its own.
core::arch::global_asm!(
    ".pushsection rlock_cs, \"aR\", @progbits",
    ".balign 4",
    ".long 0, 0, 0, 0, 0",
    ".popsection",
);

// The thread's record, by initial-exec TLS: reading it never allocates, in a handler
// of a thread that never used rlock neither. (Rust's own thread_local! would be
// general-dynamic in a shared library.)
core::arch::global_asm!(
    ".pushsection .tbss.rlock_own, \"awT\", @nobits",
    ".balign 8",
    ".globl handover_rlock_own",
    ".hidden handover_rlock_own",
    ".type handover_rlock_own, @object",
    ".size handover_rlock_own, 8",
    "handover_rlock_own:",
    ".zero 8",
    ".popsection",
);

/// The calling thread's record; null before it registers.
#[inline(always)]
pub(crate) fn own() -> *const Record {
    let own: *const Record;
    // SAFETY: reads eight bytes of the thread's own static TLS.
    unsafe {
        asm!(
            "mov {own}, qword ptr [rip + handover_rlock_own@GOTTPOFF]",
            "mov {own}, qword ptr fs:[{own}]",
            own = out(reg) own,
            options(nostack, readonly, preserves_flags),
        );
    }
    own
}

/// Sets the calling thread's record.
pub(crate) fn set_own(own: *const Record) {
    // SAFETY: writes eight bytes of the thread's own static TLS, which nothing else
    // writes.
    unsafe {
        asm!(
            "mov {at}, qword ptr [rip + handover_rlock_own@GOTTPOFF]",
            "mov qword ptr fs:[{at}], {own}",
            at = out(reg) _,
            own = in(reg) own,
            options(nostack, preserves_flags),
        );
    }
}
