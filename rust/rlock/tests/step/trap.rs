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

const TRAP_FLAG: i64 = 0x100;

extern "C" fn trapped(_: i32, _: *mut libc::siginfo_t, context: *mut libc::c_void) {
    // SAFETY: the kernel passes the interrupted context.
    let context = unsafe { &mut *context.cast::<libc::ucontext_t>() };
    let registers = &mut context.uc_mcontext.gregs;
    match STEPPER.get() {
        // SAFETY: `step` keeps it alive as long as it is here.
        Some(stepper) => unsafe { &*stepper }.at(registers[libc::REG_RIP as usize] as u64),
        None => registers[libc::REG_EFL as usize] &= !TRAP_FLAG,
    }
}

/// Installs the handler of the trap; `masked`: with the lock's signal blocked in it.
/// As long as the guard lives nobody else changes that.
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
    // The next trap's handler clears the flag.
    STEPPER.set(None);
    result
}
