// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What an experiment's runs come to. How long its threads are waited for. When it says how far it is.

use crate::locks::{Lock, LOCKS};
use crate::outcome::{failures, outcome};
use handover_measure::outcome::Outcome;
use handover_measure::statistics::Since;
use handover_measure::verdict::Verdict;
use handover_measure::watch::{Every, Patience};
use proptest::collection::vec;
use proptest::prelude::*;

const SECOND: u64 = 1_000_000_000;

proptest! {
    /// The first lock that failed is the one that is named.
    #[test]
    fn an_experiment_is_what_its_runs_came_to(all in vec((outcome(0..LOCKS.len()), 0u32..4, any::<bool>(), any::<bool>()), 0..9)) {
        let mut verdict = Verdict::default();
        let (mut failed, mut hung, mut stopped) = (None, false, false);
        for (run, duration, is_whole, is_stopping) in all {
            let time = u64::from(duration) * SECOND;
            let run = Outcome { duration, ns: if is_whole { time } else { time.saturating_sub(1) }, ..run };
            verdict.add(&run, is_stopping);
            failed = failed.or((failures(&run) != 0).then_some(run.lock.name));
            hung |= run.hung != 0;
            stopped |= is_stopping && (duration == 0 || !is_whole);
        }
        prop_assert_eq!((verdict.failed.map(|lock: &Lock| lock.name), verdict.hung, verdict.stopped), (failed, hung, stopped));
    }

    /// Looks often enough, of which none finds another number of threads.
    #[test]
    fn writers_alone_are_given_up(seconds in 1u32..9, writers in 0usize..4, others in 0usize..4, start in 0u64..1 << 60) {
        let looks = 20 * u64::from(seconds);
        let mut patience = Patience::new(seconds, start);
        let mut given_up = (0..2 * looks + 2).map(|look| patience.gives_up(writers, others, start + look * Patience::GAP));
        let due = (writers != 0).then_some(looks);
        // Who looks first sees how many there are: the wait begins then.
        prop_assert_eq!(given_up.position(|it| it), due.map(|it| it as usize));
    }

    /// A thread of either kind that leaves makes the wait begin anew.
    #[test]
    fn whoever_leaves_is_waited_for_again(is_writer in any::<bool>(), at in 1u64..20) {
        let mut patience = Patience::new(1, 0);
        for look in 0..at {
            prop_assert!(!patience.gives_up(2, 2, look * Patience::GAP));
        }
        let (writers, others) = if is_writer { (1, 2) } else { (2, 1) };
        let mut later = at..;
        prop_assert_eq!(later.find(|look| patience.gives_up(writers, others, look * Patience::GAP)), Some(at + 20));
    }

    /// From one line to the next are so many seconds, and to the first from the start. 0: there is none.
    #[test]
    fn lines_come_each_so_many_seconds(seconds in 0u32..9, start in 0u64..1 << 60, gaps in vec(0u64..4 * SECOND, 0..40)) {
        let mut every = Every::new(seconds, start);
        let (mut now, mut last) = (start, start);
        for gap in gaps {
            now += gap;
            let (is_due, next) = every.look(now);
            every = next;
            prop_assert_eq!(is_due, seconds != 0 && now - last >= u64::from(seconds) * SECOND);
            if is_due {
                last = now;
            }
        }
    }

    #[test]
    fn what_grew_is_the_difference(before in any::<u64>(), after in any::<u64>()) {
        prop_assert_eq!(Since::new(before).grown(after), (i128::from(after) - i128::from(before)).max(0) as u64);
    }
}
