// SPDX-License-Identifier: GPL-2.0-only

//! What requests, results and readers share: where the harness stands.

use super::{
    facts::Facts, plan::Plan, registry::Entry, shim::Thread, text::put, uncontended::Sample,
};
use crate::measure::{latency::Latency, outcome, verdict};
use kernel::{
    fmt::{self, Display, Formatter},
    prelude::*,
};

/// The state of the control thread.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum State {
    /// Nothing runs; a request is taken.
    Idle,
    /// An experiment runs or is about to.
    Running,
    /// A lock hangs: the module stays, no experiment can be started.
    Hung,
}

/// How the last experiment ended.
pub(crate) type End = verdict::End<&'static Entry, Error>;

/// Why an experiment failed.
pub(crate) type Failure = verdict::Failure<&'static Entry, Error>;

impl Display for Failure {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::Checks(lock) => put!(f, "{} failed its checks", lock.name),
            Self::GivenUp(error) => put!(f, "given up: {error:?}"),
            Self::Incomplete => f.write_str("runs are missing"),
        }
    }
}

/// What a run looks like while it runs.
pub(crate) type Progress = outcome::Progress<Entry>;

/// What requests, results and readers share.
pub(crate) struct Inner {
    pub(crate) state: State,
    pub(crate) request: Option<Plan>,
    pub(crate) control: Option<Thread>,
    /// Set once, to end the control thread.
    pub(crate) exit: bool,
    /// The plan of the experiment that runs, or ran last.
    pub(crate) plan: Plan,
    pub(crate) facts: Option<Facts>,
    pub(crate) progress: Option<Progress>,
    /// Runs that are over, in order, of the experiment that runs or ran last.
    pub(crate) outcomes: KVVec<outcome::Outcome<Entry>>,
    /// What the writers of those runs did, one run's after the other's.
    pub(crate) shares: KVVec<outcome::Share>,
    /// The times of those writers, where they were taken.
    pub(crate) latencies: KVVec<Latency>,
    /// The same for uncontended pairs.
    pub(crate) samples: KVVec<Sample>,
    /// How the experiment that ran last ended.
    pub(crate) end: End,
}

impl Inner {
    /// Runs that are over.
    pub(crate) fn ended(&self) -> u32 {
        (self.outcomes.len() + self.samples.len()) as u32
    }
}
