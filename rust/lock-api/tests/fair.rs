// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Who waits enters before who comes later. That is a promise here.

use std::{
    fs,
    sync::{
        atomic::{AtomicI32, AtomicUsize, Ordering::SeqCst},
        mpsc,
    },
    thread,
    time::Duration,
};

use handover_lock_api::{ClhMutex, McsMutex, OneWordTwaMutex, TicketMutex, TwaMutex};
use lock_api::{Mutex, RawMutex};

const THREADS: usize = 8;
const ROUNDS: usize = 50;

/// What `work` returns, within twenty seconds.
fn within<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || tell.send(work()));
    told.recv_timeout(Duration::from_secs(20))
        .expect("no thread waits for ever, and none panics")
}

/// Until the thread with this id sleeps: in a lock, since it does nothing else that sleeps.
fn until_it_sleeps(id: &AtomicI32) {
    loop {
        let id = id.load(SeqCst);
        let stat = fs::read_to_string(format!("/proc/self/task/{id}/stat")).unwrap_or_default();
        if id != 0
            && stat
                .rsplit(") ")
                .next()
                .is_some_and(|rest| rest.starts_with('S'))
        {
            return;
        }
        thread::sleep(Duration::from_micros(50));
    }
}

fn thread_id() -> i32 {
    let link = fs::read_link("/proc/thread-self").expect("/proc is there");
    link.file_name()
        .and_then(|name| name.to_str()?.parse().ok())
        .expect("a number")
}

/// Threads queue up one after another behind an owner, who stays for `stay` more: the order in which they enter.
fn order<R: RawMutex + Sync>(mutex: &Mutex<R, Vec<usize>>, stay: Duration) -> Vec<usize> {
    thread::scope(|scope| {
        let held = mutex.lock();
        for number in 0..THREADS {
            let id = &*Box::leak(Box::new(AtomicI32::new(0)));
            scope.spawn(move || {
                id.store(thread_id(), SeqCst);
                mutex.lock().push(number);
            });
            until_it_sleeps(id);
        }
        thread::sleep(stay);
        drop(held);
    });
    mutex.lock().split_off(0)
}

/// An owner that releases and acquires again at once, while another thread waits: how often the other came first.
fn waiter_first<R: RawMutex + Sync>(mutex: &Mutex<R, Vec<usize>>) -> usize {
    let first = AtomicUsize::new(0);
    for _ in 0..ROUNDS {
        let id = AtomicI32::new(0);
        thread::scope(|scope| {
            let held = mutex.lock();
            scope.spawn(|| {
                id.store(thread_id(), SeqCst);
                mutex.lock().push(1);
            });
            until_it_sleeps(&id);
            drop(held);
            first.fetch_add(mutex.lock().len(), SeqCst);
        });
        mutex.lock().clear();
    }
    first.into_inner()
}

macro_rules! fair {
    ($($name:ident $mutex:ident;)*) => { $(
        mod $name {
            use super::*;

            static MUTEX: $mutex<Vec<usize>> = $mutex::new(Vec::new());

            #[test]
            fn threads_enter_as_they_came() {
                // Threads that nap in turns enter as they came, unless the release comes at another time.
                for stay in (0..3000).step_by(300).map(Duration::from_micros) {
                    assert_eq!(within(move || order(&MUTEX, stay)), Vec::from_iter(0..THREADS));
                }
            }

            #[test]
            fn who_waits_enters_before_who_releases() {
                static MUTEX: $mutex<Vec<usize>> = $mutex::new(Vec::new());
                assert_eq!(within(|| waiter_first(&MUTEX)), ROUNDS);
            }
        }
    )* };
}

fair! {
    ticket TicketMutex;
    twa TwaMutex;
    one_word_twa OneWordTwaMutex;
    mcs McsMutex;
    clh ClhMutex;
}

/// The control: parking_lot lets who releases enter again before who waits.
#[test]
fn parking_lot_is_seen_to_be_unfair() {
    static MUTEX: parking_lot::Mutex<Vec<usize>> = parking_lot::Mutex::new(Vec::new());
    assert!(within(|| waiter_first(&MUTEX)) < ROUNDS);
}
