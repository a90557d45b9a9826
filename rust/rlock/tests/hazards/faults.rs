// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A section whose commit faults.

use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, Ordering};
use std::sync::mpsc;
use std::time::Duration;

use rlock::{Busy, Cancel, Lock, Owner, Revoked, Slot};

use crate::alone::alone;
use crate::forbid::{can_forbid, forbid, REFUSE};
use crate::tid;

const PAGE: usize = 4096;

/// The page that faults, and a handler's part in it.
static FAULTING: AtomicPtr<libc::c_void> = AtomicPtr::new(ptr::null_mut());
static STAGE: AtomicU32 = AtomicU32::new(0);
/// Whether the victim's tgkill is to fail.
static FORBID: AtomicBool = AtomicBool::new(false);
/// The victim.
pub(crate) static VICTIM: AtomicU32 = AtomicU32::new(0);
/// The victim's handler stands on the section; it may go on; it has.
const STANDS: u32 = 1;
const GO: u32 = 2;
const GONE: u32 = 3;

/// Waits, asleep, until it may go on; then makes the page writable and returns to the
/// instruction that faulted.
extern "C" fn faulted(_: i32, info: *mut libc::siginfo_t, _: *mut libc::c_void) {
    // SAFETY: the kernel's; async-signal-safe calls.
    unsafe {
        let page = FAULTING.load(Ordering::SeqCst);
        let at = (*info).si_addr();
        if at < page || at >= page.wrapping_byte_add(PAGE) {
            libc::_exit(66);
        }
        STAGE.store(STANDS, Ordering::SeqCst);
        while STAGE.load(Ordering::SeqCst) != GO {
            let time = libc::timespec {
                tv_sec: 0,
                tv_nsec: 5_000_000,
            };
            libc::nanosleep(&time, ptr::null_mut());
        }
        STAGE.store(GONE, Ordering::SeqCst);
        libc::mprotect(page, PAGE, libc::PROT_READ | libc::PROT_WRITE);
    }
}

/// Lets the victim go on, also after a panic.
struct GoOn;

impl Drop for GoOn {
    fn drop(&mut self) {
        STAGE.store(GO, Ordering::SeqCst);
    }
}

/// Calls `body` while a thread's section with this lock stands at its commit, in the
/// handler of a fault. Then the thread goes on; returns what its store said.
pub(crate) fn with_a_victim_in_a_section(
    body: impl FnOnce(&'static Lock<Slot>),
) -> Result<(), Revoked> {
    // SAFETY: a fresh mapping that stays; zeroes are such a lock; the handler is
    // async-signal-safe.
    let lock: &'static Lock<Slot> = unsafe {
        let page = libc::mmap(
            ptr::null_mut(),
            PAGE,
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS,
            -1,
            0,
        );
        assert_ne!(page, libc::MAP_FAILED);
        let mut action: libc::sigaction = std::mem::zeroed();
        let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = faulted;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO;
        assert_eq!(libc::sigaction(libc::SIGSEGV, &action, ptr::null_mut()), 0);
        FAULTING.store(page, Ordering::SeqCst);
        &*page.cast()
    };
    STAGE.store(0, Ordering::SeqCst);
    let (tell, told) = mpsc::channel();
    let victim = std::thread::spawn(move || {
        VICTIM.store(tid(), Ordering::SeqCst);
        let owner = Owner::register().unwrap();
        let mut token = owner.acquire(lock).unwrap();
        if FORBID.load(Ordering::SeqCst) {
            forbid(libc::SYS_tgkill, None, REFUSE | libc::EPERM as u32);
        }
        let page = FAULTING.load(Ordering::SeqCst);
        // SAFETY: the lock's page can be read, and not be written.
        unsafe { libc::mprotect(page, PAGE, libc::PROT_READ) };
        let result = token.add(|slot| slot, 1);
        tell.send(result).unwrap();
    });
    while STAGE.load(Ordering::SeqCst) != STANDS {
        std::thread::yield_now();
    }
    let go_on = GoOn;
    body(lock);
    drop(go_on);
    let result = told.recv_timeout(Duration::from_secs(20)).unwrap();
    victim.join().unwrap();
    result
}

/// Hazard 14, and again hazard 1: the fault's handler stands on the section.
#[test]
fn a_fault_in_a_section() {
    alone("faults::a_fault_in_a_section", || {
        // Not asked for: the store is done when the page is there.
        let mut lock = None;
        let result = with_a_victim_in_a_section(|it| lock = Some(it));
        assert_eq!(result, Ok(()));
        assert_eq!(lock.unwrap().load(), 1);

        // Cancelled with success, or asked to end: then it never is.
        let mut found = Vec::new();
        let modes: [fn() -> Cancel; 3] = [
            || Cancel::Try,
            || Cancel::within(Duration::from_millis(5)),
            || Cancel::strictly_within(Duration::from_millis(5)),
        ];
        for mode in modes {
            let mut lock = None;
            let result = with_a_victim_in_a_section(|it| {
                lock = Some(it);
                // Its handler wakes up now and then, and a thread that runs is sent nothing.
                found.push(loop {
                    match it.cancel(mode()) {
                        Err(Busy::Running) => std::thread::yield_now(),
                        result => break result,
                    }
                });
            });
            assert_eq!(result, Err(Revoked));
            assert_eq!(lock.unwrap().load(), 0);
        }
        // Strictly, no victim is cancelled that does not answer.
        assert!(found[2].is_err(), "{found:?}");
    });
}

/// A new hazard: a victim that may not signal itself cannot put the signal off until its
/// handler has returned. It goes no further.
#[test]
fn a_victim_that_cannot_signal_itself_ends() {
    alone("faults::a_victim_that_cannot_signal_itself_ends", || {
        if !can_forbid() {
            return;
        }
        // SAFETY: the child makes no use of what another thread may have locked.
        let status = unsafe {
            let child = libc::fork();
            if child == 0 {
                let none = libc::rlimit {
                    rlim_cur: 0,
                    rlim_max: 0,
                };
                libc::setrlimit(libc::RLIMIT_CORE, &none);
                FORBID.store(true, Ordering::SeqCst);
                let _ = with_a_victim_in_a_section(|lock| {
                    let _ = lock.cancel(Cancel::within(Duration::from_secs(5)));
                });
                libc::_exit(1);
            }
            let mut status = 0;
            assert_eq!(libc::waitpid(child, &mut status, 0), child);
            status
        };
        assert!(libc::WIFSIGNALED(status), "{status:#x}");
        assert_eq!(libc::WTERMSIG(status), libc::SIGILL);
    });
}
