// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Searches of the locks' executions, in both worlds.

#[macro_use]
#[path = "../atomics/mod.rs"]
mod atomics;
mod scenarios;
mod search;
mod worlds;

use handover_locks::*;

use self::{
    scenarios as scenario,
    search::{bounded, search},
    worlds::Probe,
};

/// The wrap comes in the middle of every scenario.
const NEAR_WRAP: u32 = u32::MAX;

/// The search `$name` of `$scenario`, with at most `$preemptions` an execution where there are too many. With `$preemptions or none`
/// the bound is off where there is time.
macro_rules! test {
    ($name:ident, $scenario:expr) => {
        test!(@ $name, None, $scenario);
    };
    ($name:ident, $preemptions:literal, $scenario:expr) => {
        test!(@ $name, Some($preemptions), $scenario);
    };
    ($name:ident, $preemptions:literal or none, $scenario:expr) => {
        test!(@ $name, bounded($preemptions), $scenario);
    };
    (@ $name:ident, $preemptions:expr, $scenario:expr) => {
        #[test]
        fn $name() {
            let name = concat!(module_path!(), "::", stringify!($name));
            search(name, $preemptions, || $scenario);
        }
    };
}

/// What each lock is searched for.
macro_rules! each {
    ($($name:ident: $lock:ty = $kind:ident, $about:literal;)*) => {
        $(each!(@$kind $name, $lock);)*
    };
    (@control $name:ident, $lock:ty) => {};
    (@$kind:ident $name:ident, $lock:ty) => {
        mod $name {
            use super::*;

            test!(two_threads, scenario::two_threads::<Cell, $lock>([2, 1]));
            test!(next_owner_frees, scenario::next_owner_frees::<Cell, $lock>(false));
            test!(next_owner_frees_tried, scenario::next_owner_frees::<Cell, $lock>(true));
            test!(try_lock_against_lock, scenario::try_lock_against_lock::<Cell, $lock>());
            test!(try_lock_against_try_lock, scenario::try_lock_against_try_lock::<Cell, $lock>());
        }
    };
}

/// Each scenario, in the world whose cell is `$world::Cell`.
macro_rules! in_world {
    ($world:ident) => {
        mod $world {
            use super::*;
            use crate::worlds::$world::Cell;

            type Word = Probe<Cell>;

            for_each_lock!(each);

            // The threshold of 0 has every waiter wait long term.
            test!(twa_far, scenario::two_threads::<Cell, Twa<Word, 0>>([2, 1]));
            test!(
                ticket_twice,
                scenario::two_threads::<Cell, Ticket<Word>>([2, 2])
            );
            test!(twa_twice, scenario::two_threads::<Cell, Twa<Word>>([2, 2]));
            test!(
                one_word_twa_twice,
                scenario::two_threads::<Cell, OneWordTwa<Word>>([2, 2])
            );
            test!(clh_twice, scenario::two_threads::<Cell, Clh<Word>>([2, 2]));
            test!(twa_three_given, scenario::three_given::<Cell, Twa<Word>>());
            test!(
                twa_shared_slot,
                scenario::shared_slot::<Cell, Twa<Word, 0>>()
            );
            test!(
                one_word_twa_far,
                scenario::two_threads::<Cell, OneWordTwa<Word, 0>>([2, 1])
            );
            test!(
                ticket_queue_length,
                scenario::queue_length::<Cell, Ticket<Word>>(Ticket::is_contended)
            );
            test!(
                twa_queue_length,
                scenario::queue_length::<Cell, Twa<Word>>(Twa::is_contended)
            );
            test!(pool, scenario::pool::<Cell>());
            // A node that comes back is taken again at once.
            test!(
                mcs_two_nodes,
                scenario::few_nodes::<Cell, Mcs<Word>>(2, &[2, 1])
            );
            test!(
                clh_two_nodes,
                scenario::few_nodes::<Cell, Clh<Word>>(2, &[2, 1])
            );
            test!(
                mcs_one_node,
                scenario::few_nodes::<Cell, Mcs<Word>>(1, &[1, 1])
            );
            test!(
                clh_one_node,
                scenario::few_nodes::<Cell, Clh<Word>>(1, &[1, 1])
            );
        }
    };
}

in_world!(spin);
in_world!(block);

/// Where two threads spin on one word, loom's search does not end. So the world is the one that
/// blocks. The searches of qspinlock there have a bound: an execution has so many preemptions at most.
mod three {
    use super::*;
    use crate::worlds::block::Cell;

    type Word = Probe<Cell>;

    test!(ticket_given, scenario::three_given::<Cell, Ticket<Word>>());
    test!(one_word_twa, scenario::threads::<Cell, OneWordTwa<Word>>(3));
    test!(clh, scenario::threads::<Cell, Clh<Word>>(3));
    test!(qspin, 5, scenario::threads::<Cell, Qspin<Word>>(3));
    test!(
        qspin_no_node,
        5,
        scenario::few_nodes::<Cell, Qspin<Word>>(0, &[1, 1, 1])
    );
    test!(qspin_four, 2, scenario::threads::<Cell, Qspin<Word>>(4));
}

/// Searches that take a minute each. `tests/suites/host --long` takes off their bound.
mod long {
    use super::*;
    use crate::worlds::block::Cell;

    type Word = Probe<Cell>;

    test!(mcs, 4 or none, scenario::threads::<Cell, Mcs<Word>>(3));
    test!(
        twa_far_twice,
        5 or none,
        scenario::two_threads::<Cell, Twa<Word, 0>>([2, 2])
    );
}
