// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The litmus of writes' order: a card that keeps it passes, one that does not is found.

use std::cell::Cell;
use std::rc::Rc;

use alock::litmus::{send, watch, Flag, Looks, Outcome, Words};
use alock::ptr::{NodeId, Ptr, WordPtr};
use alock_sim::{Card, Cluster, Connections, Costs, Cpu, End, Lost};

use crate::seeds;

const ROUNDS: u64 = 200;
/// Much longer than a write is on its way.
const PATIENCE: u64 = 1000;

struct Reader {
    cluster: Cluster,
    cpu: Cpu,
}

impl Looks for Reader {
    type Fault = Lost;

    async fn look(&self, at: WordPtr) -> Result<u64, Lost> {
        Ok(self.cpu.load(at).await)
    }

    async fn pause(&self, looks: u64) -> Result<bool, Lost> {
        self.cluster.sleep(20).await;
        Ok(looks < PATIENCE)
    }
}

fn found(costs: Costs, seed: u64, flag: impl Fn(u64) -> Flag + 'static) -> Outcome {
    let cluster = Cluster::new(2, 4096, costs, seed);
    let word = |line: u64| Ptr::new(NodeId(1), 64 * line).unwrap().word(0);
    let words = Words {
        data: word(1),
        flag: word(2),
    };
    let it = cluster.clone();
    cluster.spawn(NodeId(0), async move {
        let connections = Connections {
            threads: 1,
            loopback: false,
            full: false,
        };
        let card = Card::new(&it, NodeId(0), 0, connections);
        send(&card, words, ROUNDS, flag).await.unwrap();
    });
    let said = Rc::new(Cell::new(None));
    let (it, its) = (cluster.clone(), Rc::clone(&said));
    cluster.spawn(NodeId(1), async move {
        let reader = Reader {
            cpu: Cpu::new(&it),
            cluster: it,
        };
        its.set(Some(watch(&reader, words, ROUNDS).await.unwrap()));
    });
    assert_eq!(cluster.run(100_000_000), End::Finished);
    said.take().unwrap()
}

const FLAGS: [fn(u64) -> Flag; 3] = [Flag::of_round, |_| Flag::Write, |_| Flag::Cas];

#[test]
fn cards_that_keep_the_order_pass() {
    for flag in FLAGS {
        for seed in 0..seeds().min(50) {
            for placement in [0, 5000] {
                let costs = Costs {
                    placement,
                    ..Costs::default()
                };
                let outcome = found(costs, seed, flag);
                let Outcome::InOrder(seen) = outcome else {
                    panic!("seed {seed}: {outcome:?}");
                };
                assert!(seen > 0 && seen <= ROUNDS);
            }
        }
    }
}

/// The control: each run finds it, whatever the flag is set by.
#[test]
fn a_card_that_does_not_keep_it_is_found() {
    for flag in FLAGS {
        let mut late = 0;
        for seed in 0..seeds().min(50) {
            let costs = Costs {
                relaxed: true,
                ..Costs::default()
            };
            match found(costs, seed, flag) {
                Outcome::InOrder(_) => panic!("seed {seed}: it was not found"),
                Outcome::DataLate { flag, data } => {
                    late += 1;
                    assert!(data < flag && flag <= ROUNDS);
                }
                Outcome::FlagLate { flag, before } => assert!(flag < before && before <= ROUNDS),
                Outcome::FlagLost { flag } => assert!(flag < ROUNDS),
            }
        }
        // What the locks would be broken by was seen itself.
        assert!(late > 0);
    }
}
