// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Time limits: no attempt ends before its time, and one that can succeed does.

use std::{
    sync::mpsc,
    thread,
    time::{Duration, Instant},
};

use handover_lock_api::{McsMutex, TwaMutex};
use lock_api::{Mutex, RawMutexTimed};

const SHORT: Duration = Duration::from_millis(20);
const LONG: Duration = Duration::from_secs(60);

fn limits<R: RawMutexTimed<Duration = Duration, Instant = Instant> + Sync>(mutex: &Mutex<R, u32>) {
    // Free: at once, even without time.
    assert!(mutex.try_lock_for(Duration::ZERO).is_some());
    assert!(mutex.try_lock_until(Instant::now()).is_some());
    let held = mutex.lock();
    for attempt in [
        |mutex: &Mutex<R, u32>| mutex.try_lock_for(SHORT).is_some(),
        |mutex: &Mutex<R, u32>| mutex.try_lock_until(Instant::now() + SHORT).is_some(),
    ] {
        let begin = Instant::now();
        assert!(!attempt(mutex));
        assert!(begin.elapsed() >= SHORT, "{:?}", begin.elapsed());
    }
    // Released meanwhile: long before the limit, and before a limit that no clock reaches.
    thread::scope(|scope| {
        let (tell, told) = mpsc::channel();
        for time in [LONG, Duration::MAX] {
            let tell = tell.clone();
            scope.spawn(move || tell.send(mutex.try_lock_for(time).map(|mut count| *count += 1)));
        }
        thread::sleep(SHORT);
        drop(held);
        for _ in 0..2 {
            assert_eq!(told.recv_timeout(LONG / 2), Ok(Some(())));
        }
    });
    assert_eq!(*mutex.lock(), 2);
}

#[test]
fn attempts_end_by_their_limits_and_by_a_release() {
    static TWA: TwaMutex<u32> = TwaMutex::new(0);
    static MCS: McsMutex<u32> = McsMutex::new(0);
    limits(&TWA);
    limits(&MCS);
}
