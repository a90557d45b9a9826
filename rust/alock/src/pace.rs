// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! How often a leader that waits for the other cohort polls the lock over the wire.
//!
//! Each poll is a READ, which takes a round trip and a share of both nodes' cards. All others
//! wait for that. So polls become rarer. The second begins when the first is complete. The third
//! begins 2 round trips after the second began, the next 4 after that. From then on one begins
//! every [`POLL_EVERY`] (8).
//!
//! Why doubled, and why up to 8: an interval is what a hand-over may cost. Between the release
//! and the poll that finds the lock free, no thread has it. Up to the bound an interval is about
//! as long as the wait was already. From there on it is 8 round trips and the poll. That is
//! little next to the remote cohort's turn. Its budget is 20, and each entry takes two round
//! trips at least. The cards carry an eighth of a spinning thread's READs.
//!
//! The unit is the shortest poll that this thread has had, at whatever node. The first poll,
//! with the write before it, is among them. A poll that waited for a CPU or behind others so
//! does not make the next ones later. Where the paths have different lengths the unit is the
//! nearest node's. A lock on a path of r units is polled every 7 + r units. That is every
//! (7 + r) / r of its own round trips, and never more rarely than every 8. A free lock is found
//! no later for that, but at the cost of more READs. Where r is large, the READs follow each
//! other almost without a pause.

use core::cell::Cell;

/// At most so many round trips lie between the beginnings of two polls.
pub const POLL_EVERY: u32 = 8;

/// The polls of one thread, in ns.
#[derive(Debug, Default)]
pub struct Pace {
    shortest: Cell<Option<u64>>,
}

impl Pace {
    /// A poll took so long.
    pub fn took(&self, time: u64) {
        let shortest = self.shortest.get().map_or(time, |it| it.min(time));
        self.shortest.set(Some(shortest));
    }

    /// How long to wait after the poll number `turn` (from 0) that found nothing. No time
    /// while no poll was timed.
    pub fn pause(&self, turn: u32) -> u64 {
        let every = 1_u64 << turn.min(POLL_EVERY.ilog2());
        // The poll itself takes one of them.
        self.shortest.get().unwrap_or(0).saturating_mul(every - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn polls_become_rarer_up_to_the_bound() {
        let pace = Pace::default();
        assert_eq!(pace.pause(5), 0);
        for time in [300, 100, 5000] {
            pace.took(time);
        }
        let pauses = [0, 1, 2, 3, 4, 63, 64, u32::MAX].map(|turn| pace.pause(turn));
        assert_eq!(pauses, [0, 100, 300, 700, 700, 700, 700, 700]);
    }
}
