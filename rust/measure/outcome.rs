// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What a run came to, as a line of the log and as a row.

use super::{
    lock::Listed,
    perturb::{Perturbations, Perturbed},
    statistics::{is_unfair, per_second},
    text::{Millionths, Thousandths},
    verdict::{self, Verdict},
    words::Checks,
};
use core::fmt::{self, Display, Formatter};

/// What a run came to.
#[derive(Clone, Copy, Debug)]
pub struct Outcome<L: 'static> {
    /// The lock that the writers were on.
    pub lock: &'static L,
    /// How many writers there were.
    pub writers: u32,
    /// The run's number, from 1 on.
    pub run: u32,
    /// The time in which all writers ran.
    pub ns: u64,
    /// Acquisitions in that time, of all writers.
    pub acquisitions: u64,
    /// The least acquisitions of a writer.
    pub min: u64,
    /// The most acquisitions of a writer.
    pub max: u64,
    /// Jain's index of the writers' acquisitions, in millionths.
    pub jain_ppm: u64,
    /// How often the owner word was another's.
    pub owner_failures: u64,
    /// How far the plain counter was from the sum of acquisitions.
    pub counter_failures: u64,
    /// How often a ticket was out of order.
    pub order_failures: u64,
    /// Writers that stalled.
    pub progress_failures: u64,
    /// How often a writer waited too long.
    pub wait_failures: u64,
    /// How often a lock told a writer that it would wait for ever.
    pub deadlock_failures: u64,
    /// Writers, or threads that perturb them, that could not be stopped.
    pub hung: u64,
    /// Time that the hypervisor took from all CPUs.
    pub steal_ns: u64,
    /// Steps in the section, as the writers were told them.
    pub cs_steps: u32,
    /// The bound of the steps outside, as the writers were told it.
    pub ncs_steps: u32,
    /// The checks, as the writers were told them.
    pub checks: Checks,
    /// The seconds that were asked for; `ns` is what they came to.
    pub duration: u32,
    /// After so many seconds without an acquisition a writer has stalled.
    pub stall_secs: u32,
    /// The experiment's seed, to which the run's number is added.
    pub seed: u64,
    /// The first writer's nice value; all have the same.
    pub nice: i32,
    /// The first ticket, of a lock that has tickets.
    pub first_ticket: Option<u32>,
    /// What was to be done to the writers beside their work.
    pub perturbations: Perturbations,
    /// What was done to them.
    pub perturbed: Perturbed,
}

/// The failures of a run's counters: by how much they differ from what the writers `acquired`. A writer that hangs may be
/// between the two, so that there are none beside it.
///
/// # Examples
///
/// ```
/// use handover_measure::outcome::counter_failures;
///
/// assert_eq!(counter_failures(0, 97, 100), 3);
/// ```
pub fn counter_failures(hung: u64, counted: u64, acquired: u64) -> u64 {
    match hung {
        0 => counted.abs_diff(acquired),
        _ => 0,
    }
}

impl<L> Outcome<L> {
    /// All failures.
    pub fn failures(&self) -> u64 {
        self.owner_failures
            .saturating_add(self.counter_failures)
            .saturating_add(self.order_failures)
            .saturating_add(self.progress_failures)
            .saturating_add(self.wait_failures)
            .saturating_add(self.deadlock_failures)
            .saturating_add(self.hung)
    }

    /// Whether the run ended before its time. A run without a time always does.
    pub fn is_cut(&self) -> bool {
        verdict::is_cut(self.ns, self.duration)
    }

    /// Acquisitions a second.
    pub fn rate(&self) -> u64 {
        per_second(self.acquisitions, self.ns)
    }
}

impl<L> Verdict<&'static L> {
    /// Takes a run in. A `stop` that came after its last moment cut nothing. The first lock that fails stays.
    pub fn add(&mut self, run: &Outcome<L>, is_stopping: bool) {
        self.hung |= run.hung != 0;
        self.stopped |= run.is_cut() && is_stopping;
        if run.failures() != 0 {
            self.failed.get_or_insert(run.lock);
        }
    }
}

/// A run in locktorture's words.
pub struct Line<'a, L: 'static>(pub &'a Outcome<L>);

impl<L: Listed> Display for Line<'_, L> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let run = self.0;
        let failures = run.failures();
        write!(
            f,
            "{}-torture: Writes:  Total: {}  Max/Min: {}/{} {}  Fail: {} {}({} writers, run {}, steal {} ms",
            run.lock.name(),
            run.acquisitions,
            run.max,
            run.min,
            if is_unfair(run.min, run.max) { "???" } else { "" },
            failures,
            if failures != 0 { "!!! " } else { "" },
            run.writers,
            run.run,
            run.steal_ns / 1_000_000,
        )?;
        if let Some(first) = run.first_ticket {
            write!(f, ", first ticket {first}")?;
        }
        f.write_str(")")
    }
}

/// A run's failures, by check.
pub struct Failures<'a, L: 'static>(pub &'a Outcome<L>);

impl<L: Listed> Display for Failures<'_, L> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}: failures: owner {}, counter {}, order {}, progress {}, wait {}, deadlock {}, hung {}",
            self.0.lock.name(),
            self.0.owner_failures,
            self.0.counter_failures,
            self.0.order_failures,
            self.0.progress_failures,
            self.0.wait_failures,
            self.0.deadlock_failures,
            self.0.hung,
        )
    }
}

/// The columns of [`Rows`].
const HEADER: &str = "lock,writers,run,seconds,acquisitions,min,max,failures,\
owner_failures,counter_failures,order_failures,progress_failures,wait_failures,deadlock_failures,hung,jain,steal_ns,\
cs_steps,ncs_steps,checks,duration,stall_secs,seed,nice,first_ticket,perturbations,perturbed";

/// CSV: a header, and a row a run, each with its workload.
pub struct Rows<'a, L: 'static>(pub &'a [Outcome<L>]);

impl<L: Listed> Display for Rows<'_, L> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{HEADER}")?;
        for run in self.0 {
            write!(
                f,
                "{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},{},",
                run.lock.name(),
                run.writers,
                run.run,
                Millionths(run.ns / 1000),
                run.acquisitions,
                run.min,
                run.max,
                run.failures(),
                run.owner_failures,
                run.counter_failures,
                run.order_failures,
                run.progress_failures,
                run.wait_failures,
                run.deadlock_failures,
                run.hung,
                Millionths(run.jain_ppm),
                run.steal_ns,
                run.cs_steps,
                run.ncs_steps,
                run.checks.names("+"),
                run.duration,
                run.stall_secs,
                run.seed,
                run.nice,
            )?;
            match run.first_ticket {
                Some(first) => write!(f, "{first}")?,
                None => f.write_str("-")?,
            }
            let (asked, done) = (run.perturbations.words("+"), run.perturbed.words("+"));
            writeln!(f, ",{asked},{done}")?;
        }
        Ok(())
    }
}

/// What one writer of a run did, as it counted itself.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Share {
    /// Its acquisitions in the measured time.
    pub acquisitions: u64,
    /// Its acquisitions with the warm-up's.
    pub total: u64,
    /// How often the owner word was another's.
    pub owner_failures: u64,
    /// How often its ticket was out of order.
    pub order_failures: u64,
    /// How often it waited too long.
    pub wait_failures: u64,
    /// How often a lock told it that it would wait for ever.
    pub deadlock_failures: u64,
}

/// The columns of [`Shares`].
const SHARES: &str =
    "lock,writers,run,writer,acquisitions,total,owner_failures,order_failures,wait_failures,\
deadlock_failures";

/// CSV: a header, and a row for each writer of each run, in the order of both.
pub struct Shares<'a, L: 'static> {
    /// The runs.
    pub runs: &'a [Outcome<L>],
    /// What their writers did: those of the first run, then those of the next.
    pub shares: &'a [Share],
}

impl<L: Listed> Display for Shares<'_, L> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        writeln!(f, "{SHARES}")?;
        let mut shares = self.shares.iter();
        for run in self.runs {
            for (number, share) in (1..=run.writers).zip(&mut shares) {
                writeln!(
                    f,
                    "{},{},{},{number},{},{},{},{},{},{}",
                    run.lock.name(),
                    run.writers,
                    run.run,
                    share.acquisitions,
                    share.total,
                    share.owner_failures,
                    share.order_failures,
                    share.wait_failures,
                    share.deadlock_failures,
                )?;
            }
        }
        Ok(())
    }
}

/// What a run looks like while it runs.
#[derive(Clone, Copy, Debug)]
pub struct Progress<L: 'static> {
    /// The lock that the writers are on.
    pub lock: &'static L,
    /// How many writers there are.
    pub writers: u32,
    /// The run's number, from 1 on.
    pub run: u32,
    /// Milliseconds since it began.
    pub elapsed_ms: u64,
    /// Acquisitions since then, of all writers.
    pub acquisitions: u64,
}

/// The position of a run among `runs` of `duration` seconds; 0 is until it is stopped.
pub struct Now<'a, L: 'static> {
    /// How far it is.
    pub progress: &'a Progress<L>,
    /// Runs of each point.
    pub runs: u32,
    /// Seconds a run.
    pub duration: u32,
}

impl<L: Listed> Display for Now<'_, L> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} with {} writers, run {} of {}: {} s",
            self.progress.lock.name(),
            self.progress.writers,
            self.progress.run,
            self.runs,
            Thousandths(self.progress.elapsed_ms),
        )?;
        if self.duration != 0 {
            write!(f, " of {} s", self.duration)?;
        }
        write!(f, ", {} acquisitions", self.progress.acquisitions)
    }
}
