// SPDX-License-Identifier: GPL-2.0-only

//! The harness: it tortures, checks and measures locks beside the kernel's own.
//!
//! Each file uses those above it alone. What needs no kernel lies in `rust/measure`.
//!
//! | file | what |
//! |---|---|
//! | `shim.c`, `shim.rs` | what Rust cannot reach, and its declarations |
//! | `hot.h` | where the locks' two calls lie in this module |
//! | `text.rs` | the kernel's formatting of what `measure` writes |
//! | `locktorture.c` | the hook of the kernel's locktorture, where it has one |
//! | `pairs.rs` | what an uncontended pair is to be read with: shape, layout |
//! | `subject.rs` | what can be tortured and timed; our locks as such |
//! | `kernels.rs` | the kernel's own locks as such |
//! | `times.rs` | stamps of the time stamp counter, and a writer's times |
//! | `arena.rs` | what writers share: the locks, what those protect, the course |
//! | `locktorture.rs` | what locktorture calls of a lock |
//! | `writer.rs` | a writer's loop and the checks in it |
//! | `interrupts.rs` | a timer's interrupt that takes the lock where a writer runs |
//! | `nested.rs` | the locks that a writer takes around the one of its section |
//! | `perturbed.rs` | the loop of a writer that is perturbed |
//! | `perturb.rs`, `perturb.c` | what is done to writers from outside; what Rust cannot reach of that |
//! | `registry.rs` | the locks that can be named |
//! | `offer.rs` | those locks, offered to locktorture |
//! | `plan.rs` | an experiment's parameters, of this machine and these locks |
//! | `stall.rs` | the watchdog over a run's writers |
//! | `run.rs` | what there is to a run: made, awaited, judged, ended |
//! | `torture.rs` | a run: start, measure, stop |
//! | `uncontended.rs` | runs of the uncontended pairs |
//! | `facts.rs`, `facts.c` | what a figure must be read with; which slow path spinlocks have |
//! | `state.rs` | what requests, results and readers share |
//! | `report.rs` | what dmesg and debugfs say, alike |
//! | `control.rs` | experiments: the control thread, its requests and results |
//! | `files.rs` | debugfs |

pub(crate) mod arena;
mod control;
pub(crate) mod facts;
mod files;
pub(crate) mod interrupts;
pub(crate) mod kernels;
pub(crate) mod locktorture;
mod nested;
mod offer;
pub(crate) mod pairs;
mod perturb;
pub(crate) mod perturbed;
pub(crate) mod plan;
pub(crate) mod registry;
mod report;
pub(crate) mod run;
pub(crate) mod shim;
pub(crate) mod stall;
mod state;
pub(crate) mod subject;
mod text;
pub(crate) mod times;
pub(crate) mod torture;
mod uncontended;
pub(crate) mod writer;

use self::{control::Harness, files::Files, offer::Offer};
use kernel::{prelude::*, sync::Arc};

/// The module: an experiment that starts with it, and the files to start more.
pub(crate) struct Module {
    /// Gone first at exit: then no other experiment can be asked for.
    files: Option<Files>,
    harness: Arc<Harness>,
    /// Held by locktorture no more when this module goes.
    _offer: Offer,
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
            // SAFETY: This is the module's init, in which nothing fails from here on. The offer goes with the module.
            _offer: unsafe { Offer::new() },
        })
    }
}

impl Drop for Module {
    fn drop(&mut self) {
        self.files = None;
        self.harness.shut_down();
    }
}
