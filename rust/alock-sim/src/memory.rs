// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A node's memory. It has the words, the caches that have each line, and the threads that
//! wait for a line to change.

use std::cell::RefCell;

use crate::costs::Nanos;

#[derive(Default)]
struct Line {
    /// The node's threads (a bit each) whose CPUs have it.
    holders: u64,
    /// The time at which it can move again.
    free: Nanos,
    /// How often it was written.
    version: u64,
    /// Threads that are to be woken when it is.
    waiting: Vec<usize>,
}

pub(crate) struct Memory {
    words: RefCell<Vec<u64>>,
    lines: RefCell<Vec<Line>>,
}

/// What a CPU wants of a line.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Want {
    Load,
    /// Alone.
    Store,
}

fn line(offset: u64) -> usize {
    offset as usize / 64
}

impl Memory {
    pub(crate) fn new(bytes: u64) -> Self {
        Self {
            words: RefCell::new(vec![0; bytes.div_ceil(8) as usize]),
            lines: RefCell::new((0..=line(bytes)).map(|_| Line::default()).collect()),
        }
    }

    pub(crate) fn bytes(&self) -> u64 {
        8 * self.words.borrow().len() as u64
    }

    pub(crate) fn load(&self, offset: u64) -> u64 {
        self.words.borrow()[offset as usize / 8]
    }

    /// Returns the threads to be woken.
    pub(crate) fn store(&self, offset: u64, value: u64) -> Vec<usize> {
        self.words.borrow_mut()[offset as usize / 8] = value;
        let line = &mut self.lines.borrow_mut()[line(offset)];
        line.version += 1;
        std::mem::take(&mut line.waiting)
    }

    /// The card wrote: no CPU has the line.
    pub(crate) fn take_from_all(&self, offset: u64) {
        self.lines.borrow_mut()[line(offset)].holders = 0;
    }

    pub(crate) fn version(&self, offset: u64) -> u64 {
        self.lines.borrow()[line(offset)].version
    }

    pub(crate) fn await_change(&self, offset: u64, thread: usize) {
        self.lines.borrow_mut()[line(offset)].waiting.push(thread);
    }

    /// All waiting threads, which wait no more.
    pub(crate) fn waiting(&self) -> Vec<usize> {
        let mut lines = self.lines.borrow_mut();
        lines
            .iter_mut()
            .flat_map(|line| line.waiting.drain(..))
            .collect()
    }

    /// The time at which the CPU of this node's thread `thread` has the line so, if it moves in
    /// `time`.
    pub(crate) fn fetch(
        &self,
        offset: u64,
        thread: u32,
        want: Want,
        now: Nanos,
        time: Nanos,
    ) -> Nanos {
        let line = &mut self.lines.borrow_mut()[line(offset)];
        let me = 1 << (thread % 64);
        let has = match want {
            Want::Load => line.holders & me != 0,
            Want::Store => line.holders == me,
        };
        match want {
            Want::Load => line.holders |= me,
            Want::Store => line.holders = me,
        }
        if has || time == 0 {
            return now;
        }
        line.free = line.free.max(now) + time;
        line.free
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_moves_to_one_at_a_time_and_stays_with_who_has_it() {
        let memory = Memory::new(128);
        let fetch = |thread, want, now| memory.fetch(8, thread, want, now, 50);
        assert_eq!(fetch(0, Want::Store, 0), 50);
        // It has it.
        assert_eq!(fetch(0, Want::Store, 60), 60);
        // Three want it at once.
        assert_eq!(fetch(1, Want::Store, 100), 150);
        assert_eq!(fetch(2, Want::Load, 100), 200);
        assert_eq!(fetch(3, Want::Load, 100), 250);
        // Both can read it now, the writer alone no more write it.
        assert_eq!(fetch(2, Want::Load, 300), 300);
        assert_eq!(fetch(1, Want::Store, 300), 350);
        assert_eq!(fetch(2, Want::Load, 400), 450);
        // Another line is free.
        assert_eq!(memory.fetch(64, 5, Want::Load, 100, 50), 150);
        memory.take_from_all(0);
        assert_eq!(fetch(2, Want::Load, 500), 550);
    }

    #[test]
    fn who_waits_for_a_line_is_woken_by_a_store_to_it() {
        let memory = Memory::new(128);
        let before = memory.version(8);
        memory.await_change(8, 7);
        assert!(memory.store(64, 1).is_empty());
        assert_eq!(memory.version(8), before);
        assert_eq!(memory.store(16, 1), [7_usize]);
        assert_ne!(memory.version(8), before);
        assert!(memory.store(16, 2).is_empty());
    }
}
