// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A shared library that uses rlock: in its constructor, as `RLOCK_PLUGIN` says, and when it is
//! called.

use std::ptr;

use rlock::{Counter, Owner, PerCpu, Slot};

static COUNTER: Counter = Counter::new();
static BYTES: PerCpu<Slot> = PerCpu::new(|| Slot::new(0));

/// Called by the loader, which holds its lock.
#[used]
#[link_section = ".init_array"]
static CONSTRUCTOR: extern "C" fn() = construct;

extern "C" fn construct() {
    match std::env::var("RLOCK_PLUGIN").as_deref() {
        Ok("counts") => COUNTER.add(1),
        Ok("registers") => {
            let Ok(owner) = Owner::register() else { return };
            let Ok(mut bytes) = BYTES.acquire(&owner) else {
                return;
            };
            let _ = bytes.add(|bytes| bytes, 1);
        }
        Ok("starts a thread") => in_a_thread(count),
        _ => {}
    }
}

extern "C" fn count(_: *mut libc::c_void) -> *mut libc::c_void {
    COUNTER.add(1);
    ptr::null_mut()
}

/// Not `std`'s, which waits for the loader's lock.
fn in_a_thread(body: extern "C" fn(*mut libc::c_void) -> *mut libc::c_void) {
    // SAFETY: a thread of this function, which waits for its end.
    unsafe {
        let mut thread = 0;
        if libc::pthread_create(&mut thread, ptr::null(), body, ptr::null_mut()) == 0 {
            libc::pthread_join(thread, ptr::null_mut());
        }
    }
}

/// Counts, in a thread that then ends.
#[no_mangle]
pub extern "C" fn rlock_plugin_use() {
    in_a_thread(count);
}

/// Whether the set-up found everything that can be believed elsewhere.
#[no_mangle]
pub extern "C" fn rlock_plugin_is_whole() -> bool {
    rlock::ready().is_some_and(|found| {
        found.membarrier.is_ok()
            && found.handler.is_ok()
            && found.switches.is_ok()
            && found.not_runnable.is_ok()
            && found.same_cpu.is_ok()
    })
}

/// What was counted, also by the constructor.
#[no_mangle]
pub extern "C" fn rlock_plugin_sum() -> u64 {
    COUNTER.sum() + BYTES.iter().map(Slot::load).sum::<u64>()
}
