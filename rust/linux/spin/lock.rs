// SPDX-License-Identifier: GPL-2.0-only

//! The locks of [`crate::locks`] as `kernel::sync` locks.

use super::{
    shim,
    word::{KernelTicket, KernelTwa, Linux, Word},
};
use crate::locks::{list::for_each_lock, *};
use core::marker::PhantomData;
use kernel::{
    ffi::c_char,
    sync::lock::{Backend, Guard, Lock},
};

/// Creates a [`TicketLock`] initialiser with the given name and a new lock
/// class, as `new_spinlock!` does.
#[macro_export]
macro_rules! new_ticket_lock {
    ($inner:expr $(, $name:literal)? $(,)?) => {
        $crate::spin::TicketLock::new(
            $inner, ::kernel::optional_name!($($name)?), ::kernel::static_lock_class!())
    };
}
pub use new_ticket_lock;

/// Creates a [`TwaLock`] initialiser with the given name and a new lock class,
/// as `new_spinlock!` does.
#[macro_export]
macro_rules! new_twa_lock {
    ($inner:expr $(, $name:literal)? $(,)?) => {
        $crate::spin::TwaLock::new(
            $inner, ::kernel::optional_name!($($name)?), ::kernel::static_lock_class!())
    };
}
pub use new_twa_lock;

/// Creates an initialiser of a [`Lock`] over any lock of `rust/locks/list.rs` but those of the kinds `model` and
/// `control`. The lock has the given name, and a new lock class.
///
/// # Examples
///
/// A module that has this folder writes:
///
/// <!-- lines of rust/linux/sample/rust_twa_main.rs -->
/// ```
/// let count = KBox::pin_init(new_lock!(OneWordTwa<Word>, 0, "count"), GFP_KERNEL)?;
/// ```
#[macro_export]
macro_rules! new_lock {
    ($raw:ty, $inner:expr $(, $name:literal)? $(,)?) => {
        ::kernel::sync::lock::Lock::<_, $crate::spin::SpinBackend<$raw>>::new(
            $inner, ::kernel::optional_name!($($name)?), ::kernel::static_lock_class!())
    };
}
pub use new_lock;

/// A classic ticket spinlock.
///
/// Promises exclusion and FIFO admission. Costs what
/// [`Ticket`](crate::locks::Ticket) says, and preemption off and on.
///
/// A lock of `raw_spinlock_t`'s kind, for lockdep too. It may be taken where a
/// `SpinLock` may. It spins also under PREEMPT_RT, where a `SpinLock` may sleep.
/// An owner therefore takes no `SpinLock`, and waits for no `CondVar`.
///
/// The lock masks no interrupts. An interrupt handler must not take a lock that
/// its CPU may hold or wait for. An NMI's handler may only try.
/// Handlers of interrupts have a [`TicketLockIrq`](super::TicketLockIrq).
///
/// Orders what the owners do: later owners see all of a section. To other threads it promises
/// less than `spin_lock()`: there is no `smp_mb__after_spinlock()`. An unlock and a later lock order
/// nothing for a third CPU, neither of this lock nor of another. On x86 all of these are ordered.
///
/// # Examples
///
/// <!-- lines of rust/linux/sample/rust_twa_main.rs -->
/// ```
/// let count = KBox::pin_init(new_ticket_lock!(0, "count"), GFP_KERNEL)?;
/// *count.lock() += 1;
/// // A thread that may not wait tries.
/// if let Some(mut count) = count.try_lock() {
///     *count += 1;
/// }
/// ```
pub type TicketLock<T> = Lock<T, TicketBackend>;

/// A TWA spinlock: a ticket lock whose long-term waiters wait elsewhere.
///
/// Promises exclusion and FIFO admission. Costs what [`Twa`](crate::locks::Twa)
/// says, and preemption off and on. May be taken where a [`TicketLock`] may.
///
/// # Examples
///
/// A lock in a structure. `rust/linux/sample` is the whole module, also with one in a `static`.
///
/// <!-- lines of rust/linux/sample/rust_twa_main.rs -->
/// ```
/// #[pin_data]
/// struct Queue {
///     #[pin]
///     jobs: TwaLock<KVec<u32>>,
/// }
///
/// impl Queue {
///     fn new() -> Result<Pin<KBox<Self>>> {
///         let jobs = new_twa_lock!(KVec::new(), "Queue::jobs");
///         KBox::pin_init(pin_init!(Self { jobs <- jobs }), GFP_KERNEL)
///     }
/// }
///
/// let queue = Queue::new()?;
/// let guard = queue.jobs.lock();
/// let refused = queue.jobs.try_lock().is_none();
/// drop(guard);
/// ```
pub type TwaLock<T> = Lock<T, TwaBackend>;

/// A guard of a [`TicketLock`].
pub type TicketLockGuard<'a, T> = Guard<'a, T, TicketBackend>;

/// A guard of a [`TwaLock`].
pub type TwaLockGuard<'a, T> = Guard<'a, T, TwaBackend>;

/// The backend of [`TicketLock`].
pub type TicketBackend = SpinBackend<KernelTicket>;

/// The backend of [`TwaLock`].
pub type TwaBackend = SpinBackend<KernelTwa>;

/// A lock of [`crate::locks`] that excludes, over the kernel's words.
///
/// # Safety
///
/// A thread owns the lock once `lock` returns, or `try_lock` with a token, until it calls `unlock`. Threads own it one at
/// a time. What an owner did before `unlock` happens before the next one's return. So it is if each gives its token back
/// once, and [`World::MOST_CONTENDERS`] want the lock at most.
///
/// `unlock` touches nothing of the lock after the step by which the next owner enters, which may free it. All bytes of
/// the type lie in cells.
pub unsafe trait SpinRaw: RawLock<Linux> + Make<Word> + Send + Sync {}

/// Implements it for the locks of the list.
macro_rules! spin_raw {
    ($($name:ident: $lock:ty = $kind:ident, $about:literal;)*) => {
        $(spin_raw!(@$kind $lock);)*
    };
    (@control $lock:ty) => {};
    (@model $lock:ty) => {};
    (@$kind:ident $lock:ty) => {
        // SAFETY: The orderings that `rust/locks/mod.rs` tables make it exclude and order, and say which step of an `unlock`
        // is the last one. Its fields are words. A one-word TWA has room for `MOST_CONTENDERS`, as `word.rs` asserts.
        unsafe impl SpinRaw for $lock {}

        const _: () = assert!(
            <$lock as RawLock<Linux>>::EXCLUDES,
            "the list takes a control for a lock"
        );
    };
}
for_each_lock!(spin_raw);

/// A lock's words, and its lockdep map where the kernel has lockdep.
#[repr(C)]
pub struct SpinState<R> {
    raw: R,
    #[cfg(CONFIG_DEBUG_LOCK_ALLOC)]
    dep_map: kernel::types::Opaque<kernel::bindings::lockdep_map>,
}

/// What an owner has to give back: the token of its [`RawLock`].
///
/// The kernel's contracts of `Guard::new` and `Backend::unlock` do not ask for what `lock` returned. So safe code makes none
/// of these.
pub struct Token(u32);

impl Token {
    /// Takes a token that was kept as a number.
    ///
    /// # Safety
    ///
    /// It is the [`number`](Self::number) of the caller's own, for the lock that gave it.
    #[inline(always)]
    pub const unsafe fn from_number(number: u32) -> Self {
        Self(number)
    }

    /// The ticket, where tokens are tickets.
    #[inline(always)]
    pub const fn number(&self) -> u32 {
        self.0
    }
}

/// What is switched off for an owner. It is off from before the ticket is taken until after the release's last step.
///
/// # Safety
///
/// Between `enter` and `leave` the thread stays on its CPU. Each pair is whole, and pairs may nest.
pub unsafe trait Off: 'static {
    /// Whether interrupts are off.
    const INTERRUPTS: bool;

    /// Switches it off.
    ///
    /// # Safety
    ///
    /// `leave` must follow on the same thread.
    unsafe fn enter();

    /// Switches it on, if all other pairs are whole.
    ///
    /// # Safety
    ///
    /// It pairs with one `enter`.
    unsafe fn leave();
}

/// Preemption, as for `raw_spin_lock()`.
pub enum PreemptionOff {}

// SAFETY: The kernel counts both.
unsafe impl Off for PreemptionOff {
    const INTERRUPTS: bool = false;

    #[inline(always)]
    unsafe fn enter() {
        // SAFETY: By this function's contract.
        unsafe { shim::handover_preempt_disable() };
    }

    #[inline(always)]
    unsafe fn leave() {
        // SAFETY: By this function's contract.
        unsafe { shim::handover_preempt_enable() };
    }
}

/// The backend of a spinlock made of `R`. For its owner `O` is off. Lockdep is told what
/// `spin_lock()` tells it, with LOCK_STAT's two events.
pub struct SpinBackend<R, O = PreemptionOff>(PhantomData<(R, O)>);

impl<R, O> SpinBackend<R, O> {
    /// Tells lockdep that the lock is about to be acquired.
    #[inline(always)]
    fn dep_acquire(_state: &SpinState<R>, _is_try: bool) {
        #[cfg(CONFIG_DEBUG_LOCK_ALLOC)]
        // SAFETY: `init` has initialised the map.
        unsafe {
            shim::handover_lockdep_acquire(_state.dep_map.get(), _is_try)
        }
    }

    /// Tells lockdep that the lock is about to be released.
    #[inline(always)]
    fn dep_release(_state: &SpinState<R>) {
        #[cfg(CONFIG_DEBUG_LOCK_ALLOC)]
        // SAFETY: `init` has initialised the map.
        unsafe {
            shim::handover_lockdep_release(_state.dep_map.get())
        }
    }

    /// Begins a section whose MMIO is to reach devices in the order of the owners. Some architectures need to be told. It
    /// comes after the lock, as in `do_raw_spin_lock()`.
    #[inline(always)]
    fn mmio_begin() {
        #[cfg(CONFIG_MMIOWB)]
        // SAFETY: Preemption is off. Paired with `mmio_end`.
        unsafe {
            shim::handover_mmiowb_spin_lock()
        }
    }

    /// Ends it, before the release.
    #[inline(always)]
    fn mmio_end() {
        #[cfg(CONFIG_MMIOWB)]
        // SAFETY: Preemption is off. Paired with `mmio_begin`.
        unsafe {
            shim::handover_mmiowb_spin_unlock()
        }
    }
}

impl<R: SpinRaw, O> SpinBackend<R, O> {
    /// Acquires; a kernel with LOCK_STAT counts it as LOCK_CONTENDED() does. It tries first there.
    #[cfg(CONFIG_LOCK_STAT)]
    #[inline(always)]
    fn acquire(state: &SpinState<R>) -> u32 {
        let map = state.dep_map.get();
        let token = state.raw.try_lock(&LINUX).unwrap_or_else(|| {
            // SAFETY: `init` has initialised the map.
            unsafe { shim::handover_lockdep_contended(map) };
            state.raw.lock(&LINUX)
        });
        // SAFETY: As above.
        unsafe { shim::handover_lockdep_acquired(map) };
        token
    }

    #[cfg(not(CONFIG_LOCK_STAT))]
    #[inline(always)]
    fn acquire(state: &SpinState<R>) -> u32 {
        state.raw.lock(&LINUX)
    }
}

impl<R: SpinRaw, O: Off> SpinBackend<R, O> {
    /// Makes a free lock whose first ticket is `first`.
    ///
    /// # Safety
    ///
    /// The obligations are those of [`Backend::init`].
    #[inline]
    pub unsafe fn init_from(
        ptr: *mut SpinState<R>,
        first: u32,
        _name: *const c_char,
        _key: *mut kernel::bindings::lock_class_key,
    ) {
        // SAFETY: `ptr` is valid for writes by this function's contract.
        unsafe { (&raw mut (*ptr).raw).write(R::make(first, Word::new)) };
        #[cfg(CONFIG_DEBUG_LOCK_ALLOC)]
        // SAFETY: `ptr` is valid for writes, `name` and `key` stay valid, by this
        // function's contract.
        unsafe {
            shim::handover_lockdep_init((&raw mut (*ptr).dep_map).cast(), _name, _key)
        };
    }
}

/// The world of the locks below.
///
/// SAFETY: A guard has the token of its lock, which is made by `lock` and `try_lock`. It gives it back once, when it is
/// dropped or relocked, and nobody else has it. Nodes are the locks' own affair.
const LINUX: Linux = unsafe { Linux::new() };

// SAFETY: `R` excludes between `lock` and `unlock` by `SpinRaw`'s contract, and
// its token goes from one to the other in the guard's state. `relock` uses the
// default implementation, which calls `lock`.
unsafe impl<R: SpinRaw, O: Off> Backend for SpinBackend<R, O> {
    type State = SpinState<R>;
    type GuardState = Token;

    #[inline]
    unsafe fn init(
        ptr: *mut Self::State,
        name: *const c_char,
        key: *mut kernel::bindings::lock_class_key,
    ) {
        // SAFETY: By this function's contract.
        unsafe { Self::init_from(ptr, 0, name, key) };
    }

    #[inline(always)]
    unsafe fn lock(ptr: *mut Self::State) -> Token {
        // SAFETY: `ptr` points to an initialised state, by this function's
        // contract. `Lock` keeps it in an `Opaque`, and whatever changes in it is
        // a cell: shared references are all that there ever are to it.
        let state = unsafe { &*ptr };
        // SAFETY: Paired with `leave` in `unlock`.
        unsafe { O::enter() };
        Self::dep_acquire(state, false);
        let token = Token(Self::acquire(state));
        Self::mmio_begin();
        token
    }

    #[inline(always)]
    unsafe fn try_lock(ptr: *mut Self::State) -> Option<Token> {
        // SAFETY: As in `lock`.
        let state = unsafe { &*ptr };
        // SAFETY: Paired with `leave` below, or in `unlock`.
        unsafe { O::enter() };
        let token = state.raw.try_lock(&LINUX).map(Token);
        if token.is_some() {
            Self::mmio_begin();
            Self::dep_acquire(state, true);
        } else {
            // SAFETY: Paired with `enter` above.
            unsafe { O::leave() };
        }
        token
    }

    #[inline(always)]
    unsafe fn unlock(ptr: *mut Self::State, token: &Token) {
        // SAFETY: As in `lock`. The next owner may free the state before `raw.unlock` returns, which does not touch it then.
        // A reference to nothing but cells may dangle at the end of a call that has it.
        let state = unsafe { &*ptr };
        Self::dep_release(state);
        Self::mmio_end();
        state.raw.unlock(&LINUX, token.0);
        // SAFETY: Paired with `enter` in `lock` or `try_lock`.
        unsafe { O::leave() };
    }

    #[inline(always)]
    unsafe fn assert_is_held(_ptr: *mut Self::State) {
        #[cfg(CONFIG_DEBUG_LOCK_ALLOC)]
        // SAFETY: `init` has initialised the map, by this function's contract.
        unsafe {
            shim::handover_lockdep_assert_held((*_ptr).dep_map.get())
        }
    }
}
