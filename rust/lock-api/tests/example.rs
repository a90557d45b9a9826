// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The example of docs/user.md: one thread waits for what another has to give.

use std::thread;

use handover_lock_api::{Condvar, Twa, TwaMutex};
use handover_user::Park;

static QUEUE: TwaMutex<Vec<u32>> = TwaMutex::new(Vec::new());
static FILLED: Condvar<Twa<Park>> = Condvar::new();

#[test]
fn one_takes_what_another_gives() {
    let taker = thread::spawn(|| {
        let mut queue = QUEUE.lock();
        while queue.is_empty() {
            FILLED.wait(&mut queue);
        }
        queue.pop()
    });
    QUEUE.lock().push(7);
    FILLED.notify_one();
    assert_eq!(taker.join().expect("it ends"), Some(7));
}
