// SPDX-License-Identifier: GPL-2.0

//! debugfs `handover/`: readable and writable by root alone (modes 0400 and
//! 0200). Every file is formatted under the harness's mutex in one go, so a
//! reader in the middle of a run gets whole rows.

use super::{bench, harness::Harness, report, subject::LOCKS};
use kernel::{
    debugfs::Scope,
    fmt::{self, Formatter},
    prelude::*,
    sync::Arc,
    uaccess::UserSliceReader,
};

/// The directory; it goes when this is dropped.
pub(crate) type Files = Scope<Arc<Harness>>;

/// The longest text that `control` takes.
const MAX_COMMAND: usize = 512;

/// Makes the directory and its files.
pub(crate) fn new(harness: Arc<Harness>) -> impl PinInit<Files> {
    Scope::dir(harness, c"handover", |harness, dir| {
        dir.write_only_callback_file(c"control", harness, &control);
        dir.read_callback_file(c"status", harness, &status);
        dir.read_callback_file(c"results", harness, &results);
        dir.read_callback_file(c"uncontended", harness, &uncontended);
        dir.read_callback_file(c"summary", harness, &summary);
        dir.read_callback_file(c"locks", harness, &locks);
    })
}

fn control(harness: &Arc<Harness>, reader: &mut UserSliceReader) -> Result {
    let mut text = [0; MAX_COMMAND];
    let text = text.get_mut(..reader.len()).ok_or_else(|| {
        pr_err!("control: at most {MAX_COMMAND} bytes\n");
        EINVAL
    })?;
    reader.read_slice(text)?;
    let words = core::str::from_utf8(text).map_err(|_| {
        pr_err!("control: not text\n");
        EINVAL
    })?;
    harness.command(words)
}

fn status(harness: &Arc<Harness>, f: &mut Formatter<'_>) -> fmt::Result {
    report::status(&harness.inner.lock(), f)
}

fn results(harness: &Arc<Harness>, f: &mut Formatter<'_>) -> fmt::Result {
    report::results(&harness.inner.lock(), f)
}

fn uncontended(harness: &Arc<Harness>, f: &mut Formatter<'_>) -> fmt::Result {
    bench::results(&harness.inner.lock().samples, f)
}

fn summary(harness: &Arc<Harness>, f: &mut Formatter<'_>) -> fmt::Result {
    report::summary(&harness.inner.lock(), f)
}

fn locks(_: &Arc<Harness>, f: &mut Formatter<'_>) -> fmt::Result {
    for lock in LOCKS {
        report::put!(f, "{:<14} {}\n", lock.name, lock.about)?;
    }
    Ok(())
}
