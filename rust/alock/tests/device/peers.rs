// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Peers that do not fit, or lie. (What strangers say at the rendezvous, and nodes of another
//! version or size: `cluster::rendezvous::tests`, which needs no device.)

use std::num::NonZeroU32;
use std::sync::Arc;
use std::time::Duration;

use alock::cluster::{Error, Kind, Node, Rendezvous, Settings, Thread};
use alock::lock::Budgets;
use alock::ptr::{NodeId, Ptr};
use nic::{Endpoint, Memory, Nic, QueuePair, RemoteWord};
use serde_json::{json, Value};

use crate::{each, each_for, options, says};

fn settings(rank: u16) -> Settings {
    Settings {
        locks: 2,
        nic: options(rank),
        ..Settings::default()
    }
}

fn budgets(local: u32, remote: u32) -> Budgets {
    Budgets {
        local: NonZeroU32::new(local).unwrap(),
        remote: NonZeroU32::new(remote).unwrap(),
    }
}

/// What both say, and what makes them differ.
type Change = (&'static str, &'static str, fn(&mut Settings));

#[test]
fn other_settings_are_told_to_both() {
    let changes: [Change; 7] = [
        ("kind: ALock", "kind: RdmaMcs", |it| it.kind = Kind::RdmaMcs),
        ("locks: 2", "locks: 3", |it| it.locks = 3),
        ("words: 1", "words: 9", |it| it.words = 9),
        ("threads: 1", "threads: 2", |it| it.threads = 2),
        ("held: 4", "held: 5", |it| it.held = 5),
        ("local_budget: 5", "local_budget: 6", |it| {
            it.budgets = budgets(6, 20)
        }),
        ("remote_budget: 20", "remote_budget: 7", |it| {
            it.budgets = budgets(5, 7)
        }),
    ];
    for (is, other, change) in changes {
        let mut wrong = settings(1);
        change(&mut wrong);
        let told = each(2, |rendezvous| {
            let settings = match rendezvous.rank() {
                0 => settings(0),
                _ => wrong.clone(),
            };
            Node::attach(rendezvous, &settings)
                .err()
                .expect("they differ")
        });
        for error in told {
            assert!(matches!(error, Error::Mismatch(_)), "{error:?}");
            let said = says(&error);
            assert!(said.contains(is) && said.contains(other), "{said}");
            assert!(said.contains("node 0") && said.contains("node 1"), "{said}");
        }
    }
}

/// What would let a lost packet be waited for without end.
#[test]
fn a_device_without_an_end_to_its_patience_is_refused() {
    type Refused = (&'static str, fn(&mut Settings));
    let refused: [Refused; 3] = [
        ("the device's timeout is 0, of 1 to 31", |it| {
            it.nic.timeout = 0
        }),
        ("the number of retries is 7, of 0 to 6", |it| {
            it.nic.retries = 7
        }),
        ("the number of locks is 0, of 1 to 1073741824", |it| {
            it.locks = 0
        }),
    ];
    for (line, change) in refused {
        let told = each(1, |rendezvous| {
            let mut settings = settings(0);
            change(&mut settings);
            let node = Node::attach(rendezvous, &settings);
            node.err().map(|error| says(&error))
        });
        assert_eq!(told, [Some(line.to_owned())]);
    }
    // The least patience and the most.
    for (timeout, retries) in [(1, 0), (31, 6)] {
        let attached = each(1, |rendezvous| {
            let mut settings = settings(0);
            (settings.nic.timeout, settings.nic.retries) = (timeout, retries);
            Node::attach(rendezvous, &settings).is_ok()
        });
        assert_eq!(attached, [true], "{timeout} {retries}");
    }
}

/// A node that cannot take part ends. The other is told so, long before its patience is over.
#[test]
fn a_node_without_its_device_keeps_nobody() {
    let told = each_for(2, Duration::from_secs(60), |rendezvous| {
        let mut settings = settings(rendezvous.rank());
        if rendezvous.rank() == 1 {
            settings.nic.device = Some("none such".into());
        }
        says(
            &Node::attach(rendezvous, &settings)
                .err()
                .expect("no device"),
        )
    });
    assert!(
        told[0].starts_with("node 1 is lost: its connection to the rendezvous ended"),
        "{}",
        told[0]
    );
    assert!(
        told[1].starts_with("no RDMA device \"none such\"; there are: "),
        "{}",
        told[1]
    );
}

/// What a node says of itself, as the crate's own does.
fn card(memory: RemoteWord) -> Value {
    json!({
        "geometry": {
            "kind": "ALock", "locks": 2, "words": 1, "threads": 1, "held": 4,
            "local_budget": 5, "remote_budget": 20
        },
        "memory": memory
    })
}

#[test]
fn a_node_that_says_something_else_is_told_to_both() {
    for data in [json!("card"), json!({"geometry": 1}), Value::Null] {
        let told = each(2, |rendezvous| match rendezvous.rank() {
            0 => Node::attach(rendezvous, &settings(0))
                .err()
                .map(|error| says(&error)),
            _ => rendezvous.exchange(&data).err().map(|error| says(&error)),
        });
        let said = told[0].as_ref().expect("an error");
        assert!(
            said.starts_with("the nodes do not fit: a node's data: "),
            "{said}"
        );
    }
}

/// Node 1 says that its memory is at `memory`; what becomes of node 0's threads.
fn beside_a_liar(
    memory: impl Fn(RemoteWord) -> RemoteWord + Sync,
    body: impl Fn(&Node, &[Thread]) + Sync,
) {
    each(2, |rendezvous| match rendezvous.rank() {
        0 => {
            let node = Node::attach(Arc::clone(&rendezvous), &settings(0)).unwrap();
            let threads = node.threads().unwrap();
            body(&node, &threads);
            // It succeeds if no node is lost.
            let _ = rendezvous.barrier();
        }
        _ => lie(&rendezvous, &memory, |_, _| {}),
    });
}

/// `does` something with node 0's memory when all have met.
fn lie(
    rendezvous: &Rendezvous,
    memory: impl Fn(RemoteWord) -> RemoteWord,
    does: impl FnOnce(&mut QueuePair, RemoteWord),
) {
    let nic = Nic::open(&options(1)).unwrap();
    let region = nic.register(Memory::new(1 << 16).unwrap()).unwrap();
    let said = memory(region.remote(0));
    let cards = rendezvous.exchange(&card(said)).unwrap();
    let its: RemoteWord = serde_json::from_value(cards[0]["memory"].clone()).unwrap();
    let mut queue = nic.queue_pair().unwrap();
    let mine: Vec<Vec<Option<Endpoint>>> = vec![vec![Some(queue.endpoint().clone())], vec![None]];
    let theirs = rendezvous.scatter(&mine).unwrap();
    queue.connect(theirs[0][0].as_ref().unwrap()).unwrap();
    rendezvous.barrier().unwrap();
    does(&mut queue, its);
    // Here until node 0 is through.
    let _ = rendezvous.barrier();
    drop((queue, region));
}

/// The control: what says of itself what is so is taken.
#[test]
fn a_hand_made_node_is_one() {
    beside_a_liar(
        |memory| memory,
        |node, threads| {
            let mut guard = threads[0].lock(node.keys() - 1).unwrap();
            guard.store(0, 7).unwrap();
            assert_eq!(guard.load(0).unwrap(), 7);
            guard.unlock().unwrap();
        },
    );
}

fn finds(memory: impl Fn(RemoteWord) -> RemoteWord + Sync) {
    beside_a_liar(memory, |node, threads| {
        let thread = &threads[0];
        // What is the node's own works before.
        let mut guard = thread.lock(0).unwrap();
        guard.store(0, 5).unwrap();
        let error = thread.lock(node.keys() - 1).expect_err("a verb fails");
        assert!(matches!(error, Error::Link { node: 1, .. }), "{error:?}");
        let said = says(&error);
        assert!(
            said.starts_with("node 1 is lost: a verb to it failed; "),
            "{said}"
        );
        assert!(said.contains("key 0x"), "{said}");
        assert!(said.ends_with("remote access error"), "{said}");
        // Nothing is granted any more; what was held is held, and its data there.
        assert_eq!(guard.load(0).unwrap(), 5);
        for key in 0..node.keys() {
            let error = thread.lock(key).expect_err("node 1 is lost");
            assert!(matches!(error, Error::Lost { node: 1, .. }), "{error:?}");
            assert!(thread.try_lock(key).is_err());
        }
        guard.unlock().unwrap();
        assert_eq!(node.peek(0, 0), Some(5));
    });
}

#[test]
fn a_node_with_a_wrong_key_is_lost() {
    finds(|memory| RemoteWord {
        rkey: memory.rkey ^ 0x100,
        ..memory
    });
}

#[test]
fn a_node_with_a_wrong_address_is_lost() {
    finds(|memory| memory.at(1 << 20));
}

/// Node 2 leaves, and then node 1, whose lock node 0 holds. A verb to node 1 fails, too, and the
/// error names the node that was lost first.
#[test]
fn the_first_that_is_lost_is_named() {
    each(3, |rendezvous| {
        let rank = rendezvous.rank();
        let mut settings = settings(rank);
        settings.threads = 2;
        (settings.nic.timeout, settings.nic.retries) = (17, 1);
        let node = Node::attach(Arc::clone(&rendezvous), &settings).unwrap();
        let threads = node.threads().unwrap();
        let guard = (rank == 0).then(|| threads[0].lock(2).unwrap());
        rendezvous.barrier().unwrap();
        if rank == 1 {
            let error = rendezvous.barrier().unwrap_err().to_string();
            assert!(error.starts_with("node 2 is lost: "), "{error}");
        }
        let Some(guard) = guard else {
            return;
        };
        while let Ok(mine) = threads[1].lock(0) {
            mine.unlock().unwrap();
        }
        // What is held goes on, as long as node 1 is there.
        let error = loop {
            if let Err(error) = guard.load(0) {
                break error;
            }
        };
        assert!(matches!(error, Error::Lost { node: 2, .. }), "{error:?}");
    });
}

/// The local tail of a node's first lock, in its memory.
const TAIL: u64 = 64;

/// What comes into the word by another's write is a place, but none of the node's own.
#[test]
fn a_local_tail_that_names_another_node_is_not_followed() {
    let named = Ptr::new(NodeId(1), 64 * 5).unwrap();
    each(2, |rendezvous| match rendezvous.rank() {
        0 => {
            let node = Node::attach(Arc::clone(&rendezvous), &settings(0)).unwrap();
            let threads = node.threads().unwrap();
            threads[0].lock(0).unwrap().unlock().unwrap();
            // It is written between these.
            rendezvous.barrier().unwrap();
            rendezvous.barrier().unwrap();
            let error = threads[0].lock(0).expect_err("nobody local is there");
            assert!(matches!(error, Error::Lost { node: 0, .. }), "{error:?}");
            let said = says(&error);
            assert!(said.contains("memory overwritten"), "{said}");
        }
        _ => lie(
            &rendezvous,
            |memory| memory,
            |queue, its| {
                rendezvous.barrier().unwrap();
                queue.post_write(0, its.at(TAIL), named.bits()).unwrap();
                queue.wait().unwrap();
                rendezvous.barrier().unwrap();
            },
        ),
    });
}
