// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Queue pairs: how threads are connected, and whose state a card holds.

use alock::ptr::{NodeId, WordPtr};

/// How a cluster's threads are connected; the same for all of them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Connections {
    /// A node.
    pub threads: u16,
    /// Whether threads are connected with their own node, too.
    pub loopback: bool,
    /// Whether each thread is connected with each thread of a node, once in each direction.
    /// That gives the paper's 1280 queue pairs for 8 threads on each of 10 nodes. Else a
    /// thread is connected with the thread of its number, once for both directions.
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
pub(crate) struct Cache {
    /// The slot of each queue pair whose state is held.
    slot: Vec<Option<u32>>,
    held: Vec<u32>,
}

impl Cache {
    /// Whether the state of `pair` is there; it is afterwards. `roll` chooses which one goes.
    pub(crate) fn touch(&mut self, pair: u32, room: u64, roll: impl FnOnce(u64) -> u64) -> bool {
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
pub(crate) struct Ends {
    pub(crate) near: u32,
    pub(crate) far: u32,
}

impl Connections {
    /// What an operation of that thread on that word goes by.
    pub(crate) fn ends(&self, nodes: usize, from: NodeId, thread: u16, to: WordPtr) -> Ends {
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

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use alock::ptr::Ptr;

    use super::*;

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

    /// Every thread's operations on every node by queue pairs that are no others. Each end has one
    /// other end.
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
            let mut other_end = HashMap::new();
            for from in 0..4_u16 {
                for thread in 0..3 {
                    for to in 0..4_u16 {
                        for lock in 0..6 {
                            let at = Ptr::new(NodeId(to), lock * 128).unwrap().word(0);
                            let ends = it.ends(4, NodeId(from), thread, at);
                            near.insert((from, ends.near));
                            let both = [(from, ends.near), (to, ends.far)];
                            all.extend(both);
                            for [one, other] in [both, [both[1], both[0]]] {
                                assert_eq!(*other_end.entry(one).or_insert(other), other);
                            }
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
