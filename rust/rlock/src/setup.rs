// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0

//! Once a process: what the kernel is, what of it can be believed, and the handler.

use core::fmt;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU64, Ordering};
use std::io;
use std::os::fd::AsFd;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::thread::{CpuSet, Pid};

use crate::fork;
use crate::kernel::{self, File, Kernel, Linux, Stat};
use crate::signal;
use crate::word::LAST_GENERATION;

/// How rlock is set up. [`Config::default`] serves; [`init`] takes another.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The signal that leads an owner out of a section that it was interrupted in.
    /// One below 32: those never fail for want of memory, and `stat` says whether a
    /// thread blocks them. `SIGURG` unless said otherwise: ignored by default, so that
    /// a stray one does no harm.
    pub signal: i32,
    /// After how many commits an owner gives up all that it owns (at least 1). A token
    /// counts its own, and the next token goes on from the one that was dropped last:
    /// several at a time make it as many for each, and who forgets tokens
    /// ([`core::mem::forget`]) puts it off.
    pub operations: u32,
    /// Which kernel is asked. For tests.
    pub kernel: &'static dyn Kernel,
    /// The generation with which a record begins its life. For tests near the end of
    /// the generations.
    pub first_generation: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            signal: libc::SIGURG,
            operations: 4096,
            kernel: &Linux,
            first_generation: 0,
        }
    }
}

/// Why rlock cannot be used, or a thread not be registered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Already set up, by [`init`] or by a first registration.
    #[error("rlock is set up already; init comes before every registration")]
    Initialised,
    /// Called in the course of [`init`], by the thread that is in it: by an allocator, say.
    #[error("this thread is setting rlock up; use it when ready() says so")]
    Reentered,
    /// A configuration's value.
    #[error("{what} is {value}; allowed is {allowed}")]
    Config {
        /// Which.
        what: &'static str,
        /// What it is.
        value: i64,
        /// What it may be.
        allowed: &'static str,
    },
    /// Nothing here proves that an owner is not running, and there is no membarrier.
    #[error("no owner could ever be cancelled here: {0}")]
    NoEvidence(Capabilities),
    /// The handler cannot be installed.
    #[error("the handler of signal {signal} cannot be installed: {why}")]
    Handler {
        /// The signal.
        signal: i32,
        /// What the kernel said.
        why: io::Error,
    },
    /// The records' memory, or the process's marks.
    #[error("no memory for owners' records: {0}")]
    Memory(#[from] rustix::io::Errno),
    /// More than a million threads at once.
    #[error("all {} owners' records are in use", crate::word::MAX_RECORDS - 1)]
    Exhausted,
    /// Not the process that set rlock up, nor its child by `fork`.
    #[error("{}", crate::protocol::Busy::OtherProcess)]
    OtherProcess,
}

/// What the self-test at start-up found; `Ok` is used, and `Err` says why it is not.
#[derive(Clone, Debug)]
pub struct Capabilities {
    /// 'Its last CPU is the one I am on': the reported CPU follows a thread.
    pub same_cpu: Result<(), &'static str>,
    /// 'It sleeps': the kernel says so once the thread has left its CPU.
    pub not_runnable: Result<(), &'static str>,
    /// 'It got a CPU since': the count of switches rises.
    pub switches: Result<(), &'static str>,
    /// A signal reaches its handler.
    pub handler: Result<(), &'static str>,
    /// The membarrier of strict cancels.
    pub membarrier: Result<(), &'static str>,
}

impl Capabilities {
    fn each(&self) -> [(&'static str, Result<(), &'static str>); 5] {
        [
            ("same CPU", self.same_cpu),
            ("not runnable", self.not_runnable),
            ("switch count", self.switches),
            ("handler", self.handler),
            ("membarrier", self.membarrier),
        ]
    }

    /// Whether an owner's thread can be proven not to run without interrupting it.
    pub fn has_proof(&self) -> bool {
        self.same_cpu.is_ok() || self.not_runnable.is_ok() || self.switches.is_ok()
    }
}

impl fmt::Display for Capabilities {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (i, (name, found)) in self.each().iter().enumerate() {
            let separator = if i == 0 { "" } else { "; " };
            match found {
                Ok(()) => write!(f, "{separator}{name}: yes")?,
                Err(why) => write!(f, "{separator}{name}: no ({why})")?,
            }
        }
        Ok(())
    }
}

/// What every part of the crate looks at.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) config: Config,
    pub(crate) capabilities: Capabilities,
}

/// Set once, never freed.
static SETUP: AtomicPtr<Setup> = AtomicPtr::new(ptr::null_mut());
/// The thread that sets up now, and its process in the upper half; 0: none does.
static BEGINNING: AtomicU64 = AtomicU64::new(0);

/// Only one thread at a time sets up. Not a mutex: one that a thread holds over another
/// thread's fork stays locked in the child, for ever.
struct Beginning;

impl Beginning {
    /// Waits for a thread of this process, and for no other's: that one is not here.
    fn wait() -> Result<Self, Error> {
        let pid = std::process::id();
        let me = (u64::from(pid) << 32) | u64::from(tid());
        loop {
            let holder = BEGINNING.load(Ordering::Relaxed);
            if holder == me {
                return Err(Error::Reentered);
            }
            if holder >> 32 != u64::from(pid) {
                // Acquire, pairs with the release of who set up before.
                let taken =
                    BEGINNING.compare_exchange(holder, me, Ordering::Acquire, Ordering::Relaxed);
                if taken.is_ok() {
                    return Ok(Self);
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Beginning {
    fn drop(&mut self) {
        BEGINNING.store(0, Ordering::Release);
    }
}

/// The set-up, if there is one. There is when a lock has an owner.
pub(crate) fn get() -> Option<&'static Setup> {
    // Acquire, pairs with the release of `init`.
    // SAFETY: null or a set-up, which is never freed.
    unsafe { SETUP.load(Ordering::Acquire).as_ref() }
}

/// The set-up; makes the default one.
pub(crate) fn get_or_default() -> Result<&'static Setup, Error> {
    match get() {
        Some(setup) => Ok(setup),
        None => match init(Config::default()) {
            // Another thread's init came between: it serves as well.
            Ok(_) | Err(Error::Initialised) => Ok(get().expect("set above")),
            Err(why) => Err(why),
        },
    }
}

/// Sets rlock up: installs the signal's handler, tests what can be believed, and says
/// what it found. Before any registration; the first registration does it with
/// [`Config::default`] otherwise.
///
/// Costs some milliseconds and a thread, once a process. Nothing stays when it fails.
/// Not for signal handlers.
pub fn init(config: Config) -> Result<&'static Capabilities, Error> {
    let _one = Beginning::wait()?;
    if get().is_some() {
        return Err(Error::Initialised);
    }
    if !(1..32).contains(&config.signal) {
        return Err(Error::Config {
            what: "signal",
            value: i64::from(config.signal),
            allowed: "1 to 31",
        });
    }
    if config.operations == 0 {
        return Err(Error::Config {
            what: "operations",
            value: 0,
            allowed: "1 and more",
        });
    }
    if config.first_generation >= LAST_GENERATION - 1 {
        return Err(Error::Config {
            what: "first_generation",
            value: i64::try_from(config.first_generation).unwrap_or(i64::MAX),
            allowed: "0 to 2199023255549",
        });
    }
    let before = signal::install(config.signal).map_err(|why| Error::Handler {
        signal: config.signal,
        why,
    })?;
    let capabilities = prepare_and_test(&config).inspect_err(|_| {
        if let Some(before) = &before {
            signal::uninstall(before);
        }
    })?;
    let setup = Box::leak(Box::new(Setup {
        config,
        capabilities,
    }));
    SETUP.store(setup, Ordering::Release);
    Ok(&setup.capabilities)
}

fn prepare_and_test(config: &Config) -> Result<Capabilities, Error> {
    fork::prepare(config.kernel.pid())?;
    let capabilities = test(config);
    if !capabilities.has_proof() && capabilities.membarrier.is_err() {
        return Err(Error::NoEvidence(capabilities));
    }
    Ok(capabilities)
}

/// What the self-test found, if rlock is set up. Waits for nothing and sets nothing up: an
/// allocator asks this before it uses rlock, since [`init`] and its threads allocate.
pub fn ready() -> Option<&'static Capabilities> {
    get().map(|setup| &setup.capabilities)
}

/// What the self-test found; tests and sets up if nobody has yet.
pub fn capabilities() -> Result<&'static Capabilities, Error> {
    get_or_default().map(|setup| &setup.capabilities)
}

fn test(config: &Config) -> Capabilities {
    let kernel = config.kernel;
    let membarrier = if kernel.register_membarrier().is_err() || kernel.membarrier().is_err() {
        Err("the kernel refuses it")
    } else {
        Ok(())
    };
    // In a thread of its own: it changes its affinity and its mask.
    let signal = config.signal;
    let threads = std::thread::scope(|scope| {
        std::thread::Builder::new()
            .name("rlock-self-test".into())
            .spawn_scoped(scope, move || {
                (
                    same_cpu(kernel),
                    switches(kernel),
                    handler(kernel, signal),
                    not_runnable(kernel),
                )
            })
            .ok()
            .and_then(|thread| thread.join().ok())
    });
    let none = Err("no thread for the test");
    let (same_cpu, switches, handler, not_runnable) = threads.unwrap_or((none, none, none, none));
    Capabilities {
        same_cpu,
        not_runnable,
        switches,
        handler,
        membarrier,
    }
}

fn tid() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

/// Reads `file` of the calling thread or of another one.
fn read<'b>(kernel: &dyn Kernel, tid: u32, file: File, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let fd = kernel.open(tid, file).ok()?;
    let length = kernel.read(file, fd.as_fd(), buffer).ok()?;
    buffer.get(..length)
}

/// Whether the CPU in `stat` is the one that a thread was bound to, for two CPUs that
/// differ where there are two.
fn same_cpu(kernel: &dyn Kernel) -> Result<(), &'static str> {
    let me: Option<Pid> = None;
    let before = rustix::thread::sched_getaffinity(me).map_err(|_| "no affinity to read")?;
    let (mut bound, mut last) = (0, 0);
    let mut buffer = [0; 1024];
    let mut found = Ok(());
    for cpu in 0..CpuSet::MAX_CPU {
        // Those that this thread is not allowed now as well: a wider affinity may come.
        if kernel.bind(cpu).is_err() {
            continue;
        }
        (bound, last) = (bound + 1, cpu);
        let stat = read(kernel, tid(), File::Stat, &mut buffer).and_then(Stat::parse);
        let cpu = u32::try_from(cpu).ok();
        if kernel.cpu() != cpu {
            found = Err("a thread does not see the CPU it is bound to");
        } else if stat.map(|stat| stat.cpu) != cpu {
            found = Err("stat does not say the CPU a thread is bound to");
        }
        if bound == 2 || found.is_err() {
            break;
        }
    }
    let back = rustix::thread::sched_setaffinity(me, &before);
    if bound == 0 || back.is_err() {
        return Err("a thread cannot be bound to a CPU");
    }
    // SAFETY: reads a number.
    let configured = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
    if (bound, last) == (1, 0) && configured != 1 {
        // Who always says 0 says the truth, until this process may run elsewhere.
        return Err("of all CPUs a thread can be bound to CPU 0 alone, which proves nothing");
    }
    found
}

/// Whether schedstat's count rises when the thread sleeps, and never stands still.
fn switches(kernel: &dyn Kernel) -> Result<(), &'static str> {
    let mut buffer = [0; 256];
    let mut count = || {
        read(kernel, tid(), File::Schedstat, &mut buffer)
            .and_then(kernel::switches)
            .ok_or("no schedstat")
    };
    for _ in 0..3 {
        let before = count()?;
        // A slow machine's timer may be over before the thread has left its CPU: then it
        // is not switched, and sleeps again.
        let mut sleeps = 0;
        while count()? <= before {
            if sleeps == 50 {
                return Err("schedstat does not count");
            }
            sleeps += 1;
            std::thread::sleep(Duration::from_millis(1));
        }
    }
    Ok(())
}

/// Whether a signal to the thread reaches the handler.
fn handler(kernel: &dyn Kernel, number: i32) -> Result<(), &'static str> {
    if cfg!(rlock_replaced) {
        return Err("no handler leads out of a replaced section");
    }
    signal::unblock();
    let before = signal::HANDLED.load(Ordering::Acquire);
    kernel
        .tgkill(kernel.pid(), tid(), number)
        .map_err(|_| "tgkill is not allowed")?;
    // To one's own thread: delivered before the call returns. Another kernel may be
    // slower.
    let until = Instant::now() + Duration::from_millis(100);
    while signal::HANDLED.load(Ordering::Acquire) == before {
        if Instant::now() >= until {
            return Err("the handler does not run");
        }
        std::thread::yield_now();
    }
    if !signal::is_installed() {
        return Err("the handler is not the one installed");
    }
    Ok(())
}

/// Whether `syscall` tells a thread that runs from one that sleeps.
fn not_runnable(kernel: &'static dyn Kernel) -> Result<(), &'static str> {
    let mut buffer = [0; 256];
    let (sleep, spins) = (AtomicBool::new(false), AtomicBool::new(false));
    std::thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        // Dropped at the end, also of a failure: the thread ends then.
        let (end, ended) = mpsc::channel::<()>();
        let (sleep, spins) = (&sleep, &spins);
        std::thread::Builder::new()
            .name("rlock-self-test".into())
            .spawn_scoped(scope, move || {
                let _ = tell.send(tid());
                spins.store(true, Ordering::Relaxed);
                while !sleep.load(Ordering::Relaxed) {
                    core::hint::spin_loop();
                }
                let _ = ended.recv();
            })
            .map_err(|_| "no thread for the test")?;
        let other = told.recv().map_err(|_| "no thread for the test")?;
        while !spins.load(Ordering::Relaxed) {
            std::thread::yield_now();
        }
        let mut sleeps = || {
            read(kernel, other, File::Syscall, &mut buffer)
                .map(kernel::left_cpu)
                .ok_or("no syscall file")
        };
        let mut found = Ok(());
        for _ in 0..10 {
            match sleeps() {
                Ok(false) => {}
                Ok(true) => found = Err("a running thread is said to sleep"),
                Err(why) => found = Err(why),
            }
        }
        sleep.store(true, Ordering::Relaxed);
        let until = Instant::now() + Duration::from_secs(2);
        while found.is_ok() && !sleeps()? {
            if Instant::now() >= until {
                found = Err("a sleeping thread is said to run");
            }
            std::thread::yield_now();
        }
        drop(end);
        found
    })
}
