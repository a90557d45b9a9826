// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The invalidation diameter: the paper's Fig. 1.

use std::{cell::Cell, rc::Rc};

use handover_locks::{Apart, Awaited, Word};
use hdrhistogram::Histogram;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::{
    bench::{Fault, Outcome, Settings},
    engine::{Counts, Engine, Traffic},
    machine::{ps, Costs},
    world::SimWord,
};

/// One thread adds to a word, again and again, and all others read it.
///
/// The word is alone on its line. The first CPU writes. A reader whose copy was invalidated looks again
/// within the time of a hit: the paper's readers do not pause. The counts of the word are those of the lock.
///
/// # Errors
///
/// [`Fault`]: of the settings. [`Settings::slots`] and the pause are of no account.
///
/// # Examples
///
/// ```
/// use coherence::{diameter, Settings, Workload};
///
/// let rate = |threads| {
///     let settings = Settings::new(Workload::InvalidationDiameter, threads, 1);
///     diameter(&settings).unwrap().millions_a_second()
/// };
/// // Without readers a write is an access that the core's own cache serves: 8 ns.
/// assert!((rate(1) - 125.0).abs() < 1.0);
/// assert!(rate(36) < rate(2));
/// ```
pub fn diameter(settings: &Settings) -> Result<Outcome, Fault> {
    settings.check(false)?;
    let costs = Costs {
        pause: settings.costs.hit,
        ..settings.costs.clone()
    };
    let mut draw = Pcg64Mcg::seed_from_u64(settings.seed);
    let mut engine = Engine::new(settings.topology, costs, draw.random(), 3);
    let word = Rc::new(Apart::new(SimWord::new(0)));
    engine.map(&*word, 0);
    let writes = Rc::new(Cell::new(0));
    let (warm, end) = (
        ps(settings.warm_up),
        ps(settings.warm_up) + ps(settings.time),
    );
    let (its, count, clock) = (word.clone(), writes.clone(), engine.clock());
    engine.run_on_next(0, move || loop {
        its.fetch_add_relaxed(1);
        // The last one may end after the run.
        if clock.now() > warm && clock.now() <= end {
            count.set(count.get() + 1);
        }
    });
    for _ in 1..settings.threads {
        let its = word.clone();
        // Not all at once.
        engine.run_on_next(draw.random_range(0..1_000_000), move || {
            let mut seen = its.load_relaxed();
            loop {
                seen = its.wait_acquire(Awaited::not(seen));
            }
        });
    }
    let before = if warm > 0 {
        engine.run(warm)?;
        engine.counts.clone()
    } else {
        vec![Counts::default(); 3]
    };
    engine.run(end)?;
    let forgotten = engine.forgotten();
    if !forgotten.is_empty() {
        return Err(Fault::Forgotten(forgotten));
    }
    Ok(Outcome {
        acquisitions: vec![writes.get()],
        rounds: writes.get(),
        time: settings.time,
        handovers: Histogram::new(3).expect("three digits"),
        counts: [0, 1, 2].map(|part| engine.counts[part].since(&before[part])),
        contended: 0,
        during: Traffic::default(),
        events: engine.handled,
    })
}
