// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A thread's entry in its record: the thread, and its files in `/proc`.

use core::sync::atomic::Ordering;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, IntoRawFd, OwnedFd};

use crate::found::Setup;
use crate::kernel::{File, Kernel};
use crate::record::Record;

/// Enters the calling thread into its record: the thread and its files, before any lock
/// holds a generation of it.
pub(crate) fn publish(record: &Record, setup: &Setup) {
    let kernel = setup.config.kernel;
    let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
    record
        .limit
        .store(setup.config.operations, Ordering::Relaxed);
    record
        .budget
        .store(setup.config.operations, Ordering::Relaxed);
    for file in File::ALL {
        // Without the file (no such file, no descriptor left) the thread can be
        // cancelled by the other proofs, or strictly.
        let opened = kernel.open(tid, file).ok();
        let inode = opened.as_ref().and_then(|fd| kernel.inode(fd.as_fd()));
        put(record, file, opened, kernel);
        record.inodes[file as usize].store(inode.unwrap_or(0), Ordering::Release);
    }
    record.last_cpu.store(0, Ordering::Relaxed);
    record.tid.store(tid, Ordering::Release);
}

/// Makes `fd` the record's `file`, under the number that the record has.
fn put(record: &Record, file: File, fd: Option<OwnedFd>, kernel: &dyn Kernel) {
    let number = &record.files[file as usize];
    let mut old = number.load(Ordering::Relaxed).abs() - 1;
    if old >= 0 {
        // SAFETY: the number is only asked about, whichever file has it.
        let inode = kernel.inode(unsafe { BorrowedFd::borrow_raw(old) });
        if inode != Some(record.inodes[file as usize].load(Ordering::Relaxed)) {
            // The program closed it, and it may be any file's now: it is forgotten.
            old = -1;
        }
    }
    match fd {
        // Kept for the next thread.
        None => number.store(-(old + 1), Ordering::Release),
        Some(fd) if old < 0 => number.store(fd.into_raw_fd() + 1, Ordering::Release),
        Some(fd) => {
            // SAFETY: the one is this function's, the other the record's, as was seen.
            let rc = unsafe { libc::dup3(fd.as_fd().as_raw_fd(), old, libc::O_CLOEXEC) };
            let kept = if rc < 0 { -(old + 1) } else { old + 1 };
            number.store(kept, Ordering::Release);
        }
    }
}
