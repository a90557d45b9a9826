// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! [`Mutex`](lock_api::Mutex) and [`Condvar`], as `lock_api` has them, on the locks of [`handover_user`].
//!
//! A mutex has no poison: where a thread panics that owns it, the next one enters.
//!
//! | mutex | bytes of its lock | FIFO |
//! |---|---|---|
//! | [`TicketMutex`], [`TwaMutex`] | 8 | yes |
//! | [`OneWordTwaMutex`] | 4 | yes |
//! | [`McsMutex`], [`ClhMutex`] | 8 | yes |
//!
//! Threads are admitted as they came, always: who unlocks hands over. `try_lock` fails where a thread waits.
//!
//! # Examples
//!
//! ```
//! use handover_lock_api::{Condvar, Twa, TwaMutex};
//! use handover_user::Park;
//!
//! static QUEUE: TwaMutex<Vec<u32>> = TwaMutex::new(Vec::new());
//! static FILLED: Condvar<Twa<Park>> = Condvar::new();
//!
//! let taker = std::thread::spawn(|| {
//!     let mut queue = QUEUE.lock();
//!     while queue.is_empty() {
//!         FILLED.wait(&mut queue);
//!     }
//!     queue.pop()
//! });
//! QUEUE.lock().push(7);
//! FILLED.notify_one();
//! assert_eq!(taker.join().unwrap(), Some(7));
//! ```

#![cfg_attr(not(feature = "std"), no_std)]

use core::marker::PhantomData;

#[cfg(feature = "park")]
use handover_user::Park;
pub use handover_user::{Clh, Mcs, OneWordTwa, Ticket, Twa};
use handover_user::{Free, Home, Process, RawLock};

/// A lock of [`handover_user`], whose threads wait in one way.
pub trait Lock: Free + RawLock<Process<Self::Policy>> {
    /// How they wait.
    type Policy: Home;
}

macro_rules! locks {
    ($($lock:ident $mutex:ident $guard:ident $about:literal;)*) => { $(
        impl<P: Home> Lock for $lock<P> {
            type Policy = P;
        }

        #[doc = $about]
        #[cfg(feature = "park")]
        pub type $mutex<T, P = Park> = lock_api::Mutex<Raw<$lock<P>>, T>;

        #[doc = $about]
        #[cfg(not(feature = "park"))]
        pub type $mutex<T, P = handover_user::Spin> = lock_api::Mutex<Raw<$lock<P>>, T>;

        /// What releases the mutex when it is dropped.
        #[cfg(feature = "park")]
        pub type $guard<'a, T, P = Park> = lock_api::MutexGuard<'a, Raw<$lock<P>>, T>;

        /// What releases the mutex when it is dropped.
        #[cfg(not(feature = "park"))]
        pub type $guard<'a, T, P = handover_user::Spin> = lock_api::MutexGuard<'a, Raw<$lock<P>>, T>;
    )* };
}

locks! {
    Ticket TicketMutex TicketGuard "A mutex on a ticket lock.";
    Twa TwaMutex TwaGuard "A mutex on TWA.";
    OneWordTwa OneWordTwaMutex OneWordTwaGuard "A mutex on TWA in four bytes.";
    Mcs McsMutex McsGuard "A mutex on MCS.";
    Clh ClhMutex ClhGuard "A mutex on CLH.";
}

/// What `lock_api` makes a mutex of.
pub struct Raw<L>(L);

/// What an owner gives back: a ticket, or the index of a queue node. It stays with its thread.
pub struct Token(u32, PhantomData<*mut ()>);

// SAFETY: A shared token can do nothing.
unsafe impl Sync for Token {}

impl<L: Lock> Raw<L> {
    #[inline(always)]
    fn world() -> &'static Process<L::Policy> {
        // SAFETY: Each token goes back once, as `lock_api` gives each guard's state to `unlock` once or never.
        unsafe { L::Policy::process() }
    }
}

// SAFETY: The lock excludes, with acquire and release. A token that is never given back leaves it locked.
unsafe impl<L: Lock> lock_api::RawMutex for Raw<L> {
    const INIT: Self = {
        assert!(L::EXCLUDES);
        Self(L::FREE)
    };

    type Guard = Token;

    #[inline]
    fn lock(&self) -> Token {
        Token(self.0.lock(Self::world()), PhantomData)
    }

    #[inline]
    fn try_lock(&self) -> Option<Token> {
        Some(Token(self.0.try_lock(Self::world())?, PhantomData))
    }

    #[inline]
    unsafe fn unlock(&self, token: Token) {
        self.0.unlock(Self::world(), token.0);
    }

    #[inline]
    fn is_locked(&self) -> bool {
        self.0.is_locked()
    }
}

// SAFETY: As for `RawMutex`. All locks of `Lock` hand over to the thread that waits longest.
unsafe impl<L: Lock> lock_api::RawMutexFair for Raw<L> {
    #[inline]
    unsafe fn unlock_fair(&self, token: Token) {
        const { assert!(L::FIFO) };
        // SAFETY: The caller's.
        unsafe { lock_api::RawMutex::unlock(self, token) };
    }
}

#[cfg(feature = "std")]
mod timed {
    use std::{
        thread,
        time::{Duration, Instant},
    };

    use lock_api::RawMutex;

    use super::{Lock, Raw, Token};

    /// The first and the longest nap between two tries.
    const NAPS: [Duration; 2] = [Duration::from_micros(1), Duration::from_millis(1)];

    // SAFETY: As for `RawMutex`.
    //
    // A place in a FIFO lock's queue cannot be given up. So a thread with a time limit has none: it tries again after naps.
    unsafe impl<L: Lock> lock_api::RawMutexTimed for Raw<L> {
        type Duration = Duration;
        type Instant = Instant;

        fn try_lock_for(&self, time: Duration) -> Option<Token> {
            match Instant::now().checked_add(time) {
                Some(limit) => self.try_lock_until(limit),
                None => Some(self.lock()),
            }
        }

        fn try_lock_until(&self, limit: Instant) -> Option<Token> {
            let mut nap = NAPS[0];
            loop {
                if let Some(token) = self.try_lock() {
                    return Some(token);
                }
                let left = limit.saturating_duration_since(Instant::now());
                if left.is_zero() {
                    return None;
                }
                thread::sleep(nap.min(left));
                nap = (nap * 2).min(NAPS[1]);
            }
        }
    }
}

#[cfg(feature = "park")]
pub use self::condvar::{Condvar, RawCondvar};

#[cfg(feature = "park")]
mod condvar {
    use core::{marker::PhantomData, time::Duration};
    #[cfg(feature = "std")]
    use std::time::Instant;

    use handover_user::Waiters;
    use lock_api::RawMutex;

    use super::{Lock, Raw, Token};

    /// A condition variable for mutexes of one lock.
    pub type Condvar<L> = lock_api::Condvar<RawCondvar<L>>;

    /// What `lock_api` makes a condition variable of.
    ///
    /// No wait ends spuriously. `notify_one` wakes the thread that waits longest.
    pub struct RawCondvar<L> {
        waiters: Waiters,
        lock: PhantomData<fn(L)>,
    }

    impl<L: Lock> RawCondvar<L> {
        /// Whether a signal came.
        ///
        /// # Safety
        ///
        /// The token is the owner's.
        unsafe fn wait_at_most(
            &self,
            mutex: &Raw<L>,
            token: &mut Token,
            limit: Option<Duration>,
        ) -> bool {
            let held = Token(token.0, PhantomData);
            // SAFETY: The caller's. The token is replaced below.
            let is_signalled = self.waiters.wait(|| unsafe { mutex.unlock(held) }, limit);
            *token = mutex.lock();
            is_signalled
        }
    }

    #[cfg(feature = "std")]
    // SAFETY: As for `lock_api::RawCondvar`.
    unsafe impl<L: Lock> lock_api::RawCondvarTimed for RawCondvar<L> {
        fn checked_duration_to_instant(time: &Duration) -> Option<Instant> {
            Instant::now().checked_add(*time)
        }

        unsafe fn wait_until(&self, mutex: &Raw<L>, token: &mut Token, limit: &Instant) -> bool {
            let left = limit.saturating_duration_since(Instant::now());
            // SAFETY: The caller's.
            !unsafe { self.wait_at_most(mutex, token, Some(left)) }
        }
    }

    // SAFETY: A thread is in the list before it unlocks, and has locked when it returns. Neither unwinds.
    unsafe impl<L: Lock> lock_api::RawCondvar for RawCondvar<L> {
        const INIT: Self = Self {
            waiters: Waiters::new(),
            lock: PhantomData,
        };

        type RawMutex = Raw<L>;

        unsafe fn wait(&self, mutex: &Raw<L>, token: &mut Token) {
            // SAFETY: The caller's.
            unsafe { self.wait_at_most(mutex, token, None) };
        }

        fn notify_one(&self) -> bool {
            self.waiters.signal()
        }

        fn notify_all(&self) -> usize {
            self.waiters.broadcast()
        }
    }
}
