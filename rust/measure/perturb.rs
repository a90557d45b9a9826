// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What is done to the writers of a run beside their work, in locktorture's words.

use super::{prng::Prng, words::small};
use core::fmt::{self, Display, Formatter};

/// The most locks that are nested: locktorture's MAX_NESTED_LOCKS.
pub const MAX_NESTED: u32 = 8;
/// The most locks at a time.
pub const MAX_AT_ONCE: u32 = 64;
/// The greatest number that a CPU may have.
const MAX_CPU: u32 = 8191;

/// CPUs with numbers that follow each other.
///
/// # Examples
///
/// ```
/// use handover_measure::perturb::Cpus;
///
/// assert_eq!(Cpus::parse("2-5"), Some(Cpus { first: 2, last: 5 }));
/// assert_eq!(Cpus::parse("7").unwrap().to_string(), "7");
/// assert_eq!(Cpus::parse("5-2"), None);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpus {
    /// The least number.
    pub first: u32,
    /// The greatest number.
    pub last: u32,
}

impl Cpus {
    /// A number, or two with a dash between, the smaller one first.
    pub fn parse(text: &str) -> Option<Self> {
        let (first, last) = text.split_once('-').unwrap_or((text, text));
        let first = small(first, 0, MAX_CPU)?;
        let last = small(last, first, MAX_CPU)?;
        Some(Self { first, last })
    }
}

impl Display for Cpus {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.first)?;
        if self.first != self.last {
            write!(f, "-{}", self.last)?;
        }
        Ok(())
    }
}

/// What is to be done to the writers of a run. A 0 is for what is not done.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Perturbations {
    /// Milliseconds that a section takes now and then.
    pub long_hold: u32,
    /// Seconds after which all writers pause, and again go on.
    pub stutter: u32,
    /// Seconds after which another CPU is left to no writer.
    pub shuffle_interval: u32,
    /// Seconds after which a CPU goes off line, or comes back.
    pub onoff_interval: u32,
    /// Seconds before the first one goes.
    pub onoff_holdoff: u32,
    /// The CPUs that writers run on; none: all.
    pub bind_writers: Option<Cpus>,
    /// How many locks may be taken before the one that a section needs.
    pub nested_locks: u32,
    /// 2: a writer becomes a real-time thread now and then.
    pub rt_boost: u32,
    /// How seldom it does.
    pub rt_boost_factor: u32,
    /// 1: writers are real-time threads from the start.
    pub writer_fifo: u32,
    /// Jiffies that a writer may wait for a lock.
    pub acq_writer_lim: u32,
    /// How many locks there are. A section needs one of them, which is drawn.
    pub nlocks: u32,
    /// 1: a writer tries first, and waits if that fails.
    pub try_lock: u32,
    /// Microseconds after which an interrupt of a writer's CPU has a section of its own.
    pub irq_interval: u32,
    /// 1: the time of each wait and of each hand-over is taken.
    pub latency: u32,
}

impl Perturbations {
    /// Nothing: one lock, and nobody disturbs its writers.
    pub const OFF: Self = Self {
        long_hold: 0,
        stutter: 0,
        shuffle_interval: 0,
        onoff_interval: 0,
        onoff_holdoff: 0,
        bind_writers: None,
        nested_locks: 0,
        rt_boost: 0,
        rt_boost_factor: 50,
        writer_fifo: 0,
        acq_writer_lim: 0,
        nlocks: 1,
        try_lock: 0,
        irq_interval: 0,
        latency: 0,
    };

    /// Whether there is more than one lock, or anything is done to the writers. They run another loop then, and what
    /// they acquire is no figure.
    pub fn is_any(&self) -> bool {
        let alike = Self {
            // These do nothing by themselves.
            onoff_holdoff: Self::OFF.onoff_holdoff,
            rt_boost_factor: Self::OFF.rt_boost_factor,
            ..*self
        };
        alike != Self::OFF
    }

    /// What is done, as `name=value` words with `between` between them; or `none`.
    pub fn words(self, between: &'static str) -> Asked {
        Asked(self, between)
    }

    /// One in how many sections, of each of so many writers, takes long. None: none does.
    ///
    /// It is locktorture's chance (`torture_spin_lock_write_delay`): the longer a hold, the fewer there are.
    pub fn long_hold_one_in(&self, writers: u32) -> Option<u32> {
        let one_in = writers.saturating_mul(2000).saturating_mul(self.long_hold);
        (self.long_hold != 0).then_some(one_in)
    }

    /// One in how many sections, of each of so many writers, has the writer boosted. Where it `is_boosted`, one has
    /// it no longer so. None: none does.
    ///
    /// It is locktorture's chance (`__torture_rt_boost`): a boost ends later than it begins.
    pub fn boost_one_in(&self, writers: u32, is_boosted: bool) -> Option<u32> {
        let one_in = writers.saturating_mul(self.rt_boost_factor);
        let longer = if is_boosted { 2 } else { 1 };
        (self.rt_boost != 0).then_some(one_in.saturating_mul(longer))
    }

    /// Draws the nested locks that are taken, a bit each.
    pub fn nested(&self, prng: &mut Prng) -> u32 {
        let all = 1u32.checked_shl(self.nested_locks).unwrap_or(0);
        prng.below(all)
    }

    /// Whether a wait was too long that began and ended at these jiffies.
    pub fn is_late(&self, from: u64, to: u64) -> bool {
        self.acq_writer_lim != 0 && to.wrapping_sub(from) > u64::from(self.acq_writer_lim)
    }
}

/// What [`Perturbations::words`] returns.
pub struct Asked(Perturbations, &'static str);

impl Display for Asked {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(it, between) = self;
        let mut words = Words::new(f, between);
        words.number("long_hold", it.long_hold.into(), 0)?;
        words.number("stutter", it.stutter.into(), 0)?;
        words.number("shuffle_interval", it.shuffle_interval.into(), 0)?;
        words.number("onoff_interval", it.onoff_interval.into(), 0)?;
        if it.onoff_interval != 0 {
            words.number("onoff_holdoff", it.onoff_holdoff.into(), 0)?;
        }
        if let Some(cpus) = it.bind_writers {
            words.word("bind_writers", cpus)?;
        }
        words.number("nested_locks", it.nested_locks.into(), 0)?;
        words.number("rt_boost", it.rt_boost.into(), 0)?;
        if it.rt_boost != 0 {
            words.number("rt_boost_factor", it.rt_boost_factor.into(), 0)?;
        }
        words.number("writer_fifo", it.writer_fifo.into(), 0)?;
        words.number("acq_writer_lim", it.acq_writer_lim.into(), 0)?;
        words.number("nlocks", it.nlocks.into(), 1)?;
        words.number("try_lock", it.try_lock.into(), 0)?;
        words.number("irq_interval", it.irq_interval.into(), 0)?;
        words.number("latency", it.latency.into(), 0)?;
        words.end()
    }
}

/// What was done to the writers of a run, or to one of them.
///
/// # Examples
///
/// ```
/// use handover_measure::perturb::Perturbed;
///
/// let one = Perturbed { tries: 3, ..Perturbed::default() };
/// let both = one.and(Perturbed { tries: 1, pauses: 2, ..Perturbed::default() });
/// assert_eq!(both.words("+").to_string(), "pauses=2+tries=4");
/// assert_eq!(Perturbed::default().words("+").to_string(), "none");
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Perturbed {
    /// How often all paused.
    pub pauses: u64,
    /// How often another CPU was left to none.
    pub shuffles: u64,
    /// How often a CPU went off line.
    pub offlines: u64,
    /// Sections that took long.
    pub long_holds: u64,
    /// How often a writer became a real-time thread.
    pub boosts: u64,
    /// Nested locks that were taken.
    pub nested: u64,
    /// Locks that were taken by trying.
    pub tries: u64,
    /// Sections of interrupts.
    pub irqs: u64,
    /// Locks that were ever taken, of `nlocks`.
    pub locks: u64,
    /// CPUs that are still off line at the end.
    pub away: u64,
}

impl Perturbed {
    /// This and that.
    pub fn and(self, that: Self) -> Self {
        Self {
            pauses: self.pauses.wrapping_add(that.pauses),
            shuffles: self.shuffles.wrapping_add(that.shuffles),
            offlines: self.offlines.wrapping_add(that.offlines),
            long_holds: self.long_holds.wrapping_add(that.long_holds),
            boosts: self.boosts.wrapping_add(that.boosts),
            nested: self.nested.wrapping_add(that.nested),
            tries: self.tries.wrapping_add(that.tries),
            irqs: self.irqs.wrapping_add(that.irqs),
            locks: self.locks.wrapping_add(that.locks),
            away: self.away.wrapping_add(that.away),
        }
    }

    /// What was done, as `name=value` words with `between` between them; or `none`.
    pub fn words(self, between: &'static str) -> Done {
        Done(self, between)
    }
}

/// What [`Perturbed::words`] returns.
pub struct Done(Perturbed, &'static str);

impl Display for Done {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Self(it, between) = self;
        let mut words = Words::new(f, between);
        words.number("pauses", it.pauses, 0)?;
        words.number("shuffles", it.shuffles, 0)?;
        words.number("offlines", it.offlines, 0)?;
        words.number("long_holds", it.long_holds, 0)?;
        words.number("boosts", it.boosts, 0)?;
        words.number("nested", it.nested, 0)?;
        words.number("tries", it.tries, 0)?;
        words.number("irqs", it.irqs, 0)?;
        words.number("locks", it.locks, 0)?;
        words.number("away", it.away, 0)?;
        words.end()
    }
}

/// `name=value` words, written one by one.
struct Words<'a, 'b> {
    f: &'a mut Formatter<'b>,
    between: &'static str,
    is_first: bool,
}

impl<'a, 'b> Words<'a, 'b> {
    fn new(f: &'a mut Formatter<'b>, between: &'static str) -> Self {
        Self {
            f,
            between,
            is_first: true,
        }
    }

    fn word(&mut self, name: &str, value: impl Display) -> fmt::Result {
        let before = if self.is_first { "" } else { self.between };
        self.is_first = false;
        write!(self.f, "{before}{name}={value}")
    }

    /// A number that is not `but`.
    fn number(&mut self, name: &str, value: u64, but: u64) -> fmt::Result {
        if value == but {
            return Ok(());
        }
        self.word(name, value)
    }

    /// After the last: `none` where there was none.
    fn end(self) -> fmt::Result {
        self.f.write_str(if self.is_first { "none" } else { "" })
    }
}
