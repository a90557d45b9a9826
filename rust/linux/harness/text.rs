// SPDX-License-Identifier: GPL-2.0-only

//! The kernel's formatting of what `measure` writes.

/// `write!` for the kernel's formatting traits.
macro_rules! put {
    ($f:expr, $($format:tt)*) => {
        $f.write_fmt(kernel::prelude::fmt!($($format)*))
    };
}
pub(crate) use put;

/// The kernel's `Display` is a trait of its own.
macro_rules! displayed {
    ($($type:ty),*) => {$(
        impl kernel::fmt::Display for $type {
            fn fmt(&self, f: &mut kernel::fmt::Formatter<'_>) -> kernel::fmt::Result {
                core::fmt::Display::fmt(self, f)
            }
        }
    )*};
}
pub(crate) use displayed;
