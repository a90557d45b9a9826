// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The kernel's barriers of all threads.

use std::{
    cell::Cell,
    sync::{Mutex, MutexGuard, PoisonError},
};

use loom::{
    sync::atomic::{fence, AtomicU64, Ordering::*},
    thread::{self, Thread},
};

/// What it says to a process.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kernel {
    /// It registers the process, and gives each barrier.
    Grants,
    /// It does not register the process.
    Refuses,
    /// It registers the process, and gives no barrier.
    RefusesLater,
}

/// A thread that releases, as the kernel has it.
struct Task {
    /// How many barriers are asked for. Loom's: whether the thread is interrupted at a place is a matter of schedule.
    asked: AtomicU64,
    // `std`'s, which orders nothing. No thread holds it across a scheduling point.
    passed: Mutex<Passed>,
}

struct Passed {
    /// The last barrier that it has passed; [`OFF`] where it has no CPU.
    last: u64,
    /// Who waits for it.
    waiting: Vec<Thread>,
}

const OFF: u64 = u64::MAX;

impl Task {
    fn passed(&self) -> MutexGuard<'_, Passed> {
        self.passed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// After a full barrier. An unpark is no scheduling point.
    fn pass(&self, barrier: u64) {
        let mut passed = self.passed();
        passed.last = barrier;
        passed.waiting.drain(..).for_each(|thread| thread.unpark());
    }
}

/// The most tasks of a scene.
const TASKS: usize = 2;

loom::lazy_static! {
    static ref SAYS: AtomicU64 = AtomicU64::new(0);
    static ref ALL: [Task; TASKS] = [0; TASKS].map(|_| Task {
        asked: AtomicU64::new(0),
        passed: Mutex::new(Passed { last: OFF, waiting: Vec::new() }),
    });
}

loom::thread_local! {
    /// The task of the calling thread.
    static TASK: Cell<Option<usize>> = Cell::new(None);
}

/// A process of so many releasing threads. All of them have CPUs from the begin on.
pub(crate) fn begin(kernel: Kernel, tasks: usize) {
    SAYS.store(kernel as u64, Relaxed);
    for task in &ALL[..tasks] {
        task.passed().last = 0;
    }
}

fn says(kernel: Kernel) -> bool {
    SAYS.load(Relaxed) == kernel as u64
}

pub(crate) fn refuses_later() -> bool {
    says(Kernel::RefusesLater)
}

/// The life of a releasing thread.
pub(crate) fn run(task: usize, life: impl FnOnce()) {
    TASK.with(|mine| mine.set(Some(task)));
    interrupt();
    life();
    off();
}

fn own() -> Option<&'static Task> {
    Some(&ALL[TASK.with(Cell::get)?])
}

/// A place between two accesses, at which a thread may be interrupted.
pub(crate) fn interrupt() {
    if let Some(task) = own() {
        let asked = task.asked.load(Relaxed);
        if task.passed().last < asked {
            fence(SeqCst);
            task.pass(asked);
        }
    }
}

/// The thread has its CPU no longer. A switch is a full barrier.
pub(crate) fn off() {
    if let Some(task) = own() {
        fence(SeqCst);
        task.pass(OFF);
    }
}

/// The thread has a CPU again.
pub(crate) fn on() {
    if let Some(task) = own() {
        task.passed().last = 0;
        fence(SeqCst);
    }
}

pub(crate) fn register() -> bool {
    !says(Kernel::Refuses)
}

/// Asks each task, and waits until all have passed a barrier. The caller's own comes before and after.
pub(crate) fn all() -> bool {
    if !says(Kernel::Grants) {
        return false;
    }
    fence(SeqCst);
    // In the kernel an interrupt reaches it at once.
    off();
    let own = TASK.with(Cell::get);
    for (number, task) in ALL.iter().enumerate() {
        if own == Some(number) || task.passed().last == OFF {
            continue;
        }
        let ask = task.asked.fetch_add(1, AcqRel) + 1;
        loop {
            let mut passed = task.passed();
            if passed.last >= ask {
                break;
            }
            passed.waiting.push(thread::current());
            drop(passed);
            // No scheduling point lies between the two.
            thread::park();
        }
    }
    on();
    fence(SeqCst);
    true
}
