// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The counts of a run again, from its deeds alone. No ticket's arithmetic is used. A notification is meant for
//! the waiter of the same lock that asked the world for the same index. The queue's places are counted by the
//! order in which threads wrote to the lock.

use super::{
    desk::{Counts, Deed, Desk, Place},
    run::Point,
};

/// What a thread has done since it asked for its lock.
#[derive(Default)]
struct Life {
    lock: usize,
    /// The threads that drew before it, of this lock.
    place: Option<u32>,
    ahead: Option<u32>,
    index: Option<u32>,
    has_waited: bool,
    seen: u32,
    /// Each wake-up: its slot, and the notifications since its last look.
    wake_ups: Vec<(usize, u32, u32)>,
    is_releasing: bool,
    has_asked_to_notify: bool,
    has_handed_over: bool,
}

/// An acquisition, when its owner has it.
pub(crate) struct Acquired {
    /// The threads that were to be served first, when it looked for the first time.
    pub(crate) ahead: u32,
    pub(crate) is_long_term: bool,
    pub(crate) has_waited: bool,
    /// Whether the own notification was among those that came, for each wake-up from a slot, in order.
    pub(crate) own: Vec<bool>,
}

/// A release.
pub(crate) struct Release {
    /// The owner and the waiters, at the hand-over.
    pub(crate) queue: u32,
    pub(crate) has_notified: bool,
}

/// What a run was.
#[derive(Default)]
pub(crate) struct Recount {
    pub(crate) counts: Counts,
    pub(crate) acquired: Vec<Acquired>,
    pub(crate) releases: Vec<Release>,
    /// The threads that notifications roused: all that then waited, on whichever slot.
    pub(crate) roused: u32,
    /// The waits on slots that were over before they began.
    pub(crate) not_slept: u32,
    /// The slots that were used, each once.
    pub(crate) slots: std::collections::BTreeSet<usize>,
}

/// Recounts the run at this point.
pub(crate) fn recount(point: &Point, desk: &Desk) -> Recount {
    let mut all = Recount::default();
    let mut lives: Vec<Life> = (0..point.contenders).map(|_| Life::default()).collect();
    let (mut drawn, mut served) = (vec![0; point.locks], vec![0; point.locks]);
    // Of each notification of a slot: the lock, and the index of all 4096.
    let mut sent: Vec<Vec<(usize, u32)>> = vec![Vec::new(); point.slots];
    let mut asleep: Vec<usize> = Vec::new();
    let is_one_word = point.lock == "one_word_twa";
    for &(thread, deed) in desk.deeds.as_ref().expect("they were kept") {
        let life = &mut lives[thread];
        match deed {
            Deed::Asks(lock) => {
                all.counts.acquisitions += 1;
                *life = Life {
                    lock,
                    ..Life::default()
                };
            }
            Deed::Index(index) if life.is_releasing => {
                life.has_asked_to_notify = true;
                life.index = Some(index);
            }
            Deed::Index(index) => life.index = Some(index),
            Deed::Loads(Place::Slot(slot), value) => {
                assert_eq!(life.index.map(|it| it as usize % point.slots), Some(slot));
                assert_eq!(value as usize, sent[slot].len());
                all.slots.insert(slot);
                all.counts.looks += 1;
                life.seen = value;
            }
            Deed::Loads(Place::Lock(lock), _) => {
                assert_eq!(lock, life.lock);
                // Two words: the grant is read after the draw.
                life.ahead = life.ahead.or(life.place.map(|place| place - served[lock]));
            }
            Deed::Waits(Place::Lock(_)) => life.has_waited = true,
            Deed::Waits(Place::Slot(slot)) if life.seen as usize == sent[slot].len() => {
                asleep.push(thread)
            }
            Deed::Waits(Place::Slot(_)) => all.not_slept += 1,
            Deed::Wakes(Place::Slot(slot), value) => {
                assert!(!asleep.contains(&thread), "it wakes, and nobody notified");
                life.wake_ups.push((slot, life.seen, value));
            }
            Deed::Wakes(Place::Lock(lock), _) => assert_eq!(life.place, Some(served[lock])),
            Deed::Writes(Place::Lock(lock), _) if life.is_releasing => {
                assert!(
                    lock == life.lock && !life.has_handed_over,
                    "one write hands over"
                );
                life.has_handed_over = true;
                all.releases.push(Release {
                    queue: drawn[lock] - served[lock],
                    has_notified: false,
                });
                served[lock] += 1;
            }
            Deed::Writes(Place::Lock(lock), _) => {
                assert!(lock == life.lock && life.place.is_none(), "one write draws");
                life.place = Some(drawn[lock]);
                if is_one_word {
                    life.ahead = Some(drawn[lock] - served[lock]);
                }
                drawn[lock] += 1;
            }
            Deed::Writes(Place::Slot(slot), value) => {
                let index = life.index.expect("a notification has a slot");
                assert!(life.is_releasing && index as usize % point.slots == slot);
                sent[slot].push((life.lock, index));
                assert_eq!(value as usize, sent[slot].len());
                all.slots.insert(slot);
                let waits_here = |it: &usize| {
                    let index = lives[*it].index.expect("it waits on a slot");
                    index as usize % point.slots == slot
                };
                let before = asleep.len();
                asleep.retain(|it| !waits_here(it));
                all.roused += (before - asleep.len()) as u32;
            }
            Deed::Owns(_) => {
                assert_eq!(life.place, Some(served[life.lock]), "admission is in order");
                all.owns(life, &sent);
            }
            Deed::Releases => life.is_releasing = true,
            Deed::Released => {
                assert!(life.has_handed_over);
                *match life.has_asked_to_notify {
                    true => &mut all.counts.notified,
                    false => &mut all.counts.skipped,
                } += 1;
            }
        }
    }
    assert!(asleep.is_empty(), "{asleep:?} wait for ever");
    all.hand_overs(desk);
    all
}

impl Recount {
    /// The life's thread has its lock.
    fn owns(&mut self, life: &Life, sent: &[Vec<(usize, u32)>]) {
        let is_long_term = life.index.is_some();
        *match (is_long_term, life.has_waited) {
            (true, _) => &mut self.counts.long_term,
            (false, true) => &mut self.counts.short_term,
            (false, false) => &mut self.counts.at_once,
        } += 1;
        let mut own = Vec::new();
        for &(slot, from, to) in &life.wake_ups {
            let came = &sent[slot][from as usize..to as usize];
            let is_own = came
                .iter()
                .any(|&it| Some(it) == life.index.map(|index| (life.lock, index)));
            *match (is_own, came.first()) {
                (true, _) => &mut self.counts.own,
                (false, Some(&(lock, _))) if lock == life.lock => &mut self.counts.same_lock,
                (false, _) => &mut self.counts.other_lock,
            } += 1;
            own.push(is_own);
        }
        self.acquired.push(Acquired {
            ahead: life.ahead.expect("it has looked"),
            is_long_term,
            has_waited: life.has_waited,
            own,
        });
    }

    /// Which of the releases, in the order of their hand-overs, notified.
    fn hand_overs(&mut self, desk: &Desk) {
        let mut hand_overs = 0;
        let mut open: std::collections::BTreeMap<usize, Option<usize>> = Default::default();
        for &(thread, deed) in desk.deeds.iter().flatten() {
            match (deed, open.get(&thread).copied()) {
                (Deed::Releases, _) => _ = open.insert(thread, None),
                (Deed::Writes(Place::Lock(_), _), Some(None)) => {
                    open.insert(thread, Some(hand_overs));
                    hand_overs += 1;
                }
                (Deed::Writes(Place::Slot(_), _), Some(Some(number))) => {
                    self.releases[number].has_notified = true;
                }
                (Deed::Released, _) => _ = open.remove(&thread),
                _ => {}
            }
        }
    }
}
