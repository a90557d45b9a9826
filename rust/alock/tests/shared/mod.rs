// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What the model checkers' tests have in common.

use std::future::Future;
use std::pin::pin;
use std::task::{Context, Poll, Waker};

/// Polls until it is ready. A future that is not has let the checker run others.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> T {
    let mut future = pin!(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        if let Poll::Ready(value) = future.as_mut().poll(&mut context) {
            return value;
        }
    }
}
