//! The signal beside others' use of it.

use std::mem::MaybeUninit;
use std::os::fd::BorrowedFd;
use std::ptr;
use std::sync::atomic::{AtomicU32, Ordering};

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
