// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Many threads, one lock and one slot: what was committed is what is there.
//!
//! `RLOCK_STRESS_MS` is how long each takes (300).

mod disturb;
#[path = "../common/late.rs"]
mod late;
mod staged;

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rlock::{Cancel, Lock, Owner, Slot};
use rustix::thread::CpuSet;

use late::Late;

fn time() -> Duration {
    let ms = std::env::var("RLOCK_STRESS_MS").ok();
    Duration::from_millis(ms.and_then(|ms| ms.parse().ok()).unwrap_or(300))
}

/// What threads did, all of them together.
#[derive(Default)]
struct Totals {
    commits: AtomicU64,
    /// Acquisitions that took the lock from an owner, or found it released.
    acquisitions: AtomicU64,
    busy: AtomicU64,
}

/// The first `number` CPUs that the process may use; fewer where there are fewer.
fn cpus(number: usize) -> CpuSet {
    let allowed = rustix::thread::sched_getaffinity(None).unwrap();
    let mut set = CpuSet::new();
    for cpu in (0..CpuSet::MAX_CPU)
        .filter(|&c| allowed.is_set(c))
        .take(number)
    {
        set.set(cpu);
    }
    set
}

/// A generator of small numbers; each thread has its own.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        // Marsaglia's xorshift.
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % sides
    }
}

/// One thread's life. It acquires by all modes and commits by all operations, until it
/// is told to stop or has done `most`. Then it ends, and owns.
fn live(seed: u64, lock: &Lock<Slot>, most: u64, until: Instant, totals: &Totals) {
    let owner = Owner::register().unwrap();
    let mut dice = Dice(seed | 1);
    let (mut commits, mut acquisitions, mut busy) = (0, 0, 0);
    let mut turns = 0;
    let mut late = Late::default();
    // At least once, however late it is.
    while acquisitions < most && (turns == 0 || Instant::now() < until) {
        turns += 1;
        let mode = match dice.roll(64) {
            0 => Cancel::strictly_within(Duration::from_millis(20)),
            1 => Cancel::within(Duration::from_millis(1)),
            _ => Cancel::Try,
        };
        let Ok(mut token) = owner.acquire_by(lock, mode) else {
            busy += 1;
            if turns % 64 == 0 {
                std::thread::yield_now();
            }
            continue;
        };
        acquisitions += 1;
        // Until it is revoked, or a look at the clock is due.
        for _ in 0..1 + dice.roll(20_000) {
            if dice.roll(8) == 0 {
                late.store();
            }
            let done = match dice.roll(4) {
                0 => token.store(|slot| slot, token.load() + 1),
                1 => match token.compare_and_store(|slot| slot, token.load(), token.load() + 1) {
                    Ok(true) => Ok(()),
                    Ok(false) => panic!("another one wrote"),
                    Err(revoked) => Err(revoked),
                },
                2 => token.stage(|slot| slot, |value| value + 1),
                _ => token.add(|slot| slot, 1),
            };
            match done {
                Ok(()) => commits += 1,
                Err(_) => break,
            }
        }
    }
    totals.commits.fetch_add(commits, Ordering::Relaxed);
    totals
        .acquisitions
        .fetch_add(acquisitions, Ordering::Relaxed);
    totals.busy.fetch_add(busy, Ordering::Relaxed);
}

/// Runs so many threads on so many CPUs.
fn run(threads: usize, on: usize, each: impl Fn(u64, &Lock<Slot>, Instant, &Totals) + Sync) {
    let lock = Lock::new(Slot::new(0));
    let totals = Totals::default();
    // Its self-test is not a part of the time.
    rlock::capabilities().unwrap();
    let set = cpus(on);
    let until = Instant::now() + time();
    std::thread::scope(|scope| {
        for number in 0..threads {
            let (lock, totals, each, set) = (&lock, &totals, &each, &set);
            scope.spawn(move || {
                rustix::thread::sched_setaffinity(None, set).unwrap();
                each(number as u64 + 1, lock, until, totals);
            });
        }
    });
    let commits = totals.commits.load(Ordering::Relaxed);
    let acquisitions = totals.acquisitions.load(Ordering::Relaxed);
    println!(
        "{threads} threads on {on} CPUs: {commits} commits, {acquisitions} acquisitions, {} busy",
        totals.busy.load(Ordering::Relaxed)
    );
    assert_eq!(lock.load(), commits, "{threads} threads on {on} CPUs");
    assert!(commits > 0 && acquisitions > 0);
}

fn plain(threads: usize, on: usize) {
    run(threads, on, |seed, lock, until, totals| {
        live(seed, lock, u64::MAX, until, totals);
    });
}

#[test]
fn threads_1_and_4_on_1_cpu() {
    plain(1, 1);
    plain(4, 1);
}

#[test]
fn threads_2_and_4_on_2_cpus() {
    plain(2, 2);
    plain(4, 2);
}

#[test]
fn threads_64_on_1_and_2_cpus() {
    plain(64, 1);
    plain(64, 2);
}

#[test]
fn threads_256_on_1_and_2_cpus() {
    plain(256, 1);
    plain(256, 2);
}

/// Threads that end while they own, and others that get their records.
#[test]
fn threads_that_end_while_they_own() {
    run(8, 2, |seed, lock, until, totals| {
        let mut generation = 0;
        while Instant::now() < until {
            generation += 1;
            std::thread::scope(|scope| {
                scope.spawn(move || live(seed * 1000 + generation, lock, 3, until, totals));
            });
        }
    });
}

/// Threads that go from CPU to CPU.
#[test]
fn threads_that_move() {
    let stop = AtomicBool::new(false);
    run(4, 2, |seed, lock, until, totals| {
        let tid = rustix::thread::gettid();
        std::thread::scope(|scope| {
            let stop = &stop;
            scope.spawn(move || {
                let mut dice = Dice(seed);
                while Instant::now() < until && !stop.load(Ordering::Relaxed) {
                    let both = cpus(2);
                    let mut one = CpuSet::new();
                    let wanted = dice.roll(2) as usize;
                    let mut here = (0..CpuSet::MAX_CPU).filter(|&cpu| both.is_set(cpu));
                    if let Some(cpu) = here.nth(wanted) {
                        one.set(cpu);
                        rustix::thread::sched_setaffinity(Some(tid), &one).unwrap();
                    }
                    std::thread::sleep(Duration::from_micros(200));
                }
            });
            live(seed, lock, u64::MAX, until, totals);
        });
    });
}
