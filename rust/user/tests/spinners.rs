// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Waiters look on while each that waits long has a CPU, and no longer. One test: what is counted is the whole process's.

mod asleep;
mod within;

use std::{
    fs, mem,
    sync::{
        atomic::{AtomicU32, Ordering::SeqCst},
        Mutex,
    },
    thread,
    time::Duration,
};

use self::{
    asleep::{sleeps, world},
    within::within,
};
use handover_user::{Clh, Free, Mcs, OneWordTwa, Park, Process, RawLock, Ticket, Twa};

/// The CPUs that this process may use, as /proc lists them.
fn cpus() -> usize {
    let status = fs::read_to_string("/proc/self/status").unwrap();
    let list = status
        .lines()
        .find_map(|line| line.strip_prefix("Cpus_allowed_list:"))
        .unwrap();
    let count = |part: &str| {
        let (first, last) = part.split_once('-').unwrap_or((part, part));
        last.parse::<usize>().unwrap() - first.parse::<usize>().unwrap() + 1
    };
    list.trim().split(',').map(count).sum()
}

/// The time for which the calling thread had a CPU.
fn cpu_time() -> Duration {
    // SAFETY: Two numbers.
    let mut time: libc::timespec = unsafe { mem::zeroed() };
    // SAFETY: It writes to `time` alone.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    assert_eq!(failed, 0);
    Duration::new(time.tv_sec as u64, time.tv_nsec as u32)
}

/// So many waiters come one after another, each when the one before sleeps. Returns how long each had a CPU until it had
/// the lock.
fn efforts<L: RawLock<Process<Park>> + Sync>(lock: &L, waiters: usize) -> Vec<Duration> {
    let efforts: Vec<Mutex<Duration>> = (0..waiters).map(|_| Mutex::default()).collect();
    let token = lock.lock(world());
    thread::scope(|scope| {
        for effort in &efforts {
            let began = &*Box::leak(Box::new(AtomicU32::new(0)));
            scope.spawn(move || {
                // SAFETY: It has no arguments.
                began.store(unsafe { libc::gettid() } as u32, SeqCst);
                let before = cpu_time();
                let token = lock.lock(world());
                *effort.lock().unwrap() = cpu_time() - before;
                lock.unlock(world(), token);
            });
            while began.load(SeqCst) == 0 || !sleeps(began.load(SeqCst)) {
                thread::sleep(Duration::from_millis(1));
            }
        }
        lock.unlock(world(), token);
    });
    efforts
        .into_iter()
        .map(|it| it.into_inner().unwrap())
        .collect()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort();
    times[times.len() / 2]
}

/// The waiters for which there is a CPU look several times as long as those for which there is none. Owner and waiters
/// are as many as CPUs then.
fn look_on<L: RawLock<Process<Park>> + Sync + Free + Send + 'static>(name: &str) {
    let with_cpu = cpus() - 1;
    let (mut first, mut next, mut others) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..5 {
        let efforts = within(move || efforts(&L::FREE, with_cpu + 6));
        first.extend_from_slice(&efforts[..with_cpu]);
        next.push(efforts[with_cpu]);
        others.extend_from_slice(&efforts[with_cpu + 1..]);
    }
    if with_cpu > 0 {
        let (first, next, others) = (median(first), median(next), median(others));
        assert!(
            first > 2 * next && first > 2 * others,
            "{name}: {first:?} with a CPU for each, {next:?} for the first without, {others:?} for the others"
        );
    }
}

#[test]
fn a_waiter_looks_on_while_there_is_a_cpu_for_each() {
    look_on::<Ticket<Park>>("ticket");
    look_on::<Twa<Park>>("twa");
    look_on::<OneWordTwa<Park>>("one-word TWA");
    look_on::<Mcs<Park>>("mcs");
    look_on::<Clh<Park>>("clh");
}
