// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Pseudo-per-CPU data: for each CPU a list of instances, nearly always one.
//!
//! Khuong's rule: *when a cancel fails, callers iterate down the list of pseudo-per-CPU structs
//! associated with the CPU*. They *eventually append a new struct to that list.*

use core::fmt;
use core::mem::align_of;
use core::ops::ControlFlow;
use core::ptr;
use core::sync::atomic::{AtomicBool, AtomicPtr, AtomicU32, AtomicUsize, Ordering};

use rustix::mm::{mmap_anonymous, munmap, MapFlags, ProtFlags};

use crate::cancel::Cancel;
use crate::lock::Lock;
use crate::owner::Owner;
use crate::protocol::Busy;
use crate::section;
use crate::token::Token;
use crate::word::Ownership;

const PAGE: usize = 4096;
/// How many lists there are. A CPU with a higher number shares one.
const LISTS: usize = 512;

/// The CPU that the thread runs on, or ran on a moment ago. The C library reads it from its own
/// rseq area where it has one, as glibc since 2.35. That is a load, and no registration of ours.
#[inline]
fn this_cpu() -> usize {
    // SAFETY: no requirements.
    usize::try_from(unsafe { libc::sched_getcpu() }).unwrap_or(0)
}

/// An instance, in pages of its own.
struct Node<T> {
    lock: Lock<T>,
    /// Whether it is in no CPU's list, and any thread's to take.
    is_spare: AtomicBool,
    /// The next in its CPU's list.
    next: AtomicPtr<Node<T>>,
    /// The next of all, never changed once the node is seen.
    older: *mut Node<T>,
}

/// How an instance's data is made.
enum Make<T> {
    By(fn() -> T),
    /// Zeroes, which are a `T`, and of which a fresh page is. Nothing of it is on the stack.
    Zeroes,
}

/// Data of which each CPU has an instance, or a few. A thread acquires an instance of its CPU.
/// Any thread may read or drain all of them, without running on those CPUs.
///
/// An instance belongs to the thread that acquired it last, until it is cancelled. That holds
/// also when the thread has gone to another CPU. It is exclusive, not strictly local.
///
/// A CPU's list has at most as many instances as registered threads used or visited it at one
/// time. A new instance is made only when another thread that cannot be cancelled owns each. A
/// thread that has an instance in a list uses it, and a visitor has one at a time. There may be a
/// few more while [`shrink`](Self::shrink) is at work. There may be one more when a visitor moves
/// on just as a thread looks for an instance.
///
/// Each instance takes whole pages, from the kernel and not from the allocator: allocators are
/// among the users.
///
/// # Examples
///
/// ```
/// use rlock::{Owner, PerCpu, Slot};
///
/// static BYTES: PerCpu<Slot> = PerCpu::new(|| Slot::new(0));
///
/// let owner = Owner::register()?;
/// // Refused where another thread took the instance over: it is acquired again.
/// while BYTES.acquire(&owner)?.add(|bytes| bytes, 512).is_err() {}
/// assert_eq!(BYTES.iter().map(Slot::load).sum::<u64>(), 512);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct PerCpu<T> {
    make: Make<T>,
    lists: [AtomicPtr<Node<T>>; LISTS],
    newest: AtomicPtr<Node<T>>,
    instances: AtomicUsize,
    /// The process of which a thread shrinks; 0: none does. In a fork's child the parent's other
    /// threads have none.
    shrinking: AtomicU32,
}

// SAFETY: instances are reached from all threads (`T: Sync`), and dropped in whichever
// drops this (`T: Send`).
unsafe impl<T: Send + Sync> Sync for PerCpu<T> {}
// SAFETY: as above.
unsafe impl<T: Send + Sync> Send for PerCpu<T> {}

impl<T: Send + Sync> PerCpu<T> {
    /// A value without instances; `make` makes them when they are wanted. 4 KiB.
    pub const fn new(make: fn() -> T) -> Self {
        Self::made(Make::By(make))
    }

    /// A value without instances; they are zeroes when wanted. A thread that makes one needs no
    /// stack for it. A signal handler's stack may be 8 KiB.
    ///
    /// # Safety
    ///
    /// Zeroes must be a `T`.
    pub(crate) const unsafe fn of_zeroes() -> Self {
        Self::made(Make::Zeroes)
    }

    const fn made(make: Make<T>) -> Self {
        const { assert!(align_of::<Node<T>>() <= PAGE) };
        Self {
            make,
            lists: [const { AtomicPtr::new(ptr::null_mut()) }; LISTS],
            newest: AtomicPtr::new(ptr::null_mut()),
            instances: AtomicUsize::new(0),
            shrinking: AtomicU32::new(0),
        }
    }

    fn list(&self, cpu: usize) -> &AtomicPtr<Node<T>> {
        &self.lists[cpu % LISTS]
    }

    /// The instances of a list.
    fn of_list(&self, cpu: usize) -> impl Iterator<Item = &Node<T>> {
        let mut at = self.list(cpu).load(Ordering::Acquire);
        core::iter::from_fn(move || {
            // SAFETY: a node stays as long as `self` is borrowed.
            let node = unsafe { at.as_ref() }?;
            at = node.next.load(Ordering::Acquire);
            Some(node)
        })
    }

    /// All instances, in lists or spare, the newest first.
    fn all(&self) -> impl Iterator<Item = &Node<T>> {
        let mut at = self.newest.load(Ordering::Acquire);
        core::iter::from_fn(move || {
            // SAFETY: a node stays as long as `self` is borrowed.
            let node = unsafe { at.as_ref() }?;
            at = node.older;
            Some(node)
        })
    }

    /// Acquires an instance of the CPU that the thread runs on. In this order: the thread's own
    /// there, the first whose owner a try cancels, a new one.
    ///
    /// A `sched_getcpu`, and some loads when the thread has an instance. The former takes two
    /// nanoseconds with glibc's rseq. [`Busy::Nested`], [`Busy::OtherProcess`] and
    /// [`Busy::NoRecord`] as for a lock, [`Busy::NoMemory`] when there is none for a new
    /// instance; otherwise it succeeds.
    #[inline]
    pub fn acquire<'t>(&'t self, owner: &'t Owner) -> Result<Token<'t, T>, Busy> {
        self.acquire_with_lock(owner).map(|(_, token)| token)
    }

    /// Acquires with the instance's lock, which stays as long as this does.
    #[inline]
    pub(crate) fn acquire_with_lock<'s: 't, 't>(
        &'s self,
        owner: &'t Owner,
    ) -> Result<(&'s Lock<T>, Token<'t, T>), Busy> {
        let cpu = this_cpu();
        let mine = |node: &'s Node<T>| Some((&node.lock, owner.acquire_if_mine(&node.lock)?));
        match self.of_list(cpu).find_map(mine) {
            Some(found) => Ok(found),
            None => self.acquire_slowly(owner, cpu),
        }
    }

    /// A token of the lock that was the calling thread's `number`th hint. None if the thread is
    /// not registered, or does not own that lock. The lock is in an instance of this static.
    #[inline(always)]
    pub(crate) fn hinted<'t>(&'static self, number: usize) -> Option<Token<'t, T>> {
        // SAFETY: null or a record's; and a hint is null or a lock in this static,
        // which stays.
        unsafe {
            let record = section::own().as_ref()?;
            let lock = record.hints[number].load(Ordering::Relaxed);
            Token::if_mine(record, lock.cast::<Lock<T>>().as_ref()?)
        }
    }

    /// Remembers a lock, of an instance of this static, as the thread's `number`th hint.
    pub(crate) fn set_hint(&'static self, owner: &Owner, number: usize, lock: &'static Lock<T>) {
        let lock = ptr::from_ref(lock).cast_mut().cast();
        owner.record().hints[number].store(lock, Ordering::Relaxed);
    }

    #[cold]
    fn acquire_slowly<'s: 't, 't>(
        &'s self,
        owner: &'t Owner,
        cpu: usize,
    ) -> Result<(&'s Lock<T>, Token<'t, T>), Busy> {
        for node in self.of_list(cpu) {
            match owner.acquire(&node.lock) {
                Err(Busy::Running | Busy::InSection | Busy::NoSignal) => {}
                result => return result.map(|token| (&node.lock, token)),
            }
        }
        if let Some(node) = self.take_spare() {
            // It may still have an owner, which can be cancelled or not.
            let token = owner.acquire(&node.lock);
            self.link(node, cpu);
            match token {
                Err(Busy::Running | Busy::InSection | Busy::NoSignal) => {}
                result => return result.map(|token| (&node.lock, token)),
            }
        }
        match self.make {
            Make::By(make) => self.acquire_made(owner, cpu, make),
            Make::Zeroes => self.acquire_new(owner, cpu, |lock, mine| {
                // SAFETY: a fresh page's, and zeroes are a `T`.
                unsafe { Lock::own_zeroes(lock, mine) };
            }),
        }
    }

    /// Acquires a new instance with what `make` makes. Only here is that on the stack.
    #[inline(never)]
    fn acquire_made<'s: 't, 't>(
        &'s self,
        owner: &'t Owner,
        cpu: usize,
        make: fn() -> T,
    ) -> Result<(&'s Lock<T>, Token<'t, T>), Busy> {
        let data = make();
        self.acquire_new(owner, cpu, |lock, mine| {
            // SAFETY: a fresh page's.
            unsafe { lock.write(Lock::owned(mine, data)) };
        })
    }

    /// Acquires a new instance. `write` makes its lock, in a fresh page.
    fn acquire_new<'s: 't, 't>(
        &'s self,
        owner: &'t Owner,
        cpu: usize,
        write: impl FnOnce(*mut Lock<T>, Ownership),
    ) -> Result<(&'s Lock<T>, Token<'t, T>), Busy> {
        // Owned before another thread sees it: no other thread can have made it its own.
        let mut fresh = None;
        let (lock, token) = owner.born(|mine| {
            let node = self.append(|lock| write(lock, mine))?;
            fresh = Some(node);
            Ok(&node.lock)
        })?;
        if let Some(node) = fresh {
            self.link(node, cpu);
        }
        Ok((lock, token))
    }

    fn take_spare(&self) -> Option<&Node<T>> {
        self.all().find(|node| {
            node.is_spare.load(Ordering::Relaxed) && node.is_spare.swap(false, Ordering::AcqRel)
        })
    }

    /// A new instance, in no CPU's list. `write` makes its lock, of zeroes.
    fn append(&self, write: impl FnOnce(*mut Lock<T>)) -> Result<&Node<T>, Busy> {
        let bytes = size_of::<Node<T>>().next_multiple_of(PAGE);
        // SAFETY: a fresh mapping.
        let page = unsafe {
            mmap_anonymous(
                ptr::null_mut(),
                bytes,
                ProtFlags::READ | ProtFlags::WRITE,
                MapFlags::PRIVATE,
            )
        };
        let node = page.map_err(|_| Busy::NoMemory)?.cast::<Node<T>>();
        let mut newest = self.newest.load(Ordering::Relaxed);
        // SAFETY: the mapping is large and aligned enough, and no other thread's. Zeroes are the
        // other fields: without a next one, and not a spare one for any thread to take.
        unsafe {
            write(&raw mut (*node).lock);
            (*node).older = newest;
        }
        while let Err(now) =
            self.newest
                .compare_exchange(newest, node, Ordering::Release, Ordering::Relaxed)
        {
            newest = now;
            // SAFETY: the node is still no other thread's.
            unsafe { (*node).older = newest };
        }
        self.instances.fetch_add(1, Ordering::Relaxed);
        // SAFETY: it stays as long as `self` is borrowed.
        Ok(unsafe { &*node })
    }

    /// Puts a node that is in no list at the head of the CPU's.
    fn link(&self, node: &Node<T>, cpu: usize) {
        let list = self.list(cpu);
        // Acquire and release: a thread that still walks from this node, which was in a list
        // before, comes to the new next one by this store alone.
        let mut head = list.load(Ordering::Acquire);
        loop {
            node.next.store(head, Ordering::Release);
            let new = ptr::from_ref(node).cast_mut();
            match list.compare_exchange(head, new, Ordering::Release, Ordering::Acquire) {
                Ok(_) => return,
                Err(now) => head = now,
            }
        }
    }

    /// Every instance, to read: each is what it is at that moment, all together are no
    /// snapshot. Sees what was committed before the call.
    pub fn iter(&self) -> impl Iterator<Item = &T> {
        self.all().map(|node| &*node.lock)
    }

    /// Acquires every instance, one after the other, and calls `visit` with its token. `mode` is
    /// called for each and says how hard to try. So each can have a deadline of its own. The
    /// token may be revoked meanwhile, as any other. A draining caller counts what was committed,
    /// and comes again for the rest. `Err` if one or more could not be acquired: with the last
    /// one's reason, and after all others were visited.
    ///
    /// Ends every ownership of the calling thread after each instance. The thread so never has
    /// more than one of those that it visits.
    pub fn visit<'t>(
        &'t self,
        owner: &'t Owner,
        mode: impl Fn() -> Cancel,
        mut visit: impl FnMut(Token<'t, T>),
    ) -> Result<(), Busy> {
        let mut result = Ok(());
        let all = |token| {
            visit(token);
            ControlFlow::Continue(())
        };
        self.visit_until(owner, mode, all, |why| result = Err(why));
        result
    }

    /// [`visit`](Self::visit), until `visit` breaks it off.
    pub(crate) fn visit_until<'t>(
        &'t self,
        owner: &'t Owner,
        mode: impl Fn() -> Cancel,
        mut visit: impl FnMut(Token<'t, T>) -> ControlFlow<()>,
        mut failed: impl FnMut(Busy),
    ) {
        for node in self.all() {
            match owner.acquire_by(&node.lock, mode()) {
                Ok(token) => {
                    let on = visit(token);
                    owner.release_all();
                    if on.is_break() {
                        return;
                    }
                }
                Err(why) => failed(why),
            }
        }
    }

    /// Takes the surplus instances out of the CPUs' lists: all but the newest of each.
    /// `retire` empties them, through the token; what it leaves, or was refused, is seen by
    /// [`iter`](Self::iter). Those that cannot be acquired as hard as `mode` says stay.
    /// Returns how many were taken out.
    ///
    /// Ends every ownership of the calling thread. Instances that are taken out are used again
    /// before new ones are made. The memory is given back when the whole is dropped.
    pub fn shrink<'t>(
        &'t self,
        owner: &'t Owner,
        mode: impl Fn() -> Cancel,
        mut retire: impl FnMut(Token<'t, T>),
    ) -> usize {
        let pid = std::process::id();
        if self.shrinking.swap(pid, Ordering::Acquire) == pid {
            // Another thread is at it.
            return 0;
        }
        // Also if `retire` panics.
        let _over = Over(&self.shrinking);
        let mut taken = 0;
        for cpu in 0..LISTS {
            // SAFETY: null or a node, which stays.
            let Some(mut before) = (unsafe { self.list(cpu).load(Ordering::Acquire).as_ref() })
            else {
                continue;
            };
            // New ones come at the head alone, and this thread alone takes out.
            // SAFETY: as above.
            while let Some(node) = unsafe { before.next.load(Ordering::Acquire).as_ref() } {
                if let Ok(token) = owner.acquire_by(&node.lock, mode()) {
                    retire(token);
                    let next = node.next.load(Ordering::Acquire);
                    before.next.store(next, Ordering::Release);
                    // Without an owner, before it is any thread's to take.
                    owner.release_all();
                    // A thread that walks here goes on from it, in this list or the next it gets.
                    node.is_spare.store(true, Ordering::Release);
                    taken += 1;
                } else {
                    before = node;
                }
            }
        }
        taken
    }

    /// How many instances there are, spare ones included.
    pub fn instances(&self) -> usize {
        self.instances.load(Ordering::Relaxed)
    }

    /// How many instances the list of CPU `cpu` has.
    pub fn instances_of(&self, cpu: usize) -> usize {
        self.of_list(cpu).count()
    }

    /// How many bytes the instances take.
    pub fn bytes(&self) -> usize {
        self.instances() * size_of::<Node<T>>().next_multiple_of(PAGE)
    }
}

struct Over<'a>(&'a AtomicU32);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.store(0, Ordering::Release);
    }
}

impl<T> Drop for PerCpu<T> {
    fn drop(&mut self) {
        let mut at = *self.newest.get_mut();
        while !at.is_null() {
            // SAFETY: a node of this list, which no other thread has now.
            unsafe {
                let older = (*at).older;
                ptr::drop_in_place(at);
                let unmapped = munmap(at.cast(), size_of::<Node<T>>().next_multiple_of(PAGE));
                debug_assert!(unmapped.is_ok());
                at = older;
            }
        }
    }
}

impl<T: Send + Sync> fmt::Debug for PerCpu<T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PerCpu")
            .field("instances", &self.instances())
            .finish_non_exhaustive()
    }
}
