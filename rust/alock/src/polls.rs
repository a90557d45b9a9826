// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! How often a thread polls for what it waits for before other threads are to run.
//!
//! A call is made of several verbs, and each waits for its completion. The number is one
//! verb's. A call's later verbs are as short as its first, and a system call delays them as much.

use core::cell::Cell;
use core::future::{poll_fn, Future};
use core::pin::Pin;
use core::task::{Context, Poll, Waker};

/// The polls of one thread.
#[derive(Debug, Default)]
pub(crate) struct Polls {
    /// The polls of a call, and anew of each of its verbs; none outside of a blocking call.
    each: Cell<u32>,
    /// The rest of these, for what the call waits for until its next verb.
    left: Cell<u32>,
    /// Whether what was polled last waits for a completion.
    posted: Cell<bool>,
}

impl Polls {
    /// Polls a call until it is ready. Each verb is polled as often as `each` without a pause.
    /// Then `pause` comes between two polls.
    pub(crate) fn finish<T>(
        &self,
        each: u32,
        mut future: Pin<&mut impl Future<Output = T>>,
        mut pause: impl FnMut(),
    ) -> T {
        self.allow(each);
        loop {
            if let Poll::Ready(value) = self.poll(future.as_mut()) {
                self.allow(0);
                return value;
            }
            self.between(&mut pause);
        }
    }

    /// Polls as [`Polls::finish`] does, but only while the call waits for its own verbs.
    pub(crate) fn begin<T>(
        &self,
        each: u32,
        mut future: Pin<&mut impl Future<Output = T>>,
        mut pause: impl FnMut(),
    ) -> Poll<T> {
        self.allow(each);
        loop {
            let polled = self.poll(future.as_mut());
            if polled.is_ready() || !self.posted.get() {
                // A check polls once.
                self.allow(0);
                return polled;
            }
            self.between(&mut pause);
        }
    }

    fn allow(&self, each: u32) {
        self.each.set(each);
        self.left.set(each);
    }

    fn poll<T>(&self, future: Pin<&mut impl Future<Output = T>>) -> Poll<T> {
        self.posted.set(false);
        future.poll(&mut Context::from_waker(Waker::noop()))
    }

    fn between(&self, pause: &mut impl FnMut()) {
        if !self.again() {
            pause();
        }
    }

    fn again(&self) -> bool {
        let left = self.left.get().checked_sub(1);
        self.left.set(left.unwrap_or(0));
        left.is_some()
    }

    /// A verb: polls for its completion. The polls are made here, and the whole call is not
    /// polled again and again. The way down here takes longer than a poll.
    pub(crate) async fn completes<T>(&self, mut poll: impl FnMut() -> Poll<T>) -> T {
        self.left.set(self.each.get());
        poll_fn(|_| loop {
            let polled = poll();
            if polled.is_ready() || !self.again() {
                self.posted.set(polled.is_pending());
                return polled;
            }
        })
        .await
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::pin::pin;

    const EACH: u32 = 8;

    /// A call of verbs that complete at the poll number `at` (from 1). How often it paused, and
    /// how often it polled.
    fn call(each: u32, verbs: &[u32]) -> (u32, u32) {
        let (polls, polled, mut paused) = (Polls::default(), Cell::new(0), 0);
        let call = async {
            for &at in verbs {
                let from = polled.get();
                polls
                    .completes(|| {
                        polled.set(polled.get() + 1);
                        if polled.get() - from == at {
                            Poll::Ready(())
                        } else {
                            Poll::Pending
                        }
                    })
                    .await;
            }
        };
        polls.finish(each, pin!(call), || paused += 1);
        (paused, polled.get())
    }

    /// Each verb has the whole number: none pauses while it is within.
    #[test]
    fn each_verb_is_polled_as_often() {
        for verbs in 1..6 {
            let within = vec![EACH + 1; verbs];
            let polled = (EACH + 1) * verbs as u32;
            assert_eq!(call(EACH, &within), (0, polled), "{verbs} verbs");
        }
    }

    /// Beyond it a pause comes after each poll, and of that verb alone.
    #[test]
    fn who_polls_longer_pauses() {
        assert_eq!(call(EACH, &[EACH + 4]), (3, EACH + 4));
        assert_eq!(call(EACH, &[EACH + 4, EACH, EACH + 4]).0, 6);
        assert_eq!(call(0, &[1, 3, 1]), (2, 5));
    }

    /// Outside of a blocking call a verb is polled once a check.
    #[test]
    fn a_check_polls_once() {
        let (polls, polled) = (Polls::default(), Cell::new(0));
        polls.finish(EACH, pin!(polls.completes(|| Poll::Ready(()))), || ());
        let mut verb = pin!(polls.completes(|| {
            polled.set(polled.get() + 1);
            Poll::<()>::Pending
        }));
        for checks in 1..4 {
            assert!(polls.poll(verb.as_mut()).is_pending());
            assert_eq!(polled.get(), checks);
        }
    }

    /// A call that begins waits for its own verbs, and for nothing else.
    #[test]
    fn what_begins_waits_for_its_own_verbs() {
        let (polls, polled, mut paused) = (Polls::default(), Cell::new(0), 0);
        let verb = || {
            polls.completes(|| {
                polled.set(polled.get() + 1);
                if polled.get() % (EACH + 3) == 0 {
                    Poll::Ready(())
                } else {
                    Poll::Pending
                }
            })
        };
        let mut call = pin!(async {
            verb().await;
            verb().await;
            core::future::pending::<()>().await;
        });
        let begun = polls.begin(EACH, call.as_mut(), || paused += 1);
        assert!(begun.is_pending());
        assert_eq!((polled.get(), paused), (2 * (EACH + 3), 4));
    }
}
