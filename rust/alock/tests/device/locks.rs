// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The guards, on a device. Two nodes; key 0 is node 0's, key 1 node 1's, and so on in turns.

use std::panic::{catch_unwind, AssertUnwindSafe};
use std::sync::mpsc::channel;
use std::thread;
use std::time::{Duration, Instant};

use alock::cluster::{Error, Guard, Kind, Settings, Thread};

use crate::{cluster, comes, says, Member, PATIENCE};

const HELD: u16 = 3;

/// Two nodes of two threads and `locks` locks.
fn two(locks: u32) -> Vec<Member> {
    let settings = Settings {
        locks,
        threads: 2,
        held: HELD,
        words: 9,
        ..Settings::default()
    };
    cluster(2, &settings)
}

/// Threads 0 and 1 of node 0, then of node 1.
fn threads(members: &[Member]) -> [&Thread; 4] {
    let all: Vec<_> = members.iter().flat_map(|it| &it.threads).collect();
    all.try_into().ok().expect("four threads")
}

fn free(thread: &Thread, key: u64) -> bool {
    let guard = thread.try_lock(key).unwrap();
    guard.map(|guard| guard.unlock().unwrap()).is_some()
}

#[test]
fn who_tries_gets_a_free_lock_and_no_other() {
    let members = two(1);
    let all = threads(&members);
    for key in [0, 1] {
        for (holder, held_by) in all.iter().enumerate() {
            let guard = held_by.lock(key).unwrap();
            for (number, thread) in all.iter().enumerate() {
                assert!(!free(thread, key), "{number} has {key} beside {holder}");
            }
            guard.unlock().unwrap();
            for thread in all {
                assert!(free(thread, key));
            }
        }
    }
}

/// A thread of the other node is first of its cohort. It gives up at the deadline, leaves nothing
/// behind, and gets the lock when it is free.
#[test]
fn a_leader_gives_up_at_the_deadline() {
    let members = two(1);
    let [near, _, far, also_far] = threads(&members);
    for (holder, waiter) in [(near, far), (far, near)] {
        for key in [0, 1] {
            let guard = holder.lock(key).unwrap();
            for patience in [Duration::ZERO, Duration::from_millis(50)] {
                let deadline = Instant::now() + patience;
                assert!(waiter.lock_until(key, deadline).unwrap().is_none());
                assert!(Instant::now() >= deadline);
            }
            guard.unlock().unwrap();
            assert!(free(holder, key) && free(waiter, key) && free(also_far, key));
            let deadline = Instant::now() + PATIENCE;
            let guard = waiter.lock_until(key, deadline).unwrap();
            assert!(guard.is_some() && Instant::now() < deadline);
        }
    }
}

/// Two of one cohort and the other: one after the other, and each its turn.
#[test]
fn who_asked_gets_it_in_turn() {
    let members = two(1);
    let [near, _, far, also_far] = threads(&members);
    for key in [0, 1] {
        let guard = near.lock(key).unwrap();
        let (mut first, mut second) = (far.post(key), also_far.post(key));
        for _ in 0..1000 {
            assert!(first.check().unwrap().is_none());
            assert!(second.check().unwrap().is_none());
        }
        guard.unlock().unwrap();
        // The network decides which request is behind the other.
        let (guard, mut other) = loop {
            if let Some(guard) = first.check().unwrap() {
                break (guard, second);
            }
            if let Some(guard) = second.check().unwrap() {
                break (guard, first);
            }
        };
        assert!(other.check().unwrap().is_none() && !free(near, key));
        guard.unlock().unwrap();
        drop(comes(&mut other));
        assert!(free(near, key));
    }
}

#[test]
fn several_locks_at_once_and_no_more_than_was_said() {
    let members = two(3);
    let [near, _, far, _] = threads(&members);
    for keys in [[0, 1, 2], [0, 3, 5], [5, 4, 3]] {
        let mut guards: Vec<Guard<'_>> = keys.iter().map(|&key| near.lock(key).unwrap()).collect();
        let error = near.lock(if keys[0] == 0 { 4 } else { 0 }).unwrap_err();
        let said = "the number of locks that a thread holds or waits for is 4, of 0 to 3";
        assert_eq!(says(&error), said);
        for (value, guard) in (1..).zip(&mut guards) {
            // Its own data, of every lock: the last word, too.
            guard.store(8, value).unwrap();
        }
        for key in 0..6 {
            assert_eq!(free(far, key), !keys.contains(&key), "{key}");
        }
        for (value, guard) in (1..).zip(&guards) {
            assert_eq!(guard.load(8).unwrap(), value);
        }
        // In another order than they were taken.
        drop(guards.remove(1));
        assert!(free(far, keys[1]) && !free(far, keys[0]) && !free(far, keys[2]));
        drop(guards);
        assert!((0..6).all(|key| free(far, key)));
    }
}

/// `store` returns when its verb is complete. Verbs do not promise that the CPU sees the word then,
/// and a card may fail this. Soft-RoCE stores the word before it answers, so its CPU can tell
/// whether the call has waited. After `unlock` every device has the last word in its memory.
#[test]
fn a_remote_store_waits_for_its_verb() {
    let members = two(1);
    let (thread, node) = (&members[0].threads[0], &members[1].node);
    let mut guard = thread.lock(1).unwrap();
    for value in 1..=1000 {
        guard.store(0, value).unwrap();
        assert_eq!(node.peek(0, 0), Some(value));
    }
    guard.store(0, 1001).unwrap();
    guard.unlock().unwrap();
    assert_eq!(node.peek(0, 0), Some(1001));
}

/// Two requests, a guard and what is done under it, of one thread at the same time. Each verb's
/// result comes to the request or guard that it is for.
#[test]
fn requests_of_one_thread_do_not_mix() {
    let members = two(3);
    let [near, _, far, _] = threads(&members);
    let (one, other) = (far.lock(3).unwrap(), far.lock(4).unwrap());
    let (mut first, mut second) = (near.post(3), near.post(4));
    let mut mine = near.lock(5).unwrap();
    for value in 0..100 {
        assert!(first.check().unwrap().is_none());
        assert!(second.check().unwrap().is_none());
        mine.store(0, value).unwrap();
        assert_eq!(mine.load(0).unwrap(), value);
    }
    other.unlock().unwrap();
    let second = comes(&mut second);
    assert!(first.check().unwrap().is_none());
    one.unlock().unwrap();
    let first = comes(&mut first);
    drop((first, second, mine));
    assert!((0..6).all(|key| free(far, key)));
}

/// Checked or not, a request is in the queue, and its predecessor releases: no thread waits for a
/// check. (If one did, this would not end.)
#[test]
fn who_asked_and_does_not_check_stops_no_unlock() {
    let members = two(1);
    let [near, also_near, far, also_far] = threads(&members);
    for (key, holder, asks) in [
        (0, near, also_near),
        (1, near, also_near),
        (0, far, also_far),
        (1, far, also_far),
    ] {
        for checks in 0..3 {
            let guard = holder.lock(key).unwrap();
            let mut request = asks.post(key);
            for _ in 0..checks {
                assert!(request.check().unwrap().is_none());
            }
            guard.unlock().unwrap();
            // It was behind, so the lock is not free.
            assert!(!free(holder, key) && !request.is_over());
            comes(&mut request).unlock().unwrap();
            assert!(request.is_over() && free(holder, key));
        }
        // No thread was before it.
        let request = asks.post(key);
        assert!(!free(holder, key));
        drop(request);
        assert!(free(holder, key));
    }
}

/// It would wait for itself: in `lock`, or when the request is dropped before the guard.
#[test]
fn a_thread_that_would_wait_for_itself_is_told() {
    let members = two(2);
    let [near, also_near, far, _] = threads(&members);
    let refused = |thread: &Thread, key: u64| {
        let said = format!("this thread has the lock {key} already, or has asked for it");
        assert_eq!(says(&thread.lock(key).unwrap_err()), said);
        let deadline = Instant::now() + PATIENCE;
        assert_eq!(says(&thread.lock_until(key, deadline).unwrap_err()), said);
        assert_eq!(says(&thread.post(key).check().unwrap_err()), said);
        assert_eq!(says(&thread.post(key).wait().unwrap_err()), said);
        drop(thread.post(key));
        assert!(thread.try_lock(key).unwrap().is_none());
    };
    for (key, other) in [(0, 3), (3, 0)] {
        // More often than there are descriptors: what was refused has none.
        for _ in 0..2 * HELD {
            let guard = near.lock(key).unwrap();
            refused(near, key);
            // Another lock is another matter, and so is another thread.
            near.lock(other).unwrap().unlock().unwrap();
            let mut waits = also_near.post(key);
            refused(also_near, key);
            guard.unlock().unwrap();
            let guard = comes(&mut waits);
            refused(also_near, key);
            drop((guard, waits));
            near.try_lock(key).unwrap().expect("free").unlock().unwrap();
            assert!(free(near, key) && free(also_near, key) && free(far, key));
        }
    }
}

/// Each thread's descriptors are its own: two with the same ones would exclude no thread.
#[test]
fn a_nodes_threads_are_taken_once() {
    let members = two(1);
    // Both at once: two second calls would find each other.
    thread::scope(|scope| {
        for member in &members {
            let node = member.node.clone();
            scope.spawn(move || {
                let told = node.threads().err().map(|error| says(&error));
                let said = "this node's threads were taken before";
                assert_eq!(told.as_deref(), Some(said));
            });
        }
    });
    let [near, _, far, _] = threads(&members);
    assert!((0..2).all(|key| free(near, key) && free(far, key)));
}

#[test]
fn a_guard_that_is_dropped_and_one_that_a_panic_unwinds_release() {
    let members = two(1);
    let [near, also_near, far, _] = threads(&members);
    for key in [0, 1] {
        for panics in [near, far] {
            let waits = if std::ptr::eq(panics, near) {
                far
            } else {
                near
            };
            drop(panics.lock(key).unwrap());
            assert!(free(waits, key));
            // Another thread waits while it panics.
            let mut waiting = None;
            let unwound = catch_unwind(AssertUnwindSafe(|| {
                let mut guard = panics.lock(key).unwrap();
                guard.store(0, 9).unwrap();
                let waits = waiting.insert(also_near.post(key));
                assert!(waits.check().unwrap().is_none());
                panic!("in the section");
            }));
            assert!(unwound.is_err());
            let guard = comes(waiting.as_mut().expect("it was posted"));
            assert_eq!(guard.load(0).unwrap(), 9);
            drop(guard);
            assert!(free(waits, key) && free(panics, key));
        }
    }
    // And no node was lost by it.
    let [zero, one] = [&members[0].node, &members[1].node];
    thread::scope(|scope| {
        scope.spawn(|| one.rendezvous().barrier().unwrap());
        zero.rendezvous().barrier().unwrap();
    });
}

/// The panic is in a thread of the process' own, which ends by it.
#[test]
fn a_thread_that_panics_in_its_section_keeps_nobody() {
    let mut members = two(1);
    // Its end must not be that of its queue pairs, which others are connected to.
    let mut panics = members[0].threads.remove(0);
    let panics = &mut panics;
    let (tell, told) = channel();
    thread::scope(|scope| {
        let thread = scope.spawn(move || {
            let _guards = (panics.lock(0).unwrap(), panics.lock(1).unwrap());
            tell.send(()).unwrap();
            panic!("in two sections");
        });
        told.recv().unwrap();
        for other in members.iter().flat_map(|it| &it.threads) {
            drop(other.lock(0).unwrap());
            drop(other.lock(1).unwrap());
        }
        assert!(thread.join().is_err());
    });
}

#[test]
fn a_request_that_is_dropped_leaves_nothing() {
    let mut members = two(1);
    let asks = members[0].threads.remove(0);
    let asks = &mut { asks };
    let (also_near, far) = (&members[0].threads[0], &members[1].threads[0]);
    for key in [0, 1] {
        // More often than there are descriptors: never looked at, and looked at once.
        for _ in 0..2 * HELD {
            drop(asks.post(key));
            assert!(free(far, key));
            let mut request = asks.post(key);
            let guard = request.check().unwrap();
            drop((guard, request));
            assert!(free(far, key) && free(also_near, key));
        }
        // Behind others it waits for its turn.
        let guard = far.lock(key).unwrap();
        let (tell, told) = channel();
        thread::scope(|scope| {
            let asks = &mut *asks;
            scope.spawn(move || {
                let mut request = asks.post(key);
                assert!(request.check().unwrap().is_none());
                tell.send(()).unwrap();
                drop(request);
            });
            told.recv().unwrap();
            guard.unlock().unwrap();
        });
        assert!(free(far, key) && free(also_near, key));
    }
}

#[test]
fn keys_and_words_that_there_are_not_are_errors() {
    let members = two(2);
    let thread = &members[1].threads[0];
    for key in [4, 5, u64::from(u32::MAX) + 1, u64::MAX] {
        let said = format!("the key is {key}, of 0 to 3");
        assert_eq!(says(&thread.lock(key).unwrap_err()), said);
        assert_eq!(says(&thread.try_lock(key).unwrap_err()), said);
        assert_eq!(says(&thread.post(key).wait().unwrap_err()), said);
        assert!(thread.lock_until(key, Instant::now()).is_err());
    }
    for key in 0..4 {
        let mut guard = thread.lock(key).unwrap();
        let said = "the word is 9, of 0 to 8";
        assert_eq!(says(&guard.load(9).unwrap_err()), said);
        assert_eq!(
            says(&guard.store(u32::MAX, 1).unwrap_err()),
            said.replace("9,", "4294967295,")
        );
        guard.unlock().unwrap();
    }
    assert!((0..4).all(|key| free(&members[0].threads[0], key)));
}

/// What says so: they have no `try_lock`.
/// A guard that is forgotten is never released: when its thread ends, the others must not wait.
#[test]
fn a_thread_that_ends_with_a_lock_is_told_to_all() {
    let mut members = two(1);
    let holder = members[0].threads.remove(0);
    let [near, far] = [&members[0].threads[0], &members[1].threads[1]];
    std::mem::forget(holder.lock(0).unwrap());
    let mut waiting = [near.post(0), far.post(0)];
    assert!(waiting.iter_mut().all(|it| it.check().unwrap().is_none()));
    drop(holder);
    for request in waiting {
        let error = request.wait().expect_err("nobody hands over");
        let said = "node 0 is lost: a thread failed while it held or waited for a lock; no lock is granted any more";
        assert_eq!(says(&error), said);
    }
}

#[test]
fn the_baselines_cannot_be_tried() {
    for kind in [Kind::RdmaSpin, Kind::RdmaMcs] {
        let settings = Settings {
            kind,
            locks: 1,
            ..Settings::default()
        };
        let members = cluster(2, &settings);
        let thread = &members[0].threads[0];
        for key in [0, 1] {
            let error = thread.try_lock(key).unwrap_err();
            assert!(matches!(error, Error::NoTry { .. }), "{error:?}");
            assert_eq!(
                says(&error),
                format!("{kind:?} cannot be tried: only ALock can")
            );
            thread.lock(key).unwrap().unlock().unwrap();
        }
    }
}
