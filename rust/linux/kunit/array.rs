// SPDX-License-Identifier: GPL-2.0-only

//! What TWA does to the module's own waiting array, seen from a lock's contenders.
//!
//! No other lock may change the array meanwhile. None does in the suites' guest: cases run one
//! after another, and `tests/guest/kunit.sh` loads the module without an experiment.

use super::{
    course::{first_ticket, nobody_late, Order},
    team::{reached, together, Muster},
};
use crate::{
    harness::shim,
    locks::{Twa, Word as _},
    spin::{
        word::{WaitArray, WAIT_ARRAY},
        KernelTwa, TwaLock, Word,
    },
};
use core::marker::PhantomData;
use kernel::{
    prelude::*,
    sync::atomic::{Atomic, Relaxed},
};

// The paper's parameters, once more.
const _: PhantomData<Twa<Word, 1>> = PhantomData::<KernelTwa>;
const _: () = assert!(size_of::<WaitArray>() == 4096 * size_of::<u32>());
const _: () = assert!(align_of::<WaitArray>() >= SECTOR);

/// Bytes that a CPU may fetch together.
const SECTOR: usize = 128;

/// How the array changed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Release {
    /// So many slots have another value.
    slots: u32,
    /// The last of them.
    index: usize,
    /// What was added to that one.
    added: u32,
}

impl Release {
    /// Nothing changed.
    pub(super) const NONE: Self = Self {
        slots: 0,
        index: 0,
        added: 0,
    };
}

/// The words of a TWA lock: the next ticket, and the one being served.
fn words<T>(lock: &TwaLock<T>) -> &[Word; 2] {
    const { assert!(size_of::<KernelTwa>() == size_of::<[Word; 2]>()) };
    // SAFETY: A `Lock` begins with its backend's state, a `SpinState` with its `KernelTwa`, and that
    // is these two words; all are `repr(C)` or transparent. The words are atomic, so sharing them is
    // sound.
    unsafe { &*core::ptr::from_ref(lock).cast() }
}

/// The number of the owner and the waiters.
fn present<T>(lock: &TwaLock<T>) -> u32 {
    let [ticket, grant] = words(lock);
    let grant = grant.load_acquire();
    ticket.load_relaxed().wrapping_sub(grant)
}

/// What the owners write down.
pub(super) struct Log {
    /// The array as it was when last looked at.
    before: KVec<u32>,
    held: Release,
    releases: [Release; 4],
    order: Order,
}

impl Log {
    /// An empty one.
    pub(super) fn new() -> Result<Self> {
        Ok(Self {
            before: KVec::from_elem(0, WAIT_ARRAY.0.len(), GFP_KERNEL)?,
            held: Release::NONE,
            releases: [Release::NONE; 4],
            order: Order::new(),
        })
    }

    /// What has changed since the last look.
    fn look(&mut self) -> Release {
        let mut change = Release::NONE;
        let slots = WAIT_ARRAY.0.iter().map(|slot| slot.load_acquire());
        for (index, (now, before)) in slots.zip(&mut self.before).enumerate() {
            if now != *before {
                change = Release {
                    slots: change.slots + 1,
                    index,
                    added: now.wrapping_sub(*before),
                };
                *before = now;
            }
        }
        change
    }

    /// Writes down what the release of contender `id` changes, once it has changed something.
    /// The next owner may see its grant before that. False if nothing changes.
    fn await_release(&mut self, id: usize) -> bool {
        let changed = reached(|| {
            let mut slots = WAIT_ARRAY.0.iter().zip(&self.before);
            slots.any(|(slot, before)| slot.load_acquire() != *before)
        });
        self.releases[id] = self.look();
        changed
    }
}

/// What [`watch`] saw.
pub(super) struct Seen {
    /// How the array changed while the owner stayed.
    pub(super) held: Release,
    /// Waiters that came in where their grant was shown, and no slot changed.
    pub(super) came_to_grant: u32,
    /// How each release changed the array.
    pub(super) releases: [Release; 4],
    /// How each release must change it.
    pub(super) due: [Release; 4],
    /// Where in the array these slots lie.
    pub(super) sectors: [usize; 4],
    /// In which order the contenders came in.
    pub(super) order: [u32; 4],
}

/// Contender 0 owns `lock` until 1, 2 and 3 wait for it, in this order. `first` is its ticket.
///
/// While it stays, it shows 2 and 3 their grants for a moment each, without a notification. A
/// thread that waits on the grant comes in. A long-term waiter looks at its slot alone. A
/// ticket shows that a thread came, and not yet that it waits. So the owner first stays a moment.
/// A waiter that did come in leaves at once, and so does the one after it. The owner sees to that,
/// for a test that fails must end.
pub(super) fn watch(lock: &TwaLock<Log>, first: u32) -> Result<Seen> {
    let late = Atomic::new(false);
    let stays = Atomic::new(true);
    let came = Atomic::new(0u32);
    let left = Atomic::new(0u32);
    let came_to_grant = Atomic::new(0u32);
    let a_moment = || {
        let until = shim::now_ns() + 100_000_000;
        let _ = reached(|| came.load(Relaxed) > 1 || shim::now_ns() > until);
    };
    first_ticket(lock, first);
    let [_, grant] = words(lock);
    let show = |waiter| grant.store_release(first.wrapping_add(waiter));
    let muster = Muster::new(4);
    together(4, |id| {
        let _present = muster.fall_in();
        // After those before it.
        let mut in_time = reached(|| present(lock) >= id);
        if in_time {
            let mut log = lock.lock();
            came.add(1u32, Relaxed);
            log.order.admit(id);
            if id == 0 {
                log.look();
                in_time = reached(|| present(lock) == 4);
                a_moment();
                for waiter in [2, 3] {
                    show(waiter);
                    a_moment();
                }
                if came.load(Relaxed) > 1 {
                    came_to_grant.store(came.load(Relaxed) - 1, Relaxed);
                    for waiter in [2, 3] {
                        show(waiter);
                        in_time &= reached(|| left.load(Relaxed) >= waiter - 1);
                    }
                }
                show(0);
                log.held = log.look();
                stays.store(false, Relaxed);
            } else if !stays.load(Relaxed) {
                in_time = log.await_release(id as usize - 1);
            }
            drop(log);
            left.add(1u32, Relaxed);
        }
        if !in_time {
            late.store(true, Relaxed);
        }
    })?;
    nobody_late(&late)?;
    // Free, also where waiters came in out of turn.
    first_ticket(lock, first.wrapping_add(4));
    let mut log = lock.lock();
    log.releases[3] = log.look();
    let indices = [2, 3, 4, 5].map(|after| slot_of(lock, first.wrapping_add(after)));
    Ok(Seen {
        held: log.held,
        came_to_grant: came_to_grant.load(Relaxed),
        releases: log.releases,
        due: indices.map(|index| Release {
            slots: 1,
            index,
            added: 1,
        }),
        sectors: indices.map(|index| (&raw const WAIT_ARRAY.0[index]).addr() / SECTOR),
        order: log.order.ids(),
    })
}

/// The slot in which the holder of `ticket` waits, long term: the paper's hash.
fn slot_of(lock: &TwaLock<Log>, ticket: u32) -> usize {
    let address = core::ptr::from_ref(lock).addr() as u32;
    ((ticket.wrapping_mul(127) ^ address) & 4095) as usize
}
