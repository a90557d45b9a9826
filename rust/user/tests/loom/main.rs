// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Sleeping and waking under loom: `park.rs` and `barrier.rs` as they are, over a model of the kernel.
//!
//! | in the model | is |
//! |---|---|
//! | an access that is SeqCst | the access between two fences, as loom takes it for acquire and release alone |
//! | futex() | a list under a lock; it compares the word with the lock held |
//! | membarrier() | a request that each releasing thread answers at one of its places, by a full barrier |
//! | a place | before and after `store`, and each compiler fence |
//! | a thread that has ended or sleeps | has passed the barrier |
//!
//! A wake-up that is lost leaves loom without a thread to run. Loom reports a deadlock then.
//!
//! Fences around an access order more than C11's SeqCst does. Row 1 of `park.rs` is herd7's (`tests/litmus/park`).

// The code that is searched uses these names.
mod atomic;
#[path = "../../src/barrier.rs"]
mod barrier;
mod futex;
mod membarrier;
#[path = "../../src/park.rs"]
mod park;
mod shared;

use std::sync::{
    atomic::{AtomicU64, Ordering::Relaxed},
    Arc,
};

use handover_locks::Awaited;
use loom::{cell::UnsafeCell, model::Builder, thread};

use self::{atomic::AtomicU32, membarrier::Kernel};

/// Runs `scene` in every execution that loom tells apart; of at most so many preemptions, where that is given.
fn search(name: &str, preemptions: Option<usize>, scene: impl Fn() + Send + Sync + 'static) {
    let mut builder = Builder::new();
    assert!(
        builder.max_duration.is_none()
            && builder.max_permutations.is_none()
            && builder.preemption_bound.is_none(),
        "the environment bounds the search: {builder:?}"
    );
    builder.preemption_bound = preemptions;
    let executions = Arc::new(AtomicU64::new(0));
    let count = executions.clone();
    builder.check(move || {
        count.fetch_add(1, Relaxed);
        scene();
    });
    let executions = executions.load(Relaxed);
    assert!(executions > 1, "{name}: nothing was searched");
    println!("search {name}: {executions} executions");
}

/// A word, what its owner has written, and another word of the same counter.
struct Scene {
    word: AtomicU32,
    other: AtomicU32,
    data: UnsafeCell<u32>,
}

// SAFETY: `data` is accessed by whom the word names.
unsafe impl Sync for Scene {}

impl Scene {
    fn new() -> Arc<Self> {
        Arc::new(Self {
            word: AtomicU32::new(0),
            other: AtomicU32::new(0),
            data: UnsafeCell::new(0),
        })
    }

    /// The owner of turn `turn` writes, and hands over.
    fn hand_over(&self, turn: u32) {
        // SAFETY: The caller is the owner.
        self.data.with_mut(|data| unsafe { *data = turn });
        park::store(&self.word, turn);
    }

    /// Sleeps until turn `turn` is over, and looks at what its owner wrote.
    fn sleep(&self, turn: u32) {
        assert_eq!(park::sleep(&self.word, Awaited::is(turn)), turn);
        // SAFETY: The caller is the owner.
        self.data.with(|data| assert_eq!(unsafe { *data }, turn));
    }
}

/// A thread that sleeps, and one that stores; to the other word before where `stores` is 2.
fn one_sleeper(kernel: Kernel, is_asked: bool, stores: u32) {
    membarrier::begin(kernel, 1);
    if is_asked {
        barrier::register();
    }
    let scene = Scene::new();
    let releasing = {
        let scene = scene.clone();
        thread::spawn(move || {
            membarrier::run(0, || {
                if stores == 2 {
                    park::store(&scene.other, 1);
                }
                scene.hand_over(1);
            });
        })
    };
    scene.sleep(1);
    releasing.join().unwrap();
    let counted = shared::sleepers(&scene.word).load(atomic::Ordering::Relaxed);
    assert_eq!(counted, 0, "a sleeper counts itself out");
}

macro_rules! searches {
    ($($name:ident: $kernel:ident, $is_asked:literal, $stores:literal;)*) => { $(
        #[test]
        fn $name() {
            search(stringify!($name), None, || one_sleeper(Kernel::$kernel, $is_asked, $stores));
        }
    )* };
}

searches! {
    registered: Grants, true, 1;
    registered_two_words: Grants, true, 2;
    // The releasing thread may ask in its first store.
    not_asked: Grants, false, 1;
    not_asked_two_words: Grants, false, 2;
    refused: Refuses, true, 1;
    refused_when_asked: Refuses, false, 2;
    refused_later: RefusesLater, true, 1;
}

/// Two waiters in a row: the first one hands over to the second.
#[test]
fn queue() {
    search("queue", Some(3), || {
        membarrier::begin(Kernel::Grants, 2);
        barrier::register();
        let scene = Scene::new();
        let threads = [1, 2].map(|turn| {
            let scene = scene.clone();
            thread::spawn(move || {
                membarrier::run(turn as usize - 1, || {
                    if turn > 1 {
                        scene.sleep(turn - 1);
                    }
                    scene.hand_over(turn);
                });
            })
        });
        scene.sleep(2);
        threads
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    });
}
