// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The check that this cluster's cards keep the order of their writes.

use std::future::Future;
use std::pin::pin;
use std::task::Poll;
use std::time::{Duration, Instant};

use nic::WorkRequest;

use super::card::Wire;
use super::thread::Thread;
use super::Error;
use crate::litmus::{self, Flag, Looks, Outcome, Sends, Words};
use crate::local::once;
use crate::ptr::WordPtr;
use crate::word::{Memory, Word};

/// The time for a flag's next change, from a node that is not lost. It is longer than a busy host
/// stands still, and much longer than a write is on its way.
const PATIENCE: Duration = Duration::from_secs(60);

impl Sends for Wire {
    type Fault = Error;

    async fn write_and_flag(&self, words: Words, round: u64, flag: Flag) -> Result<(), Error> {
        let (data, its) = (self.table.remote(words.data), self.table.remote(words.flag));
        let second = match flag {
            Flag::Write => WorkRequest::write(its, round),
            Flag::Cas => WorkRequest::cas(its, round - 1, round),
        };
        let requests = [WorkRequest::write(data, round), second];
        self.verb(words.flag.node().0, &requests).await.map(drop)
    }
}

/// This node's CPU.
struct Watcher<'t> {
    wire: &'t Wire,
    since: std::cell::Cell<Option<Instant>>,
}

impl Looks for Watcher<'_> {
    type Fault = Error;

    async fn look(&self, at: WordPtr) -> Result<u64, Error> {
        Ok(self.wire.table.word(at.offset()).load_acquire())
    }

    async fn pause(&self, looks: u64) -> Result<bool, Error> {
        self.wire.table.rendezvous.health.check()?;
        if looks == 1 {
            self.since.set(Some(Instant::now()));
        }
        once().await;
        Ok(self.since.get().is_none_or(|it| it.elapsed() < PATIENCE))
    }
}

/// Both, by turns. Both are polled until they are ready, as all of this crate is.
async fn both<A, B>(a: impl Future<Output = A>, b: impl Future<Output = B>) -> (A, B) {
    let (mut a, mut b) = (pin!(a), pin!(b));
    let (mut left, mut right) = (None, None);
    std::future::poll_fn(move |context| {
        if left.is_none() {
            if let Poll::Ready(value) = a.as_mut().poll(context) {
                left = Some(value);
            }
        }
        if right.is_none() {
            if let Poll::Ready(value) = b.as_mut().poll(context) {
                right = Some(value);
            }
        }
        match (left.take(), right.take()) {
            (Some(l), Some(r)) => Poll::Ready((l, r)),
            (l, r) => {
                (left, right) = (l, r);
                Poll::Pending
            }
        }
    })
    .await
}

impl Thread {
    /// Whether writes of the previous node's card come into this node's memory in their order, by
    /// [`litmus`]. Each node sends `rounds` rounds to the next one. Returns how many changes this
    /// node saw.
    ///
    /// One thread of each node calls it, all at the same time, with the same `rounds`. It must
    /// come before the first lock. It overwrites the first word of data of each node's first lock,
    /// and leaves zero there. A calling thread that has asked for a lock before is found, and then
    /// nothing is overwritten. A node's other threads are not looked at. Costs two work requests
    /// and a round trip a round.
    ///
    /// A path that is found in order once may be otherwise under load. One that is not is no
    /// path for these locks.
    ///
    /// # Errors
    /// [`Error::Order`] at every node where one saw it. [`Error::Mismatch`] at every node, in two
    /// cases. The nodes asked for different numbers of rounds, or a calling thread has asked for a
    /// lock before. Else as [`Thread::lock`].
    pub fn check_ordering(&self, rounds: u64) -> Result<u64, Error> {
        let it = &*self.0.table;
        let (me, size) = (it.rendezvous.rank(), it.rendezvous.size());
        let mine = Asked {
            rounds,
            late: self.0.has_asked(),
        };
        agreed(&it.rendezvous.exchange(&mine)?)?;
        if size < 2 {
            return Ok(0);
        }
        let words = |node| {
            let lock = it.geometry.lock(node, 0)?;
            // A word of the lock's line that no lock uses.
            let (data, flag) = (it.geometry.data(lock, 0)?, lock.0.word(7));
            Some(Words { data, flag })
        };
        let (Some(mine), Some(next)) = (words(me), words((me + 1) % size)) else {
            return Err(Error::Mismatch("there is no first lock".into()));
        };
        let watcher = Watcher {
            wire: &self.0,
            since: std::cell::Cell::new(None),
        };
        let (sent, seen) = self.0.finish(both(
            litmus::send(&self.0, next, rounds, Flag::of_round),
            litmus::watch(&watcher, mine, rounds),
        ));
        sent?;
        let all = it.rendezvous.exchange(&Told::of(seen?))?;
        for word in [mine.data, mine.flag] {
            it.word(word.offset()).store_release(0);
        }
        it.rendezvous.barrier()?;
        verdict(&all)?;
        Ok(all[usize::from(me)].seen)
    }
}

/// What a node asks for.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Asked {
    rounds: u64,
    /// Whether the thread has asked for a lock before.
    late: bool,
}

/// Whether all nodes ask for the same check, in time; each comes to the same.
fn agreed(all: &[Asked]) -> Result<(), Error> {
    if let Some(node) = all.iter().position(|it| it.late) {
        return Err(Error::Mismatch(format!(
            "node {node} checks the order of writes after its thread has asked for a lock"
        )));
    }
    let rounds: Vec<_> = all.iter().map(|it| it.rounds).collect();
    if rounds.iter().any(|it| Some(it) != rounds.first()) {
        return Err(Error::Mismatch(format!("rounds of the check: {rounds:?}")));
    }
    Ok(())
}

/// What all nodes say, by rank: the first that saw writes out of order, and whose they are. Each
/// node is sent to by the one before it.
fn verdict(all: &[Told]) -> Result<(), Error> {
    for (node, told) in all.iter().enumerate() {
        if let Some(what) = &told.wrong {
            let from = node.checked_sub(1).unwrap_or(all.len() - 1);
            return Err(Error::Order {
                node: node as u16,
                from: from as u16,
                what: what.clone(),
            });
        }
    }
    Ok(())
}

/// What a node saw.
#[derive(Debug, serde::Serialize, serde::Deserialize)]
struct Told {
    seen: u64,
    wrong: Option<String>,
}

impl Told {
    fn of(outcome: Outcome) -> Self {
        let wrong = match outcome {
            Outcome::InOrder(seen) => return Self { seen, wrong: None },
            Outcome::DataLate { flag, data } => {
                format!("write {data} was there when what was posted behind write {flag} came")
            }
            Outcome::FlagLate { flag, before } => format!("write {flag} came after write {before}"),
            Outcome::FlagLost { flag } => format!("the last write did not come after write {flag}"),
        };
        Self {
            seen: 0,
            wrong: Some(wrong),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn says(told: Told) -> (u64, String) {
        (told.seen, told.wrong.unwrap_or_default())
    }

    /// Every outcome but the one in order is a fault, in words.
    #[test]
    fn what_is_out_of_order_is_told() {
        assert_eq!(says(Told::of(Outcome::InOrder(7))), (7, String::new()));
        for (outcome, words) in [
            (
                Outcome::DataLate { flag: 5, data: 4 },
                "write 4 was there when what was posted behind write 5 came",
            ),
            (
                Outcome::FlagLate { flag: 5, before: 6 },
                "write 5 came after write 6",
            ),
            (
                Outcome::FlagLost { flag: 5 },
                "the last write did not come after write 5",
            ),
        ] {
            assert_eq!(says(Told::of(outcome)), (0, words.to_owned()));
        }
    }

    /// Node `wrong` of `size` saw a fault; the nodes that are named.
    fn named(wrong: u16, size: u16) -> Option<(u16, u16)> {
        let told = |node| match node == wrong {
            true => Told::of(Outcome::FlagLost { flag: 1 }),
            false => Told::of(Outcome::InOrder(3)),
        };
        let all: Vec<_> = (0..size).map(told).collect();
        match verdict(&all) {
            Ok(()) => None,
            Err(Error::Order { node, from, what }) => {
                assert_eq!(what, "the last write did not come after write 1");
                Some((node, from))
            }
            Err(other) => panic!("{other}"),
        }
    }

    #[test]
    fn a_fault_names_who_saw_it_and_who_wrote() {
        for size in 2..6 {
            assert_eq!(named(size, size), None);
            assert_eq!(named(0, size), Some((0, size - 1)));
            for node in 1..size {
                assert_eq!(named(node, size), Some((node, node - 1)));
            }
        }
    }

    #[test]
    fn a_check_that_comes_late_or_differs_is_refused() {
        let of = |asked: &[(u64, bool)]| {
            let all = asked.iter().map(|&(rounds, late)| Asked { rounds, late });
            agreed(&all.collect::<Vec<_>>()).map_err(|error| error.to_string())
        };
        assert_eq!(of(&[(9, false), (9, false), (9, false)]), Ok(()));
        let said = of(&[(9, false), (9, true), (9, false)]).unwrap_err();
        assert!(said.contains("node 1 checks the order"), "{said}");
        for rounds in [[8, 9, 9], [9, 8, 9], [9, 9, 8]] {
            let said = of(&rounds.map(|it| (it, false))).unwrap_err();
            assert!(said.contains(&format!("{rounds:?}")), "{said}");
        }
    }
}
