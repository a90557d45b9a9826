// SPDX-License-Identifier: GPL-2.0-only

//! Ticket and TWA spinlocks for a kernel module.
//!
//! This folder and `rust/locks` are all that another module copies. They expect
//! to be `crate::spin` and `crate::locks`, and `shim.o` to be linked. The macros are in scope
//! at the crate's root; elsewhere they are taken from here.
//!
//! | file | what |
//! |---|---|
//! | `word.rs` | the 32-bit cell, the waiting array |
//! | `nodes.rs` | each CPU's nodes for queue locks |
//! | `lock.rs` | [`TicketLock`], [`TwaLock`], `new_lock!` for any other: `Backend`s with preemption and lockdep |
//! | `irq.rs` | [`TicketLockIrq`], [`TwaLockIrq`], `new_lock_irq!`: the same for interrupt handlers |
//! | `global.rs` | a ticket or TWA lock in a `static` |
//! | `shim.c`, `shim.rs` | what Rust cannot reach, and its declarations |

mod global;
mod irq;
mod lock;
pub(crate) mod nodes;
pub(crate) mod shim;
pub(crate) mod word;

pub use self::global::global_spin_lock;
pub use self::irq::{
    new_lock_irq, new_ticket_lock_irq, new_twa_lock_irq, InterruptsOff, LockWith, TicketIrqBackend,
    TicketLockIrq, TicketLockIrqGuard, TwaIrqBackend, TwaLockIrq, TwaLockIrqGuard,
};
pub use self::lock::{
    new_lock, new_ticket_lock, new_twa_lock, Off, PreemptionOff, SpinBackend, SpinRaw, SpinState,
    TicketBackend, TicketLock, TicketLockGuard, Token, TwaBackend, TwaLock, TwaLockGuard,
};
pub use self::word::{KernelTicket, KernelTwa, Linux, Word};
