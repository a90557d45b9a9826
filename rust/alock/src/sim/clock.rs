//! Virtual time: what is to happen, in its order.

use std::cell::{Cell, RefCell};
use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::future::{poll_fn, Future};
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use super::{End, Nanos};
use crate::ptr::NodeId;

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
pub(super) struct Clock {
    now: Cell<Nanos>,
    number: Cell<u64>,
    due: RefCell<BinaryHeap<Reverse<Due>>>,
    threads: RefCell<Vec<(NodeId, Option<Thread>)>>,
    running: Cell<usize>,
}

impl Clock {
    pub(super) fn now(&self) -> Nanos {
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
    pub(super) fn at(&self, at: Nanos, what: impl FnOnce() + 'static) {
        self.plan(at, Event::Do(Box::new(what)));
    }

    pub(super) fn spawn(&self, node: NodeId, thread: impl Future<Output = ()> + 'static) {
        let mut threads = self.threads.borrow_mut();
        threads.push((node, Some(Box::pin(thread))));
        self.plan(self.now(), Event::Wake(threads.len() - 1));
    }

    /// The running thread goes on at that time.
    pub(super) async fn until(&self, at: Nanos) {
        self.plan(at, Event::Wake(self.running.get()));
        poll_fn(|_| {
            if self.now() >= at {
                Poll::Ready(())
            } else {
                Poll::Pending
            }
        })
        .await;
    }

    pub(super) async fn sleep(&self, time: Nanos) {
        // Also no time at all lets others run.
        self.until(self.now() + time.max(1)).await;
    }

    pub(super) fn kill(&self, node: NodeId) {
        for (of, thread) in self.threads.borrow_mut().iter_mut() {
            if *of == node {
                *thread = None;
            }
        }
    }

    pub(super) fn run(&self, limit: Nanos) -> End {
        let left = || {
            let threads = self.threads.borrow();
            threads
                .iter()
                .filter(|(_, thread)| thread.is_some())
                .count()
        };
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
        let Some(mut thread) = self.threads.borrow_mut()[number].1.take() else {
            return;
        };
        self.running.set(number);
        let mut context = Context::from_waker(Waker::noop());
        if thread.as_mut().poll(&mut context).is_pending() {
            self.threads.borrow_mut()[number].1 = Some(thread);
        }
    }
}
