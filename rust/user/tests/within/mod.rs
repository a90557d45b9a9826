// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A bound for what would hang where a waiter is forgotten.

use std::{sync::mpsc, thread, time::Duration};

/// What `work` returns. A test in which it takes longer than ten seconds fails.
pub(crate) fn within<R: Send + 'static>(work: impl FnOnce() -> R + Send + 'static) -> R {
    let (tell, told) = mpsc::channel();
    thread::spawn(move || tell.send(work()));
    told.recv_timeout(Duration::from_secs(10))
        .expect("no thread waits for ever, and none panics")
}
