// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What locks cost on the wire.

use std::fs;

use alock::cluster::{Kind, Settings, Thread};

use crate::{cluster, Member};

/// Counts the thread's work requests while `body` runs.
fn work_requests(thread: &Thread, body: impl FnOnce()) -> u64 {
    let before = thread.work_requests();
    body();
    thread.work_requests() - before
}

fn pair_of(thread: &Thread, key: u64) -> u64 {
    work_requests(thread, || thread.lock(key).unwrap().unlock().unwrap())
}

/// Two nodes with a lock each: node 0's has the key 0.
fn two(kind: Kind) -> Vec<Member> {
    let settings = Settings {
        kind,
        locks: 1,
        ..Settings::default()
    };
    cluster(2, &settings)
}

#[test]
fn uncontended_a_remote_pair_is_four_work_requests_and_a_local_one_none() {
    let members = two(Kind::ALock);
    for (rank, member) in members.iter().enumerate() {
        let (thread, own) = (&member.threads[0], rank as u64);
        for _ in 0..10 {
            assert_eq!(pair_of(thread, own), 0);
            assert_eq!(pair_of(thread, 1 - own), 4);
        }
        let tried = |key| {
            work_requests(thread, || {
                let guard = thread.try_lock(key).unwrap();
                guard.expect("it is free").unlock().unwrap();
            })
        };
        assert_eq!(tried(own), 0);
        assert_eq!(tried(1 - own), 4);
        let used = |key| {
            let mut guard = thread.lock(key).unwrap();
            work_requests(thread, || {
                let value = guard.load(0).unwrap();
                guard.store(0, value + 1).unwrap();
            })
        };
        assert_eq!(used(own), 0);
        assert_eq!(used(1 - own), 2);
    }
}

/// The control: baselines' locks of the own node cost verbs, and the count sees them.
#[test]
fn the_baselines_pay_for_their_own_nodes_locks() {
    for kind in [Kind::RdmaSpin, Kind::RdmaMcs] {
        let members = two(kind);
        let thread = &members[0].threads[0];
        assert_eq!(pair_of(thread, 0), 2, "{kind:?}");
        assert_eq!(pair_of(thread, 1), 2, "{kind:?}");
    }
}

#[test]
fn queue_pairs_are_one_a_node_and_the_baselines_need_a_loopback() {
    for (kind, pairs) in [(Kind::ALock, 2), (Kind::RdmaSpin, 4), (Kind::RdmaMcs, 4)] {
        let settings = Settings {
            kind,
            locks: 1,
            ..Settings::default()
        };
        for member in cluster(3, &settings) {
            let threads = member.threads.iter();
            let found: Vec<_> = threads.map(Thread::queue_pairs).collect();
            assert_eq!(found, [pairs], "{kind:?}");
        }
    }
}

/// What soft-RoCE's device says that it has sent, whichever queue pair it was for.
fn sent(member: &Member) -> u64 {
    let (device, _) = member.node.device();
    let file = format!("/sys/class/infiniband/{device}/ports/1/hw_counters/sent_pkts");
    let said = fs::read_to_string(&file).unwrap_or_else(|error| panic!("{file}: {error}"));
    said.trim().parse().unwrap()
}

/// Not by the crate's own count: by the device's.
#[test]
fn local_pairs_send_nothing_and_remote_ones_do() {
    const PAIRS: u64 = 50;
    let members = two(Kind::ALock);
    let thread = &members[0].threads[0];
    let during = |key| {
        let before = sent(&members[0]);
        for _ in 0..PAIRS {
            thread.lock(key).unwrap().unlock().unwrap();
        }
        sent(&members[0]) - before
    };
    assert_eq!(during(0), 0);
    let remote = during(1);
    println!("# {PAIRS} remote pairs: {remote} packets sent");
    // Answers are the other device's. One that is sent again may be among them.
    let devices = [&members[0], &members[1]].map(|member| member.node.device().0);
    assert_ne!(devices[0], devices[1], "this counts what one node sends");
    assert!((4 * PAIRS..5 * PAIRS).contains(&remote), "{remote}");
}
