// SPDX-License-Identifier: GPL-2.0

//! What a figure must be read with: the kernel, its options, the machine, and
//! which slow path its spinlocks have.

use super::{
    plan::Plan,
    report::put,
    shim::{self, Thread},
    subject::LockCell,
    word::Word,
};
use crate::locks::Word as _;
use kernel::{
    bindings::raw_spinlock,
    ffi::{c_int, c_void},
    fmt::{self, Display, Formatter},
    prelude::*,
    str::CStr,
};

/// The slow path of the kernel's spinlock.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum SlowPath {
    /// qspinlock's own: a pending bit, then an MCS queue.
    Native,
    /// qspinlock's paravirtual one: a queue without the pending bit.
    Paravirt,
    /// Test-and-set: what a hypervisor's guest gets without PV spinlocks. Not
    /// qspinlock.
    TestAndSet,
    /// Nobody could be made to wait (one CPU), or the word is another.
    Unknown,
}

/// The facts of an experiment.
#[derive(Clone, Copy)]
pub(crate) struct Facts {
    pub(crate) slow_path: SlowPath,
    cpus: u32,
    isolated: u32,
    seed: u64,
    /// KUnit cases that had run when it started, and how many ran meanwhile.
    kunit_before: u32,
    kunit_meanwhile: u32,
}

impl Facts {
    /// To be called at the experiment's end: what disturbed it, is a fact too.
    pub(crate) fn at_end(&mut self) {
        self.kunit_meanwhile = kunit_cases().wrapping_sub(self.kunit_before);
    }
}

/// KUnit cases of this module, those with kthreads, that have begun. Where a
/// kernel runs them as it loads the module, they run beside the experiment that
/// `insmod` starts.
fn kunit_cases() -> u32 {
    #[cfg(CONFIG_KUNIT = "y")]
    return super::kunit::cases();
    #[cfg(not(CONFIG_KUNIT = "y"))]
    return 0;
}

/// Options that slow some lock down, or all: figures taken with them are void.
const VOID: &[(bool, &str)] = &[
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
            "kernel={} RUST_INLINE_HELPERS={} cpus={} isolated_cpus={} cpu=\"{}\" hypervisor_bit={} spinlock_slow_path={} voids=",
            text(release),
            inline_helpers,
            self.cpus,
            self.isolated,
            text(cpu),
            u8::from(hypervisor),
            self.slow_path.name(),
        )?;
        let mut first = true;
        for (_, name) in VOID.iter().filter(|(on, _)| *on) {
            f.write_str(if first { "" } else { "," })?;
            f.write_str(name)?;
            first = false;
        }
        if self.kunit_meanwhile != 0 {
            f.write_str(if first { "" } else { "," })?;
            f.write_str("KUNIT_RAN")?;
            first = false;
        }
        let none = if first { "none" } else { "" };
        put!(f, "{none} seed={}", self.seed)
    }
}

impl SlowPath {
    /// Its name in the facts line.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Native => "qspinlock-native",
            Self::Paravirt => "qspinlock-paravirt",
            Self::TestAndSet => "test-and-set",
            Self::Unknown => "unknown",
        }
    }
}

/// Gathers the facts of an experiment that is about to start.
pub(crate) fn gather(plan: &Plan) -> Facts {
    Facts {
        slow_path: identify(),
        cpus: shim::online_cpus(),
        // This is a kthread that nobody bound, as the writers are.
        // SAFETY: No requirements.
        isolated: unsafe { shim::handover_isolated_cpus() },
        seed: plan.seed,
        kunit_before: kunit_cases(),
        kunit_meanwhile: 0,
    }
}

/// Asks ten times at most: on a busy host a waiter may come too late to be
/// seen, which looks like test-and-set, so that is believed only twice in a row.
fn identify() -> SlowPath {
    let mut before = SlowPath::Unknown;
    for _ in 0..10 {
        let now = probe().unwrap_or(SlowPath::Unknown);
        match now {
            SlowPath::Native | SlowPath::Paravirt => return now,
            SlowPath::TestAndSet if before == SlowPath::TestAndSet => return now,
            _ => before = now,
        }
    }
    SlowPath::Unknown
}

/// One owner and one waiter on a raw spinlock.
struct Probe {
    lock: LockCell,
    /// 1: the waiter is there; 2: it may go; 3: it is about to wait.
    step: Word,
}

impl Probe {
    fn state(&self) -> *mut raw_spinlock {
        self.lock.raw_state()
    }

    /// The first word of the lock: qspinlock's value.
    fn word(&self) -> u32 {
        // SAFETY: A raw spinlock begins with its 32-bit word.
        unsafe { self.state().cast::<u32>().read_volatile() }
    }
}

/// Holds a lock, adds a waiter on another CPU, and reads the word.
fn probe() -> Option<SlowPath> {
    if !cfg!(CONFIG_QUEUED_SPINLOCKS) {
        return None;
    }
    // SAFETY: No requirements.
    let cpu = u32::try_from(unsafe { shim::handover_other_cpu() }).ok()?;
    let probe = KBox::new(
        Probe {
            lock: LockCell::new(),
            step: Word::new(0),
        },
        GFP_KERNEL,
    )
    .ok()?;
    // SAFETY: The cell is big enough for a raw spinlock, and nobody uses it.
    unsafe { shim::handover_raw_spin_init(probe.state()) };
    // SAFETY: `waiter` expects a probe with a lock; it stays until `stop` below
    // has returned. `waiter` ends with `await_stop`.
    let thread = unsafe {
        Thread::create(
            waiter,
            (&raw const *probe).cast_mut().cast(),
            c"handover_probe",
            0,
            Some(cpu),
        )
    }
    .ok()?;
    thread.start();
    while probe.step.load_acquire() < 1 {
        shim::sleep_ms(1);
    }

    // SAFETY: The lock is initialised; it is released below.
    unsafe { shim::raw_spin_lock(probe.state()) };
    let alone = probe.word();
    probe.step.store_release(2);
    // The waiter sleeps a tick at most, and shows in the word at once, or never.
    // Nobody spins without a bound here: CPUs may be asked to stop meanwhile.
    let until = shim::now_ns() + 200_000_000;
    let mut word = alone;
    while word == alone && shim::now_ns() < until {
        word = probe.word();
    }
    let arrived = probe.step.load_acquire() == 3;
    // SAFETY: Locked above.
    unsafe { shim::raw_spin_unlock(probe.state()) };
    thread.stop();

    match word {
        _ if alone != 1 || !arrived => None,
        1 => Some(SlowPath::TestAndSet),
        0x101 => Some(SlowPath::Native),
        _ if word >> 16 != 0 => Some(SlowPath::Paravirt),
        _ => None,
    }
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
    while probe.step.load_acquire() != 2 {
        shim::sleep_ms(1);
    }
    // SAFETY: Paired with `preempt_enable` below. Who sees step 3 knows that
    // the next thing this CPU does is to wait.
    unsafe { shim::handover_preempt_disable() };
    probe.step.store_release(3);
    // SAFETY: The lock is initialised, by this function's contract.
    unsafe { shim::raw_spin_lock(probe.state()) };
    // SAFETY: Locked above.
    unsafe { shim::raw_spin_unlock(probe.state()) };
    // SAFETY: Paired with `preempt_disable` above.
    unsafe { shim::handover_preempt_enable() };
    // SAFETY: This is a kthread.
    unsafe { shim::await_stop() };
    0
}
