// SPDX-License-Identifier: GPL-2.0-only

//! Experiments: one at a time, run by a control thread; its requests, its state
//! and its results.

use super::{
    facts,
    plan::{self, Plan},
    registry::Entry,
    report,
    run::Control,
    shim::{self, Thread},
    state::{End, Inner, Progress, State},
    torture::{self, Record},
    uncontended::{self, Bench},
};
use crate::{
    locks::Word as _,
    measure::{plan::Kind, verdict, watch::Every},
    spin::Word,
};
use kernel::{
    ffi::{c_int, c_void},
    new_condvar, new_mutex,
    prelude::*,
    sync::{Arc, CondVar, Mutex},
};

/// What an experiment's runs came to.
type Verdict = verdict::Verdict<&'static Entry>;

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
    /// pairs with the acquire in `Asked::stopping`.
    stop: Word,
}

impl Harness {
    /// A harness whose first experiment is `plan`, if that asks for one.
    pub(crate) fn new(plan: Plan) -> Result<Arc<Self>> {
        let first = plan::settle(plan)?;
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
            shares: KVVec::new(),
            latencies: KVVec::new(),
            samples: KVVec::new(),
            end: End::None,
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
        .inspect_err(|error| pr_err!("no room for the harness: {error:?}\n"))
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
                c"ho_control",
                0,
                None,
            )
        }
        .inspect_err(|error| pr_err!("no control thread: {error:?}\n"))?;
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
    /// EBUSY while one runs, and for everything once a lock hangs. EINVAL if the words
    /// are not allowed. ESHUTDOWN while the module goes. The log says why, and nothing
    /// changes then.
    pub(crate) fn command(&self, words: &str) -> Result {
        let mut inner = self.inner.lock();
        if inner.exit {
            pr_err!("control: the module is being unloaded\n");
            return Err(ESHUTDOWN);
        }
        if words.trim() == "stop" {
            match inner.state {
                State::Idle => {}
                State::Running => self.stop.store_release(1),
                State::Hung => return Err(busy(&inner)),
            }
            return Ok(());
        }
        if inner.state != State::Idle {
            return Err(busy(&inner));
        }
        let plan = plan::with(&self.base, words)?;
        inner.state = State::Running;
        inner.request = Some(plan);
        inner.plan = plan;
        inner.facts = None;
        inner.end = End::None;
        inner.outcomes.clear();
        inner.shares.clear();
        inner.latencies.clear();
        inner.samples.clear();
        drop(inner);
        self.wake.notify_all();
        Ok(())
    }

    /// Runs `plan` from its first run to its last, or until stopped.
    fn experiment(&self, plan: &Plan) {
        let control = Asked::new(self, plan);
        let facts = facts::gather(plan, &|| control.stopping());
        self.inner.lock().facts = Some(facts);
        pr_info!("--- Start of test: {facts}\n");
        pr_info!("workload: {plan}\n");
        let result = match plan.kind {
            Kind::None => Ok(Verdict::default()),
            // It was there when the plan was taken.
            Kind::Torture if plan.perturbations.latency != 0 && facts.clock.is_none() => {
                pr_err!("latency=1: the kernel trusts its time stamp counter no more\n");
                Err(EINVAL)
            }
            Kind::Torture => self.torture(plan, &control),
            Kind::Uncontended => self.uncontended(plan, &control),
        };

        let mut inner = self.inner.lock();
        inner.progress = None;
        if let Some(facts) = &mut inner.facts {
            facts.at_end(shim::stamp_khz());
            pr_info!("facts: {}\n", *facts);
        }
        let (ended, total) = (inner.ended(), plan.total_runs());
        let hung = result.as_ref().is_ok_and(|verdict| verdict.hung);
        inner.end = End::of(result, ended, total);
        if plan.is_verbose() && plan.kind == Kind::Torture {
            report::print_summary(&inner);
        }
        pr_info!("workload: {plan}\n");
        match inner.end {
            End::Failed(why) => {
                pr_err!("--- End of test: FAILURE: {ended} of {total} runs: {why}\n");
            }
            End::Stopped => {
                pr_info!("--- End of test: SUCCESS: {ended} of {total} runs, stopped\n")
            }
            End::Done | End::None => {
                pr_info!("--- End of test: SUCCESS: {ended} of {total} runs\n")
            }
        }
        inner.state = if hung { State::Hung } else { State::Idle };
        // What was said to this experiment is not said to the next.
        if !inner.exit {
            self.stop.store_release(0);
        }
    }

    /// All runs of all points, checked and counted.
    fn torture(&self, plan: &Plan, control: &Asked<'_>) -> Result<Verdict> {
        let mut verdict = Verdict::default();
        for number in 1..=plan.runs {
            // Interleaved, so that what disturbs one lock disturbs all.
            for writers in plan.writers() {
                // From one run to the next another lock is the first.
                let first = number as usize - 1;
                for lock in plan.locks_from(first) {
                    if verdict.hung {
                        return Ok(verdict);
                    }
                    if control.stopping() {
                        verdict.stopped = true;
                        return Ok(verdict);
                    }
                    // Room first: a verdict must not be lost for lack of it.
                    let mut record = Record::new(plan, writers)?;
                    {
                        let mut inner = self.inner.lock();
                        inner.outcomes.reserve(1, GFP_KERNEL)?;
                        inner.shares.reserve(writers as usize, GFP_KERNEL)?;
                        let latencies = Record::latencies(plan, writers);
                        inner.latencies.reserve(latencies, GFP_KERNEL)?;
                    }
                    let outcome = torture::run(plan, lock, writers, number, control, &mut record)?;
                    self.inner.lock().progress = None;
                    let Some(outcome) = outcome else {
                        verdict.stopped = true;
                        return Ok(verdict);
                    };
                    verdict.add(&outcome, control.stopping());
                    if plan.is_verbose() {
                        report::print_run(&outcome);
                    }
                    let away = outcome.perturbed.away;
                    let mut inner = self.inner.lock();
                    inner.outcomes.push(outcome, GFP_KERNEL)?;
                    inner.shares.extend_from_slice(&record.shares, GFP_KERNEL)?;
                    inner
                        .latencies
                        .extend_from_slice(&record.latencies, GFP_KERNEL)?;
                    if verdict.gives_up(away) {
                        pr_err!("{away} CPUs stay off line: the kernel does not bring them back\n");
                        return Err(EBUSY);
                    }
                }
            }
        }
        Ok(verdict)
    }

    /// All runs of the uncontended pairs.
    fn uncontended(&self, plan: &Plan, control: &Asked<'_>) -> Result<Verdict> {
        let bench = Bench::new(plan)?;
        let mut verdict = Verdict::default();
        for number in 0..plan.runs {
            if control.stopping() {
                verdict.stopped = true;
                break;
            }
            let sample = bench.sample(number as usize);
            if plan.is_verbose() {
                uncontended::print(&sample);
            }
            self.inner.lock().samples.push(sample, GFP_KERNEL)?;
        }
        Ok(verdict)
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

/// EBUSY, and a line in the log that says what runs or hangs.
fn busy(inner: &Inner) -> Error {
    match inner.state {
        State::Hung => pr_err!("control: busy: a lock hangs: {}\n", inner.plan),
        State::Running | State::Idle => pr_err!("control: busy: {}\n", inner.plan),
    }
    EBUSY
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

/// The experiment that runs, as its runs ask for it.
struct Asked<'a> {
    harness: &'a Harness,
    plan: &'a Plan,
    /// When a progress line is due.
    lines: core::cell::Cell<Every>,
}

impl<'a> Asked<'a> {
    fn new(harness: &'a Harness, plan: &'a Plan) -> Self {
        Self {
            harness,
            plan,
            lines: core::cell::Cell::new(Every::new(plan.stat_interval, shim::now_ns())),
        }
    }
}

impl Control for Asked<'_> {
    fn stopping(&self) -> bool {
        self.harness.stop.load_acquire() != 0
    }

    fn pin_module(&self) -> bool {
        // SAFETY: No requirements.
        unsafe { shim::handover_pin_module() }
    }

    // Exit still waits for the control thread, whose code this is.
    fn unpin_module(&self) {
        // SAFETY: Paired with `pin_module`.
        unsafe { shim::handover_unpin_module() };
    }

    fn progress(
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
        let (is_due, lines) = self.lines.get().look(shim::now_ns());
        self.lines.set(lines);
        if is_due {
            report::print_progress(&progress, self.plan);
        }
    }
}
