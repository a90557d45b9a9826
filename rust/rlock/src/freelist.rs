// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A free list: numbers of things that are free, on pseudo-per-CPU lists.

use core::fmt;
use core::ops::ControlFlow;
use core::sync::atomic::{AtomicU32, Ordering};

use crate::cancel::Cancel;
use crate::lock::Slot;
use crate::owner::Owner;
use crate::percpu::PerCpu;
use crate::protocol::Busy;
use crate::token::Token;

/// Which of `capacity` things are free, by their numbers. A push and a pop are one
/// committing store each, on the list of the thread's CPU. When that list is empty, a pop
/// takes over another CPU's list.
///
/// A thread that pops a thing sees what was written to it before it was pushed.
///
/// Last in, first out, a CPU at a time. Four bytes a thing, and a page a list.
///
/// # Examples
///
/// ```
/// use rlock::{FreeList, Owner};
///
/// let blocks = FreeList::new(8);
/// let owner = Owner::register()?;
/// blocks.push(&owner, 3)?;
/// assert_eq!(blocks.pop(&owner)?, Some(3));
/// assert_eq!(blocks.pop(&owner)?, None);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct FreeList {
    /// The head of a list: 0, or a number plus one.
    heads: PerCpu<Slot>,
    /// The next in the list of each free thing, likewise. The thread that has the
    /// thing writes it, before the thing is in a list. The list's owner reads it.
    next: Box<[AtomicU32]>,
    /// A list of those for which there was no CPU's list to be had.
    homeless: AtomicU32,
}

impl FreeList {
    /// Makes a list of things with the numbers below `capacity`, none of which is free.
    ///
    /// # Panics
    ///
    /// If `capacity` is `u32::MAX`: one number is the list's end.
    pub fn new(capacity: u32) -> Self {
        assert!(
            capacity < u32::MAX,
            "capacity is {capacity}; allowed is less"
        );
        Self {
            // A list that is empty holds 0.
            heads: PerCpu::new(Slot::default),
            next: (0..capacity).map(|_| AtomicU32::new(0)).collect(),
            homeless: AtomicU32::new(0),
        }
    }

    /// Makes thing `number` free. The thing must be the caller's, and not free already. A
    /// thing that is pushed twice spoils the list: it comes after itself, and is popped
    /// for ever.
    ///
    /// # Panics
    ///
    /// If there is no such number.
    #[inline]
    #[track_caller]
    pub fn push(&self, owner: &Owner, number: u32) -> Result<(), Busy> {
        let Some(next) = self.next.get(number as usize) else {
            panic!(
                "number is {number}; allowed is less than {}",
                self.next.len()
            );
        };
        loop {
            let mut list = self.heads.acquire(owner)?;
            let pushed = list.stage(
                |head| head,
                |head| {
                    next.store(head as u32, Ordering::Relaxed);
                    u64::from(number) + 1
                },
            );
            if pushed.is_ok() {
                return Ok(());
            }
        }
    }

    /// Takes a free thing; `None` when none was found free. A pop may miss a thing that
    /// another thread frees meanwhile. It may also miss things in a list that a running
    /// thread has, or is taking over.
    #[inline]
    pub fn pop(&self, owner: &Owner) -> Result<Option<u32>, Busy> {
        loop {
            let mut list = self.heads.acquire(owner)?;
            if list.load() == 0 {
                drop(list);
                return self.take_over(owner);
            }
            if let Some(number) = self.pop_from(&mut list) {
                return Ok(Some(number));
            }
        }
    }

    /// `None` when the list was revoked or is empty.
    #[inline]
    fn pop_from(&self, list: &mut Token<'_, Slot>) -> Option<u32> {
        let first = u32::try_from(list.load()).ok()?.checked_sub(1)?;
        // The list is this thread's as long as the store below succeeds: no other thread
        // popped the first meanwhile, or pushed it again.
        let next = self.next[first as usize].load(Ordering::Relaxed);
        list.store(|head| head, u64::from(next))
            .ok()
            .map(|()| first)
    }

    /// The whole list of another CPU becomes the thread's, but for its first, which is
    /// the result.
    #[cold]
    fn take_over(&self, owner: &Owner) -> Result<Option<u32>, Busy> {
        // Taken as a whole: no thread pops from it, so that no head comes twice.
        let homeless = self.homeless.swap(0, Ordering::Acquire);
        let mut found = (homeless != 0).then_some(homeless);
        let take = |mut list: Token<'_, Slot>| {
            let all = list.load() as u32;
            if all != 0 && list.store(|head| head, 0).is_ok() {
                found = Some(all);
                return ControlFlow::Break(());
            }
            ControlFlow::Continue(())
        };
        if homeless == 0 {
            // What runs keeps its list.
            self.heads.visit_until(owner, || Cancel::Try, take, |_| ());
        }
        let Some(first) = found.and_then(|all| all.checked_sub(1)) else {
            return Ok(None);
        };
        // No other thread has these now.
        let rest = self.next[first as usize].swap(0, Ordering::Relaxed);
        if rest != 0 {
            self.put(owner, rest);
        }
        Ok(Some(first))
    }

    /// Puts a whole list, which is the caller's, before the one of the thread's CPU.
    fn put(&self, owner: &Owner, first: u32) {
        let mut last = first;
        loop {
            let next = self.next[last as usize - 1].load(Ordering::Relaxed);
            if next == 0 {
                break;
            }
            last = next;
        }
        let end = &self.next[last as usize - 1];
        while let Ok(mut list) = self.heads.acquire(owner) {
            let put = list.stage(
                |head| head,
                |head| {
                    end.store(head as u32, Ordering::Relaxed);
                    u64::from(first)
                },
            );
            if put.is_ok() {
                return;
            }
        }
        let mut head = self.homeless.load(Ordering::Relaxed);
        loop {
            end.store(head, Ordering::Relaxed);
            match self
                .homeless
                .compare_exchange(head, first, Ordering::Release, Ordering::Relaxed)
            {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// How many things are free, as the lists are walked. Exact while no thread pushes or
    /// pops.
    pub fn len(&self) -> usize {
        let mut count = 0;
        let lists = self.heads.iter().map(|head| head.load() as u32);
        for mut at in lists.chain([self.homeless.load(Ordering::Acquire)]) {
            // Not for ever, if it changes under the walk.
            while at != 0 && count <= self.next.len() {
                count += 1;
                at = self.next[at as usize - 1].load(Ordering::Relaxed);
            }
        }
        count.min(self.next.len())
    }

    /// Whether none is free; see [`len`](Self::len).
    pub fn is_empty(&self) -> bool {
        self.homeless.load(Ordering::Relaxed) == 0 && self.heads.iter().all(|head| head.load() == 0)
    }
}

impl fmt::Debug for FreeList {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FreeList")
            .field("free", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Things for which there was no list come back, each once.
    #[test]
    fn what_has_no_list_comes_back() {
        let list = FreeList::new(4);
        let owner = Owner::register().unwrap();
        assert!(list.is_empty());
        // Number 2, and number 0 after it, as `put` leaves them.
        list.next[2].store(1, Ordering::Relaxed);
        list.homeless.store(3, Ordering::Relaxed);
        assert!(!list.is_empty());
        assert_eq!(list.len(), 2);
        assert_eq!(list.pop(&owner), Ok(Some(2)));
        assert_eq!(list.homeless.load(Ordering::Relaxed), 0);
        assert!(!list.is_empty());
        assert_eq!(list.pop(&owner), Ok(Some(0)));
        assert!(list.is_empty());
        assert_eq!(list.pop(&owner), Ok(None));
    }

    /// Who has no list to put things in, leaves them before those that have none already.
    #[test]
    fn who_is_in_a_section_leaves_things_without_a_list() {
        let list = FreeList::new(4);
        let owner = Owner::register().unwrap();
        list.homeless.store(4, Ordering::Relaxed);
        // Numbers 0 and 1 are one list.
        list.next[0].store(2, Ordering::Relaxed);
        // SAFETY: the thread is registered, so it has a record.
        let record = unsafe { &*crate::section::own() };
        record.shared.section.store(1, Ordering::Relaxed);
        list.put(&owner, 1);
        record.shared.section.store(0, Ordering::Relaxed);
        assert_eq!(list.homeless.load(Ordering::Relaxed), 1);
        let mut all = Vec::new();
        while let Some(number) = list.pop(&owner).unwrap() {
            all.push(number);
        }
        all.sort_unstable();
        assert_eq!(all, [0, 1, 3]);
    }

    /// A pop takes over another CPU's list, and what has no list before that.
    #[test]
    fn a_pop_takes_over_what_others_have() {
        let all = rustix::thread::sched_getaffinity(None).unwrap();
        let cpus: Vec<usize> = (0..rustix::thread::CpuSet::MAX_CPU)
            .filter(|&cpu| all.is_set(cpu))
            .collect();
        let bind = |cpu: usize| {
            let mut one = rustix::thread::CpuSet::new();
            one.set(cpu);
            rustix::thread::sched_setaffinity(None, &one).unwrap();
        };
        let list = FreeList::new(4);
        std::thread::scope(|scope| {
            let other = || {
                bind(cpus[0]);
                let owner = Owner::register().unwrap();
                list.push(&owner, 0).unwrap();
                list.push(&owner, 2).unwrap();
            };
            scope.spawn(other).join().unwrap();
            list.homeless.store(4, Ordering::Relaxed);
            let here = || {
                bind(cpus[cpus.len() - 1]);
                let owner = Owner::register().unwrap();
                let popped: Vec<_> = (0..4).map(|_| list.pop(&owner).unwrap()).collect();
                let first = if cpus.len() == 1 {
                    [2, 0, 3]
                } else {
                    [3, 2, 0]
                };
                assert_eq!(
                    popped,
                    [Some(first[0]), Some(first[1]), Some(first[2]), None]
                );
            };
            scope.spawn(here).join().unwrap();
        });
    }

    #[test]
    fn debug_says_how_many_are_free() {
        let list = FreeList::new(4);
        let owner = Owner::register().unwrap();
        for number in [3, 1] {
            list.push(&owner, number).unwrap();
        }
        assert_eq!(format!("{list:?}"), "FreeList { free: 2, .. }");
    }
}
