// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The calling thread's own owner, for callers that are not given one.
//!
//! It is kept by a key of the C library and not by `thread_local!`. At its first use, the
//! destructor of the latter waits for the loader's lock. A thread that waits for this one may
//! hold that lock.

use core::mem::ManuallyDrop;
use core::ptr;
use core::sync::atomic::{AtomicU64, Ordering};

use crate::found::Error;
use crate::owner::Owner;
use crate::setup;
use crate::signal;

/// The key, plus one; 0 while there is none.
static KEY: AtomicU64 = AtomicU64::new(0);

/// A thread's word: it has an owner's handle, which ends with it.
const REGISTERED: usize = 1;
/// A thread's word: it cannot have an owner, or has had it.
const NONE: usize = 2;

/// Calls `f` with the calling thread's own owner, which it gets at the first call and keeps until
/// it ends. `None` where it cannot have one, or has ended.
///
/// Costs some loads. The first call registers, and sets rlock up where that has not been done.
pub(crate) fn with<R>(f: impl FnOnce(&Owner) -> R) -> Option<R> {
    let key = key()?;
    match word(key) {
        REGISTERED => {}
        0 => register(key)?,
        _ => return None,
    }
    // SAFETY: the word stands for a handle, which is dropped at the thread's end alone.
    let owner = ManuallyDrop::new(unsafe { Owner::assume_registered() });
    Some(f(&owner))
}

#[cold]
fn register(key: libc::pthread_key_t) -> Option<()> {
    let keep = |word| set_word(key, word);
    match setup::get_or_default() {
        Ok(_) => {}
        // Of this moment: the thread may count when its set-up is over.
        Err(Error::Reentered) => return None,
        Err(_) => {
            keep(NONE);
            return None;
        }
    }
    // A handler that counts finds the word and the handle, or neither.
    let blocked = signal::block_all();
    if word(key) == 0 {
        match Owner::register() {
            Ok(owner) => {
                // Its last step lets rlock's own signal through, whose handler calls the one that
                // was there before. If that has counted, the word stands for its handle, and this
                // handle is dropped. So it is without memory for the word.
                let _blocked = signal::block_all();
                if word(key) == 0 && keep(REGISTERED) {
                    core::mem::forget(owner);
                }
            }
            // Of this process, which may share its memory with the one that registers.
            Err(Error::OtherProcess) => {}
            Err(_) => {
                keep(NONE);
            }
        }
    }
    drop(blocked);
    (word(key) == REGISTERED).then(signal::unblock)
}

/// Runs at the thread's end. The C library calls it again, some times, while there is a word. A
/// later count so finds that there was an owner.
extern "C" fn end(word: *mut libc::c_void) {
    // ThreadSanitizer's state of the thread is gone in the last round, where no function that it
    // instruments may run.
    let again = word.addr() == REGISTERED || !cfg!(rlock_replaced);
    if let (true, Some(key)) = (again, key()) {
        set_word(key, NONE);
    }
    if word.addr() == REGISTERED {
        // SAFETY: the word stands for a handle, and is no more.
        drop(unsafe { Owner::assume_registered() });
    }
}

/// The key; makes it at the first call. `None` when the process has no more.
#[inline]
fn key() -> Option<libc::pthread_key_t> {
    // Relaxed: the number is all that there is.
    match KEY.load(Ordering::Relaxed) {
        0 => make_key(),
        key => Some((key - 1) as libc::pthread_key_t),
    }
}

#[cold]
fn make_key() -> Option<libc::pthread_key_t> {
    let mut key = 0;
    // SAFETY: writes the key; `end` is as the C library asks, and stays loaded.
    if unsafe { libc::pthread_key_create(&mut key, Some(end)) } != 0 {
        return None;
    }
    let kept = KEY.compare_exchange(0, u64::from(key) + 1, Ordering::Relaxed, Ordering::Relaxed);
    kept.map_or_else(
        |first| {
            // SAFETY: no other thread has it.
            unsafe { libc::pthread_key_delete(key) };
            Some((first - 1) as libc::pthread_key_t)
        },
        |_| Some(key),
    )
}

fn word(key: libc::pthread_key_t) -> usize {
    // SAFETY: the key is there, and never deleted.
    unsafe { libc::pthread_getspecific(key) }.addr()
}

/// Whether there was memory for it.
fn set_word(key: libc::pthread_key_t, word: usize) -> bool {
    // SAFETY: as above.
    unsafe { libc::pthread_setspecific(key, ptr::without_provenance(word)) == 0 }
}
