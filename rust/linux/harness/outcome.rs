// SPDX-License-Identifier: GPL-2.0-only

//! What a run came to, and its statistics.

use super::registry::Entry;
use crate::measure::{statistics, verdict, words::Checks};

/// What a run came to.
#[derive(Clone, Copy)]
pub(crate) struct Outcome {
    pub(crate) lock: &'static Entry,
    pub(crate) writers: u32,
    /// From 1 on.
    pub(crate) run: u32,
    /// The time in which all writers ran.
    pub(crate) ns: u64,
    /// Acquisitions in that time: all writers', the least, the most.
    pub(crate) acquisitions: u64,
    pub(crate) min: u64,
    pub(crate) max: u64,
    /// Jain's index of the writers' acquisitions, in millionths.
    pub(crate) jain_ppm: u64,
    pub(crate) owner_failures: u64,
    /// How far the plain counter was from the sum of acquisitions.
    pub(crate) counter_failures: u64,
    pub(crate) order_failures: u64,
    /// Writers that stalled.
    pub(crate) progress_failures: u64,
    /// Writers that could not be stopped.
    pub(crate) hung: u64,
    /// Time that the hypervisor took from all CPUs.
    pub(crate) steal_ns: u64,
    /// What the writers did, as they were told it.
    pub(crate) cs_steps: u32,
    pub(crate) ncs_steps: u32,
    pub(crate) checks: Checks,
    /// What was asked for; `ns` is what it came to.
    pub(crate) duration: u32,
    pub(crate) stall_secs: u32,
    /// The experiment's seed, to which the run's number is added.
    pub(crate) seed: u64,
    /// The first writer's nice value; all have the same.
    pub(crate) nice: i32,
    /// The first ticket, of a lock that has tickets.
    pub(crate) first_ticket: Option<u32>,
}

impl Outcome {
    /// All failures.
    pub(crate) fn failures(&self) -> u64 {
        self.owner_failures
            .saturating_add(self.counter_failures)
            .saturating_add(self.order_failures)
            .saturating_add(self.progress_failures)
            .saturating_add(self.hung)
    }

    /// Whether the run ended before its time. A run without a time always does.
    pub(crate) fn is_cut(&self) -> bool {
        verdict::is_cut(self.ns, self.duration)
    }

    /// Acquisitions a second.
    pub(crate) fn rate(&self) -> u64 {
        statistics::per_second(self.acquisitions, self.ns)
    }
}
