//! What a user sees, without contention.

use rlock::{Cancel, Lock, Owner, Revoked, Slot};
use std::time::Duration;

#[test]
fn a_token_writes() {
    let lock = Lock::new([Slot::new(1), Slot::new(2)]);
    let owner = Owner::register().unwrap();
    let mut token = owner.acquire(&lock).unwrap();
    assert_eq!(token.store(&lock[0], 7), Ok(()));
    assert_eq!(token.add(&lock[0], u64::MAX), Ok(()));
    assert_eq!(lock[0].load(), 6);
    assert_eq!(token.compare_and_store(&lock[1], 3, 9), Ok(false));
    assert_eq!(lock[1].load(), 2);
    assert_eq!(token.compare_and_store(&lock[1], 2, 9), Ok(true));
    assert_eq!(lock[1].load(), 9);
    assert_eq!(token.stage(&lock[1], |value| value * 10), Ok(()));
    assert_eq!(lock[1].load(), 90);
}

#[test]
fn a_sleeping_owner_is_cancelled() {
    let lock = Lock::new(Slot::new(0));
    let (tell, told) = std::sync::mpsc::channel();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let lock = &lock;
        let sleeper = scope.spawn(move || {
            let owner = Owner::register().unwrap();
            let mut token = owner.acquire(lock).unwrap();
            token.store(lock, 1).unwrap();
            tell.send(()).unwrap();
            ended.recv().unwrap();
            // It was taken meanwhile, and what it commits is lost on nobody.
            assert_eq!(token.store(lock, 2), Err(Revoked));
            assert_eq!(token.add(lock, 2), Err(Revoked));
            assert_eq!(token.compare_and_store(lock, 5, 2), Err(Revoked));
            let mut token = owner.acquire(lock).unwrap();
            token.add(lock, 1).unwrap();
        });
        told.recv().unwrap();
        let owner = Owner::register().unwrap();
        let soon = Cancel::within(Duration::from_secs(60));
        let mut token = owner.acquire_by(lock, soon).unwrap();
        token.store(lock, 5).unwrap();
        drop(token);
        owner.release_all();
        end.send(()).unwrap();
        sleeper.join().unwrap();
    });
    assert_eq!(lock.load(), 6);
}

#[test]
fn a_strict_cancel_ends_a_running_owner() {
    let lock = Lock::new(Slot::new(0));
    std::thread::scope(|scope| {
        let lock = &lock;
        let runner = scope.spawn(move || {
            let owner = Owner::register().unwrap();
            let mut count = 0_u64;
            let mut revoked = 0;
            while revoked < 1000 {
                let strict = Cancel::strictly_within(Duration::from_secs(60));
                let mut token = owner.acquire_by(lock, strict).unwrap();
                while token.add(lock, 1).is_ok() {
                    count += 1;
                }
                revoked += 1;
            }
            count
        });
        while !runner.is_finished() {
            lock.cancel(Cancel::strictly_within(Duration::from_secs(60)))
                .unwrap();
        }
        assert_eq!(lock.load(), runner.join().unwrap());
    });
}

#[test]
fn a_generation_ends_after_so_many_commits() {
    let lock = Lock::new(Slot::new(0));
    let owner = Owner::register().unwrap();
    let mut token = owner.acquire(&lock).unwrap();
    let mut commits = 0;
    while token.add(&lock, 1).is_ok() {
        commits += 1;
    }
    assert_eq!(commits, 4096);
    // What was refused was not written.
    assert_eq!(lock.load(), commits);
    drop(token);
    // Also if each commit acquires for itself.
    for _ in 0..4096 {
        owner.acquire(&lock).unwrap().add(&lock, 1).unwrap();
    }
    let mut token = owner.acquire(&lock).unwrap();
    assert_eq!(token.add(&lock, 1), Err(Revoked));
}

/// Calls `body` in a thread; returns when the kernel has no such thread any more, which is
/// later than when it is joined.
fn in_a_thread_that_ends(body: impl FnOnce() + Send) {
    let path = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            body();
            let tid = rustix::thread::gettid().as_raw_nonzero();
            format!("/proc/self/task/{tid}")
        });
        thread.join().unwrap()
    });
    while std::fs::exists(&path).unwrap() {
        std::thread::yield_now();
    }
}

#[test]
fn an_owner_that_is_gone_owns_nothing() {
    let lock = Lock::new(Slot::new(0));
    in_a_thread_that_ends(|| {
        let owner = Owner::register().unwrap();
        owner.acquire(&lock).unwrap().add(&lock, 1).unwrap();
    });
    let owner = Owner::register().unwrap();
    owner.acquire(&lock).unwrap().add(&lock, 1).unwrap();
    assert_eq!(lock.load(), 2);
}

#[test]
fn a_thread_that_died_with_its_owner_owns_nothing() {
    let lock = Lock::new(Slot::new(0));
    in_a_thread_that_ends(|| {
        let owner = Owner::register().unwrap();
        owner.acquire(&lock).unwrap().add(&lock, 1).unwrap();
        std::mem::forget(owner);
    });
    let owner = Owner::register().unwrap();
    owner.acquire(&lock).unwrap().add(&lock, 1).unwrap();
    assert_eq!(lock.load(), 2);
}

#[test]
fn this_machine_gives_every_proof() {
    let found = rlock::capabilities().unwrap();
    assert_eq!(found.same_cpu, Ok(()));
    assert_eq!(found.not_runnable, Ok(()));
    assert_eq!(found.switches, Ok(()));
    assert_eq!(found.handler, Ok(()));
    assert_eq!(found.membarrier, Ok(()));
}
