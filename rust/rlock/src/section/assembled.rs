// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The sections in assembly. Each is the accesses of [`protocol`](crate::protocol) in its order, by
//! plain instructions, and adds a row to the table.

use core::arch::asm;
use core::mem::offset_of;
use core::ptr;
use core::sync::atomic::AtomicU64;

use super::REFUSED;
use crate::protocol::Shared;
use crate::record::Record;
use crate::word::Ownership;

const STATE: usize = offset_of!(Record, shared) + offset_of!(Shared<AtomicU64>, state);
const SECTION: usize = offset_of!(Record, shared) + offset_of!(Shared<AtomicU64>, section);

/// One section: takes one from the budget and, if `mine` is valid, executes `$check` and `$commit`.
/// `2:`, `3:`, `4:`, `5:`, `8:` bound it as [`Row`](super::Row) says. Failures go out of line. `5:`
/// is where revoked sections go, and where the handler leads. From `$check` they go to `6:`, for
/// `$different`. Without budget nothing is begun, and the subtraction leaves [`REFUSED`].
macro_rules! section {
    ($record:expr, $mine:expr, $budget:expr,
     [$($check:literal),*], $commit:literal, [$($different:literal),*], $($operand:tt)*) => {
        // SAFETY: `record` is a record of the table, which is never unmapped, and the
        // calling thread's own; the operands' memory is that of live atomics. The
        // accesses are those that the protocol describes. The stack is not used;
        // memory and flags count as clobbered.
        unsafe {
            asm!(
                "sub {budget:e}, 1",
                "jb 4f",
                "mov qword ptr [{record} + {section}], {mine}",
                "2:",
                "cmp qword ptr [{record} + {state}], {mine}",
                "jne 5f",
                $($check,)*
                $commit,
                "3:",
                "mov qword ptr [{record} + {section}], 0",
                "4:",
                ".pushsection rlock_out, \"ax\", @progbits",
                "5:",
                "mov {budget:e}, {refused}",
                "6:",
                $($different,)*
                "mov qword ptr [{record} + {section}], 0",
                "jmp 4b",
                "8:",
                ".popsection",
                ".pushsection rlock_cs, \"aR\", @progbits",
                ".balign 4",
                ".long 2b - .",
                ".long 3b - .",
                ".long 4b - .",
                ".long 5b - .",
                ".long 8b - .",
                ".popsection",
                budget = inout(reg) *$budget,
                record = in(reg) ptr::from_ref::<Record>($record),
                mine = in(reg) $mine.bits(),
                state = const STATE,
                section = const SECTION,
                refused = const REFUSED,
                $($operand)*
                options(nostack),
            );
        }
    };
}

/// Writes `value` to `slot` if `mine` is valid and there is budget. `None` when it did not.
#[inline(always)]
pub(crate) fn store(
    record: &Record,
    mine: Ownership,
    budget: &mut u32,
    slot: &AtomicU64,
    value: u64,
) -> Option<()> {
    section!(record, mine, budget, [], "mov qword ptr [{slot}], {value}", [],
        slot = in(reg) slot.as_ptr(), value = in(reg) value,);
    (*budget != REFUSED).then_some(())
}

/// Adds `value` to `slot` if `mine` is valid and there is budget. `None` when it did not.
#[inline(always)]
pub(crate) fn add(
    record: &Record,
    mine: Ownership,
    budget: &mut u32,
    slot: &AtomicU64,
    value: u64,
) -> Option<()> {
    section!(record, mine, budget, [], "add qword ptr [{slot}], {value}", [],
        slot = in(reg) slot.as_ptr(), value = in(reg) value,);
    (*budget != REFUSED).then_some(())
}

/// Writes `value` to `slot` if `mine` is valid, there is budget, and the slot is
/// `expected`. `None` when refused, otherwise whether it was `expected` (and is `value`
/// now).
#[inline(always)]
pub(crate) fn compare_and_store(
    record: &Record,
    mine: Ownership,
    budget: &mut u32,
    slot: &AtomicU64,
    expected: u64,
    value: u64,
) -> Option<bool> {
    let mut different = 0_u32;
    section!(record, mine, budget,
        ["cmp qword ptr [{slot}], {expected}", "jne 6f"],
        "mov qword ptr [{slot}], {value}",
        ["mov {different:e}, 1"],
        slot = in(reg) slot.as_ptr(), value = in(reg) value,
        expected = in(reg) expected, different = inout(reg) different,);
    if *budget == REFUSED {
        return None;
    }
    Some(different == 0)
}
