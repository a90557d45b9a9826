// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The protocol's own functions under loom. The steps of a victim's section and of its
//! cancellers come in every order that can be. Each order comes with all that a weak
//! memory may show of it. Only the section is replaced, by the protocol's
//! [`section`](rlock::protocol::section), whose order of accesses is the assembly's
//! (`tests/step`).
//!
//! A victim enters the kernel between two accesses when it is asked to. It passes a full
//! barrier and says so. It handles what signal is pending before it goes on. That is
//! what a context switch, a membarrier's interrupt and a signal's delivery have in
//! common.

use loom::sync::atomic::{fence, AtomicU64, Ordering};
use loom::sync::Arc;
use loom::thread;

use rlock::protocol::{self, Action, Busy, Position, Shared, Victim, Word};
use rlock::word::Ownership;

struct Cell(AtomicU64);

impl Cell {
    fn new(value: u64) -> Self {
        Self(AtomicU64::new(value))
    }
}

/// Loom takes SeqCst accesses for acquire and release; a full barrier is a fence.
fn full<R>(access: impl FnOnce() -> R) -> R {
    fence(Ordering::SeqCst);
    let result = access();
    fence(Ordering::SeqCst);
    result
}

impl Word for Cell {
    fn load_relaxed(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
    fn load_acquire(&self) -> u64 {
        self.0.load(Ordering::Acquire)
    }
    fn store_relaxed(&self, value: u64) {
        self.0.store(value, Ordering::Relaxed);
    }
    fn store_release(&self, value: u64) {
        self.0.store(value, Ordering::Release);
    }
    fn cmpxchg(&self, old: u64, new: u64) -> Result<(), u64> {
        full(|| {
            self.0
                .compare_exchange(old, new, Ordering::AcqRel, Ordering::Acquire)
                .map(|_| ())
        })
    }
    fn fetch_or(&self, bits: u64) -> u64 {
        full(|| self.0.fetch_or(bits, Ordering::AcqRel))
    }
}

/// The victim's thread as the kernel has it.
struct Task {
    /// The highest number of the cancellers that asked it to enter the kernel.
    asked: AtomicU64,
    /// The number with which it did.
    entered: AtomicU64,
    /// Its signal.
    pending: AtomicU64,
    /// Another handler stands on its section, which does not have the signal blocked.
    nested: bool,
}

/// `entered` of a thread that has ended.
const ENDED: u64 = u64::MAX;

struct Scene {
    victim: Shared<Cell>,
    task: Task,
    lock: Cell,
    slot: AtomicU64,
}

const VICTIM: Ownership = Ownership::new(1, 5);

impl Scene {
    /// The lock is the victim's.
    fn new(nested: bool) -> Arc<Self> {
        Arc::new(Self {
            victim: Shared {
                state: Cell::new(VICTIM.bits()),
                section: Cell::new(0),
            },
            task: Task {
                asked: AtomicU64::new(0),
                entered: AtomicU64::new(0),
                pending: AtomicU64::new(0),
                nested,
            },
            lock: Cell::new(VICTIM.bits()),
            slot: AtomicU64::new(0),
        })
    }

    /// Adds one as the section's commit does: two accesses, in no order to others.
    fn commit(&self) {
        let value = self.slot.load(Ordering::Relaxed);
        self.slot.store(value + 1, Ordering::Relaxed);
    }

    /// Between two of the victim's accesses.
    fn boundary(&self, place: Position) -> Action {
        let task = &self.task;
        let asked = task.asked.load(Ordering::Relaxed);
        if task.entered.load(Ordering::Relaxed) == asked {
            return Action::Return;
        }
        fence(Ordering::SeqCst);
        task.entered.store(asked, Ordering::Release);
        if task.pending.swap(0, Ordering::AcqRel) == 0 {
            return Action::Return;
        }
        if task.nested {
            // In the other handler first; what is put off comes when that returns.
            match protocol::on_signal(&self.victim, Position::Elsewhere) {
                Action::Defer => {}
                action => return action,
            }
        }
        protocol::on_signal(&self.victim, place)
    }

    /// The victim: some sections, then the thread's end. Returns its commits.
    fn victim(&self, sections: u32) -> u64 {
        let mut commits = 0;
        for _ in 0..sections {
            let boundary = |place| self.boundary(place);
            if !protocol::section(&self.victim, VICTIM, || self.commit(), boundary) {
                // As the crate does: the generation ends.
                protocol::advance(&self.victim);
                break;
            }
            commits += 1;
            self.boundary(Position::Elsewhere);
        }
        // A context switch, the last.
        fence(Ordering::SeqCst);
        self.task.entered.store(ENDED, Ordering::Release);
        commits
    }

    /// Cancels the victim.
    fn cancel(&self, owner: Ownership, how: How) -> Result<(), Busy> {
        let task = &self.task;
        let mut thread = Seen { task };
        match how {
            How::Try => protocol::cancel(&self.victim, owner, &mut thread).map(drop),
            How::Strictly => {
                let barrier = || {
                    // Asked after the generation was cancelled, or it proves nothing.
                    let ask = task.asked.fetch_add(1, Ordering::AcqRel) + 1;
                    while !entered(task, ask) {
                        thread::yield_now();
                    }
                    Ok(())
                };
                let mut turns = 0;
                let wait = || {
                    turns += 1;
                    thread::yield_now();
                    if turns < 3 {
                        Ok(())
                    } else {
                        Err(Busy::Deadline)
                    }
                };
                protocol::cancel_strictly(&self.victim, owner, &mut thread, barrier, wait).map(drop)
            }
        }
    }

    /// A canceller with the record `index`: takes the lock if it can, and commits.
    fn canceller(&self, index: usize, how: How) -> u64 {
        let mine = Ownership::new(index, 0);
        let cancel = |owner: Ownership| {
            if owner != VICTIM {
                // Another canceller's: it does not give up what it has.
                return Err(Busy::Running);
            }
            self.cancel(owner, how)
        };
        match protocol::acquire(&self.lock, mine, cancel) {
            Ok(()) => {
                self.commit();
                1
            }
            Err(_) => 0,
        }
    }
}

#[derive(Clone, Copy)]
enum How {
    Try,
    Strictly,
}

/// A canceller that does not acquire: nothing comes after, and what came before is seen.
fn look(sections: u32, how: How) {
    let mut builder = loom::model::Builder::new();
    builder.preemption_bound = (sections > 1).then_some(3);
    let cancelled = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let count = cancelled.clone();
    builder.check(move || {
        let scene = Scene::new(false);
        let other = scene.clone();
        let looker = thread::spawn(move || {
            other.cancel(VICTIM, how).ok()?;
            Some(other.slot.load(Ordering::Relaxed))
        });
        let victims = scene.victim(sections);
        if let Some(seen) = looker.join().unwrap() {
            count.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
            assert_eq!(seen, victims);
        }
    });
    let cancelled = cancelled.load(std::sync::atomic::Ordering::Relaxed);
    println!("search: {cancelled} executions in which it was cancelled");
    assert!(cancelled > 0);
}

#[test]
fn model_who_tries_sees_all() {
    look(1, How::Try);
    look(2, How::Try);
}

#[test]
fn model_who_is_strict_sees_all() {
    look(1, How::Strictly);
    look(2, How::Strictly);
}

/// Whether the thread entered the kernel since it was asked to.
fn entered(task: &Task, ask: u64) -> bool {
    task.entered.load(Ordering::Acquire) >= ask
}

/// What a canceller sees of the thread.
struct Seen<'a> {
    task: &'a Task,
}

impl Victim for Seen<'_> {
    fn passed_barrier(&mut self) -> bool {
        let ask = self.task.asked.fetch_add(1, Ordering::AcqRel) + 1;
        thread::yield_now();
        entered(self.task, ask)
    }

    fn signal(&mut self) -> Result<(), Busy> {
        self.task.pending.store(1, Ordering::Release);
        Ok(())
    }

    fn will_handle(&mut self) -> bool {
        self.passed_barrier()
    }
}

/// Every commit that was told of is in the slot.
fn search(sections: u32, nested: bool, cancellers: &'static [How]) {
    let succeeded = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let failed = std::sync::Arc::new(std::sync::atomic::AtomicU64::new(0));
    let mut builder = loom::model::Builder::new();
    // One section and one canceller: every execution that loom tells apart. Of more
    // those with so many forced switches.
    builder.preemption_bound = match (sections, cancellers.len()) {
        (1, 1) => None,
        (_, 1) => Some(3),
        _ => Some(2),
    };
    let (won, lost) = (succeeded.clone(), failed.clone());
    builder.check(move || {
        let scene = Scene::new(nested);
        let threads: Vec<_> = cancellers
            .iter()
            .enumerate()
            .map(|(number, &how)| {
                let scene = scene.clone();
                thread::spawn(move || scene.canceller(number + 2, how))
            })
            .collect();
        let victims = scene.victim(sections);
        let theirs: u64 = threads.into_iter().map(|t| t.join().unwrap()).sum();
        assert!(theirs <= 1, "two own the lock");
        let counter = if theirs == 1 { &won } else { &lost };
        counter.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        assert_eq!(scene.slot.load(Ordering::Relaxed), victims + theirs);
    });
    let (won, lost) = (
        succeeded.load(std::sync::atomic::Ordering::Relaxed),
        failed.load(std::sync::atomic::Ordering::Relaxed),
    );
    println!("search: {won} executions in which the lock was taken, {lost} in which it was not");
    assert!(won > 0);
}

#[test]
fn model_one_section_and_a_try() {
    search(1, false, &[How::Try]);
}

#[test]
fn model_two_sections_and_a_try() {
    search(2, false, &[How::Try]);
}

#[test]
fn model_one_section_and_a_strict_one() {
    search(1, false, &[How::Strictly]);
}

#[test]
fn model_two_sections_and_a_strict_one() {
    search(2, false, &[How::Strictly]);
}

#[test]
fn model_a_handler_on_the_section() {
    search(1, true, &[How::Try]);
    search(1, true, &[How::Strictly]);
}

#[test]
fn model_two_that_try() {
    search(1, false, &[How::Try, How::Try]);
}
