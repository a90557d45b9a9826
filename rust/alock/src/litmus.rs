// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Whether a card's writes come into another node's memory in their order: message passing.
//!
//! One node writes a round's number to `data`, and then to `flag`, by one queue pair and with one
//! doorbell. A CPU of the other node looks at `flag`, and then at `data`. What it finds in `data`
//! is never older than what it found in `flag`, where writes are in order.
//!
//! The locks of this crate rely on that order. Firmware can be told to give it up (relaxed
//! ordering, forced), and verbs do not show it. A run that finds nothing proves nothing: it has
//! seen so many rounds, on an idle path.

use core::future::Future;

use crate::ptr::WordPtr;

/// What comes after the data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Flag {
    /// A WRITE.
    Write,
    /// A compare-and-swap.
    Cas,
}

impl Flag {
    /// Both, by turns: how the flag is set in that round.
    pub const fn of_round(round: u64) -> Self {
        if round % 2 == 0 {
            Self::Cas
        } else {
            Self::Write
        }
    }
}

/// The words of the node that looks: zeroes at first, and in two lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Words {
    /// Written first.
    pub data: WordPtr,
    /// Written, or compared and swapped, next.
    pub flag: WordPtr,
}

/// A card that writes to another node.
pub trait Sends {
    /// Why it cannot.
    type Fault;

    /// Posts a write of `round` to the data. Behind it, without a wait, it posts what sets the flag
    /// from `round - 1` to `round`. Both go by the same queue pair. Ready when both are complete.
    fn write_and_flag(
        &self,
        words: Words,
        round: u64,
        flag: Flag,
    ) -> impl Future<Output = Result<(), Self::Fault>>;
}

/// A CPU of the node that the words are of.
pub trait Looks {
    /// Why there is nothing to look for any more.
    type Fault;

    /// An acquire load. It pairs with the card's writes: those before the one that it sees are in
    /// the memory.
    fn look(&self, at: WordPtr) -> impl Future<Output = Result<u64, Self::Fault>>;

    /// Lets time pass, after so many looks at a flag that had not changed. False to give up: no
    /// change of it is to come any more.
    fn pause(&self, looks: u64) -> impl Future<Output = Result<bool, Self::Fault>>;
}

/// What came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// Every change that was seen was in order; so many were.
    InOrder(u64),
    /// What was posted behind a write was there before it.
    DataLate {
        /// What the flag said.
        flag: u64,
        /// What the data said after that: less.
        data: u64,
    },
    /// A flag was there after a later one.
    FlagLate {
        /// What the flag said.
        flag: u64,
        /// What it had said before: more.
        before: u64,
    },
    /// The flag's last change did not come, though it was posted: it was there before an earlier one.
    FlagLost {
        /// What the flag said.
        flag: u64,
    },
}

/// Sends so many rounds.
///
/// # Errors
/// The card's.
pub async fn send<S: Sends>(
    card: &S,
    words: Words,
    rounds: u64,
    flag: impl Fn(u64) -> Flag,
) -> Result<(), S::Fault> {
    for round in 1..=rounds {
        card.write_and_flag(words, round, flag(round)).await?;
    }
    Ok(())
}

/// Looks until the last of so many rounds is there, or one is out of order.
///
/// # Errors
/// The CPU's.
pub async fn watch<L: Looks>(cpu: &L, words: Words, rounds: u64) -> Result<Outcome, L::Fault> {
    let (mut before, mut seen, mut looks) = (0, 0, 0);
    while before < rounds {
        let flag = cpu.look(words.flag).await?;
        if flag == before {
            looks += 1;
            if !cpu.pause(looks).await? {
                return Ok(Outcome::FlagLost { flag });
            }
            continue;
        }
        let data = cpu.look(words.data).await?;
        if flag < before {
            return Ok(Outcome::FlagLate { flag, before });
        }
        if data < flag {
            return Ok(Outcome::DataLate { flag, data });
        }
        (before, seen, looks) = (flag, seen + 1, 0);
    }
    Ok(Outcome::InOrder(seen))
}
