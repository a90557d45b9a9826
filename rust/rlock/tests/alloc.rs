// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Allocators are among the users. Neither the hot path nor a cancellation allocates.
//! Once rlock is set up a registration does not either.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use rlock::{Cancel, Counter, FreeList, Lock, Owner, PerCpu, Slot};

struct Counting;

thread_local! {
    static ALLOCATIONS: Cell<u64> = const { Cell::new(0) };
}

// SAFETY: the system's allocator does it all.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        ALLOCATIONS.set(ALLOCATIONS.get() + 1);
        // SAFETY: as the caller says.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        // SAFETY: as the caller says.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// How often `body` allocates in this thread.
fn allocations<R>(body: impl FnOnce() -> R) -> (u64, R) {
    let before = ALLOCATIONS.get();
    let result = body();
    (ALLOCATIONS.get() - before, result)
}

#[test]
fn nothing_is_allocated_after_the_setup() {
    // It is counted at all.
    assert_eq!(allocations(|| Box::new(1_u64)).0, 1);
    rlock::capabilities().unwrap();
    static COUNTER: Counter = Counter::new();
    let (lock, bytes, list) = (
        Lock::new(Slot::new(0)),
        PerCpu::new(|| Slot::new(0)),
        FreeList::new(10),
    );
    let (count, owner) = allocations(|| Owner::register().unwrap());
    assert_eq!(count, 0, "a registration");
    let (count, ()) = allocations(|| {
        // More than a generation is good for.
        for _ in 0..10_000 {
            let mut token = owner.acquire(&lock).unwrap();
            let _ = token.add(|slot| slot, 1);
        }
        // The first instance, too.
        let mut mine = bytes.acquire(&owner).unwrap();
        mine.add(|slot| slot, 1).unwrap();
        drop(mine);
        assert_eq!(bytes.iter().map(Slot::load).sum::<u64>(), 1);
        bytes.visit(&owner, || Cancel::Try, drop).unwrap();
        for number in 0..10 {
            list.push(&owner, number).unwrap();
        }
        while list.pop(&owner).unwrap().is_some() {}
        COUNTER.add(1);
        assert_eq!(COUNTER.sum(), 1);
    });
    assert_eq!(count, 0, "the hot path");
}

/// Each mode, of an owner that sleeps and of one that runs, with success and without.
#[test]
fn nothing_is_allocated_to_cancel() {
    let lock = Lock::new(Slot::new(0));
    let runs = AtomicBool::new(false);
    let (tell, told) = mpsc::channel();
    let (end, ended) = mpsc::channel::<()>();
    rlock::capabilities().unwrap();
    std::thread::scope(|scope| {
        let (lock, runs) = (&lock, &runs);
        // Dropped also if this panics.
        let end = end;
        scope.spawn(move || {
            let owner = Owner::register().unwrap();
            while ended.recv().is_ok() {
                owner
                    .acquire_by(lock, Cancel::strictly_within(Duration::from_secs(5)))
                    .map(drop)
                    .unwrap();
                tell.send(()).unwrap();
                while runs.load(Ordering::Relaxed) {
                    std::hint::spin_loop();
                }
                tell.send(()).unwrap();
            }
        });
        for run in [false, true] {
            for mode in 0..3 {
                runs.store(run, Ordering::Relaxed);
                end.send(()).unwrap();
                told.recv().unwrap();
                let soon = Instant::now() + Duration::from_millis(20);
                let mode = [Cancel::Try, Cancel::Until(soon), Cancel::Strict(soon)][mode];
                let (count, found) = allocations(|| lock.cancel(mode));
                assert_eq!(count, 0, "{mode:?}, runs: {run}: {found:?}");
                runs.store(false, Ordering::Relaxed);
                told.recv().unwrap();
            }
        }
        drop(end);
    });
}
