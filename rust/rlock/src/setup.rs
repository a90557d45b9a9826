// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Once a process: what the kernel is, what of it can be believed, and the handler.

use core::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use crate::fork;
use crate::found::{self, Config, Error, Setup};
use crate::kernel::tid;
use crate::selftest::{self, Capabilities};
use crate::signal;
use crate::word::LAST_GENERATION;

/// The thread that sets up now, and its process in the upper half; 0: none does.
static BEGINNING: AtomicU64 = AtomicU64::new(0);

/// Only one thread at a time sets up. Not a mutex: one that a thread holds over another
/// thread's fork stays locked in the child, for ever.
struct Beginning;

impl Beginning {
    /// Waits for a thread of this process, and for no other's: that one is not here.
    fn wait() -> Result<Self, Error> {
        let pid = std::process::id();
        let me = (u64::from(pid) << 32) | u64::from(tid());
        loop {
            let holder = BEGINNING.load(Ordering::Relaxed);
            if holder == me {
                return Err(Error::Reentered);
            }
            if holder >> 32 != u64::from(pid) {
                // Acquire, pairs with the release of the thread that set up before.
                let taken =
                    BEGINNING.compare_exchange(holder, me, Ordering::Acquire, Ordering::Relaxed);
                if taken.is_ok() {
                    return Ok(Self);
                }
            }
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

impl Drop for Beginning {
    fn drop(&mut self) {
        BEGINNING.store(0, Ordering::Release);
    }
}

/// The set-up; makes the default one.
pub(crate) fn get_or_default() -> Result<&'static Setup, Error> {
    match found::get() {
        Some(setup) => Ok(setup),
        None => match init(Config::default()) {
            // Another thread's init came between: it serves as well.
            Ok(_) | Err(Error::Initialised) => Ok(found::get().expect("set above")),
            Err(why) => Err(why),
        },
    }
}

/// Sets rlock up: installs the signal's handler, tests what can be believed, and says
/// what it found. Before any registration; the first registration does it with
/// [`Config::default`] otherwise.
///
/// Costs some milliseconds and two threads, one after the other, once a process. Waits for each no
/// longer than five seconds, also in the constructor of a library that is being loaded. What is not
/// tested by then is not used. Nothing stays when it fails. Not for signal handlers. A handler that
/// interrupts it must not leave it for good by `siglongjmp`: other threads wait for its end.
///
/// # Examples
///
/// ```
/// use rlock::{init, Config};
///
/// let found = init(Config { operations: 1000, ..Config::default() })?;
/// println!("{found}");
/// // Once a process.
/// assert!(init(Config::default()).is_err());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn init(config: Config) -> Result<&'static Capabilities, Error> {
    let _one = Beginning::wait()?;
    if found::get().is_some() {
        return Err(Error::Initialised);
    }
    if !(1..32).contains(&config.signal) {
        return Err(Error::Config {
            what: "signal",
            value: i64::from(config.signal),
            allowed: "1 to 31",
        });
    }
    if config.operations == 0 {
        return Err(Error::Config {
            what: "operations",
            value: 0,
            allowed: "1 and more",
        });
    }
    if config.first_generation >= LAST_GENERATION - 1 {
        return Err(Error::Config {
            what: "first_generation",
            value: i64::try_from(config.first_generation).unwrap_or(i64::MAX),
            allowed: "0 to 2199023255549",
        });
    }
    let before = signal::install(config.signal).map_err(|why| Error::Handler {
        signal: config.signal,
        why,
    })?;
    let give_back = |why| {
        if let Some(before) = &before {
            signal::uninstall(before);
        }
        why
    };
    fork::prepare(config.kernel.pid()).map_err(give_back)?;
    let found = selftest::test(config.kernel, config.signal);
    let capabilities = found.capabilities;
    if !capabilities.has_proof() && capabilities.membarrier.is_err() {
        let why = Error::NoEvidence(capabilities);
        // A late thread may still send itself the signal, whose default action may be to end
        // the process: the handler stays then.
        return Err(if found.is_late { why } else { give_back(why) });
    }
    Ok(&found::publish(Setup {
        config,
        capabilities,
    })
    .capabilities)
}

/// What the self-test found. The first call tests and sets up.
pub fn capabilities() -> Result<&'static Capabilities, Error> {
    get_or_default().map(|setup| &setup.capabilities)
}
