// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! How an experiment ended.

/// What an experiment's runs came to.
///
/// # Examples
///
/// ```
/// use handover_measure::verdict::Verdict;
///
/// let verdict = Verdict::<&str>::default();
/// assert!(verdict.failed.is_none() && !verdict.stopped && !verdict.hung);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Verdict<L> {
    /// The first lock that failed a check.
    pub failed: Option<L>,
    /// A stop cut it short.
    pub stopped: bool,
    /// Some writer could not be stopped.
    pub hung: bool,
}

impl<L> Verdict<L> {
    /// Whether no more runs can come, for so many CPUs are gone. A lock that hangs outweighs it: the harness must stay shut
    /// then.
    ///
    /// # Examples
    ///
    /// ```
    /// use handover_measure::verdict::Verdict;
    ///
    /// let verdict = Verdict::<&str>::default();
    /// assert!(verdict.gives_up(1) && !verdict.gives_up(0));
    /// assert!(!Verdict { hung: true, ..verdict }.gives_up(1));
    /// ```
    pub fn gives_up(&self, away: u64) -> bool {
        away != 0 && !self.hung
    }
}

impl<L> Default for Verdict<L> {
    fn default() -> Self {
        Self {
            failed: None,
            stopped: false,
            hung: false,
        }
    }
}

/// How the last experiment ended.
///
/// # Examples
///
/// ```
/// use handover_measure::verdict::{End, Failure, Verdict};
///
/// let end = |verdict, ended| End::<&str, i32>::of(Ok(verdict), ended, 7);
/// assert_eq!(end(Verdict::default(), 7), End::Done);
/// assert_eq!(end(Verdict::default(), 6), End::Failed(Failure::Incomplete));
/// let stopped = Verdict { stopped: true, ..Verdict::default() };
/// assert_eq!(end(stopped, 6), End::Stopped);
/// let failed = Verdict { failed: Some("busted"), ..stopped };
/// assert_eq!(end(failed, 6), End::Failed(Failure::Checks("busted")));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End<L, E> {
    /// There was none, or it has not.
    None,
    /// All runs, to their end, and nothing failed.
    Done,
    /// A `stop`, or the module's removal, cut it short.
    Stopped,
    /// It is no success, and why.
    Failed(Failure<L, E>),
}

/// Why an experiment failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Failure<L, E> {
    /// Runs of this lock, and perhaps of others, failed a check.
    Checks(L),
    /// The kernel refused something.
    GivenUp(E),
    /// Runs are missing, for no known reason.
    Incomplete,
}

impl<L, E> End<L, E> {
    /// The end of an experiment in which `ended` of `total` runs came to their end. A check that
    /// failed outweighs a stop, and an error outweighs both.
    pub fn of(result: Result<Verdict<L>, E>, ended: u32, total: u32) -> Self {
        match result {
            Err(error) => Self::Failed(Failure::GivenUp(error)),
            Ok(verdict) => match verdict.failed {
                Some(lock) => Self::Failed(Failure::Checks(lock)),
                None if verdict.stopped => Self::Stopped,
                None if ended < total => Self::Failed(Failure::Incomplete),
                None => Self::Done,
            },
        }
    }
}

/// Whether a run of `ns` nanoseconds ended before its `seconds`. A run without a time
/// (0) always does.
pub fn is_cut(ns: u64, seconds: u32) -> bool {
    seconds == 0 || ns < u64::from(seconds) * 1_000_000_000
}
