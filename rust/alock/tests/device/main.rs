// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The crate on a real device. It must be there: a test that finds none fails.
//!
//! `ALOCK_DEVICES` names the devices, separated by blanks. Node I is on the device of number I
//! modulo their number. By default all nodes are on the first device there is. All nodes are in
//! this process, so that a test says itself which node does what when.

mod costs;
mod data;
mod faults;
mod locks;
mod peers;
mod table1;

use std::net::TcpListener;
use std::sync::Arc;
use std::thread;
use std::time::{Duration, Instant};

use alock::cluster::{Error, Guard, Node, Rendezvous, Request, Settings, Thread};
use nic::{Nic, Options, QueuePair};

/// Only a node or thread that is stuck is waited for so long.
const PATIENCE: Duration = Duration::from_secs(30);

/// The options of node `rank`.
fn options(rank: u16) -> Options {
    let names = std::env::var("ALOCK_DEVICES").unwrap_or_default();
    let names: Vec<&str> = names.split_whitespace().collect();
    let name = names.iter().cycle().nth(rank.into());
    Options {
        device: name.map(ToString::to_string),
        ..Options::default()
    }
}

/// Two queue pairs of one device, connected: the loopback.
fn pair(nic: &Nic) -> (QueuePair, QueuePair) {
    let (mut a, mut b) = (nic.queue_pair().unwrap(), nic.queue_pair().unwrap());
    a.connect(b.endpoint()).unwrap();
    b.connect(a.endpoint()).unwrap();
    (a, b)
}

fn free_address() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    listener.local_addr().unwrap().to_string()
}

/// What each of `size` nodes comes to, by rank, each in a thread of its own.
fn each<T: Send>(size: u16, body: impl Fn(Arc<Rendezvous>) -> T + Sync) -> Vec<T> {
    each_for(size, PATIENCE, body)
}

/// The same, with nodes that wait for each other so long.
fn each_for<T: Send>(
    size: u16,
    patience: Duration,
    body: impl Fn(Arc<Rendezvous>) -> T + Sync,
) -> Vec<T> {
    let address = free_address();
    let one = |rank| {
        let joined = Rendezvous::join(&address, rank, size, patience, PATIENCE);
        body(Arc::new(joined.unwrap()))
    };
    thread::scope(|scope| {
        let one = &one;
        let nodes: Vec<_> = (0..size)
            .map(|rank| scope.spawn(move || one(rank)))
            .collect();
        let ended = nodes.into_iter().map(|node| node.join());
        ended
            .map(|ended| ended.unwrap_or_else(|panic| std::panic::resume_unwind(panic)))
            .collect()
    })
}

/// A node, and its threads.
struct Member {
    node: Node,
    threads: Vec<Thread>,
}

/// Nodes, by rank.
fn cluster(size: u16, settings: &Settings) -> Vec<Member> {
    each(size, |rendezvous| {
        let settings = Settings {
            nic: options(rendezvous.rank()),
            ..settings.clone()
        };
        let node = Node::attach(rendezvous, &settings).unwrap();
        let threads = node.threads().unwrap();
        Member { node, threads }
    })
}

/// The same, all on one device.
fn cluster_on_one_device(size: u16, settings: &Settings) -> Vec<Member> {
    each(size, |rendezvous| {
        let settings = Settings {
            nic: options(0),
            ..settings.clone()
        };
        let node = Node::attach(rendezvous, &settings).unwrap();
        let threads = node.threads().unwrap();
        Member { node, threads }
    })
}

/// Looks until the lock is there.
fn comes<'t>(request: &mut Request<'t>) -> Guard<'t> {
    loop {
        if let Some(guard) = request.check().unwrap() {
            return guard;
        }
        thread::yield_now();
    }
}

/// Tries until `one` says that it was seen: returns the attempts. How soon is no claim; not seen in
/// all that time, it has failed.
fn seen(what: &str, mut one: impl FnMut() -> bool) -> u32 {
    let until = Instant::now() + 10 * PATIENCE;
    let mut attempts = 1;
    while !one() {
        assert!(Instant::now() < until, "{what}: not in {attempts} attempts");
        attempts += 1;
    }
    println!("# {what}: within {attempts} attempts");
    attempts
}

/// What an error says, with its causes; each in one line.
fn says(error: &Error) -> String {
    let mut said = error.to_string();
    let mut cause = std::error::Error::source(error);
    while let Some(error) = cause {
        said += &format!(": {error}");
        cause = error.source();
    }
    assert!(!said.contains('\n'), "{said}");
    said
}
