// SPDX-License-Identifier: GPL-2.0-only

//! CPUs that are off line. All but one go. What was stolen from one stays stolen, no writer is bound to it, and it has no governor.

use super::team::{begins, cpus};
use crate::{
    harness::shim,
    measure::{facts::GOVERNOR, perturb::Cpus},
};
use kernel::macros::kunit_tests;

/// What `look` sees while the last CPU is off line. None if it does not go, or does not come back.
fn without_the_last<T>(look: impl FnOnce(u32) -> T) -> Option<T> {
    let last = cpus() - 1;
    // Another one goes where that one cannot.
    let is_taken = shim::onoff(last) && !shim::any_online(Cpus { first: last, last });
    let seen = is_taken.then(|| look(last));
    let away = shim::onoff_end();
    seen.filter(|_| away == 0)
}

#[kunit_tests(handover_cpus)]
mod handover_cpus {
    use super::*;

    /// What was stolen from a CPU stays stolen when it is off line.
    #[test]
    fn stolen_from_one_that_left() {
        const NS: u64 = 10_000_000_000_000;
        begins();
        assert!(cpus() >= 2);
        let grown = without_the_last(|last| {
            // SAFETY: No requirements.
            let stolen = || unsafe { shim::handover_steal_ns() };
            let before = stolen();
            // SAFETY: There is such a CPU.
            unsafe { shim::handover_steal(last, NS) };
            let after = stolen();
            // SAFETY: As above.
            unsafe { shim::handover_steal(last, NS.wrapping_neg()) };
            after.wrapping_sub(before) / NS
        });
        assert_eq!(grown, Some(1));
    }

    /// A CPU is spared where another one is on line, of those that are allowed.
    #[test]
    fn one_of_two_is_spared() {
        begins();
        assert!(cpus() >= 2);
        let spared = |last: u32| {
            let both = Cpus {
                first: last - 1,
                last,
            };
            shim::allow(None, Some(both), Some(last - 1))
        };
        let with = spared(cpus() - 1);
        let without = without_the_last(spared);
        let all = Cpus {
            first: 0,
            last: cpus() - 1,
        };
        let back = shim::allow(None, Some(all), None);
        assert_eq!(
            (with, without, back),
            (Ok(true), Some(Ok(false)), Ok(false))
        );
    }

    /// All CPUs go but one. Each draw brings one back that went, or takes one.
    #[test]
    fn all_but_one_go() {
        begins();
        assert!(cpus() >= 2);
        let on_line = || {
            let is = |&cpu: &u32| {
                shim::any_online(Cpus {
                    first: cpu,
                    last: cpu,
                })
            };
            (0..cpus()).filter(is).count() as u32
        };
        // Some kernels do not let CPU 0 go.
        let went = (1..cpus()).rev().filter(|&cpu| shim::onoff(cpu)).count() as u32;
        let least = on_line();
        let went_again = shim::onoff(cpus() - 1);
        let back = on_line();
        let away = shim::onoff_end();
        assert_eq!((went, least), (cpus() - 1, 1));
        assert_eq!((went_again, back), (false, 2));
        assert_eq!((away, on_line()), (0, cpus()));
    }

    /// A CPU that is off line has no governor. What is no CPU is none.
    #[test]
    fn governors_are_of_cpus_on_line() {
        begins();
        assert!(cpus() >= 2);
        let of = |cpu| {
            let mut name = [0; GOVERNOR];
            // SAFETY: The buffer has the length that is given.
            unsafe { shim::handover_governor(cpu, name.as_mut_ptr().cast(), GOVERNOR) }
        };
        let with = of(cpus() - 1);
        let without = without_the_last(of);
        assert_eq!((with, without), (1, Some(0)));
        assert!(of(u32::MAX) < 0);
    }
}
