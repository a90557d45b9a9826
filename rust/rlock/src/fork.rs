// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Children: of `fork`, of a bare `clone`, and those that share the parent's memory.
//!
//! A child of `fork` has one thread. In `fork`'s own handler, what other threads owned
//! becomes free. The remaining thread's record gets the child's thread and files. A
//! child of a bare `clone` runs no such handlers. A page that the kernel wipes on a
//! fork shows it. The child's first thread then mends all as soon as it acquires. A
//! child that shares the memory (`vfork`) finds the page as it was and another process
//! id: it is refused.

use core::ptr;
use core::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use rustix::mm::{madvise, mmap_anonymous, munmap, Advice, MapFlags, ProtFlags};

use crate::files;
use crate::found::{self, Error};
use crate::protocol::Busy;
use crate::record;
use crate::section;
use crate::signal;
use crate::word::{CANCELLED, SIGNALLED};

const PAGE: usize = 4096;

/// The process that the records are of.
static PID: AtomicU32 = AtomicU32::new(0);
/// A word in a page that the kernel wipes in a forked child.
static MARK: AtomicPtr<AtomicU32> = AtomicPtr::new(ptr::null_mut());

/// Once a process, before there is a record.
pub(crate) fn prepare(pid: u32) -> Result<(), Error> {
    PID.store(pid, Ordering::Release);
    // SAFETY: null or the word in the page that stays.
    if let Some(mark) = unsafe { MARK.load(Ordering::Acquire).as_ref() } {
        // Of a set-up that failed, or that a fork left behind in the parent: there is no
        // record yet, and so nothing to mend.
        mark.store(1, Ordering::Release);
        return Ok(());
    }
    // SAFETY: a fresh mapping, of a page, which is unmapped only where no thread has it.
    let page = unsafe {
        let page = mmap_anonymous(
            ptr::null_mut(),
            PAGE,
            ProtFlags::READ | ProtFlags::WRITE,
            MapFlags::PRIVATE,
        )?;
        if let Err(why) = madvise(page, PAGE, Advice::LinuxWipeOnFork) {
            munmap(page, PAGE)?;
            return Err(Error::Fork(why));
        }
        page
    };
    let mark = page.cast::<AtomicU32>();
    // SAFETY: the page is zero, which is such a word, and stays.
    unsafe { &*mark }.store(1, Ordering::Release);
    MARK.store(mark, Ordering::Release);
    // SAFETY: the handler is a plain function of this program. Refused only for want
    // of memory; the page tells then.
    unsafe { libc::pthread_atfork(None, None, Some(in_child)) };
    Ok(())
}

/// The process whose threads the records are of.
pub(crate) fn pid() -> u32 {
    PID.load(Ordering::Acquire)
}

fn is_forked() -> bool {
    let mark = MARK.load(Ordering::Acquire);
    // SAFETY: null or the word in the page that stays.
    !mark.is_null() && unsafe { &*mark }.load(Ordering::Acquire) == 0
}

/// Before a thread registers, acquires anew, or cancels: whether this is the process
/// that the records are of.
pub(crate) fn check() -> Result<(), Busy> {
    if is_forked() {
        // Without fork's handlers. The thread that forked is the child's first; when it
        // has a record, only it can say which.
        let pid = std::process::id();
        let tid = rustix::thread::gettid().as_raw_nonzero().get() as u32;
        if pid != tid {
            return Err(Busy::OtherProcess);
        }
        in_child();
    }
    Ok(())
}

/// [`check`], and that this is not a child which shares the parent's memory.
pub(crate) fn check_sharing() -> Result<(), Busy> {
    check()?;
    match found::get() {
        Some(setup) if setup.config.kernel.pid() != pid() => Err(Busy::OtherProcess),
        _ => Ok(()),
    }
}

/// Runs in a child of `fork`, in its only thread.
extern "C" fn in_child() {
    let mark = MARK.load(Ordering::Acquire);
    if mark.is_null() || !is_forked() {
        return;
    }
    let _blocked = signal::block_all();
    let own = section::own();
    for record in record::all() {
        if !ptr::eq(record, own) && record.is_claimed() {
            // Its thread is not here: no thread stands in its section.
            record.give_back();
        }
    }
    PID.store(std::process::id(), Ordering::Release);
    if let Some(setup) = found::get() {
        // The mark of having registered may not be inherited; the kernel's answer to
        // this is the answer to the next cancel.
        let _ = setup.config.kernel.register_membarrier();
        // SAFETY: the thread's pointer is null or a record's.
        if let Some(own) = unsafe { own.as_ref() } {
            // The signal that was sent in the parent is not pending here.
            let state = own.shared.state.fetch_and(!SIGNALLED, Ordering::SeqCst);
            files::publish(own, setup);
            // It may have forked in a handler on a section that another thread had cancelled.
            if state & CANCELLED != 0 && own.shared.section.load(Ordering::Relaxed) != 0 {
                let tid = own.tid.load(Ordering::Relaxed);
                let _ = setup
                    .config
                    .kernel
                    .tgkill(std::process::id(), tid, setup.config.signal);
            }
        }
    }
    // SAFETY: not null, and the word of the page that stays.
    unsafe { &*mark }.store(1, Ordering::Release);
}
