// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Who parks sleeps, and is woken when its turn comes.

mod asleep;
mod within;

use std::{
    mem,
    sync::atomic::{
        AtomicU32, AtomicU64,
        Ordering::{Relaxed, SeqCst},
    },
    thread,
    time::{Duration, Instant},
};

use self::{
    asleep::{sleeps, world},
    within::within,
};
use handover_user::{Clh, Free, Mcs, OneWordTwa, Park, Process, RawLock, Ticket, Twa};

/// How often the calling thread went to sleep, and the time that it had a CPU.
fn usage() -> (u64, Duration) {
    // SAFETY: All of it is numbers.
    let mut usage: libc::rusage = unsafe { mem::zeroed() };
    // SAFETY: It writes to `usage` alone.
    let failed = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    assert_eq!(failed, 0);
    let time = |time: libc::timeval| Duration::new(time.tv_sec as u64, time.tv_usec as u32 * 1000);
    (
        usage.ru_nvcsw as u64,
        time(usage.ru_utime) + time(usage.ru_stime),
    )
}

const WAITERS: usize = 16;

/// Waiters come one after another, each when the one before sleeps. They pass the lock on, each after it has been seen to
/// be in. Returns how often each slept.
fn a_queue_of_sleepers<L: RawLock<Process<Park>> + Sync>(lock: &L) -> Vec<u64> {
    let slept: Vec<AtomicU64> = (0..WAITERS).map(|_| AtomicU64::new(0)).collect();
    let order = AtomicU32::new(0);
    let token = lock.lock(world());
    thread::scope(|scope| {
        for (number, slept) in slept.iter().enumerate() {
            let (lock, order, began) = (lock, &order, AtomicU32::new(0));
            let began = &*Box::leak(Box::new(began));
            scope.spawn(move || {
                // SAFETY: It has no arguments.
                began.store(unsafe { libc::gettid() } as u32, SeqCst);
                let (before, cpu_before) = usage();
                let began = Instant::now();
                let token = lock.lock(world());
                let (after, cpu_after) = usage();
                assert_eq!(
                    order.fetch_add(1, SeqCst) as usize,
                    number,
                    "not in the order of arrival"
                );
                slept.store(after - before, Relaxed);
                let waited = began.elapsed();
                assert!(
                    cpu_after - cpu_before < waited / 2 + Duration::from_millis(20),
                    "waiter {number} had a CPU for {:?} of {waited:?}",
                    cpu_after - cpu_before,
                );
                // So that who is woken without need goes back to sleep before the next release.
                thread::sleep(Duration::from_millis(3));
                lock.unlock(world(), token);
            });
            while began.load(SeqCst) == 0 || !sleeps(began.load(SeqCst)) {
                thread::yield_now();
            }
        }
        lock.unlock(world(), token);
    });
    slept.into_iter().map(AtomicU64::into_inner).collect()
}

macro_rules! sleepers {
    ($($name:ident $lock:ident $most:literal;)*) => { $(
        /// No release wakes the herd: who waits for many others sleeps no more often than who waits for few.
        #[test]
        fn $name() {
            let slept = within(|| {
                let lock: $lock<Park> = Free::FREE;
                a_queue_of_sleepers(&lock)
            });
            assert!(slept.iter().all(|&times| (1..=$most).contains(&times)), "{slept:?}");
        }
    )* };
}

sleepers! {
    // Long term, then as the next one; a collision of slots is rare.
    each_of_twa_sleeps_twice Twa 4;
    each_of_one_word_twa_sleeps_twice OneWordTwa 4;
    each_of_the_ticket_lock_sleeps_once Ticket 2;
    each_of_mcs_sleeps_once Mcs 2;
    each_of_clh_sleeps_once Clh 2;
}
