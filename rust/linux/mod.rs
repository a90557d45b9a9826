// SPDX-License-Identifier: GPL-2.0

//! The kernel world: the locks as `kernel::sync` types, and their harness.
//!
//! | file | what |
//! |---|---|
//! | `word.rs` | the 32-bit cell, the waiting array |
//! | `lock.rs` | [`TicketLock`], [`TwaLock`]: `Backend`s with preemption and lockdep |
//! | `subject.rs` | what can be tortured, behind one call shape |
//! | `plan.rs` | an experiment's parameters, read and checked |
//! | `writer.rs` | a writer's loop and the checks in it |
//! | `torture.rs` | one run: start, measure, stop, judge |
//! | `stall.rs` | the watchdog over a run's writers |
//! | `harness.rs` | experiments: the control thread, its requests and results |
//! | `bench.rs` | the uncontended pair |
//! | `report.rs` | rows and tables, for dmesg and debugfs alike |
//! | `facts.rs` | what a figure must be read with; which slow path spinlocks have |
//! | `files.rs` | debugfs |
//! | `kunit.rs` | KUnit suites |
//! | `shim.c`, `shim.rs` | what Rust cannot reach, and its declarations |

mod bench;
mod facts;
mod files;
mod harness;
#[cfg(CONFIG_KUNIT = "y")]
mod kunit;
mod lock;
mod plan;
mod report;
mod shim;
mod stall;
mod subject;
mod torture;
mod word;
mod writer;

pub use self::lock::{
    new_ticket_lock, new_twa_lock, TicketBackend, TicketLock, TicketLockGuard, TwaBackend, TwaLock,
    TwaLockGuard,
};
pub use self::word::{Linux, Word};

use self::{files::Files, harness::Harness};
use kernel::{prelude::*, sync::Arc};

/// The module: an experiment that starts with it, and the files to start more.
pub struct Module {
    /// Gone first at exit: then nobody can ask for another experiment.
    files: Option<Files>,
    harness: Arc<Harness>,
}

impl kernel::Module for Module {
    fn init(_: &'static ThisModule) -> Result<Self> {
        let plan = plan::from_parameters()?;
        let harness = Harness::new(plan)?;
        let files = Files::new(harness.clone())?;
        // SAFETY: Nothing fails from here on; `drop` shuts the harness down.
        unsafe { harness.start() }?;
        files.show();
        Ok(Self {
            files: Some(files),
            harness,
        })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        self.files = None;
        self.harness.shut_down();
    }
}
