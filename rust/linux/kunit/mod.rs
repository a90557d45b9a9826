// SPDX-License-Identifier: GPL-2.0-only

//! KUnit suites, one for each lock of `rust/locks/list.rs`. They use the locks as a driver would:
//! made by `new_lock!`, held by guards.
//!
//! An assertion ends its thread where it stands and drops nothing. In a thread other than
//! the test's it only prints. So a case keeps what it sees, joins its threads and drops
//! its guards, and then judges.
//!
//! Waiters spin with preemption off. Each thread but those of `due.rs` has a CPU of its own.
//! A case that needs four CPUs fails where there are fewer. What waits for another
//! thread's step, other than by a lock, gives up in the end. Only the muster waits
//! as long as it takes: members that were started come.
//!
//! | file | what |
//! |---|---|
//! | `mod.rs` | the suites |
//! | `array.rs` | what TWA does to the module's waiting array |
//! | `caller.rs` | a run with made-up writers and caller |
//! | `cells.rs` | the locks of a run, and locktorture's |
//! | `course.rs` | what contenders do, for every lock |
//! | `cpus.rs` | a CPU that is off line |
//! | `due.rs` | a thread that becomes due in a section |
//! | `figures.rs` | what the figures of a run rest on |
//! | `irq.rs` | locks whose owners have interrupts off, beside timers that take them |
//! | `loops.rs` | which loop a run's writers have, how long they are boosted, and its measured time |
//! | `nested.rs` | in which order nested locks are released |
//! | `nodes.rs` | each CPU's nodes: none left, from an interrupt |
//! | `queued.rs` | how the harness waits for qspinlock |
//! | `recorders.rs` | locks for one writer, which see what it does |
//! | `refused.rs` | what the harness hears of a deadlock |
//! | `run.rs` | what a run is told by its writers, and what it asks of its caller |
//! | `stalls.rs` | the watchdog, writers under it, and its timer |
//! | `tally.rs` | a world that counts its words' steps |
//! | `team.rs` | kthreads that begin together and are joined |
//! | `work.rs` | what writers do, seen by those locks |

mod array;
mod caller;
mod cells;
mod course;
mod cpus;
#[cfg(CONFIG_PREEMPTION)]
mod due;
mod figures;
mod irq;
mod loops;
mod nested;
mod nodes;
#[cfg(all(CONFIG_X86_64, CONFIG_QUEUED_SPINLOCKS))]
mod queued;
mod recorders;
#[cfg(CONFIG_BPF_SYSCALL)]
mod refused;
mod run;
mod stalls;
mod tally;
mod team;
mod work;

use crate::{
    locks::{list::for_each_lock, *},
    spin::Word,
};
use kernel::macros::{kunit_tests, paste};

/// Cases with kthreads that have begun: what runs beside them, they disturb.
pub(crate) fn cases() -> u32 {
    team::teams()
}

/// The suite of each lock: what it must do.
macro_rules! suites {
    ($($name:ident: $lock:ty = $kind:ident, $about:literal;)*) => {
        $(suites!(@$kind $name, $lock);)*
    };
    (@control $name:ident, $lock:ty) => {};
    (@model $name:ident, $lock:ty) => {};
    (@$kind:ident $name:ident, $lock:ty) => { paste! {
        #[kunit_tests([<handover_ $name>])]
        mod [<handover_ $name>] {
            use super::{course, irq, team::cpus, *};
            #[cfg(CONFIG_PREEMPTION)]
            use super::due;
            use crate::spin::{new_lock, new_lock_irq};
            use kernel::prelude::*;

            #[test]
            fn exclusion() -> Result {
                let lock = KBox::pin_init(new_lock!($lock, 0), GFP_KERNEL)?;
                let overlaps = course::exclude(&lock, cpus())?;
                assert_eq!(overlaps, 0);
                assert_eq!(*course::free(&lock)?, cpus() * course::LAPS);
                Ok(())
            }

            #[test]
            fn try_lock_free() -> Result {
                let lock = KBox::pin_init(new_lock!($lock, 7), GFP_KERNEL)?;
                // Each guard is dropped at once.
                let first = lock.try_lock().map(|guard| *guard);
                let second = lock.try_lock().map(|guard| *guard);
                assert_eq!(first, Some(7));
                assert_eq!(second, Some(7));
                Ok(())
            }

            #[test]
            fn try_lock_held() -> Result {
                let lock = KBox::pin_init(new_lock!($lock, ()), GFP_KERNEL)?;
                let guard = lock.lock();
                let held = lock.try_lock().is_some();
                drop(guard);
                let free = lock.try_lock().is_some();
                assert!(!held);
                assert!(free);
                Ok(())
            }

            #[test]
            fn try_lock_against_order() -> Result {
                let first = KBox::pin_init(new_lock!($lock, (), "kunit_first"), GFP_KERNEL)?;
                let second = KBox::pin_init(new_lock!($lock, (), "kunit_second"), GFP_KERNEL)?;
                {
                    let _first = first.lock();
                    let _second = second.lock();
                }
                // A lock that is only tried is not waited for. Lockdep has to stay silent.
                let guard = second.lock();
                let got = first.try_lock().is_some();
                drop(guard);
                assert!(got);
                Ok(())
            }

            #[test]
            fn try_lock_contended() -> Result {
                let lock = KBox::pin_init(new_lock!($lock, ()), GFP_KERNEL)?;
                assert!(cpus() >= 3);
                assert!(!course::try_beside_a_waiter(&lock)?);
                Ok(())
            }

            #[test]
            fn try_lock_exclusion() -> Result {
                let lock = KBox::pin_init(new_lock!($lock, 0), GFP_KERNEL)?;
                let tried = course::exclude_by_try(&lock, cpus())?;
                let sum = lock.try_lock().map(|guard| *guard);
                assert_eq!(tried.overlaps, 0);
                assert!(tried.got > cpus());
                assert_eq!(sum, Some(tried.got));
                Ok(())
            }

            #[test]
            fn guard_drop() -> Result {
                let lock = KBox::pin_init(new_lock!($lock, 1), GFP_KERNEL)?;
                {
                    let mut guard = lock.lock();
                    *guard += 1;
                }
                // Allowed again: preemption is on. If it is not, the console says so.
                course::sleep();
                let seen = lock.try_lock().map(|guard| *guard);
                assert_eq!(seen, Some(2));
                Ok(())
            }

            // Without CONFIG_PREEMPTION it waits for the kernel's next call of the scheduler.
            #[cfg(CONFIG_PREEMPTION)]
            #[test]
            fn unlock_schedules() -> Result {
                let lock = KBox::pin_init(new_lock!($lock, (), "due"), GFP_KERNEL)?;
                let irq = KBox::pin_init(new_lock_irq!($lock, (), "due_irq"), GFP_KERNEL)?;
                // Ten times, as an interrupt that comes then runs the thread, too.
                for _ in 0..10 {
                    let seen = due::runs(&lock)?;
                    assert_eq!(seen, [false, true]);
                    let seen = due::runs(&irq)?;
                    assert_eq!(seen, [false, true]);
                }
                Ok(())
            }

            #[test]
            fn irq_out_of_order() -> Result {
                let first = KBox::pin_init(new_lock_irq!($lock, 0, "irq_first"), GFP_KERNEL)?;
                let second = KBox::pin_init(new_lock_irq!($lock, 0, "irq_second"), GFP_KERNEL)?;
                let off = irq::out_of_order(&first, &second);
                assert_eq!(off, [false, true, true, true, false]);
                Ok(())
            }

            #[test]
            fn irq_tried() -> Result {
                let lock = KBox::pin_init(new_lock_irq!($lock, 0), GFP_KERNEL)?;
                assert_eq!(irq::tried(&lock), [true, true, false, true]);
                // Interrupts are on, and preemption is. If not, the console says so.
                course::sleep();
                Ok(())
            }

            #[test]
            fn irq_with() -> Result {
                let lock = KBox::pin_init(new_lock_irq!($lock, 0), GFP_KERNEL)?;
                assert_eq!(irq::with(&lock), [true, true, true, true, false]);
                course::sleep();
                Ok(())
            }

            #[test]
            fn irq_from_timers() -> Result {
                let lock = KBox::pin_init(new_lock_irq!($lock, 0, "irq_timer"), GFP_KERNEL)?;
                let seen = irq::beside_timers(&lock, cpus())?;
                assert_eq!(seen.enough, cpus());
                assert!(seen.laps > 0);
                assert_eq!(seen.sum, seen.laps + seen.ticks);
                Ok(())
            }

            #[test]
            fn fifo() -> Result {
                let lock = KBox::pin_init(new_lock!($lock, course::Order::new()), GFP_KERNEL)?;
                assert!(cpus() >= 4);
                course::queue_up(&lock)?;
                let order = *course::free(&lock)?;
                assert_eq!(order.ids_of(&lock), [0, 1, 2, 3]);
                Ok(())
            }

            #[test]
            fn wrap() -> Result {
                let lock = KBox::pin_init(new_lock!($lock, course::Order::new()), GFP_KERNEL)?;
                assert!(cpus() >= 4);
                // Four tickets, two on each side of the wrap.
                course::first_ticket(&lock, u32::MAX - 1);
                course::queue_up(&lock)?;
                let order = *course::free(&lock)?;
                assert_eq!(order.ids_of(&lock), [0, 1, 2, 3]);
                Ok(())
            }

            #[test]
            fn four_contenders() -> Result {
                let lock = KBox::pin_init(new_lock!($lock, 0), GFP_KERNEL)?;
                assert!(cpus() >= 4);
                // No contender leaves before the other three wait.
                course::crowd(&lock)?;
                assert_eq!(*course::free(&lock)?, 4 * course::CROWD_LAPS);
                Ok(())
            }
        }
    } };
}

for_each_lock!(suites);

#[kunit_tests(handover_waiting_array)]
mod handover_waiting_array {
    use super::{tally, team::cpus};
    use crate::spin::new_twa_lock;
    use kernel::prelude::*;

    /// Slots for each of three waiters, with others between.
    const MANY: usize = 64;

    #[test]
    fn long_term_waiting() -> Result {
        assert!(cpus() >= 4);
        let seen = tally::twa::<1, 1>()?;
        // While the owner stayed, one waited for its grant and two on the slot,
        // and no waiter was notified.
        assert_eq!(seen.held.on_grant, 1);
        assert_eq!(seen.held.on_slot, 2);
        assert_eq!(seen.held.notified, 0);
        // In the end every waiter came to wait for its grant, and each of the
        // four releases notified.
        assert_eq!(seen.end.on_grant, 3);
        assert!(seen.end.on_slot >= 2);
        assert_eq!(seen.end.notified, 4);
        Ok(())
    }

    #[test]
    fn long_term_thresholds() -> Result {
        assert!(cpus() >= 4);
        // With threshold 1 above.
        for seen in [
            tally::twa::<0, 1>()?,
            tally::twa::<2, 1>()?,
            tally::twa::<4, 1>()?,
        ] {
            assert_eq!(seen.held.on_grant, seen.near);
            assert_eq!(seen.held.on_slot, seen.far);
            assert_eq!(seen.held.notified, 0);
            assert_eq!(seen.end.on_grant, 3);
            assert!(seen.end.on_slot >= seen.far);
            assert_eq!(seen.end.notified, 4);
        }
        Ok(())
    }

    #[test]
    fn long_term_many_slots() -> Result {
        assert!(cpus() >= 4);
        let all = [
            tally::twa::<0, MANY>()?,
            tally::twa::<1, MANY>()?,
            tally::twa::<2, MANY>()?,
            tally::twa::<4, MANY>()?,
        ];
        for seen in all {
            assert_eq!(seen.held.on_grant, seen.near);
            assert_eq!(seen.held.on_slot, seen.far);
            assert_eq!(seen.held.notified, 0);
            assert_eq!(seen.end.on_grant, 3);
            // Each waiter has a slot of its own, so its own notification alone wakes it.
            assert_eq!(seen.end.on_slot, seen.far);
            assert_eq!(seen.end.notified, 4);
        }
        Ok(())
    }

    #[test]
    fn long_term_one_word() -> Result {
        assert!(cpus() >= 4);
        let all = [
            tally::one_word::<0, 1>()?,
            tally::one_word::<1, 1>()?,
            tally::one_word::<2, 1>()?,
            tally::one_word::<4, 1>()?,
        ];
        for seen in all {
            assert_eq!(seen.held.on_grant, seen.near);
            assert_eq!(seen.held.on_slot, seen.far);
            assert_eq!(seen.held.notified, 0);
            assert_eq!(seen.end.on_grant, 3);
            assert!(seen.end.on_slot >= seen.far);
            // A release notifies only while a thread waits long term.
            assert_eq!(seen.end.notified, seen.far);
        }
        Ok(())
    }

    #[test]
    fn long_term_one_word_many_slots() -> Result {
        assert!(cpus() >= 4);
        let all = [
            tally::one_word::<0, MANY>()?,
            tally::one_word::<1, MANY>()?,
            tally::one_word::<2, MANY>()?,
            tally::one_word::<4, MANY>()?,
        ];
        for seen in all {
            assert_eq!(seen.held.on_grant, seen.near);
            assert_eq!(seen.held.on_slot, seen.far);
            assert_eq!(seen.held.notified, 0);
            assert_eq!(seen.end.on_grant, 3);
            assert_eq!(seen.end.on_slot, seen.far);
            assert_eq!(seen.end.notified, seen.far);
        }
        Ok(())
    }

    #[test]
    fn waiting_array() -> Result {
        use crate::kunit::array::{watch, Log, Release};
        let lock = KBox::pin_init(new_twa_lock!(Log::new()?), GFP_KERNEL)?;
        assert!(cpus() >= 4);
        // Two tickets on each side of the wrap.
        let seen = watch(&lock, u32::MAX - 1)?;
        // While the owner stayed, no release changed the array. Two waiters did not look at
        // their grants: they wait long term.
        assert_eq!(seen.held, Release::NONE);
        assert_eq!(seen.came_to_grant, 0);
        // Each release added one to the slot of the ticket that is next but one.
        assert_eq!(seen.releases, seen.due);
        // Slots of consecutive tickets lie in different sectors.
        assert!(seen.sectors.windows(2).all(|pair| pair[0] != pair[1]));
        assert_eq!(seen.order, [0, 1, 2, 3]);
        Ok(())
    }
}

#[kunit_tests(handover_static)]
mod handover_static {
    use crate::{harness::shim::irqs_disabled, spin::global_spin_lock};
    use kernel::{prelude::*, sync::SetOnce};

    /// Whether the locks are initialised: debugfs may run the suite again.
    static ARE_READY: SetOnce<()> = SetOnce::new();

    global_spin_lock! {
        // SAFETY: Initialised by the one case, before the first use.
        unsafe(uninit) static TWA: TwaLock<u32> = 1;
    }
    global_spin_lock! {
        // SAFETY: As above.
        unsafe(uninit) static TICKET: TicketLock<u32> = 2;
    }
    global_spin_lock! {
        // SAFETY: As above.
        unsafe(uninit) static TWA_IRQ: TwaLockIrq<u32> = 3;
    }
    global_spin_lock! {
        // SAFETY: As above.
        unsafe(uninit) static TICKET_IRQ: TicketLockIrq<u32> = 4;
    }

    #[test]
    fn each_kind() -> Result {
        if ARE_READY.populate(()) {
            // SAFETY: Called once, and before the first `lock`. KUnit runs one test at a time.
            unsafe { (TWA.init(), TICKET.init(), TWA_IRQ.init(), TICKET_IRQ.init()) };
        }
        macro_rules! seen {
            ($lock:ident) => {{
                let guard = $lock.lock();
                let seen = (*guard, irqs_disabled(), $lock.try_lock().is_some());
                drop(guard);
                let after = irqs_disabled();
                // The guard is dropped here, and not where the tuple is used.
                let is_free = $lock.try_lock().is_some();
                (seen, after, is_free)
            }};
        }
        // Interrupts are off for an owner of the last two. Each excludes.
        let (twa, ticket) = (seen!(TWA), seen!(TICKET));
        let (twa_irq, ticket_irq) = (seen!(TWA_IRQ), seen!(TICKET_IRQ));
        assert_eq!(twa, ((1, false, false), false, true));
        assert_eq!(ticket, ((2, false, false), false, true));
        assert_eq!(twa_irq, ((3, true, false), false, true));
        assert_eq!(ticket_irq, ((4, true, false), false, true));
        Ok(())
    }
}
