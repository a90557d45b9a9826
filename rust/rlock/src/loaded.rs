// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A shared library with rlock in it stays loaded. The signal's handler and `fork`'s are in it, and
//! any thread may own a lock when the library is closed.
//!
//! It pins itself at its loading, since the loader's lock is the calling thread's then. A later
//! first use would wait for that lock: for ever, where a library's constructor waits for it.

use core::mem::MaybeUninit;

/// Called by the loader, before those constructors that have no priority.
///
/// [`signal::install`](crate::signal::install) names it. A linker takes from an archive (a static
/// library in Rust) only the parts that are named.
#[used]
#[link_section = ".init_array.00101"]
pub(crate) static CONSTRUCTOR: extern "C" fn() = stay;

/// Keeps the library that this code is in from being unloaded. The main program stays anyway.
///
/// Cannot fail where it matters: a library that is loaded is found.
extern "C" fn stay() {
    let Some(here) = object(stay as extern "C" fn() as usize) else {
        return;
    };
    // SAFETY: reads a word that the kernel left: where the main program's headers are.
    let program = object(unsafe { libc::getauxval(libc::AT_PHDR) } as usize);
    if program.is_some_and(|program| program.dli_fbase == here.dli_fbase) {
        return;
    }
    let mode = libc::RTLD_LAZY | libc::RTLD_NOLOAD | libc::RTLD_NODELETE;
    // SAFETY: the library's name, as the loader has it. It is loaded, so that nothing is run.
    unsafe { libc::dlopen(here.dli_fname, mode) };
}

/// The program or library in which `at` is.
fn object(at: usize) -> Option<libc::Dl_info> {
    let mut info = MaybeUninit::<libc::Dl_info>::uninit();
    // SAFETY: looks for an address, and writes what it found.
    unsafe { (libc::dladdr(at as *const _, info.as_mut_ptr()) != 0).then(|| info.assume_init()) }
}
