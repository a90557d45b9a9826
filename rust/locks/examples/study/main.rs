// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What TWA does with its waiting array, counted: the real locks on shuttle's threads, by seed.
//!
//! `study [SEED...]` prints a table in CSV, a row a point. The same seeds give the same table. It has counts of what
//! the algorithm does, and no times.

mod desk;
mod run;
mod seed;
mod world;

use std::{
    sync::atomic::{AtomicUsize, Ordering::Relaxed},
    thread,
};

use self::{
    desk::Counts,
    run::{Point, SEEDS},
};

fn main() {
    let asked = std::env::args()
        .skip(1)
        .map(|it| it.parse().expect("a number"));
    let mut seeds: Vec<u64> = asked.collect();
    if seeds.is_empty() {
        seeds.extend(SEEDS);
    }
    let points = Point::all(&seeds);
    let next = AtomicUsize::new(0);
    // Each thread takes the next point. Runs share nothing, so it is the same by how many threads.
    let work = || {
        let mut done = Vec::new();
        while let Some(point) = points.get(next.fetch_add(1, Relaxed)) {
            done.push((point.row(), point.count().row()));
        }
        done
    };
    let threads = thread::available_parallelism().map_or(1, usize::from);
    let mut done: Vec<_> = thread::scope(|scope| {
        let threads: Vec<_> = (0..threads).map(|_| scope.spawn(work)).collect();
        let done = threads.into_iter().map(|it| it.join().expect("a run ends"));
        done.flatten().collect()
    });
    let place = |row: &str| points.iter().position(|point| point.row() == row);
    done.sort_by_key(|(point, _)| place(point));
    println!("{},{}", Point::COLUMNS, Counts::COLUMNS);
    for (point, counts) in done {
        println!("{point},{counts}");
    }
}
