//! Queue pairs: how threads are connected, and whose state a card holds.

use super::{Nanos, State};
use crate::ptr::{NodeId, Place};

/// How a cluster's threads are connected; the same for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// A node.
    pub threads: u16,
    /// Whether threads are connected with their own node, too.
    pub loopback: bool,
    /// Whether each thread is connected with each thread of a node, and the other way round
    /// once more (which gives the paper's 1280 queue pairs for 8 threads on each of 10
    /// nodes); else with the one of its number, once for both.
    pub full: bool,
}

impl Connections {
    /// The queue pairs that a thread has of its node's card, if there are so many nodes.
    pub fn of_a_thread(&self, nodes: u16) -> u64 {
        let others = u64::from(nodes) - 1;
        let loopback = u64::from(self.loopback);
        if self.full {
            2 * u64::from(self.threads) * (others + loopback)
        } else {
            others + 2 * loopback
        }
    }
}

/// The queue pairs whose state a card holds.
#[derive(Default)]
pub(super) struct Cache {
    /// By queue pair: whether, and in which slot.
    slot: Vec<Option<u32>>,
    held: Vec<u32>,
}

impl Cache {
    /// Whether the state of `pair` is there; it is afterwards. `roll` chooses which one goes.
    pub(super) fn touch(&mut self, pair: u32, room: u64, roll: impl FnOnce(u64) -> u64) -> bool {
        let index = pair as usize;
        if self.slot.len() <= index {
            self.slot.resize(index + 1, None);
        }
        if self.slot[index].is_some() {
            return true;
        }
        if (self.held.len() as u64) < room {
            self.slot[index] = Some(self.held.len() as u32);
            self.held.push(pair);
        } else if room > 0 {
            let goes = roll(room) as usize;
            self.slot[self.held[goes] as usize] = None;
            self.held[goes] = pair;
            self.slot[index] = Some(goes as u32);
        }
        false
    }
}

/// A queue pair's two ends, as numbers of their cards.
pub(super) struct Ends {
    pub(super) near: u32,
    pub(super) far: u32,
}

impl Connections {
    /// What an operation of that thread on that word goes by.
    pub(super) fn ends(&self, nodes: usize, from: NodeId, thread: u16, to: Place) -> Ends {
        let (threads, nodes) = (u32::from(self.threads), nodes as u32);
        let (me, it) = (u32::from(from.0), u32::from(to.node().0));
        let thread = u32::from(thread);
        if self.full {
            // The word's is any thread of that node, always the same.
            let its = (to.offset() / 128) as u32 % threads;
            let end =
                |node, thread, other, way| (((thread * nodes + node) * threads) + other) * 2 + way;
            return Ends {
                near: end(it, thread, its, 0),
                far: end(me, its, thread, 1),
            };
        }
        let near = thread * nodes + it;
        let far = if me == it {
            threads * nodes + thread
        } else {
            thread * nodes + me
        };
        Ends { near, far }
    }
}

impl State {
    /// How long a card is kept by the state of one of its queue pairs.
    pub(super) fn fetch_pair(&self, node: NodeId, pair: u32) -> Nanos {
        let mut cache = self.node(node).pairs.borrow_mut();
        if cache.touch(pair, self.model.pair_cache, |room| self.roll(room)) {
            return 0;
        }
        self.about(self.model.pair_fetch)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::ptr::Ptr;

    #[test]
    fn the_papers_number_of_queue_pairs() {
        let mut it = Connections {
            threads: 8,
            loopback: true,
            full: true,
        };
        assert_eq!(8 * it.of_a_thread(10), 1280);
        it.loopback = false;
        assert_eq!(8 * it.of_a_thread(10), 1280 - 2 * 8 * 8);
        it.full = false;
        assert_eq!(it.of_a_thread(10), 9);
    }

    /// Every thread's operations on every node by queue pairs that are no others.
    #[test]
    fn ends_are_as_many_as_queue_pairs() {
        for full in [false, true] {
            let it = Connections {
                threads: 3,
                loopback: true,
                full,
            };
            let mut near = HashSet::new();
            let mut all = HashSet::new();
            for from in 0..4_u16 {
                for thread in 0..3 {
                    for to in 0..4_u16 {
                        for lock in 0..6 {
                            let place = Ptr::new(NodeId(to), lock * 128).unwrap().word(0);
                            let ends = it.ends(4, NodeId(from), thread, place);
                            near.insert((from, ends.near));
                            all.insert((from, ends.near));
                            all.insert((to, ends.far));
                        }
                    }
                }
            }
            assert_eq!(all.len() as u64, 4 * 3 * it.of_a_thread(4), "full: {full}");
            let ours = if full { 3 * 4 } else { 4 };
            assert_eq!(near.len(), 4 * 3 * ours);
        }
    }

    #[test]
    fn a_cache_holds_what_it_has_room_for() {
        let mut cache = Cache::default();
        let mut misses = |pairs: u32, rounds: u32| {
            let mut next = 0;
            (0..pairs * rounds)
                .filter(|it| {
                    !cache.touch(it % pairs, 8, |room| {
                        next += 1;
                        next % room
                    })
                })
                .count()
        };
        assert_eq!(misses(8, 10), 8);
        assert_eq!(misses(8, 10), 0);
        assert!(misses(9, 10) > 10);
    }
}
