// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Kernels that say something else.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::time::Duration;

use rlock::kernel::{File, Kernel, Linux};
use rlock::{Cancel, Config, Error, Lock, Owner, Slot};

use crate::alone::alone;
use crate::{add_until, assert_is_seen_running, await_adds, bind, with_a_running_owner};

pub(crate) fn with(kernel: &'static dyn Kernel) -> Config {
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

/// A kernel that answers as gVisor does.
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
pub(crate) fn two_that_add() {
    let lock = &Lock::new(Slot::new(0));
    let (stop, count) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for number in 0..2 {
            let (stop, count) = (&stop, &count);
            scope.spawn(move || {
                bind(number);
                add_until(lock, stop, count);
            });
        }
        await_adds(lock, 0, Duration::from_millis(300));
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(lock.load(), count.load(Ordering::Relaxed));
    assert!(lock.load() > 0);
}

/// No thread's file can be read, and there may be no membarrier.
#[derive(Debug)]
pub(crate) struct Blind {
    pub(crate) membarrier: bool,
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

/// A kernel where a process may be bound to CPU 0 alone, and all that is said is 0.
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

/// A new hazard: it may come to run on others later.
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
        owner.acquire(&LOCK).unwrap().add(|slot| slot, 1).unwrap();
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
        owner.acquire(&LOCK).unwrap().add(|slot| slot, 1).unwrap();
        assert_eq!(LOCK.load(), 2);
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

/// A new hazard: a registration inside the set-up would wait for itself.
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
