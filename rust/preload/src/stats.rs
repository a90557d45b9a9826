// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! How often each function was called.

use core::{
    fmt::Write,
    sync::atomic::{AtomicBool, AtomicU64, Ordering::Relaxed},
};

use crate::{
    choice::{self, ops},
    ops::Mutex,
    said::{end, Line},
};

macro_rules! calls {
    ($($call:ident $name:literal,)*) => {
        /// What is counted.
        #[derive(Clone, Copy)]
        pub(crate) enum Call { $($call),* }

        /// Their names, in the same order.
        const NAMES: &[&str] = &[$($name),*];
    };
}

calls! {
    Lock "locks",
    Contended "contended",
    TryLock "try_locks",
    TimedLock "timed_locks",
    Unlock "unlocks",
    Wait "cond_waits",
    TimedWait "cond_timed_waits",
    Signal "cond_signals",
    Broadcast "cond_broadcasts",
    LeftMutex "left_mutexes",
    LeftCond "left_conds",
}

/// Counters for the threads whose stacks have one hash.
#[repr(align(128))]
struct Shard {
    counts: [AtomicU64; NAMES.len()],
    longest_wait_ns: AtomicU64,
}

/// A power of two.
const SHARDS: usize = 64;

static ALL: [Shard; SHARDS] = [const {
    Shard {
        counts: [const { AtomicU64::new(0) }; NAMES.len()],
        longest_wait_ns: AtomicU64::new(0),
    }
}; SHARDS];

static ON: AtomicBool = AtomicBool::new(false);

/// Whether calls are counted.
#[inline(always)]
pub(crate) fn are_on() -> bool {
    ON.load(Relaxed)
}

fn shard() -> &'static Shard {
    let here = 0u8;
    let hash = ((&raw const here).addr() as u64 >> 16).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    &ALL[(hash >> (64 - SHARDS.trailing_zeros())) as usize]
}

/// Counts a call.
#[inline(always)]
pub(crate) fn count(call: Call) {
    if are_on() {
        add(call);
    }
}

#[cold]
fn add(call: Call) {
    shard().counts[call as usize].fetch_add(1, Relaxed);
}

/// Acquires, and counts. Contended is who finds an owner.
#[cold]
pub(crate) fn lock(mutex: &Mutex) {
    add(Call::Lock);
    if !(ops().is_locked)(mutex) {
        return (ops().lock)(mutex);
    }
    add(Call::Contended);
    let begin = now_ns();
    (ops().lock)(mutex);
    shard().longest_wait_ns.fetch_max(now_ns() - begin, Relaxed);
}

fn now_ns() -> u64 {
    let mut now = libc::timespec {
        tv_sec: 0,
        tv_nsec: 0,
    };
    // SAFETY: The clock is always there.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &raw mut now) };
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Whether the environment asks for it.
pub(crate) fn begin() {
    let on = match choice::variable(c"HANDOVER_STATS").map(|said| said.to_bytes()) {
        None | Some(b"0") => false,
        Some(b"1") => true,
        Some(said) => end(format_args!(
            "HANDOVER_STATS={}: allowed: 0, 1",
            said.escape_ascii()
        )),
    };
    ON.store(on, Relaxed);
}

/// A child begins at 0.
pub(crate) fn forget() {
    for shard in &ALL {
        for count in &shard.counts {
            count.store(0, Relaxed);
        }
        shard.longest_wait_ns.store(0, Relaxed);
    }
}

/// Tells on exit. Not of a process that ends by `_exit` or by a signal.
extern "C" fn tell() {
    if !are_on() {
        return;
    }
    let names = choice::names();
    let mut line = Line::new();
    let _ = write!(line, "handover: lock={} wait={}", names.lock, names.wait);
    for (index, name) in NAMES.iter().enumerate() {
        let sum: u64 = ALL
            .iter()
            .map(|shard| shard.counts[index].load(Relaxed))
            .sum();
        let _ = write!(line, " {name}={sum}");
    }
    let longest = ALL
        .iter()
        .map(|shard| shard.longest_wait_ns.load(Relaxed))
        .max();
    let _ = write!(line, " longest_wait_ns={}", longest.unwrap_or(0));
    line.say();
}

#[used]
#[link_section = ".fini_array"]
static AT_EXIT: extern "C" fn() = tell;
