// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What of the kernel can be believed, tested once a process.
//!
//! The caller may be a library's constructor, whose thread holds the loader's lock. So the test's
//! threads touch no `thread_local!` and no allocator, and are waited for no longer than
//! [`LIMIT`]. A proof whose thread is late is not used.

use core::fmt;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::os::fd::AsFd;
use std::sync::OnceLock;
use std::time::{Duration, Instant};

use rustix::thread::{futex, CpuSet, Pid};

use crate::kernel::{self, tid, File, Kernel, Stat};
use crate::signal;

/// How long a thread of the test may take. It needs some milliseconds.
const LIMIT: Duration = Duration::from_secs(5);

/// Whether a proof can be believed here, and why not.
type Verdict = Result<(), &'static str>;

/// What the self-test at start-up found; `Ok` is used, and `Err` says why it is not. Also `Err`
/// is a proof whose test did not end in time: 'not tested'.
///
/// # Examples
/// ```
/// let found = rlock::capabilities()?;
/// if !found.has_proof() {
///     println!("cancels interrupt the owner, since nothing shows that it does not run");
/// }
/// if let Err(why) = found.membarrier {
///     println!("no strict cancels: {why}");
/// }
/// // All of them in one line.
/// assert!(found.to_string().starts_with("same CPU: "));
/// # Ok::<(), rlock::Error>(())
/// ```
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

const NO_THREAD: &str = "no thread for the test";
const LATE: &str = "not tested: the test's thread did not answer in time";

/// What the threads share with the one that waits for them.
struct Bench {
    kernel: &'static dyn Kernel,
    signal: i32,
    same_cpu: OnceLock<Verdict>,
    switches: OnceLock<Verdict>,
    handler: OnceLock<Verdict>,
    /// The sleeper's number; 0 before it is there.
    sleeper: AtomicU32,
    /// What the sleeper does: [`SPIN`], [`SLEEP`] or [`END`].
    stage: AtomicU32,
}

const SPIN: u32 = 0;
const SLEEP: u32 = 1;
const END: u32 = 2;

/// Binds itself to CPUs, sleeps, and gets a signal.
fn tester(bench: &Bench) {
    let kernel = bench.kernel;
    let _ = bench.same_cpu.set(same_cpu(kernel));
    let _ = bench.switches.set(switches(kernel));
    let _ = bench.handler.set(handler(kernel, bench.signal));
}

/// Spins, and then sleeps, as long as it is told to.
fn sleeper(bench: &Bench) {
    // Release, pairs with the acquire of `not_runnable`.
    bench.sleeper.store(tid(), Ordering::Release);
    while bench.stage.load(Ordering::Relaxed) == SPIN {
        core::hint::spin_loop();
    }
    while bench.stage.load(Ordering::Relaxed) == SLEEP {
        // Interrupted, or too late: it looks again.
        let _ = futex::wait(&bench.stage, futex::Flags::PRIVATE, SLEEP, None);
    }
}

/// What a thread of the test is given. It stays where it is until the thread is over: of a late
/// one, for ever.
struct Task {
    bench: *const Bench,
    body: fn(&Bench),
    is_over: AtomicBool,
}

/// A thread of the test. The C library's: one of `std` registers a destructor, for which it waits
/// for the loader's lock.
struct Thread {
    handle: libc::pthread_t,
    task: *mut Task,
}

extern "C" fn run(task: *mut libc::c_void) -> *mut libc::c_void {
    // SAFETY: `Thread::start` gives a task, which stays with its bench until this is over.
    unsafe {
        let task = &*task.cast::<Task>();
        libc::prctl(libc::PR_SET_NAME, c"rlock-self-test".as_ptr());
        (task.body)(&*task.bench);
        // Release, pairs with the acquire of `Thread::end`. Nothing is touched after it.
        task.is_over.store(true, Ordering::Release);
    }
    ptr::null_mut()
}

impl Thread {
    /// Starts a thread with all signals blocked: the program's handlers are not for it.
    ///
    /// # Safety
    ///
    /// The bench must stay until [`end`](Self::end) says that the thread is over.
    unsafe fn start(bench: *const Bench, body: fn(&Bench)) -> Option<Self> {
        let is_over = AtomicBool::new(false);
        let task = Box::into_raw(Box::new(Task {
            bench,
            body,
            is_over,
        }));
        let _blocked = signal::block_all();
        let mut handle = 0;
        // SAFETY: the task stays as long as the thread, as `run` asks.
        let rc = unsafe { libc::pthread_create(&mut handle, ptr::null(), run, task.cast()) };
        if rc != 0 {
            // SAFETY: no thread has it.
            drop(unsafe { Box::from_raw(task) });
            return None;
        }
        Some(Self { handle, task })
    }

    /// Waits for the thread's end, no longer than until `until`. Whether it is over.
    fn end(self, until: Instant) -> bool {
        // SAFETY: the task stays until the thread is over, and is given back below.
        let is_over = unsafe { &(*self.task).is_over };
        // Acquire, pairs with the release of `run`.
        if !wait_until(until, || is_over.load(Ordering::Acquire)) {
            // SAFETY: no thread joins it.
            unsafe { libc::pthread_detach(self.handle) };
            return false;
        }
        // SAFETY: the thread is over but for the C library's part, which waits for no thread; it
        // touches the task no more.
        unsafe {
            libc::pthread_join(self.handle, ptr::null_mut());
            drop(Box::from_raw(self.task));
        }
        true
    }
}

/// Whether `is_so` became true before `until`.
fn wait_until(until: Instant, mut is_so: impl FnMut() -> bool) -> bool {
    let mut turns = 0_u32;
    while !is_so() {
        if Instant::now() >= until {
            return false;
        }
        turns += 1;
        if turns < 16 {
            std::thread::yield_now();
        } else {
            std::thread::sleep(Duration::from_micros(100));
        }
    }
    true
}

/// What the test found.
pub(crate) struct Found {
    pub(crate) capabilities: Capabilities,
    /// Whether a thread of the test is late, and may still send itself the signal.
    pub(crate) is_late: bool,
}

/// Tests what can be believed. Needs two threads; takes some milliseconds, and twice
/// [`LIMIT`] where they do not answer.
pub(crate) fn test(kernel: &'static dyn Kernel, signal: i32) -> Found {
    let membarrier = if kernel.register_membarrier().is_err() || kernel.membarrier().is_err() {
        Err("the kernel refuses it")
    } else {
        Ok(())
    };
    let bench = Box::into_raw(Box::new(Bench {
        kernel,
        signal,
        same_cpu: OnceLock::new(),
        switches: OnceLock::new(),
        handler: OnceLock::new(),
        sleeper: AtomicU32::new(0),
        stage: AtomicU32::new(SPIN),
    }));
    // SAFETY: it is given back below, when no thread has it.
    let shared = unsafe { &*bench };
    // SAFETY: as above. In a thread of its own: it changes its affinity and its mask.
    let started = unsafe { Thread::start(bench, tester) };
    let missing = if started.is_some() { LATE } else { NO_THREAD };
    let mut is_late = started.is_some_and(|thread| !thread.end(Instant::now() + LIMIT));
    let verdict = |left: &OnceLock<Verdict>| left.get().copied().unwrap_or(Err(missing));
    let (same_cpu, switches) = (verdict(&shared.same_cpu), verdict(&shared.switches));
    let handler = verdict(&shared.handler);
    // SAFETY: as above.
    let not_runnable = match unsafe { Thread::start(bench, sleeper) } {
        None => Err(NO_THREAD),
        Some(thread) => {
            let until = Instant::now() + LIMIT;
            let verdict = not_runnable(shared, until);
            shared.stage.store(END, Ordering::Relaxed);
            let _ = futex::wake(&shared.stage, futex::Flags::PRIVATE, 1);
            is_late |= !thread.end(until);
            verdict
        }
    };
    if !is_late {
        // SAFETY: made above, and no thread has it any more.
        drop(unsafe { Box::from_raw(bench) });
    }
    Found {
        capabilities: Capabilities {
            same_cpu,
            not_runnable,
            switches,
            handler,
            membarrier,
        },
        is_late,
    }
}

/// Reads `file` of the calling thread or of another one.
fn read<'b>(kernel: &dyn Kernel, tid: u32, file: File, buffer: &'b mut [u8]) -> Option<&'b [u8]> {
    let fd = kernel.open(tid, file).ok()?;
    let length = kernel.read(file, fd.as_fd(), buffer).ok()?;
    buffer.get(..length)
}

/// Whether the CPU in `stat` is the one that a thread was bound to. Two CPUs are tried where
/// there are two.
fn same_cpu(kernel: &dyn Kernel) -> Verdict {
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
        } else if stat.is_none() {
            found = Err("a thread's stat cannot be read");
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
    found?;
    // SAFETY: reads a number.
    let configured = unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) };
    if (bound, last) == (1, 0) && configured != 1 {
        // A kernel that always says 0 says the truth, until this process may run elsewhere.
        return Err("of all CPUs a thread can be bound to CPU 0 alone, which proves nothing");
    }
    Ok(())
}

/// Whether schedstat's count rises when the thread sleeps, and never stands still.
fn switches(kernel: &dyn Kernel) -> Verdict {
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
fn handler(kernel: &dyn Kernel, number: i32) -> Verdict {
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

/// Whether `syscall` tells a thread that runs from one that sleeps: of the sleeper, which first
/// spins.
fn not_runnable(bench: &Bench, until: Instant) -> Verdict {
    // Acquire, pairs with the release of `sleeper`. From then on it spins.
    if !wait_until(until, || bench.sleeper.load(Ordering::Acquire) != 0) {
        return Err(LATE);
    }
    let other = bench.sleeper.load(Ordering::Relaxed);
    let mut buffer = [0; 256];
    let mut sleeps = || {
        read(bench.kernel, other, File::Syscall, &mut buffer)
            .map(kernel::left_cpu)
            .ok_or("no syscall file")
    };
    for _ in 0..10 {
        if sleeps()? {
            return Err("a running thread is said to sleep");
        }
    }
    bench.stage.store(SLEEP, Ordering::Relaxed);
    let mut found = Ok(false);
    let is_said = wait_until(until, || {
        found = sleeps();
        found != Ok(false)
    });
    match found {
        Err(why) => Err(why),
        Ok(_) if is_said => Ok(()),
        Ok(_) => Err("a sleeping thread is said to run"),
    }
}
