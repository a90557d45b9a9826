// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The paper's Table 1: of one word, which accesses by CPU and by verbs are atomic with each
//! other. (Reads by both, and what only reads beside a failed compare-and-swap, show nothing.)
//!
//! |  | remote read | remote write | remote compare-and-swap |
//! |---|---|---|---|
//! | CPU's load | | `a_remote_write_comes_whole` | `a_remote_swap_comes_whole` |
//! | CPU's store | `a_remote_read_may_be_torn...` | `..._beside_stores` | **lost**: `a_store_is_lost...` |
//! | CPU's swap | the same | `a_remote_write_is_not_lost...` | **lost**: `mixed_swaps_lose...` |
//!
//! Some of these read by CPU what a complete verb has written. Soft-RoCE has it in the memory then.
//! Verbs promise that to the same queue pair's later reads and compare-and-swaps alone.

use std::hint::black_box;
use std::sync::atomic::Ordering::{AcqRel, Acquire, Relaxed, Release};
use std::sync::atomic::{AtomicBool, AtomicU64};
use std::thread;

use nic::{Endpoint, Memory, Nic, QueuePair, Region, RemoteWord, WorkRequest, Writes};

use crate::{options, pair, seen};

/// Two values that differ in every byte.
const A: u64 = 0x1111_1111_1111_1111;
const B: u64 = 0x2222_2222_2222_2222;

/// A word that this process has by CPU and, over the loopback, by verbs.
struct Both {
    queue: QueuePair,
    region: Region,
    nic: Nic,
    _other_end: QueuePair,
}

impl Both {
    fn new() -> Both {
        let nic = Nic::open(&options(0)).unwrap();
        let region = nic.register(Memory::new(4096).unwrap()).unwrap();
        let (queue, _other_end) = pair(&nic);
        Both {
            queue,
            region,
            nic,
            _other_end,
        }
    }

    fn parts(&mut self) -> (&mut QueuePair, RemoteWord, &AtomicU64) {
        let word = self.region.memory().word(0);
        (&mut self.queue, self.region.remote(0), word)
    }
}

/// Swaps by verbs: returns what was there.
fn remote_cas(queue: &mut QueuePair, at: RemoteWord, old: u64, new: u64) -> u64 {
    queue.post_cas(0, at, old, new).unwrap();
    queue.wait().unwrap().value()
}

/// Operations out at once.
const BATCH: usize = 16;

/// A batch of the same; how many succeeded.
fn remote_swaps(queue: &mut QueuePair, at: RemoteWord, old: u64, new: u64) -> u64 {
    for id in 0..BATCH {
        queue.post_cas(id as u64, at, old, new).unwrap();
    }
    let swapped = (0..BATCH).filter(|_| queue.wait().unwrap().value() == old);
    swapped.count() as u64
}

fn remote_write(queue: &mut QueuePair, at: RemoteWord, value: u64) {
    queue.post_write(0, at, value).unwrap();
    queue.wait().unwrap();
}

fn remote_read(queue: &mut QueuePair, at: RemoteWord) -> u64 {
    queue.post_read(0, at, 1).unwrap();
    queue.wait().unwrap().value()
}

/// Adds as a lock's code would: until the compare-and-swap succeeds.
fn add_by_cpu(word: &AtomicU64, value: u64) {
    let mut seen = word.load(Relaxed);
    while let Err(found) = word.compare_exchange(seen, seen.wrapping_add(value), AcqRel, Relaxed) {
        seen = found;
    }
}

/// The same by verbs, beginning with a guess of what is there; what is there then.
fn add_by_verbs(queue: &mut QueuePair, at: RemoteWord, guess: u64) -> u64 {
    let mut seen = guess;
    loop {
        match remote_cas(queue, at, seen, seen + 1) {
            found if found == seen => return seen + 1,
            found => seen = found,
        }
    }
}

/// Runs `local` over and over while `remote` runs, which begins when `local` ran once. Returns how
/// often, and what it came to.
fn beside<T>(mut local: impl FnMut() + Send, remote: impl FnOnce() -> T) -> (u64, T) {
    struct Over<'o>(&'o AtomicBool);
    impl Drop for Over<'_> {
        fn drop(&mut self) {
            self.0.store(true, Release);
        }
    }
    let (began, over) = (AtomicBool::new(false), AtomicBool::new(false));
    thread::scope(|scope| {
        let worker = scope.spawn(|| {
            let mut times = 0;
            while !over.load(Acquire) {
                local();
                times += 1;
                began.store(true, Release);
            }
            times
        });
        // Also when `remote` panics.
        let ends = Over(&over);
        while !began.load(Acquire) && !worker.is_finished() {
            thread::yield_now();
        }
        let came_to = remote();
        drop(ends);
        (worker.join().unwrap(), came_to)
    })
}

const OPERATIONS: u64 = 500;

/// More than the CPU adds.
const REMOTE: u64 = 1000;

/// A value stays for so many loads: longer than the device needs from its load to its store.
const LOOKS: u32 = 10;

fn look(word: &AtomicU64) {
    for _ in 0..LOOKS {
        black_box(word.load(Acquire));
    }
}

/// Whether the sum is wrong in the end. The CPU adds 1 and takes it away again, all the time.
/// `swap` makes REMOTE of 0, and says how often it did. The CPU takes that away, too, so that there
/// is a 0 soon.
fn loses(word: &AtomicU64, mut swap: impl FnMut() -> u64) -> bool {
    word.store(0, Release);
    let mut taken = 0;
    let change = || {
        for value in [1, 1u64.wrapping_neg()] {
            add_by_cpu(word, value);
            look(word);
        }
        if word.load(Acquire) >= REMOTE {
            add_by_cpu(word, REMOTE.wrapping_neg());
            taken += REMOTE;
        }
    };
    let (_, added) = beside(change, || {
        let batches = (0..OPERATIONS).step_by(BATCH);
        batches.map(|_| swap()).sum::<u64>() * REMOTE
    });
    word.load(Acquire).wrapping_add(taken) != added
}

/// Whether a store of B was undone by `swap`, which makes something else of A.
fn undoes(word: &AtomicU64, mut swap: impl FnMut() -> u64) -> bool {
    let mut undone = false;
    let store = || {
        word.store(A, Release);
        look(word);
        word.store(B, Release);
        // Nothing makes something else of B.
        for _ in 0..LOOKS {
            undone |= word.load(Acquire) != B;
        }
    };
    let batches = (0..OPERATIONS).step_by(BATCH);
    beside(store, || {
        for _ in batches {
            swap();
        }
    });
    undone
}

#[test]
fn mixed_swaps_lose_updates() {
    let mut both = Both::new();
    let (queue, at, word) = both.parts();
    seen("an update lost between CPU's and remote swaps", || {
        loses(word, || remote_swaps(queue, at, 0, REMOTE))
    });
}

/// A remote compare-and-swap succeeds that found the value before a store, and undoes it.
#[test]
fn a_store_is_lost_to_a_remote_swap() {
    let mut both = Both::new();
    let (queue, at, word) = both.parts();
    seen("a store undone by a remote compare-and-swap", || {
        undoes(word, || remote_swaps(queue, at, A, 1))
    });
}

/// The control: the same, and more often, by CPU alone.
#[test]
fn swaps_by_cpu_alone_lose_none() {
    let memory = Memory::new(4096).unwrap();
    let word = memory.word(0);
    let swaps = |old, new| {
        let swapped =
            (0..1000).filter(|_| word.compare_exchange(old, new, AcqRel, Relaxed).is_ok());
        swapped.count() as u64
    };
    for _ in 0..20 {
        assert!(!loses(word, || swaps(0, REMOTE)));
        assert!(!undoes(word, || swaps(A, 1)));
    }
}

/// The control: so many, of the other.
#[test]
fn remote_swaps_alone_lose_none() {
    let mut both = Both::new();
    let (mut one, _its_other_end) = pair(&both.nic);
    let (other, at, word) = both.parts();
    let mut guess = 0;
    let (by_one, ()) = beside(
        || guess = add_by_verbs(&mut one, at, guess),
        || {
            (0..OPERATIONS).fold(0, |guess, _| add_by_verbs(other, at, guess));
        },
    );
    assert!(by_one > 0);
    assert_eq!(word.load(Acquire), by_one + OPERATIONS);
}

/// As long as words are written remotely the CPU sees nothing but what was written, and each of it.
fn comes_whole(mut write: impl FnMut(&mut QueuePair, RemoteWord, u64, u64)) {
    let mut both = Both::new();
    let (queue, at, word) = both.parts();
    word.store(A, Release);
    let mut values = [0u64; 2];
    seen("both values", || {
        let look = || match word.load(Acquire) {
            A => values[0] += 1,
            B => values[1] += 1,
            torn => panic!("{torn:#x}"),
        };
        beside(look, || {
            for _ in 0..OPERATIONS {
                write(queue, at, A, B);
                write(queue, at, B, A);
            }
        });
        values.iter().all(|&times| times > 0)
    });
}

#[test]
fn a_remote_write_comes_whole() {
    comes_whole(|queue, at, _, new| remote_write(queue, at, new));
}

#[test]
fn a_remote_swap_comes_whole() {
    comes_whole(|queue, at, old, new| assert_eq!(remote_cas(queue, at, old, new), old));
}

/// The control, and why a plain write is refused where it is not known to be single. Soft-RoCE's is
/// a `memcpy`.
#[test]
fn a_plain_write_is_torn_by_this_device() {
    let both = Both::new();
    assert_eq!(both.nic.writes().unwrap(), Writes::Atomic);
    let (mut queue, mut other_end) = (
        both.nic.queue_pair().unwrap(),
        both.nic.queue_pair().unwrap(),
    );
    let plain = Endpoint {
        writes: Writes::Plain,
        ..other_end.endpoint().clone()
    };
    queue.connect(&plain).unwrap();
    other_end.connect(queue.endpoint()).unwrap();
    let (at, word) = (both.region.remote(0), both.region.memory().word(0));
    word.store(A, Release);
    seen("a plain write seen in parts", || {
        let mut torn = false;
        let look = || torn |= ![A, B].contains(&word.load(Acquire));
        beside(look, || {
            for _ in 0..OPERATIONS {
                remote_write(&mut queue, at, B);
                remote_write(&mut queue, at, A);
            }
        });
        torn
    });
}

/// Stores and remote writes of one word: one of them is the last, whole.
#[test]
fn remote_writes_beside_stores_come_whole() {
    let mut both = Both::new();
    let (queue, at, word) = both.parts();
    let mut kinds = [0u64; 2];
    let store = || {
        word.store(A, Release);
        match word.load(Acquire) {
            A => kinds[0] += 1,
            B => kinds[1] += 1,
            torn => panic!("{torn:#x}"),
        }
    };
    beside(store, || {
        for _ in 0..OPERATIONS {
            remote_write(queue, at, B);
        }
    });
    assert!([A, B].contains(&word.load(Acquire)), "{kinds:?}");
}

/// The CPU's compare-and-swap and a remote write: neither is undone by the other.
#[test]
fn a_remote_write_is_not_lost_to_a_swap() {
    let mut both = Both::new();
    let (queue, at, word) = both.parts();
    // Even: written remotely. Odd: that, and the CPU's 1.
    let mark = || {
        let found = word.load(Relaxed) & !1;
        let _ = word.compare_exchange(found, found | 1, AcqRel, Relaxed);
    };
    seen("a swap right behind a remote write", || {
        let (_, marked) = beside(mark, || {
            let mut marked = 0;
            for value in (2..).step_by(2).take(4 * OPERATIONS as usize) {
                remote_write(queue, at, value);
                let found = word.load(Acquire);
                assert!(found & !1 == value, "{value} was written, {found} is there");
                marked += found & 1;
            }
            marked
        });
        marked > 0
    });
}

/// What stands behind `ptr.rs`: a byte is never torn, so a byte that is zero in null alone
/// tells null. Words are torn by soft-RoCE, which is more than Table 1 promises of hardware.
#[test]
fn a_remote_read_may_be_torn_but_no_byte_is() {
    let mut both = Both::new();
    let (queue, at, word) = both.parts();
    word.store(A, Release);
    let change = || {
        word.store(B, Release);
        word.swap(A, AcqRel);
    };
    let (_, torn) = beside(change, || {
        let mut torn = 0;
        for _ in 0..4 * OPERATIONS {
            let found = remote_read(queue, at);
            for byte in found.to_le_bytes() {
                assert!([0x11, 0x22].contains(&byte), "{found:#x}");
            }
            torn += u64::from(![A, B].contains(&found));
        }
        torn
    });
    println!("# remote reads torn: {torn} of {}", 4 * OPERATIONS);
}

/// A remote write and a read of it after, of one doorbell, come in their order (mistake 5).
#[test]
fn a_read_behind_a_write_finds_it() {
    let mut both = Both::new();
    let (queue, at, _) = both.parts();
    for value in 1..=OPERATIONS {
        let both = [WorkRequest::write(at, value), WorkRequest::read(at, 1)];
        queue.post_list(value, &both).unwrap();
        assert_eq!(queue.wait().unwrap().value(), value);
    }
}
