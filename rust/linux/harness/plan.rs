// SPDX-License-Identifier: GPL-2.0-only

//! An experiment's parameters: the same words for `insmod` and for debugfs.

use super::{
    pairs,
    registry::{Entry, LOCKS},
    shim,
    text::put,
    writer,
};
use crate::measure::{
    order,
    words::{self, small, Checks},
};
use core::ops::RangeInclusive;
use kernel::{
    fmt::{self, Display, Formatter},
    prelude::*,
    str::CStr,
};

/// At most so many numbers of writers in one experiment.
const MAX_POINTS: usize = 16;
/// At most so many writers in one run.
const MAX_WRITERS: u32 = 1024;
/// Every lock can be named once.
const MAX_LOCKS: usize = 8;
const _: () = assert!(
    LOCKS.len() <= MAX_LOCKS,
    "MAX_LOCKS has no room for every lock of LOCKS"
);

/// What an experiment is to do. Its display is the workload: every parameter that
/// changes what is measured, as `name=value` words.
#[derive(Clone, Copy)]
pub(crate) struct Plan {
    locks: [u8; MAX_LOCKS],
    nlocks: usize,
    writers: [i32; MAX_POINTS],
    /// How many numbers of writers there are; 0: a sweep, to be settled.
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
    /// 1: a line a run and the table; 0: neither.
    verbose: u32,
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

/// A parameter. Its display is what is allowed, as a complaint says it.
struct Key {
    name: &'static str,
    value: Value,
    /// What 0 means, and what is counted, where that is to be said of a number.
    zero: Option<&'static str>,
    unit: Option<&'static str>,
}

/// What a parameter's value may be.
enum Value {
    /// A number within a range, and where it goes.
    Number(RangeInclusive<u32>, fn(&mut Plan) -> &mut u32),
    /// What is described here, and taken or refused by a function.
    Text(&'static str, fn(&mut Plan, &str) -> Option<()>),
}

const fn number(
    name: &'static str,
    range: RangeInclusive<u32>,
    of: fn(&mut Plan) -> &mut u32,
) -> Key {
    Key {
        name,
        value: Value::Number(range, of),
        zero: None,
        unit: None,
    }
}

const fn text(
    name: &'static str,
    allowed: &'static str,
    set: fn(&mut Plan, &str) -> Option<()>,
) -> Key {
    Key {
        name,
        value: Value::Text(allowed, set),
        zero: None,
        unit: None,
    }
}

impl Key {
    const fn zero(mut self, meaning: &'static str) -> Self {
        self.zero = Some(meaning);
        self
    }

    const fn unit(mut self, unit: &'static str) -> Self {
        self.unit = Some(unit);
        self
    }

    /// Sets it in `plan`. None if `text` is not allowed.
    fn set(&self, plan: &mut Plan, text: &str) -> Option<()> {
        match &self.value {
            Value::Number(range, of) => *of(plan) = small(text, *range.start(), *range.end())?,
            Value::Text(_, set) => set(plan, text)?,
        }
        Some(())
    }
}

impl Display for Key {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let range = match &self.value {
            Value::Number(range, _) => range,
            Value::Text(allowed, _) => return f.write_str(allowed),
        };
        put!(f, "{}", range.start())?;
        if let Some(meaning) = self.zero {
            put!(f, " ({meaning})")?;
        }
        let is_pair = range.end() - range.start() == 1;
        put!(f, " {} {}", if is_pair { "or" } else { "to" }, range.end())?;
        if let Some(unit) = self.unit {
            put!(f, " {unit}")?;
        }
        Ok(())
    }
}

static KEYS: &[Key] = &[
    text(
        "torture_type",
        "all, or different names out of debugfs handover/locks, separated by commas",
        |plan, text| {
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
    ),
    text(
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
    number("cs_steps", 0..=1_000_000, |plan| &mut plan.cs_steps),
    number("ncs_steps", 0..=1_000_000, |plan| &mut plan.ncs_steps),
    number("duration", 0..=86_400, |plan| &mut plan.duration)
        .zero("until stopped")
        .unit("seconds"),
    number("runs", 1..=1000, |plan| &mut plan.runs),
    number("stat_interval", 0..=3600, |plan| &mut plan.stat_interval)
        .zero("none")
        .unit("seconds"),
    number("verbose", 0..=1, |plan| &mut plan.verbose),
    text(
        "seed",
        "0 (to be drawn) to 18446744073709551615",
        |plan, text| {
            plan.seed = text.parse().ok()?;
            Some(())
        },
    ),
    text(
        "checks",
        "all, none, or out of owner, counter, order, progress, separated by commas",
        |plan, text| {
            plan.checks = Checks::parse(text)?;
            Some(())
        },
    ),
    number("stall_secs", 1..=600, |plan| &mut plan.stall_secs).unit("seconds"),
    text(
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

impl Plan {
    /// What `insmod` without parameters does: every lock, and a sweep over the number
    /// of writers. The rest is the paper's: 20 steps inside, less than 400 outside,
    /// the median of 7 runs of 30 s.
    fn new() -> Self {
        let mut plan = Self {
            locks: [0; MAX_LOCKS],
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
            kind: Kind::Torture,
        };
        for (index, _) in LOCKS.iter().enumerate().filter(|(_, lock)| lock.excludes) {
            plan.locks[plan.nlocks] = index as u8;
            plan.nlocks += 1;
        }
        plan
    }

    /// Sets one parameter. EINVAL, and a line in the log, for an unknown parameter or
    /// a value that is not allowed. The plan is void then.
    fn set(&mut self, name: &str, value: &str) -> Result {
        let Some(key) = KEYS.iter().find(|key| key.name == name) else {
            pr_err!("{name}: no such parameter; there are: {Names}\n");
            return Err(EINVAL);
        };
        key.set(self, value).ok_or_else(|| {
            pr_err!("{name}={value}: allowed: {key}\n");
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
        let cpus = shim::online_cpus().min(MAX_WRITERS);
        let twice = (2 * cpus).min(MAX_WRITERS);
        if self.nwriters == 0 {
            // Eleven points at most: 1 to 512, doubled, and the CPUs.
            self.nwriters = order::sweep(&mut self.writers, cpus);
        }
        words::resolve(&mut self.writers[..self.nwriters], twice).map_err(|writers| {
            pr_err!(
                "nwriters_stress={writers},{writers}: allowed: each number once; -1 is {twice}\n"
            );
            EINVAL
        })?;
        if self.seed == 0 {
            // SAFETY: No requirements.
            self.seed = unsafe { shim::handover_random() } | 1;
        }
        if self.kind == Kind::Uncontended {
            if let Some(lock) = self.locks().find(|lock| pairs::index_of(lock).is_none()) {
                pr_err!(
                    "torture_type={}: allowed with experiment=uncontended: all, or locks that exclude\n",
                    lock.name
                );
                return Err(EINVAL);
            }
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
        order::from(first, self.nlocks)
            .filter_map(|at| LOCKS.get(usize::from(*self.locks.get(at)?)))
    }

    /// The numbers of writers, in order.
    pub(crate) fn writers(&self) -> impl Iterator<Item = u32> + '_ {
        self.writers[..self.nwriters]
            .iter()
            .filter_map(|&writers| u32::try_from(writers).ok())
    }

    /// Whether there is a line a run, and the table.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose != 0
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

/// Items with commas between.
fn list<T: Display>(f: &mut Formatter<'_>, items: impl Iterator<Item = T>) -> fmt::Result {
    for (index, item) in items.enumerate() {
        put!(f, "{}{item}", if index > 0 { "," } else { "" })?;
    }
    Ok(())
}

impl Display for Plan {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let kind = match self.kind {
            Kind::None => "none",
            Kind::Torture => "torture",
            Kind::Uncontended => "uncontended",
        };
        put!(f, "experiment={kind} torture_type=")?;
        list(f, self.locks().map(|lock| lock.name))?;
        if self.kind == Kind::Uncontended {
            return put!(f, " runs={} pairs={}", self.runs, pairs::PAIRS);
        }
        f.write_str(" nwriters_stress=")?;
        list(f, self.writers())?;
        put!(
            f,
            " cs_steps={} ncs_steps={} checks={} duration={} runs={} stall_secs={} seed={} nice={}",
            self.cs_steps,
            self.ncs_steps,
            self.checks.names(","),
            self.duration,
            self.runs,
            self.stall_secs,
            self.seed,
            writer::NICE,
        )
    }
}

/// The names of all parameters.
struct Names;

impl Display for Names {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        list(f, KEYS.iter().map(|key| key.name))
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
