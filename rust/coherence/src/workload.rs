// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What the threads do around the lock and in it: the paper's benchmarks, each in steps of a named cost.

use rand::Rng;
use rand_pcg::Pcg64Mcg;

use crate::{
    machine::{ps, Costs, Time},
    profile::{Profile, PROGRAMS},
};

/// A benchmark.
///
/// The numbers of steps are the paper's. What a step costs is [`Costs`]'.
///
/// # Examples
///
/// ```
/// use coherence::{Costs, Workload};
///
/// // Section 4.1: a section of four steps. Up to 199 steps follow it, and one that draws their number.
/// let times = Workload::MutexBench.times(&Costs::default());
/// assert_eq!((times.section, times.between), (12.0, (3.0, 600.0)));
/// assert_eq!(Workload::named("throw"), Some(Workload::Throw));
/// ```
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Workload {
    /// Sections of one length, and times between them that are drawn from 0 on, in nanoseconds.
    Plain {
        /// The section.
        section: f64,
        /// The longest time between two sections of a thread.
        between: f64,
    },
    /// The paper's Fig. 1, which has no lock. One thread adds to a word, and all others read it.
    InvalidationDiameter,
    /// Section 4.1. A section has 4 steps of the generator. From 0 to 199 steps follow it, by a number that takes one
    /// step to draw.
    MutexBench,
    /// Section 4.2. A throw takes one lock five times in turn, as a count of today's unwinder had it
    /// (docs/results/coherence.md). Neither the sections nor what lies between were measured: both are swept.
    Throw,
    /// Section 4.3. 200 delay loops in the section, 5000 between.
    StressLatency,
    /// Section 4.6. 20 steps in the section, 0 to 399 between.
    LockTorture,
    /// A mutex of a program: sections and the times between them are drawn as they were measured. Those of sections 4.4
    /// and 4.5 are here by their names.
    Program(&'static Profile),
}

/// Steps of a MutexBench section, and the bound of those between two.
const MUTEX_BENCH: (u32, u32) = (4, 200);
/// The locks of a throw.
const THROW_LOCKS: u32 = 5;
/// Delay loops of stress_latency in a section, and between.
const STRESS_LATENCY: (u32, u32) = (200, 5000);
/// Steps of a LockTorture section, and the bound of those between two.
const LOCK_TORTURE: (u32, u32) = (20, 400);

/// How long sections are, in nanoseconds, and what lies between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Times {
    /// Each section; of a program the mean.
    pub section: f64,
    /// The shortest and the longest time between two sections of a thread; of a program twice the mean.
    pub between: (f64, f64),
}

impl Workload {
    /// The paper's, but for its programs.
    pub const PAPER: [Self; 5] = [
        Self::InvalidationDiameter,
        Self::MutexBench,
        Self::Throw,
        Self::StressLatency,
        Self::LockTorture,
    ];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Plain { .. } => "plain",
            Self::InvalidationDiameter => "diameter",
            Self::MutexBench => "mutexbench",
            Self::Throw => "throw",
            Self::StressLatency => "stress_latency",
            Self::LockTorture => "locktorture",
            Self::Program(profile) => profile.name(),
        }
    }

    /// The paper's benchmark or program of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::all().find(|it| it.name() == name)
    }

    /// The paper's benchmarks, then its programs: `leveldb` and `rocksdb`.
    pub fn all() -> impl Iterator<Item = Self> {
        Self::PAPER
            .into_iter()
            .chain(PROGRAMS.iter().map(Self::Program))
    }

    /// Whether it has a lock.
    pub fn has_lock(self) -> bool {
        self != Self::InvalidationDiameter
    }

    /// Sections of a round: a round is what the benchmark counts.
    pub fn sections(self) -> u32 {
        match self {
            Self::Throw => THROW_LOCKS,
            _ => 1,
        }
    }

    /// How long its sections are.
    pub fn times(self, costs: &Costs) -> Times {
        let steps = |(section, between): (u32, u32), each: f64, least: u32| Times {
            section: f64::from(section) * each,
            between: (f64::from(least) * each, f64::from(between) * each),
        };
        match self {
            Self::Plain { section, between } => Times {
                section,
                between: (0.0, between),
            },
            Self::InvalidationDiameter => Times {
                section: 0.0,
                between: (0.0, 0.0),
            },
            Self::MutexBench => steps(MUTEX_BENCH, costs.mersenne_step, 1),
            Self::Throw => Times {
                section: costs.throw_section,
                between: (costs.throw_gap, costs.throw_gap),
            },
            Self::StressLatency => steps(STRESS_LATENCY, costs.delay_loop, STRESS_LATENCY.1),
            Self::LockTorture => steps(LOCK_TORTURE, costs.torture_step, 1),
            Self::Program(profile) => {
                let gap = profile.gap() * costs.profile_gap;
                Times {
                    section: profile.hold() * costs.profile_hold,
                    between: (gap, gap),
                }
            }
        }
    }

    /// The length of a section, drawn where sections differ.
    fn section(self, costs: &Costs, draw: &mut Pcg64Mcg) -> Time {
        match self {
            Self::Program(profile) => ps(profile.hold.draw(draw) * costs.profile_hold),
            _ => ps(self.times(costs).section),
        }
    }

    /// The time between two sections, drawn.
    fn between(self, costs: &Costs, draw: &mut Pcg64Mcg) -> Time {
        let Times { between, .. } = self.times(costs);
        match self {
            Self::Plain { .. } => draw.random_range(0..=ps(between.1)),
            // The step that draws a number, and as many as it says.
            Self::MutexBench => drawn(MUTEX_BENCH.1, costs.mersenne_step, draw),
            Self::LockTorture => drawn(LOCK_TORTURE.1, costs.torture_step, draw),
            Self::Program(profile) => ps(profile.gap.draw(draw) * costs.profile_gap),
            Self::InvalidationDiameter | Self::Throw | Self::StressLatency => ps(between.1),
        }
    }
}

/// From 1 to `bound` steps of this cost.
fn drawn(bound: u32, step: f64, draw: &mut Pcg64Mcg) -> Time {
    ps(f64::from(1 + draw.random_range(0..bound)) * step)
}

/// A section, and the time after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Turn {
    pub(crate) section: Time,
    pub(crate) between: Time,
    /// Whether the benchmark counts one more after it.
    pub(crate) ends_round: bool,
}

/// The turns of a thread, without end.
#[derive(Clone, Debug)]
pub(crate) struct Turns {
    workload: Workload,
    costs: Costs,
    draw: Pcg64Mcg,
    /// The sections of this round that have been.
    done: u32,
}

impl Turns {
    pub(crate) fn new(workload: Workload, costs: &Costs, draw: Pcg64Mcg) -> Self {
        Self {
            workload,
            costs: costs.clone(),
            draw,
            done: 0,
        }
    }

    /// When the thread begins: by chance, within the longest time between two sections.
    pub(crate) fn begin(&mut self) -> Time {
        let longest = ps(self.workload.times(&self.costs).between.1);
        self.draw.random_range(0..=longest)
    }
}

impl Iterator for Turns {
    type Item = Turn;

    fn next(&mut self) -> Option<Turn> {
        self.done += 1;
        let ends_round = self.done == self.workload.sections();
        if ends_round {
            self.done = 0;
        }
        Some(Turn {
            section: self.workload.section(&self.costs, &mut self.draw),
            between: self.workload.between(&self.costs, &mut self.draw),
            ends_round,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use rand::SeedableRng;

    use super::*;

    /// Costs that no other product of small numbers gives.
    fn costs() -> Costs {
        Costs {
            mersenne_step: 7.0,
            torture_step: 11.0,
            delay_loop: 13.0,
            throw_section: 170.0,
            throw_gap: 19.0,
            profile_hold: 0.5,
            profile_gap: 3.0,
            ..Costs::default()
        }
    }

    fn turns(workload: Workload, count: usize) -> Vec<Turn> {
        Turns::new(workload, &costs(), Pcg64Mcg::seed_from_u64(3))
            .take(count)
            .collect()
    }

    /// All times between sections that occur in many, in steps of `each` nanoseconds.
    fn steps(workload: Workload, each: u64) -> BTreeSet<u64> {
        turns(workload, 20_000)
            .iter()
            .map(|turn| {
                assert_eq!(turn.between % (each * 1000), 0);
                turn.between / (each * 1000)
            })
            .collect()
    }

    #[test]
    fn mutex_bench_has_the_papers_steps() {
        let section: BTreeSet<Time> = turns(Workload::MutexBench, 9)
            .iter()
            .map(|it| it.section)
            .collect();
        assert_eq!(section, BTreeSet::from([4 * 7_000]));
        assert_eq!(steps(Workload::MutexBench, 7), (1..=200).collect());
    }

    #[test]
    fn lock_torture_has_the_papers_steps() {
        assert!(turns(Workload::LockTorture, 9)
            .iter()
            .all(|it| it.section == 20 * 11_000));
        assert_eq!(steps(Workload::LockTorture, 11), (1..=400).collect());
    }

    #[test]
    fn stress_latency_has_the_papers_loops() {
        let turn = Turn {
            section: 200 * 13_000,
            between: 5000 * 13_000,
            ends_round: true,
        };
        assert_eq!(turns(Workload::StressLatency, 5), [turn; 5]);
    }

    #[test]
    fn a_throw_is_five_sections() {
        let ends: Vec<bool> = turns(Workload::Throw, 15)
            .iter()
            .map(|turn| {
                assert_eq!((turn.section, turn.between), (170_000, 19_000));
                turn.ends_round
            })
            .collect();
        let round = [false, false, false, false, true];
        assert_eq!(ends, [round; 3].concat());
    }

    #[test]
    fn drawn_times_are_uniform() {
        let plain = Workload::Plain {
            section: 3.0,
            between: 1000.0,
        };
        for (workload, mean) in [
            (plain, 500_000.0),
            (Workload::MutexBench, 100.5 * 7_000.0),
            (Workload::LockTorture, 200.5 * 11_000.0),
        ] {
            let turns = turns(workload, 20_000);
            let sum: u64 = turns.iter().map(|it| it.between).sum();
            let seen = sum as f64 / turns.len() as f64;
            assert!(
                (seen / mean - 1.0).abs() < 0.02,
                "{workload:?}: {seen}, and {mean} is due"
            );
        }
    }

    /// A program's sections and gaps are drawn, each with its own mean and cost.
    #[test]
    fn a_programs_times_are_its_profiles() {
        for workload in ["leveldb", "rocksdb"].map(|it| Workload::named(it).expect("a program")) {
            let Workload::Program(profile) = workload else {
                panic!("{workload:?}");
            };
            let Times { section, between } = workload.times(&costs());
            assert_eq!(section, profile.hold() * 0.5);
            assert_eq!(between, (profile.gap() * 3.0, profile.gap() * 3.0));
            let turns = turns(workload, 100_000);
            for of in [|it: &Turn| it.section, |it: &Turn| it.between] {
                let differ: BTreeSet<Time> = turns.iter().map(of).collect();
                assert!(differ.len() > 1000, "{workload:?}: {}", differ.len());
            }
            let mean = |of: fn(&Turn) -> Time| {
                turns.iter().map(|it| of(it) as f64).sum::<f64>() / turns.len() as f64 / 1000.0
            };
            for (seen, due) in [
                (mean(|it| it.section), section),
                (mean(|it| it.between), between.0),
            ] {
                assert!(
                    (seen / due - 1.0).abs() < 0.05,
                    "{workload:?}: {seen}, {due} is due"
                );
            }
            assert!(turns.iter().all(|it| it.ends_round));
        }
    }

    #[test]
    fn names_lead_back() {
        for workload in Workload::all() {
            assert_eq!(Workload::named(workload.name()), Some(workload));
        }
        assert_eq!(Workload::all().count(), 7);
        assert_eq!(Workload::named("plain"), None);
    }
}
