// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Which lock it is.

use core::{
    ffi::CStr,
    fmt, ptr,
    sync::atomic::{
        AtomicPtr, AtomicUsize,
        Ordering::{Acquire, Relaxed, Release},
    },
};

use handover_user::{Clh, Mcs, OneWordTwa, Park, Spin, Ticket, Ttas, Twa, Yield};

use crate::{ops::Ops, said};

macro_rules! locks {
    ($($name:literal => $lock:ident),*) => {
        /// The names that `HANDOVER_LOCK` takes, each with its operations under park, yield and spin.
        static LOCKS: &[(&str, [&Ops; 3])] = &[$(
            ($name, [Ops::of::<Park, $lock<Park>>(), Ops::of::<Yield, $lock<Yield>>(), Ops::of::<Spin, $lock<Spin>>()])
        ),*];
    };
}

locks! {
    "twa" => Twa,
    "ticket" => Ticket,
    "one-word-twa" => OneWordTwa,
    "mcs" => Mcs,
    "clh" => Clh,
    "ttas" => Ttas
}

/// The names that `HANDOVER_WAIT` takes, in the order of a lock's operations.
static WAITS: &[(&str, ())] = &[("park", ()), ("yield", ()), ("spin", ())];

/// What was chosen, by its index.
pub(crate) struct Choice {
    pub(crate) lock: &'static str,
    pub(crate) wait: &'static str,
}

/// The operations; null before the first call.
static OPS: AtomicPtr<Ops> = AtomicPtr::new(ptr::null_mut());

/// What was chosen: the lock's index times the ways to wait, and the way's. It is stored before `OPS`.
static CHOSEN: AtomicUsize = AtomicUsize::new(0);

/// The chosen lock's operations.
#[inline(always)]
pub(crate) fn ops() -> &'static Ops {
    // Acquire, pairs with the release in `choose`.
    let ops = OPS.load(Acquire);
    if ops.is_null() {
        return choose();
    }
    // SAFETY: Only `choose` stores into it.
    unsafe { &*ops }
}

/// Reads the environment. The loader may run the program's constructors before this library's. All threads choose the same.
#[cold]
fn choose() -> &'static Ops {
    let [lock, wait] = chosen();
    CHOSEN.store(lock * WAITS.len() + wait, Relaxed);
    let ops = LOCKS[lock].1[wait];
    OPS.store(ptr::from_ref(ops).cast_mut(), Release);
    ops
}

/// What the environment says: the indices of the lock and of the way to wait.
fn chosen() -> [usize; 2] {
    [
        named(c"HANDOVER_LOCK", LOCKS),
        named(c"HANDOVER_WAIT", WAITS),
    ]
}

/// The names of lock and waiting, whatever the program has done to its environment since.
pub(crate) fn names() -> Choice {
    ops();
    let index = CHOSEN.load(Relaxed);
    let [lock, wait] = [index / WAITS.len(), index % WAITS.len()];
    Choice {
        lock: LOCKS[lock].0,
        wait: WAITS[wait].0,
    }
}

/// What a variable of the environment holds.
pub(crate) fn variable(name: &CStr) -> Option<&'static CStr> {
    // SAFETY: The name ends with 0. Who changes the environment meanwhile breaks each program, not this one alone.
    let value = unsafe { libc::getenv(name.as_ptr()) };
    // SAFETY: The environment's strings end with 0.
    (!value.is_null()).then(|| unsafe { CStr::from_ptr(value) })
}

/// The index of what the variable names; the first where it is not set.
fn named<T>(variable_name: &CStr, all: &[(&str, T)]) -> usize {
    let Some(said) = variable(variable_name) else {
        return 0;
    };
    all.iter()
        .position(|(name, _)| name.as_bytes() == said.to_bytes())
        .unwrap_or_else(|| {
            said::end(format_args!(
                "{}={}: allowed: {}",
                variable_name.to_str().unwrap_or_default(),
                Text(said),
                Names(all)
            ))
        })
}

/// The names, by comma.
struct Names<'a, T>(&'a [(&'a str, T)]);

impl<T> fmt::Display for Names<'_, T> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, (name, _)) in self.0.iter().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(to, "{comma}{name}")?;
        }
        Ok(())
    }
}

/// Bytes of somebody else, on one line.
struct Text<'a>(&'a CStr);

impl fmt::Display for Text<'_> {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}", self.0.to_bytes().escape_ascii())
    }
}
