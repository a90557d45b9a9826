// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Searches of the locks' executions, without a bound, in both worlds.

#[macro_use]
#[path = "../atomics/mod.rs"]
mod atomics;
mod scenarios;
mod search;
mod worlds;

use handover_locks::{Ticket, Twa};

use self::{scenarios as scenario, search::search, worlds::Given};

/// The wrap comes in the middle of every scenario that starts here.
const NEAR_WRAP: u32 = u32::MAX;

/// Each scenario, in the world whose cell is `$cell`.
macro_rules! in_world {
    ($world:ident) => {
        mod $world {
            use super::*;
            use crate::worlds::$world::Cell;

            /// The search `$name` of `scenario::$scenario`.
            macro_rules! test {
                ($name:ident, $scenario:expr) => {
                    #[test]
                    fn $name() {
                        let name = concat!(stringify!($world), "::", stringify!($name));
                        search(name, || $scenario);
                    }
                };
            }

            test!(
                ticket_two_threads,
                scenario::two_threads(Ticket::<Cell>::new, 2, NEAR_WRAP)
            );
            test!(
                twa_two_threads,
                scenario::two_threads(Twa::<Cell, 0>::new, 2, NEAR_WRAP)
            );
            test!(
                twa_three_given,
                scenario::three_given(Twa::<Given<Cell>, 1>::new, NEAR_WRAP)
            );
            test!(twa_shared_slot, scenario::shared_slot::<Cell>(NEAR_WRAP));
            test!(
                ticket_try_lock_against_lock,
                scenario::try_lock_against_lock(Ticket::<Cell>::new, NEAR_WRAP)
            );
            test!(
                twa_try_lock_against_lock,
                scenario::try_lock_against_lock(Twa::<Cell, 0>::new, NEAR_WRAP)
            );
            test!(
                ticket_try_lock_against_try_lock,
                scenario::try_lock_against_try_lock(Ticket::<Cell>::new, NEAR_WRAP)
            );
            test!(
                twa_try_lock_against_try_lock,
                scenario::try_lock_against_try_lock(Twa::<Cell, 0>::new, NEAR_WRAP)
            );
            test!(
                ticket_queue_length,
                scenario::queue_length(Ticket::<Cell>::new, NEAR_WRAP)
            );
            test!(
                twa_queue_length,
                scenario::queue_length(Twa::<Cell, 0>::new, NEAR_WRAP)
            );
        }
    };
}

in_world!(spin);
in_world!(block);

/// The world is the one that blocks. Where two threads spin on one word, loom's
/// search does not end.
#[test]
fn ticket_three_given() {
    use crate::worlds::block::Cell;

    search("ticket_three_given", || {
        scenario::three_given(Ticket::<Given<Cell>>::new, NEAR_WRAP);
    });
}
