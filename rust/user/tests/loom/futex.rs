// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The kernel's queue of sleepers.

use core::time::Duration;

use loom::{
    sync::{
        atomic::{fence, Ordering::*},
        Condvar, Mutex,
    },
    thread,
};

use crate::{atomic::AtomicU32, membarrier};

/// The bits of each thread that sleeps at a word, with the word's address and a number of the sleep.
struct Queue {
    asleep: Vec<(*const AtomicU32, u32, u64)>,
    sleeps: u64,
}

// SAFETY: The addresses are compared alone.
unsafe impl Send for Queue {}

loom::lazy_static! {
    static ref QUEUE: Mutex<Queue> = Mutex::new(Queue { asleep: Vec::new(), sleeps: 0 });
    static ref WOKEN: Condvar = Condvar::new();
}

/// The kernel compares under its lock. It has a full barrier before that, as `wake` has.
pub(crate) fn wait(word: &AtomicU32, value: u32, bits: u32) {
    fence(SeqCst);
    let mut queue = QUEUE.lock().unwrap();
    if word.load(Relaxed) != value {
        return;
    }
    queue.sleeps += 1;
    let sleep = queue.sleeps;
    queue.asleep.push((word, bits, sleep));
    membarrier::off();
    while queue.asleep.iter().any(|&(_, _, number)| number == sleep) {
        queue = WOKEN.wait(queue).unwrap();
    }
    drop(queue);
    membarrier::on();
}

/// The time is over at some moment.
pub(crate) fn wait_at_most(_: &AtomicU32, _: u32, _: Duration) {
    assert!(
        membarrier::refuses_later(),
        "a sleeper that has a barrier, or needs none, sleeps for a time alone"
    );
    thread::yield_now();
}

pub(crate) fn wake(word: *const AtomicU32, bits: u32) {
    fence(SeqCst);
    let mut queue = QUEUE.lock().unwrap();
    queue
        .asleep
        .retain(|&(address, awaited, _)| address != word || awaited & bits == 0);
    drop(queue);
    WOKEN.notify_all();
}
