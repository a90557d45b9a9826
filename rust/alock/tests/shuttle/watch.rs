// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What an observer sees of one lock without being part of the schedule, and what must
//! always hold of it.

use std::collections::VecDeque;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex};

use alock::ptr::Cohort;

/// What all schedules of a search showed; that a check had something to check.
#[derive(Debug, Default)]
pub(crate) struct Shown {
    pub(crate) entries: AtomicU64,
    /// Most entries of a cohort while the other's first waited.
    pub(crate) bypass: [AtomicU64; 2],
    /// The most of those where the place of the other's first was handed on meanwhile.
    pub(crate) bypass_of_heirs: [AtomicU64; 2],
    pub(crate) gave_up: [AtomicU64; 2],
    /// A digest of which thread entered when.
    pub(crate) trace: AtomicU64,
}

#[derive(Default)]
struct State {
    holder: Option<u64>,
    /// Descriptors of each cohort in the order of their swaps, without those that are through.
    /// `true` marks a thread that only tries, which may have given up unseen.
    queues: [VecDeque<(u64, bool)>; 2],
    trying: Vec<u64>,
    entries: [u64; 2],
    /// The other cohort's entries when a waiting cohort's first found it inside.
    since: [Option<u64>; 2],
    /// Since then one gave up, and another thread was behind.
    inherited: [bool; 2],
}

impl State {
    /// First come, first served: `who` is the first of its queue, and is through now. One
    /// before it that only tried has left, and was not heard of yet.
    fn first_is(&mut self, cohort: Cohort, who: u64) {
        loop {
            match self.queues[cohort as usize].pop_front() {
                Some((first, _)) if first == who => return,
                Some((_, true)) => {}
                first => panic!("it is {who:#x}'s turn, {first:x?} is first in its queue"),
            }
        }
    }
}

pub(crate) struct Watch {
    state: Mutex<State>,
    budgets: [u32; 2],
    shown: Arc<Shown>,
}

impl Watch {
    pub(crate) fn new(budgets: [u32; 2], shown: &Arc<Shown>) -> Self {
        Self {
            state: Mutex::default(),
            budgets,
            shown: shown.clone(),
        }
    }

    fn change<T>(&self, what: impl FnOnce(&mut State) -> T) -> T {
        what(&mut self.state.lock().unwrap())
    }

    /// `who` is going to try: to join if no thread is there, and to leave if it has to wait.
    pub(crate) fn tries(&self, who: u64) {
        self.change(|state| state.trying.push(who));
    }

    pub(crate) fn joined(&self, cohort: Cohort, who: u64) {
        self.change(|state| {
            let tries = state.trying.contains(&who);
            state.queues[cohort as usize].push_back((who, tries));
        });
    }

    /// The first of a cohort found the other one inside, and is to wait.
    pub(crate) fn waits(&self, cohort: Cohort) {
        self.change(|state| {
            let entries = state.entries[cohort.other() as usize];
            state.since[cohort as usize].get_or_insert(entries);
        });
    }

    /// The first of a cohort, `who`, gives up now. Its successor has waited for as long.
    pub(crate) fn gives_up(&self, cohort: Cohort, who: u64) {
        self.shown.gave_up[cohort as usize].fetch_add(1, Relaxed);
        self.change(|state| {
            state.inherited[cohort as usize] = true;
            state.first_is(cohort, who);
        });
    }

    /// A cohort's tail is null: no thread of it waits any more.
    pub(crate) fn emptied(&self, cohort: Cohort) {
        self.change(|state| {
            state.since[cohort as usize] = None;
            state.inherited[cohort as usize] = false;
        });
    }

    /// It tried, and that is over: perhaps it was never in the queue.
    pub(crate) fn tried(&self, cohort: Cohort, who: u64, entered: bool) {
        self.change(|state| {
            state.trying.retain(|&other| other != who);
            if !entered {
                state.queues[cohort as usize].retain(|&(other, _)| other != who);
            }
        });
        if !entered {
            self.shown.gave_up[cohort as usize].fetch_add(1, Relaxed);
        }
    }

    pub(crate) fn entered(&self, cohort: Cohort, who: u64) {
        let (mine, other) = (cohort as usize, cohort.other() as usize);
        self.change(|state| {
            let inside = state.holder.replace(who);
            assert_eq!(inside, None, "two are inside");
            state.first_is(cohort, who);
            state.entries[mine] += 1;
            state.since[mine] = None;
            state.inherited[mine] = false;
            if let Some(since) = state.since[other] {
                let entries = state.entries[mine] - since;
                let bound = u64::from(self.budgets[mine]);
                assert!(
                    entries <= bound,
                    "{cohort:?} entered {entries} times while the other's first waited"
                );
                self.shown.bypass[mine].fetch_max(entries, Relaxed);
                if state.inherited[other] {
                    self.shown.bypass_of_heirs[mine].fetch_max(entries, Relaxed);
                }
            }
        });
        self.shown.entries.fetch_add(1, Relaxed);
        let trace = self.shown.trace.load(Relaxed);
        let next = (trace ^ who).wrapping_mul(0x100_0000_01b3).rotate_left(7);
        self.shown.trace.store(next, Relaxed);
    }

    pub(crate) fn leaves(&self) {
        self.change(|state| state.holder = None);
    }

    /// Checks the end, when all are through: returns how often they were inside.
    pub(crate) fn end(&self) -> u64 {
        self.change(|state| {
            let left = state.queues.iter().map(VecDeque::len).sum::<usize>();
            assert_eq!(left, 0, "somebody is left over in a queue");
            state.entries.iter().sum()
        })
    }
}
