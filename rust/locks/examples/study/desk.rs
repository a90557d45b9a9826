// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What is counted, and who waits: the desk that all words of a run report to.

use super::seed::Draws;

/// What the algorithm did in a run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    /// Tickets drawn, of which each became an owner's.
    pub(crate) acquisitions: u32,
    /// Acquisitions without a wait.
    pub(crate) at_once: u32,
    /// Acquisitions that waited for their grant alone.
    pub(crate) short_term: u32,
    /// Acquisitions that read a slot.
    pub(crate) long_term: u32,
    /// Looks of long-term waiters at the grant, each after a load of the slot.
    pub(crate) looks: u32,
    /// Wake-ups with the waiter's own notification.
    pub(crate) own: u32,
    /// Wake-ups by notifications of other tickets of the same lock.
    pub(crate) same_lock: u32,
    /// Wake-ups by notifications of other locks.
    pub(crate) other_lock: u32,
    /// Releases that notified.
    pub(crate) notified: u32,
    /// Releases that did not.
    pub(crate) skipped: u32,
}

impl Counts {
    /// The names of the columns that [`Counts::row`] fills.
    pub(crate) const COLUMNS: &'static str =
        "acquisitions,at_once,short_term,long_term,looks,own,same_lock,other_lock,notified,skipped";

    /// The counts, with commas between.
    pub(crate) fn row(&self) -> String {
        let all = [
            self.acquisitions,
            self.at_once,
            self.short_term,
            self.long_term,
            self.looks,
            self.own,
            self.same_lock,
            self.other_lock,
            self.notified,
            self.skipped,
        ];
        all.map(|count| count.to_string()).join(",")
    }
}

/// A word: the lock's own, or the array's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// A word of the lock with this number.
    Lock(usize),
    /// This slot of the array.
    Slot(usize),
}

/// What a thread did. The tests recount from these, by other means.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Deed {
    /// It begins to acquire this lock.
    Asks(usize),
    /// It read a word with acquire, and saw this.
    Loads(Place, u32),
    /// It begins to wait on a word.
    Waits(Place),
    /// It saw this where it waited, and goes on.
    Wakes(Place, u32),
    /// It wrote this to a word.
    Writes(Place, u32),
    /// It asked the world for the slot of this index, of all 4096.
    Index(u32),
    /// It owns the lock with this ticket.
    Owns(u32),
    /// It begins to release.
    Releases,
    /// Its release is over.
    Released,
}

/// A notification: the lock whose release sent it, and the ticket that it was meant for.
#[derive(Clone, Copy, PartialEq, Eq)]
struct Notice {
    lock: usize,
    ticket: u32,
}

/// A long-term waiter's wake-up: the slot, and the notifications that came since its last look.
struct WakeUp {
    slot: usize,
    from: u32,
    to: u32,
}

/// What is known of a thread's acquisition.
#[derive(Default)]
struct Seat {
    lock: usize,
    ticket: u32,
    has_waited: bool,
    has_notified: bool,
    looks: u32,
    /// What its last look at the slot saw.
    seen: u32,
    wake_ups: Vec<WakeUp>,
}

/// The counts, the threads that wait, and the choice of the next thread.
pub(crate) struct Desk {
    /// The thread that runs.
    running: usize,
    /// The threads that wait on a word.
    waiting: Vec<bool>,
    draws: Draws,
    seats: Vec<Seat>,
    /// What came to each slot. A slot begins at zero, so its value is how many came.
    notices: Vec<Vec<Notice>>,
    threshold: u32,
    /// The tickets' bits.
    mask: u32,
    pub(crate) counts: Counts,
    /// Each deed with its thread, where a test asks for them.
    pub(crate) deeds: Option<Vec<(usize, Deed)>>,
}

impl Desk {
    /// A desk for so many threads and slots. The seed decides which thread runs next.
    pub(crate) fn new(
        contenders: usize,
        slots: usize,
        threshold: u32,
        bits: u32,
        seed: u64,
    ) -> Self {
        Self {
            running: 0,
            waiting: vec![false; contenders],
            draws: Draws::new(seed),
            seats: (0..contenders).map(|_| Seat::default()).collect(),
            notices: vec![Vec::new(); slots],
            threshold,
            mask: u32::MAX >> (32 - bits),
            counts: Counts::default(),
            deeds: None,
        }
    }

    /// Whether the thread can take a step.
    pub(crate) fn is_ready(&self, thread: usize) -> bool {
        !self.waiting[thread]
    }

    /// Draws one of so many.
    pub(crate) fn draw(&mut self, of: usize) -> usize {
        self.draws.below(of as u32) as usize
    }

    /// From here on this thread runs.
    pub(crate) fn runs(&mut self, thread: usize) {
        self.running = thread;
    }

    /// The thread that runs begins to wait, and gets its number.
    pub(crate) fn sleeps(&mut self) -> usize {
        self.waiting[self.running] = true;
        self.running
    }

    /// What a thread waited for is there.
    pub(crate) fn rouse(&mut self, thread: usize) {
        self.waiting[thread] = false;
    }

    /// The thread that runs did this.
    pub(crate) fn record(&mut self, deed: Deed) {
        let running = self.running;
        if let Some(deeds) = &mut self.deeds {
            deeds.push((running, deed));
        }
        let seat = &mut self.seats[running];
        match deed {
            Deed::Asks(lock) => {
                *seat = Seat {
                    lock,
                    ..Seat::default()
                };
                self.counts.acquisitions += 1;
            }
            Deed::Loads(Place::Slot(_), value) => {
                seat.seen = value;
                seat.looks += 1;
            }
            Deed::Waits(Place::Lock(_)) => seat.has_waited = true,
            Deed::Wakes(Place::Slot(slot), value) => seat.wake_ups.push(WakeUp {
                slot,
                from: seat.seen,
                to: value,
            }),
            Deed::Writes(Place::Slot(slot), _) => {
                // The thread that this many places behind the released ticket comes near.
                let ticket = seat.ticket.wrapping_add(1 + self.threshold) & self.mask;
                self.notices[slot].push(Notice {
                    lock: seat.lock,
                    ticket,
                });
                seat.has_notified = true;
            }
            Deed::Owns(ticket) => {
                seat.ticket = ticket;
                self.owns();
            }
            Deed::Released if seat.has_notified => self.counts.notified += 1,
            Deed::Released => self.counts.skipped += 1,
            _ => {}
        }
    }

    /// The thread that runs has its lock: what its wait was is known now.
    fn owns(&mut self) {
        let (seat, counts) = (&self.seats[self.running], &mut self.counts);
        counts.looks += seat.looks;
        *match (seat.looks, seat.has_waited) {
            (0, false) => &mut counts.at_once,
            (0, true) => &mut counts.short_term,
            _ => &mut counts.long_term,
        } += 1;
        let mine = Notice {
            lock: seat.lock,
            ticket: seat.ticket,
        };
        for wake_up in &seat.wake_ups {
            let came = &self.notices[wake_up.slot][wake_up.from as usize..wake_up.to as usize];
            // Where its own is among them, the look that follows is the last. Else the first one woke it.
            *if came.contains(&mine) {
                &mut counts.own
            } else if came[0].lock == mine.lock {
                &mut counts.same_lock
            } else {
                &mut counts.other_lock
            } += 1;
        }
    }
}
