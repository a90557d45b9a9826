// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Every lock under every policy, with more threads than CPUs.

mod within;

use std::{cell::UnsafeCell, sync::Barrier, thread};

use self::within::within;
use handover_user::{
    Clh, Free, Home, Mcs, OneWordTwa, Park, Process, RawLock, Spin, Ticket, Ttas, Twa, Yield,
};

const SECTIONS: u64 = 2000;

struct Counted<L> {
    lock: L,
    count: UnsafeCell<u64>,
}

// SAFETY: `count` is accessed by the lock's owner alone.
unsafe impl<L: Sync> Sync for Counted<L> {}

fn no_increment_is_lost<P: Home, L: RawLock<Process<P>> + Sync>(
    lock: L,
    threads: u64,
    sections: u64,
) {
    let counted = Counted {
        lock,
        count: UnsafeCell::new(0),
    };
    // SAFETY: Each token goes back to `unlock`, once.
    let (counted, world) = (&counted, unsafe { P::process() });
    let begin = &Barrier::new(threads as usize);
    thread::scope(|scope| {
        for thread in 0..threads {
            scope.spawn(move || {
                begin.wait();
                for section in 0..sections {
                    let token = if (thread + section) % 5 == 0 {
                        counted
                            .lock
                            .try_lock(world)
                            .unwrap_or_else(|| counted.lock.lock(world))
                    } else {
                        counted.lock.lock(world)
                    };
                    // SAFETY: This thread owns the lock.
                    unsafe { *counted.count.get() += 1 };
                    counted.lock.unlock(world, token);
                }
            });
        }
    });
    assert!(!counted.lock.is_locked());
    // SAFETY: All threads have ended.
    assert_eq!(unsafe { *counted.count.get() }, threads * sections);
}

macro_rules! each {
    ($($name:ident $policy:ident $threads:literal;)*) => { $(
        mod $name {
            use super::*;
            each!(@ $policy $threads, ticket Ticket, twa Twa, one_word_twa OneWordTwa, mcs Mcs, clh Clh, ttas Ttas);
        }
    )* };
    (@ $policy:ident $threads:literal, $($name:ident $lock:ident),*) => { $(
        #[test]
        fn $name() {
            within(|| no_increment_is_lost::<$policy, $lock<$policy>>(Free::FREE, $threads, SECTIONS));
        }
    )* };
}

each! {
    spin Spin 2;
    yields Yield 6;
    parks Park 16;
}
