// SPDX-License-Identifier: GPL-2.0

//! The uncontended pair: what `lock` and `unlock` cost when nobody else comes.
//!
//! Every lock has a loop in a function of its own, and all loops run in turn,
//! so that what disturbs one disturbs all. Ours and the binding go through the
//! public types; the kernel's own is called as C calls it.

use super::{
    new_ticket_lock, new_twa_lock, report::put, shim, subject::LockCell, torture::per_second,
    TicketBackend, TwaBackend,
};
use core::pin::Pin;
use kernel::{
    bindings::raw_spinlock,
    fmt::{self, Formatter},
    new_spinlock,
    prelude::*,
    sync::lock::{spinlock::SpinLockBackend, Backend, Lock},
};

/// Pairs a sample: some tens of milliseconds.
const PAIRS: u32 = 300_000;

/// The columns of `uncontended`.
const HEADER: &str = "lock,run,pairs,ns";

/// The rows' names; `raw_spin_lock` is called directly, `SpinLock` through the
/// kernel's Rust binding.
pub(crate) const NAMES: [&str; 4] = ["twa", "ticket", "raw_spin_lock", "SpinLock"];

/// A run: the nanoseconds that `PAIRS` pairs took, of each lock.
pub(crate) type Sample = [u64; NAMES.len()];

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
}

impl Bench {
    pub(crate) fn new() -> Result<Self> {
        let bench = Self {
            twa: Apart::new(new_twa_lock!((), "handover_bench_twa"))?,
            ticket: Apart::new(new_ticket_lock!((), "handover_bench_ticket"))?,
            spin: Apart::new(new_spinlock!((), "handover_bench_spin"))?,
            raw: KBox::new(LockCell::new(), GFP_KERNEL)?,
        };
        // SAFETY: The cell is big enough for a raw spinlock, and nobody uses it.
        unsafe { shim::handover_raw_spin_init(bench.raw.raw_state()) };
        bench.sample(0);
        Ok(bench)
    }

    /// One run of each lock, beginning with the one at `first`, counted around.
    pub(crate) fn sample(&self, first: usize) -> Sample {
        let mut sample = Sample::default();
        for turn in first..first.saturating_add(NAMES.len()) {
            let index = turn % NAMES.len();
            sample[index] = match index {
                0 => time(|| guarded_pairs(&self.twa.lock)),
                1 => time(|| guarded_pairs(&self.ticket.lock)),
                // SAFETY: `new` initialised it.
                2 => time(|| unsafe { raw_pairs(self.raw.raw_state()) }),
                _ => time(|| guarded_pairs(&self.spin.lock)),
            };
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

/// `uncontended`: CSV, a row per lock and run.
pub(crate) fn results(samples: &[Sample], f: &mut Formatter<'_>) -> fmt::Result {
    put!(f, "{HEADER}\n")?;
    for (run, sample) in samples.iter().enumerate() {
        for (name, ns) in NAMES.iter().zip(sample) {
            put!(f, "{},{},{},{}\n", name, run + 1, PAIRS, ns)?;
        }
    }
    Ok(())
}

/// The same to dmesg, as rates.
pub(crate) fn print(sample: &Sample) {
    for (name, &ns) in NAMES.iter().zip(sample) {
        let rate = per_second(PAIRS.into(), ns);
        pr_info!("uncontended {name}: {rate} pairs/s\n");
    }
}
