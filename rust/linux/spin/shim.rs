// SPDX-License-Identifier: GPL-2.0-only

//! Declarations of `shim.c`.

#[cfg(CONFIG_DEBUG_LOCK_ALLOC)]
use kernel::{
    bindings::{lock_class_key, lockdep_map},
    ffi::c_char,
};

extern "C" {
    #[cfg(not(all(CONFIG_X86_64, CONFIG_SMP)))]
    pub(crate) fn handover_per_cpu(
        variable: *const core::ffi::c_void,
        cpu: u32,
    ) -> *const core::ffi::c_void;
    #[cfg(not(all(CONFIG_X86_64, CONFIG_SMP)))]
    pub(crate) fn handover_this_cpu() -> u32;
    pub(crate) fn handover_preempt_disable();
    pub(crate) fn handover_preempt_enable();
    pub(crate) fn handover_interrupts_disable();
    pub(crate) fn handover_interrupts_enable();
    #[cfg(CONFIG_MMIOWB)]
    pub(crate) fn handover_mmiowb_spin_lock();
    #[cfg(CONFIG_MMIOWB)]
    pub(crate) fn handover_mmiowb_spin_unlock();
    pub(crate) fn handover_contention_begin(lock: *const core::ffi::c_void);
    pub(crate) fn handover_contention_end(lock: *const core::ffi::c_void);
    #[cfg(CONFIG_DEBUG_LOCK_ALLOC)]
    pub(crate) fn handover_lockdep_init(
        map: *mut lockdep_map,
        name: *const c_char,
        key: *mut lock_class_key,
    );
    #[cfg(CONFIG_DEBUG_LOCK_ALLOC)]
    pub(crate) fn handover_lockdep_acquire(map: *mut lockdep_map, is_try: bool);
    #[cfg(CONFIG_DEBUG_LOCK_ALLOC)]
    pub(crate) fn handover_lockdep_release(map: *mut lockdep_map);
    #[cfg(CONFIG_LOCK_STAT)]
    pub(crate) fn handover_lockdep_contended(map: *mut lockdep_map);
    #[cfg(CONFIG_LOCK_STAT)]
    pub(crate) fn handover_lockdep_acquired(map: *mut lockdep_map);
    #[cfg(CONFIG_DEBUG_LOCK_ALLOC)]
    pub(crate) fn handover_lockdep_assert_held(map: *mut lockdep_map);
}
