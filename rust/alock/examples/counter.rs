// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! One counter of a cluster, to which the threads of all nodes add. Each node runs the program:
//!
//! ```text
//! counter RANK NODES HOST:PORT     # RANK is 0 to NODES - 1; the node of rank 0 is HOST
//! ```
//!
//! Node 0 checks the sum. `docs/alock.md` and the repository's README show lines of this file
//! (`scripts/report/listings`).

use std::process::ExitCode;
use std::sync::Arc;
use std::time::Duration;

use alock::cluster::{Error, Node, Rendezvous, Settings, Thread};

const THREADS: u16 = 2;
const ADDED: u64 = 100;

/// This node's part. Returns what the counter is in the end.
fn count(rank: u16, nodes: u16, address: &str) -> Result<u64, Error> {
    let (patience, silence) = (Duration::from_secs(60), Duration::from_secs(10));
    let rendezvous = Rendezvous::join(address, rank, nodes, patience, silence)?;
    let settings = Settings {
        threads: THREADS,
        locks: 1000,
        ..Settings::default()
    };
    let node = Node::attach(Arc::new(rendezvous), &settings)?;
    let mut threads = node.threads()?;
    let key = node.keys() - 1; // a lock of the last node
    std::thread::scope(|scope| {
        let started: Vec<_> = threads
            .iter_mut()
            .map(|thread| scope.spawn(move || add(thread, key)))
            .collect();
        started
            .into_iter()
            .try_for_each(|it| it.join().expect("no thread panics"))
    })?;
    node.rendezvous().barrier()?; // every node has added its part
    let sum = threads[0].lock(key)?.load(0)?;
    node.rendezvous().barrier()?; // the others may need this node's ends of the queue pairs until here
    Ok(sum)
}

/// What one thread adds.
fn add(thread: &Thread, key: u64) -> Result<(), Error> {
    for _ in 0..ADDED {
        let mut guard = thread.lock(key)?; // also try_lock, lock_until, and post, to be polled
        let value = guard.load(0)?; // by the CPU if the lock is on this node, else by RDMA
        guard.store(0, value + 1)?;
        guard.unlock()?; // or drop it, or panic
    }
    Ok(())
}

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (rank, nodes, address) = match &arguments[..] {
        [rank, nodes, address] => (rank.parse(), nodes.parse(), address),
        _ => {
            eprintln!("counter: usage: counter RANK NODES HOST:PORT");
            return ExitCode::from(2);
        }
    };
    let (Ok(rank), Ok(nodes)) = (rank, nodes) else {
        eprintln!("counter: RANK and NODES are numbers of 0 to 65535");
        return ExitCode::from(2);
    };
    let expected = u64::from(nodes) * u64::from(THREADS) * ADDED;
    match count(rank, nodes, address) {
        Ok(sum) if sum == expected => println!("node {rank}: the counter is {sum}"),
        Ok(sum) => {
            eprintln!("counter: the counter is {sum}, not {expected}");
            return ExitCode::FAILURE;
        }
        Err(error) => {
            eprintln!("counter: {error}");
            return ExitCode::FAILURE;
        }
    }
    ExitCode::SUCCESS
}
