// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What becomes of a signal that was sent: it is on its way, counted from, or kept.

use std::io;
use std::os::fd::BorrowedFd;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rlock::kernel::{File, Kernel, Linux};
use rlock::word::{CANCELLED, SIGNALLED};
use rlock::{Busy, Cancel, Lock, Owner, Slot};

use crate::alone::alone;
use crate::kernels::with;

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

/// Hole 4: a canceller that finds 'signalled' may rely on it. While one canceller is about to send
/// the signal, a second one sends its own.
#[test]
fn signalled_is_said_after_the_signal() {
    alone("sent::signalled_is_said_after_the_signal", || {
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
                // Until it is asleep: its handler wakes up now and then, and a thread that
                // runs is sent nothing.
                let first = scope.spawn(|| loop {
                    match lock.cancel(Cancel::Try) {
                        Err(Busy::Running) => std::thread::yield_now(),
                        result => break result,
                    }
                });
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

/// A new hazard: a tracer may keep the signal from a thread, whether it stopped it or not.
#[test]
fn a_traced_thread_is_not_believed_to_handle() {
    alone("sent::a_traced_thread_is_not_believed_to_handle", || {
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
    alone("sent::switches_before_a_signal_prove_nothing_after", || {
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
                // It stands in a section, and a canceller has asked and sent a signal.
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
    });
}

/// A tracer that keeps signals from a thread as long as it is `on`.
#[derive(Debug)]
struct Keeping {
    on: AtomicBool,
    kept: AtomicU32,
    sent: AtomicU32,
}

impl Kernel for Keeping {
    fn tgkill(&self, pid: u32, tid: u32, signal: i32) -> io::Result<()> {
        if self.on.load(Ordering::SeqCst) {
            self.kept.fetch_add(1, Ordering::SeqCst);
            return Ok(());
        }
        self.sent.fetch_add(1, Ordering::SeqCst);
        Linux.tgkill(pid, tid, signal)
    }

    fn is_traced(&self, _: u32) -> Option<bool> {
        Some(self.on.load(Ordering::SeqCst))
    }
}

/// A new hazard: a tracer kept the signal and is gone. No canceller may rely on that one.
#[test]
fn a_signal_that_was_kept_is_sent_again() {
    alone("sent::a_signal_that_was_kept_is_sent_again", || {
        static KERNEL: Keeping = Keeping {
            on: AtomicBool::new(false),
            kept: AtomicU32::new(0),
            sent: AtomicU32::new(0),
        };
        rlock::init(with(&KERNEL)).unwrap();
        let result = crate::faults::with_a_victim_in_a_section(|lock| {
            KERNEL.on.store(true, Ordering::SeqCst);
            let until = Instant::now() + Duration::from_secs(10);
            // Where the victim is seen running there is no signal.
            while KERNEL.kept.load(Ordering::SeqCst) == 0 {
                assert!(lock.cancel(Cancel::Try).is_err());
                assert!(Instant::now() < until, "nobody sent a signal");
            }
            KERNEL.on.store(false, Ordering::SeqCst);
            // With success or without (the thread's handler puts the signal off), by a
            // signal of its own.
            let before = KERNEL.sent.load(Ordering::SeqCst);
            while lock.cancel(Cancel::Try).is_err() && KERNEL.sent.load(Ordering::SeqCst) == before
            {
                assert!(Instant::now() < until, "nobody sent a signal again");
            }
        });
        assert_eq!(result, Err(rlock::Revoked));
    });
}
