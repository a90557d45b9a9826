// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What is done to writers: its words, its chances, its sums.

use crate::locks::Lock;
use handover_measure::perturb::{Cpus, Perturbations, Perturbed, MAX_AT_ONCE, MAX_NESTED};
use handover_measure::plan::Plan;
use handover_measure::prng::Prng;
use proptest::prelude::*;

/// A number that is often one end of its range.
fn often(low: u32, high: u32) -> impl Strategy<Value = u32> {
    prop_oneof![3 => Just(low), 1 => Just(high), 2 => low..=high]
}

/// Any that a plan can have.
pub(crate) fn perturbations() -> impl Strategy<Value = Perturbations> {
    let cpus = (0u32..=8191, 0u32..=8191).prop_map(|(a, b)| Cpus {
        first: a.min(b),
        last: a.max(b),
    });
    (
        (
            often(0, 500),
            often(0, 60),
            often(0, 3600),
            often(0, 3600),
            often(0, 3600),
        ),
        (
            prop::option::of(cpus),
            often(0, 8),
            prop_oneof![Just(0u32), Just(2)],
            often(1, 10_000),
        ),
        (
            often(0, 1),
            often(0, 1_000_000),
            often(1, 64),
            often(0, 1),
            prop_oneof![Just(0u32), often(100, 1_000_000)],
            often(0, 1),
        ),
    )
        .prop_map(|(a, b, c)| Perturbations {
            long_hold: a.0,
            stutter: a.1,
            shuffle_interval: a.2,
            onoff_interval: a.3,
            onoff_holdoff: a.4,
            bind_writers: b.0,
            nested_locks: b.1,
            rt_boost: b.2,
            rt_boost_factor: b.3,
            writer_fifo: c.0,
            acq_writer_lim: c.1,
            nlocks: c.2,
            try_lock: c.3,
            irq_interval: c.4,
            latency: c.5,
        })
}

/// Any that was done to somebody.
pub(crate) fn perturbed() -> impl Strategy<Value = Perturbed> {
    let count = || prop_oneof![2 => Just(0u64), 1 => any::<u64>()];
    (
        (count(), count(), count(), count()),
        (count(), count(), count(), count(), count(), count()),
    )
        .prop_map(|(a, b)| Perturbed {
            pauses: a.0,
            shuffles: a.1,
            offlines: a.2,
            long_holds: a.3,
            boosts: b.0,
            nested: b.1,
            tries: b.2,
            locks: b.3,
            away: b.4,
            irqs: b.5,
        })
}

/// Every parameter and its value, with those that do nothing.
pub(crate) fn settings(it: &Perturbations) -> Vec<(&'static str, String)> {
    let cpus = it
        .bind_writers
        .map_or("all".to_owned(), |cpus| match cpus.last - cpus.first {
            0 => cpus.last.to_string(),
            _ => format!("{}-{}", cpus.first, cpus.last),
        });
    vec![
        ("long_hold", it.long_hold.to_string()),
        ("stutter", it.stutter.to_string()),
        ("shuffle_interval", it.shuffle_interval.to_string()),
        ("onoff_interval", it.onoff_interval.to_string()),
        ("onoff_holdoff", it.onoff_holdoff.to_string()),
        ("bind_writers", cpus),
        ("nested_locks", it.nested_locks.to_string()),
        ("rt_boost", it.rt_boost.to_string()),
        ("rt_boost_factor", it.rt_boost_factor.to_string()),
        ("writer_fifo", it.writer_fifo.to_string()),
        ("acq_writer_lim", it.acq_writer_lim.to_string()),
        ("nlocks", it.nlocks.to_string()),
        ("try_lock", it.try_lock.to_string()),
        ("irq_interval", it.irq_interval.to_string()),
        ("latency", it.latency.to_string()),
    ]
}

/// The settings that do something, joined.
pub(crate) fn words(it: &Perturbations, between: &str) -> String {
    let does = |name: &str, value: &str| match name {
        "onoff_holdoff" => it.onoff_interval != 0 && value != "0",
        "rt_boost_factor" => it.rt_boost != 0,
        "nlocks" => value != "1",
        "bind_writers" => value != "all",
        _ => value != "0",
    };
    let all = settings(it)
        .into_iter()
        .filter(|(name, value)| does(name, value));
    let words: Vec<String> = all.map(|(name, value)| format!("{name}={value}")).collect();
    if words.is_empty() {
        "none".to_owned()
    } else {
        words.join(between)
    }
}

/// The counts that are not 0, joined.
pub(crate) fn done(it: &Perturbed, between: &str) -> String {
    let counts = [
        ("pauses", it.pauses),
        ("shuffles", it.shuffles),
        ("offlines", it.offlines),
        ("long_holds", it.long_holds),
        ("boosts", it.boosts),
        ("nested", it.nested),
        ("tries", it.tries),
        ("irqs", it.irqs),
        ("locks", it.locks),
        ("away", it.away),
    ];
    let words: Vec<String> = counts
        .iter()
        .filter(|it| it.1 != 0)
        .map(|it| format!("{}={}", it.0, it.1))
        .collect();
    if words.is_empty() {
        "none".to_owned()
    } else {
        words.join(between)
    }
}

proptest! {
    /// What a plan says of itself makes the same plan again.
    #[test]
    fn words_are_what_is_done(it in perturbations()) {
        let text = it.words(" ").to_string();
        prop_assert_eq!(&text, &words(&it, " "));
        prop_assert_eq!(it.is_any(), text != "none");
        if it.is_any() {
            let plan = Plan::<Lock>::default().with(&text).map_err(|why| why.to_string());
            let again = plan.unwrap().perturbations;
            prop_assert_eq!(words(&again, "+"), words(&it, "+"));
        }
    }

    #[test]
    fn chances_are_locktortures(it in perturbations(), writers in 1u32..=1024) {
        let wide = |factors: &[u32]| factors.iter().map(|&it| u64::from(it)).product::<u64>();
        let hold = (it.long_hold > 0).then(|| wide(&[writers, 2000, it.long_hold]));
        prop_assert_eq!(it.long_hold_one_in(writers).map(u64::from), hold);
        for (boosted, longer) in [(false, 1), (true, 2)] {
            let boost = (it.rt_boost > 0).then(|| wide(&[writers, it.rt_boost_factor, longer]));
            prop_assert_eq!(it.boost_one_in(writers, boosted).map(u64::from), boost);
        }
    }

    /// Every set of nested locks is drawn about as often as every other.
    #[test]
    fn each_nested_lock_is_taken_half_the_time(seed in any::<u64>(), nested_locks in 0..=MAX_NESTED) {
        let it = Perturbations { nested_locks, ..Perturbations::OFF };
        let mut prng = Prng::new(seed);
        let sets = 1usize << nested_locks;
        let mut seen = vec![0u32; sets];
        for _ in 0..400 * sets {
            let set = it.nested(&mut prng) as usize;
            prop_assert!(set < sets, "{set:b}");
            seen[set] += 1;
        }
        // Seven times the standard deviation of 20.
        prop_assert!(seen.iter().all(|count| (260..=540).contains(count)), "{seen:?}");
    }

    /// Also where the clock wraps.
    #[test]
    fn a_wait_is_late_beyond_its_limit(acq_writer_lim in often(0, 1_000_000), from in any::<u64>(), off in -2i64..=2, wait in 0u64..2_000_000) {
        let it = Perturbations { acq_writer_lim, ..Perturbations::OFF };
        for wait in [wait, u64::from(acq_writer_lim).saturating_add_signed(off)] {
            let due = acq_writer_lim > 0 && wait > u64::from(acq_writer_lim);
            prop_assert_eq!(it.is_late(from, from.wrapping_add(wait)), due);
        }
    }

    #[test]
    fn what_was_done_is_told_and_added(a in perturbed(), b in perturbed()) {
        prop_assert_eq!(a.words("+").to_string(), done(&a, "+"));
        let sum = done(&a.and(b), " ");
        let of = |it: &Perturbed, name: &str| done(it, " ").split(' ')
            .find_map(|word| word.strip_prefix(name)?.strip_prefix('=')?.parse::<u64>().ok()).unwrap_or(0);
        for name in ["pauses", "shuffles", "offlines", "long_holds", "boosts", "nested", "tries", "irqs", "locks", "away"] {
            let due = of(&a, name).wrapping_add(of(&b, name));
            prop_assert_eq!(of(&a.and(b), name), due, "{} in {}", name, sum);
        }
    }

    #[test]
    fn cpus_are_one_or_a_range(a in 0u32..9000, b in 0u32..9000) {
        let due = (a <= b && b <= 8191).then_some(Cpus { first: a, last: b });
        prop_assert_eq!(Cpus::parse(&format!("{a}-{b}")), due);
        let one = (a <= 8191).then_some(Cpus { first: a, last: a });
        prop_assert_eq!(Cpus::parse(&a.to_string()), one);
        prop_assert_eq!(one.map(|it| it.to_string()), (a <= 8191).then(|| a.to_string()));
        if let Some(cpus) = due.filter(|_| a < b) {
            prop_assert_eq!(cpus.to_string(), format!("{a}-{b}"));
        }
    }
}

#[test]
fn what_is_no_range_is_refused() {
    for text in [
        "", "-", "1-", "-1", "1-2-3", "1,2", "a", "1- 2", " 1", "0-8192", "8192",
    ] {
        assert_eq!(Cpus::parse(text), None, "{text}");
    }
}

#[test]
fn nothing_is_done_by_default() {
    let plan = Plan::<Lock>::default();
    assert_eq!(plan.perturbations, Perturbations::OFF);
    assert_eq!(Perturbations::OFF.words("+").to_string(), "none");
    assert_eq!((MAX_NESTED, MAX_AT_ONCE), (8, 64));
    // Locktorture's own.
    let boosted = Perturbations {
        rt_boost: 2,
        ..plan.perturbations
    };
    assert_eq!(
        boosted.words(" ").to_string(),
        "rt_boost=2 rt_boost_factor=50"
    );
}

#[test]
fn each_word_alone_is_done_but_two() {
    for (word, does) in [
        ("long_hold=1", true),
        ("stutter=1", true),
        ("shuffle_interval=1", true),
        ("onoff_interval=1", true),
        ("onoff_holdoff=1", false),
        ("bind_writers=0", true),
        ("nested_locks=1", true),
        ("rt_boost=2", true),
        ("rt_boost_factor=1", false),
        ("writer_fifo=1", true),
        ("acq_writer_lim=1", true),
        ("nlocks=2", true),
        ("try_lock=1", true),
        ("irq_interval=100", true),
        ("latency=1", true),
    ] {
        let plan = Plan::<Lock>::default()
            .with(word)
            .map_err(|why| why.to_string());
        let plan = plan.unwrap();
        assert_eq!(plan.perturbations.is_any(), does, "{word}");
        // Writers alone are perturbed.
        assert_eq!(plan.is_perturbed(), does, "{word}");
        let pairs = plan
            .with("experiment=uncontended")
            .map_err(|why| why.to_string());
        assert!(!pairs.unwrap().is_perturbed(), "{word}");
    }
    // All that there are.
    assert_eq!(settings(&Perturbations::OFF).len(), 15);
}
