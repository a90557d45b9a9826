// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The list of the locks, for every world, its tests and the scripts.

/// Calls the macro `$then` with what else is passed on, and then the locks, a line each. A line has
/// the lock's name, its type, its kind, and what it promises.
///
/// | kind | what |
/// |---|---|
/// | `usual` | a lock that the kernel module takes when it is not told which |
/// | `more` | a lock that it takes by name, and that `all` means too |
/// | `model` | a lock for models and simulators, which the kernel module does not have |
/// | `control` | no lock: it excludes nobody |
///
/// Where the macro is used, the locks are in scope, and `Word` is the world's cell.
///
/// # Examples
///
/// ```
/// # mod process { include!(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/process/world.rs")); }
/// # use process::{Cell as Word, Process};
/// use handover_locks::*;
///
/// macro_rules! sizes {
///     ($($name:ident: $lock:ty = $kind:ident, $about:literal;)*) => {
///         [$((stringify!($name), size_of::<$lock>())),*]
///     };
/// }
/// let sizes = for_each_lock!(sizes);
/// assert!(sizes.contains(&("twa", 8)) && sizes.contains(&("one_word_twa", 4)));
/// ```
#[macro_export]
macro_rules! for_each_lock {
    ($then:ident $($more:tt)*) => {
        $then! { $($more)*
            twa: Twa<Word> = usual, "ticket lock with a waiting array (Dice and Kogan 2019): exclusion, FIFO";
            ticket: Ticket<Word> = usual, "classic ticket lock: exclusion, FIFO";
            one_word_twa: OneWordTwa<Word> = more, "TWA in four bytes: exclusion, FIFO";
            mcs: Mcs<Word> = more, "queue of nodes (Mellor-Crummey and Scott 1991): exclusion, FIFO";
            clh: Clh<Word> = more, "queue of nodes that migrate (Craig 1993): exclusion, FIFO";
            ttas: Ttas<Word> = more, "test-and-test-and-set with back-off: exclusion";
            qspin: Qspin<Word> = model, "the kernel's qspinlock: exclusion, FIFO";
            busted: Busted = control, "excludes nobody: the harness must find it";
        }
    };
}
pub use for_each_lock;
