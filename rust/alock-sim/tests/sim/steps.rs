// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! One thread, given what the others have written: what it does, and what it hands over.

use std::cell::Cell;
use std::num::NonZeroU32;
use std::rc::Rc;

use alock::access::Access;
use alock::lock::{acquire, release, try_acquire};
use alock::ptr::{Cohort, Descriptor, LockPtr, NodeId, Ptr};
use alock::remote::Remote;
use alock_sim::{Card, Cluster, Connections, Costs, Cpu, End};

use crate::observed::{Observed, Observer};

const BUDGET: u32 = 5;
const COHORTS: [Cohort; 2] = [Cohort::Local, Cohort::Remote];

/// How it asks for the lock.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    Patiently,
    /// A request that ends with the first poll that does not let it in.
    Once,
    Tries,
}

#[derive(Clone, Copy)]
struct Given {
    cohort: Cohort,
    how: How,
    /// What a predecessor hands over; `None` where no thread is before it.
    handed: Option<u64>,
    /// Whether the other cohort has the lock, for good.
    other: bool,
    /// What `victim` holds before it comes.
    victim: u64,
}

#[derive(Debug, Default, PartialEq, Eq)]
struct Got {
    entered: bool,
    /// What the successor was handed.
    handed_on: u64,
    victim: u64,
    yields: u32,
    polls: u32,
    waits: u32,
}

#[derive(Default)]
struct Counts {
    entered: Cell<bool>,
    yields: Cell<u32>,
    polls: Cell<u32>,
    waits: Cell<u32>,
}

impl Observer for Counts {
    fn yields(&self) {
        self.yields.set(self.yields.get() + 1);
    }
    fn polls(&self) {
        self.polls.set(self.polls.get() + 1);
    }
    fn waits(&self) {
        self.waits.set(self.waits.get() + 1);
    }
}

fn line(node: u16, number: u64) -> Ptr {
    Ptr::new(NodeId(node), 64 * number).unwrap()
}

fn lock() -> LockPtr {
    LockPtr(line(0, 1))
}

async fn once<A: Access>(access: &A, mine: Descriptor, how: How, counts: &Counts)
where
    A::Fault: std::fmt::Debug,
{
    let access = &Observed { access, by: counts };
    let budget = NonZeroU32::new(BUDGET).unwrap();
    let held = match how {
        How::Tries => try_acquire(access, lock(), mine, budget).await,
        _ => {
            let mut goes_on = || how == How::Patiently;
            acquire(access, lock(), mine, budget, &mut goes_on).await
        }
    };
    if let Some(held) = held.unwrap() {
        counts.entered.set(true);
        release(access, lock(), mine, held).await.unwrap();
    }
}

impl Given {
    fn new(cohort: Cohort) -> Self {
        Self {
            cohort,
            how: How::Patiently,
            handed: None,
            other: false,
            victim: cohort.other() as u64,
        }
    }

    /// A successor joins behind it as soon as it is in the queue.
    fn run(self) -> Got {
        let (cluster, node) = (
            Cluster::new(2, 4096, Costs::default(), 1),
            self.cohort as u16,
        );
        let [mine, before, behind] = [3, 4, 5].map(|number| Descriptor(line(node, number)));
        let tail = lock().tail(self.cohort);
        cluster.poke(lock().victim(), self.victim);
        cluster.poke(behind.budget(), Descriptor::WAITING);
        if self.other {
            cluster.poke(lock().tail(self.cohort.other()), line(1 - node, 6).bits());
        }
        if self.handed.is_some() {
            cluster.poke(tail, before.0.bits());
        }
        let it = cluster.clone();
        cluster.spawn(NodeId(node), async move {
            while it.peek(tail) != mine.0.bits() {
                it.sleep(1).await;
            }
            it.poke(tail, behind.0.bits());
            it.poke(mine.next(), behind.0.bits());
            if let Some(word) = self.handed {
                while it.peek(before.next()) != mine.0.bits() {
                    it.sleep(1).await;
                }
                it.poke(mine.budget(), word);
            }
        });
        let counts = Rc::new(Counts::default());
        let (it, its) = (cluster.clone(), Rc::clone(&counts));
        cluster.spawn(NodeId(node), async move {
            if self.cohort == Cohort::Local {
                return once(&Cpu::new(&it), mine, self.how, &its).await;
            }
            let connections = Connections {
                threads: 1,
                loopback: false,
                full: false,
            };
            let card = Card::new(&it, NodeId(node), 0, connections);
            once(&Remote::new(&card), mine, self.how, &its).await;
        });
        assert_eq!(cluster.run(1_000_000), End::Finished);
        // A write may still be on its way.
        Got {
            entered: counts.entered.get(),
            handed_on: cluster.peek(behind.budget()),
            victim: cluster.peek(lock().victim()),
            yields: counts.yields.get(),
            polls: counts.polls.get(),
            waits: counts.waits.get(),
        }
    }
}

/// A thread that enters with a whole budget hands over one less. A thread that was handed a part
/// of the budget hands over one less than that.
#[test]
fn a_handover_leaves_one_less() {
    let budget = u64::from(BUDGET);
    for cohort in COHORTS {
        for (handed, left, yields) in [
            (None, budget - 1, 1),
            (Some(0), budget - 1, 1),
            (Some(Descriptor::PLACE), budget - 1, 0),
            (Some(1), 0, 0),
            (Some(3), 2, 0),
            (Some(budget - 1), budget - 2, 0),
        ] {
            let got = Given {
                handed,
                ..Given::new(cohort)
            }
            .run();
            assert!(got.entered, "{cohort:?}, {handed:?}: {got:?}");
            assert_eq!(
                (got.handed_on, got.yields),
                (left, yields),
                "{cohort:?}, {handed:?}: {got:?}"
            );
        }
    }
}

/// A leader that withdraws hands on its place, whichever thread yielded. It yields once at most.
#[test]
fn who_withdraws_hands_on_its_place() {
    for cohort in COHORTS {
        for (how, handed, yields) in [
            (How::Tries, None, 1),
            (How::Once, None, 1),
            (How::Once, Some(0), 1),
            (How::Once, Some(Descriptor::PLACE), 0),
        ] {
            let got = Given {
                how,
                handed,
                other: true,
                victim: cohort as u64,
                ..Given::new(cohort)
            }
            .run();
            let expected = Got {
                entered: false,
                handed_on: Descriptor::PLACE,
                victim: cohort as u64,
                yields,
                polls: 1,
                waits: 0,
            };
            assert_eq!(got, expected, "{cohort:?}, {handed:?}");
        }
    }
}

/// A thread that was handed a place enters as soon as the other cohort has yielded, and not before.
/// The leader of a queue yields before it polls.
#[test]
fn a_place_is_as_good_as_having_yielded() {
    for cohort in COHORTS {
        for (handed, victim, entered) in [
            (Some(Descriptor::PLACE), cohort.other(), true),
            (Some(Descriptor::PLACE), cohort, false),
            (Some(0), cohort.other(), false),
            (None, cohort.other(), false),
        ] {
            let got = Given {
                how: How::Once,
                handed,
                other: true,
                victim: victim as u64,
                ..Given::new(cohort)
            }
            .run();
            assert_eq!(got.entered, entered, "{cohort:?}, {handed:?}, {victim:?}");
        }
    }
}

/// A try polls once, and does not wait.
#[test]
fn a_try_polls_once() {
    for cohort in COHORTS {
        for other in [false, true] {
            let got = Given {
                how: How::Tries,
                other,
                ..Given::new(cohort)
            }
            .run();
            assert_eq!(
                (got.entered, got.polls, got.waits),
                (!other, 1, 0),
                "{cohort:?}, {got:?}"
            );
        }
    }
}

/// The lowest byte of `victim` is all that counts: the others may be anything.
#[test]
fn one_byte_says_who_yields() {
    for cohort in COHORTS {
        for (victim, entered) in [(cohort.other(), true), (cohort, false)] {
            for garbage in [0, 0x100, u64::MAX << 8, 0xa5a5_a5a5_a5a5_a500] {
                let got = Given {
                    how: How::Once,
                    handed: Some(Descriptor::PLACE),
                    other: true,
                    victim: garbage | victim as u64,
                    ..Given::new(cohort)
                }
                .run();
                assert_eq!(got.entered, entered, "{cohort:?}, {garbage:#x}");
            }
        }
    }
}
