// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Words that are not allowed: each complaint says what is.

use crate::locks::Lock;
use handover_measure::plan::Plan;
use proptest::prelude::*;

const NAMES: &str =
    "torture_type,nwriters_stress,cs_steps,ncs_steps,duration,runs,stat_interval,verbose,seed,\
                     checks,stall_secs,long_hold,stutter,shuffle_interval,onoff_interval,onoff_holdoff,\
                     bind_writers,nested_locks,rt_boost,rt_boost_factor,writer_fifo,acq_writer_lim,nlocks,\
                     try_lock,irq_interval,latency,experiment";

/// Each number's name, bounds, and complaint.
const NUMBERS: [(&str, i64, i64, &str); 18] = [
    ("cs_steps", 0, 1_000_000, "0 to 1000000"),
    ("ncs_steps", 0, 1_000_000, "0 to 1000000"),
    ("duration", 0, 86_400, "0 (until stopped) to 86400 seconds"),
    ("runs", 1, 1000, "1 to 1000"),
    ("stat_interval", 0, 3600, "0 (none) to 3600 seconds"),
    ("verbose", 0, 1, "0 or 1"),
    ("stall_secs", 1, 600, "1 to 600 seconds"),
    ("long_hold", 0, 500, "0 (none) to 500 milliseconds"),
    ("stutter", 0, 60, "0 (none) to 60 seconds"),
    ("shuffle_interval", 0, 3600, "0 (none) to 3600 seconds"),
    ("onoff_interval", 0, 3600, "0 (none) to 3600 seconds"),
    ("onoff_holdoff", 0, 3600, "0 (none) to 3600 seconds"),
    ("nested_locks", 0, 8, "0 (none) to 8"),
    ("rt_boost_factor", 1, 10_000, "1 to 10000"),
    ("writer_fifo", 0, 1, "0 or 1"),
    (
        "acq_writer_lim",
        0,
        1_000_000,
        "0 (none) to 1000000 jiffies",
    ),
    ("nlocks", 1, 64, "1 to 64"),
    ("try_lock", 0, 1, "0 or 1"),
];

/// What the plan has under this name.
fn number(plan: &Plan<Lock>, name: &str) -> u32 {
    match name {
        "cs_steps" => plan.cs_steps,
        "ncs_steps" => plan.ncs_steps,
        "duration" => plan.duration,
        "runs" => plan.runs,
        "stat_interval" => plan.stat_interval,
        "verbose" => u32::from(plan.is_verbose()),
        "long_hold" => plan.perturbations.long_hold,
        "stutter" => plan.perturbations.stutter,
        "shuffle_interval" => plan.perturbations.shuffle_interval,
        "onoff_interval" => plan.perturbations.onoff_interval,
        "onoff_holdoff" => plan.perturbations.onoff_holdoff,
        "nested_locks" => plan.perturbations.nested_locks,
        "rt_boost_factor" => plan.perturbations.rt_boost_factor,
        "writer_fifo" => plan.perturbations.writer_fifo,
        "acq_writer_lim" => plan.perturbations.acq_writer_lim,
        "nlocks" => plan.perturbations.nlocks,
        "try_lock" => plan.perturbations.try_lock,
        _ => plan.stall_secs,
    }
}

fn complaint(words: &str) -> Option<String> {
    Plan::<Lock>::default()
        .with(words)
        .err()
        .map(|why| why.to_string())
}

proptest! {
    /// Near each bound, and far from both.
    #[test]
    fn a_number_within_its_bounds_is_taken(
        at in 0..NUMBERS.len(),
        near in -3i64..=3,
        end in 0..3,
        far in any::<i64>(),
    ) {
        let (name, low, high, allowed) = NUMBERS[at];
        let value = [low + near, high + near, far][end as usize];
        let mut plan = Plan::<Lock>::default();
        let text = value.to_string();
        let seen = plan.set(name, &text).map_err(|why| why.to_string());
        if (low..=high).contains(&value) {
            prop_assert_eq!(seen, Ok(()));
            prop_assert_eq!(i64::from(number(&plan, name)), value);
        } else {
            prop_assert_eq!(seen, Err(format!("{name}={value}: allowed: {allowed}")));
        }
    }
}

#[test]
fn each_complaint_says_what_is_allowed() {
    let locks = "all, or different names out of debugfs handover/locks, separated by commas";
    let writers = "1 to 1024, or -1 for twice the CPUs; at most 16 of them, separated by commas; \
                   or sweep (1, 2, 4 and so on up to the CPUs)";
    let checks = "all, none, or out of owner, counter, order, progress, separated by commas";
    let cpus = "all, a CPU, or the first and the last of some with a dash between";
    let boost = "0 (none) or 2 (of any lock's writers)";
    let irq = "0 (none), or 100 to 1000000 microseconds";
    let seventeen = "1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17";
    for (name, value, allowed) in [
        ("torture_type", "", locks),
        ("torture_type", "twa,", locks),
        ("torture_type", "TWA", locks),
        ("torture_type", "tw", locks),
        ("torture_type", "twa,ticket,twa", locks),
        ("torture_type", "all,twa", locks),
        ("torture_type", "all,all", locks),
        ("nwriters_stress", "0", writers),
        ("nwriters_stress", "1025", writers),
        ("nwriters_stress", "-2", writers),
        ("nwriters_stress", "sweep,1", writers),
        ("nwriters_stress", seventeen, writers),
        ("seed", "-1", "0 (to be drawn) to 18446744073709551615"),
        (
            "seed",
            "18446744073709551616",
            "0 (to be drawn) to 18446744073709551615",
        ),
        ("checks", "owners", checks),
        ("experiment", "Torture", "torture, uncontended or none"),
        ("bind_writers", "", cpus),
        ("bind_writers", "none", cpus),
        ("bind_writers", "3-2", cpus),
        ("rt_boost", "1", boost),
        ("rt_boost", "3", boost),
        ("irq_interval", "", irq),
        ("irq_interval", "99", irq),
        ("irq_interval", "1000001", irq),
        ("runs", "", "1 to 1000"),
        ("duration", "-1", "0 (until stopped) to 86400 seconds"),
        ("stat_interval", "3601", "0 (none) to 3600 seconds"),
        ("verbose", "yes", "0 or 1"),
    ] {
        let word = format!("{name}={value}");
        assert_eq!(
            complaint(&word),
            Some(format!("{word}: allowed: {allowed}"))
        );
        // The first fault is named, behind what is right.
        let behind = format!("runs=2 {word} runs=0");
        assert_eq!(
            complaint(&behind),
            Some(format!("{word}: allowed: {allowed}"))
        );
    }
}

#[test]
fn what_is_no_word_is_told_all_names() {
    let names = format!("a word is name=value, with a name out of: {NAMES}; or stop");
    assert_eq!(complaint(""), Some(format!("control: no word; {names}")));
    assert_eq!(
        complaint(" \n\t"),
        Some(format!("control: no word; {names}"))
    );
    assert_eq!(complaint("runs=3 stop"), Some(format!("stop: {names}")));
    for word in ["Runs=3", "run=3", "runss=3", "=3"] {
        let name = word.split('=').next().unwrap();
        assert_eq!(
            complaint(word),
            Some(format!("{name}: no such parameter; there are: {NAMES}"))
        );
    }
    let none = "experiment=none: allowed here: torture, uncontended; or the word stop";
    assert_eq!(complaint("experiment=none"), Some(none.to_owned()));
    assert_eq!(complaint("experiment=none experiment=torture"), None);
    assert_eq!(Plan::<Lock>::names().collect::<Vec<_>>().join(","), NAMES);
}

/// All of the list has room, also what is no lock, and the numbers of writers up to 16.
#[test]
fn what_is_allowed_at_the_most_is_taken() {
    assert_eq!(complaint("torture_type=all,busted,twa_too"), None);
    assert_eq!(
        complaint("nwriters_stress=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,-1"),
        None
    );
    assert_eq!(
        complaint("seed=18446744073709551615 nwriters_stress=1024"),
        None
    );
}
