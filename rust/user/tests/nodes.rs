// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! No node is left. Alone in its process, whose nodes it takes.

mod asleep;
mod within;

use std::{
    collections::BTreeSet,
    sync::atomic::{AtomicU32, Ordering::SeqCst},
    thread,
};

use self::{
    asleep::{sleeps, world},
    within::within,
};
use handover_locks::Nodes;
use handover_user::{Free, Mcs, Park, RawLock};

#[test]
fn without_a_node() {
    within(asleep_without_a_node);
}

/// With no node left a waiter sleeps until the queue is empty.
fn asleep_without_a_node() {
    let lock: Mcs<Park> = Free::FREE;
    let token = lock.lock(world());
    let mut nodes: Vec<u32> = std::iter::from_fn(|| world().take()).collect();
    assert!(nodes.len() >= 1024, "{} nodes", nodes.len());
    let began = AtomicU32::new(0);
    thread::scope(|scope| {
        let (lock, began) = (&lock, &began);
        let waiter = scope.spawn(move || {
            // SAFETY: It has no arguments.
            began.store(unsafe { libc::gettid() } as u32, SeqCst);
            let token = lock.lock(world());
            lock.unlock(world(), token);
        });
        while began.load(SeqCst) == 0 || !sleeps(began.load(SeqCst)) {
            thread::yield_now();
        }
        lock.unlock(world(), token);
        waiter.join().expect("it entered");
    });
    // The token's own is free again.
    nodes.extend(world().take());
    let distinct: BTreeSet<u32> = nodes.iter().copied().collect();
    assert_eq!(distinct.len(), nodes.len());
    nodes.into_iter().for_each(|node| world().put(node));
}
