// SPDX-License-Identifier: GPL-2.0

//! Experiments: one at a time, run by a control thread; its requests, its state
//! and its results.

use super::{
    bench::{self, Bench},
    facts::{self, Facts},
    plan::{Kind, Plan},
    report,
    shim::{self, Thread},
    subject::Entry,
    torture::{self, Outcome},
    word::Word,
};
use crate::locks::Word as _;
use kernel::{
    ffi::{c_int, c_void},
    new_condvar, new_mutex,
    prelude::*,
    sync::{Arc, CondVar, Mutex},
};

/// Where the control thread stands.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing runs; a request is taken.
    Idle,
    /// An experiment runs or is about to.
    Running,
    /// A lock hangs: the module stays, no experiment can be started.
    Hung,
}

/// What a run looks like while it runs.
#[derive(Clone, Copy)]
pub(crate) struct Progress {
    pub(crate) lock: &'static Entry,
    pub(crate) writers: u32,
    pub(crate) run: u32,
    pub(crate) elapsed_ms: u64,
    pub(crate) acquisitions: u64,
}

/// What requests, results and readers share.
pub(crate) struct Inner {
    pub(crate) state: State,
    request: Option<Plan>,
    control: Option<Thread>,
    /// Set once, to end the control thread.
    exit: bool,
    /// The plan of the experiment that runs, or ran last.
    pub(crate) plan: Plan,
    pub(crate) facts: Option<Facts>,
    pub(crate) progress: Option<Progress>,
    /// Runs that are over, in order, of the experiment that runs or ran last.
    pub(crate) outcomes: KVVec<Outcome>,
    /// The same for uncontended pairs.
    pub(crate) samples: KVVec<bench::Sample>,
    /// Whether the experiment was stopped before its end.
    pub(crate) stopped: bool,
}

impl Inner {
    /// Runs that are over.
    pub(crate) fn ended(&self) -> u32 {
        (self.outcomes.len() + self.samples.len()) as u32
    }
}

/// What an experiment came to.
#[derive(Default)]
struct Verdict {
    /// Some run failed a check.
    failed: bool,
    /// Some writer could not be stopped.
    hung: bool,
}

/// The harness.
#[pin_data]
pub(crate) struct Harness {
    #[pin]
    pub(crate) inner: Mutex<Inner>,
    #[pin]
    wake: CondVar,
    /// What `insmod` asked for; requests change it word by word.
    base: Plan,
    /// Set to end the experiment that runs. Written under the mutex; release,
    /// pairs with the acquire in `Control::stopping`.
    stop: Word,
}

impl Harness {
    /// A harness whose first experiment is `plan`, if that asks for one.
    pub(crate) fn new(plan: Plan) -> Result<Arc<Self>> {
        let first = plan.settle()?;
        let active = first.kind != Kind::None;
        let inner = Inner {
            state: if active { State::Running } else { State::Idle },
            request: active.then_some(first),
            control: None,
            exit: false,
            plan: first,
            facts: None,
            progress: None,
            outcomes: KVVec::new(),
            samples: KVVec::new(),
            stopped: false,
        };
        Arc::pin_init(
            pin_init!(Self {
                inner <- new_mutex!(inner),
                wake <- new_condvar!(),
                base: plan,
                stop: Word::new(0),
            }),
            GFP_KERNEL,
        )
    }

    /// Starts the control thread.
    ///
    /// # Safety
    ///
    /// [`Harness::shut_down`] must be called before the harness goes.
    pub(crate) unsafe fn start(self: &Arc<Self>) -> Result {
        // SAFETY: `control` expects a harness, which lives until `shut_down` has
        // stopped the thread, by this function's contract; and ends with
        // `await_stop`.
        let thread = unsafe {
            Thread::create(
                control,
                Arc::as_ptr(self).cast_mut().cast(),
                c"handover_control",
                0,
                None,
            )
        }?;
        thread.start();
        self.inner.lock().control = Some(thread);
        Ok(())
    }

    /// Ends what runs, and the control thread. For module exit.
    pub(crate) fn shut_down(&self) {
        let control = {
            let mut inner = self.inner.lock();
            inner.exit = true;
            self.stop.store_release(1);
            inner.control.take()
        };
        self.wake.notify_all();
        if let Some(control) = control {
            control.stop();
        }
    }

    /// Asks for another experiment: `insmod`'s, changed by `words`; or `stop`.
    ///
    /// EBUSY while one runs, and for everything once a lock hangs; EINVAL, and a
    /// line in the log, if the words are not allowed. Nothing changes then.
    pub(crate) fn command(&self, words: &str) -> Result {
        let mut inner = self.inner.lock();
        if inner.exit {
            return Err(ESHUTDOWN);
        }
        if words.trim() == "stop" {
            match inner.state {
                State::Idle => {}
                State::Running => self.stop.store_release(1),
                State::Hung => return Err(EBUSY),
            }
            return Ok(());
        }
        if inner.state != State::Idle {
            return Err(EBUSY);
        }
        let plan = self.base.with(words)?;
        inner.state = State::Running;
        inner.request = Some(plan);
        inner.plan = plan;
        inner.facts = None;
        inner.stopped = false;
        inner.outcomes.clear();
        inner.samples.clear();
        drop(inner);
        self.wake.notify_all();
        Ok(())
    }

    /// Runs `plan` from its first run to its last, or until stopped.
    fn experiment(&self, plan: &Plan) {
        let facts = facts::gather(plan);
        self.inner.lock().facts = Some(facts);
        pr_info!("--- Start of test: {}\n", facts);
        let control = Control::new(self, plan);
        let verdict = match plan.kind {
            Kind::None => Ok(Verdict::default()),
            Kind::Torture => self.torture(plan, &control),
            Kind::Uncontended => self.uncontended(plan, &control),
        };
        let Verdict { failed, hung } = verdict.unwrap_or_else(|error| {
            pr_err!("given up: {error:?}\n");
            Verdict {
                failed: true,
                hung: false,
            }
        });

        let mut inner = self.inner.lock();
        inner.progress = None;
        inner.stopped = control.stopping();
        if let Some(facts) = &mut inner.facts {
            facts.at_end();
        }
        // Incomplete although nobody asked to end: nothing that can be called a success.
        let failed = failed || (inner.ended() < plan.total_runs() && !inner.stopped);
        if plan.verbose && plan.kind == Kind::Torture {
            report::print_summary(&inner);
        }
        let ended = inner.ended();
        let verdict = if failed { "FAILURE" } else { "SUCCESS" };
        pr_info!(
            "--- End of test: {verdict}: {ended} of {} runs\n",
            plan.total_runs()
        );
        inner.state = if hung { State::Hung } else { State::Idle };
        // What was said to this experiment is not said to the next.
        if !inner.exit {
            self.stop.store_release(0);
        }
    }

    /// All runs of all points, checked and counted.
    fn torture(&self, plan: &Plan, control: &Control<'_>) -> Result<Verdict> {
        let mut verdict = Verdict::default();
        for number in 1..=plan.runs {
            // Interleaved, so that what disturbs one lock disturbs all.
            for writers in plan.writers() {
                // From one run to the next another lock is the first.
                let first = number as usize - 1;
                for lock in plan.locks_from(first) {
                    if control.stopping() || verdict.hung {
                        return Ok(verdict);
                    }
                    // Room first: a verdict must not be lost for lack of it.
                    self.inner.lock().outcomes.reserve(1, GFP_KERNEL)?;
                    let outcome = torture::run(plan, lock, writers, number, control)?;
                    self.inner.lock().progress = None;
                    let Some(outcome) = outcome else {
                        return Ok(verdict);
                    };
                    verdict.hung |= outcome.hung != 0;
                    verdict.failed |= outcome.failures() != 0;
                    if plan.verbose {
                        report::print_run(&outcome);
                    }
                    self.inner.lock().outcomes.push(outcome, GFP_KERNEL)?;
                }
            }
        }
        Ok(verdict)
    }

    /// All runs of the uncontended pairs.
    fn uncontended(&self, plan: &Plan, control: &Control<'_>) -> Result<Verdict> {
        let bench = Bench::new()?;
        for number in 0..plan.runs {
            if control.stopping() {
                break;
            }
            let sample = bench.sample(number as usize);
            if plan.verbose {
                bench::print(&sample);
            }
            self.inner.lock().samples.push(sample, GFP_KERNEL)?;
        }
        Ok(Verdict::default())
    }

    /// The control thread's life: requests, until the end.
    fn serve(&self) {
        let mut inner = self.inner.lock();
        while !inner.exit {
            match inner.request.take() {
                Some(plan) => {
                    drop(inner);
                    self.experiment(&plan);
                    inner = self.inner.lock();
                }
                None => {
                    // Woken by a request, by `shut_down`, or for nothing.
                    let _ = self.wake.wait_interruptible(&mut inner);
                }
            }
        }
    }
}

/// The control thread.
///
/// # Safety
///
/// `arg` must point to a harness that stays until the thread is stopped.
unsafe extern "C" fn control(arg: *mut c_void) -> c_int {
    // SAFETY: By this function's contract.
    unsafe { &*arg.cast::<Harness>() }.serve();
    // SAFETY: This is a kthread.
    unsafe { shim::await_stop() };
    0
}

/// What a run may ask of its harness.
pub(crate) struct Control<'a> {
    harness: &'a Harness,
    plan: &'a Plan,
    /// When the last progress line was printed.
    printed: core::cell::Cell<u64>,
}

impl<'a> Control<'a> {
    fn new(harness: &'a Harness, plan: &'a Plan) -> Self {
        Self {
            harness,
            plan,
            printed: core::cell::Cell::new(shim::now_ns()),
        }
    }

    /// Whether the experiment is to end.
    pub(crate) fn stopping(&self) -> bool {
        self.harness.stop.load_acquire() != 0
    }

    /// Keeps the module loaded. False if it is being unloaded.
    pub(crate) fn pin_module(&self) -> bool {
        // SAFETY: No requirements.
        unsafe { shim::handover_pin_module() }
    }

    /// Takes back a successful [`Control::pin_module`]. Exit still waits for the
    /// control thread, whose code this is.
    pub(crate) fn unpin_module(&self) {
        // SAFETY: Paired with `pin_module`.
        unsafe { shim::handover_unpin_module() };
    }

    /// Publishes how far a run is.
    pub(crate) fn progress(
        &self,
        lock: &'static Entry,
        writers: u32,
        run: u32,
        elapsed_ms: u64,
        acquisitions: impl FnOnce() -> u64,
    ) {
        let progress = Progress {
            lock,
            writers,
            run,
            elapsed_ms,
            acquisitions: acquisitions(),
        };
        self.harness.inner.lock().progress = Some(progress);
        let now = shim::now_ns();
        let interval = u64::from(self.plan.stat_interval) * 1_000_000_000;
        if interval != 0 && now.saturating_sub(self.printed.get()) >= interval {
            self.printed.set(now);
            report::print_progress(&progress, self.plan);
        }
    }
}
