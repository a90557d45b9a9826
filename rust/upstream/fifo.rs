// SPDX-License-Identifier: GPL-2.0-only

//! Spinlocks that admit their waiters in the order in which they came.
//!
//! | lock | bytes, without lockdep | waiters whose cache line a release takes |
//! |---|---|---|
//! | [`TicketLock`] | 8 | all |
//! | [`TwaLock`] | 8 | two or so, whatever their number is |
//! | [`OneWordTwaLock`] | 4 | as above |
//!
//! All spin with preemption off, also under `PREEMPT_RT`.
//! Each has a variant for interrupt handlers, as [`TwaLockIrq`], whose owner has them off.
//!
//! The locks themselves are in `algorithm`, where the orderings are explained.

mod algorithm;
mod backend;
mod irq;
mod one_word;
mod word;

pub use self::backend::{
    new_ticket_lock,
    new_twa_lock,
    TicketBackend,
    TicketLock,
    TicketLockGuard,
    TwaBackend,
    TwaLock,
    TwaLockGuard, //
};

pub use self::irq::{
    new_ticket_lock_irq, new_twa_lock_irq, TicketIrqBackend, TicketLockIrq, TicketLockIrqGuard,
    TwaIrqBackend, TwaLockIrq, TwaLockIrqGuard,
};

pub use self::one_word::{
    new_one_word_twa_lock, OneWordTwaBackend, OneWordTwaLock, OneWordTwaLockGuard,
};

pub use self::one_word::{
    new_one_word_twa_lock_irq, OneWordTwaIrqBackend, OneWordTwaLockIrq, OneWordTwaLockIrqGuard,
};

/// The suite of one kind of lock.
macro_rules! suite {
    ($suite:ident, $backend:ty, $new:ident) => {
        #[cfg(CONFIG_RUST_FIFO_LOCK_KUNIT_TEST)]
        #[macros::kunit_tests($suite)]
        mod $suite {
            use super::*;
            use kernel::{
                prelude::*,
                sync::{lock::Lock, Arc, Completion},
                workqueue::{self, impl_has_work, new_work, Work, WorkItem},
            };

            /// What each contender of a test adds.
            const LAPS: usize = 500;

            /// Contenders beside the test itself.
            const HELPERS: usize = 3;

            /// Two halves of a count, which only one owner at a time keeps alike.
            #[derive(Default)]
            struct Halves {
                first: usize,
                second: usize,
                torn: usize,
            }

            impl Halves {
                fn step(&mut self) {
                    self.torn += usize::from(self.first != self.second);
                    self.first += 1;
                    // A look by another owner here would find them different.
                    core::hint::black_box(&mut *self);
                    self.second += 1;
                }
            }

            #[test]
            fn contended() -> Result {
                #[pin_data]
                struct Course {
                    #[pin]
                    halves: Lock<Halves, $backend>,
                    #[pin]
                    done: Lock<usize, $backend>,
                    #[pin]
                    all_done: Completion,
                }

                #[pin_data]
                struct Helper {
                    course: Arc<Course>,
                    #[pin]
                    work: Work<Self>,
                }

                impl_has_work! {
                    impl HasWork<Self> for Helper { self.work }
                }

                impl WorkItem for Helper {
                    type Pointer = Arc<Self>;

                    fn run(this: Arc<Self>) {
                        for _ in 0..LAPS {
                            this.course.halves.lock().step();
                        }
                        let mut done = this.course.done.lock();
                        *done += 1;
                        if *done == HELPERS {
                            this.course.all_done.complete_all();
                        }
                    }
                }

                let course = Arc::pin_init(
                    pin_init!(Course {
                        halves <- $new!(Halves::default()),
                        done <- $new!(0),
                        all_done <- Completion::new(),
                    }),
                    GFP_KERNEL,
                )?;
                for _ in 0..HELPERS {
                    let course = course.clone();
                    let helper = Arc::pin_init(
                        pin_init!(Helper { course, work <- new_work!("Helper::work") }),
                        GFP_KERNEL,
                    )?;
                    let _ = workqueue::system_unbound().enqueue(helper);
                }
                for _ in 0..LAPS {
                    course.halves.lock().step();
                }
                course.all_done.wait_for_completion();
                let halves = course.halves.lock();
                let (first, second, torn) = (halves.first, halves.second, halves.torn);
                drop(halves);
                assert_eq!(torn, 0);
                assert_eq!(first, (HELPERS + 1) * LAPS);
                assert_eq!(second, first);
                Ok(())
            }

            #[test]
            fn tried() -> Result {
                let lock = KBox::pin_init($new!(7), GFP_KERNEL)?;
                let guard = lock.lock();
                let while_held = lock.try_lock().is_some();
                drop(guard);
                let free = lock.try_lock().map(|guard| *guard);
                let again = lock.try_lock().is_some();
                assert!(!while_held);
                assert_eq!(free, Some(7));
                assert!(again);
                Ok(())
            }
        }
    };
}

suite!(rust_fifo_ticket, TicketBackend, new_ticket_lock);
suite!(rust_fifo_twa, TwaBackend, new_twa_lock);

suite!(
    rust_fifo_one_word_twa,
    OneWordTwaBackend,
    new_one_word_twa_lock
);

suite!(rust_fifo_ticket_irq, TicketIrqBackend, new_ticket_lock_irq);

suite!(rust_fifo_twa_irq, TwaIrqBackend, new_twa_lock_irq);

suite!(
    rust_fifo_one_word_twa_irq,
    OneWordTwaIrqBackend,
    new_one_word_twa_lock_irq
);

#[cfg(CONFIG_RUST_FIFO_LOCK_KUNIT_TEST)]
#[macros::kunit_tests(rust_fifo_irq)]
mod irq_tests {
    use super::*;
    use kernel::prelude::*;

    /// Whether interrupts are off.
    fn off() -> bool {
        // SAFETY: It may be called anywhere.
        unsafe { crate::bindings::irqs_disabled() }
    }

    #[test]
    fn irq_guards_in_any_order() -> Result {
        let first = KBox::pin_init(new_ticket_lock_irq!(1), GFP_KERNEL)?;
        let second = KBox::pin_init(new_twa_lock_irq!(2), GFP_KERNEL)?;
        let before = off();
        let outer = first.lock();
        let inner = second.lock();
        drop(outer);
        let one_left = off();
        drop(inner);
        let none_left = off();
        assert!(!before);
        assert!(one_left);
        assert!(!none_left);
        Ok(())
    }

    #[test]
    fn irq_lock_with() -> Result {
        let lock = KBox::pin_init(new_one_word_twa_lock_irq!(1), GFP_KERNEL)?;
        let interrupts_off = crate::interrupt::local_interrupt_disable();
        let guard = lock.lock_with(&interrupts_off);
        let refused = lock.try_lock_with(&interrupts_off).is_none();
        drop(guard);
        let still_off = off();
        drop(interrupts_off);
        let on_again = !off();
        assert!(refused);
        assert!(still_off);
        assert!(on_again);
        Ok(())
    }
}

#[cfg(CONFIG_RUST_FIFO_LOCK_KUNIT_TEST)]
#[macros::kunit_tests(rust_fifo_global)]
mod global_tests {
    use kernel::{prelude::*, sync::SetOnce};

    crate::sync::global_lock! {
        // SAFETY: `in_a_static` initialises it before it takes it.
        unsafe(uninit) static TAKEN: TwaLock<usize> = 0;
    }

    /// Whether TAKEN is initialised: debugfs may run the suite again.
    static IS_TAKEN_READY: SetOnce<()> = SetOnce::new();

    #[test]
    fn in_a_static() {
        if IS_TAKEN_READY.populate(()) {
            // SAFETY: Called once, and before the first `lock`. KUnit runs one test at a time.
            unsafe { TAKEN.init() };
        }
        let before = *TAKEN.lock();
        *TAKEN.lock() += 1;
        let after = *TAKEN.lock();
        assert_eq!(after, before + 1);
    }
}
