// SPDX-License-Identifier: GPL-2.0-only

//! The uncontended pair: what `lock` and `unlock` cost one thread alone.
//!
//! Every lock has two loops, each in a function of its own. One lies in the page of the functions that
//! our locks call, the other in a page without them. All loops run in turn, so that a disturbance
//! hits all. Ours and the binding go through the public types; the kernel's own is called as C calls it.

use super::{
    pairs::{Layout, PAIRS},
    plan::Plan,
    registry::LOCKS,
    shim,
    subject::LockCell,
    text::put,
};
use crate::measure::{order, statistics::per_second};
use kernel::{
    fmt::{self, Formatter},
    prelude::*,
};

/// The columns of `uncontended`.
const HEADER: &str = "lock,shape,layout,run,pairs,ns,turn";

/// `PAIRS` pairs of a lock in a layout.
#[derive(Clone, Copy, Default)]
pub(crate) struct Timed {
    /// The nanoseconds that they took.
    ns: u64,
    /// Which of the run's they were, from 1 on.
    turn: u32,
}

/// A run: what was timed in each layout, of each lock that was asked for.
pub(crate) type Sample = [Option<[Timed; Layout::ALL.len()]>; LOCKS.len()];

/// The locks that are timed, free, and one unmeasured round done.
pub(crate) struct Bench(KVec<(usize, LockCell)>);

impl Bench {
    /// Makes a bench for the locks of `plan`.
    pub(crate) fn new(plan: &Plan) -> Result<Self> {
        let mut cells = KVec::with_capacity(LOCKS.len(), GFP_KERNEL)?;
        for (index, lock) in LOCKS.iter().enumerate() {
            if plan.locks().any(|asked| core::ptr::eq(asked, lock)) {
                cells.push((index, LockCell::new()), GFP_KERNEL)?;
            }
        }
        // Where they are now they stay.
        for (index, cell) in cells.iter_mut() {
            (LOCKS[*index].init)(cell, 0, 0);
        }
        let bench = Self(cells);
        bench.sample(0);
        Ok(bench)
    }

    /// One run of each lock, beginning with the one at `first`, counted around.
    pub(crate) fn sample(&self, first: usize) -> Sample {
        let mut sample = Sample::default();
        let mut turn = 0;
        for at in order::from(first, self.0.len()) {
            let (index, cell) = &self.0[at];
            let lock = &LOCKS[*index];
            // SAFETY: `new` made that lock in the cell.
            let time = |layout| time(|| unsafe { (lock.pairs)(cell, layout) });
            // The layouts take turns being first.
            let mut timed = [Timed::default(); Layout::ALL.len()];
            for layout in order::from(first, timed.len()) {
                turn += 1;
                let ns = time(Layout::ALL[layout]);
                timed[layout] = Timed { ns, turn };
            }
            sample[*index] = Some(timed);
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

/// The rows of a run: lock, shape, layout, and what was timed.
fn rows(
    sample: &Sample,
) -> impl Iterator<Item = (&'static str, &'static str, &'static str, Timed)> + '_ {
    let each = LOCKS.iter().zip(sample);
    let timed = each.filter_map(|(lock, timed)| Some((lock, (*timed)?)));
    timed.flat_map(|(lock, timed)| {
        let each = Layout::ALL.into_iter().zip(timed);
        each.map(|(layout, timed)| (lock.name, lock.shape.name(), layout.name(), timed))
    })
}

/// `uncontended`: CSV, a row per lock, layout and run.
pub(crate) fn results(samples: &[Sample], f: &mut Formatter<'_>) -> fmt::Result {
    put!(f, "{HEADER}\n")?;
    for (run, sample) in samples.iter().enumerate() {
        for (name, shape, layout, Timed { ns, turn }) in rows(sample) {
            put!(
                f,
                "{},{},{},{},{},{},{}\n",
                name,
                shape,
                layout,
                run + 1,
                PAIRS,
                ns,
                turn
            )?;
        }
    }
    Ok(())
}

/// The same to dmesg, as rates.
pub(crate) fn print(sample: &Sample) {
    for (name, shape, layout, Timed { ns, .. }) in rows(sample) {
        let rate = per_second(PAIRS.into(), ns);
        pr_info!("uncontended {name} ({shape}, {layout}): {rate} pairs/s\n");
    }
}
