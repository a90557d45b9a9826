// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The signal: its handler, its installation, its mask.

use core::mem::MaybeUninit;
use core::ptr;
use core::sync::atomic::{AtomicI32, AtomicU64, AtomicUsize, Ordering};
use std::io;

use crate::loaded;
use crate::protocol::{self, Action};
use crate::section;

/// The signal that is installed; 0 before.
static SIGNAL: AtomicI32 = AtomicI32::new(0);
/// What handled it before, and its flags.
static PREVIOUS: AtomicUsize = AtomicUsize::new(libc::SIG_DFL);
static PREVIOUS_FLAGS: AtomicI32 = AtomicI32::new(0);
/// How often the handler ran, in all threads. The self-test looks at it.
pub(crate) static HANDLED: AtomicU64 = AtomicU64::new(0);

type Handler = extern "C" fn(libc::c_int, *mut libc::siginfo_t, *mut libc::c_void);

/// The handler. Async-signal-safe. It reads and writes atomics of the thread's record and
/// of this file, and makes at most one system call.
extern "C" fn handle(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    HANDLED.fetch_add(1, Ordering::Relaxed);
    let own = section::own();
    if !own.is_null() && !context.is_null() {
        // SAFETY: the kernel passes the context of what it interrupted (SA_SIGINFO).
        let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
        // SAFETY: the thread's pointer is a record's, and those are never unmapped.
        let own = unsafe { &*own };
        let rip = &mut context.uc_mcontext.gregs[libc::REG_RIP as usize];
        let (place, out) = section::found_at(*rip as u64);
        match protocol::on_signal(&own.shared, place) {
            Action::Return => {}
            Action::Abort => *rip = out as i64,
            Action::Defer => defer(signal, context),
        }
    }
    chain(signal, info, context);
}

/// Sends the signal again, to come when the interrupted handler returns. Until then the
/// mask with which this handler returns blocks it. The return of the other restores the
/// mask of what *it* interrupted, which is the section's. Ends the process where a thread
/// may not even signal itself.
fn defer(signal: libc::c_int, context: &mut libc::ucontext_t) {
    // SAFETY: errno is the thread's own; the mask is the context's; the signal goes to
    // this thread, where it is blocked now, since its handler runs.
    unsafe {
        let errno = *libc::__errno_location();
        libc::sigaddset(&mut context.uc_sigmask, signal);
        let tid = libc::syscall(libc::SYS_gettid);
        if libc::syscall(libc::SYS_tgkill, libc::getpid(), tid, signal) != 0 {
            // A filter of this thread's own (seccomp). The canceller believes that the
            // section is left, and may have gone on: to go on here would lose what it
            // wrote. Not abort(), which is a tgkill; all signals are blocked, so that
            // this one ends the process.
            const WHY: &[u8] = b"rlock: a thread may not signal itself (tgkill)\n";
            libc::write(2, WHY.as_ptr().cast(), WHY.len());
            core::arch::asm!("ud2", options(noreturn));
        }
        *libc::__errno_location() = errno;
    }
}

/// Calls the handler that was there before ours.
fn chain(signal: libc::c_int, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let previous = PREVIOUS.load(Ordering::Acquire);
    if previous == libc::SIG_DFL || previous == libc::SIG_IGN {
        return;
    }
    if PREVIOUS_FLAGS.load(Ordering::Relaxed) & libc::SA_SIGINFO != 0 {
        // SAFETY: it was installed as such a function.
        let previous: Handler = unsafe { core::mem::transmute(previous) };
        previous(signal, info, context);
    } else {
        // SAFETY: it was installed as such a function.
        let previous: extern "C" fn(libc::c_int) = unsafe { core::mem::transmute(previous) };
        previous(signal);
    }
}

fn present(signal: libc::c_int) -> io::Result<libc::sigaction> {
    let mut now = MaybeUninit::<libc::sigaction>::uninit();
    // SAFETY: writes the action, and sets none.
    unsafe {
        if libc::sigaction(signal, ptr::null(), now.as_mut_ptr()) != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(now.assume_init())
    }
}

/// Whether the handler is (still) ours.
pub(crate) fn is_installed() -> bool {
    present(SIGNAL.load(Ordering::Relaxed))
        .is_ok_and(|now| now.sa_sigaction == handle as Handler as usize)
}

/// Installs the handler, once a process. It calls the one that it replaces.
///
/// SA_RESTART: system calls go on, those that signal(7) lists as never restarted
/// excepted. All signals are blocked while it runs.
///
/// Returns what was there, for [`uninstall`]; `None` when that was ours already.
pub(crate) fn install(signal: libc::c_int) -> io::Result<Option<libc::sigaction>> {
    // Named, and not called: the loader has called it.
    core::hint::black_box(&raw const loaded::CONSTRUCTOR);
    SIGNAL.store(signal, Ordering::Relaxed);
    let before = present(signal)?;
    let ours = handle as Handler as usize;
    if before.sa_sigaction == ours {
        return Ok(None);
    }
    PREVIOUS_FLAGS.store(before.sa_flags, Ordering::Relaxed);
    PREVIOUS.store(before.sa_sigaction, Ordering::Release);
    // SAFETY: zeroes are an action, which is then filled; the handler is as
    // SA_SIGINFO asks, and async-signal-safe.
    unsafe {
        let mut action: libc::sigaction = core::mem::zeroed();
        action.sa_sigaction = ours;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART | libc::SA_ONSTACK;
        libc::sigfillset(&mut action.sa_mask);
        if libc::sigaction(signal, &action, ptr::null_mut()) != 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(Some(before))
}

/// Puts back what was there before [`install`], unless another handler was installed
/// since.
pub(crate) fn uninstall(before: &libc::sigaction) {
    if is_installed() {
        // SAFETY: an action that was installed before; none is read.
        unsafe { libc::sigaction(SIGNAL.load(Ordering::Relaxed), before, ptr::null_mut()) };
    }
}

/// All signals are blocked in the calling thread until this is dropped. A handler that
/// registers, or counts, must not find a registration half done.
pub(crate) struct Blocked(libc::sigset_t);

/// Blocks all signals in the calling thread.
pub(crate) fn block_all() -> Blocked {
    // SAFETY: the sets are this function's own; the mask is the calling thread's.
    unsafe {
        let mut all = MaybeUninit::<libc::sigset_t>::uninit();
        let mut before = MaybeUninit::<libc::sigset_t>::zeroed();
        libc::sigfillset(all.as_mut_ptr());
        libc::pthread_sigmask(libc::SIG_SETMASK, all.as_ptr(), before.as_mut_ptr());
        Blocked(before.assume_init())
    }
}

impl Drop for Blocked {
    fn drop(&mut self) {
        // SAFETY: what the thread had before.
        unsafe { libc::pthread_sigmask(libc::SIG_SETMASK, &self.0, ptr::null_mut()) };
    }
}

/// Unblocks the signal in the calling thread.
pub(crate) fn unblock() {
    // SAFETY: the set is this function's own; the mask is the calling thread's.
    unsafe {
        let mut set = MaybeUninit::<libc::sigset_t>::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), SIGNAL.load(Ordering::Relaxed));
        libc::pthread_sigmask(libc::SIG_UNBLOCK, set.as_ptr(), ptr::null_mut());
    }
}
