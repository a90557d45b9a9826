// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! One thread on one CPU: an increment by each method.

use std::arch::asm;
use std::cell::UnsafeCell;
use std::error::Error;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use rlock::{Counter, Lock, Owner, Slot, Token};

use crate::machine::{rdtsc, Counters, Machine};
use crate::rseq;
use crate::samples::{Sample, ALIGNMENTS};

/// What the others are compared with: those that use a locked instruction.
pub(crate) const LOCKED: [&str; 7] = [
    "xchg",
    "fas",
    "fas_cas",
    "lock_add",
    "pthread",
    "std",
    "parking_lot",
];

const INCREMENTS: u64 = 2_000_000;

/// A cache line, so that nothing shares it.
#[repr(align(128))]
struct Line<T>(T);

/// Runs `body` so often, its loop so many bytes after a multiple of 64. One body a
/// method and alignment; LLVM is told not to align loops itself.
#[inline(never)]
fn times<const ALIGNMENT: usize>(mut body: impl FnMut()) -> (u64, u64) {
    let from = Instant::now();
    let tsc = rdtsc();
    // SAFETY: instructions that do nothing.
    unsafe { asm!(".balign 64", ".skip {}, 0x90", const ALIGNMENT, options(nomem, nostack)) };
    for _ in 0..INCREMENTS {
        body();
    }
    (rdtsc() - tsc, from.elapsed().as_nanos() as u64)
}

fn plain(counter: &AtomicU64) {
    counter.store(counter.load(Ordering::Relaxed) + 1, Ordering::Relaxed);
}

/// [`times`] with a token that is acquired again whenever it is revoked. The token is a
/// local variable, so that it stays in registers, as a user's would.
#[inline(never)]
fn with_token<'t, const ALIGNMENT: usize>(
    owner: &'t Owner,
    lock: &'t Lock<Line<Slot>>,
    commit: impl Fn(&mut Token<'t, Line<Slot>>) -> bool,
) -> (u64, u64) {
    let mut token = owner.acquire(lock).expect("nobody else wants it");
    let from = Instant::now();
    let tsc = rdtsc();
    // SAFETY: instructions that do nothing.
    unsafe { asm!(".balign 64", ".skip {}, 0x90", const ALIGNMENT, options(nomem, nostack)) };
    for _ in 0..INCREMENTS {
        while !commit(&mut token) {
            token = owner.acquire(lock).expect("nobody else wants it");
        }
    }
    (rdtsc() - tsc, from.elapsed().as_nanos() as u64)
}

/// Every method once at one alignment.
fn each<const ALIGNMENT: usize>(
    mut tell: impl FnMut(&'static str, &mut dyn FnMut() -> (u64, u64)),
) -> Result<(), Box<dyn Error>> {
    let line = Line(AtomicU64::new(0));
    let counter = &line.0;
    // Each run leaves its increments here, all of them: nothing was left out.
    let mut expected = 0;
    let mut check = |method: &str, found: u64| {
        expected += INCREMENTS;
        if found == expected {
            Ok(())
        } else {
            Err(format!("{method}: {found} where {expected} were added"))
        }
    };

    tell("vanilla", &mut || times::<ALIGNMENT>(|| plain(counter)));
    check("vanilla", counter.load(Ordering::Relaxed))?;

    tell("xchg", &mut || {
        times::<ALIGNMENT>(|| {
            counter.swap(counter.load(Ordering::Relaxed) + 1, Ordering::SeqCst);
        })
    });
    check("xchg", counter.load(Ordering::Relaxed))?;

    let lock = Line(AtomicBool::new(false));
    let lock = &lock.0;
    tell("fas", &mut || {
        times::<ALIGNMENT>(|| {
            while lock.swap(true, Ordering::Acquire) {}
            plain(counter);
            lock.store(false, Ordering::Release);
        })
    });
    check("fas", counter.load(Ordering::Relaxed))?;

    tell("fas_cas", &mut || {
        times::<ALIGNMENT>(|| {
            while lock.swap(true, Ordering::Acquire) {}
            plain(counter);
            let _ = lock.compare_exchange(true, false, Ordering::Release, Ordering::Relaxed);
        })
    });
    check("fas_cas", counter.load(Ordering::Relaxed))?;

    tell("lock_add", &mut || {
        times::<ALIGNMENT>(|| {
            // Not fetch_add, whose result unused the compiler makes an inc of.
            // SAFETY: adds to an atomic's memory.
            unsafe {
                asm!("lock add qword ptr [{}], 1", in(reg) counter.as_ptr(), options(nostack));
            }
        })
    });
    check("lock_add", counter.load(Ordering::Relaxed))?;

    let mutex = Line(UnsafeCell::new(libc::PTHREAD_MUTEX_INITIALIZER));
    let mutex = mutex.0.get();
    tell("pthread", &mut || {
        // SAFETY: an initialised mutex that stays where it is.
        times::<ALIGNMENT>(|| unsafe {
            libc::pthread_mutex_lock(mutex);
            plain(counter);
            libc::pthread_mutex_unlock(mutex);
        })
    });
    check("pthread", counter.load(Ordering::Relaxed))?;

    let mutex = Line(std::sync::Mutex::new(()));
    tell("std", &mut || {
        times::<ALIGNMENT>(|| {
            let _guard = mutex.0.lock();
            plain(counter);
        })
    });
    check("std", counter.load(Ordering::Relaxed))?;

    let mutex = Line(parking_lot::Mutex::new(()));
    tell("parking_lot", &mut || {
        times::<ALIGNMENT>(|| {
            let _guard = mutex.0.lock();
            plain(counter);
        })
    });
    check("parking_lot", counter.load(Ordering::Relaxed))?;

    if rseq::is_registered() {
        #[repr(align(64))]
        struct PerCpu(AtomicU64);
        let counters: Vec<PerCpu> = (0..1024).map(|_| PerCpu(AtomicU64::new(0))).collect();
        let first = counters.as_ptr().cast();
        tell("rseq", &mut || {
            let area = rseq::area();
            // SAFETY: the thread's own area, and a counter for each CPU.
            times::<ALIGNMENT>(|| while !unsafe { rseq::increment(area, first) } {})
        });
        let sum: u64 = counters.iter().map(|c| c.0.load(Ordering::Relaxed)).sum();
        if sum != INCREMENTS {
            return Err(format!("rseq: {sum} where {INCREMENTS} were added").into());
        }
    }

    // The public API, all fixes and the forced release on; acquired whenever revoked.
    let owner = Owner::register()?;
    let lock = Line(Lock::new(Line(Slot::new(0))));
    let lock = &lock.0;
    let mut sum = 0;
    let mut check = |method: &str| {
        sum += INCREMENTS;
        let found = lock.0.load();
        if found == sum {
            Ok(())
        } else {
            Err(format!("{method}: {found} where {sum} were added"))
        }
    };
    tell("rlock_add", &mut || {
        with_token::<ALIGNMENT>(&owner, lock, |token| token.add(|line| &line.0, 1).is_ok())
    });
    check("rlock_add")?;
    tell("rlock_acquire", &mut || {
        times::<ALIGNMENT>(|| loop {
            let mut token = owner.acquire(lock).expect("nobody else wants it");
            if token.store(|line| &line.0, token.0.load() + 1).is_ok() {
                break;
            }
        })
    });
    check("rlock_acquire")?;

    static COUNTER: Counter = Counter::new();
    let before = COUNTER.sum();
    tell("rlock_counter", &mut || {
        times::<ALIGNMENT>(|| COUNTER.add(1))
    });
    if COUNTER.sum() - before != INCREMENTS {
        return Err("rlock_counter: a wrong sum".into());
    }
    Ok(())
}

fn one<const ALIGNMENT: usize>(
    round: usize,
    samples: &mut Vec<Sample>,
) -> Result<(), Box<dyn Error>> {
    each::<ALIGNMENT>(|method, run| {
        let counters = Counters::new();
        let (cycles, ns) = run();
        samples.push(Sample {
            method,
            threads: 1,
            cpus: 1,
            alignment: ALIGNMENT,
            round,
            ns: ns as f64 / INCREMENTS as f64,
            cycles: cycles as f64 / INCREMENTS as f64,
            ipc: counters.and_then(Counters::ipc),
        });
    })
}

pub(crate) fn sample(
    round: usize,
    machine: &Machine,
    samples: &mut Vec<Sample>,
) -> Result<(), Box<dyn Error>> {
    machine.bind(0);
    one::<{ ALIGNMENTS[0] }>(round, samples)?;
    one::<{ ALIGNMENTS[1] }>(round, samples)?;
    one::<{ ALIGNMENTS[2] }>(round, samples)?;
    one::<{ ALIGNMENTS[3] }>(round, samples)?;
    one::<{ ALIGNMENTS[4] }>(round, samples)
}
