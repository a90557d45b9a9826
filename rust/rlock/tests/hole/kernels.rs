//! Kernels that say something else.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use rlock::kernel::{File, Kernel, Linux};
use rlock::word::{CANCELLED, SIGNALLED};
use rlock::{Cancel, Config, Error, Lock, Owner, Slot};

use crate::alone::alone;
use crate::{add_until, assert_is_seen_running, bind, with_a_running_owner};

fn with(kernel: &'static dyn Kernel) -> Config {
    Config {
        kernel,
        ..Config::default()
    }
}

/// Field `number` (counted from 1) of a stat line becomes `value`.
fn change(line: &mut [u8], length: usize, number: usize, value: &str) -> usize {
    let text = String::from_utf8_lossy(&line[..length]).into_owned();
    let end = text.rfind(')').unwrap() + 2;
    let mut words: Vec<&str> = text[end..].split(' ').collect();
    words[number - 3] = value;
    let changed = format!("{}{}", &text[..end], words.join(" "));
    line[..changed.len()].copy_from_slice(changed.as_bytes());
    changed.len()
}

/// As gVisor does.
#[derive(Debug)]
struct AlwaysCpu0;

impl Kernel for AlwaysCpu0 {
    fn cpu(&self) -> Option<u32> {
        Some(0)
    }

    fn read(&self, file: File, fd: BorrowedFd<'_>, to: &mut [u8]) -> rustix::io::Result<usize> {
        let length = Linux.read(file, fd, to)?;
        Ok(match file {
            File::Stat => change(to, length, 39, "0"),
            _ => length,
        })
    }
}

/// Hole 6.
#[test]
fn a_kernel_that_always_says_cpu_0_is_noticed() {
    alone(
        "kernels::a_kernel_that_always_says_cpu_0_is_noticed",
        || {
            let found = rlock::init(with(&AlwaysCpu0)).unwrap();
            // On a machine with one CPU that is CPU 0, it says the truth.
            if std::thread::available_parallelism().unwrap().get() > 1 {
                assert!(found.same_cpu.is_err(), "{found}");
            }
            assert!(found.not_runnable.is_ok(), "{found}");
            two_that_add();
        },
    );
}

/// `stat` alone says it, `cpu` does not.
#[derive(Debug)]
struct StatCpu0;

impl Kernel for StatCpu0 {
    fn read(&self, file: File, fd: BorrowedFd<'_>, to: &mut [u8]) -> rustix::io::Result<usize> {
        AlwaysCpu0.read(file, fd, to)
    }
}

#[test]
fn a_stat_that_always_says_cpu_0_is_noticed() {
    alone("kernels::a_stat_that_always_says_cpu_0_is_noticed", || {
        let found = rlock::init(with(&StatCpu0)).unwrap();
        if std::thread::available_parallelism().unwrap().get() > 1 {
            assert!(found.same_cpu.is_err(), "{found}");
        }
        two_that_add();
    });
}

/// Two threads on two CPUs add for a while; the sum is exact.
fn two_that_add() {
    let lock = Lock::new(Slot::new(0));
    let (stop, count) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for number in 0..2 {
            let (lock, stop, count) = (&lock, &stop, &count);
            scope.spawn(move || {
                bind(number);
                add_until(lock, stop, count);
            });
        }
        std::thread::sleep(Duration::from_millis(300));
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(lock.load(), count.load(Ordering::Relaxed));
    assert!(lock.load() > 0);
}

/// No thread's file can be read, and there may be no membarrier.
#[derive(Debug)]
struct Blind {
    membarrier: bool,
}

impl Kernel for Blind {
    fn read(&self, _: File, _: BorrowedFd<'_>, _: &mut [u8]) -> rustix::io::Result<usize> {
        Err(rustix::io::Errno::ACCESS)
    }

    fn membarrier(&self) -> io::Result<()> {
        if self.membarrier {
            Linux.membarrier()
        } else {
            Err(io::ErrorKind::Unsupported.into())
        }
    }
}

#[test]
fn without_proofs_a_barrier_serves() {
    alone("kernels::without_proofs_a_barrier_serves", || {
        let found = rlock::init(with(&Blind { membarrier: true })).unwrap();
        assert!(!found.has_proof() && found.membarrier.is_ok(), "{found}");
        let lock = Lock::new(Slot::new(0));
        two_that_add();
        // Also of one that runs.
        with_a_running_owner(&lock, || lock.cancel(Cancel::Try).unwrap());
    });
}

#[test]
fn without_proofs_and_barrier_it_refuses() {
    alone("kernels::without_proofs_and_barrier_it_refuses", || {
        let why = rlock::init(with(&Blind { membarrier: false })).unwrap_err();
        assert!(matches!(why, Error::NoEvidence(_)));
        let said = why.to_string();
        for word in ["same CPU: no", "switch count: no", "membarrier: no"] {
            assert!(said.contains(word), "{said}");
        }
    });
}

/// Says of every thread that it marked itself sleeping (once it is `on`); the other
/// files say the truth.
#[derive(Debug)]
struct MarkedSleeping {
    on: AtomicBool,
}

impl Kernel for MarkedSleeping {
    fn read(&self, file: File, fd: BorrowedFd<'_>, to: &mut [u8]) -> rustix::io::Result<usize> {
        let length = Linux.read(file, fd, to)?;
        Ok(match file {
            File::Stat if self.on.load(Ordering::Relaxed) => change(to, length, 3, "S"),
            _ => length,
        })
    }
}

/// Hole 7: state S means 'marked itself sleeping', not 'off the CPU'.
#[test]
fn a_state_alone_is_no_proof() {
    alone("kernels::a_state_alone_is_no_proof", || {
        static KERNEL: MarkedSleeping = MarkedSleeping {
            on: AtomicBool::new(false),
        };
        rlock::init(with(&KERNEL)).unwrap();
        KERNEL.on.store(true, Ordering::Relaxed);
        let lock = Lock::new(Slot::new(0));
        with_a_running_owner(&lock, || assert_is_seen_running(&lock));
    });
}

/// tgkill is forbidden, as a sandbox would.
#[derive(Debug)]
struct NoTgkill;

impl Kernel for NoTgkill {
    fn tgkill(&self, _: u32, _: u32, _: i32) -> io::Result<()> {
        Err(io::Error::from_raw_os_error(libc::EPERM))
    }
}

/// Hole 10.
#[test]
fn a_forbidden_tgkill_is_noticed() {
    alone("kernels::a_forbidden_tgkill_is_noticed", || {
        let found = rlock::init(with(&NoTgkill)).unwrap();
        assert_eq!(found.handler, Err("tgkill is not allowed"));
        two_that_add();
    });
}

/// Hole 10: real-time signals fail when their queue is full, and stat does not say
/// whether they are blocked.
#[test]
fn a_real_time_signal_is_refused() {
    alone("kernels::a_real_time_signal_is_refused", || {
        for signal in [0, 32, 34, 64, -1] {
            let why = rlock::init(Config {
                signal,
                ..Config::default()
            })
            .unwrap_err();
            let said = why.to_string();
            assert_eq!(said, format!("signal is {signal}; allowed is 1 to 31"));
        }
        let none = Config {
            operations: 0,
            ..Config::default()
        };
        let said = rlock::init(none).unwrap_err().to_string();
        assert_eq!(said, "operations is 0; allowed is 1 and more");
        let late = Config {
            first_generation: rlock::word::LAST_GENERATION - 1,
            ..Config::default()
        };
        let said = rlock::init(late).unwrap_err().to_string();
        assert!(said.starts_with("first_generation is 2199023255550; allowed is 0 to 219"));
        rlock::init(Config::default()).unwrap();
        assert!(matches!(
            rlock::init(Config::default()),
            Err(Error::Initialised)
        ));
    });
}

/// Holds back the signal that is sent first after it is `armed`.
#[derive(Debug)]
struct SlowTgkill {
    armed: AtomicU32,
    sent: AtomicU32,
}

impl Kernel for SlowTgkill {
    fn tgkill(&self, pid: u32, tid: u32, signal: i32) -> io::Result<()> {
        let first = self
            .armed
            .compare_exchange(1, 2, Ordering::SeqCst, Ordering::SeqCst);
        if first.is_ok() {
            while self.armed.load(Ordering::SeqCst) == 2 {
                std::thread::yield_now();
            }
        }
        self.sent.fetch_add(1, Ordering::SeqCst);
        Linux.tgkill(pid, tid, signal)
    }
}

struct GoOn<'a>(&'a AtomicU32);

impl Drop for GoOn<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::SeqCst);
    }
}

/// Hole 4: who finds 'signalled' may rely on it. While one canceller is about to send
/// the signal, a second one sends its own.
#[test]
fn signalled_is_said_after_the_signal() {
    alone("kernels::signalled_is_said_after_the_signal", || {
        static KERNEL: SlowTgkill = SlowTgkill {
            armed: AtomicU32::new(0),
            sent: AtomicU32::new(0),
        };
        rlock::init(with(&KERNEL)).unwrap();
        let _ = crate::faults::with_a_victim_in_a_section(|lock| {
            let before = KERNEL.sent.load(Ordering::SeqCst);
            KERNEL.armed.store(1, Ordering::SeqCst);
            std::thread::scope(|scope| {
                // Lets the first go on, also if this panics.
                let go_on = GoOn(&KERNEL.armed);
                let first = scope.spawn(|| lock.cancel(Cancel::Try));
                while KERNEL.armed.load(Ordering::SeqCst) != 2 {
                    assert!(!first.is_finished(), "the first sent no signal");
                    std::thread::yield_now();
                }
                // The second, which asks for an answer and would make do with a signal
                // that was sent.
                let _ = lock.cancel(Cancel::strictly_within(Duration::from_millis(5)));
                assert_eq!(KERNEL.sent.load(Ordering::SeqCst), before + 1);
                drop(go_on);
                let _ = first.join().unwrap();
            });
        });
    });
}

/// Calls `body` while another process traces thread `tid`, which is not stopped.
fn while_traced(tid: u32, body: impl FnOnce()) {
    // SAFETY: the child makes system calls alone; what they are given is its own.
    unsafe {
        let (mut says, mut ends) = ([0; 2], [0; 2]);
        assert_eq!(libc::pipe(says.as_mut_ptr()), 0);
        assert_eq!(libc::pipe(ends.as_mut_ptr()), 0);
        // Yama: a child may trace its parent only if that says so.
        libc::prctl(libc::PR_SET_PTRACER, libc::PR_SET_PTRACER_ANY);
        let child = libc::fork();
        assert!(child >= 0);
        let mut byte = 0_u8;
        if child == 0 {
            libc::close(ends[1]);
            byte = u8::from(libc::ptrace(libc::PTRACE_SEIZE, tid, 0, 0) == 0);
            libc::write(says[1], (&raw const byte).cast(), 1);
            // Until the other end is closed.
            libc::read(ends[0], (&raw mut byte).cast(), 1);
            libc::_exit(0);
        }
        libc::close(says[1]);
        assert_eq!(libc::read(says[0], (&raw mut byte).cast(), 1), 1);
        assert_eq!(byte, 1, "it cannot be traced");
        body();
        libc::close(ends[1]);
        assert_eq!(libc::waitpid(child, std::ptr::null_mut(), 0), child);
    }
}

/// A new hole: a tracer may keep the signal from a thread, whether it stopped it or not.
#[test]
fn a_traced_thread_is_not_believed_to_handle() {
    alone("kernels::a_traced_thread_is_not_believed_to_handle", || {
        let _ = crate::faults::with_a_victim_in_a_section(|lock| {
            while_traced(crate::faults::VICTIM.load(Ordering::SeqCst), || {
                let found = lock.cancel(Cancel::within(Duration::from_millis(100)));
                assert!(found.is_err(), "nobody knows that it handles the signal");
            });
        });
    });
}

/// Only the count of switches is to be had; it is 5 once, and then stays 6.
#[derive(Debug)]
struct Counting {
    on: AtomicBool,
    reads: AtomicU32,
}

impl Kernel for Counting {
    fn tgkill(&self, pid: u32, tid: u32, signal: i32) -> io::Result<()> {
        if self.on.load(Ordering::SeqCst) {
            // On its way: the victim, whose section is none, is not woken.
            return Ok(());
        }
        Linux.tgkill(pid, tid, signal)
    }

    fn cpu(&self) -> Option<u32> {
        None
    }

    fn read(&self, file: File, fd: BorrowedFd<'_>, to: &mut [u8]) -> rustix::io::Result<usize> {
        if file == File::Syscall {
            return Err(rustix::io::Errno::ACCESS);
        }
        if file == File::Stat || !self.on.load(Ordering::SeqCst) {
            return Linux.read(file, fd, to);
        }
        let first = self.reads.fetch_add(1, Ordering::SeqCst) == 0;
        let line: &[u8] = if first { b"0 0 5\n" } else { b"0 0 6\n" };
        to[..line.len()].copy_from_slice(line);
        Ok(line.len())
    }
}

/// Hole 23: a canceller that counted switches before another one's signal takes those
/// for switches after it.
#[test]
fn switches_before_a_signal_prove_nothing_after() {
    alone(
        "kernels::switches_before_a_signal_prove_nothing_after",
        || {
            static KERNEL: Counting = Counting {
                on: AtomicBool::new(false),
                reads: AtomicU32::new(0),
            };
            let found = rlock::init(with(&KERNEL)).unwrap();
            assert!(found.switches.is_ok() && found.handler.is_ok(), "{found}");
            assert!(
                found.same_cpu.is_err() && found.not_runnable.is_err(),
                "{found}"
            );
            let lock = Lock::new(Slot::new(0));
            let (tell, told) = mpsc::channel();
            let (end, ended) = mpsc::channel::<()>();
            std::thread::scope(|scope| {
                let lock = &lock;
                scope.spawn(move || {
                    let owner = Owner::register().unwrap();
                    owner.acquire(lock).map(drop).unwrap();
                    // It stands in a section, and somebody has asked and sent a signal.
                    let own = rlock::testing::own();
                    own.section
                        .store(rlock::testing::word(lock), Ordering::SeqCst);
                    own.state.fetch_or(CANCELLED | SIGNALLED, Ordering::SeqCst);
                    tell.send(()).unwrap();
                    let _ = ended.recv();
                    own.section.store(0, Ordering::SeqCst);
                });
                // Also if this panics.
                let end = end;
                told.recv().unwrap();
                KERNEL.on.store(true, Ordering::SeqCst);
                let found = lock.cancel(Cancel::within(Duration::from_millis(50)));
                assert!(found.is_err(), "it has not run since the signal");
                assert!(KERNEL.reads.load(Ordering::SeqCst) > 3);
                drop(end);
            });
        },
    );
}

/// Of all CPUs this process may be bound to CPU 0 alone, and all that is said is 0.
#[derive(Debug)]
struct OneCpu;

impl Kernel for OneCpu {
    fn cpu(&self) -> Option<u32> {
        AlwaysCpu0.cpu()
    }

    fn bind(&self, cpu: usize) -> rustix::io::Result<()> {
        match cpu {
            0 => Linux.bind(0),
            _ => Err(rustix::io::Errno::INVAL),
        }
    }

    fn read(&self, file: File, fd: BorrowedFd<'_>, to: &mut [u8]) -> rustix::io::Result<usize> {
        AlwaysCpu0.read(file, fd, to)
    }
}

/// A new hole: it may come to run on others later.
#[test]
fn cpu_0_alone_proves_nothing() {
    alone("kernels::cpu_0_alone_proves_nothing", || {
        let found = rlock::init(with(&OneCpu)).unwrap();
        // SAFETY: reads a number.
        if unsafe { libc::sysconf(libc::_SC_NPROCESSORS_CONF) } > 1 {
            assert!(found.same_cpu.is_err(), "{found}");
        }
    });
}

/// Raises a signal in a thread that registers, once it is `armed`.
#[derive(Debug)]
struct Raising {
    armed: AtomicBool,
}

impl Kernel for Raising {
    fn open(&self, tid: u32, file: File) -> io::Result<OwnedFd> {
        if self.armed.swap(false, Ordering::SeqCst) {
            // SAFETY: a signal that is handled.
            unsafe { libc::raise(libc::SIGUSR1) };
        }
        Linux.open(tid, file)
    }
}

/// Hole 22: a handler that registers, or counts, while its thread is about to.
#[test]
fn a_handler_during_registration() {
    static KERNEL: Raising = Raising {
        armed: AtomicBool::new(false),
    };
    static LOCK: Lock<Slot> = Lock::new(Slot::new(0));
    static CAME: AtomicU32 = AtomicU32::new(0);
    extern "C" fn registers(_: i32) {
        let owner = Owner::register().unwrap();
        owner.acquire(&LOCK).unwrap().add(&LOCK, 1).unwrap();
        CAME.fetch_add(1, Ordering::SeqCst);
        // Kept, as a thread's own is that counts.
        std::mem::forget(owner);
    }
    alone("kernels::a_handler_during_registration", || {
        rlock::init(with(&KERNEL)).unwrap();
        let handler: extern "C" fn(i32) = registers;
        // SAFETY: what the handler does must be allowed where it comes: that is tested.
        unsafe { libc::signal(libc::SIGUSR1, handler as libc::sighandler_t) };
        KERNEL.armed.store(true, Ordering::SeqCst);
        let owner = Owner::register().unwrap();
        assert_eq!(CAME.load(Ordering::SeqCst), 1);
        // One record, whose files are three, and it is the handler's.
        assert_eq!(crate::descriptors::numbers_of_tasks().len(), 3);
        let state = rlock::testing::own().state.load(Ordering::SeqCst);
        assert_eq!(rlock::testing::word(&LOCK), state);
        owner.acquire(&LOCK).unwrap().add(&LOCK, 1).unwrap();
        assert_eq!(LOCK.load(), 2);
    });
}

/// A tracer that keeps signals from a thread as long as it is `on`.
#[derive(Debug)]
struct Keeping {
    on: AtomicBool,
    kept: AtomicU32,
}

impl Kernel for Keeping {
    fn tgkill(&self, pid: u32, tid: u32, signal: i32) -> io::Result<()> {
        if self.on.load(Ordering::SeqCst) {
            self.kept.fetch_add(1, Ordering::SeqCst);
            return Ok(());
        }
        Linux.tgkill(pid, tid, signal)
    }

    fn is_traced(&self, _: u32) -> Option<bool> {
        Some(self.on.load(Ordering::SeqCst))
    }
}

/// A new hole: a tracer kept the signal and is gone. Nobody may rely on that one.
#[test]
fn a_signal_that_was_kept_is_sent_again() {
    alone("kernels::a_signal_that_was_kept_is_sent_again", || {
        static KERNEL: Keeping = Keeping {
            on: AtomicBool::new(false),
            kept: AtomicU32::new(0),
        };
        rlock::init(with(&KERNEL)).unwrap();
        let result = crate::faults::with_a_victim_in_a_section(|lock| {
            KERNEL.on.store(true, Ordering::SeqCst);
            assert!(lock.cancel(Cancel::Try).is_err());
            assert_eq!(KERNEL.kept.load(Ordering::SeqCst), 1);
            KERNEL.on.store(false, Ordering::SeqCst);
            // With or without success: by its own signal.
            let _ = lock.cancel(Cancel::Try);
        });
        assert_eq!(result, Err(rlock::Revoked));
    });
}

/// Registers in the course of the set-up, as an allocator may.
#[derive(Debug)]
struct Reentrant {
    refused: AtomicU32,
}

impl Kernel for Reentrant {
    fn register_membarrier(&self) -> io::Result<()> {
        assert!(rlock::ready().is_none());
        if matches!(Owner::register(), Err(Error::Reentered)) {
            self.refused.fetch_add(1, Ordering::SeqCst);
        }
        Linux.register_membarrier()
    }
}

/// A new hole: a registration inside the set-up would wait for itself.
#[test]
fn a_registration_inside_the_setup_is_refused() {
    alone(
        "kernels::a_registration_inside_the_setup_is_refused",
        || {
            static KERNEL: Reentrant = Reentrant {
                refused: AtomicU32::new(0),
            };
            rlock::init(with(&KERNEL)).unwrap();
            assert_eq!(KERNEL.refused.load(Ordering::SeqCst), 1);
            assert!(rlock::ready().is_some());
            drop(Owner::register().unwrap());
        },
    );
}
