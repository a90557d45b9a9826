// SPDX-License-Identifier: GPL-2.0-only

//! debugfs `handover/`: readable and writable by root alone (modes 0400 and
//! 0200). Every file is formatted under the harness's mutex in one go. A reader
//! in the middle of a run gets whole rows. An open file keeps the module from
//! unloading.

use super::{
    control::Harness,
    registry::LOCKS,
    report,
    shim::{self, FileOps},
    state::Inner,
    text::put,
    uncontended,
};
use kernel::{
    bindings::{seq_file, seq_write},
    ffi::{c_char, c_int, c_ulong, c_void},
    fmt::{self, Display, Formatter, Write},
    prelude::*,
    sync::Arc,
};

/// A readable file: its name, and what writes it.
type File = (&'static CStr, fn(&Inner, &mut Formatter<'_>) -> fmt::Result);

/// All readable files.
const FILES: [File; 7] = [
    (c"status", report::status),
    (c"results", report::results),
    (c"writers", report::writers),
    (c"latency", report::latency),
    (c"summary", report::summary),
    (c"uncontended", |inner, f| {
        uncontended::results(&inner.samples, f)
    }),
    (c"locks", |_, f| locks(f)),
];

/// The directory, once it is shown; it goes when this is dropped.
pub(crate) struct Files {
    /// What the files call; at a fixed place.
    ops: KBox<FileOps>,
    /// Keeps what they work on.
    _harness: Arc<Harness>,
}

// SAFETY: The pointer in the operations is to the harness, which may be shared.
unsafe impl Send for Files {}
// SAFETY: As above; nothing here is changed.
unsafe impl Sync for Files {}

impl Files {
    /// What the files need; there are none yet.
    pub(crate) fn new(harness: Arc<Harness>) -> Result<Self> {
        let ops = FileOps {
            arg: Arc::as_ptr(&harness).cast_mut().cast(),
            show,
            write,
        };
        let ops = KBox::new(ops, GFP_KERNEL)
            .inspect_err(|error| pr_err!("no room for the files: {error:?}\n"))?;
        Ok(Self {
            ops,
            _harness: harness,
        })
    }

    /// Makes the directory and its files, all or none. Without them the module still does what
    /// `insmod` asks for, and the log says so. The module's start must not fail after
    /// this: an open file would not keep it then.
    pub(crate) fn show(&self) {
        let mut names = [core::ptr::null(); FILES.len() + 1];
        for (name, (file, _)) in names.iter_mut().zip(&FILES) {
            *name = file.as_char_ptr();
        }
        // SAFETY: The operations, and the harness that they are given, stay until
        // `drop` has removed the files. The names end with NULL; debugfs copies
        // them.
        let made =
            unsafe { shim::handover_files_create((&raw const *self.ops).cast(), names.as_ptr()) };
        if let Err(error) = kernel::error::to_result(made) {
            pr_warn!("no files in debugfs: {error:?}; the log alone tells of experiments\n");
        }
    }
}

impl Drop for Files {
    fn drop(&mut self) {
        // SAFETY: Created in `show`, or not at all, which is no error.
        unsafe { shim::handover_files_remove() };
    }
}

/// A file's text.
struct Text<'a> {
    inner: &'a Inner,
    write: fn(&Inner, &mut Formatter<'_>) -> fmt::Result,
}

impl Display for Text<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        (self.write)(self.inner, f)
    }
}

/// What is shown of a file. A full buffer ends the formatting, and the caller begins again
/// with one of twice the size. So the mutex is held for at most three texts in all.
/// Only `summary`'s short table is computed whole each time.
///
/// # Invariants
///
/// The pointer is to a `seq_file` that is being shown.
struct Shown(*mut seq_file);

impl Write for Shown {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        // SAFETY: By the type invariant; the text is of that length.
        match unsafe { seq_write(self.0, text.as_ptr().cast(), text.len()) } {
            0 => Ok(()),
            _ => Err(fmt::Error),
        }
    }
}

/// Reads a file.
///
/// # Safety
///
/// `arg` must point to a [`Harness`], `seq` to a `seq_file` that is being shown.
unsafe extern "C" fn show(arg: *mut c_void, seq: *mut seq_file, id: c_ulong) -> c_int {
    // SAFETY: By this function's contract.
    let harness = unsafe { &*arg.cast::<Harness>() };
    if let Some(&(_, write)) = FILES.get(id) {
        let inner = &harness.inner.lock();
        // INVARIANT: By this function's contract.
        let mut shown = Shown(seq);
        // Its one error is a full buffer, which the file itself knows of.
        let _ = shown.write_fmt(fmt!("{}", Text { inner, write }));
    }
    0
}

/// Writes `control`.
///
/// # Safety
///
/// `arg` must point to a [`Harness`], `text` to `len` bytes.
unsafe extern "C" fn write(arg: *mut c_void, text: *const c_char, len: usize) -> c_int {
    // SAFETY: By this function's contract.
    let harness = unsafe { &*arg.cast::<Harness>() };
    // SAFETY: By this function's contract.
    let text = unsafe { core::slice::from_raw_parts(text.cast::<u8>(), len) };
    let Ok(words) = core::str::from_utf8(text) else {
        pr_err!("control: not text\n");
        return EINVAL.to_errno();
    };
    harness.command(words).map_or_else(Error::to_errno, |()| 0)
}

/// `locks`: what there is.
fn locks(f: &mut Formatter<'_>) -> fmt::Result {
    for lock in LOCKS {
        put!(f, "{:<14} {}\n", lock.name, lock.about)?;
    }
    Ok(())
}
