// SPDX-License-Identifier: GPL-2.0-only

//! As much of `kernel` as `rust/linux/spin` uses. Each call is kept, in its thread's own list. The words are
//! as strong as they can be, so that a lock excludes whatever orders it asks for.

use std::{
    cell::{RefCell, UnsafeCell},
    mem::{take, MaybeUninit},
    sync::Mutex,
};

/// What happened.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Event {
    /// A function of `shim.c`, or `cpu_relax()`.
    Call(&'static str),
    /// `handover_lockdep_acquire`, with `is_try`.
    DepAcquire(bool),
    /// A step on a word, and its order.
    Step(&'static str, &'static str),
}

thread_local! {
    static EVENTS: RefCell<Vec<Event>> = const { RefCell::new(Vec::new()) };
}

/// Keeps an event.
pub fn happened(event: Event) {
    EVENTS.with_borrow_mut(|events| events.push(event));
}

/// The locks that threads wait for.
static WAITED_FOR: Mutex<Vec<usize>> = Mutex::new(Vec::new());

/// Returns once a thread waits for the lock.
pub fn until_waited_for<L>(lock: &L) {
    let lock = core::ptr::from_ref(lock).addr();
    while !WAITED_FOR.lock().unwrap().contains(&lock) {
        std::thread::yield_now();
    }
}

/// What happened on this thread since it was asked last.
pub fn events() -> Vec<Event> {
    EVENTS.with_borrow_mut(take)
}

pub mod ffi {
    pub use core::ffi::c_char;
}

pub mod bindings {
    #[allow(non_camel_case_types, reason = "the kernel's names")]
    #[repr(C)]
    pub struct lock_class_key(u8);
    #[allow(non_camel_case_types, reason = "the kernel's names")]
    #[repr(C)]
    pub struct lockdep_map(u8);
    pub const NR_CPUS: u32 = 2;
}

pub mod types {
    use super::*;

    #[repr(transparent)]
    pub struct Opaque<T>(UnsafeCell<MaybeUninit<T>>);

    impl<T> Opaque<T> {
        pub const fn get(&self) -> *mut T {
            self.0.get().cast()
        }
    }
}

pub mod processor {
    use super::*;

    pub fn cpu_relax() {
        happened(Event::Call("cpu_relax"));
        std::thread::yield_now();
    }
}

pub mod interrupt {
    pub struct LocalInterruptDisabled;
}

pub mod sync {
    pub mod atomic {
        use super::super::*;
        use std::{
            marker::PhantomData,
            sync::atomic::{AtomicU32, Ordering::SeqCst},
        };

        pub struct Acquire;
        pub struct Full;
        pub struct Relaxed;
        pub struct Release;

        pub trait Order {
            const NAME: &'static str;
        }
        impl Order for Acquire {
            const NAME: &'static str = "acquire";
        }
        impl Order for Full {
            const NAME: &'static str = "full";
        }
        impl Order for Relaxed {
            const NAME: &'static str = "relaxed";
        }
        impl Order for Release {
            const NAME: &'static str = "release";
        }

        pub struct Atomic<T>(AtomicU32, PhantomData<T>);

        impl Atomic<u32> {
            pub const fn new(value: u32) -> Self {
                Self(AtomicU32::new(value), PhantomData)
            }

            fn step<O: Order>(&self, what: &'static str, _: O) -> &AtomicU32 {
                happened(Event::Step(what, O::NAME));
                &self.0
            }

            pub fn load<O: Order>(&self, order: O) -> u32 {
                self.step("load", order).load(SeqCst)
            }

            pub fn store<O: Order>(&self, value: u32, order: O) {
                self.step("store", order).store(value, SeqCst);
            }

            pub fn xchg<O: Order>(&self, value: u32, order: O) -> u32 {
                self.step("xchg", order).swap(value, SeqCst)
            }

            pub fn fetch_add<O: Order>(&self, value: u32, order: O) -> u32 {
                self.step("fetch_add", order).fetch_add(value, SeqCst)
            }

            pub fn cmpxchg<O: Order>(&self, old: u32, new: u32, order: O) -> Result<u32, u32> {
                let word = self.step("cmpxchg", order);
                word.compare_exchange(old, new, SeqCst, SeqCst)
            }
        }
    }

    pub mod lock {
        use super::super::{bindings::lock_class_key, ffi::c_char};
        use core::cell::UnsafeCell;

        pub unsafe trait Backend {
            type State;
            type GuardState;

            unsafe fn init(ptr: *mut Self::State, name: *const c_char, key: *mut lock_class_key);
            unsafe fn lock(ptr: *mut Self::State) -> Self::GuardState;
            unsafe fn try_lock(ptr: *mut Self::State) -> Option<Self::GuardState>;
            unsafe fn unlock(ptr: *mut Self::State, state: &Self::GuardState);
            unsafe fn assert_is_held(ptr: *mut Self::State);
        }

        #[repr(C)]
        pub struct Lock<T: ?Sized, B: Backend> {
            pub state: UnsafeCell<B::State>,
            pub data: UnsafeCell<T>,
        }

        // SAFETY: A guard alone gives out the data, and the backend has one at a time.
        unsafe impl<T: ?Sized + Send, B: Backend> Sync for Lock<T, B> {}

        pub struct Guard<'a, T: ?Sized, B: Backend> {
            lock: &'a Lock<T, B>,
            state: B::GuardState,
        }

        impl<T: ?Sized, B: Backend> Lock<T, B> {
            fn guarded(&self, state: B::GuardState) -> Guard<'_, T, B> {
                Guard { lock: self, state }
            }

            pub fn lock(&self) -> Guard<'_, T, B> {
                // SAFETY: The test has initialised the state.
                self.guarded(unsafe { B::lock(self.state.get()) })
            }

            pub fn try_lock(&self) -> Option<Guard<'_, T, B>> {
                // SAFETY: As in `lock`.
                let state = unsafe { B::try_lock(self.state.get()) }?;
                Some(self.guarded(state))
            }
        }

        impl<T: ?Sized, B: Backend> Guard<'_, T, B> {
            pub fn data(&mut self) -> &mut T {
                // SAFETY: The guard's thread owns the lock.
                unsafe { &mut *self.lock.data.get() }
            }
        }

        impl<T: ?Sized, B: Backend> Drop for Guard<'_, T, B> {
            fn drop(&mut self) {
                // SAFETY: The guard has the state that its lock gave it, and gives it back once.
                unsafe { B::unlock(self.lock.state.get(), &self.state) };
            }
        }
    }
}

/// The functions of `shim.c`.
mod c {
    use super::*;
    use core::ffi::{c_char, c_void};

    macro_rules! calls {
        ($($name:ident($($argument:ident: $ty:ty),*)),* $(,)?) => {
            $(#[no_mangle]
            extern "C" fn $name($(_: $ty),*) {
                happened(Event::Call(stringify!($name)));
            })*
        };
    }
    calls! {
        handover_preempt_disable(),
        handover_preempt_enable(),
        handover_interrupts_disable(),
        handover_interrupts_enable(),
        handover_mmiowb_spin_lock(),
        handover_mmiowb_spin_unlock(),
        handover_lockdep_init(map: *mut c_void, name: *const c_char, key: *mut c_void),
        handover_lockdep_release(map: *mut c_void),
        handover_lockdep_contended(map: *mut c_void),
        handover_lockdep_acquired(map: *mut c_void),
        handover_lockdep_assert_held(map: *mut c_void),
    }

    #[no_mangle]
    extern "C" fn handover_lockdep_acquire(_: *mut c_void, is_try: bool) {
        happened(Event::DepAcquire(is_try));
    }

    #[no_mangle]
    extern "C" fn handover_contention_begin(lock: *const c_void) {
        happened(Event::Call("handover_contention_begin"));
        WAITED_FOR.lock().unwrap().push(lock.addr());
    }

    #[no_mangle]
    extern "C" fn handover_contention_end(lock: *const c_void) {
        happened(Event::Call("handover_contention_end"));
        let mut all = WAITED_FOR.lock().unwrap();
        let this = all.iter().position(|&one| one == lock.addr());
        all.swap_remove(this.expect("the wait had a begin, for this lock"));
    }

    #[no_mangle]
    extern "C" fn handover_per_cpu(variable: *const c_void, _: u32) -> *const c_void {
        variable
    }

    #[no_mangle]
    extern "C" fn handover_this_cpu() -> u32 {
        0
    }
}
