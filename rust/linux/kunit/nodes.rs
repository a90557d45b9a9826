// SPDX-License-Identifier: GPL-2.0-only

//! Each CPU's nodes of queue locks: all of them taken, given back in any order, taken by interrupts.

use kernel::macros::kunit_tests;

#[kunit_tests(handover_nodes)]
mod handover_nodes {
    use crate::kunit::{
        course,
        team::{cpus, reached, together, Muster},
    };
    use crate::{
        harness::shim,
        locks::{Clh, Mcs, Nodes as _},
        spin::{
            new_lock,
            nodes::{of_cpu, NODES_PER_CPU},
            Linux, SpinRaw, Word,
        },
    };
    use core::ffi::c_void;
    use kernel::{
        prelude::*,
        sync::atomic::{Atomic, Relaxed},
    };

    /// The world.
    ///
    /// SAFETY: Each case puts back what it took, once.
    const LINUX: Linux = unsafe { Linux::new() };

    /// How many nodes of a CPU are free.
    fn free_of(cpu: u32) -> u32 {
        assert!(cpu < cpus());
        // SAFETY: It is online.
        unsafe { of_cpu(cpu) }.free()
    }

    /// Whether no CPU's node is in use.
    fn all_free() -> bool {
        (0..cpus()).all(|cpu| free_of(cpu) == NODES_PER_CPU as u32)
    }

    /// A CPU gives each of its nodes once, then none, and takes them back in any order.
    #[test]
    fn sixteen_each() -> Result {
        let distinct = Atomic::new(0u32);
        let more = Atomic::new(0u32);
        let given_back = Atomic::new(0u32);
        let muster = Muster::new(1);
        together(1, |_| {
            let _present = muster.fall_in();
            let mut taken = [0u32; NODES_PER_CPU];
            for at in 0..NODES_PER_CPU {
                let node = LINUX.take().unwrap_or(0);
                let is_new = node != 0 && !taken[..at].contains(&node);
                distinct.add(u32::from(is_new), Relaxed);
                taken[at] = node;
            }
            more.store(u32::from(LINUX.take().is_some()), Relaxed);
            // The odd places first.
            for first in [1, 0] {
                for at in (first..NODES_PER_CPU).step_by(2) {
                    LINUX.put(taken[at]);
                    given_back.add(1u32, Relaxed);
                    let free = free_of(0);
                    more.add(u32::from(free != given_back.load(Relaxed)), Relaxed);
                }
            }
        })?;
        assert_eq!(distinct.load(Relaxed), NODES_PER_CPU as u32);
        assert_eq!(more.load(Relaxed), 0);
        assert!(all_free());
        Ok(())
    }

    /// How many nodes come back in [`given_back_by_another`].
    const BACK: u32 = 1_000;

    /// A CPU takes nodes all the time, and another one gives some of them back. None is lost.
    #[test]
    fn given_back_by_another() -> Result {
        assert!(cpus() >= 2);
        // A node for the other CPU, or 0.
        let posted = Atomic::new(0u32);
        let back = Atomic::new(0u32);
        let over = Atomic::new(false);
        let muster = Muster::new(2);
        together(2, |id| {
            let _present = muster.fall_in();
            if id == 0 {
                reached(|| {
                    if let Some(node) = LINUX.take() {
                        if posted.cmpxchg(0, node, Relaxed).is_err() {
                            LINUX.put(node);
                        }
                    }
                    back.load(Relaxed) >= BACK
                });
                over.store(true, Relaxed);
            } else {
                reached(|| {
                    let node = posted.xchg(0, Relaxed);
                    if node != 0 {
                        LINUX.put(node);
                        back.add(1u32, Relaxed);
                    }
                    over.load(Relaxed)
                });
            }
        })?;
        let left = posted.load(Relaxed);
        if left != 0 {
            LINUX.put(left);
        }
        assert!(back.load(Relaxed) >= BACK);
        assert!(all_free());
        Ok(())
    }

    /// Sections of each thread in [`without_a_node`].
    const LAPS: u32 = 2_000;

    /// Threads take a lock again and again. CPU 0's have no node, CPU 1's has, and so on by turns.
    /// Returns what they counted.
    fn without_a_node<R: SpinRaw + 'static>() -> Result<u32> {
        let lock = KBox::pin_init(new_lock!(R, 0), GFP_KERNEL)?;
        let muster = Muster::new(cpus());
        together(cpus(), |id| {
            let _present = muster.fall_in();
            let mut held = [None; NODES_PER_CPU];
            if id % 2 == 0 {
                held = [(); NODES_PER_CPU].map(|()| LINUX.take());
            }
            for _ in 0..LAPS {
                *lock.lock() += 1;
            }
            held.into_iter().flatten().for_each(|node| LINUX.put(node));
        })?;
        let count = *lock.lock();
        Ok(count)
    }

    /// What four contenders counted, of whom each waits for all others in turn.
    fn of_a_crowd<R: SpinRaw + 'static>() -> Result<u32> {
        let lock = KBox::pin_init(new_lock!(R, 0), GFP_KERNEL)?;
        course::crowd(&lock)?;
        let count = *lock.lock();
        Ok(count)
    }

    #[test]
    fn mcs_without_a_node() -> Result {
        assert!(cpus() >= 2);
        assert_eq!(without_a_node::<Mcs<Word>>()?, cpus() * LAPS);
        assert!(all_free());
        Ok(())
    }

    #[test]
    fn clh_without_a_node() -> Result {
        assert!(cpus() >= 2);
        assert_eq!(without_a_node::<Clh<Word>>()?, cpus() * LAPS);
        assert!(all_free());
        Ok(())
    }

    #[test]
    fn mcs_nodes_come_back() -> Result {
        assert!(cpus() >= 4);
        assert_eq!(of_a_crowd::<Mcs<Word>>()?, 4 * course::CROWD_LAPS);
        assert!(all_free());
        Ok(())
    }

    /// Nodes go back to their own CPU from others, while that one takes some.
    #[test]
    fn clh_nodes_come_back() -> Result {
        assert!(cpus() >= 4);
        assert_eq!(of_a_crowd::<Clh<Word>>()?, 4 * course::CROWD_LAPS);
        assert!(all_free());
        Ok(())
    }

    /// What an interrupt does, and how often it did.
    struct Irq<'a, R: SpinRaw> {
        lock: &'a course::Spin<u32, R>,
        taken: Atomic<u32>,
        /// What the lock protects, at the last interrupt. A thread that may be interrupted must not
        /// take the lock to read it.
        counted: Atomic<u32>,
    }

    /// # Safety
    ///
    /// `arg` must point to an [`Irq`] of this `R`.
    unsafe extern "C" fn interrupt<R: SpinRaw>(arg: *mut c_void) {
        // SAFETY: By this function's contract.
        let irq = unsafe { &*arg.cast::<Irq<'_, R>>() };
        let mut count = irq.lock.lock();
        *count += 1;
        irq.counted.store(*count, Relaxed);
        drop(count);
        irq.taken.add(1u32, Relaxed);
    }

    /// Interrupts in [`beside_interrupts`].
    const INTERRUPTS: u32 = 200;

    /// What [`beside_interrupts`] saw.
    struct Seen {
        /// What was counted under the interrupts' lock, and how many interrupts there were.
        irqs: [u32; 2],
        /// The same of the other lock and its sections.
        own: [u32; 2],
    }

    /// CPU 0 takes and releases a lock. Meanwhile CPU 1 interrupts it to take another one, in the
    /// middle of any step on nodes.
    fn beside_interrupts<R: SpinRaw + 'static>() -> Result<Seen> {
        let own = KBox::pin_init(new_lock!(R, 0, "kunit_own"), GFP_KERNEL)?;
        let irqs = KBox::pin_init(new_lock!(R, 0, "kunit_irqs"), GFP_KERNEL)?;
        let irq = Irq {
            lock: &*irqs,
            taken: Atomic::new(0),
            counted: Atomic::new(0),
        };
        let over = Atomic::new(false);
        let laps = Atomic::new(0u32);
        let muster = Muster::new(2);
        together(2, |id| {
            // Preemption is on again: CPU 1 sends its interrupts as a thread that may be preempted.
            drop(muster.fall_in());
            if id == 0 {
                let _ = reached(|| {
                    *own.lock() += 1;
                    laps.add(1u32, Relaxed);
                    over.load(Relaxed)
                });
            } else {
                for _ in 0..INTERRUPTS {
                    let arg = core::ptr::from_ref(&irq).cast_mut().cast();
                    // SAFETY: `irq` outlives the call, which waits for the interrupt's end.
                    unsafe { shim::interrupt_cpu(0, interrupt::<R>, arg, 1) };
                }
                over.store(true, Relaxed);
            }
        })?;
        let count = *own.lock();
        Ok(Seen {
            irqs: [irq.counted.load(Relaxed), irq.taken.load(Relaxed)],
            own: [count, laps.load(Relaxed)],
        })
    }

    #[test]
    fn mcs_from_interrupts() -> Result {
        assert!(cpus() >= 2);
        let seen = beside_interrupts::<Mcs<Word>>()?;
        assert_eq!(seen.irqs, [INTERRUPTS; 2]);
        assert!(seen.own[0] > 0 && seen.own[0] == seen.own[1]);
        assert!(all_free());
        Ok(())
    }

    #[test]
    fn clh_from_interrupts() -> Result {
        assert!(cpus() >= 2);
        let seen = beside_interrupts::<Clh<Word>>()?;
        assert_eq!(seen.irqs, [INTERRUPTS; 2]);
        assert!(seen.own[0] > 0 && seen.own[0] == seen.own[1]);
        assert!(all_free());
        Ok(())
    }
}
