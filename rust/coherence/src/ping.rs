// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A word that two CPUs hand to each other: what one transfer of a line takes.

use std::{cell::Cell, rc::Rc};

use handover_locks::{Apart, Awaited, Word};

use crate::{
    engine::Engine,
    machine::{ps, Costs, Topology},
    world::SimWord,
};

/// The time from a CPU's store to the other's, in nanoseconds: the mean of so many turns.
///
/// The machine's first two CPUs wait in turn for their number, and store the next one. Nothing else runs. `examples/ping_pong.rs` does the same on two CPUs of the host.
///
/// # Panics
///
/// The machine has one CPU, or there is no turn.
///
/// # Examples
///
/// ```
/// use coherence::{ping_pong, Costs};
///
/// let [sibling, socket, far] = ["1x1x2", "1x2x1", "2x1x1"]
///     .map(|topology| ping_pong(topology.parse().unwrap(), &Costs::default(), 100));
/// assert!(sibling < socket && socket < far);
/// ```
pub fn ping_pong(topology: Topology, costs: &Costs, turns: u32) -> f64 {
    assert!(topology.cpus() >= 2 && turns > 0, "two CPUs and a turn");
    let mut engine = Engine::new(topology, costs.clone(), 1, 1);
    let word = Rc::new(Apart::new(SimWord::new(0)));
    engine.map(&*word, 0);
    let last = Rc::new(Cell::new(0));
    for first in 0..2 {
        let (word, last, clock) = (word.clone(), last.clone(), engine.clock());
        engine.run_on_next(0, move || {
            for mine in (first..turns).step_by(2) {
                word.wait_acquire(Awaited::is(mine));
                last.set(clock.now());
                word.store_release(mine + 1);
            }
        });
    }
    // Long after the last turn.
    let end = ps(1e6) * u64::from(turns);
    engine.run(end).expect("each turn comes");
    last.get() as f64 / 1000.0 / f64::from(turns)
}
