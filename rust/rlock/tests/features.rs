// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What the features `stats` and `tracing` say of cancellations.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{mpsc, Arc, Mutex};
use std::time::Duration;

use rlock::kernel::{Kernel, Linux};
use rlock::{Busy, Cancel, Config, Lock, Owner, Slot};
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing::{Event, Metadata, Subscriber};

/// Calls `body` while a thread that committed `commits` times owns `lock` and sleeps. It
/// sleeps in a section or not, as far as its flag says.
fn with_a_sleeper(lock: &Lock<Slot>, commits: u64, in_section: bool, body: impl FnOnce()) {
    let (tell, told) = mpsc::channel();
    let (end, ended) = mpsc::channel::<()>();
    std::thread::scope(|scope| {
        // Dropped also if `body` panics.
        let end = end;
        scope.spawn(move || {
            let owner = Owner::register().unwrap();
            let mut token = owner.acquire(lock).unwrap();
            for _ in 0..commits {
                token.add(|slot| slot, 1).unwrap();
            }
            let flag = &rlock::testing::own().section;
            if in_section {
                flag.store(rlock::testing::word(lock), Ordering::SeqCst);
            }
            tell.send(rustix::thread::gettid().as_raw_nonzero())
                .unwrap();
            let _ = ended.recv();
            flag.store(0, Ordering::SeqCst);
        });
        // Until it is asleep.
        let stat = format!("/proc/self/task/{}/stat", told.recv().unwrap());
        while !std::fs::read_to_string(&stat).unwrap().contains(") S ") {
            std::thread::yield_now();
        }
        body();
        drop(end);
    });
}

fn soon() -> Cancel {
    Cancel::within(Duration::from_secs(10))
}

/// Once it is `on`, signals stay on their way: the victim, whose section is none, is not
/// woken.
#[derive(Debug)]
struct Silent {
    on: AtomicBool,
}

impl Kernel for Silent {
    fn tgkill(&self, pid: u32, tid: u32, signal: i32) -> std::io::Result<()> {
        if self.on.load(Ordering::SeqCst) {
            return Ok(());
        }
        Linux.tgkill(pid, tid, signal)
    }
}

/// Both at once: the counts are the process's.
#[test]
fn stats_count() {
    static KERNEL: Silent = Silent {
        on: AtomicBool::new(false),
    };
    rlock::init(Config {
        kernel: &KERNEL,
        ..Config::default()
    })
    .unwrap();
    KERNEL.on.store(true, Ordering::SeqCst);
    let lock = Lock::new(Slot::new(0));
    let before = rlock::stats();
    with_a_sleeper(&lock, 10, false, || lock.cancel(soon()).unwrap());
    let seen = rlock::stats() - before;
    assert_eq!((seen.evictions, seen.hard_evictions), (1, 0), "{seen:?}");
    assert_eq!(seen.sections, 10, "{seen:?}");
    assert!(seen.section_cycles > 0, "{seen:?}");

    let before = rlock::stats();
    with_a_sleeper(&lock, 0, true, || lock.cancel(soon()).unwrap());
    let seen = rlock::stats() - before;
    assert_eq!((seen.evictions, seen.hard_evictions), (1, 1), "{seen:?}");

    // A thread that stands in a section does not answer a strict cancel.
    let before = rlock::stats();
    with_a_sleeper(&lock, 0, true, || {
        let found = lock.cancel(Cancel::strictly_within(Duration::from_millis(1)));
        assert_eq!(found, Err(Busy::InSection));
    });
    let seen = rlock::stats() - before;
    assert_eq!((seen.evictions, seen.failures), (0, 1), "{seen:?}");
    traced(&lock);
}

/// Keeps what events say.
#[derive(Clone, Default)]
struct Keep {
    said: Arc<Mutex<Vec<String>>>,
    spans: Arc<AtomicU64>,
}

impl Visit for Keep {
    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.said.lock().unwrap().push(format!("{field}={value:?}"));
    }
}

impl Subscriber for Keep {
    fn enabled(&self, metadata: &Metadata<'_>) -> bool {
        metadata.target() == "rlock"
    }
    fn new_span(&self, _: &Attributes<'_>) -> Id {
        Id::from_u64(1 + self.spans.fetch_add(1, Ordering::Relaxed))
    }
    fn record(&self, _: &Id, _: &Record<'_>) {}
    fn record_follows_from(&self, _: &Id, _: &Id) {}
    fn event(&self, event: &Event<'_>) {
        event.record(&mut self.clone());
    }
    fn enter(&self, _: &Id) {}
    fn exit(&self, _: &Id) {}
}

fn traced(lock: &Lock<Slot>) {
    let keep = Keep::default();
    with_a_sleeper(lock, 1, false, || {
        tracing::subscriber::with_default(keep.clone(), || lock.cancel(soon()).unwrap());
    });
    let said = keep.said.lock().unwrap().join(" ");
    for word in [
        "message=cancel",
        "victim=",
        "mode=Until",
        "result=Ok(Outside)",
    ] {
        assert!(said.contains(word), "{said}");
    }
}
