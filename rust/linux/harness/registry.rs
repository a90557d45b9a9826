// SPDX-License-Identifier: GPL-2.0-only

//! The locks that can be named: a new one has a line in `locks.tsv` and its type in [`LOCKS`].

use super::{
    shim::ThreadFn,
    subject::{BustedSpin, KernelSpin, LockCell, Subject},
    writer,
};
use crate::spin::{KernelTicket, KernelTwa, SpinBackend};

/// A lock that can be named.
#[derive(Clone, Copy)]
pub(crate) struct Entry {
    /// Its name in `torture_type`.
    pub(crate) name: &'static str,
    /// What it is and promises, for people.
    pub(crate) about: &'static str,
    /// Whether it is a lock at all; `all` means those that are.
    pub(crate) excludes: bool,
    /// Whether it has tickets, which it admits in order.
    pub(crate) fifo: bool,
    /// Makes a free lock with this first ticket, in a cell that is not in use.
    pub(crate) init: fn(&mut LockCell, u32),
    /// What a writer's kthread runs.
    pub(crate) writer: ThreadFn,
}

/// The list that people and scripts read, too. A line has a name, `lock` or `control`,
/// and what the lock promises, with tabs between; `#` begins a comment.
const LIST: &[u8] = include_bytes!("locks.tsv");

/// The first of `bytes` up to `end`, and what comes behind that.
const fn cut(bytes: &'static [u8], end: u8) -> (&'static [u8], &'static [u8]) {
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at] == end {
            return (bytes.split_at(at).0, bytes.split_at(at + 1).1);
        }
        at += 1;
    }
    (bytes, &[])
}

/// Whether the two are the same; `==` is not for constants.
pub(super) const fn same(one: &[u8], other: &[u8]) -> bool {
    let mut at = 0;
    while at < one.len() && at < other.len() && one[at] == other[at] {
        at += 1;
    }
    at == one.len() && at == other.len()
}

/// Whether the list has `name` as a lock, and what it promises.
const fn listed(name: &str) -> (bool, &'static str) {
    let mut rest = LIST;
    while !rest.is_empty() {
        let (line, behind) = cut(rest, b'\n');
        let (first, more) = cut(line, b'\t');
        if same(first, name.as_bytes()) {
            let (kind, about) = cut(more, b'\t');
            assert!(same(kind, b"lock") || same(kind, b"control"));
            return match core::str::from_utf8(about) {
                Ok(about) => (same(kind, b"lock"), about),
                Err(_) => panic!("locks.tsv is no text"),
            };
        }
        rest = behind;
    }
    panic!("a lock of LOCKS has no line in locks.tsv");
}

/// How many locks are listed.
const fn count() -> usize {
    let (mut rest, mut count) = (LIST, 0);
    while !rest.is_empty() {
        let (line, behind) = cut(rest, b'\n');
        count += (!line.is_empty() && line[0] != b'#') as usize;
        rest = behind;
    }
    count
}

impl Entry {
    const fn new<S: Subject>(name: &'static str) -> Self {
        let (is_lock, about) = listed(name);
        if is_lock != S::EXCLUDES {
            panic!("locks.tsv takes a control for a lock, or a lock for a control");
        }
        Self {
            name,
            about,
            excludes: S::EXCLUDES,
            fifo: S::FIFO,
            init: |cell, first| {
                // SAFETY: The cell is big enough and no other thread uses it.
                unsafe { S::init(cell.state::<S>(), first) }
            },
            writer: writer::writer::<S>,
        }
    }
}

/// Every lock, in the order of `all`.
pub(crate) static LOCKS: &[Entry] = {
    // Under PREEMPT_RT spin_lock() is another lock, which sleeps.
    if ALL.len() + cfg!(CONFIG_PREEMPT_RT) as usize != count() {
        panic!("a line of locks.tsv has no lock in LOCKS");
    }
    ALL
};

const ALL: &[Entry] = &[
    Entry::new::<SpinBackend<KernelTwa>>("twa"),
    Entry::new::<SpinBackend<KernelTicket>>("ticket"),
    #[cfg(not(CONFIG_PREEMPT_RT))]
    Entry::new::<KernelSpin>("spin_lock"),
    Entry::new::<KernelSpin>("raw_spin_lock"),
    Entry::new::<BustedSpin>("busted"),
];
