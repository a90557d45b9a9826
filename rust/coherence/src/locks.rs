// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The locks that can be named. One of your own is a line here.

use handover_locks::{
    for_each_lock, Apart, Busted, Clh, Make, Mcs, OneWordTwa, Qspin, RawLock, Ticket, Ttas, Twa,
};

use crate::{
    bench::{run, run_with},
    diameter::diameter,
    Fault, Outcome, Settings, Sim, SimWord as Word,
};

/// A lock that can be named.
#[derive(Clone, Copy, Debug)]
pub struct Lock {
    /// Its name.
    pub name: &'static str,
    /// What it is.
    pub about: &'static str,
    /// Whether two owners never overlap.
    pub excludes: bool,
    /// Whether it admits in the order of arrival.
    pub is_fifo: bool,
    /// TWA's threshold, where the lock has one.
    pub threshold: Option<u32>,
    /// Runs a benchmark with it.
    pub run: fn(&Settings) -> Result<Outcome, Fault>,
}

macro_rules! locks {
    ($($name:ident: $lock:ty = $kind:ident, $about:literal;)*) => {
        /// All of them.
        pub const LOCKS: &[Lock] = &[
            $(Lock {
                name: stringify!($name),
                about: $about,
                excludes: <$lock as RawLock<Sim>>::EXCLUDES,
                is_fifo: <$lock as RawLock<Sim>>::FIFO,
                threshold: threshold(stringify!($name)),
                run: run::<$lock>,
            },)*
            Lock {
                name: "ticket_apart",
                about: "the ticket lock with its words on two lines",
                excludes: true,
                is_fifo: true,
                threshold: None,
                run: |settings| run_with(settings, |first| apart::<Ticket<Apart<Word>>>(first)),
            },
            Lock {
                name: "twa_apart",
                about: "TWA with its words on two lines",
                excludes: true,
                is_fifo: true,
                threshold: Some(1),
                run: |settings| run_with(settings, |first| apart::<Twa<Apart<Word>>>(first)),
            },
            far::<0>("twa_threshold_0", "TWA whose waiters all wait on slots at first"),
            far::<2>("twa_threshold_2", "TWA whose first two waiters wait on grant"),
            far::<4>("twa_threshold_4", "TWA whose first four waiters wait on grant"),
            far::<8>("twa_threshold_8", "TWA whose first eight waiters wait on grant"),
        ];
    };
}

for_each_lock!(locks);

/// The paper's threshold.
const fn threshold(name: &str) -> Option<u32> {
    match name.as_bytes() {
        b"twa" | b"one_word_twa" => Some(1),
        _ => None,
    }
}

/// TWA with another threshold.
const fn far<const THRESHOLD: u32>(name: &'static str, about: &'static str) -> Lock {
    Lock {
        name,
        about,
        excludes: true,
        is_fifo: true,
        threshold: Some(THRESHOLD),
        run: run::<Twa<Word, THRESHOLD>>,
    }
}

fn apart<L: Make<Apart<Word>>>(first: u32) -> L {
    L::make(first, |value| Apart::new(Word::new(value)))
}

/// What runs the invalidation diameter.
pub const NO_LOCK: Lock = Lock {
    name: "none",
    about: "no lock: a thread that writes a word, and others that read it",
    excludes: false,
    is_fifo: false,
    threshold: None,
    run: diameter,
};

/// The lock of this name.
pub fn lock(name: &str) -> Option<&'static Lock> {
    LOCKS
        .iter()
        .chain([&NO_LOCK])
        .find(|lock| lock.name == name)
}
