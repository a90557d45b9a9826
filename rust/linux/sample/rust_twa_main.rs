// SPDX-License-Identifier: GPL-2.0-only

//! A module with two TWA locks, one in a `static` and one in a structure. It also has a ticket lock, and
//! a TWA lock of four bytes.
//!
//! `docs/kernel.md` and `spin/lock.rs` show lines of this file (`scripts/report/listings`).
//!
//! `locks` and `spin` are copies of `rust/locks` and `rust/linux/spin`.

use kernel::{interrupt::local_interrupt_disable, prelude::*};
use locks::OneWordTwa;
use spin::{LockWith as _, TwaLock, Word};

pub mod locks;
pub mod spin;

module! {
    type: RustTwa,
    name: "rust_twa",
    authors: ["The Handover authors"],
    description: "Sample of TWA locks in a static and in a structure",
    license: "GPL",
}

global_spin_lock! {
    // SAFETY: `RustTwa::init` calls `init` before anything takes the lock.
    unsafe(uninit) static TAKEN: TwaLock<usize> = 0;
}

/// Jobs that are waited for.
#[pin_data]
struct Queue {
    #[pin]
    jobs: TwaLock<KVec<u32>>,
}

impl Queue {
    fn new() -> Result<Pin<KBox<Self>>> {
        let jobs = new_twa_lock!(KVec::new(), "Queue::jobs");
        KBox::pin_init(pin_init!(Self { jobs <- jobs }), GFP_KERNEL)
    }

    /// Appends a job. The room for it is made before: under the lock nothing may sleep.
    fn push(&self, job: u32) -> Result {
        // Two statements: a guard that nothing names lives to the end of its statement.
        let room = self.jobs.lock().len() + 1;
        let mut longer = KVec::with_capacity(room, GFP_KERNEL)?;
        let mut jobs = self.jobs.lock();
        if longer.capacity() <= jobs.len() {
            return Err(EAGAIN);
        }
        for &earlier in jobs.iter() {
            longer.push_within_capacity(earlier)?;
        }
        longer.push_within_capacity(job)?;
        core::mem::swap(&mut *jobs, &mut longer);
        // The guard first: the old list is freed after the lock is.
        drop(jobs);
        Ok(())
    }

    fn pop(&self) -> Option<u32> {
        let job = self.jobs.lock().pop();
        *TAKEN.lock() += usize::from(job.is_some());
        job
    }
}

/// Counts to two. A ticket lock is used as a TWA lock is.
fn count() -> Result<u32> {
    let count = KBox::pin_init(new_ticket_lock!(0, "count"), GFP_KERNEL)?;
    *count.lock() += 1;
    // A thread that may not wait tries.
    if let Some(mut count) = count.try_lock() {
        *count += 1;
    }
    let all = *count.lock();
    Ok(all)
}

/// Counts to one, under a lock of four bytes.
fn count_once() -> Result<u32> {
    let count = KBox::pin_init(new_lock!(OneWordTwa<Word>, 0, "count"), GFP_KERNEL)?;
    *count.lock() += 1;
    let all = *count.lock();
    Ok(all)
}

/// Counts to three, as an interrupt handler may.
fn count_ticks() -> Result<u32> {
    let ticks = KBox::pin_init(new_ticket_lock_irq!(0, "ticks"), GFP_KERNEL)?;
    *ticks.lock() += 1;
    // A handler has interrupts off, and says so.
    let interrupts_off = local_interrupt_disable();
    *ticks.lock_with(&interrupts_off) += 1;
    drop(interrupts_off);
    let small = KBox::pin_init(new_lock_irq!(OneWordTwa<Word>, 0, "small"), GFP_KERNEL)?;
    *small.lock() += 1;
    let all = *ticks.lock() + *small.lock();
    Ok(all)
}

struct RustTwa {
    queue: Pin<KBox<Queue>>,
}

impl kernel::Module for RustTwa {
    fn init(_: &'static ThisModule) -> Result<Self> {
        // SAFETY: Called once, and before the first `lock`.
        unsafe { TAKEN.init() };
        let queue = Queue::new()?;
        for job in [10, 20, 30] {
            queue.push(job)?;
        }
        pr_info!("counted to {}\n", count()? + count_once()? + count_ticks()?);
        let guard = queue.jobs.lock();
        let refused = queue.jobs.try_lock().is_none();
        drop(guard);
        pr_info!("a second taker is refused: {refused}\n");
        let taken = queue.pop().ok_or(EINVAL)?;
        // Copied: nothing is printed under a lock.
        let all = *TAKEN.lock();
        pr_info!("took job {taken}, {all} in all\n");
        Ok(Self { queue })
    }
}

impl Drop for RustTwa {
    fn drop(&mut self) {
        while self.queue.pop().is_some() {}
        let all = *TAKEN.lock();
        pr_info!("took {all} in all\n");
    }
}
