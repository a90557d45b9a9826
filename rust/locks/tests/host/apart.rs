// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Words on lines of their own: each access is passed on as it is.

use std::cell::Cell;

use handover_locks::{Apart, Awaited, Word};

/// An access by the name of its method, with its values.
type Access = (&'static str, u32, u32);

/// A word that tells the last access, and answers it by `answer`.
#[derive(Default)]
struct Told {
    last: Cell<Option<Access>>,
    answer: u32,
}

impl Told {
    fn tell(&self, name: &'static str, one: u32, other: u32) -> u32 {
        self.last.set(Some((name, one, other)));
        self.answer
    }
}

macro_rules! accesses {
    ($($name:ident($($value:ident),*) $(-> $result:ident)?;)*) => {
        impl Word for &Told {
            $(fn $name(&self, $($value: u32),*) $(-> $result)? {
                let values: &[u32] = &[$($value),*];
                let at = |number| values.get(number).copied().unwrap_or(0);
                accesses!(@answer $($result)?, self.tell(stringify!($name), at(0), at(1)))
            })*

            fn wait_acquire(&self, awaited: Awaited) -> u32 {
                assert_eq!(awaited, Awaited::bits(0xff, 9));
                self.tell("wait_acquire", 0, 0)
            }
        }

        /// Each method's name, the values that it is called with, and the call.
        const ALL: &[(&str, fn(&dyn Word) -> u32)] = &[
            $((stringify!($name), |word| {
                accesses!(@values [3, 5] $($value)*);
                accesses!(@number $($result)?, word.$name($($value),*))
            }),)*
            ("wait_acquire", |word| word.wait_acquire(Awaited::bits(0xff, 9))),
        ];
    };
    (@answer u32, $told:expr) => { $told };
    (@answer bool, $told:expr) => { $told % 2 == 1 };
    (@answer, $told:expr) => {{ $told; }};
    (@number u32, $call:expr) => { $call };
    (@number bool, $call:expr) => { u32::from($call) };
    (@number, $call:expr) => {{ $call; 0 }};
    (@values [$first:literal, $second:literal]) => {};
    (@values [$first:literal, $second:literal] $one:ident) => { let $one = $first; };
    (@values [$first:literal, $second:literal] $one:ident $other:ident) => { let ($one, $other) = ($first, $second); };
}

accesses! {
    load_relaxed() -> u32;
    load_acquire() -> u32;
    store_relaxed(value);
    store_release(value);
    swap_acq_rel(value) -> u32;
    fetch_add_relaxed(value) -> u32;
    fetch_add_acquire(value) -> u32;
    fetch_add_release(value) -> u32;
    inc_release();
    cmpxchg_relaxed(old, new) -> bool;
    cmpxchg_acquire(old, new) -> bool;
    cmpxchg_release(old, new) -> bool;
    swap_acq_rel_part(mask, value) -> u32;
    store_relaxed_part(old, new);
    store_release_part(old, new);
}

#[test]
fn apart_passes_each_access_on() {
    for answer in [6, 7] {
        for (name, call) in ALL {
            let told = Told {
                answer,
                ..Told::default()
            };
            let result = call(&&told);
            let direct = told.last.take();
            assert_eq!(direct.map(|(name, ..)| name), Some(*name));
            assert_eq!(call(&Apart::new(&told)), result, "{name}");
            assert_eq!(told.last.take(), direct, "{name}");
        }
    }
}
