//! How often a leader that waits for the other cohort looks at the lock over the wire.
//!
//! Each look is a READ, which takes a round trip and a share of both nodes' cards, for
//! everybody else to wait for. So looks become rarer: the second begins when the first is
//! there, the third 2 round trips after the second began, the next one 4 after that, and
//! then one every [`LOOK_EVERY`] (8).
//!
//! Why doubled, and why up to 8: between the lock's being free and the look that finds it
//! so, nobody has it: an interval is what a hand-over may cost. Up to the bound it is about
//! as long as the wait was already; from there on 8 round trips and the look. Next to what
//! the remote cohort does with its turn that is little (each entry takes two round trips at
//! least, and its budget is 20), and the cards carry an eighth of a spinning thread's READs.
//!
//! The unit is the shortest look (the first one, with the write before it, among them) that
//! this thread has had, at whatever node: a look that
//! waited for a CPU or behind others does not make the next ones later. Where the paths have
//! different lengths it is the nearest node's: a lock on a path of r units is looked at every
//! 7 + r units, so every (7 + r) / r of its own round trips, and never more rarely than every
//! 8. It is found no later for that, but costs more READs: up to one after the other where r
//! is large.

use core::cell::Cell;

/// At most so many round trips lie between the beginnings of two looks.
pub const LOOK_EVERY: u32 = 8;

/// The looks of one thread, in ns.
#[derive(Debug, Default)]
pub(crate) struct Pace {
    shortest: Cell<Option<u64>>,
}

impl Pace {
    /// A look took so long.
    pub(crate) fn took(&self, time: u64) {
        let shortest = self.shortest.get().map_or(time, |it| it.min(time));
        self.shortest.set(Some(shortest));
    }

    /// How long to wait after the look number `turn` (from 0) that found nothing. No time
    /// while no look was timed.
    pub(crate) fn pause(&self, turn: u32) -> u64 {
        let every = 1_u64 << turn.min(LOOK_EVERY.ilog2());
        // The look itself takes one of them.
        self.shortest.get().unwrap_or(0).saturating_mul(every - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn looks_become_rarer_up_to_the_bound() {
        let pace = Pace::default();
        assert_eq!(pace.pause(5), 0);
        for time in [300, 100, 5000] {
            pace.took(time);
        }
        let pauses = [0, 1, 2, 3, 4, 63, 64, u32::MAX].map(|turn| pace.pause(turn));
        assert_eq!(pauses, [0, 100, 300, 700, 700, 700, 700, 700]);
    }
}
