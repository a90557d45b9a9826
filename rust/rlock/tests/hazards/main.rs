// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A test for each hazard of the protocol as it was published, and of those found since.
//! The list is in docs/rlock.md. Tests that need a signal handler on a section are in
//! `tests/step`.

mod alone;
mod begin;
mod descriptors;
mod faults;
mod forbid;
mod fork;
mod kernels;
#[path = "../common/late.rs"]
mod late;
mod sent;
mod signals;
mod slots;
mod wrap;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rlock::{Lock, Owner, Slot};

/// A thread that acquires and adds until it is told to stop, and never sleeps of itself.
/// Counts what it was told is committed.
fn add_until(lock: &Lock<Slot>, stop: &AtomicBool, count: &AtomicU64) {
    let owner = Owner::register().unwrap();
    let mut late = late::Late::default();
    while !stop.load(Ordering::Relaxed) {
        let Ok(mut token) = owner.acquire(lock) else {
            std::hint::spin_loop();
            continue;
        };
        while !stop.load(Ordering::Relaxed) && token.add(|slot| slot, 1).is_ok() {
            count.fetch_add(1, Ordering::Relaxed);
            late.store();
        }
    }
}

/// Waits for `least`, then for more than `adds` in `lock`. A busy host may let no thread
/// run for a while, and a minute is its limit.
fn await_adds(lock: &Lock<Slot>, adds: u64, least: Duration) {
    std::thread::sleep(least);
    let until = Instant::now() + Duration::from_secs(60);
    while lock.load() <= adds && Instant::now() < until {
        std::thread::yield_now();
    }
}

/// The calling thread may run on one CPU only, the `number`th that it may run on now.
fn bind(number: usize) {
    let all = rustix::thread::sched_getaffinity(None).unwrap();
    let allowed: Vec<usize> = (0..rustix::thread::CpuSet::MAX_CPU)
        .filter(|&cpu| all.is_set(cpu))
        .collect();
    let mut one = rustix::thread::CpuSet::new();
    one.set(allowed[number % allowed.len()]);
    rustix::thread::sched_setaffinity(None, &one).unwrap();
}

/// Calls `body` on one CPU while a thread that owns `lock` runs on the other, in no
/// section. With one CPU there is no such thing: then `body` is not called.
fn with_a_running_owner(lock: &Lock<Slot>, body: impl FnOnce()) {
    with_an_owner_that_came(lock, 1, body);
}

/// The same of a thread that acquired on the `from`th CPU, and only then came to the
/// other one.
fn with_an_owner_that_came(lock: &Lock<Slot>, from: usize, body: impl FnOnce()) {
    if std::thread::available_parallelism().unwrap().get() < 2 {
        return;
    }
    let stop = AtomicBool::new(false);
    let (tell, told) = std::sync::mpsc::channel();
    std::thread::scope(|scope| {
        let stop = &stop;
        // Also if `body` panics.
        let _stop = StopAtEnd(stop);
        scope.spawn(move || {
            let before = rustix::thread::sched_getaffinity(None).unwrap();
            bind(from);
            let owner = Owner::register().unwrap();
            let token = owner.acquire(lock).unwrap();
            rustix::thread::sched_setaffinity(None, &before).unwrap();
            bind(1);
            tell.send(()).unwrap();
            while !stop.load(Ordering::Relaxed) {
                std::hint::spin_loop();
            }
            drop(token);
        });
        told.recv().unwrap();
        let before = rustix::thread::sched_getaffinity(None).unwrap();
        bind(0);
        std::thread::sleep(Duration::from_millis(2));
        body();
        rustix::thread::sched_setaffinity(None, &before).unwrap();
    });
}

struct StopAtEnd<'a>(&'a AtomicBool);

impl Drop for StopAtEnd<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Tries to cancel an owner that runs on another CPU must fail. On a busy machine the
/// owner may be off its CPU now and then, but not each time.
fn assert_is_seen_running(lock: &Lock<Slot>) {
    let running = (0..200)
        .filter(|_| lock.cancel(rlock::Cancel::Try) == Err(rlock::Busy::Running))
        .count();
    assert!(running > 0, "it runs, and no try of 200 says so");
}

/// The calling thread's number.
fn tid() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}
