// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The protocol, once, for the crate and for the model checker. It is what an owner, a canceller
//! and a signal handler do to the words they share.
//!
//! After Khuong, *Relaxed revocable locks: mutual exclusion modulo preemption* (2017), with three
//! changes. First, generation, 'cancelled', 'signalled' and 'acknowledged' are one word, changed by
//! compare-and-swap. No two of them can disagree. Second, an ownership is given up only as a whole:
//! the generation advances. A section therefore need not read the lock, whose word stays as long as
//! the generation is valid. Third, a thread that was sent a signal is believed to have run the
//! handler only if [`Victim::will_handle`] says so.
//!
//! # The section
//!
//! An owner's store is a *section*, these accesses in this order, by plain
//! instructions:
//!
//! 1. `section := ownership` (the flag);
//! 2. `state`, compared with the ownership: unequal leads to 4;
//! 3. the store (the commit);
//! 4. `section := 0`.
//!
//! Nothing orders 1 before 2 for other CPUs: x86 lets the load pass the store. A canceller gets
//! that order from the victim's CPU: a context switch or a membarrier. A signal handler that
//! interrupts after 1 and before the end of 3 goes to 4 instead ([`on_signal`]).
//!
//! # Orderings
//!
//! | access | ordering | pairs with |
//! |---|---|---|
//! | canceller: `state` to CANCELLED | `cmpxchg` (full) | the victim's barrier: either its load in 2 sees this, or its flag of 1 is seen below |
//! | canceller: `section` | `load_acquire` after the victim's barrier | 4 and 1: what a victim committed is seen by a canceller that finds the flag clear |
//! | canceller: `state` when the ownership is dead | `load_acquire` | [`advance`]'s and [`on_signal`]'s release: the victim's commits are seen |
//! | owner: [`advance`] | `cmpxchg` (full) | as above; and a handler's or canceller's change is not lost |
//! | handler: ACKNOWLEDGED | `fetch_or` (full) | as above |
//! | owner: `lock` to its ownership | `cmpxchg` (full) | the same of the owner before: what that one read of the data is over |
//! | owner: `lock` | `load_acquire` | the `cmpxchg` that wrote it |

use crate::word::{standing, Ownership, Standing, ACKNOWLEDGED, CANCELLED, SIGNALLED};

/// A 64-bit cell shared between threads. The names carry the ordering; those
/// without one are full barriers.
pub trait Word {
    /// Reads. Orders nothing.
    fn load_relaxed(&self) -> u64;
    /// Reads. What follows in program order stays after it.
    fn load_acquire(&self) -> u64;
    /// Writes. Orders nothing.
    fn store_relaxed(&self, value: u64);
    /// Writes. What precedes in program order stays before it.
    fn store_release(&self, value: u64);
    /// Writes `new` if the value is `old`. Says what it was otherwise.
    fn cmpxchg(&self, old: u64, new: u64) -> Result<(), u64>;
    /// Sets bits; returns the value before.
    fn fetch_or(&self, bits: u64) -> u64;
}

/// What threads share of an owner's record.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Shared<W> {
    /// The ownership that is valid now, and its flags. Written by all.
    pub state: W,
    /// The flag: an ownership while a section is under way, else 0. Written by the owner's thread
    /// alone while it lives.
    pub section: W,
}

/// What a canceller can learn of and do to the victim's thread.
pub trait Victim {
    /// Whether it is proven that the victim's thread went through a full barrier between the call
    /// and the return. A context switch is one, and a membarrier. In doubt `false`.
    fn passed_barrier(&mut self) -> bool;

    /// Sends the signal. When this returns `Ok`, the signal is pending or handled.
    fn signal(&mut self) -> Result<(), Busy>;

    /// Called after [`signal`](Self::signal). Whether two things are proven of the victim's thread.
    /// With the signal pending, it was outside user mode between the call and the return. It runs
    /// the handler before it goes on in the section that it may be in. In doubt `false`.
    fn will_handle(&mut self) -> bool;
}

/// Why a lock was not acquired or an owner not cancelled. All of them leave the
/// owner asked to give up, so that a later attempt may well succeed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Busy {
    /// No proof that the owner's thread is not running. It probably runs on another CPU, and did
    /// not notice by itself.
    #[error("the owner may be running; waiting (Until) or a barrier (Strict) may end it")]
    Running,
    /// The owner's thread stands in a section and does not answer. It is stopped, traced, faulting,
    /// or its signal is blocked.
    #[error("the owner stands in a section and does not answer")]
    InSection,
    /// Strict and without an answer at the deadline; the owner ran all the time.
    #[error("the owner did not leave its section by the deadline")]
    Deadline,
    /// The calling thread is itself in a section: a signal handler interrupted one.
    #[error("the calling thread is inside a section, of which this is a signal handler")]
    Nested,
    /// The signal could not be sent, or its handler is no longer rlock's.
    #[error("the owner's thread cannot be signalled")]
    NoSignal,
    /// A child of `fork` that did not run `fork`'s handlers, or a process that shares
    /// this one's memory.
    #[error("this process is a copy of, or shares memory with, the one that owns the records")]
    OtherProcess,
    /// No memory for another instance of per-CPU data.
    #[error("no memory for another instance")]
    NoMemory,
    /// The thread's record is used up, and there is no other.
    #[error("no owner's record is left")]
    NoRecord,
    /// The kernel refuses the membarrier that a strict cancel needs.
    #[error("membarrier is not to be had")]
    NoBarrier,
}

/// How an ownership ended, as far as its canceller knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cancelled {
    /// It was dead already, or its owner answered by itself.
    Before,
    /// Its owner was found outside sections: an eviction.
    Outside,
    /// Its owner was found in a section, and sent away from it: a hard eviction.
    Inside,
}

/// Asks for the end of `ownership`. `None` when it is dead already, otherwise
/// whether a signal was sent since it was asked.
fn ask<W: Word>(victim: &Shared<W>, ownership: Ownership) -> Option<bool> {
    let mut state = victim.state.load_acquire();
    loop {
        match standing(state, ownership) {
            Standing::Dead => return None,
            Standing::Cancelled { signalled } => return Some(signalled),
            Standing::Valid => match victim.state.cmpxchg(state, state | CANCELLED) {
                Ok(()) => return Some(false),
                Err(now) => state = now,
            },
        }
    }
}

/// Whether the victim said itself that no store of `ownership` is to come.
fn answered<W: Word>(victim: &Shared<W>, ownership: Ownership) -> bool {
    standing(victim.state.load_acquire(), ownership) == Standing::Dead
}

/// Sends the signal, and says so in the word.
fn send<W: Word>(
    victim: &Shared<W>,
    ownership: Ownership,
    thread: &mut impl Victim,
) -> Result<(), Busy> {
    // First the signal, then the word that says so. A canceller that reads SIGNALLED may
    // rely on it.
    thread.signal()?;
    let mut state = victim.state.load_relaxed();
    while standing(state, ownership) == (Standing::Cancelled { signalled: false }) {
        match victim.state.cmpxchg(state, state | SIGNALLED) {
            Ok(()) => break,
            Err(now) => state = now,
        }
    }
    Ok(())
}

/// Cancels `ownership`, or fails if the victim runs and cannot be proven to have
/// noticed. After `Ok` its owner commits nothing under it, and what it committed is
/// seen.
///
/// Never waits. Sends no signal unless the victim was interrupted inside a section.
pub fn cancel<W: Word>(
    victim: &Shared<W>,
    ownership: Ownership,
    thread: &mut impl Victim,
) -> Result<Cancelled, Busy> {
    if ask(victim, ownership).is_none() {
        return Ok(Cancelled::Before);
    }
    if !thread.passed_barrier() {
        return if answered(victim, ownership) {
            Ok(Cancelled::Before)
        } else {
            Err(Busy::Running)
        };
    }
    // The barrier came after 'cancelled': a section that began before it has its flag
    // seen here, one that begins after it sees 'cancelled'.
    if victim.section.load_acquire() == 0 {
        return Ok(Cancelled::Outside);
    }
    // Its own signal, whatever was sent before: that one may have come to a handler that
    // is no longer there, or to a tracer that kept it.
    send(victim, ownership, thread)?;
    if thread.will_handle() || answered(victim, ownership) {
        return Ok(Cancelled::Inside);
    }
    // It may have left the section since.
    if victim.section.load_acquire() == 0 {
        return Ok(Cancelled::Outside);
    }
    Err(Busy::InSection)
}

/// Cancels `ownership` without belief in what the system says of a thread. Only a barrier on the
/// victim's CPU and an answer count. `barrier` makes every running thread of the process pass a
/// full barrier. `wait` pauses, and says why when it is time to give up.
pub fn cancel_strictly<W: Word>(
    victim: &Shared<W>,
    ownership: Ownership,
    thread: &mut impl Victim,
    barrier: impl FnOnce() -> Result<(), Busy>,
    mut wait: impl FnMut() -> Result<(), Busy>,
) -> Result<Cancelled, Busy> {
    if ask(victim, ownership).is_none() {
        return Ok(Cancelled::Before);
    }
    barrier()?;
    if victim.section.load_acquire() == 0 {
        return Ok(Cancelled::Outside);
    }
    // Here only an answer counts: one signal is enough. Also when there can be none, a
    // running victim leaves its section.
    let sent = match standing(victim.state.load_acquire(), ownership) {
        Standing::Cancelled { signalled: false } => send(victim, ownership, thread),
        _ => Ok(()),
    };
    loop {
        if answered(victim, ownership) || victim.section.load_acquire() == 0 {
            return Ok(Cancelled::Inside);
        }
        wait().map_err(|why| sent.err().unwrap_or(why))?;
    }
}

/// Makes `lock` the property of `mine`. `cancel` is to end the ownership that it is
/// given, the lock's present one. After `Ok`, and as long as `mine` is valid, the lock's word
/// stays.
///
/// Costs one load when it is `mine` already.
pub fn acquire<W: Word>(
    lock: &W,
    mine: Ownership,
    mut cancel: impl FnMut(Ownership) -> Result<(), Busy>,
) -> Result<(), Busy> {
    let mut held = lock.load_acquire();
    while held != mine.bits() {
        let owner = Ownership::from_bits(held);
        if owner != Ownership::NOBODY {
            cancel(owner)?;
        }
        match lock.cmpxchg(held, mine.bits()) {
            Ok(()) => break,
            Err(now) => held = now,
        }
    }
    Ok(())
}

/// Ends the owner's present generation, and with it all that it owns. By the owner,
/// outside sections. Returns the next one; `None` when the record is used up.
pub fn advance<W: Word>(own: &Shared<W>) -> Option<Ownership> {
    let mut state = own.state.load_relaxed();
    loop {
        let now = Ownership::from_bits(state);
        let next = now.next();
        let new = next.map_or_else(|| now.retired(), Ownership::bits);
        // Not unconditionally: a handler of this thread may have come between, with a
        // generation of its own that was cancelled since.
        match own.state.cmpxchg(state, new) {
            Ok(()) => return next,
            Err(changed) => state = changed,
        }
    }
}

/// The section, access for access, for worlds without assembly. `boundary` is called between
/// accesses, with the place where a signal would find the thread. It says whether to abort there.
/// Returns whether `commit` was called.
///
/// The assembly's order of accesses is compared with this one's by single-stepping
/// (`tests/step`).
pub fn section<W: Word>(
    own: &Shared<W>,
    mine: Ownership,
    commit: impl FnOnce(),
    mut boundary: impl FnMut(Position) -> Action,
) -> bool {
    own.section.store_relaxed(mine.bits());
    let valid = boundary(Position::Before) != Action::Abort
        && own.state.load_relaxed() == mine.bits()
        && boundary(Position::Before) != Action::Abort;
    if valid {
        commit();
        boundary(Position::After);
    }
    own.section.store_release(0);
    valid
}

/// The position at which a signal handler found its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Position {
    /// After the flag was set and before the commit: the section can be left out.
    Before,
    /// After the commit, or where a section goes that failed: nothing is to come,
    /// though the flag is still set.
    After,
    /// The thread is in no section's code.
    Elsewhere,
}

/// What a signal handler has to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Nothing.
    Return,
    /// Go on where the section fails, without the commit.
    Abort,
    /// Come again when the interrupted handler has returned. That handler interrupted a section,
    /// which only then can be left out.
    Defer,
}

/// The signal handler, in the owner's thread.
pub fn on_signal<W: Word>(own: &Shared<W>, place: Position) -> Action {
    if own.state.load_acquire() & CANCELLED == 0 {
        return Action::Return;
    }
    let action = match place {
        Position::Before => Action::Abort,
        Position::After => Action::Return,
        Position::Elsewhere if own.section.load_relaxed() != 0 => return Action::Defer,
        Position::Elsewhere => Action::Return,
    };
    own.state.fetch_or(ACKNOWLEDGED);
    action
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    /// A word of one thread, whose signal handler comes after its first load.
    #[derive(Default)]
    struct Interrupted {
        value: Cell<u64>,
        /// What the handler leaves.
        left: Cell<Option<u64>>,
    }

    impl Word for Interrupted {
        fn load_relaxed(&self) -> u64 {
            let value = self.value.get();
            if let Some(left) = self.left.take() {
                self.value.set(left);
            }
            value
        }
        fn load_acquire(&self) -> u64 {
            self.value.get()
        }
        fn store_relaxed(&self, value: u64) {
            self.value.set(value);
        }
        fn store_release(&self, value: u64) {
            self.value.set(value);
        }
        fn cmpxchg(&self, old: u64, new: u64) -> Result<(), u64> {
            if self.value.get() != old {
                return Err(self.value.get());
            }
            self.value.set(new);
            Ok(())
        }
        fn fetch_or(&self, bits: u64) -> u64 {
            self.value.replace(self.value.get() | bits)
        }
    }

    /// A handler comes while its thread's generation ends. It begins and uses the next one, which
    /// is cancelled. The interrupted end must not make that valid again.
    #[test]
    fn an_end_does_not_revive_a_cancelled_generation() {
        let first = Ownership::new(1, 7);
        let second = first.next().unwrap();
        let own = Shared::<Interrupted>::default();
        own.state.value.set(first.bits() | CANCELLED);
        own.state.left.set(Some(second.bits() | CANCELLED));
        let now = advance(&own).unwrap();
        assert_eq!(own.state.value.get(), now.bits());
        assert_eq!(standing(own.state.value.get(), second), Standing::Dead);
    }
}
