// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What a cancellation costs the canceller, by mode and by what the victim does.

use std::error::Error;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use hdrhistogram::Histogram;
use rlock::protocol::Shared;
use rlock::{Busy, Cancel, Lock, Owner, Slot};

use crate::machine::{self, Machine};

struct Cost {
    mode: &'static str,
    victim: &'static str,
    ns: Histogram<u64>,
    succeeded: u64,
    tried: u64,
}

fn mode(name: &str) -> Cancel {
    match name {
        "try" => Cancel::Try,
        _ => Cancel::strictly_within(Duration::from_secs(1)),
    }
}

impl Cost {
    fn new(mode: &'static str, victim: &'static str) -> Self {
        Self {
            mode,
            victim,
            ns: Histogram::new(3).expect("three digits"),
            succeeded: 0,
            tried: 0,
        }
    }

    /// Cancels once, and counts it if `counts` says so of the moment before.
    fn once(&mut self, lock: &Lock<Slot>, counts: impl FnOnce() -> bool) -> Result<(), Busy> {
        let counts = counts();
        let mode = mode(self.mode);
        let from = Instant::now();
        let result = lock.cancel(mode);
        let ns = from.elapsed().as_nanos() as u64;
        if counts {
            self.ns.record(ns).expect("it grows");
            self.tried += 1;
            self.succeeded += u64::from(result.is_ok());
        }
        result
    }
}

/// A victim that owns the lock, sleeps, and owns it again.
fn sleeping(cost: &mut Cost, machine: &Machine, samples: u64) {
    let lock = Lock::new(Slot::new(0));
    let (turn, stop) = (AtomicU64::new(0), AtomicBool::new(false));
    let tid = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let (lock, turn, stop, tid) = (&lock, &turn, &stop, &tid);
        let victim = scope.spawn(move || {
            machine.bind(1);
            tid.store(machine::tid(), Ordering::Release);
            let owner = Owner::register().expect("registered");
            while !stop.load(Ordering::Relaxed) {
                drop(owner.acquire(lock).expect("cancelled before"));
                turn.fetch_add(1, Ordering::Release);
                std::thread::park();
            }
        });
        machine.bind(0);
        for sample in 1..=samples {
            while turn.load(Ordering::Acquire) < sample {
                std::hint::spin_loop();
            }
            machine::until_asleep(tid.load(Ordering::Acquire));
            // A canceller seldom comes from a look at the same files: not with warm caches.
            std::thread::sleep(Duration::from_micros(50));
            let _ = cost.once(lock, || true);
            victim.thread().unpark();
        }
        stop.store(true, Ordering::Relaxed);
        victim.thread().unpark();
    });
}

/// A victim that owns the lock all the time and stores, on CPU `on`; `rest` passes
/// between two cancellations. `counts`: whether the victim's words make a sample.
fn busy(
    cost: &mut Cost,
    machine: &Machine,
    on: usize,
    rest: Duration,
    samples: u64,
    counts: Counts,
    tell: &mut dyn FnMut(u64),
) {
    let lock = Lock::new(Slot::new(0));
    let stop = AtomicBool::new(false);
    let own = AtomicPtr::new(std::ptr::null_mut());
    let acquired = AtomicU64::new(0);
    std::thread::scope(|scope| {
        let (lock, stop, own, acquired) = (&lock, &stop, &own, &acquired);
        scope.spawn(move || {
            machine.bind(on);
            let owner = Owner::register().expect("registered");
            own.store(
                std::ptr::from_ref(rlock::testing::own()).cast_mut(),
                Ordering::Release,
            );
            while !stop.load(Ordering::Relaxed) {
                let mut token = owner.acquire(lock).expect("nobody else's");
                acquired.fetch_add(1, Ordering::Release);
                while token.store(|slot| slot, 1).is_ok() {}
            }
        });
        machine.bind(0);
        let own = loop {
            // SAFETY: null or a record's words, which stay.
            match unsafe { own.load(Ordering::Acquire).as_ref() } {
                Some(own) => break own,
                None => std::thread::yield_now(),
            }
        };
        let from = Instant::now();
        let mut seen = 0;
        while cost.tried < samples && from.elapsed() < Duration::from_secs(20) {
            if rest.is_zero() {
                while acquired.load(Ordering::Acquire) == seen {
                    std::hint::spin_loop();
                }
                seen = acquired.load(Ordering::Acquire);
            } else {
                std::thread::sleep(rest);
            }
            let _ = cost.once(lock, || counts(lock, own));
            tell(cost.tried);
        }
        stop.store(true, Ordering::Relaxed);
    });
}

/// Which moments make a sample: the victim owns the lock, and no end of it has been
/// asked for yet.
type Counts = fn(&Lock<Slot>, &Shared<AtomicU64>) -> bool;

fn owns(lock: &Lock<Slot>, own: &Shared<AtomicU64>) -> bool {
    own.state.load(Ordering::Relaxed) == rlock::testing::word(lock)
}

fn in_section(lock: &Lock<Slot>, own: &Shared<AtomicU64>) -> bool {
    owns(lock, own) && own.section.load(Ordering::Relaxed) != 0
}

fn outside(lock: &Lock<Slot>, own: &Shared<AtomicU64>) -> bool {
    owns(lock, own) && own.section.load(Ordering::Relaxed) == 0
}

pub(crate) fn run(out: &Path, machine: &Machine) -> Result<(), Box<dyn Error>> {
    const SAMPLES: u64 = 2000;
    const STRICT_RUNNING: u64 = 100_000;
    let two = machine.cpus.len() > 1;
    let mut costs = Vec::new();
    for name in ["try", "strict"] {
        eprintln!("bench-rlock: cancellations, {name}");
        let mut cost = Cost::new(name, "sleeping");
        sleeping(&mut cost, machine, SAMPLES);
        costs.push(cost);
        // On the canceller's CPU: as it wakes, it takes the CPU from the victim.
        let rest = Duration::from_micros(300);
        let mut cost = Cost::new(name, "preempted");
        busy(&mut cost, machine, 0, rest, SAMPLES, outside, &mut |_| {});
        costs.push(cost);
        let mut cost = Cost::new(name, "in_section");
        busy(
            &mut cost,
            machine,
            0,
            rest,
            SAMPLES,
            in_section,
            &mut |_| {},
        );
        costs.push(cost);
        if two {
            let mut cost = Cost::new(name, "running");
            let samples = if name == "strict" {
                STRICT_RUNNING
            } else {
                SAMPLES
            };
            let mut tell = |tried: u64| {
                if tried % 20_000 == 0 && tried > 0 {
                    eprintln!("bench-rlock: cancellations, {name} of running: {tried}");
                }
            };
            busy(
                &mut cost,
                machine,
                1,
                Duration::ZERO,
                samples,
                owns,
                &mut tell,
            );
            costs.push(cost);
        }
    }
    let mut csv = csv::Writer::from_path(out.join("rlock-cancel.csv"))?;
    csv.write_record(["mode", "victim", "median_ns", "p99_ns"])?;
    println!("| cancel | victim | median ns | p99 ns | succeeded |");
    println!("|---|---|---|---|---|");
    for cost in &costs {
        let (median, p99) = (
            cost.ns.value_at_quantile(0.5),
            cost.ns.value_at_quantile(0.99),
        );
        csv.write_record([
            cost.mode,
            cost.victim,
            &median.to_string(),
            &p99.to_string(),
        ])?;
        println!(
            "| {} | {} | {median} | {p99} | {} of {} |",
            cost.mode, cost.victim, cost.succeeded, cost.tried
        );
    }
    csv.flush()?;
    Ok(all_answered(&costs, STRICT_RUNNING)?)
}

/// An error unless `due` strict cancellations of a running victim succeeded, where it was tried.
fn all_answered(costs: &[Cost], due: u64) -> Result<(), String> {
    let strict = costs
        .iter()
        .find(|c| (c.mode, c.victim) == ("strict", "running"));
    match strict.filter(|c| c.succeeded != due) {
        None => Ok(()),
        Some(cost) => Err(format!(
            "{} of {due} strict cancellations of a running victim succeeded",
            cost.succeeded
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cost(mode: &'static str, victim: &'static str, succeeded: u64) -> Cost {
        let mut cost = Cost::new(mode, victim);
        (cost.succeeded, cost.tried) = (succeeded, 10);
        cost
    }

    #[test]
    fn a_strict_cancellation_that_fails_is_an_error() {
        let others = || [cost("try", "running", 3), cost("strict", "sleeping", 3)];
        let with = |succeeded| {
            let mut costs = Vec::from(others());
            costs.push(cost("strict", "running", succeeded));
            all_answered(&costs, 10)
        };
        assert_eq!(with(10), Ok(()));
        let error = "9 of 10 strict cancellations of a running victim succeeded";
        assert_eq!(with(9), Err(error.to_owned()));
        assert!(with(0).is_err());
        // With one CPU no victim runs meanwhile.
        assert_eq!(all_answered(&others(), 10), Ok(()));
    }
}
