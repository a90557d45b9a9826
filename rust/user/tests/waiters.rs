// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Threads that wait for a signal: order, exact numbers, time limits, and waits that end by a panic.

mod within;

use std::{
    panic::{catch_unwind, AssertUnwindSafe},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    thread,
    time::{Duration, Instant},
};

use self::within::within;
use handover_user::Waiters;

const THREADS: usize = 8;
const SIGNALS: usize = 2000;

fn until(what: impl Fn() -> bool) {
    while !what() {
        thread::sleep(Duration::from_micros(50));
    }
}

/// Starts threads that wait, one after another; runs `then` with the list, and how many have woken, in their order.
fn waiting(then: impl FnOnce(&Waiters, &[AtomicUsize], &AtomicUsize) + Send + 'static) {
    within(move || {
        let (list, linked, woken) = (Waiters::new(), AtomicUsize::new(0), AtomicUsize::new(0));
        let order = [const { AtomicUsize::new(usize::MAX) }; THREADS];
        thread::scope(|scope| {
            let (list, linked, woken, order) = (&list, &linked, &woken, &order);
            for number in 0..THREADS {
                scope.spawn(move || {
                    let release = || {
                        linked.fetch_add(1, SeqCst);
                    };
                    assert!(list.wait(release, None));
                    order[woken.load(SeqCst)].store(number, SeqCst);
                    woken.fetch_add(1, SeqCst);
                });
                until(|| linked.load(SeqCst) == number + 1);
            }
            then(list, order, woken);
        });
    });
}

#[test]
fn a_signal_wakes_one_thread_that_which_waits_longest() {
    waiting(|list, order, woken| {
        for (number, woken_then) in order.iter().enumerate() {
            assert!(list.signal());
            until(|| woken.load(SeqCst) > number);
            thread::sleep(Duration::from_millis(1));
            assert_eq!(woken.load(SeqCst), number + 1);
            assert_eq!(woken_then.load(SeqCst), number);
        }
        assert!(!list.signal());
    });
}

#[test]
fn a_broadcast_wakes_all_and_says_how_many() {
    waiting(|list, _, woken| {
        assert!(list.signal());
        until(|| woken.load(SeqCst) == 1);
        // They store into `order` one at a time, or two could take one place: this test looks at the number alone.
        assert_eq!(list.broadcast(), THREADS - 1);
        until(|| woken.load(SeqCst) == THREADS);
        assert_eq!(list.broadcast(), 0);
        assert!(!list.signal());
    });
}

#[test]
fn a_wait_ends_by_its_limit_and_leaves_the_list() {
    within(|| {
        let list = Waiters::new();
        for limit in [0, 1, 20].map(Duration::from_millis) {
            let begin = Instant::now();
            assert!(!list.wait(|| (), Some(limit)));
            assert!(begin.elapsed() >= limit, "{:?}", begin.elapsed());
            assert!(!list.signal(), "nobody waits");
        }
        // A time that no clock reaches.
        assert!(list.wait(|| assert!(list.signal()), Some(Duration::MAX)));
        // The middle one, the first and the last leave; the others are woken in their order.
        let (linked, ended) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            for number in 0..5 {
                let limit = (number % 2 == 0).then_some(Duration::from_millis(50));
                let (list, linked, ended) = (&list, &linked, &ended);
                scope.spawn(move || {
                    let release = || {
                        linked.fetch_add(1, SeqCst);
                    };
                    assert_eq!(list.wait(release, limit), limit.is_none());
                    ended.fetch_add(1, SeqCst);
                });
                until(|| linked.load(SeqCst) == number + 1);
            }
            until(|| ended.load(SeqCst) == 3);
            assert_eq!(list.broadcast(), 2);
        });
    });
}

#[test]
fn each_signal_ends_one_wait() {
    within(|| {
        let (list, stop) = (Waiters::new(), AtomicBool::new(false));
        let (given, taken) = (AtomicUsize::new(0), AtomicUsize::new(0));
        thread::scope(|scope| {
            let (list, stop, given, taken) = (&list, &stop, &given, &taken);
            let waiters: Vec<_> = (0..4u64)
                .map(|number| {
                    scope.spawn(move || {
                        let mut round = number;
                        while !stop.load(SeqCst) {
                            round += 1;
                            let limit = Duration::from_micros(round * 7919 % 50);
                            taken.fetch_add(usize::from(list.wait(|| (), Some(limit))), SeqCst);
                        }
                    })
                })
                .collect();
            let signallers = [false, true].map(|all| {
                scope.spawn(move || {
                    while !stop.load(SeqCst) {
                        let woken = if all {
                            list.broadcast()
                        } else {
                            usize::from(list.signal())
                        };
                        given.fetch_add(woken, SeqCst);
                        thread::sleep(Duration::from_micros(if all { 200 } else { 20 }));
                    }
                })
            });
            until(|| given.load(SeqCst) > SIGNALS);
            stop.store(true, SeqCst);
            for thread in waiters.into_iter().chain(signallers) {
                thread.join().expect("it ends");
            }
        });
        let (given, taken) = (given.into_inner(), taken.into_inner());
        assert_eq!(given, taken);
        assert!(given > SIGNALS, "{given}");
    });
}

#[test]
fn a_release_that_panics_leaves_the_list_and_passes_its_signal_on() {
    within(|| {
        let list = Waiters::new();
        let wait = |release: &dyn Fn()| catch_unwind(AssertUnwindSafe(|| list.wait(release, None)));
        assert!(wait(&|| panic!("before a signal")).is_err());
        assert!(!list.signal(), "nobody waits");
        let linked = AtomicBool::new(false);
        thread::scope(|scope| {
            let (list, linked) = (&list, &linked);
            let unwinds = || {
                // The other one waits behind; this signal is for the first.
                let other = scope.spawn(move || list.wait(|| linked.store(true, SeqCst), None));
                until(|| linked.load(SeqCst));
                assert!(list.signal());
                assert!(!other.is_finished());
                panic!("after a signal");
            };
            assert!(wait(&unwinds).is_err());
        });
        assert!(!list.signal(), "the other one has it");
    });
}
