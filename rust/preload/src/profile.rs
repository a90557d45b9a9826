// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The mutexes that a program uses most: how long each is held, and how long a thread leaves it alone.
//!
//! A hold begins when a thread has acquired, and ends when it is about to release. A condition variable's wait ends one hold
//! and begins another. A gap begins with a thread's release, and ends with the same thread's next call for the same mutex.
//! The time in which it waits for the mutex is in neither. A simulator takes both for the times inside and outside a section.

use core::{
    cell::Cell,
    fmt::Write,
    sync::atomic::{
        AtomicBool, AtomicU64, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};
use std::{
    ffi::OsStr,
    fs, io,
    os::unix::ffi::OsStrExt,
    path::{self, PathBuf},
    process,
    sync::OnceLock,
};

use crate::{
    choice,
    clock::now_ns,
    ops::Mutex,
    said::{end, Line},
    symbol::Symbols,
};

/// Times by their logarithm: place `k` counts those of at least 2^k ns and less than 2^(k+1). The first has 0, and the
/// last all longer ones.
const PLACES: usize = 40;

/// How often, and how long in all.
struct Times {
    sum_ns: AtomicU64,
    counts: [AtomicU64; PLACES],
}

impl Times {
    const fn new() -> Self {
        Self {
            sum_ns: AtomicU64::new(0),
            counts: [const { AtomicU64::new(0) }; PLACES],
        }
    }

    fn add(&self, ns: u64) {
        let place = (u64::BITS - 1 - ns.max(1).leading_zeros()) as usize;
        self.sum_ns.fetch_add(ns, Relaxed);
        self.counts[place.min(PLACES - 1)].fetch_add(1, Relaxed);
    }

    /// `12:3 14:1` of three times of 2^12 ns and one of 2^14.
    fn histogram(&self) -> String {
        let mut text = String::new();
        for (place, count) in self.counts.iter().enumerate() {
            let count = count.load(Relaxed);
            if count > 0 {
                let space = if text.is_empty() { "" } else { " " };
                let _ = write!(text, "{space}{place}:{count}");
            }
        }
        text
    }
}

/// A mutex that was used.
struct Used {
    /// Where it is; 0 where this place of the table is free.
    address: AtomicUsize,
    calls: AtomicU64,
    contended: AtomicU64,
    /// When its owner acquired; 0 without an owner. The owner alone accesses it.
    since: AtomicU64,
    hold: Times,
    gap: Times,
}

/// A power of two. Where a mutex would lie, and the next ones.
const TABLE: usize = 4096;
const TRIES: usize = 32;

static ALL: [Used; TABLE] = [const {
    Used {
        address: AtomicUsize::new(0),
        calls: AtomicU64::new(0),
        contended: AtomicU64::new(0),
        since: AtomicU64::new(0),
        hold: Times::new(),
        gap: Times::new(),
    }
}; TABLE];

/// The calls for mutexes that found no place.
static OTHERS: AtomicU64 = AtomicU64::new(0);

/// The rows of the file.
const ROWS: usize = 100;

static ON: AtomicBool = AtomicBool::new(false);

/// The file.
static FILE: OnceLock<PathBuf> = OnceLock::new();

/// The mutexes that this thread released last: where each is, and when.
const REMEMBERED: usize = 64;

thread_local! {
    static LEFT: [Cell<(usize, u64)>; REMEMBERED] = const { [const { Cell::new((0, 0)) }; REMEMBERED] };
}

/// A number of `bits` bits, by the address.
const fn hash(address: usize, bits: u32) -> usize {
    ((address as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> (u64::BITS - bits)) as usize
}

/// Whether times are taken.
#[inline(always)]
pub(crate) fn is_on() -> bool {
    ON.load(Relaxed)
}

/// The mutex's place in the table, which it takes if it has none.
fn used(mutex: &Mutex) -> Option<&'static Used> {
    let address = core::ptr::from_ref(mutex).addr();
    let first = hash(address, TABLE.trailing_zeros());
    for at in first..first + TRIES {
        let used = &ALL[at % TABLE];
        let here = used.address.load(Relaxed);
        if here == address {
            return Some(used);
        }
        if here == 0 {
            match used.address.compare_exchange(0, address, Relaxed, Relaxed) {
                Ok(_) => return Some(used),
                Err(other) if other == address => return Some(used),
                Err(_) => {}
            }
        }
    }
    None
}

/// The mutex was acquired by a call that came at `came`, in nanoseconds. After a condition variable's wait there is no such time.
pub(crate) fn acquired(mutex: &Mutex, came: Option<u64>, contended: bool) {
    if !is_on() {
        return;
    }
    let Some(used) = used(mutex) else {
        OTHERS.fetch_add(1, Relaxed);
        return;
    };
    used.calls.fetch_add(1, Relaxed);
    used.contended.fetch_add(u64::from(contended), Relaxed);
    if let Some(came) = came {
        let address = core::ptr::from_ref(mutex).addr();
        LEFT.with(|left| {
            let (whose, when) = left[hash(address, REMEMBERED.trailing_zeros())].get();
            if whose == address {
                used.gap.add(came.saturating_sub(when));
            }
        });
    }
    used.since.store(now_ns(), Relaxed);
}

/// The owner is about to release the mutex.
pub(crate) fn releases(mutex: &Mutex) {
    if !is_on() {
        return;
    }
    let Some(used) = used(mutex) else {
        return;
    };
    let since = used.since.load(Relaxed);
    if since == 0 {
        return;
    }
    used.since.store(0, Relaxed);
    let now = now_ns();
    used.hold.add(now - since);
    let address = core::ptr::from_ref(mutex).addr();
    LEFT.with(|left| left[hash(address, REMEMBERED.trailing_zeros())].set((address, now)));
}

/// Whether the environment asks for it.
pub(crate) fn begin() -> bool {
    let Some(said) = choice::variable(c"HANDOVER_PROFILE") else {
        return false;
    };
    // Absolute, as the program may go to another folder.
    let Ok(file) = path::absolute(OsStr::from_bytes(said.to_bytes())) else {
        end(format_args!("HANDOVER_PROFILE=: needed: a file's path"));
    };
    let _ = FILE.set(file);
    ON.store(true, Release);
    true
}

/// A child that a fork makes has no profile: its parent's would be lost.
pub(crate) fn stop() {
    ON.store(false, Relaxed);
}

/// The rows: who was called most comes first.
fn table() -> String {
    let mut rows: Vec<&Used> = ALL
        .iter()
        .filter(|used| used.calls.load(Relaxed) > 0)
        .collect();
    rows.sort_by_key(|used| core::cmp::Reverse(used.calls.load(Relaxed)));
    let rest: u64 = rows
        .iter()
        .skip(ROWS)
        .map(|used| used.calls.load(Relaxed))
        .sum();
    let symbols = Symbols::of_this_process();
    let mut text = "address,symbol,calls,contended,hold_ns,gap_ns,hold,gap\n".to_owned();
    for used in rows.iter().take(ROWS) {
        let address = used.address.load(Relaxed);
        let _ = writeln!(
            text,
            "{address:#x},{},{},{},{},{},{},{}",
            symbols.name(address),
            used.calls.load(Relaxed),
            used.contended.load(Relaxed),
            used.hold.sum_ns.load(Relaxed),
            used.gap.sum_ns.load(Relaxed),
            used.hold.histogram(),
            used.gap.histogram(),
        );
    }
    let others = rest + OTHERS.load(Relaxed);
    if others > 0 {
        let _ = writeln!(text, ",others,{others},,,,,");
    }
    text
}

/// Writes beside the file, then puts it in place: a file is whole, whichever process ends last.
fn write() -> io::Result<()> {
    let Some(file) = FILE.get() else {
        return Ok(());
    };
    let mut beside = file.clone().into_os_string();
    beside.push(format!(".{}", process::id()));
    fs::write(&beside, table())?;
    fs::rename(&beside, file)
}

/// Tells on exit.
pub(crate) fn tell() {
    // Acquire, pairs with the release in `begin`.
    if !ON.load(Acquire) {
        return;
    }
    stop();
    if let Err(why) = write() {
        let mut line = Line::new();
        let _ = write!(line, "handover: the profile was not written: {why}");
        line.say();
    }
}
