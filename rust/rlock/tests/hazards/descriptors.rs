// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The threads' files, and sleepers that are left alone. A victim's files may be missing, be
//! another thread's, or be its own no longer. The tests look at what a canceller then reads.

use std::os::fd::{AsRawFd, RawFd};
use std::sync::atomic::Ordering;
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rlock::{Busy, Cancel, Lock, Owner, Slot};

use crate::alone::alone;
use crate::{assert_is_seen_running, tid, with_a_running_owner, with_an_owner_that_came};

/// Hole 13: a record that a thread gave back speaks of the next one's thread.
#[test]
fn a_reused_record() {
    alone("descriptors::a_reused_record", || {
        // A thread that is no more has had the record.
        std::thread::spawn(|| drop(Owner::register().unwrap()))
            .join()
            .unwrap();
        let lock = Lock::new(Slot::new(0));
        with_a_running_owner(&lock, || assert_is_seen_running(&lock));
    });
}

/// The CPU that a thread notes is believed only until the thread is switched again.
#[test]
fn a_last_cpu_that_is_over() {
    alone("descriptors::a_last_cpu_that_is_over", || {
        let lock = Lock::new(Slot::new(0));
        with_an_owner_that_came(&lock, 0, || assert_is_seen_running(&lock));
    });
}

pub(crate) fn numbers_of_tasks() -> Vec<RawFd> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir("/proc/self/fd").unwrap() {
        let entry = entry.unwrap();
        let to = std::fs::read_link(entry.path()).unwrap_or_default();
        let to = to.to_string_lossy().into_owned();
        if to.contains("/task/") {
            found.push(entry.file_name().to_string_lossy().parse().unwrap());
        }
    }
    found
}

/// A new hazard: the program closed the files, as daemons do. The numbers are now those of a
/// thread that sleeps.
#[test]
fn files_that_others_closed() {
    alone("descriptors::files_that_others_closed", || {
        let lock = Lock::new(Slot::new(0));
        let (tell, told) = mpsc::channel();
        let (end, ended) = mpsc::channel::<()>();
        let sleeper = std::thread::spawn(move || {
            tell.send(tid()).unwrap();
            let _ = ended.recv();
        });
        let of = told.recv().unwrap();
        with_a_running_owner(&lock, || {
            assert_is_seen_running(&lock);
            let numbers = numbers_of_tasks();
            assert_eq!(numbers.len(), 3);
            for number in numbers {
                let link = std::fs::read_link(format!("/proc/self/fd/{number}")).unwrap();
                let name = link.file_name().unwrap().to_string_lossy().into_owned();
                let file = std::fs::File::open(format!("/proc/self/task/{of}/{name}")).unwrap();
                // SAFETY: takes the number away from rlock, which is what is tested.
                unsafe { libc::dup2(file.as_raw_fd(), number) };
            }
            // Not one success, whatever else the machine does: nothing is believed.
            for _ in 0..200 {
                assert_eq!(lock.cancel(Cancel::Try), Err(Busy::Running));
            }
        });
        drop(end);
        sleeper.join().unwrap();
    });
}

/// The same with the files of a thread that is no more: ESRCH is no proof then.
#[test]
fn files_of_the_dead() {
    alone("descriptors::files_of_the_dead", || {
        let lock = Lock::new(Slot::new(0));
        let dead: Vec<std::fs::File> = std::thread::spawn(|| {
            ["stat", "syscall", "schedstat"]
                .iter()
                .map(|name| {
                    std::fs::File::open(format!("/proc/self/task/{}/{name}", tid())).unwrap()
                })
                .collect()
        })
        .join()
        .unwrap();
        with_a_running_owner(&lock, || {
            for (number, file) in numbers_of_rlock(&dead).into_iter().zip(&dead) {
                // SAFETY: takes the number away from rlock, which is what is tested.
                unsafe { libc::dup2(file.as_raw_fd(), number) };
            }
            for _ in 0..200 {
                assert_eq!(lock.cancel(Cancel::Try), Err(Busy::Running));
            }
        });
    });
}

/// The descriptors of rlock: those that are not `others`.
fn numbers_of_rlock(others: &[std::fs::File]) -> Vec<RawFd> {
    let mut numbers = numbers_of_tasks();
    numbers.retain(|number| others.iter().all(|other| other.as_raw_fd() != *number));
    assert_eq!(numbers.len(), 3);
    numbers
}

/// The program closed a descriptor of rlock's, and another part of it got the number. The number
/// stays that part's when the record is used again.
#[test]
fn a_number_that_is_anothers() {
    alone("descriptors::a_number_that_is_anothers", || {
        std::thread::spawn(|| drop(Owner::register().unwrap()))
            .join()
            .unwrap();
        let mine = std::fs::File::open("/dev/null").unwrap();
        let numbers = numbers_of_rlock(&[]);
        for number in &numbers {
            // SAFETY: takes the number away from rlock, which is what is tested.
            unsafe { libc::dup2(mine.as_raw_fd(), *number) };
        }
        let owner = Owner::register().unwrap();
        for number in &numbers {
            let to = std::fs::read_link(format!("/proc/self/fd/{number}")).unwrap();
            assert_eq!(to.to_string_lossy(), "/dev/null");
        }
        let lock = Lock::new(Slot::new(0));
        owner.acquire(&lock).unwrap().add(|slot| slot, 1).unwrap();
    });
}

/// Without descriptors to be had, a thread registers all the same, and is cancelled by a
/// barrier. Nothing is believed of it beside.
#[test]
fn a_thread_without_files_is_cancelled_by_a_barrier() {
    alone(
        "descriptors::a_thread_without_files_is_cancelled_by_a_barrier",
        || {
            rlock::capabilities().unwrap();
            let lock = Lock::new(Slot::new(0));
            let limit = libc::rlimit {
                rlim_cur: 0,
                rlim_max: 4096,
            };
            // SAFETY: reads the limit alone.
            unsafe { assert_eq!(libc::setrlimit(libc::RLIMIT_NOFILE, &limit), 0) };
            let (tell, told) = mpsc::channel();
            let (end, ended) = mpsc::channel::<()>();
            std::thread::scope(|scope| {
                let lock = &lock;
                scope.spawn(move || {
                    let owner = Owner::register().unwrap();
                    owner.acquire(lock).unwrap().add(|slot| slot, 1).unwrap();
                    tell.send(()).unwrap();
                    let _ = ended.recv();
                    // Once more, and it stands in a section.
                    owner.acquire(lock).map(drop).unwrap();
                    let flag = &rlock::testing::own().section;
                    flag.store(rlock::testing::word(lock), Ordering::SeqCst);
                    tell.send(()).unwrap();
                    let _ = ended.recv();
                    flag.store(0, Ordering::SeqCst);
                });
                // Also if this panics.
                let end = end;
                told.recv().unwrap();
                lock.cancel(Cancel::Try).unwrap();
                end.send(()).unwrap();
                told.recv().unwrap();
                assert_eq!(lock.cancel(Cancel::Try), Err(Busy::InSection));
                drop(end);
            });
        },
    );
}

/// Hole 15: poll is never restarted; a sleeping owner is cancelled without a signal.
#[test]
fn a_sleeper_is_not_woken() {
    alone("descriptors::a_sleeper_is_not_woken", || {
        let lock = Lock::new(Slot::new(0));
        let (tell, told) = mpsc::channel();
        std::thread::scope(|scope| {
            let lock = &lock;
            let sleeper = scope.spawn(move || {
                let owner = Owner::register().unwrap();
                owner.acquire(lock).unwrap().add(|slot| slot, 1).unwrap();
                tell.send(tid()).unwrap();
                // SAFETY: no descriptors.
                unsafe { libc::poll(std::ptr::null_mut(), 0, 1000) }
            });
            let syscall = format!("/proc/self/task/{}/syscall", told.recv().unwrap());
            let in_poll = format!("{} ", libc::SYS_poll);
            while !std::fs::read_to_string(&syscall)
                .unwrap()
                .starts_with(&in_poll)
            {
                std::thread::yield_now();
            }
            let soon = Instant::now() + Duration::from_millis(100);
            lock.cancel(Cancel::Until(soon)).unwrap();
            lock.cancel(Cancel::Strict(soon)).unwrap();
            // 0: the time was over; -1: interrupted.
            assert_eq!(sleeper.join().unwrap(), 0);
        });
    });
}
