// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What a user sees, without contention.

#[path = "../build.rs"]
#[expect(dead_code, reason = "a build script has a main")]
mod build;

use rlock::{Cancel, Lock, Owner, Revoked, Slot, Token};
use std::path::Path;
use std::time::Duration;

#[test]
fn a_token_writes() {
    let lock = Lock::new([Slot::new(1), Slot::new(2)]);
    let owner = Owner::register().unwrap();
    let mut token = owner.acquire(&lock).unwrap();
    assert_eq!(token.store(|slots| &slots[0], 7), Ok(()));
    assert_eq!(token.add(|slots| &slots[0], u64::MAX), Ok(()));
    assert_eq!(lock[0].load(), 6);
    assert_eq!(token.compare_and_store(|slots| &slots[1], 3, 9), Ok(false));
    assert_eq!(lock[1].load(), 2);
    assert_eq!(token.compare_and_store(|slots| &slots[1], 2, 9), Ok(true));
    assert_eq!(lock[1].load(), 9);
    assert_eq!(token.stage(|slots| &slots[1], |value| value * 10), Ok(()));
    assert_eq!(lock[1].load(), 90);
}

/// Data of which some slots are behind pointers.
struct Mixed {
    first: Slot,
    inner: (u8, [Slot; 3]),
    boxed: Box<[Slot]>,
    last: Slot,
}

static ELSEWHERE: Lock<Slot> = Lock::new(Slot::new(5));

fn mixed() -> Lock<Mixed> {
    let slot = || Slot::new(5);
    Lock::new(Mixed {
        first: slot(),
        inner: (0, [slot(), slot(), slot()]),
        boxed: Box::new([slot()]),
        last: slot(),
    })
}

/// Every operation with the slot that `of` names; how many of them panicked, and with what.
fn each_operation(lock: &Lock<Mixed>, of: fn(&Mixed) -> &Slot) -> Vec<String> {
    type Operation = fn(&mut Token<'_, Mixed>, fn(&Mixed) -> &Slot) -> Result<(), Revoked>;
    let operations: [Operation; 4] = [
        |token, of| token.store(of, 6),
        |token, of| token.add(of, 1),
        |token, of| token.compare_and_store(of, 7, 8).map(|done| assert!(done)),
        |token, of| token.stage(of, |value| value + 1),
    ];
    let owner = Owner::register().unwrap();
    let mut token = owner.acquire(lock).unwrap();
    let mut panics = Vec::new();
    for operation in operations {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {
            operation(&mut token, of).unwrap();
        }));
        panics.extend(
            done.err()
                .map(|why| why.downcast_ref::<&str>().unwrap().to_string()),
        );
    }
    // A miss ends nothing.
    assert!(token.is_valid());
    panics
}

#[test]
fn a_token_writes_the_slots_of_its_lock() {
    let lock = mixed();
    let all: [fn(&Mixed) -> &Slot; 5] = [
        |data| &data.first,
        |data| &data.inner.1[0],
        |data| &data.inner.1[2],
        |data| &data.last,
        // A reference of its own is the data's all the same.
        |data| {
            let inner = &data.inner;
            inner.1.get(1).unwrap_or(&ELSEWHERE)
        },
    ];
    for of in all {
        assert_eq!(each_operation(&lock, of), [""; 0]);
        assert_eq!(of(&lock).load(), 9);
    }
}

#[test]
fn a_token_writes_no_slot_of_another_lock() {
    let lock = mixed();
    let elsewhere: [fn(&Mixed) -> &Slot; 2] = [|_| &ELSEWHERE, |data| &data.boxed[0]];
    for of in elsewhere {
        let said = "the slot is not the lock's own; allowed is one in the bytes of its data";
        assert_eq!(each_operation(&lock, of), [said; 4]);
        assert_eq!(of(&lock).load(), 5);
    }
    // The slots of neighbours: just before and just behind.
    let row = [const { Lock::new([const { Slot::new(5) }; 2]) }; 3];
    let row: &'static [Lock<[Slot; 2]>; 3] = Box::leak(Box::new(row));
    static ROW: std::sync::OnceLock<&'static [Lock<[Slot; 2]>; 3]> = std::sync::OnceLock::new();
    ROW.set(row).unwrap();
    let owner = Owner::register().unwrap();
    let mut token = owner.acquire(&row[1]).unwrap();
    let neighbours: [fn(&[Slot; 2]) -> &Slot; 4] = [
        |_| &ROW.get().unwrap()[0][0],
        |_| &ROW.get().unwrap()[0][1],
        |_| &ROW.get().unwrap()[2][0],
        |_| &ROW.get().unwrap()[2][1],
    ];
    for of in neighbours {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| token.store(of, 6)));
        assert!(done.is_err());
    }
    token.store(|_| &ROW.get().unwrap()[1][1], 6).unwrap();
    let all: Vec<u64> = row
        .iter()
        .flat_map(|lock| lock.iter().map(Slot::load))
        .collect();
    assert_eq!(all, [5, 5, 5, 6, 5, 5]);
}

/// What lies just before or just behind a lock's data is no part of them. It may be the lock's own
/// word or a neighbour.
#[test]
fn a_token_writes_nothing_beside_its_lock() {
    #[repr(C)]
    struct Row {
        before: Slot,
        lock: Lock<[Slot; 4]>,
        after: Slot,
    }
    static ROW: Row = Row {
        before: Slot::new(5),
        lock: Lock::new([const { Slot::new(5) }; 4]),
        after: Slot::new(5),
    };
    /// The `at`th slot from the data's beginning, were all of the row slots.
    fn at(at: isize) -> &'static Slot {
        let data: &[Slot; 4] = &ROW.lock;
        let bytes = std::ptr::from_ref(data).addr() - (&raw const ROW).addr();
        let byte = bytes.checked_add_signed(8 * at).unwrap();
        assert!(byte + 8 <= size_of::<Row>());
        // SAFETY: in the row, which has words at multiples of eight and nothing else, all atomic.
        unsafe { &*(&raw const ROW).byte_add(byte).cast() }
    }
    let owner = Owner::register().unwrap();
    let mut token = owner.acquire(&ROW.lock).unwrap();
    let beside: [fn(&[Slot; 4]) -> &Slot; 4] =
        [|_| &ROW.before, |_| &ROW.after, |_| at(-1), |_| at(4)];
    let word = rlock::testing::word(&ROW.lock);
    for of in beside {
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| token.store(of, 6)));
        assert!(done.is_err());
    }
    assert_eq!((ROW.before.load(), ROW.after.load()), (5, 5));
    assert_eq!(rlock::testing::word(&ROW.lock), word);
    for (number, of) in [|| at(0), || at(3)].into_iter().enumerate() {
        assert_eq!(of().load(), 5);
        token.store(|slots| &slots[3 * number], 6).unwrap();
        assert_eq!(of().load(), 6);
    }
}

/// A lock in another one's data guards its own slots: its type is refused. The documentation of
/// `Token` has what does not compile.
#[test]
fn what_has_a_lock_in_it_is_told() {
    struct Is<T>(std::marker::PhantomData<T>);
    trait Otherwise {
        const UNPIN: bool = false;
    }
    impl<T> Otherwise for Is<T> {}
    impl<T: Unpin> Is<T> {
        const UNPIN: bool = true;
    }
    let found = [
        Is::<Lock<Slot>>::UNPIN,
        Is::<(u8, [Lock<Slot>; 2])>::UNPIN,
        Is::<(Slot, [Slot; 2], Mixed)>::UNPIN,
        Is::<&Lock<Slot>>::UNPIN,
    ];
    assert_eq!(found, [false, false, true, true]);
}

/// Data that is smaller than a slot has none, and what is as large has one.
#[test]
fn data_without_slots_has_none() {
    let (nothing, byte) = (Lock::new(()), Lock::new(1_u8));
    let owner = Owner::register().unwrap();
    let miss = |done: std::thread::Result<Result<(), Revoked>>| assert!(done.is_err());
    let mut token = owner.acquire(&nothing).unwrap();
    let body = || token.add(|()| &ELSEWHERE, 1);
    miss(std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)));
    let mut token = owner.acquire(&byte).unwrap();
    let body = || token.add(|_| &ELSEWHERE, 1);
    miss(std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)));
    assert_eq!(ELSEWHERE.load(), 5);
}

#[test]
fn a_sleeping_owner_is_cancelled() {
    let lock = Lock::new(Slot::new(0));
    let (tell, told) = std::sync::mpsc::channel();
    let (end, ended) = std::sync::mpsc::channel::<()>();
    std::thread::scope(|scope| {
        let lock = &lock;
        let sleeper = scope.spawn(move || {
            let owner = Owner::register().unwrap();
            let mut token = owner.acquire(lock).unwrap();
            token.store(|slot| slot, 1).unwrap();
            tell.send(()).unwrap();
            ended.recv().unwrap();
            // The lock was taken meanwhile, and each commit of this thread says so.
            assert_eq!(token.store(|slot| slot, 2), Err(Revoked));
            assert_eq!(token.add(|slot| slot, 2), Err(Revoked));
            assert_eq!(token.compare_and_store(|slot| slot, 5, 2), Err(Revoked));
            let mut token = owner.acquire(lock).unwrap();
            token.add(|slot| slot, 1).unwrap();
        });
        told.recv().unwrap();
        let owner = Owner::register().unwrap();
        let soon = Cancel::within(Duration::from_secs(60));
        let mut token = owner.acquire_by(lock, soon).unwrap();
        token.store(|slot| slot, 5).unwrap();
        drop(token);
        owner.release_all();
        end.send(()).unwrap();
        sleeper.join().unwrap();
    });
    assert_eq!(lock.load(), 6);
}

#[test]
fn a_strict_cancel_ends_a_running_owner() {
    let lock = Lock::new(Slot::new(0));
    std::thread::scope(|scope| {
        let lock = &lock;
        let runner = scope.spawn(move || {
            let owner = Owner::register().unwrap();
            let mut count = 0_u64;
            let mut revoked = 0;
            while revoked < 1000 {
                let strict = Cancel::strictly_within(Duration::from_secs(60));
                let mut token = owner.acquire_by(lock, strict).unwrap();
                while token.add(|slot| slot, 1).is_ok() {
                    count += 1;
                }
                revoked += 1;
            }
            count
        });
        while !runner.is_finished() {
            lock.cancel(Cancel::strictly_within(Duration::from_secs(60)))
                .unwrap();
        }
        assert_eq!(lock.load(), runner.join().unwrap());
    });
}

#[test]
fn a_generation_ends_after_so_many_commits() {
    let lock = Lock::new(Slot::new(0));
    let owner = Owner::register().unwrap();
    let mut token = owner.acquire(&lock).unwrap();
    let mut commits = 0;
    while token.add(|slot| slot, 1).is_ok() {
        commits += 1;
    }
    assert_eq!(commits, 4096);
    // What was refused was not written.
    assert_eq!(lock.load(), commits);
    drop(token);
    // Also if each commit acquires for itself.
    for _ in 0..4096 {
        owner.acquire(&lock).unwrap().add(|slot| slot, 1).unwrap();
    }
    let mut token = owner.acquire(&lock).unwrap();
    assert_eq!(token.add(|slot| slot, 1), Err(Revoked));
}

/// Calls `body` in a thread. Returns when the kernel has no such thread any more, which is later
/// than when it is joined.
fn in_a_thread_that_ends(body: impl FnOnce() + Send) {
    let path = std::thread::scope(|scope| {
        let thread = scope.spawn(|| {
            body();
            let tid = rustix::thread::gettid().as_raw_nonzero();
            format!("/proc/self/task/{tid}")
        });
        thread.join().unwrap()
    });
    while std::fs::exists(&path).unwrap() {
        std::thread::yield_now();
    }
}

#[test]
fn an_owner_that_is_gone_owns_nothing() {
    let lock = Lock::new(Slot::new(0));
    in_a_thread_that_ends(|| {
        let owner = Owner::register().unwrap();
        owner.acquire(&lock).unwrap().add(|slot| slot, 1).unwrap();
    });
    let owner = Owner::register().unwrap();
    owner.acquire(&lock).unwrap().add(|slot| slot, 1).unwrap();
    assert_eq!(lock.load(), 2);
}

#[test]
fn a_thread_that_died_with_its_owner_owns_nothing() {
    let lock = Lock::new(Slot::new(0));
    in_a_thread_that_ends(|| {
        let owner = Owner::register().unwrap();
        owner.acquire(&lock).unwrap().add(|slot| slot, 1).unwrap();
        std::mem::forget(owner);
    });
    let owner = Owner::register().unwrap();
    owner.acquire(&lock).unwrap().add(|slot| slot, 1).unwrap();
    assert_eq!(lock.load(), 2);
}

/// x32 is x86-64 Linux by its names, with other pointers.
#[test]
fn other_targets_are_refused() {
    let told = |arch: &str, os: &str, pointer_width: &str| {
        build::told(|what| match what {
            "ARCH" => arch.to_string(),
            "OS" => os.to_string(),
            "POINTER_WIDTH" => pointer_width.to_string(),
            _ => panic!("the target's {what}"),
        })
    };
    let again = "cargo::rerun-if-changed=build.rs";
    assert_eq!(told("x86_64", "linux", "64"), [again]);
    for (arch, os, pointer_width) in [
        ("x86_64", "linux", "32"),
        ("x86_64", "freebsd", "64"),
        ("aarch64", "linux", "64"),
        ("x86", "linux", "32"),
    ] {
        let lines = told(arch, os, pointer_width);
        let said = "cargo::error=rlock is for x86-64 Linux with 64-bit pointers: ";
        assert!(lines.len() == 2 && lines[1].starts_with(said), "{lines:?}");
    }
}

/// The first block of Rust in a document, from `heading` on.
fn program(path: &Path, heading: &str) -> String {
    let text = std::fs::read_to_string(path).unwrap();
    let (_, text) = text.split_once(heading).unwrap();
    let (_, text) = text.split_once("```rust\n").unwrap();
    text.split_once("```\n").unwrap().0.to_string()
}

/// The repository's README has the program of this package's, which the documentation's tests run.
/// Where only the package is there, or neither, nothing is compared.
#[test]
fn both_readmes_have_one_program() {
    let package = Path::new(env!("CARGO_MANIFEST_DIR"));
    let repository = package.join("../..");
    if !repository.join("scripts/check").exists() {
        return;
    }
    assert_eq!(
        program(
            &repository.join("README.md"),
            "## Quick start: allocator or metrics\n"
        ),
        program(&package.join("README.md"), "# rlock\n")
    );
}

#[test]
fn this_machine_gives_every_proof() {
    let found = rlock::capabilities().unwrap();
    assert_eq!(found.same_cpu, Ok(()));
    assert_eq!(found.not_runnable, Ok(()));
    assert_eq!(found.switches, Ok(()));
    assert_eq!(found.handler, Ok(()));
    assert_eq!(found.membarrier, Ok(()));
}
