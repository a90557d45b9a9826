// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! ALock between two simulated nodes. The lock and a counter lie on node 0. A local thread, of
//! node 0, uses CPU instructions. A remote thread, of node 1, uses verbs.
//!
//! ```text
//! cargo run --release -p handover-alock-sim --example two-nodes
//! ```
//!
//! Times are virtual, and those of [`Costs::connectx3`]. The same seed gives the same output.

use std::cell::RefCell;
use std::rc::Rc;

use alock::lock::{acquire, release, Budgets};
use alock::ptr::{Descriptor, LockPtr, NodeId, Ptr, WordPtr};
use alock::remote::{Remote, Verbs};
use alock_sim::{Card, Cluster, Connections, Costs, Cpu, End, Nanos};

/// How long each acquisition took, from the call until the lock was owned.
type Times = Rc<RefCell<Vec<Nanos>>>;

/// What a thread does under the lock, and the local one also without it.
const WORK: Nanos = 2000;

/// What a run showed.
pub(crate) struct Outcome {
    /// The counter at the end: each owner has added 1.
    pub(crate) counter: u64,
    /// Work requests that the cards were given.
    pub(crate) verbs: u64,
    /// The local thread's times.
    pub(crate) local: Vec<Nanos>,
    /// The remote thread's times.
    pub(crate) remote: Vec<Nanos>,
}

/// A 64-byte line of a node's memory.
fn line(node: u16, number: u64) -> Ptr {
    Ptr::new(NodeId(node), 64 * number).expect("a multiple of 64")
}

fn lock() -> LockPtr {
    LockPtr(line(0, 1))
}

fn counter() -> WordPtr {
    line(0, 2).word(0)
}

async fn local_thread(cluster: Cluster, laps: usize, times: Times) {
    let (cpu, mine) = (Cpu::new(&cluster), Descriptor(line(0, 3)));
    let budget = Budgets::default().local;
    for _ in 0..laps {
        let before = cluster.now();
        let held = acquire(&cpu, lock(), mine, budget, &mut || true).await;
        times.borrow_mut().push(cluster.now() - before);
        let value = cpu.load(counter()).await;
        cluster.sleep(WORK).await;
        cpu.store(counter(), value + 1).await;
        let held = held.expect("no node is lost").expect("it waits");
        release(&cpu, lock(), mine, held).await.expect("as above");
        cluster.sleep(WORK).await;
    }
}

async fn remote_thread(cluster: Cluster, laps: usize, times: Times) {
    // One thread a node, without queue pairs to its own node: ALock needs none.
    let connections = Connections {
        threads: 1,
        loopback: false,
        full: false,
    };
    let card = Card::new(&cluster, NodeId(1), 0, connections);
    let (remote, mine) = (Remote::new(&card), Descriptor(line(1, 3)));
    let budget = Budgets::default().remote;
    for _ in 0..laps {
        let before = cluster.now();
        let held = acquire(&remote, lock(), mine, budget, &mut || true).await;
        times.borrow_mut().push(cluster.now() - before);
        let value = card.get(counter()).await.expect("no node is lost");
        cluster.sleep(WORK).await;
        card.write(counter(), value + 1).await.expect("as above");
        let held = held.expect("as above").expect("it waits");
        release(&remote, lock(), mine, held)
            .await
            .expect("as above");
    }
}

/// The local and the remote thread take the lock so many times each.
pub(crate) fn run(local: usize, remote: usize) -> Outcome {
    let cluster = Cluster::new(2, 4096, Costs::connectx3(), 1);
    let (of_local, of_remote) = (Times::default(), Times::default());
    let thread = local_thread(cluster.clone(), local, Rc::clone(&of_local));
    cluster.spawn(NodeId(0), thread);
    let thread = remote_thread(cluster.clone(), remote, Rc::clone(&of_remote));
    cluster.spawn(NodeId(1), thread);
    assert_eq!(cluster.run(1_000_000_000), End::Finished);
    Outcome {
        counter: cluster.peek(counter()),
        verbs: cluster.work_requests(),
        local: of_local.take(),
        remote: of_remote.take(),
    }
}

/// The median time to acquire, in microseconds.
fn median(mut times: Vec<Nanos>) -> String {
    times.sort_unstable();
    let middle = times.get(times.len() / 2);
    middle.map_or("-".into(), |&it| format!("{:.2}", it as f64 / 1000.0))
}

/// What the example prints.
pub(crate) fn table() -> String {
    const LAPS: usize = 1000;
    let mut table = String::from("threads         local us  remote us  verbs  counter\n");
    for (name, local, remote) in [
        ("local alone", LAPS, 0),
        ("remote alone", 0, LAPS),
        ("both", LAPS, LAPS),
    ] {
        let it = run(local, remote);
        assert_eq!(it.counter, (local + remote) as u64, "an update was lost");
        let (local, remote) = (median(it.local), median(it.remote));
        let (verbs, counter) = (it.verbs, it.counter);
        table += &format!("{name:<16}{local:>8}{remote:>11}{verbs:>7}{counter:>9}\n");
    }
    table
}

fn main() {
    print!("{}", table());
}
