// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Stage, then commit: memory that is no atomic, published by one committing store.

use std::cell::UnsafeCell;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rlock::{Cancel, Lock, Owner, Slot};

/// A link of a list: written once, before it is published, and read afterwards.
#[derive(Default)]
struct Link(UnsafeCell<[u64; 4]>);

// SAFETY: its thread writes it before it publishes it; threads that found it published read.
unsafe impl Sync for Link {}

const LINKS: usize = 1 << 16;
const THREADS: usize = 4;

/// What a link holds that has `number`, and `before` as the one before it.
fn link(number: u64, before: u64) -> [u64; 4] {
    [number, before, number ^ before, !number]
}

/// Each thread prepends links of its own; each also reads what others prepended. In the
/// end the list has every link whose commit succeeded, and no other.
#[test]
fn threads_that_stage() {
    let links: Vec<Link> = (0..=LINKS * THREADS).map(|_| Link::default()).collect();
    // The number of the list's first; 0: none.
    let lock = Lock::new(Slot::new(0));
    let committed: Vec<AtomicBool> = links.iter().map(|_| AtomicBool::new(false)).collect();
    let (commits, refused) = (AtomicU64::new(0), AtomicU64::new(0));
    let set = crate::cpus(2);
    rlock::capabilities().unwrap();
    let until = Instant::now() + crate::time();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (links, lock, committed) = (&links, &lock, &committed);
            let (commits, refused, set) = (&commits, &refused, &set);
            scope.spawn(move || {
                rustix::thread::sched_setaffinity(None, set).unwrap();
                let owner = Owner::register().unwrap();
                let mut late = crate::late::Late::default();
                let mine = 1 + thread * LINKS;
                let mut next = mine;
                while next < mine + LINKS && Instant::now() < until {
                    let mode = Cancel::within(Duration::from_millis(1));
                    let Ok(mut token) = owner.acquire_by(lock, mode) else {
                        continue;
                    };
                    while next < mine + LINKS {
                        late.store();
                        let staged = token.stage(
                            |slot| slot,
                            |first| {
                                // SAFETY: not published, and this thread's own.
                                unsafe { *links[next].0.get() = link(next as u64, first) };
                                next as u64
                            },
                        );
                        if staged.is_err() {
                            refused.fetch_add(1, Ordering::Relaxed);
                            break;
                        }
                        committed[next].store(true, Ordering::Relaxed);
                        commits.fetch_add(1, Ordering::Relaxed);
                        next += 1;
                        read(links, lock.load());
                    }
                    read(links, lock.load());
                }
            });
        }
    });
    let mut at = lock.load();
    let mut length = 0;
    while at != 0 {
        assert!(
            committed[at as usize].load(Ordering::Relaxed),
            "{at} was refused"
        );
        at = read(&links, at);
        length += 1;
    }
    let commits = commits.into_inner();
    println!("{commits} staged, {} refused", refused.into_inner());
    assert_eq!(length, commits);
    assert!(commits > 0);
}

/// The one before `number`, which was found in the slot.
fn read(links: &[Link], number: u64) -> u64 {
    if number == 0 {
        return 0;
    }
    // SAFETY: published.
    let found = unsafe { *links[number as usize].0.get() };
    assert_eq!(found, link(number, found[1]));
    found[1]
}
