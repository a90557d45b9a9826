// SPDX-License-Identifier: GPL-2.0-only

//! What a figure must be read with: the kernel, its options, the machine, and
//! which slow path its spinlocks have.

use super::{
    kernels::KernelRawSpin,
    plan::Plan,
    shim::{self, Thread},
    subject::{LockCell, Subject as _},
    text::{displayed, put},
    times,
};
use crate::{
    locks::Word as _,
    measure::{
        facts::{self as words, Answers, SlowPath, CODE, GOVERNOR},
        latency::Clock,
        plan::Kind,
    },
    spin::{self, Word},
};
use kernel::{
    bindings::raw_spinlock,
    error::to_result,
    ffi::{c_int, c_void},
    fmt::{self, Display, Formatter},
    prelude::*,
    str::CStr,
};

displayed!(Clock);

/// The facts of an experiment.
#[derive(Clone, Copy)]
pub(crate) struct Facts {
    pub(crate) slow_path: SlowPath,
    cpus: u32,
    isolated: u32,
    /// The preemption model, whether CPUs share cores, and how many nodes there are.
    /// All three are as at the start, for they may change.
    preempt: &'static CStr,
    smt: bool,
    numa_nodes: u32,
    governor: Name<GOVERNOR>,
    tracers: Tracers,
    /// KUnit cases that had run when it started, and how many ran meanwhile.
    kunit_before: u32,
    kunit_meanwhile: u32,
    /// Whether the writers were perturbed.
    is_perturbed: bool,
    /// The clock of times, where they are taken.
    pub(crate) clock: Option<Clock>,
    /// Whether the kernel did not trust that clock any more.
    is_untrusted: bool,
}

impl Facts {
    /// Counts what disturbed the experiment, which is a fact too; called at its end. `stamp_khz` is the clock's rate then,
    /// if the kernel trusts it.
    pub(crate) fn at_end(&mut self, stamp_khz: Option<u32>) {
        self.is_untrusted = self.clock.is_some() && stamp_khz.is_none();
        self.kunit_meanwhile = kunit_cases().wrapping_sub(self.kunit_before);
        self.tracers.add();
    }
}

fn governor() -> Name<GOVERNOR> {
    let each = |cpu| {
        let mut name = [0; GOVERNOR];
        // SAFETY: The buffer has the length that is given.
        let online = unsafe { shim::handover_governor(cpu, name.as_mut_ptr().cast(), GOVERNOR) };
        (online, name)
    };
    Name(words::governor((0..).map(each)))
}

/// Whether the functions that writers call are patched; negative: unknown.
fn traced_calls() -> c_int {
    for call in 0.. {
        let mut code = [0; CODE];
        // SAFETY: The buffer has the length that is given.
        match to_result(unsafe { shim::handover_code(call, code.as_mut_ptr(), CODE) }) {
            Ok(()) => match words::is_patched(code, cfg!(CONFIG_X86_KERNEL_IBT)) {
                Some(false) => {}
                Some(true) => return 1,
                None => return -1,
            },
            Err(ENOENT) => break,
            Err(_) => return -1,
        }
    }
    0
}

/// A name that C wrote, with its NUL.
#[derive(Clone, Copy)]
struct Name<const N: usize>([u8; N]);

impl<const N: usize> Name<N> {
    fn as_str(&self) -> &str {
        CStr::from_bytes_until_nul(&self.0).map_or("?", |name| name.to_str().unwrap_or("?"))
    }
}

/// The tracers at work, as far as a module can see them.
#[derive(Clone, Copy)]
struct Tracers {
    /// Whether the functions that writers call are patched; negative: unknown.
    calls: c_int,
    /// Tracepoints that are on, and the names of the first of them.
    events: u32,
    names: Name<96>,
}

impl Tracers {
    fn now() -> Self {
        let mut none = Self {
            calls: 0,
            events: 0,
            names: Name([0; 96]),
        };
        none.add();
        none
    }

    /// Adds those that are at work now. Where more were than there is room for, it is not known which have come: the greater
    /// number counts.
    fn add(&mut self) {
        let count = |Name(names): &mut Name<96>| {
            let (to, len) = (names.as_mut_ptr().cast(), names.len());
            // SAFETY: The buffer has the length that is given, and a string in it.
            unsafe { shim::handover_trace_events(to, len) }
        };
        if self.words().named() == self.events {
            self.events += count(&mut self.names);
        } else {
            self.events = self.events.max(count(&mut Name([0; 96])));
        }
        if self.calls == 0 {
            self.calls = traced_calls();
        }
    }

    fn words(&self) -> words::Tracers<'_> {
        words::Tracers {
            calls: self.calls,
            events: self.events,
            names: self.names.as_str(),
        }
    }
}

impl Display for Tracers {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        core::fmt::Display::fmt(&self.words(), f)
    }
}

/// The mitigations that are on, of those that calls and returns pay for.
struct Mitigations;

impl Display for Mitigations {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut first = true;
        for index in 0.. {
            let mut on = false;
            // SAFETY: `on` is valid for a write.
            let name = unsafe { shim::handover_mitigation(index, &mut on) };
            if name.is_null() {
                break;
            }
            if on {
                // SAFETY: It is a literal.
                let name = unsafe { CStr::from_char_ptr(name) };
                f.write_str(if first { "" } else { "," })?;
                f.write_str(name.to_str().unwrap_or("?"))?;
                first = false;
            }
        }
        // SAFETY: No requirements.
        match (first, unsafe { shim::handover_mitigations_off() }) {
            (true, true) => f.write_str("off"),
            (true, false) => f.write_str("none"),
            (false, _) => Ok(()),
        }
    }
}

/// KUnit cases of this module, those with kthreads, that have begun. Where a
/// kernel runs them as it loads the module, they run beside the experiment that
/// `insmod` starts.
fn kunit_cases() -> u32 {
    #[cfg(CONFIG_KUNIT = "y")]
    return crate::kunit::cases();
    #[cfg(not(CONFIG_KUNIT = "y"))]
    return 0;
}

/// Options that slow some lock down, or all: they spoil the figures.
const SPOILS: &[(bool, &str)] = &[
    (cfg!(CONFIG_LOCKDEP), "LOCKDEP"),
    (cfg!(CONFIG_DEBUG_SPINLOCK), "DEBUG_SPINLOCK"),
    (cfg!(CONFIG_DEBUG_PREEMPT), "DEBUG_PREEMPT"),
    (cfg!(CONFIG_LOCK_STAT), "LOCK_STAT"),
    (cfg!(CONFIG_LOCK_EVENT_COUNTS), "LOCK_EVENT_COUNTS"),
    (
        cfg!(CONFIG_QUEUED_SPINLOCKS_TRACE_CONTENDED_RELEASE),
        "QUEUED_SPINLOCKS_TRACE_CONTENDED_RELEASE",
    ),
    (cfg!(CONFIG_KASAN), "KASAN"),
    (cfg!(CONFIG_KCSAN), "KCSAN"),
    (cfg!(CONFIG_KMSAN), "KMSAN"),
    (cfg!(CONFIG_KCOV), "KCOV"),
    (cfg!(CONFIG_GCOV_KERNEL), "GCOV_KERNEL"),
    (cfg!(CONFIG_PREEMPT_TRACER), "PREEMPT_TRACER"),
    (cfg!(CONFIG_IRQSOFF_TRACER), "IRQSOFF_TRACER"),
    (cfg!(CONFIG_RUST_DEBUG_ASSERTIONS), "RUST_DEBUG_ASSERTIONS"),
    (cfg!(CONFIG_PREEMPT_RT), "PREEMPT_RT"),
];

impl Display for Facts {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        // SAFETY: The release of the running kernel is a C string that stays.
        let release = unsafe { CStr::from_char_ptr(shim::handover_release()) };
        // SAFETY: So is the name of the boot CPU.
        let cpu = unsafe { CStr::from_char_ptr(shim::handover_cpu_model()) };
        // SAFETY: No requirements.
        let hypervisor = unsafe { shim::handover_has_hypervisor() };
        let inline_helpers = if cfg!(CONFIG_RUST_INLINE_HELPERS) {
            "y"
        } else {
            "n"
        };
        let text = |s: &'static CStr| s.to_str().unwrap_or("?").trim();
        put!(
            f,
            "kernel={} RUST_INLINE_HELPERS={} cpus={} isolated_cpus={} cpu=\"{}\" hypervisor_bit={} spinlock_slow_path={} spoiled_by=",
            text(release),
            inline_helpers,
            self.cpus,
            self.isolated,
            text(cpu),
            u8::from(hypervisor),
            self.slow_path.name(),
        )?;
        // SAFETY: No requirements.
        let hz = unsafe { shim::handover_hz() };
        let mut first = true;
        for (_, name) in SPOILS.iter().filter(|(on, _)| *on) {
            f.write_str(if first { "" } else { "," })?;
            f.write_str(name)?;
            first = false;
        }
        if self.kunit_meanwhile != 0 {
            f.write_str(if first { "" } else { "," })?;
            f.write_str("KUNIT_RAN")?;
            first = false;
        }
        if self.is_perturbed {
            f.write_str(if first { "" } else { "," })?;
            f.write_str("PERTURBED")?;
            first = false;
        }
        if self.is_untrusted {
            f.write_str(if first { "" } else { "," })?;
            f.write_str("TSC_UNTRUSTED")?;
            first = false;
        }
        let none = if first { "none" } else { "" };
        put!(
            f,
            "{} HZ={} preempt={} smt={} numa_nodes={} mitigations={} governor={} tracers={}",
            none,
            hz,
            text(self.preempt),
            if self.smt { "on" } else { "off" },
            self.numa_nodes,
            Mitigations,
            self.governor.as_str(),
            self.tracers,
        )?;
        match self.clock {
            Some(clock) => put!(f, " {clock}"),
            None => Ok(()),
        }
    }
}

/// Gathers the facts of an experiment that is about to start.
pub(crate) fn gather(plan: &Plan, stopping: &impl Fn() -> bool) -> Facts {
    Facts {
        slow_path: identify(stopping),
        cpus: shim::online_cpus(),
        // This is a kthread that is bound to no CPU, as the writers are.
        isolated: shim::isolated_cpus(),
        // SAFETY: It is a literal.
        preempt: unsafe { CStr::from_char_ptr(shim::handover_preempt_model()) },
        // SAFETY: No requirements.
        smt: unsafe { shim::handover_smt() },
        // SAFETY: No requirements.
        numa_nodes: unsafe { shim::handover_numa_nodes() },
        governor: governor(),
        tracers: Tracers::now(),
        kunit_before: kunit_cases(),
        kunit_meanwhile: 0,
        is_perturbed: plan.is_perturbed(),
        clock: if plan.kind == Kind::Torture && plan.perturbations.latency != 0 {
            times::clock()
        } else {
            None
        },
        is_untrusted: false,
    }
}

/// Asks ten times at most. The answer is unknown where no second CPU is left for the waiter.
fn identify(stopping: &impl Fn() -> bool) -> SlowPath {
    // This is a kthread that is bound to no CPU, and so is the waiter.
    if !cfg!(CONFIG_QUEUED_SPINLOCKS) || shim::usable_cpus() < 2 {
        return SlowPath::Unknown;
    }
    let mut answers = Answers::new();
    for _ in 0..10 {
        if stopping() {
            break;
        }
        let now = probe(stopping).unwrap_or(SlowPath::Unknown);
        if let Some(believed) = answers.believed(now) {
            return believed;
        }
    }
    SlowPath::Unknown
}

/// One owner and one waiter on a raw spinlock.
struct Probe {
    lock: LockCell,
    /// 1: the waiter is there; 2: it may go; 3: it is about to wait.
    step: Word,
    /// 1: the lock is not held for the waiter, which need not wait.
    over: Word,
}

impl Probe {
    fn state(&self) -> *mut raw_spinlock {
        self.lock.state::<KernelRawSpin>()
    }

    /// The first word of the lock: qspinlock's value.
    fn word(&self) -> u32 {
        // SAFETY: A raw spinlock begins with its 32-bit word.
        unsafe { self.state().cast::<u32>().read_volatile() }
    }
}

/// Holds a lock, adds a waiter on another CPU, and reads the word. It is over
/// after 1.2 s, or soon after a stop.
fn probe(stopping: &impl Fn() -> bool) -> Option<SlowPath> {
    let probe = KBox::new(
        Probe {
            lock: LockCell::new(),
            step: Word::new(0),
            over: Word::new(0),
        },
        GFP_KERNEL,
    )
    .ok()?;
    // SAFETY: The cell is big enough for a raw spinlock, and no thread uses it.
    unsafe { KernelRawSpin::init(probe.state(), 0, 0) };
    // SAFETY: `waiter` expects a probe with a lock; it stays until `stop` below
    // has returned. `waiter` ends with `await_stop`.
    let thread = unsafe {
        Thread::create(
            waiter,
            (&raw const *probe).cast_mut().cast(),
            c"ho_probe",
            0,
            None,
        )
    }
    .ok()?;
    thread.start();
    if !shim::await_ms(1000, stopping, || probe.step.load_acquire() >= 1) {
        probe.over.store_release(1);
        thread.stop();
        return None;
    }

    // SAFETY: The lock is initialised; it is released below.
    unsafe { shim::raw_spin_lock(probe.state()) };
    let alone = probe.word();
    probe.step.store_release(2);
    // The waiter sleeps a tick at most, and shows in the word at once, or never.
    // No thread spins without a bound here: CPUs may be asked to stop meanwhile.
    let until = shim::now_ns() + 200_000_000;
    let mut word = alone;
    while word == alone && shim::now_ns() < until && !stopping() {
        word = probe.word();
    }
    let arrived = probe.step.load_acquire() == 3;
    // SAFETY: Locked above.
    unsafe { shim::raw_spin_unlock(probe.state()) };
    probe.over.store_release(1);
    thread.stop();

    if stopping() {
        // Cut short: what was seen says nothing.
        return None;
    }
    Some(SlowPath::of_words(alone, word, arrived))
}

/// The waiter's kthread.
///
/// # Safety
///
/// `arg` must point to a [`Probe`] with an initialised lock, until it is stopped.
unsafe extern "C" fn waiter(arg: *mut c_void) -> c_int {
    // SAFETY: By this function's contract.
    let probe = unsafe { &*arg.cast::<Probe>() };
    probe.step.store_release(1);
    // Acquire, pairs with the releases in `probe`.
    while probe.step.load_acquire() != 2 && probe.over.load_acquire() == 0 {
        shim::sleep_ms(1);
    }
    // SAFETY: Paired with `preempt_enable` below. A thread that sees step 3
    // knows that the next thing this CPU does is to wait.
    unsafe { spin::shim::handover_preempt_disable() };
    probe.step.store_release(3);
    // SAFETY: The lock is initialised, by this function's contract.
    unsafe { shim::raw_spin_lock(probe.state()) };
    // SAFETY: Locked above.
    unsafe { shim::raw_spin_unlock(probe.state()) };
    // SAFETY: Paired with `preempt_disable` above.
    unsafe { spin::shim::handover_preempt_enable() };
    // SAFETY: This is a kthread.
    unsafe { shim::await_stop() };
    0
}
