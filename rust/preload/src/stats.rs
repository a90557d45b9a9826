// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! How often each function was called.

use core::{
    fmt::Write,
    sync::atomic::{AtomicBool, AtomicU64, AtomicU8, Ordering::Relaxed},
};

use crate::{
    choice::{self, ops},
    clock::now_ns,
    ops::Mutex,
    profile,
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

/// Whether calls are counted: for the statistics, or beside a profile. At first nobody has asked: another library's constructor
/// may call before this one's.
static ON: AtomicU8 = AtomicU8::new(NOT_ASKED);

/// What `ON` holds.
const OFF: u8 = 0;
const YES: u8 = 1;
const NOT_ASKED: u8 = 2;

/// Whether they are told on exit.
static TOLD: AtomicBool = AtomicBool::new(false);

/// Whether calls are counted, or may be.
#[inline(always)]
pub(crate) fn are_on() -> bool {
    ON.load(Relaxed) != OFF
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
    if ON.load(Relaxed) == NOT_ASKED {
        begin();
        if !are_on() {
            return;
        }
    }
    shard().counts[call as usize].fetch_add(1, Relaxed);
}

/// Acquires, and counts. Contended is who finds an owner.
#[cold]
pub(crate) fn lock(mutex: &Mutex) {
    add(Call::Lock);
    let is_contended = (ops().is_locked)(mutex);
    if is_contended {
        add(Call::Contended);
    } else if !profile::is_on() {
        return (ops().lock)(mutex);
    }
    let came = now_ns();
    (ops().lock)(mutex);
    if is_contended {
        shard().longest_wait_ns.fetch_max(now_ns() - came, Relaxed);
    }
    profile::acquired(mutex, Some(came), is_contended);
}

/// Acquires again after a condition variable's wait: no call of the program.
#[cold]
pub(crate) fn lock_again(mutex: &Mutex) {
    let is_contended = (ops().is_locked)(mutex);
    (ops().lock)(mutex);
    profile::acquired(mutex, None, is_contended);
}

/// Acquires if the mutex is free, and counts.
#[cold]
pub(crate) fn try_lock(mutex: &Mutex) -> bool {
    add(Call::TryLock);
    let came = now_ns();
    let acquired = (ops().try_lock)(mutex);
    if acquired {
        profile::acquired(mutex, Some(came), false);
    }
    acquired
}

/// Counts a release that is about to be.
#[cold]
pub(crate) fn releases(mutex: &Mutex) {
    add(Call::Unlock);
    profile::releases(mutex);
}

/// Asks the environment. A second time nothing changes.
pub(crate) fn begin() {
    let on = match choice::variable(c"HANDOVER_STATS").map(|said| said.to_bytes()) {
        None | Some(b"0") => false,
        Some(b"1") => true,
        Some(said) => end(format_args!(
            "HANDOVER_STATS={}: allowed: 0, 1",
            said.escape_ascii()
        )),
    };
    TOLD.store(on, Relaxed);
    let counted = profile::begin() || on;
    ON.store(if counted { YES } else { OFF }, Relaxed);
}

/// A child begins at 0.
pub(crate) fn forget() {
    profile::stop();
    let counted = TOLD.load(Relaxed);
    ON.store(if counted { YES } else { OFF }, Relaxed);
    for shard in &ALL {
        for count in &shard.counts {
            count.store(0, Relaxed);
        }
        shard.longest_wait_ns.store(0, Relaxed);
    }
}

/// Tells on exit. Not of a process that ends by `_exit` or by a signal.
extern "C" fn tell() {
    profile::tell();
    if !TOLD.load(Relaxed) {
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
