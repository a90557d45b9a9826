// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Memory that something else has written to: an error, and no thread is let in by it.

use std::cell::Cell;
use std::rc::Rc;

use alock::access::Access;
use alock::lock::{acquire, release, try_acquire, Budgets};
use alock::ptr::{Cohort, Descriptor, LockPtr, NodeId, Ptr};
use alock::remote::Remote;
use alock_sim::{Card, Cluster, Connections, Costs, Cpu, End, Lost};

const CONNECTIONS: Connections = Connections {
    threads: 1,
    loopback: false,
    full: false,
};

fn line(node: u16, number: u64) -> Ptr {
    Ptr::new(NodeId(node), 64 * number).unwrap()
}

fn lock() -> LockPtr {
    LockPtr(line(0, 1))
}

/// What no thread writes into a tail or a link: no pointer, or one to an absent node.
fn strange() -> [u64; 3] {
    [1, u64::MAX << 8, line(7, 3).bits()]
}

async fn enters<A: Access>(access: &A, mine: Descriptor) -> Result<(), A::Fault> {
    let budget = Budgets::default().local;
    let held = acquire(access, lock(), mine, budget, &mut || true).await?;
    release(access, lock(), mine, held.unwrap()).await
}

/// Runs one thread of that cohort. How it ended.
fn alone(cohort: Cohort, before: impl FnOnce(&Cluster, Descriptor)) -> Result<(), Lost> {
    let cluster = Cluster::new(2, 4096, Costs::default(), 1);
    let mine = Descriptor(line(cohort as u16, 3));
    before(&cluster, mine);
    let ended = Rc::new(Cell::new(None));
    let (it, its) = (cluster.clone(), Rc::clone(&ended));
    cluster.spawn(NodeId(cohort as u16), async move {
        its.set(Some(match cohort {
            Cohort::Local => enters(&Cpu::new(&it), mine).await,
            Cohort::Remote => {
                let card = Card::new(&it, NodeId(1), 0, CONNECTIONS);
                enters(&Remote::new(&card), mine).await
            }
        }));
    });
    assert_eq!(cluster.run(1_000_000), End::Finished);
    ended.take().unwrap()
}

#[test]
fn a_tail_that_names_nobody_lets_nobody_in() {
    for cohort in [Cohort::Local, Cohort::Remote] {
        assert_eq!(alone(cohort, |_, _| {}), Ok(()));
        for word in strange() {
            let ended = alone(cohort, |it, _| it.poke(lock().tail(cohort), word));
            assert_eq!(ended, Err(Lost(NodeId(cohort as u16))), "{word:#x}");
        }
    }
}

/// The successor cannot be told, and no other thread is told.
#[test]
fn a_link_that_names_nobody_is_not_followed() {
    for cohort in [Cohort::Local, Cohort::Remote] {
        for word in strange() {
            let ended = alone(cohort, |it, mine| {
                let it = it.clone();
                it.clone().spawn(NodeId(cohort as u16), async move {
                    // While it holds or releases the lock: a successor came behind it, and its
                    // link is not what the successor wrote.
                    while it.peek(lock().tail(cohort)) != mine.0.bits() {
                        it.sleep(1).await;
                    }
                    it.poke(lock().tail(cohort), line(1, 4).bits());
                    it.poke(mine.next(), word);
                });
            });
            assert_eq!(ended, Err(Lost(NodeId(cohort as u16))), "{word:#x}");
        }
    }
}

/// A poll of the other cohort's tail believes its lowest byte alone. A byte that is neither a
/// pointer's nor null's is no leave to enter.
#[test]
fn anothers_tail_that_names_nobody_lets_nobody_in() {
    for cohort in [Cohort::Local, Cohort::Remote] {
        for word in [1, 0xff, u64::MAX] {
            let ended = alone(cohort, |it, _| it.poke(lock().tail(cohort.other()), word));
            assert_eq!(ended, Err(Lost(NodeId(cohort as u16))), "{word:#x}");
        }
    }
}

/// One waits behind another of its cohort; `word` is what comes into its budget.
fn handed(cohort: Cohort, word: u64) -> Result<(), Lost> {
    let before = line(cohort as u16, 4);
    alone(cohort, |it, mine| {
        it.poke(lock().tail(cohort), before.bits());
        let it = it.clone();
        it.clone().spawn(NodeId(cohort as u16), async move {
            while it.peek(Descriptor(before).next()) != mine.0.bits() {
                it.sleep(1).await;
            }
            it.poke(mine.budget(), word);
        });
    })
}

/// No thread hands over a whole budget, for the owner has used one of it.
#[test]
fn a_budget_that_nobody_hands_over_lets_nobody_in() {
    let whole = u64::from(Budgets::default().local.get());
    for cohort in [Cohort::Local, Cohort::Remote] {
        assert_eq!(handed(cohort, whole - 1), Ok(()));
        let part = Descriptor::PLACE & u64::from(u32::MAX);
        for word in [whole, whole + 1, 1 << 32, u64::MAX - 1, part] {
            let ended = handed(cohort, word);
            assert_eq!(ended, Err(Lost(NodeId(cohort as u16))), "{word:#x}");
        }
    }
}

/// The holder's own tail: it is told, and does not wait for a successor that there is not.
#[test]
fn a_tail_that_is_overwritten_under_its_holder_ends_the_release() {
    for cohort in [Cohort::Local, Cohort::Remote] {
        for word in [Ptr::NULL, 1, line(7, 3).bits()] {
            let ended = alone(cohort, |it, mine| {
                let it = it.clone();
                it.clone().spawn(NodeId(cohort as u16), async move {
                    while it.peek(lock().tail(cohort)) != mine.0.bits() {
                        it.sleep(1).await;
                    }
                    it.poke(lock().tail(cohort), word);
                });
            });
            assert_eq!(ended, Err(Lost(NodeId(cohort as u16))), "{word:#x}");
        }
    }
}

async fn tries<A: Access>(access: &A, mine: Descriptor) -> Result<bool, A::Fault> {
    let budget = Budgets::default().local;
    let held = try_acquire(access, lock(), mine, budget).await?;
    let got = held.is_some();
    if let Some(held) = held {
        release(access, lock(), mine, held).await?;
    }
    Ok(got)
}

/// To try is no way around it: the lock is not said to be another's.
#[test]
fn a_try_of_a_tail_that_names_nobody_is_an_error() {
    for word in strange() {
        let cluster = Cluster::new(2, 4096, Costs::default(), 1);
        let said = Rc::new(Cell::new(None));
        let (it, its) = (cluster.clone(), Rc::clone(&said));
        cluster.spawn(NodeId(0), async move {
            its.set(Some(tries(&Cpu::new(&it), Descriptor(line(0, 3))).await));
        });
        cluster.poke(lock().tail(Cohort::Local), word);
        assert_eq!(cluster.run(1_000_000), End::Finished);
        assert_eq!(said.take(), Some(Err(Lost(NodeId(0)))), "{word:#x}");
    }
}
