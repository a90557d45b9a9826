// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The locks that can be named. One of your own is a line here.

use handover_locks::{
    for_each_lock, Apart, Busted, Clh, Make, Mcs, OneWordTwa, Qspin, RawLock, Ticket, Ttas, Twa,
};

use crate::{
    bench::{run, run_with},
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
    /// Runs the benchmark with it.
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
                run: run::<$lock>,
            },)*
            Lock {
                name: "ticket_apart",
                about: "the ticket lock with its words on two lines",
                excludes: true,
                is_fifo: true,
                run: |settings| run_with(settings, |first| apart::<Ticket<Apart<Word>>>(first)),
            },
            Lock {
                name: "twa_apart",
                about: "TWA with its words on two lines",
                excludes: true,
                is_fifo: true,
                run: |settings| run_with(settings, |first| apart::<Twa<Apart<Word>>>(first)),
            },
        ];
    };
}

for_each_lock!(locks);

fn apart<L: Make<Apart<Word>>>(first: u32) -> L {
    L::make(first, |value| Apart::new(Word::new(value)))
}

/// The lock of this name.
pub fn lock(name: &str) -> Option<&'static Lock> {
    LOCKS.iter().find(|lock| lock.name == name)
}
