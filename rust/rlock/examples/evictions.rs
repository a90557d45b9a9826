// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Khuong's experiment: evictions against context switches, and hard evictions against
//! sections executed. Threads share one CPU and spend a part of their time in sections.
//! With the feature `stats`.

use std::hint::black_box;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rlock::{Cancel, Lock, Owner, Slot};
use rustix::thread::CpuSet;

fn switches() -> u64 {
    let mut usage = std::mem::MaybeUninit::<libc::rusage>::uninit();
    // SAFETY: written by the call.
    let usage = unsafe {
        libc::getrusage(libc::RUSAGE_SELF, usage.as_mut_ptr());
        usage.assume_init()
    };
    (usage.ru_nvcsw + usage.ru_nivcsw) as u64
}

fn rdtsc() -> u64 {
    // SAFETY: every x86-64 CPU has it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// Runs so many threads on one CPU for so long, with so much other work between sections.
fn run(threads: u32, work: u32, time: Duration) {
    let lock = Lock::new(Slot::new(0));
    let stop = AtomicBool::new(false);
    let all = rustix::thread::sched_getaffinity(None).expect("an affinity");
    let cpu = (0..CpuSet::MAX_CPU)
        .find(|&cpu| all.is_set(cpu))
        .expect("a CPU");
    let (before, switched, from, tsc) = (rlock::stats(), switches(), Instant::now(), rdtsc());
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(|| {
                let mut one = CpuSet::new();
                one.set(cpu);
                rustix::thread::sched_setaffinity(None, &one).expect("an own CPU");
                let owner = Owner::register().expect("rlock can be used here");
                while !stop.load(Ordering::Relaxed) {
                    let soon = Cancel::within(Duration::from_millis(100));
                    let Ok(mut token) = owner.acquire_by(&lock, soon) else {
                        continue;
                    };
                    while token.add(|slot| slot, 1).is_ok() {
                        for i in 0..work {
                            black_box(i);
                        }
                    }
                }
            });
        }
        std::thread::sleep(time);
        stop.store(true, Ordering::Relaxed);
    });
    let cycles = rdtsc() - tsc;
    let stats = rlock::stats() - before;
    let switched = switches() - switched;
    let per_hard = stats.sections.checked_div(stats.hard_evictions);
    println!(
        "| {threads} | {:.0} | {:.1} | {} | {} | {} | {} |",
        100.0 * stats.section_cycles as f64 / cycles as f64,
        switched as f64 / from.elapsed().as_secs_f64(),
        stats.evictions,
        switched,
        stats.hard_evictions,
        per_hard.map_or("none".into(), |sections| format!(
            "{:.2}",
            sections as f64 / 1e6
        )),
    );
}

fn main() {
    println!("| threads on 1 CPU | % of time in sections | switches a s | evictions | context switches | hard evictions | millions of sections a hard one |");
    println!("|---|---|---|---|---|---|---|");
    for work in [0, 100, 1000] {
        for threads in [1, 2, 4, 8, 16] {
            run(threads, work, Duration::from_secs(1));
        }
    }
}
