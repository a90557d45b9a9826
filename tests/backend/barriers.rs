// SPDX-License-Identifier: GPL-2.0-only

//! A read before and a read after each step of the words that are written in assembly. `tests/suites/backend` counts
//! them in the compiler's listing. Each step is a `barrier()`, so there are two.

#![allow(dead_code, unused_imports, unused_macros, unexpected_cfgs)]

extern crate self as kernel;

#[path = "../../rust/locks/mod.rs"]
mod locks;
mod mock;
#[path = "../../rust/linux/spin/mod.rs"]
mod spin;

pub use mock::{bindings, ffi, interrupt, processor, sync, types};

use locks::{Awaited, Word as _, World};
use spin::{Linux, Word};
use std::cell::Cell;

/// A name's own number.
const fn number(name: &str) -> u32 {
    let (mut sum, mut i) = (0_u32, 0);
    while i < name.len() {
        sum = sum.wrapping_mul(31).wrapping_add(name.as_bytes()[i] as u32);
        i += 1;
    }
    sum
}

macro_rules! around {
    ($($name:ident: |$word:ident| $step:expr;)*) => {
        $(#[no_mangle]
        pub fn $name($word: &Word, data: &Cell<u32>) -> (u32, u32) {
            let before = data.get();
            let _ = $step;
            // No two functions are the same, so that none is the other's name.
            (before, data.get() ^ const { number(stringify!($name)) })
        })*
    };
}
around! {
    around_nothing: |word| word;
    around_load_relaxed: |word| word.load_relaxed();
    around_load_acquire: |word| word.load_acquire();
    around_store_relaxed: |word| word.store_relaxed(1);
    around_store_release: |word| word.store_release(1);
    around_swap_acq_rel: |word| word.swap_acq_rel(1);
    around_fetch_add_relaxed: |word| word.fetch_add_relaxed(1);
    around_fetch_add_acquire: |word| word.fetch_add_acquire(1);
    around_fetch_add_release: |word| word.fetch_add_release(1);
    around_inc_release: |word| word.inc_release();
    around_cmpxchg_relaxed: |word| word.cmpxchg_relaxed(1, 2);
    around_cmpxchg_acquire: |word| word.cmpxchg_acquire(1, 2);
    around_cmpxchg_release: |word| word.cmpxchg_release(1, 2);
    around_wait_acquire: |word| word.wait_acquire(Awaited::is(1));
}
