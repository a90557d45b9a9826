// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The signal beside others' use of it.

use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::ptr;
use std::sync::atomic::{AtomicPtr, AtomicU32, Ordering};

use rlock::kernel::{File, Kernel};
use rlock::{Config, Owner};

use crate::alone::alone;

static CALLED: AtomicU32 = AtomicU32::new(0);

extern "C" fn theirs(_: i32) {
    CALLED.fetch_add(1, Ordering::SeqCst);
}

#[test]
fn a_handler_that_was_there_is_called() {
    alone("signals::a_handler_that_was_there_is_called", || {
        let theirs: extern "C" fn(i32) = theirs;
        // SAFETY: a handler that adds to an atomic.
        unsafe { libc::signal(libc::SIGURG, theirs as libc::sighandler_t) };
        let owner = Owner::register().unwrap();
        let before = CALLED.load(Ordering::SeqCst);
        // SAFETY: a signal that is handled.
        unsafe { libc::raise(libc::SIGURG) };
        assert_eq!(CALLED.load(Ordering::SeqCst), before + 1);
        drop(owner);
    });
}

/// What a handler found that was there before, and asked for its information.
static FOUND: AtomicU32 = AtomicU32::new(0);
/// The stack that handlers get.
static STACK: AtomicPtr<u8> = AtomicPtr::new(ptr::null_mut());
const STACK_BYTES: usize = 64 * 1024;
const HAS_INFORMATION: u32 = 1;
const HAS_CONTEXT: u32 = 2;
const IS_ON_ITS_STACK: u32 = 4;
const IS_ALONE: u32 = 8;

extern "C" fn theirs_asks(signal: i32, info: *mut libc::siginfo_t, context: *mut libc::c_void) {
    let mut found = 0;
    // SAFETY: the information and the context are the kernel's, or null; the rest is read from the
    // thread itself.
    unsafe {
        let info = info.as_ref();
        if info.is_some_and(|i| i.si_signo == signal && i.si_code == libc::SI_TKILL) {
            found |= HAS_INFORMATION;
        }
        if let Some(context) = context.cast::<libc::ucontext_t>().as_ref() {
            // The interrupted thread had it unblocked.
            if libc::sigismember(&context.uc_sigmask, libc::SIGUSR1) == 0 {
                found |= HAS_CONTEXT;
            }
        }
        let here = (&raw const found).addr();
        let stack = STACK.load(Ordering::SeqCst).addr();
        if (stack..stack + STACK_BYTES).contains(&here) {
            found |= IS_ON_ITS_STACK;
        }
        let mut mask = MaybeUninit::uninit();
        libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), mask.as_mut_ptr());
        let mask = mask.assume_init();
        // Those that can be blocked: not SIGKILL, not SIGSTOP; below the C library's own.
        let all = (1..32).filter(|&s| s != libc::SIGKILL && s != libc::SIGSTOP);
        if all.into_iter().all(|s| libc::sigismember(&mask, s) == 1) {
            found |= IS_ALONE;
        }
    }
    FOUND.store(found, Ordering::SeqCst);
}

/// The handler runs on the stack for handlers, which small stacks (Go's) need. All signals are
/// blocked. The handler hands on what the kernel told it.
#[test]
fn a_handler_that_was_there_finds_what_it_asked_for() {
    alone(
        "signals::a_handler_that_was_there_finds_what_it_asked_for",
        || {
            let mut bytes = vec![0_u8; STACK_BYTES];
            STACK.store(bytes.as_mut_ptr(), Ordering::SeqCst);
            // SAFETY: the stack stays as long as this thread uses it; zeroes are an action, which
            // is then filled.
            unsafe {
                let stack = libc::stack_t {
                    ss_sp: bytes.as_mut_ptr().cast(),
                    ss_flags: 0,
                    ss_size: STACK_BYTES,
                };
                let mut before = MaybeUninit::uninit();
                assert_eq!(libc::sigaltstack(&stack, before.as_mut_ptr()), 0);
                let mut action: libc::sigaction = std::mem::zeroed();
                let theirs: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) =
                    theirs_asks;
                action.sa_sigaction = theirs as usize;
                action.sa_flags = libc::SA_SIGINFO;
                assert_eq!(libc::sigaction(libc::SIGURG, &action, ptr::null_mut()), 0);
                let owner = Owner::register().unwrap();
                FOUND.store(0, Ordering::SeqCst);
                libc::raise(libc::SIGURG);
                drop(owner);
                assert_eq!(libc::sigaltstack(before.as_ptr(), ptr::null_mut()), 0);
            }
            let all = HAS_INFORMATION | HAS_CONTEXT | IS_ON_ITS_STACK | IS_ALONE;
            assert_eq!(FOUND.load(Ordering::SeqCst), all);
        },
    );
}

/// Hole 2.
#[test]
fn registration_unblocks_the_signal() {
    alone("signals::registration_unblocks_the_signal", || {
        // SAFETY: sets and reads the thread's own mask.
        let blocked = || unsafe {
            let mut set = MaybeUninit::uninit();
            libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), set.as_mut_ptr());
            libc::sigismember(set.as_ptr(), libc::SIGURG) == 1
        };
        // SAFETY: as above.
        unsafe {
            let mut set = MaybeUninit::uninit();
            libc::sigfillset(set.as_mut_ptr());
            libc::pthread_sigmask(libc::SIG_BLOCK, set.as_ptr(), ptr::null_mut());
        }
        assert!(blocked());
        let owner = Owner::register().unwrap();
        assert!(!blocked());
        drop(owner);
    });
}

/// A set-up that fails leaves nothing behind: the signal is whose it was.
#[test]
fn a_failed_setup_gives_the_signal_back() {
    #[derive(Debug)]
    struct Nothing;
    impl Kernel for Nothing {
        fn read(&self, _: File, _: BorrowedFd<'_>, _: &mut [u8]) -> rustix::io::Result<usize> {
            Err(rustix::io::Errno::ACCESS)
        }

        fn membarrier(&self) -> std::io::Result<()> {
            Err(std::io::ErrorKind::Unsupported.into())
        }
    }
    alone("signals::a_failed_setup_gives_the_signal_back", || {
        let theirs: extern "C" fn(i32) = theirs;
        // SAFETY: a handler that adds to an atomic.
        unsafe { libc::signal(libc::SIGUSR2, theirs as libc::sighandler_t) };
        rlock::init(Config {
            signal: libc::SIGUSR2,
            kernel: &Nothing,
            ..Config::default()
        })
        .unwrap_err();
        // SAFETY: reads the action.
        let now = unsafe {
            let mut now = MaybeUninit::<libc::sigaction>::uninit();
            assert_eq!(
                libc::sigaction(libc::SIGUSR2, ptr::null(), now.as_mut_ptr()),
                0
            );
            now.assume_init().sa_sigaction
        };
        assert_eq!(now, theirs as usize);
        // Another signal, another kernel.
        let owner = Owner::register().unwrap();
        let before = CALLED.load(Ordering::SeqCst);
        // SAFETY: a signal that is handled.
        unsafe { libc::raise(libc::SIGUSR2) };
        assert_eq!(CALLED.load(Ordering::SeqCst), before + 1);
        drop(owner);
    });
}
