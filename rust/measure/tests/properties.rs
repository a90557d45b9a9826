// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Each result is computed once more, by other means: wider numbers, floats, whole
//! histories instead of running counts.

use std::fmt::Write as _;

use handover_measure::order;
use handover_measure::outcome::counter_failures;
use handover_measure::prng::{first_ticket, Prng};
use handover_measure::statistics::{
    hundredths, insertion_sort, is_unfair, jain_ppm, median, per_second, rounded, worst_spread,
    Tally,
};
use handover_measure::text::{Fixed, Hundredths, Millionths, Thousandths};
use handover_measure::verdict::{is_cut, End, Failure, Verdict};
use handover_measure::watch::{ticks_needed, Mark, Patience, Together};
use handover_measure::words::{number, resolve, small, writers, Checks};
use proptest::collection::vec;
use proptest::prelude::*;

/// Jain's index in millionths, rounded half up. All counts together are below 2^46.
fn jain(counts: &[u64]) -> u64 {
    let sum: u128 = counts.iter().copied().map(u128::from).sum();
    let squares: u128 = counts.iter().map(|&count| u128::from(count).pow(2)).sum();
    let whole = counts.len() as u128 * squares;
    (2_000_000 * sum * sum + whole)
        .checked_div(2 * whole)
        .unwrap_or(0) as u64
}

proptest! {
    #[test]
    fn a_rate_is_the_quotient(count: u64, ns in 0u64..18_446_744_073_709_552, shift in 0u32..64) {
        let count = count >> shift;
        let micros = u128::from(ns / 1000);
        let due = (u128::from(count) * 1_000_000).checked_div(micros).unwrap_or(0);
        prop_assert_eq!(u128::from(per_second(count, ns)), due.min(u64::MAX.into()));
    }

    #[test]
    fn a_quotient_is_rounded_half_up(a in 0u64..1 << 56, b in 0u64..1 << 56) {
        let of = |a: u128| (b != 0).then(|| (2 * a + u128::from(b & !1)) / (2 * u128::from(b)));
        prop_assert_eq!(rounded(a, b).map(u128::from), of(u128::from(a)));
        prop_assert_eq!(hundredths(a, b).map(u128::from), of(u128::from(a) * 100));
    }

    #[test]
    fn sorted_is_sorted(mut values in vec(any::<u64>(), 0..40)) {
        let mut due = values.clone();
        due.sort_unstable();
        insertion_sort(&mut values);
        prop_assert_eq!(values, due);
    }

    #[test]
    fn the_median_is_in_the_middle(mut values in vec(any::<u64>(), 0..20)) {
        values.sort_unstable();
        let due = match values.len() {
            0 => None,
            n if n % 2 == 1 => Some(u128::from(values[n / 2])),
            n => Some((u128::from(values[n / 2 - 1]) + u128::from(values[n / 2])) / 2),
        };
        prop_assert_eq!(median(&values).map(u128::from), due);
    }

    #[test]
    fn the_worst_run_counts(runs in vec((0u64..1 << 40, 0u64..100), 0..9)) {
        let each: Vec<Option<u64>> = runs.iter().map(|&(most, least)| hundredths(most, least)).collect();
        let due = if each.contains(&None) { None } else { Some(each.iter().flatten().copied().max().unwrap_or(0)) };
        prop_assert_eq!(worst_spread(runs.into_iter()), due);
    }

    #[test]
    fn unfair_is_over_twice(least in 0u64..1000, most in 0u64..4000) {
        prop_assert_eq!(is_unfair(least, most), most > 2 * least + 1);
    }

    /// Jain's formula by a division of 128 bits, to the last digit.
    #[test]
    fn jain_is_the_formula(counts in vec(prop_oneof![4 => 0u64..1 << 39, 1 => 0u64..4, 1 => Just(0)], 1..64)) {
        prop_assert_eq!(jain_ppm(counts.iter().copied()), jain(&counts));
    }

    /// So many times as many, up to more than a year's.
    #[test]
    fn jain_is_of_shares(counts in vec(0u64..1 << 26, 1..64), shift in 0u32..32) {
        let many = counts.iter().map(|count| count << shift);
        prop_assert_eq!(jain_ppm(many), jain(&counts));
    }

    /// Found once more: total by wider numbers, least and most by sorting, Jain's index in floats.
    #[test]
    fn a_tally_is_of_all_writers(counts in vec(prop_oneof![4 => 0u64..1 << 39, 1 => Just(0)], 1..64)) {
        let tally = Tally::of(counts.iter().copied());
        let (n, total) = (counts.len() as u64, counts.iter().copied().map(u128::from).sum::<u128>());
        let mut sorted = counts.clone();
        sorted.sort_unstable();
        prop_assert_eq!(u128::from(tally.total), total);
        prop_assert_eq!((Some(&tally.min), Some(&tally.max)), (sorted.first(), sorted.last()));
        prop_assert!(n * tally.min <= tally.total && tally.total <= n * tally.max);
        prop_assert_eq!(tally.jain_ppm, jain(&counts));
        prop_assert!(total == 0 || tally.jain_ppm >= 1_000_000 / n && tally.jain_ppm <= 1_000_000);
    }

    /// Which writer is which does not matter.
    #[test]
    fn a_tally_knows_no_order(
        (counts, shuffled) in vec(prop_oneof![0u64..9, any::<u64>()], 0..40)
            .prop_flat_map(|counts| (Just(counts.clone()), Just(counts).prop_shuffle())),
    ) {
        prop_assert_eq!(Tally::of(counts.into_iter()), Tally::of(shuffled.into_iter()));
    }

    /// Whatever the numbers, also such as no run has, no index is above 1. Ticks of no time make
    /// no second.
    #[test]
    fn no_number_is_too_much(
        counts in vec(prop_oneof![any::<u64>(), Just(u64::MAX)], 0..70),
        seconds in any::<u32>(),
        tick_ms in prop_oneof![any::<u32>(), 0u32..3],
    ) {
        prop_assert!(jain_ppm(counts.into_iter()) <= 1_000_000);
        let due = u64::from(seconds) * 1000u64.checked_div(tick_ms.into()).unwrap_or(0);
        prop_assert_eq!(u64::from(ticks_needed(seconds, tick_ms)), due.min(u32::MAX.into()));
    }

    #[test]
    fn what_is_written_is_read_again(value in any::<u64>(), width in 0usize..30) {
        let back = |text: String, digits: usize| {
            let (whole, part) = text.split_once('.').unwrap();
            assert_eq!(part.len(), digits);
            whole.parse::<u128>().unwrap() * 10u128.pow(digits as u32) + part.parse::<u128>().unwrap()
        };
        let due = u128::from(value);
        prop_assert_eq!(back(Millionths(value).to_string(), 6), due);
        prop_assert_eq!(back(Thousandths(value).to_string(), 3), due);
        let text = Hundredths(Some(value)).to_string();
        prop_assert_eq!(format!("{:>width$}", Hundredths(Some(value))), format!("{text:>width$}"));
        prop_assert_eq!(format!("{:>width$}", Hundredths(None)), format!("{:>width$}", "-"));
        prop_assert_eq!(back(text, 2), due);
    }

    #[test]
    fn a_short_text_takes_what_fits(pieces in vec("[a-zé]{0,5}", 0..8)) {
        let (mut text, mut due) = (Fixed::<12>::new(), String::new());
        for piece in pieces {
            let fits = due.len() + piece.len() <= 12;
            prop_assert_eq!(text.write_str(&piece).is_ok(), fits);
            if fits {
                due += &piece;
            }
            prop_assert_eq!(text.as_str(), &due);
        }
    }

    #[test]
    fn turns_go_round(first in any::<usize>(), count in 0usize..12) {
        let seen: Vec<usize> = order::from(first, count).collect();
        let mut due: Vec<usize> = (0..count).collect();
        if count > 0 {
            due.rotate_left(first % count);
        }
        prop_assert_eq!(seen, due);
    }

    #[test]
    fn a_sweep_doubles(most in 0u32..5000, room in 1usize..16) {
        let mut points = [0; 16];
        let filled = order::sweep(&mut points[..room], most);
        let most = most.max(1);
        let mut due: Vec<i32> = (0..13).map(|power| 1 << power).filter(|&it| it < most as i32).collect();
        due.push(most as i32);
        due.truncate(room);
        prop_assert_eq!(&points[..filled], &due[..]);
        prop_assert!(points[filled..].iter().all(|&point| point == 0));
    }

    #[test]
    fn a_number_is_within_its_range(value in -2000i64..2000, low in -1000i64..1000, more in 0i64..1000) {
        let high = low + more;
        let due = (low..=high).contains(&value).then_some(value);
        prop_assert_eq!(number(&value.to_string(), low, high), due);
        prop_assert_eq!(number(&format!("{value}x"), low, high), None);
        let (low, high) = (low.unsigned_abs() as u32, low.unsigned_abs() as u32 + more as u32);
        let due = u32::try_from(value).ok().filter(|it| (low..=high).contains(it));
        prop_assert_eq!(small(&value.to_string(), low, high), due);
    }

    #[test]
    fn numbers_of_writers_are_listed(list in vec(-3i64..1030, 1..19)) {
        let text: Vec<String> = list.iter().map(i64::to_string).collect();
        let mut points = [0i32; 16];
        let allowed = list.len() <= 16 && list.iter().all(|&it| it == -1 || (1..=1024).contains(&it));
        let seen = writers(&text.join(","), &mut points, 1024);
        prop_assert_eq!(seen, allowed.then_some(list.len()));
        if allowed {
            prop_assert!(list.iter().zip(points).all(|(&due, point)| due == i64::from(point)));
        }
    }

    #[test]
    fn each_number_of_writers_is_there_once(list in vec(prop_oneof![Just(-1), 1i32..20], 0..8), twice in 1u32..20) {
        let mut points = list.clone();
        let meant: Vec<i32> = list.iter().map(|&it| if it < 0 { twice as i32 } else { it }).collect();
        let first = (0..meant.len()).find(|&at| meant[..at].contains(&meant[at]));
        match resolve(&mut points, twice) {
            Ok(()) => prop_assert!(first.is_none() && points == meant),
            Err(number) => prop_assert_eq!(Some(number), first.map(|at| meant[at])),
        }
    }

    #[test]
    fn checks_are_read_as_they_are_written(on in vec(any::<bool>(), 4)) {
        let names = ["owner", "counter", "order", "progress"];
        let chosen: Vec<&str> = names.into_iter().zip(&on).filter(|(_, &on)| on).map(|(name, _)| name).collect();
        let text = if chosen.is_empty() { "none".to_owned() } else { chosen.join(",") };
        let checks = Checks::parse(&text).unwrap();
        prop_assert_eq!(vec![checks.owner(), checks.counter(), checks.order(), checks.progress()], on);
        prop_assert_eq!(checks.names(",").to_string(), text.clone());
        prop_assert_eq!(checks.names("+").to_string(), text.replace(',', "+"));
    }

    #[test]
    fn a_check_may_be_named_twice(named in vec(0usize..4, 1..9)) {
        let names = ["owner", "counter", "order", "progress"];
        let once: Vec<&str> = (0..4).filter(|at| named.contains(at)).map(|at| names[at]).collect();
        let text = named.into_iter().map(|at| names[at]).collect::<Vec<_>>().join(",");
        prop_assert_eq!(Checks::parse(&text).unwrap().names(",").to_string(), once.join(","));
    }

    /// Bit by bit: each is the sum of itself and of the one that lies so far below, or above.
    #[test]
    fn a_step_shifts_by_13_7_and_17(state in any::<u64>()) {
        let mut bits: Vec<bool> = (0..64).map(|at| (state >> at) & 1 == 1).collect();
        for shift in [13isize, -7, 17] {
            let was = bits.clone();
            for (at, bit) in (0isize..).zip(&mut bits) {
                *bit ^= usize::try_from(at - shift).is_ok_and(|from| was.get(from) == Some(&true));
            }
        }
        let mut prng = Prng::new(0);
        *prng.state() = state;
        let due = bits.iter().rev().fold(0, |all, &bit| (all << 1) | u64::from(bit));
        prop_assert_eq!(prng.step(), due);
    }

    #[test]
    fn the_first_ticket_is_near_the_wrap(seed in any::<u64>(), writers in 1u32..2000) {
        let left = 0u32.wrapping_sub(first_ticket(seed, writers));
        prop_assert!((1..=writers).contains(&left));
        prop_assert_eq!(first_ticket(seed, writers), first_ticket(seed, writers));
    }

    #[test]
    fn a_drawn_number_is_below(seed in any::<u64>(), n in 0u32..50, steps in 0u32..40) {
        let (mut one, mut other) = (Prng::new(seed), Prng::new(seed));
        prop_assert!(one.below(n) < n.max(1));
        other.step();
        one.steps(steps);
        for _ in 0..steps {
            prop_assert_ne!(other.step(), 0);
        }
        prop_assert_eq!(*one.state(), *other.state());
    }

    /// Against the whole history: the looks at the end in which nothing changed.
    #[test]
    fn a_stall_is_seen_from_the_history(
        seen in vec(
            (
                prop::bool::weighted(0.2).prop_map(u64::from),
                prop::bool::weighted(0.1),
                prop::bool::weighted(0.7),
                prop::bool::weighted(0.2).prop_map(u64::from),
                prop::bool::weighted(0.1).prop_map(usize::from),
            ),
            0..24,
        ),
        enough in 1u32..6,
    ) {
        let (mut mark, mut together) = (Mark::default(), Together::default());
        let (mut total, mut sum, mut gone) = (0u64, u64::MAX - 3, 0);
        let mut history = Vec::new();
        together.sum = sum;
        for (more, done, on_cpu, others, leave) in seen {
            total += more;
            sum = sum.wrapping_add(more + others);
            mark = mark.look(total, done, || on_cpu);
            gone += leave;
            together = together.look(sum, gone);
            history.push((more == 0 && !done, on_cpu, more + others == 0 && leave == 0));
            let ends = |is: &dyn Fn(&(bool, bool, bool)) -> bool| {
                history.iter().rev().take_while(|it| is(it)).count() as u32 >= enough
            };
            let hangs = ends(&|it| it.0) && ends(&|it| it.2);
            let starves = ends(&|it| it.0 && it.1);
            prop_assert_eq!(mark.has_stalled(together.still, enough), hangs || starves);
        }
    }

    /// Against the whole history: time since the last progress, each gap cut to its bound.
    #[test]
    fn patience_ends_without_progress(
        steps in vec((0u64..80, prop::bool::weighted(0.1)), 1..120),
        start in 0u64..1 << 40,
        left in 0usize..2,
    ) {
        const MS: u64 = 1_000_000;
        let mut patience = Patience::new(1, start);
        // Threads that come are counted up. Those that are left are counted down, after a first look at all.
        let (mut now, mut count, mut idle) = (start, 200 * left, 0u64);
        prop_assert!(!patience.is_over(count, now));
        for (gap, progress) in steps {
            now += gap * MS;
            count = if left == 1 { count - usize::from(progress) } else { count + usize::from(progress) };
            idle = if progress { 0 } else { idle + gap.min(50) };
            prop_assert_eq!(patience.is_over(count, now), idle >= 1000);
            if idle >= 1000 {
                break;
            }
        }
    }

    #[test]
    fn a_run_is_cut_before_its_time(seconds in 0u32..90_000, more in -3_000_000_000i64..3_000_000_000) {
        let ns = u64::try_from(i64::from(seconds) * 1_000_000_000 + more).unwrap_or(0);
        let due = seconds == 0 || u128::from(ns) < u128::from(seconds) * 1_000_000_000;
        prop_assert_eq!(is_cut(ns, seconds), due);
    }
}

/// By hand: 1 + 2 + 3 + 0 = 6, and Jain's index is 36 / (4 * 14).
#[test]
fn a_tally_by_hand() {
    let tally = Tally::of([1, 2, 3, 0].into_iter());
    assert_eq!((tally.total, tally.min, tally.max), (6, 0, 3));
    assert_eq!(tally.jain_ppm, 642_857);
    let equal = Tally::of([5, 5].into_iter());
    assert_eq!((equal.total, equal.min, equal.max), (10, 5, 5));
    assert_eq!(equal.jain_ppm, 1_000_000);
    assert_eq!(Tally::of(core::iter::empty()), Tally::default());
    assert_eq!(Tally::of([u64::MAX, 1].into_iter()).total, u64::MAX);
}

/// Every share of tickets is drawn, for some seed.
#[test]
fn each_first_ticket_is_drawn() {
    let left = |seed| 0u32.wrapping_sub(first_ticket(seed, 8));
    for due in 1..=8 {
        assert!((0..1000).any(|seed| left(seed) == due), "{due}");
    }
}

/// Each bit of a seed changes the draw: of 200 seeds nearly all have another ticket without it.
#[test]
fn every_bit_of_the_seed_counts_for_the_first_ticket() {
    for bit in 0..u64::BITS {
        let same = (0..200).map(|seed: u64| Prng::new(seed).step());
        let same =
            same.filter(|seed| first_ticket(*seed, 1000) == first_ticket(seed ^ (1 << bit), 1000));
        assert!(same.count() < 20, "bit {bit}");
    }
}

/// Runs of one seed with more writers are draws of their own: the share of the writers is another.
#[test]
fn each_number_of_writers_draws_anew() {
    for (few, many) in [(1000, 2000), (512, 1024), (100, 1000)] {
        let share = |seed, writers| {
            f64::from(0u32.wrapping_sub(first_ticket(seed, writers))) / f64::from(writers)
        };
        let near = (0..200)
            .filter(|&seed| (share(seed, few) - share(seed, many)).abs() < 2.0 / f64::from(few));
        assert!(near.count() < 20, "{few} and {many}");
    }
}

/// Marsaglia's first number after 1, for the shifts 13, 7 and 17.
#[test]
fn the_generator_is_the_published_one() {
    let mut prng = Prng::new(0);
    *prng.state() = 1;
    assert_eq!(prng.step(), 1_082_269_761);
}

/// Seeds that are neighbours begin apart.
#[test]
fn neighbours_differ() {
    let mut firsts: Vec<u64> = (0..1000).map(|seed| Prng::new(seed).step()).collect();
    let close = firsts
        .windows(2)
        .filter(|two| two[0].abs_diff(two[1]) < 1 << 32)
        .count();
    assert_eq!(close, 0);
    firsts.sort_unstable();
    firsts.dedup();
    assert_eq!(firsts.len(), 1000);
}

#[test]
fn what_is_no_word_is_refused() {
    for text in [
        "",
        "owner,",
        "all,owner",
        "owners",
        "Owner",
        "owner counter",
        "none,owner",
    ] {
        assert_eq!(Checks::parse(text), None, "{text}");
    }
    assert_eq!(Checks::parse("all"), Some(Checks::ALL));
    for text in [
        "",
        "-",
        "+",
        "+1",
        "--1",
        "-0",
        "-+1",
        "0x10",
        "1 ",
        " 1",
        "1.0",
        "1_000",
        "99999999999999999999",
    ] {
        assert_eq!(number(text, i64::MIN, i64::MAX), None, "{text}");
    }
    assert_eq!(writers("", &mut [0; 4], 1024), None);
    assert_eq!(writers("1,", &mut [0; 4], 1024), None);
    assert_eq!(small("-1", 0, 10), None);
}

#[test]
fn ticks_are_those_of_the_seconds() {
    assert_eq!(ticks_needed(10, 250), 40);
    assert_eq!(ticks_needed(600, 250), 2400);
    assert_eq!(ticks_needed(u32::MAX, 250), u32::MAX);
}

/// Counts that have come to their end stay there.
#[test]
fn counts_do_not_wrap() {
    let mark = Mark {
        total: 7,
        idle: u32::MAX,
        spun: u32::MAX,
    };
    assert_eq!(mark.look(7, false, || true), mark);
    let together = Together {
        sum: 7,
        done: 2,
        still: u32::MAX,
    };
    assert_eq!(together.look(7, 2), together);
    assert_eq!(per_second(u64::MAX, 1000), u64::MAX);
    assert_eq!(hundredths(u64::MAX, 1), Some(u64::MAX));
}

/// 1024 writers leave one by one, each within the time. None acquires any more, and none has a CPU.
#[test]
fn writers_that_leave_one_by_one_have_not_stalled() {
    let enough = ticks_needed(1, 250);
    let (mut last, mut all) = (Mark::default(), Together::default());
    for done in 0..1024 {
        for _ in 0..enough - 1 {
            last = last.look(0, false, || false);
            all = all.look(0, done);
            assert!(!last.has_stalled(all.still, enough), "{done} are done");
        }
    }
    // The last does not leave.
    assert!(last.idle >= enough);
    for _ in 0..enough {
        last = last.look(0, false, || false);
        all = all.look(0, 1023);
    }
    assert!(last.has_stalled(all.still, enough));
}

/// A writer that goes on, or is done, is not asked for its CPU.
#[test]
fn only_who_stands_still_is_asked() {
    let asked = |total, done| {
        let mut was = false;
        let _ = Mark {
            total: 3,
            idle: 2,
            spun: 2,
        }
        .look(total, done, || {
            was = true;
            true
        });
        was
    };
    assert!(asked(3, false) && !asked(4, false) && !asked(3, true));
}

/// Counters fail by what they differ by, either way, unless a writer hangs.
#[test]
fn counters_that_differ_fail() {
    for least in [0, 1, 1_000_000, u64::MAX - 9] {
        for more in 0..9 {
            for (counted, acquired) in [(least, least + more), (least + more, least)] {
                assert_eq!(counter_failures(0, counted, acquired), more);
                for hung in [1, 2, u64::MAX] {
                    assert_eq!(counter_failures(hung, counted, acquired), 0);
                }
            }
        }
    }
}

/// CPUs that stay away end an experiment, but for one whose lock hangs.
#[test]
fn a_hang_outweighs_lost_cpus() {
    for (hung, away, due) in [
        (false, 0, false),
        (false, 1, true),
        (false, 7, true),
        (true, 0, false),
        (true, 7, false),
    ] {
        let verdict = Verdict::<u8> {
            hung,
            ..Verdict::default()
        };
        assert_eq!(verdict.gives_up(away), due);
    }
}

/// What outweighs what, case by case.
#[test]
fn an_end_for_every_case() {
    for ended in 0..3 {
        assert_eq!(
            End::<u8, u8>::of(Err(9), ended, 2),
            End::Failed(Failure::GivenUp(9))
        );
    }
    for hung in [false, true] {
        for (failed, stopped, ended, due) in [
            (None, false, 2, End::Done),
            (None, false, 1, End::Failed(Failure::Incomplete)),
            (None, true, 1, End::Stopped),
            (None, true, 2, End::Stopped),
            (Some(4), false, 2, End::Failed(Failure::Checks(4))),
            (Some(4), false, 1, End::Failed(Failure::Checks(4))),
            (Some(4), true, 1, End::Failed(Failure::Checks(4))),
        ] {
            let verdict = Verdict {
                failed,
                stopped,
                hung,
            };
            assert_eq!(End::<u8, u8>::of(Ok(verdict), ended, 2), due, "{verdict:?}");
        }
    }
    assert_eq!(
        Verdict::<u8>::default(),
        Verdict {
            failed: None,
            stopped: false,
            hung: false
        }
    );
}

/// Each number below a bound is drawn as often as any other, whatever the seed. (Of chi square with n - 1 degrees of freedom
/// hardly any is above twice n and thirty.)
#[test]
fn draws_are_uniform() {
    for seed in [0, 1, 2026, u64::MAX] {
        for n in [2u32, 3, 7, 8, 400] {
            let (mut prng, mut drawn) = (Prng::new(seed), vec![0.0; n as usize]);
            for _ in 0..1000 * n {
                drawn[prng.below(n) as usize] += 1.0;
            }
            let chi_square: f64 = drawn
                .iter()
                .map(|count: &f64| (count - 1000.0).powi(2) / 1000.0)
                .sum();
            assert!(
                chi_square < f64::from(2 * n + 30),
                "{n} of {seed}: {chi_square}"
            );
        }
    }
}

/// Each bound and its neighbours, where random numbers seldom fall.
#[test]
fn bounds_are_kept_to_the_last_number() {
    let unfair: Vec<bool> = (14..18).map(|most| is_unfair(7, most)).collect();
    assert_eq!(unfair, [false, false, true, true]);
    let cut: Vec<bool> = (2_999_999_999..3_000_000_002)
        .map(|ns| is_cut(ns, 3))
        .collect();
    assert_eq!(cut, [true, false, false]);
    let mut points = [0; 3];
    assert_eq!(writers("-1,1,8", &mut points, 8), Some(3));
    assert_eq!(points, [-1, 1, 8]);
    for refused in ["-2", "0", "9"] {
        assert_eq!(writers(refused, &mut points, 8), None, "{refused}");
    }
    let mut swept = [0; 4];
    assert_eq!(order::sweep(&mut swept, 4), 3);
    assert_eq!(swept, [1, 2, 4, 0]);
    let mut zero = [0];
    assert_eq!(resolve(&mut zero, 8), Ok(()));
    assert_eq!(zero, [0]);
}
