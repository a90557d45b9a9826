// SPDX-License-Identifier: GPL-2.0-only

//! Declarations of `shim.c`, `facts.c` and `perturb.c`. Four more functions are the kernel's own. They are
//! those that a C caller of `raw_spin_lock()` calls, its slow path, and a call on another CPU.

use crate::measure::perturb::Cpus;
use kernel::{
    bindings::{raw_spinlock, seq_file},
    error::{to_result, Result},
    ffi::{c_char, c_int, c_uint, c_ulong, c_void},
};

/// A task, as far as Rust looks into it here.
type Task = c_void;

/// The writers' nice value: locktorture's, MAX_NICE. Any other thread that wants a CPU gets it.
pub(crate) const NICE: i32 = 19;

/// What a kthread runs.
pub(crate) type ThreadFn = unsafe extern "C" fn(*mut c_void) -> c_int;

/// What locktorture calls of a lock: `struct handover_torture_calls`.
#[repr(C)]
#[derive(Clone, Copy)]
pub(crate) struct TortureCalls {
    pub(crate) name: *const c_char,
    pub(crate) lock: unsafe extern "C" fn(c_int) -> c_int,
    pub(crate) unlock: unsafe extern "C" fn(c_int),
    pub(crate) nested_lock: unsafe extern "C" fn(c_int, u32) -> c_int,
    pub(crate) nested_unlock: unsafe extern "C" fn(c_int, u32),
}

extern "C" {
    pub(crate) fn handover_torture_offer(calls: *const TortureCalls) -> c_int;
    pub(crate) fn handover_torture_withdraw();
    pub(crate) fn handover_param(key: *const c_char, len: usize) -> *const c_char;
    /// `key` is a `struct lock_class_key`, which has no members on some kernels.
    pub(crate) fn handover_raw_spin_init(
        lock: *mut raw_spinlock,
        name: *const c_char,
        key: *mut c_void,
    );
    pub(crate) fn handover_raw_spin_trylock(lock: *mut raw_spinlock) -> bool;
    pub(crate) fn handover_raw_spin_lock_irq(lock: *mut raw_spinlock);
    pub(crate) fn handover_raw_spin_trylock_irq(lock: *mut raw_spinlock) -> bool;
    pub(crate) fn handover_raw_spin_unlock_irq(lock: *mut raw_spinlock);
    fn handover_timer_new(
        function: unsafe extern "C" fn(*mut c_void),
        arg: *mut c_void,
        ns: u64,
    ) -> *mut c_void;
    fn handover_timer_start(timer: *mut c_void, pinned: bool);
    fn handover_timer_stop(timer: *mut c_void);
    fn handover_timer_free(timer: *mut c_void);
    #[cfg(CONFIG_KUNIT = "y")]
    fn handover_irqs_disabled() -> bool;
    pub(crate) fn handover_kthread_create(
        function: ThreadFn,
        arg: *mut c_void,
        name: *const c_char,
        id: c_uint,
        cpu: c_int,
    ) -> *mut Task;
    pub(crate) fn handover_give_way(nice: c_int);
    pub(crate) fn handover_kthread_nice(task: *mut Task) -> c_int;
    pub(crate) fn handover_kthread_start(task: *mut Task);
    pub(crate) fn handover_kthread_on_cpu(task: *mut Task) -> bool;
    pub(crate) fn handover_kthread_stop(task: *mut Task);
    pub(crate) fn handover_kthread_await_stop();
    pub(crate) fn handover_cond_resched();
    pub(crate) fn handover_sleep_ms(ms: c_uint);
    pub(crate) fn handover_now_ns() -> u64;
    fn handover_stamp() -> u64;
    fn handover_stamp_khz() -> c_uint;
    pub(crate) fn handover_random() -> u64;
    pub(crate) fn handover_online_cpus() -> c_uint;
    pub(crate) fn handover_isolated_cpus() -> c_uint;
    pub(crate) fn handover_steal_ns() -> u64;
    #[cfg(CONFIG_KUNIT = "y")]
    pub(crate) fn handover_steal(cpu: c_uint, ns: u64);
    pub(crate) fn handover_release() -> *const c_char;
    pub(crate) fn handover_has_hypervisor() -> bool;
    pub(crate) fn handover_cpu_model() -> *const c_char;
    pub(crate) fn handover_hz() -> c_uint;
    pub(crate) fn handover_preempt_model() -> *const c_char;
    pub(crate) fn handover_smt() -> bool;
    pub(crate) fn handover_numa_nodes() -> c_uint;
    pub(crate) fn handover_mitigations_off() -> bool;
    pub(crate) fn handover_mitigation(i: c_uint, on: *mut bool) -> *const c_char;
    pub(crate) fn handover_governor(cpu: c_uint, name: *mut c_char, len: usize) -> c_int;
    pub(crate) fn handover_trace_events(names: *mut c_char, len: usize) -> c_uint;
    pub(crate) fn handover_code(call: c_uint, code: *mut u8, len: usize) -> c_int;
    fn handover_jiffies() -> c_ulong;
    fn handover_set_fifo(on: bool, nice: c_int);
    fn handover_hold_ms(ms: c_uint);
    fn handover_allow(task: *mut Task, first: c_int, last: c_int, but: c_int) -> c_int;
    fn handover_any_online(first: c_uint, last: c_uint) -> bool;
    fn handover_cpu_after(cpu: c_uint) -> c_uint;
    fn handover_onoff(drawn: u32) -> c_int;
    fn handover_onoff_end() -> c_uint;
    pub(crate) fn handover_pin_module() -> bool;
    pub(crate) fn handover_unpin_module();
    /// `ops` is a [`FileOps`]. It is declared `c_void`, since a `seq_file` has members
    /// without a size on some kernels.
    pub(crate) fn handover_files_create(ops: *const c_void, names: *const *const c_char) -> c_int;
    pub(crate) fn handover_files_remove();
}

#[cfg(all(
    any(CONFIG_SMP, CONFIG_DEBUG_SPINLOCK),
    CONFIG_UNINLINE_SPIN_UNLOCK,
    not(CONFIG_INLINE_SPIN_LOCK)
))]
extern "C" {
    /// What `raw_spin_lock()` and `spin_lock()` are for a module.
    #[link_name = "_raw_spin_lock"]
    pub(crate) fn raw_spin_lock(lock: *mut raw_spinlock);
    /// What `raw_spin_unlock()` and `spin_unlock()` are for a module.
    #[link_name = "_raw_spin_unlock"]
    pub(crate) fn raw_spin_unlock(lock: *mut raw_spinlock);
}

#[cfg(not(all(
    any(CONFIG_SMP, CONFIG_DEBUG_SPINLOCK),
    CONFIG_UNINLINE_SPIN_UNLOCK,
    not(CONFIG_INLINE_SPIN_LOCK)
)))]
extern "C" {
    #[link_name = "handover_raw_spin_lock"]
    pub(crate) fn raw_spin_lock(lock: *mut raw_spinlock);
    #[link_name = "handover_raw_spin_unlock"]
    pub(crate) fn raw_spin_unlock(lock: *mut raw_spinlock);
}

#[cfg(all(CONFIG_X86_64, CONFIG_QUEUED_SPINLOCKS))]
extern "C" {
    /// The kernel's own, for a qspinlock whose value was last seen to be `value`. A kernel with
    /// paravirtual spinlocks has another one beside, and calls this the native one.
    #[cfg_attr(
        CONFIG_PARAVIRT_SPINLOCKS,
        link_name = "native_queued_spin_lock_slowpath"
    )]
    pub(crate) fn queued_spin_lock_slowpath(lock: *mut c_void, value: u32);
}

// A lock is a `rqspinlock_t`: 32 bits, 0 where it is free.
#[cfg(CONFIG_BPF_SYSCALL)]
extern "C" {
    pub(crate) fn handover_res_spin_lock(lock: *mut c_void) -> bool;
    pub(crate) fn handover_res_spin_trylock(lock: *mut c_void) -> bool;
    pub(crate) fn handover_res_spin_unlock(lock: *mut c_void);
}

#[cfg(CONFIG_KUNIT = "y")]
extern "C" {
    /// The kernel's own: has `cpu` run `function(arg)` in an interrupt, and with `wait` waits for it.
    #[link_name = "smp_call_function_single"]
    pub(crate) fn interrupt_cpu(
        cpu: c_int,
        function: unsafe extern "C" fn(*mut c_void),
        arg: *mut c_void,
        wait: c_int,
    ) -> c_int;
}

/// What the files of debugfs call (`struct handover_files`).
#[repr(C)]
pub(crate) struct FileOps {
    pub(crate) arg: *mut c_void,
    pub(crate) show: unsafe extern "C" fn(*mut c_void, *mut seq_file, c_ulong) -> c_int,
    pub(crate) write: unsafe extern "C" fn(*mut c_void, *const c_char, usize) -> c_int,
}

/// A kthread that waits at its end for [`Thread::stop`]. Dropping it stops it, which sleeps until the thread has ended. The
/// thread itself must not do so, nor one that holds a mutex which the thread takes.
pub(crate) struct Thread(core::ptr::NonNull<Task>);

// SAFETY: A task may be started and stopped from any context that may sleep.
unsafe impl Send for Thread {}
// SAFETY: What a shared reference can do, any thread can.
unsafe impl Sync for Thread {}

impl Thread {
    /// A kthread `name/id` that will run `function(arg)` once started, on `cpu`
    /// alone if one is given.
    /// The kernel shows the first 15 bytes of the name.
    ///
    /// # Safety
    ///
    /// `arg` must be what `function` expects, until the thread is stopped or dropped;
    /// `function` must end with [`await_stop`].
    pub(crate) unsafe fn create(
        function: ThreadFn,
        arg: *mut c_void,
        name: &'static kernel::str::CStr,
        id: u32,
        cpu: Option<u32>,
    ) -> kernel::error::Result<Self> {
        use kernel::str::CStrExt as _;
        let cpu = cpu.map_or(-1, |cpu| cpu as c_int);
        // SAFETY: `name` is a C string; the caller vouches for `function`.
        let task = kernel::error::from_err_ptr(unsafe {
            handover_kthread_create(function, arg, name.as_char_ptr(), id, cpu)
        })?;
        core::ptr::NonNull::new(task)
            .map(Self)
            .ok_or(kernel::error::code::ENOMEM)
    }

    /// Lets it run.
    pub(crate) fn start(&self) {
        // SAFETY: `create` took a reference to the task.
        unsafe { handover_kthread_start(self.0.as_ptr()) };
    }

    /// Its nice value, as the scheduler has it.
    pub(crate) fn nice(&self) -> i32 {
        // SAFETY: `create` took a reference to the task.
        unsafe { handover_kthread_nice(self.0.as_ptr()) }
    }

    /// Whether it has a CPU at this moment.
    pub(crate) fn on_cpu(&self) -> bool {
        // SAFETY: `create` took a reference to the task.
        unsafe { handover_kthread_on_cpu(self.0.as_ptr()) }
    }

    /// Waits until its function has returned, as dropping the handle does. One that was never started does not run.
    pub(crate) fn stop(self) {}
}

impl Drop for Thread {
    fn drop(&mut self) {
        // SAFETY: `create` took a reference to the task, which this gives back;
        // the function does not return before, by `create`'s contract.
        unsafe { handover_kthread_stop(self.0.as_ptr()) };
    }
}

/// A timer that calls a function from its interrupt, over and over. It does so from its start until it is stopped or dropped.
pub(crate) struct Timer {
    at: core::ptr::NonNull<c_void>,
    /// Whether it has neither begun nor ended.
    is_due: bool,
}

// SAFETY: Any thread that may sleep may stop it.
unsafe impl Send for Timer {}

impl Timer {
    /// One that will call `function(arg)` every `ns` nanoseconds. ENOMEM if there is no room for it. EINVAL for no
    /// nanoseconds, as its interrupt would leave no time for anything else.
    ///
    /// # Safety
    ///
    /// `arg` must be what `function` expects from the start on, until the timer is stopped or dropped. `function` runs with
    /// interrupts off.
    pub(crate) unsafe fn new(
        function: unsafe extern "C" fn(*mut c_void),
        arg: *mut c_void,
        ns: u64,
    ) -> Result<Self> {
        if ns == 0 {
            return Err(kernel::error::code::EINVAL);
        }
        // SAFETY: By this function's contract.
        let timer = unsafe { handover_timer_new(function, arg, ns) };
        let at = core::ptr::NonNull::new(timer).ok_or(kernel::error::code::ENOMEM)?;
        Ok(Self { at, is_due: true })
    }

    /// One that has begun, on this CPU.
    ///
    /// # Safety
    ///
    /// As for [`Timer::new`].
    pub(crate) unsafe fn start_here(
        function: unsafe extern "C" fn(*mut c_void),
        arg: *mut c_void,
        ns: u64,
    ) -> Result<Self> {
        // SAFETY: By this function's contract.
        let mut timer = unsafe { Self::new(function, arg, ns) }?;
        timer.begin(true);
        Ok(timer)
    }

    /// Begins, on any CPU. It begins once, and not after its end.
    pub(crate) fn start(&mut self) {
        self.begin(false);
    }

    fn begin(&mut self, pinned: bool) {
        if core::mem::take(&mut self.is_due) {
            // SAFETY: `new` made it. It does not run, and `arg` is what `function` expects, by `new`'s contract.
            unsafe { handover_timer_start(self.at.as_ptr(), pinned) };
        }
    }

    /// Ends: the function does not run any more.
    pub(crate) fn stop(&mut self) {
        self.is_due = false;
        // SAFETY: `new` made it. Called on threads alone.
        unsafe { handover_timer_stop(self.at.as_ptr()) };
    }
}

impl Drop for Timer {
    fn drop(&mut self) {
        // SAFETY: `new` made it, and nothing refers to it any more. Dropped on threads alone.
        unsafe { handover_timer_free(self.at.as_ptr()) };
    }
}

/// Whether this CPU's interrupts are off.
#[cfg(CONFIG_KUNIT = "y")]
pub(crate) fn irqs_disabled() -> bool {
    // SAFETY: No requirements.
    unsafe { handover_irqs_disabled() }
}

/// A kthread's last step: sleeps until it is stopped.
///
/// # Safety
///
/// The caller must be a kthread.
pub(crate) unsafe fn await_stop() {
    // SAFETY: By this function's contract.
    unsafe { handover_kthread_await_stop() };
}

/// A millisecond's nanoseconds.
pub(crate) const MS: u64 = 1_000_000;

/// Sleeps for about `ms` milliseconds, also where this CPU hangs meanwhile: another then goes on. Not so if its interrupts
/// are off.
pub(crate) fn sleep_ms(ms: u32) {
    // SAFETY: Called where sleeping is allowed: on kthreads and in module exit.
    unsafe { handover_sleep_ms(ms) };
}

/// Waits until it `is`, for so many milliseconds at most, and until a stop. Says whether it is.
pub(crate) fn await_ms(ms: u64, stopping: impl Fn() -> bool, is: impl Fn() -> bool) -> bool {
    let until = now_ns() + ms * MS;
    while !is() && now_ns() < until && !stopping() {
        sleep_ms(1);
    }
    is()
}

/// Nanoseconds of the monotonic clock.
pub(crate) fn now_ns() -> u64 {
    // SAFETY: No requirements.
    unsafe { handover_now_ns() }
}

/// The time stamp counter. The loads before are done, and no store after it is seen before.
#[inline(always)]
pub(crate) fn stamp() -> u64 {
    // SAFETY: No requirements.
    unsafe { handover_stamp() }
}

/// Its thousands of ticks a second. None if they are not the same on all CPUs at all times.
pub(crate) fn stamp_khz() -> Option<u32> {
    // SAFETY: No requirements.
    let khz = unsafe { handover_stamp_khz() };
    (khz != 0).then_some(khz)
}

/// CPUs online now.
pub(crate) fn online_cpus() -> u32 {
    // SAFETY: No requirements.
    unsafe { handover_online_cpus() }
}

/// CPUs online on which a kthread bound to no CPU never runs. Asked by such a kthread.
pub(crate) fn isolated_cpus() -> u32 {
    // SAFETY: No requirements.
    unsafe { handover_isolated_cpus() }
}

/// The CPUs that are left for such kthreads: writers and the probe's waiter.
pub(crate) fn usable_cpus() -> u32 {
    online_cpus().saturating_sub(isolated_cpus())
}

/// The kernel's clock in ticks.
pub(crate) fn jiffies() -> u64 {
    // SAFETY: No requirements.
    unsafe { handover_jiffies() as u64 }
}

/// Has the current thread be a real-time one, or no longer.
pub(crate) fn set_fifo(on: bool) {
    // SAFETY: Called by writers between two sections.
    unsafe { handover_set_fifo(on, NICE) };
}

/// Takes so many milliseconds, without sleep.
pub(crate) fn hold_ms(ms: u32) {
    // SAFETY: No requirements.
    unsafe { handover_hold_ms(ms) };
}

/// Has a thread, or this one, run on these CPUs, or on all that this thread may use. `but` is left out where another
/// is online; true says that it was. EINVAL if none of them is online.
pub(crate) fn allow(thread: Option<&Thread>, cpus: Option<Cpus>, but: Option<u32>) -> Result<bool> {
    let task = thread.map_or(core::ptr::null_mut(), |thread| thread.0.as_ptr());
    let (first, last) = cpus.map_or((-1, -1), |cpus| (cpus.first as c_int, cpus.last as c_int));
    let but = but.map_or(-1, |cpu| cpu as c_int);
    // SAFETY: `create` took a reference to the task, if there is one. Called where sleeping is allowed.
    let spared = unsafe { handover_allow(task, first, last, but) };
    to_result(spared).map(|()| spared > 0)
}

/// Whether one of these CPUs is online.
pub(crate) fn any_online(cpus: Cpus) -> bool {
    // SAFETY: No requirements.
    unsafe { handover_any_online(cpus.first, cpus.last) }
}

/// The online CPU after this one, counted around.
pub(crate) fn cpu_after(cpu: u32) -> u32 {
    // SAFETY: No requirements.
    unsafe { handover_cpu_after(cpu) }
}

/// Takes a CPU off line, or brings one back that it took; which one is drawn. True if it took one.
pub(crate) fn onoff(drawn: u32) -> bool {
    // SAFETY: Called where sleeping is allowed.
    unsafe { handover_onoff(drawn) > 0 }
}

/// Brings back the CPUs that `onoff` took. How many stay away.
pub(crate) fn onoff_end() -> u32 {
    // SAFETY: As `onoff`.
    unsafe { handover_onoff_end() }
}
