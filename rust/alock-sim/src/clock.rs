// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Virtual time: what is to happen, in its order.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::{poll_fn, Future};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use alock::local::once;
use alock::ptr::NodeId;

use crate::costs::Nanos;

/// What became of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// Every thread came to its end.
    Finished,
    /// So many threads wait, and nothing is left that could happen.
    Stuck(usize),
    /// The time was over while so many threads were still at work.
    TimeOver(usize),
}

type Thread = Pin<Box<dyn Future<Output = ()>>>;

enum Event {
    Wake(usize),
    Do(Box<dyn FnOnce()>),
}

struct Due {
    at: Nanos,
    /// What was planned first comes first.
    number: u64,
    event: Event,
}

impl PartialEq for Due {
    fn eq(&self, other: &Self) -> bool {
        self.number == other.number
    }
}

impl Eq for Due {}

impl PartialOrd for Due {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Due {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        (self.at, self.number).cmp(&(other.at, other.number))
    }
}

#[derive(Default)]
pub(crate) struct Clock {
    now: Cell<Nanos>,
    number: Cell<u64>,
    due: RefCell<BinaryHeap<Reverse<Due>>>,
    threads: RefCell<Vec<Of>>,
    running: Cell<usize>,
    /// The running one's, among its node's.
    running_of_node: Cell<u32>,
    /// The end of the run.
    limit: Cell<Nanos>,
}

/// A thread, until it ends or is killed.
struct Of {
    node: NodeId,
    /// Among its node's.
    number: u32,
    thread: Option<Thread>,
}

impl Clock {
    pub(crate) fn now(&self) -> Nanos {
        self.now.get()
    }

    fn plan(&self, at: Nanos, event: Event) {
        let number = self.number.get();
        self.number.set(number + 1);
        self.due
            .borrow_mut()
            .push(Reverse(Due { at, number, event }));
    }

    /// Has something done at that time.
    pub(crate) fn at(&self, at: Nanos, what: impl FnOnce() + 'static) {
        self.plan(at, Event::Do(Box::new(what)));
    }

    pub(crate) fn spawn(&self, node: NodeId, thread: impl Future<Output = ()> + 'static) {
        let mut threads = self.threads.borrow_mut();
        let number = threads.iter().filter(|it| it.node == node).count() as u32;
        let thread: Option<Thread> = Some(Box::pin(thread));
        threads.push(Of {
            node,
            number,
            thread,
        });
        self.plan(self.now(), Event::Wake(threads.len() - 1));
    }

    /// The thread that runs now.
    pub(crate) fn running(&self) -> usize {
        self.running.get()
    }

    /// Its node.
    pub(crate) fn node_of_running(&self) -> NodeId {
        self.threads.borrow()[self.running()].node
    }

    /// Its number among those of its node.
    pub(crate) fn running_of_node(&self) -> u32 {
        self.running_of_node.get()
    }

    /// Wakes that thread, which pauses, at this moment.
    pub(crate) fn wake(&self, thread: usize) {
        self.plan(self.now(), Event::Wake(thread));
    }

    /// The running thread goes on when it is woken.
    pub(crate) async fn pause(&self) {
        once().await;
    }

    /// The running thread goes on at that time.
    pub(crate) async fn until(&self, at: Nanos) {
        // What is due at the same time was planned before, and comes first.
        let alone = match self.due.borrow().peek() {
            Some(Reverse(next)) => at < next.at,
            None => true,
        };
        if alone && at <= self.limit.get() {
            self.now.set(at.max(self.now()));
            return;
        }
        self.plan(at.max(self.now()), Event::Wake(self.running.get()));
        poll_fn(|_| {
            if self.now() >= at {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    pub(crate) async fn sleep(&self, time: Nanos) {
        // Also no time at all lets others run.
        self.until(self.now() + time.max(1)).await;
    }

    pub(crate) fn kill(&self, node: NodeId) {
        for of in self.threads.borrow_mut().iter_mut() {
            if of.node == node {
                of.thread = None;
            }
        }
    }

    pub(crate) fn run(&self, limit: Nanos) -> End {
        let left = || {
            let threads = self.threads.borrow();
            threads.iter().filter(|it| it.thread.is_some()).count()
        };
        self.limit.set(limit);
        loop {
            let next = self.due.borrow_mut().pop();
            let Some(Reverse(due)) = next else {
                return match left() {
                    0 => End::Finished,
                    waiting => End::Stuck(waiting),
                };
            };
            if due.at > limit {
                return End::TimeOver(left());
            }
            self.now.set(due.at);
            match due.event {
                Event::Do(what) => what(),
                Event::Wake(number) => self.resume(number),
            }
        }
    }

    fn resume(&self, number: usize) {
        // Taken out meanwhile: it may start others.
        let mut thread = {
            let of = &mut self.threads.borrow_mut()[number];
            let Some(thread) = of.thread.take() else {
                return;
            };
            self.running_of_node.set(of.number);
            thread
        };
        self.running.set(number);
        let mut context = Context::from_waker(Waker::noop());
        if thread.as_mut().poll(&mut context).is_pending() {
            self.threads.borrow_mut()[number].thread = Some(thread);
        }
    }
}
