// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The study's counts: laws that they keep, a second count by other means, and the committed table.

#[path = "../../examples/study/desk.rs"]
mod desk;
mod recount;
#[path = "../../examples/study/run.rs"]
mod run;
#[path = "../../examples/study/seed.rs"]
mod seed;
#[path = "../../examples/study/world.rs"]
mod world;

use std::{fs, path::Path};

use self::{
    desk::Counts,
    recount::{recount, Recount},
    run::{Point, ACQUISITIONS, LOCKS, SEEDS, THRESHOLDS},
};

/// Few enough for a run with its deeds.
const FEW: usize = 960;

/// Points with many collisions, some, and none; of each lock and threshold.
fn some() -> Vec<Point> {
    let mut some = Vec::new();
    for lock in LOCKS {
        for threshold in THRESHOLDS {
            for (slots, contenders, locks) in [
                (1, 8, 1),
                (1, 32, 2),
                (4, 16, 2),
                (16, 32, 8),
                (64, 32, 1),
                (256, 32, 2),
                (4096, 16, 1),
                (4096, 4, 8),
            ] {
                some.push(Point {
                    lock,
                    threshold,
                    slots,
                    contenders,
                    locks,
                    seed: SEEDS[0],
                });
            }
        }
    }
    // A ticket of 16 bits wraps after 284 acquisitions.
    some.push(Point {
        lock: "one_word_twa",
        threshold: 1,
        slots: 64,
        contenders: 8,
        locks: 1,
        seed: 62,
    });
    some
}

/// The point's counts, and what they are by its deeds.
fn twice(point: &Point) -> (Counts, Recount) {
    let desk = point.run(FEW, true);
    (desk.counts, recount(point, &desk))
}

/// The laws that hold of counts at any point.
#[track_caller]
fn add_up(point: &Point, counts: &Counts, acquisitions: usize) {
    let Counts {
        at_once,
        short_term,
        long_term,
        looks,
        own,
        same_lock,
        other_lock,
        notified,
        skipped,
        ..
    } = *counts;
    let what = format!("{point:?}: {counts:?}");
    assert_eq!(counts.acquisitions as usize, acquisitions, "{what}");
    assert_eq!(
        at_once + short_term + long_term,
        counts.acquisitions,
        "{what}"
    );
    assert_eq!(notified + skipped, counts.acquisitions, "{what}");
    // A long-term waiter looks when it comes, and after each wake-up.
    assert_eq!(looks, long_term + own + same_lock + other_lock, "{what}");
    assert!(own <= long_term, "{what}");
    if point.lock == "twa" {
        assert_eq!(skipped, 0, "{what}");
    } else {
        // Each far thread comes near by one release, which sees it.
        assert_eq!(notified, long_term, "{what}");
    }
    if point.threshold == 0 {
        // The grant may come between the ticket and its first look at the word where it waits.
        assert_eq!(short_term, 0, "{what}");
    }
    if point.locks == 1 {
        assert_eq!(other_lock, 0, "{what}");
    }
    if point.contenders as u32 <= 1 + point.threshold {
        assert_eq!(long_term, 0, "{what}");
    }
}

#[test]
fn sums_add_up() {
    for point in some() {
        add_up(&point, &point.run(FEW, false).counts, FEW);
    }
}

#[test]
fn recounted_from_the_deeds() {
    for point in some() {
        let (counts, again) = twice(&point);
        assert_eq!(counts, again.counts, "{point:?}");
    }
}

#[test]
fn long_term_waits_are_behind_more_than_the_threshold() {
    for point in some() {
        for one in twice(&point).1.acquired {
            let ahead = one.ahead;
            assert_eq!(
                one.is_long_term,
                ahead > point.threshold,
                "{point:?}, {ahead}"
            );
            assert_eq!(one.has_waited, ahead > 0, "{point:?}, {ahead}");
        }
    }
}

/// So many acquisitions that tickets come back to their slots. They do so 4096 apart, so nobody is there.
#[test]
fn one_lock_never_collides_in_a_whole_array() {
    for lock in LOCKS {
        for threshold in THRESHOLDS {
            let point = Point {
                lock,
                threshold,
                slots: 4096,
                contenders: 32,
                locks: 1,
                seed: SEEDS[0],
            };
            let counts = point.run(3 * 4096, false).counts;
            assert!(counts.long_term > 2 * 4096, "{counts:?}");
            assert_eq!((counts.same_lock, counts.other_lock), (0, 0), "{point:?}");
            // So each waiter looks at most twice.
            assert!(counts.looks <= 2 * counts.long_term, "{counts:?}");
        }
    }
}

/// A notification wakes all that wait on its slot. With one slot these are all long-term waiters.
#[test]
fn a_notification_wakes_all_of_its_slot() {
    let mut most = 0;
    for point in some() {
        let (counts, again) = twice(&point);
        let wake_ups = counts.own + counts.same_lock + counts.other_lock;
        assert_eq!(wake_ups, again.roused + again.not_slept, "{point:?}");
        if point.slots == 1 && counts.long_term > 0 {
            assert!(
                counts.same_lock + counts.other_lock > counts.own,
                "{point:?}"
            );
            most = most.max(wake_ups / counts.long_term);
        }
    }
    assert!(most > 10, "{most} wake-ups a long-term wait, with one slot");
}

#[test]
fn its_own_notification_wakes_a_waiter_once_and_last() {
    for point in some() {
        for one in twice(&point).1.acquired {
            let number = one.own.iter().filter(|it| **it).count();
            assert!(number <= 1, "{point:?}: {:?}", one.own);
            assert_eq!(number == 1, one.own.last() == Some(&true), "{point:?}");
        }
    }
}

/// In one word a release notifies where a thread is one place beyond the threshold; of two words each does.
#[test]
fn one_word_notifies_where_a_thread_is_far() {
    let mut skipped = 0;
    for point in some() {
        for release in twice(&point).1.releases {
            let is_far = release.queue > point.threshold + 1;
            let due = point.lock == "twa" || is_far;
            assert_eq!(release.has_notified, due, "{point:?}: {}", release.queue);
            skipped += u32::from(!release.has_notified);
        }
    }
    assert!(skipped > 100);
}

/// Tickets are spread over the whole array, whatever its size.
#[test]
fn an_array_has_its_slots() {
    for point in some() {
        let used = twice(&point).1.slots;
        assert!(used.iter().all(|slot| *slot < point.slots), "{point:?}");
        let due = point.slots.min(64);
        if point.lock == "twa" {
            assert!(used.len() >= due, "{point:?}: {} slots", used.len());
        }
    }
}

#[test]
fn a_seed_is_a_table() {
    for point in some().into_iter().step_by(7) {
        let of = |seed| Point { seed, ..point }.run(FEW, true);
        assert_eq!(of(7).deeds, of(7).deeds, "{point:?}");
        assert_ne!(of(7).deeds, of(8).deeds, "{point:?}");
    }
}

/// The committed table's lines. A copy of this package alone has none.
fn table() -> Option<Vec<String>> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results");
    docs.is_dir().then(|| {
        let text = fs::read_to_string(docs.join("data/study.csv")).expect("the table is there");
        text.lines().map(str::to_owned).collect()
    })
}

/// A prime step, so that each value of each column occurs.
#[test]
fn the_table_is_what_its_seed_gives() {
    let Some(table) = table() else { return };
    let points = Point::all(&SEEDS);
    assert_eq!(table.len(), 1 + points.len());
    assert_eq!(table[0], format!("{},{}", Point::COLUMNS, Counts::COLUMNS));
    for (point, line) in points.iter().zip(&table[1..]).step_by(67) {
        assert_eq!(*line, format!("{},{}", point.row(), point.count().row()));
    }
}

#[test]
fn the_tables_sums_add_up() {
    let Some(table) = table() else { return };
    for (point, line) in Point::all(&SEEDS).iter().zip(&table[1..]) {
        let row = line
            .strip_prefix(&format!("{},", point.row()))
            .expect("its point");
        let counts: Vec<u32> = row.split(',').map(|it| it.parse().unwrap()).collect();
        let [acquisitions, at_once, short_term, long_term, looks, own, same_lock, other_lock, notified, skipped] =
            counts[..]
        else {
            panic!("{line}");
        };
        let counts = Counts {
            acquisitions,
            at_once,
            short_term,
            long_term,
            looks,
            own,
            same_lock,
            other_lock,
            notified,
            skipped,
        };
        assert_eq!(counts.row(), row);
        add_up(point, &counts, ACQUISITIONS);
    }
}
