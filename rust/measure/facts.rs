// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What an experiment's facts make of what was seen. They name a spinlock's slow path, who traces, and the CPUs' governor.

use core::fmt::{self, Display, Formatter};

/// The slow path of the kernel's spinlock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SlowPath {
    /// qspinlock's own: a pending bit, then an MCS queue.
    Native,
    /// qspinlock's paravirtual one: a queue without the pending bit.
    Paravirt,
    /// Test-and-set: what a hypervisor's guest gets without PV spinlocks. Not
    /// qspinlock.
    TestAndSet,
    /// No thread could be made to wait (one CPU), or the word is another.
    Unknown,
}

impl SlowPath {
    /// Its name in the facts line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Native => "qspinlock-native",
            Self::Paravirt => "qspinlock-paravirt",
            Self::TestAndSet => "test-and-set",
            Self::Unknown => "unknown",
        }
    }

    /// By the lock's word: what it was with its owner alone, and what it is with a waiter, who `arrived`.
    ///
    /// qspinlock's word has the owner in its first byte and the pending bit in the second. The queue's tail begins at bit 16.
    /// So says `include/asm-generic/qspinlock_types.h`.
    ///
    /// # Examples
    ///
    /// ```
    /// use handover_measure::facts::SlowPath;
    ///
    /// assert_eq!(SlowPath::of_words(1, 0x101, true), SlowPath::Native);
    /// assert_eq!(SlowPath::of_words(1, 1, true), SlowPath::TestAndSet);
    /// // Nobody waited.
    /// assert_eq!(SlowPath::of_words(1, 1, false), SlowPath::Unknown);
    /// ```
    pub const fn of_words(alone: u32, word: u32, arrived: bool) -> Self {
        match word {
            _ if alone != 1 || !arrived => Self::Unknown,
            1 => Self::TestAndSet,
            0x101 => Self::Native,
            _ if word >> 16 != 0 => Self::Paravirt,
            _ => Self::Unknown,
        }
    }
}

/// What is made of one answer after the other.
///
/// On a busy host a waiter may come too late to be seen, which looks like test-and-set. Test-and-set is therefore believed
/// only twice in a row.
///
/// # Examples
///
/// ```
/// use handover_measure::facts::{Answers, SlowPath};
///
/// let mut answers = Answers::new();
/// assert_eq!(answers.believed(SlowPath::TestAndSet), None);
/// assert_eq!(answers.believed(SlowPath::Native), Some(SlowPath::Native));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answers {
    before: SlowPath,
}

impl Answers {
    /// None yet.
    #[expect(
        clippy::new_without_default,
        reason = "a first answer is none that a default suggests"
    )]
    pub const fn new() -> Self {
        Self {
            before: SlowPath::Unknown,
        }
    }

    /// What is believed now that this was answered; None: it has to be asked again.
    pub fn believed(&mut self, now: SlowPath) -> Option<SlowPath> {
        let is_believed = match now {
            SlowPath::Native | SlowPath::Paravirt => true,
            SlowPath::TestAndSet => self.before == SlowPath::TestAndSet,
            SlowPath::Unknown => false,
        };
        self.before = now;
        is_believed.then_some(now)
    }
}

/// The tracers at work, as words.
///
/// # Examples
///
/// ```
/// use handover_measure::facts::Tracers;
///
/// let none = Tracers { calls: 0, events: 0, names: "" };
/// assert_eq!(none.to_string(), "none");
/// let two = Tracers { calls: 1, events: 3, names: "sched_switch,mark_victim" };
/// assert_eq!(two.to_string(), "calls,sched_switch,mark_victim,and-1-more");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tracers<'a> {
    /// Whether the functions that writers call are patched; negative: unknown.
    pub calls: i32,
    /// Tracepoints that are on.
    pub events: u32,
    /// The names of the first of them, with commas between.
    pub names: &'a str,
}

impl Tracers<'_> {
    /// How many events are named.
    pub fn named(&self) -> u32 {
        let names = self.names.split(',');
        names.filter(|name| !name.is_empty()).count() as u32
    }
}

impl Display for Tracers<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let calls = match self.calls {
            0 => "",
            1 => "calls",
            _ => "calls-unknown",
        };
        let mut between = "";
        for word in [calls, self.names] {
            if !word.is_empty() {
                write!(f, "{between}{word}")?;
                between = ",";
            }
        }
        match self.events.saturating_sub(self.named()) {
            0 if between.is_empty() => f.write_str("none"),
            0 => Ok(()),
            more => write!(f, "{between}and-{more}-more"),
        }
    }
}

/// How much of a function's code [`is_patched`] looks at, in bytes.
pub const CODE: usize = 9;

/// Whether something is patched into a function of x86-64, by the first bytes of its code. None: they do not show it.
///
/// The function tracer, BPF and kprobes put a call, a jump or a breakpoint at an entry. It comes after `endbr64`, with which
/// every function begins where the kernel has IBT. Elsewhere the kernel has sealed the entry, or FineIBT has.
///
/// # Examples
///
/// ```
/// use handover_measure::facts::is_patched;
///
/// assert_eq!(is_patched([0xcc, 0, 0, 0, 0, 0, 0, 0, 0], false), Some(true));
/// assert_eq!(is_patched([0xf3, 0x0f, 0x1e, 0xfa, 0x90, 0, 0, 0, 0], true), Some(false));
/// ```
pub fn is_patched(code: [u8; CODE], is_ibt: bool) -> Option<bool> {
    let entry = match code {
        [0xf3, 0x0f, 0x1e, 0xfa, entry, ..] => entry,
        _ if is_ibt => return None,
        [entry, ..] => entry,
    };
    // call, jmp, int3
    Some(matches!(entry, 0xe8 | 0xe9 | 0xcc))
}

/// The room for a governor's name and its NUL: the kernel's CPUFREQ_NAME_LEN.
pub const GOVERNOR: usize = 16;

/// The governor of the CPUs' frequency. Each CPU in turn is 1 and its governor's name, or 0 where it is off line. A negative
/// number is behind the last one. A name is empty where no driver changes the frequency. `none` is that of all such CPUs, and
/// `mixed` where CPUs differ. Names end with a NUL, or fill their room.
///
/// # Examples
///
/// ```
/// use handover_measure::facts::governor;
///
/// let [none, performance] = [*b"\0_______________", *b"performance\0____"];
/// let of = |names: &[_]| governor(names.iter().map(|name| (1, *name)));
/// assert!(of(&[performance, performance]).starts_with(b"performance\0"));
/// assert!(of(&[none, none]).starts_with(b"none\0"));
/// assert!(of(&[performance, none]).starts_with(b"mixed\0"));
/// // The second one is off line, and the third is none.
/// let some = [(1, performance), (0, none), (-2, none)];
/// assert!(governor(some.into_iter()).starts_with(b"performance\0"));
/// ```
pub fn governor(each: impl Iterator<Item = (i32, [u8; GOVERNOR])>) -> [u8; GOVERNOR] {
    let known = each.take_while(|(online, _)| *online >= 0);
    let online = known.filter(|(online, _)| *online > 0);
    let mut each = online.map(|(_, name)| name).fuse();
    let first = each.next().unwrap_or_default();
    let length = |name: &[u8; GOVERNOR]| name.iter().position(|byte| *byte == 0);
    let is_first = |name: [u8; GOVERNOR]| {
        let end = length(&name).unwrap_or(GOVERNOR);
        length(&name) == length(&first) && name[..end] == first[..end]
    };
    match length(&first) {
        _ if !each.all(is_first) => *b"mixed\0\0\0\0\0\0\0\0\0\0\0",
        Some(0) => *b"none\0\0\0\0\0\0\0\0\0\0\0\0",
        _ => first,
    }
}
