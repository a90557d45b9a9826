// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The set-up, where the kernel or the moment is against it.

use std::io;
use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use rlock::kernel::{File, Kernel, Linux};
use rlock::{Config, Counter, Error, Lock, Owner, Slot};

use crate::alone::alone;
use crate::forbid::{can_forbid, forbid, REFUSE};
use crate::kernels::{two_that_add, with, Blind};
use crate::tid;

/// A program that looks for the vDSO first asks for the auxiliary vector, and is ended here.
/// (Valgrind hides the vDSO: a program that reads there reads unmapped memory.)
#[test]
fn the_vdso_is_not_looked_for() {
    alone("begin::the_vdso_is_not_looked_for", || {
        if !can_forbid() {
            return;
        }
        const PR_GET_AUXV: u32 = 0x4155_5856;
        let first = Some((0, PR_GET_AUXV));
        forbid(libc::SYS_prctl, first, libc::SECCOMP_RET_KILL_PROCESS);
        let lock = Lock::new(Slot::new(0));
        let owner = Owner::register().unwrap();
        owner.acquire(&lock).unwrap().add(|slot| slot, 1).unwrap();
        assert_eq!(lock.load(), 1);
        // That it is noticed: rustix looks for it.
        // SAFETY: the child ends at once, and locks nothing.
        let status = unsafe {
            let child = libc::fork();
            if child == 0 {
                let _ = rustix::thread::sched_getcpu();
                libc::_exit(0);
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &mut status, 0), child);
            status
        };
        assert!(libc::WIFSIGNALED(status), "{status:#x}");
        assert_eq!(libc::WTERMSIG(status), libc::SIGSYS);
    });
}

/// It is not memory that is missing, and it is not the records'.
#[test]
fn a_refused_wipe_on_fork_is_told() {
    alone("begin::a_refused_wipe_on_fork_is_told", || {
        if !can_forbid() {
            return;
        }
        let advice = Some((2, libc::MADV_WIPEONFORK as u32));
        forbid(libc::SYS_madvise, advice, REFUSE | libc::EINVAL as u32);
        let why = Owner::register().unwrap_err();
        assert_eq!(
            why.to_string(),
            "a fork would not be noticed: madvise(MADV_WIPEONFORK): Invalid argument (os error 22)"
        );
        assert!(rlock::ready().is_none());
    });
}

/// The reason is the one that was found, and not what follows from it.
#[test]
fn a_proof_that_fails_says_why() {
    alone("begin::a_proof_that_fails_says_why", || {
        let found = rlock::init(with(&Blind { membarrier: true })).unwrap();
        assert_eq!(found.same_cpu, Err("a thread's stat cannot be read"));
        assert_eq!(found.switches, Err("no schedstat"));
        assert_eq!(found.not_runnable, Err("no syscall file"));
    });
}

/// The first signal, which is the self-test's, is sent when it may be.
#[derive(Debug)]
struct Stuck {
    asked: AtomicBool,
    may_send: AtomicBool,
    sent: AtomicBool,
    blind: bool,
}

impl Stuck {
    const fn new(blind: bool) -> Self {
        Self {
            asked: AtomicBool::new(false),
            may_send: AtomicBool::new(false),
            sent: AtomicBool::new(false),
            blind,
        }
    }
}

impl Kernel for Stuck {
    fn tgkill(&self, pid: u32, tid: u32, signal: i32) -> io::Result<()> {
        if self.asked.swap(true, Ordering::SeqCst) {
            return Linux.tgkill(pid, tid, signal);
        }
        while !self.may_send.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
        let result = Linux.tgkill(pid, tid, signal);
        self.sent.store(true, Ordering::SeqCst);
        result
    }

    fn read(&self, file: File, fd: BorrowedFd<'_>, to: &mut [u8]) -> rustix::io::Result<usize> {
        if self.blind {
            return Err(rustix::io::Errno::ACCESS);
        }
        Linux.read(file, fd, to)
    }

    fn membarrier(&self) -> io::Result<()> {
        if self.blind {
            return Err(io::ErrorKind::Unsupported.into());
        }
        Linux.membarrier()
    }
}

const LATE: &str = "not tested: the test's thread did not answer in time";

/// The set-up goes on without the proof whose test does not end.
#[test]
fn a_self_test_that_stands_still_is_left() {
    static KERNEL: Stuck = Stuck::new(false);
    alone("begin::a_self_test_that_stands_still_is_left", || {
        let (tell, told) = mpsc::channel();
        let watchdog = std::thread::spawn(move || {
            let is_late = told.recv_timeout(Duration::from_secs(30)).is_err();
            KERNEL.may_send.fetch_or(is_late, Ordering::SeqCst);
            is_late
        });
        let found = rlock::init(with(&KERNEL)).unwrap();
        tell.send(()).unwrap_or_default();
        assert!(!watchdog.join().unwrap(), "the set-up waited for its test");
        assert_eq!(found.handler, Err(LATE));
        assert_eq!(found.not_runnable, Ok(()));
        assert_eq!(found.same_cpu, Ok(()));
        assert_eq!(found.switches, Ok(()));
        two_that_add();
        assert!(found.to_string().contains(LATE));
    });
}

/// A set-up that fails leaves the handler to a thread that may still send itself the signal.
/// Without the handler that would end the process.
#[test]
fn a_late_signal_finds_the_handler() {
    static KERNEL: Stuck = Stuck::new(true);
    alone("begin::a_late_signal_finds_the_handler", || {
        let config = Config {
            signal: libc::SIGUSR2,
            ..with(&KERNEL)
        };
        let why = rlock::init(config).unwrap_err();
        assert!(matches!(why, Error::NoEvidence(_)), "{why}");
        KERNEL.may_send.store(true, Ordering::SeqCst);
        while !KERNEL.sent.load(Ordering::SeqCst) {
            std::thread::yield_now();
        }
    });
}

/// A registration that sets rlock up hears signals meanwhile: no signal could end it otherwise.
#[test]
fn a_setup_hears_signals() {
    static HEARD: AtomicU32 = AtomicU32::new(0);
    extern "C" fn hears(_: i32) {
        HEARD.fetch_add(u32::from(rlock::ready().is_none()), Ordering::SeqCst);
    }
    alone("begin::a_setup_hears_signals", || {
        let hears: extern "C" fn(i32) = hears;
        // SAFETY: a handler that adds to an atomic; a timer of this thread, deleted below.
        let timer = unsafe {
            libc::signal(libc::SIGUSR1, hears as libc::sighandler_t);
            let mut event: libc::sigevent = std::mem::zeroed();
            event.sigev_notify = libc::SIGEV_THREAD_ID;
            event.sigev_signo = libc::SIGUSR1;
            event.sigev_notify_thread_id = tid() as i32;
            let mut timer = ptr::null_mut();
            assert_eq!(
                libc::timer_create(libc::CLOCK_MONOTONIC, &mut event, &mut timer),
                0
            );
            let time = libc::timespec {
                tv_sec: 0,
                tv_nsec: 100_000,
            };
            let every = libc::itimerspec {
                it_interval: time,
                it_value: time,
            };
            assert_eq!(libc::timer_settime(timer, 0, &every, ptr::null_mut()), 0);
            timer
        };
        // What came before the set-up began is not counted.
        HEARD.store(0, Ordering::SeqCst);
        let owner = Owner::register().unwrap();
        // SAFETY: made above.
        unsafe { libc::timer_delete(timer) };
        // The self-test sleeps for some milliseconds.
        assert!(HEARD.load(Ordering::SeqCst) >= 3, "{HEARD:?}");
        drop(owner);
    });
}

/// Counts in the course of the set-up, as an allocator may.
#[derive(Debug)]
struct CountingMeanwhile;

static COUNTER: Counter = Counter::new();

impl Kernel for CountingMeanwhile {
    fn register_membarrier(&self) -> io::Result<()> {
        COUNTER.add(1);
        Linux.register_membarrier()
    }
}

/// It has no owner then, and gets one when it counts again.
#[test]
fn who_counts_during_the_setup_counts_on() {
    alone("begin::who_counts_during_the_setup_counts_on", || {
        rlock::init(with(&CountingMeanwhile)).unwrap();
        assert!(!rlock::testing::is_registered());
        COUNTER.add(1);
        assert!(rlock::testing::is_registered());
        assert_eq!(COUNTER.sum(), 2);
    });
}

/// A thread's own owner ends with it: the next thread has its record. What a thread counts later
/// still, in another key's destructor, is counted. The thread gets no owner again.
#[test]
fn a_thread_that_counted_gives_its_record_back() {
    static KEY: AtomicU32 = AtomicU32::new(0);
    static COUNTED: AtomicU32 = AtomicU32::new(0);
    // The C library calls it some times, as long as it asks for that.
    extern "C" fn late(word: *mut libc::c_void) {
        COUNTER.add(1);
        COUNTED.fetch_add(1, Ordering::SeqCst);
        // SAFETY: its own key.
        unsafe { libc::pthread_setspecific(KEY.load(Ordering::SeqCst), word) };
    }
    alone("begin::a_thread_that_counted_gives_its_record_back", || {
        COUNTER.add(1);
        let mut key = 0;
        // SAFETY: a key whose destructor adds to a counter. It is younger than rlock's.
        assert_eq!(unsafe { libc::pthread_key_create(&mut key, Some(late)) }, 0);
        KEY.store(key, Ordering::SeqCst);
        for _ in 0..20 {
            let thread = std::thread::spawn(move || {
                // SAFETY: the key from above.
                unsafe { libc::pthread_setspecific(key, ptr::without_provenance(1)) };
                COUNTER.add(1);
                assert!(rlock::testing::is_registered());
            });
            thread.join().unwrap();
        }
        let late = COUNTED.load(Ordering::SeqCst);
        assert!(late >= 20);
        assert_eq!(COUNTER.sum(), 1 + 20 + u64::from(late));
        // This thread's and that of the others, which came one after the other.
        assert_eq!(crate::descriptors::numbers_of_tasks().len(), 6);
    });
}

/// Counts in a handler of rlock's signal. Not in the set-up, which waits for the self-test's
/// thread, where the signal comes.
fn counts_when_ready(counter: &Counter) {
    if rlock::ready().is_some() {
        counter.add(1);
    }
}

fn handle_rlocks_signal(handler: extern "C" fn(i32)) {
    // SAFETY: a handler that counts, by way of rlock.
    unsafe { libc::signal(libc::SIGURG, handler as libc::sighandler_t) };
}

/// A registration ends with letting rlock's signal through. A handler that was there before counts
/// then, and its thread has an owner before the registration has kept one. There is one handle all
/// the same, which ends with the thread.
#[test]
fn a_handler_counts_as_its_thread_registers() {
    extern "C" fn counts(_: i32) {
        counts_when_ready(&COUNTER);
    }
    alone("begin::a_handler_counts_as_its_thread_registers", || {
        handle_rlocks_signal(counts);
        COUNTER.add(1);
        for _ in 0..20 {
            let thread = std::thread::spawn(|| {
                // SAFETY: the thread's own mask, and a signal that is handled.
                unsafe {
                    let mut set = MaybeUninit::uninit();
                    libc::sigfillset(set.as_mut_ptr());
                    libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), ptr::null_mut());
                    libc::raise(libc::SIGURG);
                }
                COUNTER.add(1);
                assert!(rlock::testing::is_registered());
            });
            thread.join().unwrap();
        }
        assert_eq!(COUNTER.sum(), 1 + 2 * 20);
        // This thread's and that of the others, which came one after the other.
        assert_eq!(crate::descriptors::numbers_of_tasks().len(), 6);
    });
}

/// A handler that needs another block of counters makes it. It has the 8 KiB of stack that a thread
/// of `std` has for handlers.
#[test]
fn a_handler_makes_a_block_on_a_small_stack() {
    static COUNTERS: [Counter; 501] = [const { Counter::new() }; 501];
    extern "C" fn counts(_: i32) {
        counts_when_ready(&COUNTERS[500]);
    }
    alone("begin::a_handler_makes_a_block_on_a_small_stack", || {
        handle_rlocks_signal(counts);
        let thread = std::thread::spawn(|| {
            COUNTERS[..500].iter().for_each(|counter| counter.add(1));
            let before = Counter::bytes();
            // SAFETY: a signal that is handled.
            unsafe { libc::raise(libc::SIGURG) };
            assert!(Counter::bytes() > before);
        });
        thread.join().unwrap();
        assert_eq!(COUNTERS[500].sum(), 1);
    });
}
