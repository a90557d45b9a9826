// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! An experiment's parameters: the same words for `insmod` and for debugfs.

use super::{
    key::Key,
    lock::Listed,
    order,
    perturb::{Cpus, Perturbations, MAX_AT_ONCE, MAX_NESTED},
    words::{self, small, Checks},
};
use core::fmt::{self, Display, Formatter};

/// The most numbers of writers in one experiment.
const MAX_POINTS: usize = 16;
/// The most writers in one run.
const MAX_WRITERS: u32 = 1024;
/// The most locks in one experiment. A list has no more that exclude.
pub const MAX_LOCKS: usize = 16;

/// What an experiment is to do. Its display is the workload: every parameter that
/// changes what is measured, as `name=value` words.
#[derive(Clone, Copy)]
pub struct Plan<L: 'static> {
    locks: [Option<&'static L>; MAX_LOCKS],
    nlocks: usize,
    writers: [i32; MAX_POINTS],
    /// How many numbers of writers there are; 0: a sweep, to be settled.
    nwriters: usize,
    /// Steps in the critical section.
    pub cs_steps: u32,
    /// Bound of the steps outside.
    pub ncs_steps: u32,
    /// Seconds a run; 0: until stopped.
    pub duration: u32,
    /// Runs of each point.
    pub runs: u32,
    /// Seconds between progress lines; 0: none.
    pub stat_interval: u32,
    /// 1: a line a run and the table; 0: neither.
    verbose: u32,
    /// Seed of the PRNGs; 0: to be drawn.
    pub seed: u64,
    /// Which checks are on.
    pub checks: Checks,
    /// A writer that acquires nothing for so many seconds has stalled.
    pub stall_secs: u32,
    /// What is done to the writers beside their work.
    pub perturbations: Perturbations,
    /// What kind of experiment it is.
    pub kind: Kind,
}

/// The kinds of experiment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Nothing: wait for a request.
    None,
    /// Writers on a lock, checked and counted.
    Torture,
    /// The uncontended pair of every lock, timed.
    Uncontended,
}

/// Why a plan is refused. Its display says what is allowed.
pub enum Refused<'a, L: 'static> {
    /// There is no parameter of this name.
    Unknown(&'a str),
    /// This parameter does not take this value.
    Value(&'static Key<Plan<L>>, &'a str),
    /// There is no word at all.
    Empty,
    /// This is not `name=value`.
    Word(&'a str),
    /// A request asks for no experiment.
    Nothing,
    /// This number of writers is there twice; -1 is the other one.
    Twice(i32, u32),
    /// This lock has no uncontended pair.
    NoPair(&'static L),
}

impl<L: Listed> Default for Plan<L> {
    /// What `insmod` without parameters does: the usual locks, and a sweep over the number
    /// of writers. The rest is the paper's: 20 steps inside, less than 400 outside,
    /// the median of 7 runs of 30 s.
    fn default() -> Self {
        let mut plan = Self {
            locks: [None; MAX_LOCKS],
            nlocks: 0,
            writers: [0; MAX_POINTS],
            nwriters: 0,
            cs_steps: 20,
            ncs_steps: 400,
            duration: 30,
            runs: 7,
            stat_interval: 60,
            verbose: 1,
            seed: 0,
            checks: Checks::ALL,
            stall_secs: 10,
            perturbations: Perturbations::OFF,
            kind: Kind::Torture,
        };
        for lock in L::list().iter().filter(|lock| lock.is_usual()) {
            let _ = plan.add(lock);
        }
        plan
    }
}

impl<L: Listed> Plan<L> {
    const KEYS: &'static [Key<Self>] = &[
        Key::text(
            "torture_type",
            "all, or different names out of debugfs handover/locks, separated by commas",
            |plan, text| {
                plan.nlocks = 0;
                for name in text.split(',') {
                    let is_all = name == "all";
                    let mut is_known = is_all;
                    for lock in L::list() {
                        if lock.name() == name || (is_all && lock.is_in_all()) {
                            plan.add(lock)?;
                            is_known = true;
                        }
                    }
                    if !is_known {
                        return None;
                    }
                }
                Some(())
            },
        ),
        Key::text(
            "nwriters_stress",
            "1 to 1024, or -1 for twice the CPUs; at most 16 of them, \
             separated by commas; or sweep (1, 2, 4 and so on up to the CPUs)",
            |plan, text| {
                plan.nwriters = 0;
                if text == "sweep" {
                    return Some(());
                }
                plan.nwriters = words::writers(text, &mut plan.writers, MAX_WRITERS)?;
                Some(())
            },
        ),
        Key::number("cs_steps", 0..=1_000_000, |plan| &mut plan.cs_steps),
        Key::number("ncs_steps", 0..=1_000_000, |plan| &mut plan.ncs_steps),
        Key::<Self>::number("duration", 0..=86_400, |plan| &mut plan.duration)
            .zero("until stopped")
            .unit("seconds"),
        Key::number("runs", 1..=1000, |plan| &mut plan.runs),
        Key::<Self>::number("stat_interval", 0..=3600, |plan| &mut plan.stat_interval)
            .zero("none")
            .unit("seconds"),
        Key::number("verbose", 0..=1, |plan| &mut plan.verbose),
        Key::text(
            "seed",
            "0 (to be drawn) to 18446744073709551615",
            |plan, text| {
                plan.seed = text.parse().ok().filter(|_| words::has_digits(text))?;
                Some(())
            },
        ),
        Key::text(
            "checks",
            "all, none, or out of owner, counter, order, progress, separated by commas",
            |plan, text| {
                plan.checks = Checks::parse(text)?;
                Some(())
            },
        ),
        Key::<Self>::number("stall_secs", 1..=600, |plan| &mut plan.stall_secs).unit("seconds"),
        Key::<Self>::number("long_hold", 0..=500, |plan| {
            &mut plan.perturbations.long_hold
        })
        .zero("none")
        .unit("milliseconds"),
        Self::seconds("stutter", 60, |plan| &mut plan.perturbations.stutter),
        Self::seconds("shuffle_interval", 3600, |plan| {
            &mut plan.perturbations.shuffle_interval
        }),
        Self::seconds("onoff_interval", 3600, |plan| {
            &mut plan.perturbations.onoff_interval
        }),
        Self::seconds("onoff_holdoff", 3600, |plan| {
            &mut plan.perturbations.onoff_holdoff
        }),
        Key::text(
            "bind_writers",
            "all, a CPU, or the first and the last of some with a dash between",
            |plan, text| {
                plan.perturbations.bind_writers = match text {
                    "all" => None,
                    _ => Some(Cpus::parse(text)?),
                };
                Some(())
            },
        ),
        Key::<Self>::number("nested_locks", 0..=MAX_NESTED, |plan| {
            &mut plan.perturbations.nested_locks
        })
        .zero("none"),
        Key::text(
            "rt_boost",
            "0 (none) or 2 (of any lock's writers)",
            |plan, text| {
                plan.perturbations.rt_boost = match text {
                    "0" => 0,
                    "2" => 2,
                    _ => return None,
                };
                Some(())
            },
        ),
        Key::number("rt_boost_factor", 1..=10_000, |plan| {
            &mut plan.perturbations.rt_boost_factor
        }),
        Key::number("writer_fifo", 0..=1, |plan| {
            &mut plan.perturbations.writer_fifo
        }),
        Key::<Self>::number("acq_writer_lim", 0..=1_000_000, |plan| {
            &mut plan.perturbations.acq_writer_lim
        })
        .zero("none")
        .unit("jiffies"),
        Key::number("nlocks", 1..=MAX_AT_ONCE, |plan| {
            &mut plan.perturbations.nlocks
        }),
        Key::number("try_lock", 0..=1, |plan| &mut plan.perturbations.try_lock),
        Key::text(
            "irq_interval",
            "0 (none), or 100 to 1000000 microseconds",
            |plan, text| {
                // Interrupts that come faster leave a CPU no time.
                let interval = small(text, 0, 1_000_000)?;
                plan.perturbations.irq_interval = interval;
                (interval == 0 || interval >= 100).then_some(())
            },
        ),
        Key::number("latency", 0..=1, |plan| &mut plan.perturbations.latency),
        Key::text(
            "experiment",
            "torture, uncontended or none",
            |plan, text| {
                plan.kind = match text {
                    "torture" => Kind::Torture,
                    "uncontended" => Kind::Uncontended,
                    "none" => Kind::None,
                    _ => return None,
                };
                Some(())
            },
        ),
    ];

    /// Seconds up to `most`, or none.
    const fn seconds(name: &'static str, most: u32, of: fn(&mut Self) -> &mut u32) -> Key<Self> {
        Key::number(name, 0..=most, of).zero("none").unit("seconds")
    }

    /// The names of all parameters.
    pub fn names() -> impl Iterator<Item = &'static str> {
        Self::KEYS.iter().map(|key| key.name)
    }

    /// Another lock. None if it is there, or has no room.
    fn add(&mut self, lock: &'static L) -> Option<()> {
        if self.locks().any(|it| core::ptr::eq(it, lock)) {
            return None;
        }
        *self.locks.get_mut(self.nlocks)? = Some(lock);
        self.nlocks += 1;
        Some(())
    }

    /// Sets one parameter. The plan is void if it is refused.
    pub fn set<'a>(&mut self, name: &'a str, value: &'a str) -> Result<(), Refused<'a, L>> {
        let key = Self::KEYS.iter().find(|key| key.name == name);
        let key = key.ok_or(Refused::Unknown(name))?;
        key.set(self, value).ok_or(Refused::Value(key, value))
    }

    /// This plan, changed by `name=value` words separated by blanks. It is to be settled.
    pub fn with<'a>(&self, words: &'a str) -> Result<Self, Refused<'a, L>> {
        let mut plan = *self;
        // `insmod experiment=none` means that insmod starts none.
        if plan.kind == Kind::None {
            plan.kind = Kind::Torture;
        }
        if words.trim_ascii().is_empty() {
            return Err(Refused::Empty);
        }
        for word in words.split_ascii_whitespace() {
            let (name, value) = word.split_once('=').ok_or(Refused::Word(word))?;
            plan.set(name, value)?;
        }
        if plan.kind == Kind::None {
            return Err(Refused::Nothing);
        }
        Ok(plan)
    }

    /// Makes it a plan to run, on so many CPUs: `draw` draws the seed that was left to be
    /// drawn. True if the plan has no end, so that the first of several runs is left alone.
    /// The plan is void if it is refused.
    pub fn settle(
        &mut self,
        cpus: u32,
        draw: impl FnOnce() -> u64,
    ) -> Result<bool, Refused<'static, L>> {
        let cpus = cpus.min(MAX_WRITERS);
        let twice = (2 * cpus).min(MAX_WRITERS);
        if self.nwriters == 0 {
            // Eleven points at most: 1 to 512, doubled, and the CPUs.
            self.nwriters = order::sweep(&mut self.writers, cpus);
        }
        let points = self.writers.get_mut(..self.nwriters).unwrap_or_default();
        words::resolve(points, twice).map_err(|writers| Refused::Twice(writers, twice))?;
        if self.seed == 0 {
            self.seed = draw() | 1;
        }
        if self.kind == Kind::Uncontended {
            if let Some(lock) = self.locks().find(|lock| !lock.has_pair()) {
                return Err(Refused::NoPair(lock));
            }
        }
        let is_cut = self.kind == Kind::Torture && self.duration == 0 && self.total_runs() > 1;
        if is_cut {
            (self.nlocks, self.nwriters, self.runs) = (1, 1, 1);
        }
        Ok(is_cut)
    }

    /// The locks, in order.
    pub fn locks(&self) -> impl Iterator<Item = &'static L> + '_ {
        self.locks.iter().take(self.nlocks).copied().flatten()
    }

    /// The same, beginning with the one at `first`, counted around.
    pub fn locks_from(&self, first: usize) -> impl Iterator<Item = &'static L> + '_ {
        order::from(first, self.nlocks).filter_map(|at| *self.locks.get(at)?)
    }

    /// The numbers of writers, in order.
    pub fn writers(&self) -> impl Iterator<Item = u32> + '_ {
        let points = self.writers.iter().take(self.nwriters);
        points.filter_map(|&writers| u32::try_from(writers).ok())
    }

    /// Whether there is a line a run, and the table.
    pub fn is_verbose(&self) -> bool {
        self.verbose != 0
    }

    /// Whether writers run the perturbed loop, so that their rates are no figures. Pairs have no writers.
    pub fn is_perturbed(&self) -> bool {
        self.kind == Kind::Torture && self.perturbations.is_any()
    }

    /// All runs of the experiment.
    pub fn total_runs(&self) -> u32 {
        match self.kind {
            Kind::None => 0,
            Kind::Torture => {
                let points = self.nlocks.saturating_mul(self.nwriters);
                self.runs.saturating_mul(points as u32)
            }
            Kind::Uncontended => self.runs,
        }
    }
}

/// Items with commas between.
fn list<T: Display>(f: &mut Formatter<'_>, items: impl Iterator<Item = T>) -> fmt::Result {
    for (index, item) in items.enumerate() {
        write!(f, "{}{item}", if index > 0 { "," } else { "" })?;
    }
    Ok(())
}

impl<L: Listed> Display for Plan<L> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::None => "none",
            Kind::Torture => "torture",
            Kind::Uncontended => "uncontended",
        };
        write!(f, "experiment={kind} torture_type=")?;
        list(f, self.locks().map(L::name))?;
        if self.kind == Kind::Uncontended {
            return write!(f, " runs={} pairs={}", self.runs, L::PAIRS);
        }
        f.write_str(" nwriters_stress=")?;
        list(f, self.writers())?;
        write!(
            f,
            " cs_steps={} ncs_steps={} checks={} duration={} runs={} stall_secs={} seed={} nice={}",
            self.cs_steps,
            self.ncs_steps,
            self.checks.names(","),
            self.duration,
            self.runs,
            self.stall_secs,
            self.seed,
            L::NICE,
        )?;
        if self.perturbations.is_any() {
            write!(f, " {}", self.perturbations.words(" "))?;
        }
        Ok(())
    }
}

impl<L: Listed> Display for Refused<'_, L> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let named = |f: &mut Formatter<'_>| {
            f.write_str("a word is name=value, with a name out of: ")?;
            list(f, Plan::<L>::names())?;
            f.write_str("; or stop")
        };
        match self {
            Self::Unknown(name) => {
                write!(f, "{name}: no such parameter; there are: ")?;
                list(f, Plan::<L>::names())
            }
            Self::Value(key, value) => write!(f, "{}={value}: allowed: {key}", key.name),
            Self::Empty => {
                f.write_str("control: no word; ")?;
                named(f)
            }
            Self::Word(word) => {
                write!(f, "{word}: ")?;
                named(f)
            }
            Self::Nothing => {
                f.write_str("experiment=none: allowed here: torture, uncontended; or the word stop")
            }
            Self::Twice(writers, twice) => write!(
                f,
                "nwriters_stress={writers},{writers}: allowed: each number once; -1 is {twice}"
            ),
            Self::NoPair(lock) => write!(
                f,
                "torture_type={}: allowed with experiment=uncontended: all, or locks that exclude",
                lock.name()
            ),
        }
    }
}
