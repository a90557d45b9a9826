// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Queue locks: nodes, and what happens where there is none.

use std::cell::Cell;

use handover_locks::{Clh, Make, Mcs, Node, Nodes as _, Pool, Qspin, RawLock};

use super::{
    process,
    scripted::{Script, Scripted, Word, NODES},
};

/// A thread without a node waits for the lock to be free, and enters then. It leaves no node in use.
fn without_a_node<L: RawLock<Scripted> + Make<Word> + 'static>() {
    let script = Script::new();
    let world: &Scripted = Box::leak(Box::new(Scripted::new(script)));
    let lock: &L = Box::leak(Box::new(L::make(0, |value| Word::new(value, script))));
    let owner = lock.lock(world);
    let held: Vec<u32> = std::iter::from_fn(|| world.take()).collect();
    let looks: &Cell<u32> = Box::leak(Box::default());
    script.then(move || {
        assert!(lock.is_locked(), "owned, with a waiter");
        looks.set(1);
    });
    script.then(move || {
        looks.set(2);
        lock.unlock(world, owner);
    });
    let token = lock.lock(world);
    // It was made to wait for each step, the second of which is the unlock.
    assert_eq!(looks.get(), 2);
    assert!(lock.is_locked());
    lock.unlock(world, token);
    assert!(!lock.is_locked());
    held.into_iter().for_each(|node| world.put(node));
    assert_eq!(world.nodes_in_use(), 0);
}

#[test]
fn mcs_without_a_node() {
    without_a_node::<Mcs<Word>>();
}

#[test]
fn clh_without_a_node() {
    without_a_node::<Clh<Word>>();
}

#[test]
fn qspin_without_a_node() {
    without_a_node::<Qspin<Word>>();
}

/// `try_lock` takes no node of the world's.
fn try_lock_without_a_node<L: RawLock<Scripted> + Make<Word>>() {
    let script = Script::new();
    let world = Scripted::new(script);
    let lock = L::make(0, |value| Word::new(value, script));
    let held = std::iter::from_fn(|| world.take()).count();
    assert_eq!(held, NODES as usize);
    for _ in 0..2 {
        let token = lock.try_lock(&world).expect("a free lock");
        lock.unlock(&world, token);
    }
}

#[test]
fn mcs_try_lock_without_a_node() {
    try_lock_without_a_node::<Mcs<Word>>();
}

#[test]
fn clh_try_lock_without_a_node() {
    try_lock_without_a_node::<Clh<Word>>();
}

#[test]
fn qspin_try_lock_without_a_node() {
    try_lock_without_a_node::<Qspin<Word>>();
}

/// The first thread that waits for a qspinlock asks for no node. It may also find the lock free
/// again.
#[test]
fn qspin_first_waiter_needs_no_node() {
    for freed in [false, true] {
        let script = Script::new();
        let world: &Scripted = Box::leak(Box::new(Scripted::new(script)));
        let lock: &Qspin<Word> = Box::leak(Box::new(Qspin::new(Word::new(0, script))));
        let owner = lock.lock(world);
        if freed {
            // Before its step on a free lock comes nothing, before that to say that it waits the unlock.
            script.before_cmpxchg(|| ());
            script.before_cmpxchg(move || lock.unlock(world, owner));
        } else {
            script.then(move || lock.unlock(world, owner));
        }
        let token = lock.lock(world);
        assert_eq!(script.takes.get(), 0, "freed before it waits: {freed}");
        lock.unlock(world, token);
        assert!(!RawLock::<Scripted>::is_locked(lock));
    }
}

/// A pool gives each of its nodes once, and takes them back in any order.
#[test]
fn a_pool_gives_each_node_once() {
    use process::Cell;

    fn all<const NODES: usize>() {
        let nodes = [(); NODES].map(|()| Node::new(Cell::new(0), Cell::new(0)));
        let pool = Pool::new(Cell::new(Pool::<Cell, NODES>::ALL), nodes);
        let mut taken: Vec<u32> = std::iter::from_fn(|| pool.take()).collect();
        assert!(taken.iter().copied().eq(0..NODES as u32));
        assert!((1..NODES as u32).all(|number| !std::ptr::eq(pool.node(number), pool.node(0))));
        // The even ones first, then the odd ones.
        taken.sort_unstable_by_key(|number| (number % 2, *number));
        for (before, number) in taken.iter().enumerate() {
            pool.put(*number);
            let mut free: Vec<u32> = std::iter::from_fn(|| pool.take()).collect();
            free.sort_unstable_by_key(|number| (number % 2, *number));
            assert_eq!(free, taken[..=before]);
            free.into_iter().for_each(|number| pool.put(number));
        }
    }
    all::<1>();
    all::<7>();
    all::<32>();
}

/// Others take from a pool, and give to it, between a look and its step. It still gives a node.
#[test]
fn a_pool_gives_a_node_though_it_is_overtaken() {
    let script = Script::new();
    let node = || Node::new(Word::new(99, script), Word::new(1, script));
    let pool: &Pool<Word, 2> = Box::leak(Box::new(Pool::new(
        Word::new(Pool::<Word, 2>::ALL, script),
        [node(), node()],
    )));
    script.before_cmpxchg(|| assert_eq!(pool.take(), Some(0)));
    // The other thread's own step, before which nothing comes.
    script.before_cmpxchg(|| ());
    assert_eq!(pool.take(), Some(1));
    assert_eq!((pool.take(), pool.free()), (None, 0));
    pool.put(1);
    assert_eq!(pool.free(), 1);
    script.before_cmpxchg(|| pool.put(0));
    assert_eq!(pool.take(), Some(0));
    assert_eq!(pool.free(), 1);
}
