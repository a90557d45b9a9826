// SPDX-License-Identifier: GPL-2.0-only

//! An experiment's parameters: what `measure` makes of them, of this machine and these locks.

use super::{
    pairs,
    registry::{Entry, LOCKS},
    shim,
    text::displayed,
};
use crate::measure::{
    lock::Listed,
    perturb::{Asked, Cpus},
    plan::{self, MAX_LOCKS},
};
use kernel::{prelude::*, str::CStr};

const _: () = assert!(
    LOCKS.len() <= MAX_LOCKS,
    "MAX_LOCKS has no room for every lock of LOCKS"
);

impl Listed for Entry {
    const NICE: i32 = shim::NICE;
    const PAIRS: u32 = pairs::PAIRS;

    fn list() -> &'static [Self] {
        LOCKS
    }

    fn name(&self) -> &'static str {
        self.name
    }

    fn is_usual(&self) -> bool {
        self.is_usual
    }

    fn is_in_all(&self) -> bool {
        self.excludes && !self.is_irq
    }

    fn has_pair(&self) -> bool {
        self.excludes
    }
}

/// What an experiment is to do. Its display is the workload.
pub(crate) type Plan = plan::Plan<Entry>;

displayed!(Plan, plan::Refused<'_, Entry>, Asked, Cpus);

/// EINVAL, and a line in the log that says what is allowed.
fn refused(why: plan::Refused<'_, Entry>) -> Error {
    pr_err!("{why}\n");
    EINVAL
}

/// `plan`, changed by `name=value` words separated by blanks, and settled.
pub(crate) fn with(plan: &Plan, words: &str) -> Result<Plan> {
    settle(plan.with(words).map_err(refused)?)
}

/// A plan to run: draws what was left to be drawn, counts the CPUs.
pub(crate) fn settle(mut plan: Plan) -> Result<Plan> {
    // SAFETY: No requirements.
    let draw = || unsafe { shim::handover_random() };
    if plan.settle(shim::online_cpus(), draw).map_err(refused)? {
        pr_notice!(
            "duration=0: only {} with {} writers runs, until it is stopped\n",
            plan.locks().next().map_or("", |lock| lock.name),
            plan.writers().next().unwrap_or(0)
        );
    }
    let perturbations = &plan.perturbations;
    if let Some(cpus) = perturbations.bind_writers {
        if !shim::any_online(cpus) {
            pr_err!("bind_writers={cpus}: allowed: CPUs of which one is online\n");
            return Err(EINVAL);
        }
    }
    if perturbations.irq_interval != 0 {
        if let Some(lock) = plan.locks().find(|lock| !lock.is_irq) {
            pr_err!(
                "irq_interval={}: allowed: 0 with {}; more with locks whose names end in _irq\n",
                perturbations.irq_interval,
                lock.name
            );
            return Err(EINVAL);
        }
    }
    if perturbations.latency != 0 && shim::stamp_khz().is_none() {
        pr_err!("latency=1: allowed: 0; the kernel does not trust its time stamp counter\n");
        return Err(EINVAL);
    }
    if perturbations.onoff_interval != 0 && !cfg!(CONFIG_HOTPLUG_CPU) {
        pr_err!(
            "onoff_interval={}: allowed: 0; this kernel has no CPU hotplug\n",
            perturbations.onoff_interval
        );
        return Err(EINVAL);
    }
    Ok(plan)
}

/// The plan that `insmod`'s parameters ask for, not settled yet.
pub(crate) fn from_parameters() -> Result<Plan> {
    let mut plan = Plan::default();
    for name in Plan::names() {
        // SAFETY: The name is valid for its length.
        let value = unsafe { shim::handover_param(name.as_ptr().cast(), name.len()) };
        if value.is_null() {
            continue;
        }
        // SAFETY: A string parameter is a C string that stays while the module is
        // loaded.
        let value = unsafe { CStr::from_char_ptr(value) };
        let value = value.to_str().map_err(|_| {
            pr_err!("{name}: not text\n");
            EINVAL
        })?;
        plan.set(name, value.trim()).map_err(refused)?;
    }
    Ok(plan)
}
