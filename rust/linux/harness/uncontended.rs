// SPDX-License-Identifier: GPL-2.0-only

//! The uncontended pair: what `lock` and `unlock` cost one thread alone.
//!
//! Every lock has a loop in a function of its own. All loops run in turn, so
//! that a disturbance hits all. Ours and the binding go through the public
//! types; the kernel's own is called as C calls it.

use super::{
    pairs::{index_of, Sample, NAMES, PAIRS},
    plan::Plan,
    shim,
    subject::LockCell,
    text::put,
};
use crate::{
    measure::{order, statistics::per_second},
    spin::{new_ticket_lock, new_twa_lock, TicketBackend, TwaBackend},
};
use core::pin::Pin;
use kernel::{
    bindings::raw_spinlock,
    fmt::{self, Formatter},
    new_spinlock,
    prelude::*,
    sync::lock::{spinlock::SpinLockBackend, Backend, Lock},
};

/// The columns of `uncontended`.
const HEADER: &str = "lock,run,pairs,ns";

/// A lock alone in its cache lines.
#[pin_data]
#[repr(align(128))]
struct Apart<B: Backend> {
    #[pin]
    lock: Lock<(), B>,
}

impl<B: Backend> Apart<B> {
    fn new(lock: impl PinInit<Lock<(), B>>) -> Result<Pin<KBox<Self>>> {
        KBox::pin_init(pin_init!(Self { lock <- lock }), GFP_KERNEL)
    }
}

/// The measured loop for a lock with a guard.
#[inline(never)]
#[link_section = ".text.handover"]
fn guarded_pairs<B: Backend>(lock: &Lock<(), B>) {
    for _ in 0..PAIRS {
        drop(lock.lock());
    }
}

/// The measured loop for the kernel's lock, as C calls it.
///
/// # Safety
///
/// `lock` must be initialised.
#[inline(never)]
#[link_section = ".text.handover"]
unsafe fn raw_pairs(lock: *mut raw_spinlock) {
    for _ in 0..PAIRS {
        // SAFETY: By this function's contract.
        unsafe { shim::raw_spin_lock(lock) };
        // SAFETY: Locked above.
        unsafe { shim::raw_spin_unlock(lock) };
    }
}

/// Every lock, free, and one unmeasured round done.
pub(crate) struct Bench {
    twa: Pin<KBox<Apart<TwaBackend>>>,
    ticket: Pin<KBox<Apart<TicketBackend>>>,
    spin: Pin<KBox<Apart<SpinLockBackend>>>,
    raw: KBox<LockCell>,
    asked: [bool; NAMES.len()],
}

impl Bench {
    /// Makes a bench for the locks of `plan`. All are there; only those are timed.
    pub(crate) fn new(plan: &Plan) -> Result<Self> {
        let mut asked = [false; NAMES.len()];
        for index in plan.locks().filter_map(index_of) {
            asked[index] = true;
        }
        let bench = Self {
            asked,
            twa: Apart::new(new_twa_lock!((), "handover_bench_twa"))?,
            ticket: Apart::new(new_ticket_lock!((), "handover_bench_ticket"))?,
            spin: Apart::new(new_spinlock!((), "handover_bench_spin"))?,
            raw: KBox::new(LockCell::new(), GFP_KERNEL)?,
        };
        // SAFETY: The cell is big enough for a raw spinlock, and no thread uses it.
        unsafe { shim::handover_raw_spin_init(bench.raw.raw_state()) };
        bench.sample(0);
        Ok(bench)
    }

    /// One run of each lock, beginning with the one at `first`, counted around.
    pub(crate) fn sample(&self, first: usize) -> Sample {
        let mut sample = Sample::default();
        for index in order::from(first, NAMES.len()) {
            if !self.asked[index] {
                continue;
            }
            let ns = match index {
                0 => time(|| guarded_pairs(&self.twa.lock)),
                1 => time(|| guarded_pairs(&self.ticket.lock)),
                // SAFETY: `new` initialised it.
                2 => time(|| unsafe { raw_pairs(self.raw.raw_state()) }),
                _ => time(|| guarded_pairs(&self.spin.lock)),
            };
            sample[index] = Some(ns);
        }
        sample
    }
}

fn time(pairs: impl FnOnce()) -> u64 {
    // SAFETY: No lock is held.
    unsafe { shim::handover_cond_resched() };
    let from = shim::now_ns();
    pairs();
    shim::now_ns().saturating_sub(from)
}

/// The locks that a run timed.
fn timed(sample: &Sample) -> impl Iterator<Item = (&'static str, u64)> + '_ {
    let each = NAMES.into_iter().zip(sample);
    each.filter_map(|(name, ns)| Some((name, (*ns)?)))
}

/// `uncontended`: CSV, a row per lock and run.
pub(crate) fn results(samples: &[Sample], f: &mut Formatter<'_>) -> fmt::Result {
    put!(f, "{HEADER}\n")?;
    for (run, sample) in samples.iter().enumerate() {
        for (name, ns) in timed(sample) {
            put!(f, "{},{},{},{}\n", name, run + 1, PAIRS, ns)?;
        }
    }
    Ok(())
}

/// The same to dmesg, as rates.
pub(crate) fn print(sample: &Sample) {
    for (name, ns) in timed(sample) {
        let rate = per_second(PAIRS.into(), ns);
        pr_info!("uncontended {name}: {rate} pairs/s\n");
    }
}
