// SPDX-License-Identifier: GPL-2.0

//! An experiment's parameters: the same words for `insmod` and for debugfs.

use super::{
    shim,
    subject::{Entry, LOCKS},
};
use kernel::{prelude::*, str::CStr};

/// At most so many numbers of writers in one experiment.
const MAX_POINTS: usize = 16;
/// At most so many writers in one run.
const MAX_WRITERS: i64 = 1024;
/// Every lock can be named once.
const MAX_LOCKS: usize = 8;

/// Which checks are on.
#[derive(Clone, Copy)]
pub(crate) struct Checks(u8);

impl Checks {
    const NAMES: [&'static str; 4] = ["owner", "counter", "order", "progress"];
    const ALL: Self = Self(0b1111);

    /// The owner word, before and after the section.
    #[inline(always)]
    pub(crate) fn owner(self) -> bool {
        self.0 & 1 != 0
    }

    /// The plain counter against the sum of acquisitions.
    pub(crate) fn counter(self) -> bool {
        self.0 & 2 != 0
    }

    /// Tickets against the harness's own count.
    #[inline(always)]
    pub(crate) fn order(self) -> bool {
        self.0 & 4 != 0
    }

    /// Every writer acquires every now and then.
    pub(crate) fn progress(self) -> bool {
        self.0 & 8 != 0
    }
}

/// What an experiment is to do.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    locks: [u8; MAX_LOCKS],
    nlocks: usize,
    writers: [i32; MAX_POINTS],
    nwriters: usize,
    /// Steps in the critical section.
    pub(crate) cs_steps: u32,
    /// Bound of the steps outside.
    pub(crate) ncs_steps: u32,
    /// Seconds a run; 0: until stopped.
    pub(crate) duration: u32,
    /// Runs of each point.
    pub(crate) runs: u32,
    /// Seconds between progress lines; 0: none.
    pub(crate) stat_interval: u32,
    /// A line a run and the table.
    pub(crate) verbose: bool,
    /// Seed of the PRNGs; 0: to be drawn.
    pub(crate) seed: u64,
    /// Which checks are on.
    pub(crate) checks: Checks,
    /// A writer that acquires nothing for so many seconds has stalled.
    pub(crate) stall_secs: u32,
    /// What kind of experiment it is.
    pub(crate) kind: Kind,
}

/// The kinds of experiment.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Nothing: wait for a request.
    None,
    /// Writers on a lock, checked and counted.
    Torture,
    /// The uncontended pair of every lock, timed.
    Uncontended,
}

/// A parameter: its name, what is allowed, and how it is set.
struct Key {
    name: &'static str,
    allowed: &'static str,
    set: fn(&mut Plan, &str) -> Option<()>,
}

/// A decimal number in a range.
fn number(text: &str, low: i64, high: i64) -> Option<i64> {
    let number: i64 = text.parse().ok()?;
    (low <= number && number <= high).then_some(number)
}

fn small(text: &str, low: u32, high: u32) -> Option<u32> {
    number(text, i64::from(low), i64::from(high)).map(|number| number as u32)
}

static KEYS: &[Key] = &[
    Key {
        name: "torture_type",
        allowed: "all, or different names out of debugfs handover/locks, separated by commas",
        set: |plan, text| {
            plan.nlocks = 0;
            for name in text.split(',') {
                for (index, lock) in LOCKS.iter().enumerate() {
                    if lock.name == name || (name == "all" && lock.excludes) {
                        if plan.locks[..plan.nlocks].contains(&(index as u8)) {
                            return None;
                        }
                        *plan.locks.get_mut(plan.nlocks)? = index as u8;
                        plan.nlocks += 1;
                    }
                }
                if name != "all" && !LOCKS.iter().any(|lock| lock.name == name) {
                    return None;
                }
            }
            Some(())
        },
    },
    Key {
        name: "nwriters_stress",
        allowed: "1 to 1024, or -1 for twice the CPUs; at most 16 of them, separated by commas",
        set: |plan, text| {
            plan.nwriters = 0;
            for item in text.split(',') {
                let writers = number(item, -1, MAX_WRITERS)?;
                if writers == 0 {
                    return None;
                }
                *plan.writers.get_mut(plan.nwriters)? = writers as i32;
                plan.nwriters += 1;
            }
            Some(())
        },
    },
    Key {
        name: "cs_steps",
        allowed: "0 to 1000000",
        set: |plan, text| {
            plan.cs_steps = small(text, 0, 1_000_000)?;
            Some(())
        },
    },
    Key {
        name: "ncs_steps",
        allowed: "0 to 1000000",
        set: |plan, text| {
            plan.ncs_steps = small(text, 0, 1_000_000)?;
            Some(())
        },
    },
    Key {
        name: "duration",
        allowed: "0 (until stopped) to 86400 seconds",
        set: |plan, text| {
            plan.duration = small(text, 0, 86_400)?;
            Some(())
        },
    },
    Key {
        name: "runs",
        allowed: "1 to 1000",
        set: |plan, text| {
            plan.runs = small(text, 1, 1000)?;
            Some(())
        },
    },
    Key {
        name: "stat_interval",
        allowed: "0 (none) to 3600 seconds",
        set: |plan, text| {
            plan.stat_interval = small(text, 0, 3600)?;
            Some(())
        },
    },
    Key {
        name: "verbose",
        allowed: "0 or 1",
        set: |plan, text| {
            plan.verbose = small(text, 0, 1)? == 1;
            Some(())
        },
    },
    Key {
        name: "seed",
        allowed: "0 (to be drawn) to 18446744073709551615",
        set: |plan, text| {
            plan.seed = text.parse().ok()?;
            Some(())
        },
    },
    Key {
        name: "checks",
        allowed: "all, none, or out of owner, counter, order, progress, separated by commas",
        set: |plan, text| {
            plan.checks = match text {
                "all" => Checks::ALL,
                "none" => Checks(0),
                _ => {
                    let mut checks = 0;
                    for name in text.split(',') {
                        checks |= 1 << Checks::NAMES.iter().position(|&known| known == name)?;
                    }
                    Checks(checks)
                }
            };
            Some(())
        },
    },
    Key {
        name: "stall_secs",
        allowed: "1 to 600 seconds",
        set: |plan, text| {
            plan.stall_secs = small(text, 1, 600)?;
            Some(())
        },
    },
    Key {
        name: "experiment",
        allowed: "torture, uncontended or none",
        set: |plan, text| {
            plan.kind = match text {
                "torture" => Kind::Torture,
                "uncontended" => Kind::Uncontended,
                "none" => Kind::None,
                _ => return None,
            };
            Some(())
        },
    },
];

impl Plan {
    /// What `insmod` without parameters does: every lock, as the paper did.
    fn new() -> Self {
        let mut plan = Self {
            locks: [0; MAX_LOCKS],
            nlocks: 0,
            writers: [-1; MAX_POINTS],
            nwriters: 1,
            cs_steps: 20,
            ncs_steps: 400,
            duration: 30,
            runs: 7,
            stat_interval: 60,
            verbose: true,
            seed: 0,
            checks: Checks::ALL,
            stall_secs: 10,
            kind: Kind::Torture,
        };
        for (index, _) in LOCKS.iter().enumerate().filter(|(_, lock)| lock.excludes) {
            plan.locks[plan.nlocks] = index as u8;
            plan.nlocks += 1;
        }
        plan
    }

    /// Sets one parameter. EINVAL, and a line in the log, if there is no such
    /// parameter or the value is not allowed; the plan is void then.
    fn set(&mut self, name: &str, value: &str) -> Result {
        let Some(key) = KEYS.iter().find(|key| key.name == name) else {
            pr_err!("{name}: no such parameter; there are: {Names}\n");
            return Err(EINVAL);
        };
        (key.set)(self, value).ok_or_else(|| {
            pr_err!("{name}={value}: allowed: {}\n", key.allowed);
            EINVAL
        })
    }

    /// This plan, changed by `name=value` words separated by blanks.
    pub(crate) fn with(&self, words: &str) -> Result<Self> {
        let mut plan = *self;
        // `insmod experiment=none` means that insmod starts none.
        if plan.kind == Kind::None {
            plan.kind = Kind::Torture;
        }
        if words.trim_ascii().is_empty() {
            pr_err!(
                "control: no word; a word is name=value, with a name out of: {Names}; or stop\n"
            );
            return Err(EINVAL);
        }
        for word in words.split_ascii_whitespace() {
            let Some((name, value)) = word.split_once('=') else {
                pr_err!("{word}: a word is name=value, with a name out of: {Names}; or stop\n");
                return Err(EINVAL);
            };
            plan.set(name, value)?;
        }
        if plan.kind == Kind::None {
            pr_err!("experiment=none: allowed here: torture, uncontended; or the word stop\n");
            return Err(EINVAL);
        }
        plan.settle()
    }

    /// A plan to run: draws what was left to be drawn, counts the CPUs.
    pub(crate) fn settle(mut self) -> Result<Self> {
        let twice = 2 * shim::online_cpus();
        for index in 0..self.nwriters {
            if self.writers[index] < 0 {
                self.writers[index] = i32::try_from(twice).unwrap_or(i32::MAX);
            }
            if self.writers[..index].contains(&self.writers[index]) {
                let writers = self.writers[index];
                pr_err!(
                    "nwriters_stress={writers},{writers}: allowed: each number once; -1 is {twice}\n"
                );
                return Err(EINVAL);
            }
        }
        if self.seed == 0 {
            // SAFETY: No requirements.
            self.seed = unsafe { shim::handover_random() } | 1;
        }
        if self.kind == Kind::Torture && self.duration == 0 && self.total_runs() > 1 {
            pr_notice!(
                "duration=0: only {} with {} writers runs, until it is stopped\n",
                self.locks().next().map_or("", |lock| lock.name),
                self.writers().next().unwrap_or(0)
            );
            (self.nlocks, self.nwriters, self.runs) = (1, 1, 1);
        }
        Ok(self)
    }

    /// The locks, in order.
    pub(crate) fn locks(&self) -> impl Iterator<Item = &'static Entry> + '_ {
        self.locks[..self.nlocks]
            .iter()
            .filter_map(|&index| LOCKS.get(usize::from(index)))
    }

    /// The same, beginning with the one at `first`, counted around.
    pub(crate) fn locks_from(&self, first: usize) -> impl Iterator<Item = &'static Entry> + '_ {
        let first = first.checked_rem(self.nlocks).unwrap_or(0);
        Iterator::chain(self.locks().skip(first), self.locks().take(first))
    }

    /// The numbers of writers, in order.
    pub(crate) fn writers(&self) -> impl Iterator<Item = u32> + '_ {
        self.writers[..self.nwriters]
            .iter()
            .filter_map(|&writers| u32::try_from(writers).ok())
    }

    /// All runs of the experiment.
    pub(crate) fn total_runs(&self) -> u32 {
        match self.kind {
            Kind::None => 0,
            Kind::Torture => self.runs * (self.nlocks * self.nwriters) as u32,
            Kind::Uncontended => self.runs,
        }
    }
}

/// The names of all parameters.
struct Names;

impl kernel::fmt::Display for Names {
    fn fmt(&self, f: &mut kernel::fmt::Formatter<'_>) -> kernel::fmt::Result {
        for (index, key) in KEYS.iter().enumerate() {
            if index > 0 {
                f.write_str(", ")?;
            }
            f.write_str(key.name)?;
        }
        Ok(())
    }
}

/// The plan that `insmod`'s parameters ask for, not settled yet.
pub(crate) fn from_parameters() -> Result<Plan> {
    let mut plan = Plan::new();
    for key in KEYS {
        // SAFETY: The name is valid for its length.
        let value = unsafe { shim::handover_param(key.name.as_ptr().cast(), key.name.len()) };
        if value.is_null() {
            continue;
        }
        // SAFETY: A string parameter is a C string that stays while the module is
        // loaded.
        let value = unsafe { CStr::from_char_ptr(value) };
        let value = value.to_str().map_err(|_| {
            pr_err!("{}: not text\n", key.name);
            EINVAL
        })?;
        plan.set(key.name, value.trim())?;
    }
    Ok(plan)
}
