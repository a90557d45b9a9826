// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What was set up: the configuration, what the kernel can be believed, and why not.

use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};
use std::io;

use crate::kernel::{Kernel, Linux};
use crate::selftest::Capabilities;

/// How rlock is set up. [`Config::default`] serves; [`init`](crate::init) takes another.
#[derive(Clone, Copy, Debug)]
pub struct Config {
    /// The signal that leads an owner out of a section that it was interrupted in.
    /// One below 32: those never fail for want of memory, and `stat` says whether a
    /// thread blocks them. `SIGURG` unless said otherwise: ignored by default, so that
    /// a stray one does no harm.
    pub signal: i32,
    /// After how many commits an owner gives up all that it owns (at least 1). A token counts its
    /// own commits, and the next token goes on from the token that was dropped last. Several tokens
    /// at a time have as many each. A token that is forgotten by [`core::mem::forget`] puts the end
    /// off.
    pub operations: u32,
    /// Which kernel is asked. For tests.
    #[doc(hidden)]
    pub kernel: &'static dyn Kernel,
    /// The generation with which a record begins its life. For tests near the end of
    /// the generations.
    #[doc(hidden)]
    pub first_generation: u64,
}

impl Default for Config {
    fn default() -> Self {
        Self {
            signal: libc::SIGURG,
            operations: 4096,
            kernel: &Linux,
            first_generation: 0,
        }
    }
}

/// Why rlock cannot be used, or a thread not be registered.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Already set up, by [`init`](crate::init) or by a first registration.
    #[error("rlock is set up already; init comes before every registration")]
    Initialised,
    /// Called in the course of [`init`](crate::init), by the thread that is in it: by an allocator, say.
    #[error("this thread is setting rlock up; use it when ready() says so")]
    Reentered,
    /// A configuration's value.
    #[error("{what} is {value}; allowed is {allowed}")]
    Config {
        /// Which.
        what: &'static str,
        /// What it is.
        value: i64,
        /// What it may be.
        allowed: &'static str,
    },
    /// Nothing here proves that an owner is not running, and there is no membarrier.
    #[error("no owner could ever be cancelled here: {0}")]
    NoEvidence(Capabilities),
    /// The handler cannot be installed.
    #[error("the handler of signal {signal} cannot be installed: {why}")]
    Handler {
        /// The signal.
        signal: i32,
        /// What the kernel said.
        why: io::Error,
    },
    /// The records' memory.
    #[error("no memory for owners' records: {0}")]
    Memory(#[from] rustix::io::Errno),
    /// The kernel does not wipe a page in the children of a fork. It needs `MADV_WIPEONFORK`, of
    /// Linux 4.14, which a sandbox may refuse. A child of a bare `clone` would take the records for
    /// its own.
    #[error("a fork would not be noticed: madvise(MADV_WIPEONFORK): {0}")]
    Fork(rustix::io::Errno),
    /// More than a million threads at once.
    #[error("all {} owners' records are in use", crate::word::MAX_RECORDS - 1)]
    Exhausted,
    /// Not the process that set rlock up, nor its child by `fork`.
    #[error("{}", crate::protocol::Busy::OtherProcess)]
    OtherProcess,
}

/// What every part of the crate looks at.
#[derive(Debug)]
pub(crate) struct Setup {
    pub(crate) config: Config,
    pub(crate) capabilities: Capabilities,
}

/// Set once, never freed.
static SETUP: AtomicPtr<Setup> = AtomicPtr::new(ptr::null_mut());

/// The set-up, if there is one. There is when a lock has an owner.
pub(crate) fn get() -> Option<&'static Setup> {
    // Acquire, pairs with the release of `publish`.
    // SAFETY: null or a set-up, which is never freed.
    unsafe { SETUP.load(Ordering::Acquire).as_ref() }
}

/// From now on it is the set-up, for ever.
pub(crate) fn publish(setup: Setup) -> &'static Setup {
    let setup = Box::leak(Box::new(setup));
    // Release, pairs with the acquire of `get`.
    SETUP.store(setup, Ordering::Release);
    setup
}

/// What the self-test found, if rlock is set up. Waits for nothing and sets nothing up. An
/// allocator asks this before it uses rlock, since [`init`](crate::init) and its threads allocate.
///
/// # Examples
///
/// ```
/// use rlock::{init, ready, Config};
///
/// assert!(ready().is_none());
/// init(Config::default())?;
/// assert!(ready().is_some_and(|found| found.has_proof() || found.membarrier.is_ok()));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn ready() -> Option<&'static Capabilities> {
    get().map(|setup| &setup.capabilities)
}
