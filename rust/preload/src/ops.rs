// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A lock in the bytes of a pthread mutex.

use core::{
    ptr,
    sync::atomic::{
        AtomicI32, AtomicU32, AtomicU64,
        Ordering::{Acquire, Relaxed, Release},
    },
    time::Duration,
};

use handover_user::{Free, Home, Process, RawLock};

use crate::{fork, nap::Naps};

/// A mutex of glibc, as its header declares it: 40 bytes, of which the kind alone is fixed.
///
/// All its bytes are 0 where it is initialised, but the kind's. That is a free lock of each type.
#[repr(C)]
pub(crate) struct Mutex {
    /// The lock: four or eight bytes.
    words: [AtomicU32; 2],
    unused: u32,
    /// `__nusers`. Of a mutex of ours: the threads that wait for a condition variable with it. glibc counts the owner, too.
    users: AtomicU32,
    /// `__kind`. The static initialisers write it.
    kind: AtomicI32,
    elision: u32,
    /// The owner's token, and before which fork it was taken; 0 where nobody is owner. The owner alone accesses it, or who
    /// asks whether there is one, and since when.
    owner: AtomicU64,
    rest: u64,
}

const _: () = assert!(size_of::<Mutex>() == size_of::<libc::pthread_mutex_t>());

/// `PTHREAD_MUTEX_NORMAL`.
const NORMAL: i32 = 0;
/// `PTHREAD_MUTEX_ADAPTIVE_NP`.
const ADAPTIVE: i32 = 3;
/// glibc's flags for elision, which say nothing about the kind.
const ELISION: i32 = 0x300;
/// What glibc writes into a mutex that is destroyed.
const DESTROYED: i32 = -1;

impl Mutex {
    /// Whether it is ours: of the kinds whose second lock by the owner waits for ever, within one process.
    #[inline(always)]
    pub(crate) fn is_ours(&self) -> bool {
        let kind = self.kind.load(Relaxed) & !ELISION;
        kind == NORMAL || kind == ADAPTIVE
    }

    /// Whether somebody owns it, or will after waiting for a condition variable.
    pub(crate) fn is_in_use(&self) -> bool {
        !matches!(self.owner.load(Relaxed), 0 | RESET) || self.users.load(Relaxed) != 0
    }

    /// Its owner waits for a condition variable from now on, whosever mutex it is: nobody may destroy it.
    pub(crate) fn begin_wait(&self) {
        self.users.fetch_add(1, Relaxed);
    }

    /// The wait is over.
    pub(crate) fn end_wait(&self) {
        self.users.fetch_sub(1, Relaxed);
    }

    /// No function takes it any more, until it is initialised.
    pub(crate) fn destroy(&self) {
        self.kind.store(DESTROYED, Relaxed);
    }

    /// The lock in it.
    #[inline(always)]
    fn lock<L>(&self) -> &L {
        const {
            assert!(size_of::<L>() <= size_of::<[AtomicU32; 2]>());
            assert!(align_of::<L>() <= align_of::<Self>());
        }
        // SAFETY: A lock is made of words, and fits. Zeroes are a free one, as `Free` has it.
        unsafe { &*ptr::from_ref(&self.words).cast::<L>() }
    }

    #[inline(always)]
    fn own(&self, token: u32) {
        let owner = (u64::from(fork::generation()) << 32) | u64::from(token);
        // Pairs with `has_no_queue`, which is told by it that the words are reset.
        self.owner.store(owner, Release);
    }

    /// Takes the owner's token, or says that there is no owner.
    #[inline(always)]
    fn disown(&self) -> Option<Taken> {
        let owner = self.owner.load(Relaxed);
        if owner == 0 || owner == RESET {
            return None;
        }
        if (owner >> 32) as u32 == fork::generation() {
            self.owner.store(0, Relaxed);
            Some(Taken::Here(owner as u32))
        } else {
            Some(Taken::BeforeFork)
        }
    }

    /// Nobody owns it, nobody waits. The owner's, from before the fork.
    ///
    /// The last store is the one that frees the lock: the next owner may destroy it at once. So a grant of 0 is not stored
    /// again. Other locks have no second word, and it is always 0.
    #[cold]
    fn reset(&self) {
        let [first, second] = &self.words;
        let has_second = second.load(Relaxed) != 0;
        self.owner.store(RESET, Relaxed);
        // Both pair with the acquiring access of who enters.
        first.store(0, Release);
        if has_second {
            second.store(0, Release);
        }
    }

    /// Whether the last owner acquired before the fork that made this process. When it releases, it resets the words: a
    /// place in the queue would be lost.
    #[inline(always)]
    fn has_no_queue(&self) -> bool {
        // Pairs with `own` of who entered since: the words are reset.
        fork::has_been() && {
            let owner = self.owner.load(Acquire);
            owner != 0 && (owner >> 32) as u32 != fork::generation()
        }
    }
}

/// The owner of a lock that was reset, until the next one enters: there is none. No owner's generation is 0.
const RESET: u64 = 1;

/// When the owner acquired.
enum Taken {
    /// In this process. The token.
    Here(u32),
    /// Before the fork that made this process. Who waited then is not in it, so nobody can be handed over to.
    BeforeFork,
}

/// What a lock does with a mutex.
#[derive(Clone, Copy)]
pub(crate) struct Ops {
    /// Acquires.
    pub(crate) lock: fn(&Mutex),
    /// Acquires if it is free.
    pub(crate) try_lock: fn(&Mutex) -> bool,
    /// Releases. Whether there was an owner.
    pub(crate) unlock: fn(&Mutex) -> bool,
    /// Whether somebody owns it.
    pub(crate) is_locked: fn(&Mutex) -> bool,
}

impl Ops {
    /// The operations of lock `L` under policy `P`.
    pub(crate) const fn of<P: Home, L: RawLock<Process<P>> + Free + 'static>() -> &'static Self {
        &Self {
            lock: lock::<P, L>,
            try_lock: try_lock::<P, L>,
            unlock: unlock::<P, L>,
            is_locked: |mutex| mutex.lock::<L>().is_locked(),
        }
    }
}

fn lock<P: Home, L: RawLock<Process<P>>>(mutex: &Mutex) {
    // SAFETY: The token goes back once: `disown` clears it.
    let world = unsafe { P::process() };
    let lock = mutex.lock::<L>();
    let mut naps = Naps::new();
    while mutex.has_no_queue() {
        if let Some(token) = lock.try_lock(world) {
            return mutex.own(token);
        }
        naps.nap(Duration::MAX);
    }
    mutex.own(lock.lock(world));
}

fn try_lock<P: Home, L: RawLock<Process<P>>>(mutex: &Mutex) -> bool {
    // SAFETY: As in `lock`.
    let world = unsafe { P::process() };
    match mutex.lock::<L>().try_lock(world) {
        Some(token) => {
            mutex.own(token);
            true
        }
        None => false,
    }
}

fn unlock<P: Home, L: RawLock<Process<P>>>(mutex: &Mutex) -> bool {
    // SAFETY: As in `lock`.
    let world = unsafe { P::process() };
    match mutex.disown() {
        Some(Taken::Here(token)) => mutex.lock::<L>().unlock(world, token),
        Some(Taken::BeforeFork) => mutex.reset(),
        None => return false,
    }
    true
}
