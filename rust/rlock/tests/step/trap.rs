// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Single-stepping the calling thread.

use std::cell::Cell;
use std::mem::MaybeUninit;
use std::ptr;
use std::sync::{Mutex, MutexGuard};

/// What is called after each instruction, with the next one's address.
pub(crate) trait Stepper {
    fn at(&self, rip: u64);
}

thread_local! {
    static STEPPER: Cell<Option<*const dyn Stepper>> = const { Cell::new(None) };
}

thread_local! {
    static GO_TO: Cell<u64> = const { Cell::new(0) };
}

/// Called by a stepper: the thread goes on at `rip`.
pub(crate) fn go_to(rip: u64) {
    GO_TO.set(rip);
}

const TRAP_FLAG: i64 = 0x100;

extern "C" fn trapped(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes the interrupted context.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let registers = &mut context.uc_mcontext.gregs;
    match STEPPER.get() {
        Some(stepper) => {
            // SAFETY: `step` keeps it alive as long as it is here.
            unsafe { &*stepper }.at(registers[libc::REG_RIP as usize] as u64);
            match GO_TO.replace(0) {
                0 => {}
                rip => registers[libc::REG_RIP as usize] = rip as i64,
            }
        }
        None => registers[libc::REG_EFL as usize] &= !TRAP_FLAG,
    }
}

/// Installs the handler of the trap; `masked`: with the lock's signal blocked in it.
/// As long as the guard lives no other thread changes that.
pub(crate) fn install(masked: bool) -> MutexGuard<'static, ()> {
    static ONE: Mutex<()> = Mutex::new(());
    let guard = ONE.lock().unwrap_or_else(|broken| broken.into_inner());
    // SAFETY: zeroes are an action, which is then filled.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        let handler: extern "C" fn(i32, *mut libc::siginfo_t, *mut libc::c_void) = trapped;
        action.sa_sigaction = handler as usize;
        action.sa_flags = libc::SA_SIGINFO | libc::SA_RESTART;
        if masked {
            libc::sigaddset(&mut action.sa_mask, libc::SIGURG);
        }
        assert_eq!(libc::sigaction(libc::SIGTRAP, &action, ptr::null_mut()), 0);
    }
    guard
}

/// Runs `body` one instruction at a time, and calls `stepper` in between.
#[inline(never)]
pub(crate) fn step<R>(stepper: &dyn Stepper, body: impl FnOnce() -> R) -> R {
    // SAFETY: only the lifetime is forgotten; taken away below.
    let stepper: *const (dyn Stepper + 'static) = unsafe { std::mem::transmute(stepper) };
    STEPPER.set(Some(stepper));
    // SAFETY: sets the trap flag; the stack is as before.
    unsafe {
        std::arch::asm!("pushfq", "or qword ptr [rsp], {flag}", "popfq", flag = const TRAP_FLAG);
    }
    let result = body();
    // SAFETY: clears the trap flag; the stack is as before.
    unsafe {
        std::arch::asm!("pushfq", "and qword ptr [rsp], {flags}", "popfq", flags = const !TRAP_FLAG);
    }
    STEPPER.set(None);
    result
}

/// Blocks the lock's signal in the calling thread, or unblocks it.
pub(crate) fn block(block: bool) {
    let how = if block {
        libc::SIG_BLOCK
    } else {
        libc::SIG_UNBLOCK
    };
    // SAFETY: the set is filled first; the mask is the thread's own.
    unsafe {
        let mut set = MaybeUninit::uninit();
        libc::sigemptyset(set.as_mut_ptr());
        libc::sigaddset(set.as_mut_ptr(), libc::SIGURG);
        libc::pthread_sigmask(how, set.as_ptr(), ptr::null_mut());
    }
}

/// Whether the lock's signal is blocked in the calling thread.
pub(crate) fn is_blocked() -> bool {
    // SAFETY: the set is filled by the call.
    unsafe {
        let mut set = MaybeUninit::uninit();
        libc::pthread_sigmask(libc::SIG_BLOCK, ptr::null(), set.as_mut_ptr());
        libc::sigismember(set.as_ptr(), libc::SIGURG) == 1
    }
}

/// Puts another handler in the place of rlock's, until it is dropped.
pub(crate) struct Displaced(libc::sigaction);

pub(crate) fn displace() -> Displaced {
    extern "C" fn nothing(_: i32) {}
    rlock::capabilities().unwrap();
    let nothing: extern "C" fn(i32) = nothing;
    // SAFETY: zeroes are an action, which is then filled.
    unsafe {
        let mut action: libc::sigaction = MaybeUninit::zeroed().assume_init();
        action.sa_sigaction = nothing as usize;
        action.sa_flags = libc::SA_RESTART;
        let mut old = MaybeUninit::uninit();
        assert_eq!(libc::sigaction(libc::SIGURG, &action, old.as_mut_ptr()), 0);
        Displaced(old.assume_init())
    }
}

impl Drop for Displaced {
    fn drop(&mut self) {
        // SAFETY: what was installed before.
        unsafe { libc::sigaction(libc::SIGURG, &self.0, ptr::null_mut()) };
    }
}
