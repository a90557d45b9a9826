// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Hole 5: children.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rustix::thread::CpuSet;

use rlock::kernel::{Kernel, Linux};
use rlock::{Busy, Cancel, Config, Lock, Owner, PerCpu, Slot};

use crate::alone::alone;
use crate::{add_until, assert_is_seen_running, bind};

/// Runs `body` in a child made by `make`; whether it returned true within `limit`.
fn in_child(limit: Duration, make: impl FnOnce() -> i64, body: impl FnOnce() -> bool) -> bool {
    match make() {
        0 => {
            let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(body));
            // SAFETY: ends the child at once.
            unsafe { libc::_exit(if done.unwrap_or(false) { 0 } else { 1 }) }
        }
        pid => {
            let (mut status, until) = (0, Instant::now() + limit);
            // SAFETY: of its own child, which is not waited for before; writes the status.
            unsafe {
                while libc::waitpid(pid as i32, &mut status, libc::WNOHANG) == 0 {
                    if Instant::now() >= until {
                        libc::kill(pid as i32, libc::SIGKILL);
                    }
                    std::thread::sleep(Duration::from_millis(5));
                }
            }
            libc::WIFEXITED(status) && libc::WEXITSTATUS(status) == 0
        }
    }
}

fn fork() -> i64 {
    // SAFETY: the child calls nothing that another thread's lock could block: rlock
    // and, with glibc, the allocator.
    i64::from(unsafe { libc::fork() })
}

/// Without `fork`'s handlers.
fn bare_fork() -> i64 {
    // SAFETY: as above.
    unsafe { libc::syscall(libc::SYS_fork) }
}

/// What a child finds: its own lock, another thread's, and its new threads'.
fn a_child(make: fn() -> i64) {
    let (mine, other) = (Lock::new(Slot::new(0)), Lock::new(Slot::new(0)));
    let (tell, told) = mpsc::channel();
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        let (other, stop) = (&other, &stop);
        scope.spawn(move || {
            bind(1);
            let owner = Owner::register().unwrap();
            let mut token = owner.acquire(other).unwrap();
            token.add(|slot| slot, 1).unwrap();
            tell.send(()).unwrap();
            // Runs: in the parent it could not be cancelled by a try.
            while !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        told.recv().unwrap();
        let everywhere = rustix::thread::sched_getaffinity(None).unwrap();
        bind(0);
        let owner = Owner::register().unwrap();
        let mut token = owner.acquire(&mine).unwrap();
        token.add(|slot| slot, 1).unwrap();
        let good = in_child(Duration::from_secs(60), make, || {
            // What the thread owned it owns still.
            token.add(|slot| slot, 1).unwrap();
            assert_eq!(mine.load(), 2);
            // What a thread owned that is not here is free.
            let mut token = owner.acquire(other).unwrap();
            token.add(|slot| slot, 1).unwrap();
            drop(token);
            // The thread that forked runs (the parent's sleeps), and a new one sees it.
            is_seen_running(other, &everywhere);
            rustix::thread::sched_setaffinity(None, &everywhere).unwrap();
            race(other)
        });
        stop.store(true, Ordering::Relaxed);
        assert!(good);
    });
    assert_eq!((mine.load(), other.load()), (1, 1));
}

/// Checks `a_child` for the thread that registered last: it is not in the child either.
fn a_child_without_the_last(make: fn() -> i64) {
    let lock = Lock::new(Slot::new(0));
    let (tell, told) = mpsc::channel();
    let stop = AtomicBool::new(false);
    let owner = Owner::register().unwrap();
    std::thread::scope(|scope| {
        let (lock, stop) = (&lock, &stop);
        scope.spawn(move || {
            bind(1);
            let owner = Owner::register().unwrap();
            let mut token = owner.acquire(lock).unwrap();
            token.add(|slot| slot, 1).unwrap();
            tell.send(()).unwrap();
            while !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
        });
        told.recv().unwrap();
        bind(0);
        let good = in_child(Duration::from_secs(60), make, || {
            let mut token = owner.acquire(lock).unwrap();
            token.add(|slot| slot, 1) == Ok(())
        });
        stop.store(true, Ordering::Relaxed);
        assert!(good);
    });
}

#[test]
fn a_child_without_the_thread_that_registered_last() {
    alone(
        "fork::a_child_without_the_thread_that_registered_last",
        || {
            // By itself where a machine has one CPU: an absent thread is seen to be off it.
            a_child_without_the_last(fork);
            a_child_without_the_last(bare_fork);
        },
    );
}

/// A new thread, on the other CPU, tries to cancel the calling one, which runs.
fn is_seen_running(lock: &Lock<Slot>, everywhere: &CpuSet) {
    if everywhere.count() < 2 {
        return;
    }
    std::thread::scope(|scope| {
        let other = scope.spawn(|| {
            rustix::thread::sched_setaffinity(None, everywhere).unwrap();
            bind(1);
            assert_is_seen_running(lock);
        });
        while !other.is_finished() {
            std::hint::spin_loop();
        }
    });
}

/// The calling thread and a new one add; the sum is exact.
fn race(lock: &Lock<Slot>) -> bool {
    let before = lock.load();
    let (stop, count) = (AtomicBool::new(false), AtomicU64::new(0));
    std::thread::scope(|scope| {
        scope.spawn(|| {
            add_until(lock, &stop, &count);
        });
        scope.spawn(|| {
            std::thread::sleep(Duration::from_millis(400));
            stop.store(true, Ordering::Relaxed);
        });
        add_until(lock, &stop, &count);
    });
    lock.load() - before == count.load(Ordering::Relaxed)
}

#[test]
fn a_child_of_fork() {
    alone("fork::a_child_of_fork", || a_child(fork));
}

#[test]
fn a_child_of_a_bare_fork() {
    alone("fork::a_child_of_a_bare_fork", || {
        a_child(bare_fork);
    });
}

#[test]
fn a_child_that_shares_the_memory_is_refused() {
    alone("fork::a_child_that_shares_the_memory_is_refused", || {
        static LOCK: Lock<Slot> = Lock::new(Slot::new(0));
        static OTHER: Lock<Slot> = Lock::new(Slot::new(0));
        let owner = Owner::register().unwrap();
        owner.acquire(&LOCK).map(drop).unwrap();
        // As vfork does: the parent waits, the child has its memory.
        // SAFETY: the child runs on a stack of its own, while this thread waits.
        let child = unsafe {
            let mut stack = vec![0_u8; 1 << 20];
            let top = stack.as_mut_ptr().add(1 << 20).cast();
            extern "C" fn child(_: *mut libc::c_void) -> i32 {
                // The thread's pointer is the parent's.
                let owner = Owner::register().unwrap();
                let found = owner.acquire(&OTHER).map(drop);
                std::mem::forget(owner);
                i32::from(found != Err(Busy::OtherProcess))
            }
            let flags = libc::CLONE_VM | libc::CLONE_VFORK | libc::SIGCHLD;
            let pid = libc::clone(child, top, flags, std::ptr::null_mut());
            assert!(pid > 0);
            let mut status = 0;
            assert_eq!(libc::waitpid(pid, &mut status, 0), pid);
            drop(stack);
            libc::WEXITSTATUS(status)
        };
        assert_eq!(child, 0);
        // The parent goes on.
        owner.acquire(&OTHER).map(drop).unwrap();
        LOCK.cancel(Cancel::strictly_within(Duration::from_secs(1)))
            .unwrap();
    });
}

/// A new hazard: a thread sets rlock up while another one forks. The child, in which that
/// thread is not, sets up anew.
#[test]
fn a_child_of_a_process_that_begins() {
    #[derive(Debug)]
    struct Slow;
    static STAGE: AtomicU64 = AtomicU64::new(0);
    impl Kernel for Slow {
        fn register_membarrier(&self) -> std::io::Result<()> {
            STAGE.store(1, Ordering::SeqCst);
            while STAGE.load(Ordering::SeqCst) == 1 {
                std::thread::yield_now();
            }
            Linux.register_membarrier()
        }
    }
    alone("fork::a_child_of_a_process_that_begins", || {
        std::thread::scope(|scope| {
            let first = scope.spawn(|| {
                rlock::init(Config {
                    kernel: &Slow,
                    ..Config::default()
                })
                .map(drop)
            });
            while STAGE.load(Ordering::SeqCst) != 1 {
                std::thread::yield_now();
            }
            let good = in_child(Duration::from_secs(30), fork, || {
                let lock = Lock::new(Slot::new(0));
                let owner = Owner::register().unwrap();
                owner.acquire(&lock).unwrap().add(|slot| slot, 1).unwrap();
                lock.load() == 1
            });
            STAGE.store(2, Ordering::SeqCst);
            first.join().unwrap().unwrap();
            assert!(good, "the child could not set up");
        });
        // The parent's set-up is whole.
        drop(Owner::register().unwrap());
    });
}

/// A new hazard: a thread takes out instances while another one forks. The child, in which
/// that thread is not, can take them out.
#[test]
fn a_child_of_a_process_that_shrinks() {
    alone("fork::a_child_of_a_process_that_shrinks", || {
        if std::thread::available_parallelism().unwrap().get() < 2 {
            return;
        }
        let data = PerCpu::new(|| Slot::new(0));
        let everywhere = rustix::thread::sched_getaffinity(None).unwrap();
        bind(0);
        let owner = Owner::register().unwrap();
        let (tell, told) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let stop = AtomicBool::new(false);
        std::thread::scope(|scope| {
            let (data, stop, everywhere) = (&data, &stop, &everywhere);
            // Away with the instance: another one is made.
            scope.spawn({
                let tell = tell.clone();
                move || {
                    let owner = Owner::register().unwrap();
                    data.acquire(&owner).map(drop).unwrap();
                    rustix::thread::sched_setaffinity(None, everywhere).unwrap();
                    bind(1);
                    tell.send(()).unwrap();
                    while !stop.load(Ordering::Relaxed) {
                        std::hint::spin_loop();
                    }
                }
            });
            told.recv().unwrap();
            let from = Instant::now();
            while data.instances() < 2 && from.elapsed() < Duration::from_secs(10) {
                data.acquire(&owner).map(drop).unwrap();
                owner.release_all();
                std::thread::sleep(Duration::from_millis(1));
            }
            stop.store(true, Ordering::Relaxed);
            assert!(data.instances() > 1, "no other instance was made");
            let strict = || Cancel::strictly_within(Duration::from_secs(10));
            scope.spawn(move || {
                let owner = Owner::register().unwrap();
                data.shrink(&owner, strict, |_| {
                    tell.send(()).unwrap();
                    let _ = ended.recv();
                });
            });
            told.recv().unwrap();
            let good = in_child(Duration::from_secs(60), fork, || {
                data.shrink(&owner, strict, drop) > 0
            });
            drop(end);
            assert!(good, "the child could not take them out");
        });
    });
}
