// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The orderings and the fence, under the C11 model. There are a local and a remote thread, the
//! real queue, Peterson's lock and CPU access. The card is an agent that acts at once, in order;
//! its compare-and-swap is a load and a store.

#[path = "../shared/mod.rs"]
mod shared;

use std::future::Future;
use std::num::NonZeroU32;
use std::task::{Context, Waker};

use loom::cell::UnsafeCell;
use loom::sync::atomic::Ordering::SeqCst;
use loom::sync::atomic::{fence, AtomicU64};
use loom::sync::{Arc, Mutex};

use alock::access::{Access, Polled};
use alock::local::{Gone, Local};
use alock::lock::{acquire, release, try_acquire};
use alock::ptr::{Descriptor, LockPtr, NodeId, Ptr, WordPtr};
use alock::remote::{Remote, Verbs};
use alock::word::{Memory, Word};

use shared::block_on;

/// The crate's word: after an RMW a fence.
#[derive(Default)]
struct Portable(AtomicU64);
alock::word_by_atomics!(Portable, |word| word.0, loom::sync::atomic, false);

/// The crate's word as on x86-64. After an RMW there is nothing but an order to the compiler. Loom
/// knows of no locked instruction, and takes that for nothing at all. Local threads among
/// themselves must do with that: then what the RMWs acquire and release is enough for them.
#[derive(Default)]
struct X86(AtomicU64);
alock::word_by_atomics!(X86, |word| word.0, loom::sync::atomic, true);

/// Node 0's memory: the lock, descriptors, and the data that it protects. (Descriptors of
/// remote threads lie here too: where they lie makes no difference to the model.)
struct Shared<W> {
    words: Vec<W>,
    data: UnsafeCell<u64>,
    /// One atomic operation of the card at a time.
    card: Mutex<()>,
    /// Whether a compare-and-swap that is complete orders the CPU's accesses too, beyond
    /// the word itself. Between the cohorts that is needed; among remote threads it is not.
    completion_is_barrier: bool,
}

const LOCK: LockPtr = LockPtr(line(0));

const fn line(number: u64) -> Ptr {
    match Ptr::new(NodeId(0), number * 64) {
        Some(ptr) => ptr,
        None => panic!(),
    }
}

impl<W: Word + Default> Shared<W> {
    fn new(descriptors: usize, completion_is_barrier: bool) -> Self {
        Self {
            words: (0..8 * (descriptors + 1)).map(|_| W::default()).collect(),
            data: UnsafeCell::new(0),
            card: Mutex::new(()),
            completion_is_barrier,
        }
    }

    /// What the lock protects: loom says if another one is inside.
    fn section(&self) {
        self.data.with_mut(|data| {
            // SAFETY: loom tells if this is not the only access.
            unsafe { *data += 1 }
        });
    }
}

impl<W: Word> Memory for Shared<W> {
    type Word = W;
    fn word(&self, offset: u64) -> &W {
        // Three words of a line are used.
        &self.words[offset as usize / 8]
    }
    fn pause(&self, _: u32) -> bool {
        loom::thread::yield_now();
        true
    }
}

struct LoomCard<'a, W>(&'a Shared<W>);

impl<W: Word> Verbs for LoomCard<'_, W> {
    type Fault = Gone;
    async fn cas(&self, at: WordPtr, old: u64, new: u64) -> Result<u64, Gone> {
        let _one = self.0.card.lock().unwrap();
        let word = self.0.word(at.offset());
        let found = word.load_acquire();
        if found == old {
            word.store_release(new);
        }
        // Complete: every thread sees it before what this thread does next.
        if self.0.completion_is_barrier {
            fence(SeqCst);
        }
        Ok(found)
    }
    async fn write(&self, to: WordPtr, value: u64) -> Result<(), Gone> {
        self.0.word(to.offset()).store_release(value);
        Ok(())
    }
    async fn read(&self, lock: LockPtr) -> Result<[u64; 3], Gone> {
        Ok([0, 1, 2].map(|i| self.0.word(lock.0.word(i).offset()).load_acquire()))
    }
    async fn write_and_read(
        &self,
        to: WordPtr,
        value: u64,
        lock: LockPtr,
    ) -> Result<[u64; 3], Gone> {
        self.write(to, value).await?;
        // One queue pair: the write is executed before the read.
        fence(SeqCst);
        self.read(lock).await
    }
    fn load(&self, at: WordPtr) -> u64 {
        self.0.own(at)
    }
    fn store(&self, at: WordPtr, value: u64, known: bool) {
        if known {
            self.0.tell(at, value);
        } else {
            self.0.prepare(at, value);
        }
    }
    fn overwritten(&self) -> Gone {
        Gone
    }
    fn is_own(&self, _: WordPtr) -> bool {
        true
    }
    async fn wait(&self, polled: Polled, turn: u32) -> Result<(), Gone> {
        // A verb was the poll; as `cluster`'s it goes on at once. To yield here would let the
        // others through first, and hide what two may do at a time.
        if polled == Polled::Tail {
            return Ok(());
        }
        // A poll, which may be another one's, ends here.
        Local::new(self.0).wait(polled, turn).await
    }
}

fn once<W: Word + Default, A: Access<Fault = Gone>>(
    shared: &Shared<W>,
    access: &A,
    mine: u64,
    budget: u32,
    tries: bool,
) -> bool {
    let (mine, budget) = (Descriptor(line(mine)), NonZeroU32::new(budget).unwrap());
    block_on(async {
        let held = if tries {
            try_acquire(access, LOCK, mine, budget).await?
        } else {
            acquire(access, LOCK, mine, budget, &mut || true).await?
        };
        let Some(held) = held else { return Ok(false) };
        shared.section();
        release(access, LOCK, mine, held).await?;
        Ok::<_, Gone>(true)
    })
    .unwrap()
}

#[derive(Clone, Copy)]
struct Given {
    remote: bool,
    rounds: usize,
    budget: u32,
    tries: bool,
}

const LOCAL: Given = Given {
    remote: false,
    rounds: 1,
    budget: 1,
    tries: false,
};
const REMOTE: Given = Given {
    remote: true,
    ..LOCAL
};

/// Every execution of it that loom runs.
fn explore(what: &str, preemptions: Option<usize>, execution: impl Fn() + Send + Sync + 'static) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = preemptions;
    builder.max_branches = 10_000;
    let executions = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let counted = executions.clone();
    builder.check(move || {
        counted.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        execution();
    });
    let executions = executions.load(std::sync::atomic::Ordering::Relaxed);
    println!("search {what}: {executions} executions");
}

/// These threads; one of them is the model's own.
fn search<W: Word + Default + Send + Sync + 'static>(
    threads: &'static [Given],
    preemptions: Option<usize>,
) {
    let what = format!("{} threads", threads.len());
    explore(&what, preemptions, move || {
        let shared = Arc::new(Shared::<W>::new(
            threads.len(),
            threads.iter().any(|it| !it.remote),
        ));
        let run = |number: usize, shared: &Shared<W>| {
            let given = threads[number];
            let mut entered = 0;
            for _ in 0..given.rounds {
                let mine = number as u64 + 1;
                entered += u64::from(if given.remote {
                    once(
                        shared,
                        &Remote::new(&LoomCard(shared)),
                        mine,
                        given.budget,
                        given.tries,
                    )
                } else {
                    once(shared, &Local::new(shared), mine, given.budget, given.tries)
                });
            }
            entered
        };
        let others: Vec<_> = (1..threads.len())
            .map(|number| {
                let shared = shared.clone();
                loom::thread::spawn(move || run(number, &shared))
            })
            .collect();
        let mut entered = run(0, &shared);
        for other in others {
            entered += other.join().unwrap();
        }
        shared.data.with(|data| {
            // SAFETY: the other threads are no more.
            assert_eq!(unsafe { *data }, entered);
        });
        let left = |cohort| shared.word(LOCK.tail(cohort).offset()).load_acquire();
        assert_eq!(left(alock::ptr::Cohort::Local), 0);
        assert_eq!(left(alock::ptr::Cohort::Remote), 0);
    });
}

#[test]
fn model_local_and_remote() {
    search::<Portable>(&[LOCAL, REMOTE], None);
}

#[test]
fn model_local_and_remote_twice() {
    search::<Portable>(&[Given { rounds: 2, ..LOCAL }, REMOTE], Some(3));
}

#[test]
fn model_two_locals() {
    search::<Portable>(&[LOCAL, LOCAL], None);
    search::<X86>(&[LOCAL, LOCAL], None);
    search::<X86>(&[Given { budget: 2, ..LOCAL }; 2], None);
}

#[test]
fn model_two_remotes() {
    search::<Portable>(&[REMOTE, REMOTE], None);
    search::<Portable>(
        &[Given {
            budget: 2,
            ..REMOTE
        }; 2],
        None,
    );
}

type Waiting = std::pin::Pin<Box<dyn Future<Output = Result<bool, Gone>>>>;

/// One acquisition as a future of its own, which can go from thread to thread. Whether it entered:
/// it gives up after so many polls that did not let it in.
fn waiting(shared: &Arc<Shared<Portable>>, remote: bool, mine: u64, polls: u32) -> Waiting {
    let shared = shared.clone();
    let (mine, budget) = (Descriptor(line(mine)), NonZeroU32::MIN);
    async fn turn<A: Access<Fault = Gone>>(
        shared: &Shared<Portable>,
        access: &A,
        mine: Descriptor,
        budget: NonZeroU32,
        mut polls: u32,
    ) -> Result<bool, Gone> {
        let mut goes_on = || {
            polls = polls.saturating_sub(1);
            polls > 0
        };
        let Some(held) = acquire(access, LOCK, mine, budget, &mut goes_on).await? else {
            return Ok(false);
        };
        shared.section();
        release(access, LOCK, mine, held).await?;
        Ok(true)
    }
    Box::pin(async move {
        if remote {
            let access = LoomCard(&shared);
            turn(&shared, &Remote::new(&access), mine, budget, polls).await
        } else {
            turn(&shared, &Local::new(&*shared), mine, budget, polls).await
        }
    })
}

/// The first holds the lock, and the second waits behind it. The third comes from the other
/// cohort, or waits already. The first hands over with a budget of 0.
///
/// Where the third comes, loom does not run its barrier before one in the first's release. Nothing
/// but their order depends on it. Where it waits already, it has only loads left, and what lets it
/// in is `victim`.
fn search_handover(remote: bool, waits: bool) {
    let what = if waits {
        "handed over while one waits"
    } else {
        "handed over"
    };
    explore(what, None, move || {
        let shared = Arc::new(Shared::<Portable>::new(3, true));
        let first = Descriptor(line(1));
        let held = block_on(async {
            let budget = NonZeroU32::MIN;
            if remote {
                let card = LoomCard(&shared);
                acquire(&Remote::new(&card), LOCK, first, budget, &mut || true).await
            } else {
                acquire(&Local::new(&*shared), LOCK, first, budget, &mut || true).await
            }
        });
        let held = held.unwrap().unwrap();
        let comes = |remote, mine, waits: bool| {
            let mut turn = waiting(&shared, remote, mine, u32::MAX);
            let mut context = Context::from_waker(Waker::noop());
            assert!(!waits || turn.as_mut().poll(&mut context).is_pending());
            let turn = Sent(turn);
            loom::thread::spawn(move || assert_eq!(block_on(turn.into_inner()), Ok(true)))
        };
        let (second, third) = (comes(remote, 2, true), comes(!remote, 3, waits));
        shared.section();
        block_on(async {
            if remote {
                release(&Remote::new(&LoomCard(&shared)), LOCK, first, held).await
            } else {
                release(&Local::new(&*shared), LOCK, first, held).await
            }
        })
        .unwrap();
        second.join().unwrap();
        third.join().unwrap();
        // SAFETY: the other threads are no more.
        shared.data.with(|data| assert_eq!(unsafe { *data }, 3));
    });
}

/// The first holds the lock. Of the other cohort the second waits, and the third behind it. The
/// second gives up at its next poll that does not let it in. The third then has its place. It
/// polls without having yielded, and without a barrier of its own.
fn search_place(remote: bool) {
    explore("a place is handed on", Some(3), move || {
        let shared = Arc::new(Shared::<Portable>::new(3, true));
        let first = Descriptor(line(1));
        let budget = NonZeroU32::MIN;
        let held = block_on(async {
            if remote {
                acquire(&Local::new(&*shared), LOCK, first, budget, &mut || true).await
            } else {
                let card = LoomCard(&shared);
                acquire(&Remote::new(&card), LOCK, first, budget, &mut || true).await
            }
        });
        let held = held.unwrap().unwrap();
        let comes = |mine, polls| {
            let mut turn = waiting(&shared, remote, mine, polls);
            let mut context = Context::from_waker(Waker::noop());
            assert!(turn.as_mut().poll(&mut context).is_pending());
            let turn = Sent(turn);
            loom::thread::spawn(move || block_on(turn.into_inner()).unwrap())
        };
        let (second, third) = (comes(2, 2), comes(3, u32::MAX));
        shared.section();
        block_on(async {
            if remote {
                release(&Local::new(&*shared), LOCK, first, held).await
            } else {
                release(&Remote::new(&LoomCard(&shared)), LOCK, first, held).await
            }
        })
        .unwrap();
        let entered = 1 + u64::from(second.join().unwrap()) + u64::from(third.join().unwrap());
        shared.data.with(|data| {
            // SAFETY: the other threads are no more.
            assert_eq!(unsafe { *data }, entered);
        });
        assert!(entered >= 2, "the patient one entered");
    });
}

#[test]
fn model_a_local_place_is_handed_on() {
    search_place(false);
}

#[test]
fn model_a_remote_place_is_handed_on() {
    search_place(true);
}

/// A future whose parts are all loom's, or plain.
struct Sent(Waiting);

impl Sent {
    fn into_inner(self) -> Waiting {
        self.0
    }
}

// SAFETY: it holds an Arc of `Shared`, which threads share, and numbers.
unsafe impl Send for Sent {}

#[test]
fn model_handed_over_locally() {
    search_handover(false, false);
}

#[test]
fn model_handed_over_remotely() {
    search_handover(true, false);
}

#[test]
fn model_handed_over_locally_while_one_waits() {
    search_handover(false, true);
}

#[test]
fn model_handed_over_remotely_while_one_waits() {
    search_handover(true, true);
}

// Three that spin are beyond loom (it takes their spinning for a livelock): the
// simulation has them.

const LOCAL_TRIES: Given = Given {
    tries: true,
    ..LOCAL
};
const REMOTE_TRIES: Given = Given {
    tries: true,
    ..REMOTE
};

#[test]
fn model_a_local_that_tries() {
    search::<Portable>(&[LOCAL_TRIES, REMOTE], None);
    search::<Portable>(&[LOCAL_TRIES, LOCAL], None);
    search::<X86>(&[LOCAL_TRIES, LOCAL], None);
}

#[test]
fn model_a_remote_that_tries() {
    search::<Portable>(&[LOCAL, REMOTE_TRIES], None);
    search::<Portable>(&[REMOTE, REMOTE_TRIES], None);
}
