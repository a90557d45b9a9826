// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The same loop of rlock by different numbers of threads. One thread runs alone. Four and
//! 256 threads share one CPU, one lock and one counter. Two run on two CPUs, with a lock each.

use std::arch::asm;
use std::error::Error;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::Barrier;
use std::time::{Duration, Instant};

use rlock::{Cancel, Lock, Owner, Slot, Token};

use crate::machine::{rdtsc, Machine};
use crate::samples::{Sample, ALIGNMENTS};

/// Long against a time slice, so that threads take turns.
const WINDOW: Duration = Duration::from_millis(400);
/// Increments between two looks at whether it is over.
const BATCH: u64 = 1024;

#[repr(align(128))]
struct Line<T>(T);

struct Totals {
    start: Barrier,
    stop: AtomicBool,
    increments: AtomicU64,
    /// Acquisitions after a token that had commits left.
    evictions: AtomicU64,
}

/// What a thread counts when it has to acquire again.
struct Turns {
    /// Increments before this token.
    since: u64,
    evictions: u64,
}

impl Turns {
    /// A token was revoked, after so many increments of the thread.
    #[cold]
    #[inline(never)]
    fn end(&mut self, increments: u64) {
        // The forced release comes after so many: what comes sooner is an eviction.
        let limit = u64::from(rlock::Config::default().operations);
        self.evictions += u64::from(increments - self.since < limit);
        self.since = increments;
    }
}

/// The owner could not be cancelled by a try.
#[cold]
#[inline(never)]
fn insist(owner: &Owner, lock: &Lock<Line<Slot>>) {
    let soon = Cancel::strictly_within(Duration::from_millis(100));
    if owner.acquire_by(lock, soon).is_err() {
        std::thread::yield_now();
    }
}

/// Takes the lock, from any owner. Inline: what a call returns lies in memory.
#[inline(always)]
fn take<'t>(owner: &'t Owner, lock: &'t Lock<Line<Slot>>) -> Token<'t, Line<Slot>> {
    loop {
        match owner.acquire(lock) {
            Ok(token) => return token,
            Err(_) => insist(owner, lock),
        }
    }
}

/// One thread's increments, until it is over.
#[inline(never)]
fn live<const ALIGNMENT: usize>(lock: &Lock<Line<Slot>>, totals: &Totals) {
    let owner = Owner::register().expect("registered before");
    totals.start.wait();
    let mut turns = Turns {
        since: 0,
        evictions: 0,
    };
    let mut token = take(&owner, lock);
    let mut increments = 0;
    while !totals.stop.load(Ordering::Relaxed) {
        // SAFETY: instructions that do nothing.
        unsafe { asm!(".balign 64", ".skip {}, 0x90", const ALIGNMENT, options(nomem, nostack)) };
        for done in 0..BATCH {
            while token.store(|line| &line.0, token.0.load() + 1).is_err() {
                turns.end(increments + done);
                token = take(&owner, lock);
            }
        }
        increments += BATCH;
    }
    totals.increments.fetch_add(increments, Ordering::Relaxed);
    totals
        .evictions
        .fetch_add(turns.evictions, Ordering::Relaxed);
}

fn switches() -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: written by the call.
    unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        let usage = usage.assume_init();
        (usage.ru_nvcsw + usage.ru_nivcsw) as u64
    }
}

fn run<const ALIGNMENT: usize>(
    threads: usize,
    cpus: usize,
    round: usize,
    machine: &Machine,
) -> Result<Sample, Box<dyn Error>> {
    let locks: Vec<Lock<Line<Slot>>> = (0..cpus).map(|_| Lock::new(Line(Slot::new(0)))).collect();
    let totals = Totals {
        start: Barrier::new(threads + 1),
        stop: AtomicBool::new(false),
        increments: AtomicU64::new(0),
        evictions: AtomicU64::new(0),
    };
    let (mut cycles, mut ns, mut switched) = (0, 0, 0);
    std::thread::scope(|scope| {
        for number in 0..threads {
            let (lock, totals) = (&locks[number % cpus], &totals);
            scope.spawn(move || {
                machine.bind(number % cpus);
                live::<ALIGNMENT>(lock, totals);
            });
        }
        // On the last CPU, asleep.
        machine.bind(usize::MAX);
        totals.start.wait();
        let (before, from, tsc) = (switches(), Instant::now(), rdtsc());
        std::thread::sleep(WINDOW);
        totals.stop.store(true, Ordering::Relaxed);
        ns = from.elapsed().as_nanos() as u64;
        cycles = rdtsc() - tsc;
        switched = switches() - before;
    });
    let increments = totals.increments.into_inner();
    let evictions = totals.evictions.into_inner();
    let sum: u64 = locks.iter().map(|lock| lock.0.load()).sum();
    if sum != increments {
        return Err(format!("rlock {threads}/{cpus}: {sum} where {increments} were added").into());
    }
    if threads > cpus && evictions * 2 < switched {
        return Err(format!(
            "rlock {threads}/{cpus}: {evictions} evictions in {switched} context switches"
        )
        .into());
    }
    let per = cpus as f64 / increments as f64;
    Ok(Sample {
        method: "rlock",
        threads,
        cpus,
        alignment: ALIGNMENT,
        round,
        ns: ns as f64 * per,
        cycles: cycles as f64 * per,
        ipc: None,
    })
}

fn all<const ALIGNMENT: usize>(
    round: usize,
    machine: &Machine,
    samples: &mut Vec<Sample>,
) -> Result<(), Box<dyn Error>> {
    for (threads, cpus) in [(1, 1), (4, 1), (256, 1), (2, 2)] {
        samples.push(run::<ALIGNMENT>(threads, cpus, round, machine)?);
    }
    Ok(())
}

pub(crate) fn sample(
    round: usize,
    machine: &Machine,
    samples: &mut Vec<Sample>,
) -> Result<(), Box<dyn Error>> {
    all::<{ ALIGNMENTS[0] }>(round, machine, samples)?;
    all::<{ ALIGNMENTS[1] }>(round, machine, samples)?;
    all::<{ ALIGNMENTS[2] }>(round, machine, samples)?;
    all::<{ ALIGNMENTS[3] }>(round, machine, samples)?;
    all::<{ ALIGNMENTS[4] }>(round, machine, samples)
}
