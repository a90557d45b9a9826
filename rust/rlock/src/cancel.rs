// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Cancelling: what a canceller learns of the victim's thread, and the three modes.

use core::sync::atomic::Ordering;
use std::os::fd::BorrowedFd;
use std::time::{Duration, Instant};

use crate::fork;
use crate::found::{self, Setup};
use crate::kernel::{self, File, Stat};
use crate::protocol::{self, Busy, Cancelled, Victim};
use crate::record::{self, Record};
use crate::signal;
use crate::word::Ownership;

/// How hard to try to end an ownership.
///
/// # Examples
///
/// ```
/// use rlock::{Cancel, Lock, Owner, Slot};
/// use std::time::Duration;
///
/// let lock = Lock::new(Slot::new(0));
/// let owner = Owner::register()?;
/// let mut token = owner.acquire(&lock)?;
/// // Any thread may; the owner's own does it here.
/// lock.cancel(Cancel::within(Duration::from_secs(1)))?;
/// assert!(token.store(|slot| slot, 7).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Copy, Debug)]
pub enum Cancel {
    /// Once. Succeeds when the owner is proven not to run: it sleeps, or its last CPU is
    /// the caller's. Some microseconds; a tick when the owner is just falling asleep,
    /// which the kernel awaits. Sends a signal only to a thread that was interrupted in
    /// a section.
    Try,
    /// Like [`Try`](Self::Try), repeated until then, with pauses. An owner that runs is
    /// cancelled as soon as it leaves its CPU or notices.
    Until(Instant),
    /// A barrier on the owner's CPU, until then. The barrier is membarrier's: an
    /// interrupt to every CPU on which the process runs. An owner in a section must also
    /// leave it, or answer a signal. Believes nothing that `/proc` says. A thread that
    /// is stopped inside a section does not answer.
    Strict(Instant),
}

impl Cancel {
    /// [`Until`](Self::Until) so much later than now.
    pub fn within(time: Duration) -> Self {
        Self::Until(Instant::now() + time)
    }

    /// [`Strict`](Self::Strict) until so much later than now.
    pub fn strictly_within(time: Duration) -> Self {
        Self::Strict(Instant::now() + time)
    }
}

const COUNT_BITS: u32 = 48;
const COUNT: u64 = (1 << COUNT_BITS) - 1;

/// The calling thread, which is the record's, says where it is.
pub(crate) fn publish_last_cpu(record: &Record) {
    let Some(setup) = found::get() else { return };
    let able = &setup.capabilities;
    if able.same_cpu.is_err() || able.switches.is_err() {
        return;
    }
    // First the count, then the CPU: if it is switched in between, that count is over.
    let count = Thread::new(setup, record, false).switches();
    let cpu = setup.config.kernel.cpu();
    let last_cpu = match (count, cpu) {
        (Some(Ok(count)), Some(cpu)) if cpu < 0xffff => {
            ((u64::from(cpu) + 1) << COUNT_BITS) | (count & COUNT)
        }
        _ => 0,
    };
    record.last_cpu.store(last_cpu, Ordering::Release);
}

/// A victim's thread, as the kernel shows it.
struct Thread<'r> {
    setup: &'static Setup,
    record: &'r Record,
    waits: bool,
    /// The switch count at the cancellation, and at a signal of which nothing kept the
    /// thread; for callers that wait.
    since_asked: Option<u64>,
    since_signalled: Option<u64>,
}

enum Read<'b> {
    Text(&'b [u8]),
    /// The thread is no more.
    Gone,
    Unknown,
}

/// One of the thread's files.
fn read<'b>(setup: &Setup, record: &Record, file: File, buffer: &'b mut [u8]) -> Read<'b> {
    let number = record.files[file as usize].load(Ordering::Acquire) - 1;
    if number < 0 {
        return Read::Unknown;
    }
    // SAFETY: the number stays this record's. Should another part of the program have
    // closed it, the kernel or the inode says so.
    let fd = unsafe { BorrowedFd::borrow_raw(number) };
    let kernel = setup.config.kernel;
    let inode = record.inodes[file as usize].load(Ordering::Acquire);
    if kernel.inode(fd) != Some(inode) {
        return Read::Unknown;
    }
    match kernel.read(file, fd, buffer) {
        Ok(length) => Read::Text(&buffer[..length]),
        Err(rustix::io::Errno::SRCH) => Read::Gone,
        Err(_) => Read::Unknown,
    }
}

impl<'r> Thread<'r> {
    fn new(setup: &'static Setup, record: &'r Record, waits: bool) -> Self {
        Self {
            setup,
            record,
            waits,
            since_asked: None,
            since_signalled: None,
        }
    }

    fn stat(&self) -> Option<Result<Stat, ()>> {
        let mut buffer = [0; 1024];
        match read(self.setup, self.record, File::Stat, &mut buffer) {
            Read::Gone => Some(Err(())),
            Read::Unknown => None,
            Read::Text(text) => Stat::parse(text)
                .filter(|stat| stat.tid == self.record.tid.load(Ordering::Acquire))
                .map(Ok),
        }
    }

    /// How often it got a CPU; `Err` when it is no more.
    fn switches(&self) -> Option<Result<u64, ()>> {
        let mut buffer = [0; 128];
        match read(self.setup, self.record, File::Schedstat, &mut buffer) {
            Read::Gone => Some(Err(())),
            Read::Text(text) => kernel::switches(text).map(Ok),
            Read::Unknown => None,
        }
    }

    /// Whether its last CPU is `here`, or it is no more.
    fn is_on(&self, here: Option<u32>) -> bool {
        match self.stat() {
            Some(Err(())) => true,
            Some(Ok(stat)) => Some(stat.cpu) == here,
            None => false,
        }
    }

    /// Whether it has left its CPU to sleep, or is no more.
    fn sleeps(&self) -> bool {
        let mut buffer = [0; 256];
        match read(self.setup, self.record, File::Syscall, &mut buffer) {
            Read::Gone => true,
            Read::Text(text) => kernel::left_cpu(text),
            Read::Unknown => false,
        }
    }

    /// Whether the thread is proven to have been off its CPU, or switched, at some
    /// moment since the call. With a baseline: since that.
    ///
    /// - *not runnable*: `syscall` says 'running' of a runnable thread, and otherwise
    ///   waits until the thread has left its CPU. State S in `stat` only means that the
    ///   thread marked itself sleeping.
    /// - *same CPU*: this thread was on CPU c after the call. A later report may name c
    ///   as the victim's CPU. If so, the victim was off c at that moment, or was
    ///   switched to it since. `stat` reports the CPU. `schedstat` does so sooner, if
    ///   the victim said where it was and its count is unchanged.
    /// - *switch count*: it got a CPU since the baseline, which is read here otherwise.
    fn left_cpu(&self, baseline: &mut Option<u64>) -> bool {
        let able = &self.setup.capabilities;
        let here = self.setup.config.kernel.cpu();
        // First what probably says it: reading a file costs one to five microseconds.
        let last_cpu = self.record.last_cpu.load(Ordering::Acquire);
        let near = here.is_some_and(|here| last_cpu >> COUNT_BITS == u64::from(here) + 1);
        if near && able.same_cpu.is_ok() && able.switches.is_ok() {
            match self.switches() {
                Some(Ok(count)) if count & COUNT == last_cpu & COUNT => return true,
                Some(Err(())) => return true,
                _ => {}
            }
        }
        if able.not_runnable.is_ok() && self.sleeps() {
            return true;
        }
        if able.same_cpu.is_ok() && self.is_on(here) {
            return true;
        }
        if able.switches.is_ok() && self.waits {
            match self.switches() {
                Some(Err(())) => return true,
                Some(Ok(count)) => match *baseline {
                    Some(before) if before != count => return true,
                    _ => *baseline = Some(count),
                },
                None => {}
            }
        }
        false
    }
}

impl Victim for Thread<'_> {
    fn passed_barrier(&mut self) -> bool {
        let mut baseline = self.since_asked;
        let left = self.left_cpu(&mut baseline);
        self.since_asked = baseline;
        if left {
            return true;
        }
        // Without any proof that a thread does not run, interrupt it.
        let able = &self.setup.capabilities;
        let proof = able.has_proof() && self.record.has_files();
        !proof && able.membarrier.is_ok() && self.setup.config.kernel.membarrier().is_ok()
    }

    fn signal(&mut self) -> Result<(), Busy> {
        let tid = self.record.tid.load(Ordering::Acquire);
        let config = &self.setup.config;
        if tid == 0 {
            // It has given its record back, and its generation with it.
            return Ok(());
        }
        match config.kernel.tgkill(fork::pid(), tid, config.signal) {
            Ok(()) => Ok(()),
            Err(why) if why.raw_os_error() == Some(libc::ESRCH) => Ok(()),
            Err(_) => Err(Busy::NoSignal),
        }
    }

    fn will_handle(&mut self) -> bool {
        let mut baseline = self.since_signalled.take();
        if !self.gets_signal() {
            // What was counted up to now proves nothing of a signal that comes through.
            return false;
        }
        let left = self.left_cpu(&mut baseline);
        self.since_signalled = baseline;
        left
    }
}

impl Thread<'_> {
    /// Whether nothing keeps the thread from the pending signal. It then comes to the
    /// signal before it goes on in user mode.
    fn gets_signal(&self) -> bool {
        if self.setup.capabilities.handler.is_err() || !signal::is_installed() {
            return false;
        }
        let config = &self.setup.config;
        match self.stat() {
            Some(Err(())) => true,
            None => false,
            Some(Ok(stat)) if (stat.blocked >> (config.signal - 1)) & 1 != 0 => false,
            // A tracer may keep the signal from it.
            Some(Ok(stat)) => config.kernel.is_traced(stat.tid) == Some(false),
        }
    }
}

/// Pauses between two looks: gives the CPU away first, sleeps longer and longer then.
struct Pause {
    until: Instant,
    turns: u32,
}

impl Pause {
    fn new(until: Instant) -> Self {
        Self { until, turns: 0 }
    }

    /// False when it is time to give up.
    fn wait(&mut self) -> bool {
        if Instant::now() >= self.until {
            return false;
        }
        self.turns += 1;
        if self.turns <= 8 {
            std::thread::yield_now();
        } else {
            std::thread::sleep(Duration::from_micros(10 << (self.turns - 8).min(5)));
        }
        true
    }
}

/// Ends `ownership`, as hard as `mode` says. After `Ok` its owner commits nothing under
/// it.
#[cold]
pub(crate) fn cancel(ownership: Ownership, mode: Cancel) -> Result<(), Busy> {
    let (Some(setup), Some(record)) = (found::get(), record::get(ownership.index())) else {
        // No thread could own anything yet.
        return Ok(());
    };
    fork::check()?;
    let result = cancel_record(setup, record, ownership, mode);
    #[cfg(feature = "stats")]
    record.stats.count(result);
    #[cfg(feature = "tracing")]
    tracing::debug!(
        target: "rlock",
        victim = record.tid.load(Ordering::Relaxed),
        generation = ownership.generation(),
        ?mode,
        ?result,
        "cancel"
    );
    result.map(drop)
}

fn cancel_record(
    setup: &'static Setup,
    record: &Record,
    ownership: Ownership,
    mode: Cancel,
) -> Result<Cancelled, Busy> {
    let shared = &record.shared;
    match mode {
        Cancel::Try => protocol::cancel(shared, ownership, &mut Thread::new(setup, record, false)),
        Cancel::Until(deadline) => {
            let mut thread = Thread::new(setup, record, true);
            let mut pause = Pause::new(deadline);
            loop {
                match protocol::cancel(shared, ownership, &mut thread) {
                    Err(Busy::Running | Busy::InSection) if pause.wait() => {}
                    result => return result,
                }
            }
        }
        Cancel::Strict(deadline) => {
            if setup.capabilities.membarrier.is_err() {
                return Err(Busy::NoBarrier);
            }
            let mut pause = Pause::new(deadline);
            let mut thread = Thread::new(setup, record, false);
            let barrier = || {
                let done = setup.config.kernel.membarrier();
                done.map_err(|_| Busy::NoBarrier)
            };
            let wait = || {
                if pause.wait() {
                    return Ok(());
                }
                let stands = read_state(setup, record);
                Err(if matches!(stands, Some(b'R') | None) {
                    Busy::Deadline
                } else {
                    Busy::InSection
                })
            };
            protocol::cancel_strictly(shared, ownership, &mut thread, barrier, wait)
        }
    }
}

/// The thread's state, for the reason of a failure alone.
fn read_state(setup: &'static Setup, record: &Record) -> Option<u8> {
    let stat = Thread::new(setup, record, false).stat()?;
    stat.ok().map(|stat| stat.state)
}
