// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! TWA and one-word TWA behind `include/handover.h`, which says what the functions promise.
//!
//! The feature `freestanding` makes a library that needs the C library alone.

#![cfg_attr(not(test), no_std)]

use core::{
    ptr,
    sync::atomic::{AtomicU32, Ordering::Relaxed},
};

use handover_user::{register_barrier, Home, OneWordTwa, Park, Process, RawLock, Twa};

/// A lock of the header: the words of a lock of [`handover_user`].
trait InC: RawLock<Process<Park>> + Sized {
    /// Its bytes in the header.
    const BYTES: usize;

    /// The owner's ticket. The owner alone asks: nobody else changes the grant, which is that ticket.
    fn owner(&self) -> u32;
}

/// Word `index` of a lock, which is made of words.
fn word<L>(lock: &L, index: usize) -> u32 {
    assert!((index + 1) * size_of::<AtomicU32>() <= size_of::<L>());
    // SAFETY: The word lies in the lock. It is accessed by atomics alone.
    unsafe { &*ptr::from_ref(lock).cast::<AtomicU32>().add(index) }.load(Relaxed)
}

impl InC for Twa<Park> {
    const BYTES: usize = 8;

    #[inline(always)]
    fn owner(&self) -> u32 {
        word(self, 1)
    }
}

impl InC for OneWordTwa<Park> {
    const BYTES: usize = 4;

    #[inline(always)]
    fn owner(&self) -> u32 {
        word(self, 0) & 0xffff
    }
}

macro_rules! functions {
    ($($type:ty: $lock:ident, $try_lock:ident, $unlock:ident, $is_locked:ident;)*) => { $(
        const _: () = {
            assert!(size_of::<$type>() == <$type as InC>::BYTES);
            assert!(align_of::<$type>() == 4);
        };

        /// Acquires.
        ///
        /// # Safety
        ///
        /// As the header says.
        #[no_mangle]
        pub unsafe extern "C" fn $lock(lock: *mut $type) {
            // SAFETY: The caller's lock is there. Its ticket goes back once, in `unlock`.
            unsafe { (*lock).lock(Park::process()) };
        }

        /// Acquires if nobody owns the lock or waits for it.
        ///
        /// # Safety
        ///
        /// As the header says.
        #[no_mangle]
        pub unsafe extern "C" fn $try_lock(lock: *mut $type) -> bool {
            // SAFETY: As above.
            unsafe { (*lock).try_lock(Park::process()) }.is_some()
        }

        /// Releases.
        ///
        /// # Safety
        ///
        /// As the header says: the caller owns the lock.
        #[no_mangle]
        pub unsafe extern "C" fn $unlock(lock: *mut $type) {
            // SAFETY: The caller is the owner.
            unsafe { (*lock).unlock(Park::process(), (*lock).owner()) };
        }

        /// Whether somebody owns the lock at some moment during the call.
        ///
        /// # Safety
        ///
        /// As the header says.
        #[no_mangle]
        pub unsafe extern "C" fn $is_locked(lock: *const $type) -> bool {
            // SAFETY: The caller's lock is there.
            unsafe { RawLock::<Process<Park>>::is_locked(&*lock) }
        }
    )* };
}

functions! {
    Twa<Park>: handover_twa_lock, handover_twa_try_lock, handover_twa_unlock, handover_twa_is_locked;
    OneWordTwa<Park>: handover_one_word_twa_lock, handover_one_word_twa_try_lock, handover_one_word_twa_unlock,
        handover_one_word_twa_is_locked;
}

/// Asks the kernel for the barrier that spares releases one: [`register_barrier`].
#[no_mangle]
pub extern "C" fn handover_register_barrier() -> bool {
    register_barrier()
}

/// No panic unwinds into C. There is one: more threads than tickets.
#[cfg(all(feature = "freestanding", not(test)))]
#[panic_handler]
fn panicked(_: &core::panic::PanicInfo<'_>) -> ! {
    const WHY: &[u8] = b"handover: more threads want a lock than it has tickets\n";
    // SAFETY: The bytes are there.
    unsafe {
        libc::write(2, WHY.as_ptr().cast(), WHY.len());
        libc::abort()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use handover_user::Free;

    /// Whatever the first ticket, the owner's is found: near the wrap of 16 bits, and of 32.
    #[test]
    fn the_owner_is_found_in_the_lock() {
        // SAFETY: Each ticket goes back once.
        let world = unsafe { Park::process() };
        for first in [0, 1, 0xfffe, 0xffff, 0x1_0000, u32::MAX - 1, u32::MAX] {
            let twa: Twa<Park> = twa_from(first);
            for _ in 0..4 {
                let ticket = twa.lock(world);
                assert_eq!(twa.owner(), ticket);
                twa.unlock(world, ticket);
            }
        }
        let one: OneWordTwa<Park> = Free::FREE;
        for turn in 0..0x1_0003_u32 {
            let ticket = one.lock(world);
            assert_eq!((one.owner(), ticket), (turn & 0xffff, turn & 0xffff));
            one.unlock(world, ticket);
        }
    }

    /// A free lock whose first ticket is this.
    fn twa_from(first: u32) -> Twa<Park> {
        Twa::new(
            handover_user::Cell::new(first),
            handover_user::Cell::new(first),
        )
    }
}
