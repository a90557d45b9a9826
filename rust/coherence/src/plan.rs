// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Many runs: every lock with every number of threads on every machine, on all of the host's CPUs.

use std::{
    collections::BTreeMap,
    num::NonZero,
    sync::{
        atomic::{AtomicUsize, Ordering::Relaxed},
        mpsc,
    },
    thread,
};

use crate::{
    bench::Settings,
    locks::Lock,
    machine::{Costs, Topology},
    row::{row, COLUMNS},
    workload::Workload,
};

/// What is run: each lock with each number of threads, each array and each machine.
#[derive(Clone, Debug)]
pub struct Plan {
    /// What the threads do.
    pub workload: Workload,
    /// The machines' shape.
    pub topology: Topology,
    /// The locks.
    pub locks: Vec<&'static Lock>,
    /// Numbers of threads.
    pub threads: Vec<u32>,
    /// Slots of the waiting array.
    pub slots: Vec<u32>,
    /// The machines' costs.
    pub machines: Vec<Costs>,
    /// How long nothing is counted, in nanoseconds.
    pub warm_up: f64,
    /// How long each run is after that, in nanoseconds.
    pub time: f64,
    /// The seed of each run.
    pub seed: u64,
}

/// A run of a plan.
#[derive(Clone, Debug)]
pub struct Run {
    /// The lock.
    pub lock: &'static Lock,
    /// The number of the machine.
    pub machine: usize,
    /// All else.
    pub settings: Settings,
}

impl Run {
    /// Runs it.
    ///
    /// # Errors
    ///
    /// One line that names the lock, the threads and the fault.
    pub fn row(&self) -> Result<[String; COLUMNS.len()], String> {
        let Self {
            lock,
            machine,
            settings,
        } = self;
        let outcome = (lock.run)(settings)
            .map_err(|fault| format!("{} with {} threads: {fault}", lock.name, settings.threads))?;
        Ok(row(lock, *machine, settings, &outcome))
    }
}

impl Plan {
    /// Its runs, in the order of the table.
    pub fn runs(&self) -> Vec<Run> {
        let mut runs = Vec::new();
        for &lock in &self.locks {
            for &threads in &self.threads {
                for &slots in &self.slots {
                    for (machine, costs) in self.machines.iter().enumerate() {
                        runs.push(Run {
                            lock,
                            machine,
                            settings: Settings {
                                topology: self.topology,
                                costs: costs.clone(),
                                threads,
                                workload: self.workload,
                                slots,
                                warm_up: self.warm_up,
                                time: self.time,
                                seed: self.seed,
                            },
                        });
                    }
                }
            }
        }
        runs
    }

    /// Whether each run can be: nothing runs where one cannot.
    ///
    /// # Errors
    ///
    /// One line that says what is wrong.
    pub fn check(&self) -> Result<(), String> {
        for run in self.runs() {
            let has_lock = run.lock.name != crate::locks::NO_LOCK.name;
            run.settings
                .check(has_lock)
                .map_err(|fault| fault.to_string())?;
        }
        Ok(())
    }
}

/// The rows of these runs, in their order, each as soon as those before it are there.
///
/// The runs share nothing, so the rows are the same whatever the number of the host's CPUs.
///
/// # Errors
///
/// The first run that fails, or what `take` returns.
pub fn rows<E: From<String>>(
    runs: &[Run],
    mut take: impl FnMut(&[String; COLUMNS.len()]) -> Result<(), E>,
) -> Result<(), E> {
    let next = AtomicUsize::new(0);
    let at_once = thread::available_parallelism().map_or(1, NonZero::get);
    thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for _ in 0..at_once.min(runs.len()) {
            let (sender, next) = (sender.clone(), &next);
            scope.spawn(move || {
                loop {
                    let mine = next.fetch_add(1, Relaxed);
                    // The other side has gone where a run failed.
                    match runs.get(mine) {
                        Some(run) if sender.send((mine, run.row())).is_ok() => {}
                        _ => return,
                    }
                }
            });
        }
        drop(sender);
        let (mut early, mut due) = (BTreeMap::new(), 0);
        for (mine, row) in receiver {
            early.insert(mine, row);
            while let Some(row) = early.remove(&due) {
                take(&row?)?;
                due += 1;
            }
        }
        assert_eq!(due, runs.len(), "each run has a row");
        Ok(())
    })
}
