// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Sleeping until a word is as awaited.
//!
//! A lock's word has no room for "somebody sleeps". A table beside has it: a counter for all words whose addresses have
//! the same hash. A collision costs a releasing operation a system call, nothing else.
//!
//! A sleeper counts itself, then looks at the word. A releasing thread changes the word, then looks at the counter. The two
//! looks must not both miss the changes. A store buffer would let them: each load may overtake the store before it.
//!
//! | # | a releasing thread | a sleeper | why not both miss |
//! |---|---|---|---|
//! | 1 | a RMW of the word, then a load of the counter, both SeqCst | `fetch_add` of the counter, then a load of the word, both SeqCst | all four accesses have one order |
//! | 2 | a swap in place of a store, where there is no barrier | the same | as row 1 |
//! | 3 | a store of the word, release; a compiler fence; a load of the counter, relaxed | between its two accesses a barrier that all threads of the process pass | below |
//!
//! In row 3 a releasing thread passes the sleeper's barrier at one place of three:
//!
//! | place | what holds | by |
//! |---|---|---|
//! | before its store | it sees the sleeper counted | the barrier before membarrier's interrupt, and the interrupt's |
//! | between its store and its load | the same, and the sleeper sees the store | both |
//! | after its load | the sleeper sees the store | the interrupt's barrier, and the one after it |
//!
//! A thread that does not run has passed the barriers of the scheduler. `tests/litmus/park` has each place as a litmus
//! test. `tests/loom` searches this file.
//!
//! A sleeper that sees no change is counted, and woken. It may not sleep yet then. The kernel puts it to sleep only while
//! the word holds what the sleeper saw. One barrier serves all its looks: it stays counted.
//!
//! A releasing thread stores plainly only where it knows of the barrier (`barrier.rs`). A sleeper asks for the kernel's
//! answer before it counts itself. So no sleeper goes without a barrier beside a plain store. The kernel may refuse a
//! barrier later: by a filter of system calls, or for want of memory. The sleeper wakes up by itself then.

use core::{ptr, time::Duration};

use handover_locks::Awaited;

use crate::{
    atomic::{
        compiler_fence, AtomicU32,
        Ordering::{Relaxed, Release, SeqCst},
    },
    barrier::{self, Barrier},
    futex, membarrier, shared,
};

/// How long a sleeper sleeps that has no barrier.
const NAP: Duration = Duration::from_millis(1);

/// The bit of the sleepers that await `value`.
const fn bit(value: u32) -> u32 {
    1 << (value % u32::BITS)
}

/// Sleeps until the word is as `awaited`, and returns what it holds then.
#[cold]
pub(crate) fn sleep(word: &AtomicU32, awaited: Awaited) -> u32 {
    let bits = awaited.fixed(u32::BITS - 1).map_or(u32::MAX, bit);
    let has_barrier = barrier::register();
    let sleepers = shared::sleepers(word);
    // Pairs with the loads in `store` and `wake`.
    sleepers.fetch_add(1, SeqCst);
    let is_told = !has_barrier || membarrier::all();
    let value = loop {
        // Pairs with the store in `store` and with the RMWs before `wake`.
        let value = word.load(SeqCst);
        if awaited.holds(value) {
            break value;
        }
        if is_told {
            futex::wait(word, value, bits);
        } else {
            futex::wait_at_most(word, value, NAP);
        }
    };
    sleepers.fetch_sub(1, Relaxed);
    value
}

/// Stores with release. Wakes those that sleep until the word holds `value`, or another value than it did.
///
/// After the store the word may be gone: its address alone is used.
#[inline(always)]
pub(crate) fn store(word: &AtomicU32, value: u32) {
    let at = ptr::from_ref(word);
    let barrier = Barrier::known();
    if barrier == Barrier::Registered {
        word.store(value, Release);
        // The sleeper's barrier does the rest.
        compiler_fence(SeqCst);
        if shared::sleepers(at).load(Relaxed) != 0 {
            wake_sleepers(at, value);
        }
        return;
    }
    // A store could be overtaken by the look for sleepers.
    word.swap(value, SeqCst);
    wake(at, value);
    if barrier == Barrier::Unknown {
        barrier::register();
    }
}

/// The same after a RMW of the word, SeqCst, that has left `value` in it.
#[inline(always)]
pub(crate) fn wake(word: *const AtomicU32, value: u32) {
    if shared::sleepers(word).load(SeqCst) != 0 {
        wake_sleepers(word, value);
    }
}

#[cold]
fn wake_sleepers(word: *const AtomicU32, value: u32) {
    futex::wake(word, bit(value));
}
