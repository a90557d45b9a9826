// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! How a thread waits.

use core::{
    hint,
    sync::atomic::{
        AtomicU32,
        Ordering::{Acquire, Release},
    },
};

use handover_locks::Awaited;

/// How often a waiter that yields looks first.
pub const SPINS: u32 = 128;

/// How often a waiter that parks looks first. That takes about as long as to sleep and to be woken. One that sleeps much
/// sooner is late for its next turn, so that each hand-over then wakes a sleeper. docs/results/user.md has the figures.
pub const PARK_SPINS: u32 = 700;

/// How often it looks at most, where the process has a CPU for each waiter that looks so often.
pub const PARK_SPINS_MOST: u32 = 16 * PARK_SPINS;

/// How a thread waits for a word, and what a releasing operation does for those that wait.
pub trait Policy: Sized + 'static {
    /// Whether waiters sleep, so that releasing operations wake them. It is the same during the whole process.
    fn wakes() -> bool;

    /// Waits until `word` is as `awaited`, and returns what it holds then, read with acquire.
    fn wait(word: &AtomicU32, awaited: Awaited) -> u32;

    /// Stores with release. Wakes the threads that sleep until the word holds `value`, or until it has changed.
    fn store(word: &AtomicU32, value: u32);

    /// A RMW has left `value` in the word at this address. It was sequentially consistent where the policy wakes. Wakes the threads that sleep until it does, or until it has changed. There
    /// may be no word any more.
    fn wake(word: *const AtomicU32, value: u32);

    /// A pause between two tries.
    fn pause();
}

/// Looks up to `times`.
#[inline(always)]
pub(crate) fn spin(word: &AtomicU32, awaited: Awaited, times: u32) -> Option<u32> {
    for _ in 0..times {
        let value = word.load(Acquire);
        if awaited.holds(value) {
            return Some(value);
        }
        hint::spin_loop();
    }
    None
}

/// A waiter looks again and again. Only where each thread has a CPU of its own.
#[derive(Debug)]
pub enum Spin {}

impl Policy for Spin {
    #[inline(always)]
    fn wakes() -> bool {
        false
    }

    #[inline]
    fn wait(word: &AtomicU32, awaited: Awaited) -> u32 {
        loop {
            if let Some(value) = spin(word, awaited, u32::MAX) {
                return value;
            }
        }
    }

    #[inline(always)]
    fn store(word: &AtomicU32, value: u32) {
        word.store(value, Release);
    }

    fn wake(_: *const AtomicU32, _: u32) {}

    #[inline(always)]
    fn pause() {
        hint::spin_loop();
    }
}

#[cfg(feature = "park")]
pub use self::system::{choose, register_barrier, Chosen, Late, Park, Waiting, Yield};

#[cfg(feature = "park")]
mod system {
    use core::{
        error, fmt,
        sync::atomic::{
            AtomicU32, AtomicU8,
            Ordering::{Acquire, Relaxed, Release},
        },
    };

    use handover_locks::Awaited;

    use super::{spin, Policy, Spin, PARK_SPINS, PARK_SPINS_MOST, SPINS};
    use crate::{barrier, futex, park, spinners::LongWait};

    /// A waiter looks [`SPINS`] times, then gives up its CPU between two looks.
    #[derive(Debug)]
    pub enum Yield {}

    impl Policy for Yield {
        #[inline(always)]
        fn wakes() -> bool {
            false
        }

        #[inline]
        fn wait(word: &AtomicU32, awaited: Awaited) -> u32 {
            if let Some(value) = spin(word, awaited, SPINS) {
                return value;
            }
            loop {
                futex::yield_now();
                let value = word.load(Acquire);
                if awaited.holds(value) {
                    return value;
                }
            }
        }

        #[inline(always)]
        fn store(word: &AtomicU32, value: u32) {
            word.store(value, Release);
        }

        fn wake(_: *const AtomicU32, _: u32) {}

        #[inline(always)]
        fn pause() {
            futex::yield_now();
        }
    }

    /// A waiter looks [`PARK_SPINS`] times, then sleeps until its turn comes. It looks [`PARK_SPINS_MOST`] times while there
    /// are fewer such waiters than CPUs.
    #[derive(Debug)]
    pub enum Park {}

    impl Policy for Park {
        #[inline(always)]
        fn wakes() -> bool {
            true
        }

        #[inline]
        fn wait(word: &AtomicU32, awaited: Awaited) -> u32 {
            spin(word, awaited, PARK_SPINS).unwrap_or_else(|| long(word, awaited))
        }

        #[inline(always)]
        fn store(word: &AtomicU32, value: u32) {
            park::store(word, value);
        }

        #[inline(always)]
        fn wake(word: *const AtomicU32, value: u32) {
            park::wake(word, value);
        }

        #[inline(always)]
        fn pause() {
            futex::yield_now();
        }
    }

    /// A long wait: awake while there is a CPU for it, then asleep.
    #[cold]
    fn long(word: &AtomicU32, awaited: Awaited) -> u32 {
        let waiter = LongWait::new();
        let mut looks = PARK_SPINS;
        while looks < PARK_SPINS_MOST && waiter.has_cpu() {
            if let Some(value) = spin(word, awaited, PARK_SPINS) {
                return value;
            }
            looks += PARK_SPINS;
        }
        park::sleep(word, awaited)
    }

    /// Asks the kernel for barriers by which threads that go to sleep spare the others one at each store. Whether it grants
    /// them, for the whole life of the process and of its children.
    ///
    /// The first release under [`Park`] asks otherwise. A process that has threads already waits some milliseconds then. So
    /// a program calls this at its start, or not at all.
    ///
    /// # Cost
    ///
    /// A system call, once. Afterwards each thread that goes to sleep interrupts the CPUs on which the process runs, once. A
    /// release that stores needs no full barrier then. A filter of system calls must let `membarrier` through.
    ///
    /// # Source
    ///
    /// Linux, membarrier(2): `MEMBARRIER_CMD_PRIVATE_EXPEDITED`, since Linux 4.14.
    ///
    /// # Examples
    ///
    /// ```
    /// // The kernel's first answer stays.
    /// assert_eq!(handover_user::register_barrier(), handover_user::register_barrier());
    /// ```
    pub fn register_barrier() -> bool {
        barrier::register()
    }

    /// What [`choose`] takes.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    #[repr(u8)]
    pub enum Waiting {
        /// As [`Park`], the default.
        Park = 1,
        /// As [`Yield`].
        Yield,
        /// As [`Spin`].
        Spin,
    }

    /// A lock of [`Chosen`] was used before: [`choose`] comes too late.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    pub struct Late(
        /// How locks of [`Chosen`] wait.
        pub Waiting,
    );

    impl fmt::Display for Late {
        fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(
                to,
                "a lock was used before the policy was chosen; it stays {:?}",
                self.0
            )
        }
    }

    impl error::Error for Late {}

    /// A policy that is chosen when the process begins.
    #[derive(Debug)]
    pub enum Chosen {}

    /// 0 until the policy is chosen or used.
    static CHOSEN: AtomicU8 = AtomicU8::new(0);

    const fn waiting(number: u8) -> Waiting {
        match number {
            2 => Waiting::Yield,
            3 => Waiting::Spin,
            _ => Waiting::Park,
        }
    }

    /// Says how locks of [`Chosen`] wait. Nothing else can be said afterwards.
    ///
    /// # Errors
    ///
    /// [`Late`], if it was said before, or a lock of this policy has been used.
    ///
    /// # Examples
    ///
    /// ```
    /// use handover_user::{choose, Late, Waiting};
    ///
    /// assert_eq!(choose(Waiting::Yield), Ok(()));
    /// assert_eq!(choose(Waiting::Park), Err(Late(Waiting::Yield)));
    /// ```
    pub fn choose(how: Waiting) -> Result<(), Late> {
        CHOSEN
            .compare_exchange(0, how as u8, Relaxed, Relaxed)
            .map_or_else(|there| Err(Late(waiting(there))), |_| Ok(()))
    }

    impl Chosen {
        #[inline(always)]
        fn waiting() -> Waiting {
            let mut number = CHOSEN.load(Relaxed);
            if number == 0 {
                let _ = choose(Waiting::Park);
                number = CHOSEN.load(Relaxed);
            }
            waiting(number)
        }
    }

    impl Policy for Chosen {
        #[inline(always)]
        fn wakes() -> bool {
            Self::waiting() == Waiting::Park
        }

        #[inline]
        fn wait(word: &AtomicU32, awaited: Awaited) -> u32 {
            match Self::waiting() {
                Waiting::Park => Park::wait(word, awaited),
                Waiting::Yield => Yield::wait(word, awaited),
                Waiting::Spin => Spin::wait(word, awaited),
            }
        }

        #[inline(always)]
        fn store(word: &AtomicU32, value: u32) {
            match Self::waiting() {
                Waiting::Park => Park::store(word, value),
                Waiting::Yield => Yield::store(word, value),
                Waiting::Spin => Spin::store(word, value),
            }
        }

        #[inline(always)]
        fn wake(word: *const AtomicU32, value: u32) {
            park::wake(word, value);
        }

        #[inline(always)]
        fn pause() {
            match Self::waiting() {
                Waiting::Park | Waiting::Yield => futex::yield_now(),
                Waiting::Spin => Spin::pause(),
            }
        }
    }
}
