// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A lock that nobody else wants.

use std::{error::Error, path::Path};

use handover_measure::order;
use handover_user::register_barrier;

use crate::{
    methods::{for_each_method, Method, BASE},
    pairs::{a_second_thread, add, batches, Line},
    table::{self, Sample},
};

/// One method, compiled by itself, so that each loop is laid out alike.
#[inline(never)]
fn measure<M: Method>(pairs: u32) -> Vec<u64> {
    let lock = Line(M::new());
    batches(pairs, |counter| lock.0.with(|| add(counter)))
}

pub(crate) fn run(folder: &Path, rounds: u32, pairs: u32) -> Result<(), Box<dyn Error>> {
    let has_barrier = register_barrier();
    a_second_thread();
    type Measure = fn(u32) -> Vec<u64>;
    let mut methods: Vec<(&'static str, Measure)> = Vec::new();
    macro_rules! each {
        ($name:literal, $method:ty) => {
            methods.push(($name, measure::<$method>))
        };
    }
    for_each_method!(each);
    let mut samples = Vec::new();
    for round in 0..rounds {
        eprintln!("uncontended: round {} of {rounds}", round + 1);
        for index in order::from(round as usize, methods.len()) {
            let (name, measure) = methods[index];
            samples.extend(Sample::of("", name, round, measure(pairs)));
        }
    }
    let names: Vec<&str> = methods.iter().map(|(name, _)| *name).collect();
    table::sort(&mut samples, &names);
    table::tell(&folder.join("user-uncontended.csv"), &samples, None, BASE)?;
    println!(
        "\nmembarrier: {}",
        if has_barrier { "granted" } else { "refused" }
    );
    Ok(())
}
