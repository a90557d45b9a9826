// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! [`Word`](handover_locks::Word) for a type, by atomics: `core`'s for threads of the system, loom's for its searches.

/// Implements `Word` for `$type`, whose atomic is its field 0 and whose waiters call `$pause` between two looks.
macro_rules! word_by_atomics {
    ($type:ty, $pause:path) => {
        impl handover_locks::Word for $type {
            fn load_relaxed(&self) -> u32 {
                self.0.load(core::sync::atomic::Ordering::Relaxed)
            }

            fn load_acquire(&self) -> u32 {
                self.0.load(core::sync::atomic::Ordering::Acquire)
            }

            fn store_relaxed(&self, value: u32) {
                self.0.store(value, core::sync::atomic::Ordering::Relaxed);
            }

            fn store_release(&self, value: u32) {
                self.0.store(value, core::sync::atomic::Ordering::Release);
            }

            fn swap_acq_rel(&self, value: u32) -> u32 {
                self.0.swap(value, core::sync::atomic::Ordering::AcqRel)
            }

            fn fetch_add_relaxed(&self, value: u32) -> u32 {
                self.0
                    .fetch_add(value, core::sync::atomic::Ordering::Relaxed)
            }

            fn fetch_add_acquire(&self, value: u32) -> u32 {
                self.0
                    .fetch_add(value, core::sync::atomic::Ordering::Acquire)
            }

            fn fetch_add_release(&self, value: u32) -> u32 {
                self.0
                    .fetch_add(value, core::sync::atomic::Ordering::Release)
            }

            fn inc_release(&self) {
                self.0.fetch_add(1, core::sync::atomic::Ordering::Release);
            }

            fn cmpxchg_relaxed(&self, old: u32, new: u32) -> bool {
                use core::sync::atomic::Ordering::*;
                self.0.compare_exchange(old, new, Relaxed, Relaxed).is_ok()
            }

            fn cmpxchg_acquire(&self, old: u32, new: u32) -> bool {
                use core::sync::atomic::Ordering::*;
                self.0.compare_exchange(old, new, Acquire, Relaxed).is_ok()
            }

            fn cmpxchg_release(&self, old: u32, new: u32) -> bool {
                use core::sync::atomic::Ordering::*;
                self.0.compare_exchange(old, new, Release, Relaxed).is_ok()
            }

            fn wait_acquire(&self, awaited: handover_locks::Awaited) -> u32 {
                loop {
                    let value = self.0.load(core::sync::atomic::Ordering::Acquire);
                    if awaited.holds(value) {
                        return value;
                    }
                    $pause();
                }
            }
        }
    };
}
