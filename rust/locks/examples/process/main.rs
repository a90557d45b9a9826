// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Two threads of a process share a TWA lock.

mod world;

use std::{
    sync::atomic::{AtomicU32, Ordering::Relaxed},
    thread,
};

use handover_locks::{RawLock, Twa};

use self::world::{Cell, Process};

fn main() {
    static WORLD: Process = Process::new();
    static LOCK: Twa<Cell> = Twa::new(Cell::new(0), Cell::new(0));
    static SUM: AtomicU32 = AtomicU32::new(0);

    thread::scope(|scope| {
        for _ in 0..2 {
            scope.spawn(|| {
                for _ in 0..1000 {
                    let ticket = LOCK.lock(&WORLD);
                    // A load and a store: the lock makes them one step.
                    SUM.store(SUM.load(Relaxed) + 1, Relaxed);
                    LOCK.unlock(&WORLD, ticket);
                }
            });
        }
    });
    assert_eq!(SUM.load(Relaxed), 2000);
    println!("2 threads, {} sections", SUM.load(Relaxed));
}
