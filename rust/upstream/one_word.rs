// SPDX-License-Identifier: GPL-2.0-only

//! A TWA lock as small as a `spinlock_t`.

use super::irq::InterruptsOff;
use super::{
    algorithm::{OneWordTwa, RawLock, World},
    backend::{SpinBackend, SpinRaw},
    word::{Linux, Word},
};
use crate::sync::lock::{Guard, Lock};

/// Creates a [`OneWordTwaLock`] initialiser with the given name and a new lock class, as
/// `new_spinlock!` does.
#[macro_export]
macro_rules! new_one_word_twa_lock {
    ($inner:expr $(, $name:literal)? $(,)?) => {
        $crate::sync::OneWordTwaLock::new(
            $inner, $crate::optional_name!($($name)?), $crate::static_lock_class!())
    };
}
pub use new_one_word_twa_lock;

/// A TWA spinlock of four bytes.
///
/// Promises what a [`TwaLock`](super::TwaLock) does. Uncontended it costs two locked
/// read-modify-writes of one line, and no slot. Each arrival takes the line that the next owner
/// polls.
///
/// # Examples
///
/// ```
/// use kernel::sync::new_one_word_twa_lock;
///
/// let count = KBox::pin_init(new_one_word_twa_lock!(0, "count"), GFP_KERNEL)?;
/// *count.lock() += 1;
/// assert_eq!(*count.lock(), 1);
/// # Ok::<(), Error>(())
/// ```
pub type OneWordTwaLock<T> = Lock<T, OneWordTwaBackend>;

/// A guard of a [`OneWordTwaLock`].
pub type OneWordTwaLockGuard<'a, T> = Guard<'a, T, OneWordTwaBackend>;

/// The backend of [`OneWordTwaLock`].
pub type OneWordTwaBackend = SpinBackend<OneWordTwa<Word>>;

/// Creates a [`OneWordTwaLockIrq`] initialiser with the given name and a new lock class.
#[macro_export]
macro_rules! new_one_word_twa_lock_irq {
    ($inner:expr $(, $name:literal)? $(,)?) => {
        $crate::sync::OneWordTwaLockIrq::new(
            $inner, $crate::optional_name!($($name)?), $crate::static_lock_class!())
    };
}
pub use new_one_word_twa_lock_irq;

/// A TWA spinlock of four bytes that interrupt handlers may take.
pub type OneWordTwaLockIrq<T> = Lock<T, OneWordTwaIrqBackend>;

/// A guard of a [`OneWordTwaLockIrq`].
pub type OneWordTwaLockIrqGuard<'a, T> = Guard<'a, T, OneWordTwaIrqBackend>;

/// The backend of [`OneWordTwaLockIrq`].
pub type OneWordTwaIrqBackend = SpinBackend<OneWordTwa<Word>, InterruptsOff>;

// SAFETY: As of the other locks. It has room for `MOST_CONTENDERS`, as is asserted below.
unsafe impl SpinRaw for OneWordTwa<Word> {}

const _: () = assert!(<OneWordTwa<Word> as RawLock<Linux>>::EXCLUDES);

const _: () = assert!(
    <Linux as World>::MOST_CONTENDERS < 1 << 16,
    "a one-word TWA has no room for four threads of each of NR_CPUS"
);
