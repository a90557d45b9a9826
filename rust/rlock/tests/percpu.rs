// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Pseudo-per-CPU data, and what is made of it.

#[path = "common/late.rs"]
mod late;

use std::collections::BTreeSet;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Barrier, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rlock::{Cancel, Counter, FreeList, Lock, Owner, PerCpu, Slot};
use rustix::thread::CpuSet;

use late::Late;

fn slot() -> Slot {
    Slot::new(0)
}

fn long() -> Cancel {
    Cancel::strictly_within(Duration::from_secs(10))
}

fn allowed() -> Vec<usize> {
    let all = rustix::thread::sched_getaffinity(None).unwrap();
    (0..CpuSet::MAX_CPU)
        .filter(|&cpu| all.is_set(cpu))
        .collect()
}

fn bind(cpu: usize) {
    let mut one = CpuSet::new();
    one.set(cpu);
    rustix::thread::sched_setaffinity(None, &one).unwrap();
}

/// Threads that go from CPU to CPU while they own. Every list stays as short as there are
/// threads, and nothing is lost.
#[test]
fn instances_are_bounded() {
    const THREADS: usize = 6;
    let data = PerCpu::new(slot);
    let cpus = allowed();
    let stop = AtomicBool::new(false);
    let added = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for number in 0..THREADS {
            let (data, cpus, stop, added) = (&data, &cpus, &stop, &added);
            scope.spawn(move || {
                let owner = Owner::register().unwrap();
                let mut late = Late::default();
                let mut turn = number;
                let mut count = 0;
                while !stop.load(Ordering::Relaxed) {
                    bind(cpus[turn % cpus.len()]);
                    turn += 1;
                    let mut mine = data.acquire(&owner).unwrap();
                    // Away, with the instance.
                    bind(cpus[turn % cpus.len()]);
                    for _ in 0..1000 {
                        if mine.add(|slot| slot, 1).is_err() {
                            break;
                        }
                        count += 1;
                        late.store();
                    }
                }
                added.fetch_add(count, Ordering::Relaxed);
            });
        }
        std::thread::sleep(Duration::from_millis(500));
        // A busy host may let no thread come to a CPU for longer.
        let until = Instant::now() + Duration::from_secs(60);
        while cpus.iter().any(|&cpu| data.instances_of(cpu) == 0) && Instant::now() < until {
            std::thread::yield_now();
        }
        stop.store(true, Ordering::Relaxed);
    });
    let lengths: Vec<usize> = cpus.iter().map(|&cpu| data.instances_of(cpu)).collect();
    println!(
        "instances {lengths:?} of {THREADS} threads on {} CPUs",
        cpus.len()
    );
    for length in &lengths {
        assert!((1..=THREADS).contains(length), "{lengths:?}");
    }
    assert_eq!(data.instances(), lengths.iter().sum::<usize>());
    assert_eq!(data.bytes(), data.instances() * 4096);
    assert_eq!(data.iter().map(Slot::load).sum::<u64>(), added.into_inner());
}

/// Whether `f`, called on every CPU in turn, finds another instance on each.
#[test]
fn each_cpu_has_its_own() {
    let data = PerCpu::new(slot);
    let owner = Owner::register().unwrap();
    let cpus = allowed();
    for (number, &cpu) in cpus.iter().enumerate() {
        bind(cpu);
        let mut mine = data.acquire(&owner).unwrap();
        mine.store(|slot| slot, number as u64 + 1).unwrap();
    }
    for (number, &cpu) in cpus.iter().enumerate() {
        bind(cpu);
        let mine = data.acquire(&owner).unwrap();
        assert_eq!(mine.load(), number as u64 + 1);
    }
    assert_eq!(data.instances(), cpus.len());
}

/// Draining from anywhere, also what a running thread has.
#[test]
fn all_instances_can_be_drained() {
    let data = PerCpu::new(slot);
    let stop = AtomicBool::new(false);
    let (added, drained) = (AtomicU64::new(0), AtomicU64::new(0));
    std::thread::scope(|scope| {
        for &cpu in &allowed() {
            let (data, stop, added) = (&data, &stop, &added);
            scope.spawn(move || {
                bind(cpu);
                let owner = Owner::register().unwrap();
                let mut late = Late::default();
                let mut count = 0;
                while !stop.load(Ordering::Relaxed) {
                    let mut mine = data.acquire(&owner).unwrap();
                    while mine.add(|slot| slot, 1).is_ok() {
                        count += 1;
                        late.store();
                    }
                }
                added.fetch_add(count, Ordering::Relaxed);
            });
        }
        let owner = Owner::register().unwrap();
        // So often, or for so long on a slow machine.
        let from = Instant::now();
        for round in 0..200 {
            if round >= 5 && from.elapsed() > Duration::from_secs(2) {
                break;
            }
            data.visit(&owner, long, |mut token| {
                let before = token.load();
                if token.store(|slot| slot, 0).is_ok() {
                    drained.fetch_add(before, Ordering::Relaxed);
                }
            })
            .unwrap();
            std::thread::sleep(Duration::from_micros(500));
        }
        stop.store(true, Ordering::Relaxed);
    });
    let left: u64 = data.iter().map(Slot::load).sum();
    assert_eq!(left + drained.load(Ordering::Relaxed), added.into_inner());
    assert!(drained.into_inner() > 0);
}

/// A thread that visits all the time, on another CPU, has one instance at a time. A thread that
/// acquires needs no more instances than there are threads. There is one more where the visitor
/// went on to the other instance just as that one was looked at. In one of three attempts the
/// visitor does not do so.
#[test]
fn a_visitor_has_one_at_a_time() {
    let cpus = allowed();
    let beside = |_| Some(instances_beside_a_visitor(&cpus)).filter(|&instances| instances > 2);
    let more: Vec<_> = (0..3).map_while(beside).collect();
    assert!(more.len() < 3, "{more:?} instances");
}

fn instances_beside_a_visitor(cpus: &[usize]) -> usize {
    let data = PerCpu::new(slot);
    let stop = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            bind(*cpus.last().unwrap());
            let owner = Owner::register().unwrap();
            while !stop.load(Ordering::Relaxed) {
                let _ = data.visit(&owner, long, drop);
            }
        });
        bind(cpus[0]);
        let owner = Owner::register().unwrap();
        let from = Instant::now();
        while from.elapsed() < Duration::from_millis(300) {
            let mut mine = data.acquire(&owner).unwrap();
            while mine.add(|slot| slot, 1).is_ok() && from.elapsed() < Duration::from_millis(300) {}
        }
        stop.store(true, Ordering::Relaxed);
    });
    data.instances()
}

/// Surplus instances are taken out while threads work, and are used again.
#[test]
fn lists_shrink() {
    let data = PerCpu::new(slot);
    let stop = AtomicBool::new(false);
    let added = AtomicU64::new(0);
    let cpus = allowed();
    let most = 16 * cpus.len();
    let mut taken = 0;
    std::thread::scope(|scope| {
        for number in 0..4 {
            let (data, stop, added, cpus) = (&data, &stop, &added, &cpus);
            scope.spawn(move || {
                let owner = Owner::register().unwrap();
                let mut turn = number;
                while !stop.load(Ordering::Relaxed) {
                    bind(cpus[turn % cpus.len()]);
                    let mut mine = data.acquire(&owner).unwrap();
                    turn += 1;
                    bind(cpus[turn % cpus.len()]);
                    let mut count = 0;
                    while count < 500 && mine.add(|slot| slot, 1).is_ok() {
                        count += 1;
                    }
                    added.fetch_add(count, Ordering::Relaxed);
                }
            });
        }
        let owner = Owner::register().unwrap();
        let from = Instant::now();
        // If that comes to it in some time: until more were taken out than may be there in the end.
        for round in 0.. {
            let enough = if taken > most { 2 } else { 20 };
            let is_over = from.elapsed() > Duration::from_secs(enough);
            if round >= 5 && is_over || round >= 200 && taken > most {
                break;
            }
            taken += data.shrink(&owner, long, drop);
            std::thread::sleep(Duration::from_micros(500));
        }
        stop.store(true, Ordering::Relaxed);
    });
    assert_eq!(data.iter().map(Slot::load).sum::<u64>(), added.into_inner());
    let owner = Owner::register().unwrap();
    taken += data.shrink(&owner, long, drop);
    for &cpu in &cpus {
        assert!(data.instances_of(cpu) <= 1);
    }
    println!("{taken} taken out, {} made", data.instances());
    // Those that were taken out were used again: otherwise as many would have been made.
    assert!(taken > 0 && data.instances() <= most);
}

/// One test at a time counts: all counters of the process share their blocks.
fn only_one_counts() -> MutexGuard<'static, ()> {
    static COUNTS: Mutex<()> = Mutex::new(());
    COUNTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// `sum` is exact, also of what threads counted that have ended.
#[test]
fn counters_are_exact() {
    static COUNTERS: [Counter; 20] = [const { Counter::new() }; 20];
    const ADDS: u64 = 100_000;
    let _one = only_one_counts();
    let before = Counter::bytes();
    let barrier = Barrier::new(4);
    std::thread::scope(|scope| {
        for counter in COUNTERS.iter().take(4) {
            let barrier = &barrier;
            scope.spawn(move || {
                barrier.wait();
                for add in 0..ADDS {
                    COUNTERS[(add % 20) as usize].add(1);
                    counter.add(add);
                }
            });
        }
    });
    let all: u64 = COUNTERS.iter().map(Counter::sum).sum();
    assert_eq!(all, 4 * ADDS + 4 * (ADDS * (ADDS - 1) / 2));
    // Twenty counters take a page an instance. Tests that counted before may have left some.
    let more = Counter::bytes() - before;
    let most = 4096 * 4 * allowed().len();
    assert!(more <= most, "{more} bytes");
}

/// More counters than a block has, in turn. Each is in its own block, and no thread takes the one
/// block for the other.
#[test]
fn counters_of_two_blocks_in_turn() {
    const COUNTERS: u64 = 1100;
    const ROUNDS: u64 = 20;
    let _one = only_one_counts();
    let counters: Vec<Counter> = (0..COUNTERS).map(|_| Counter::new()).collect();
    let add = |n: u64| {
        for _ in 0..ROUNDS {
            for (counter, number) in counters.iter().zip(1..) {
                counter.add(n * number);
            }
        }
    };
    let check = |each: u64| {
        for (counter, number) in counters.iter().zip(1..) {
            assert_eq!(counter.sum(), ROUNDS * each * number, "counter {number}");
        }
    };
    add(1);
    check(1);
    // From both ends, which are of different blocks.
    for (first, last) in counters.iter().zip(counters.iter().rev()).take(550) {
        first.add(1);
        last.add(2);
        first.add(u64::MAX);
        last.add(2_u64.wrapping_neg());
    }
    check(1);
    std::thread::scope(|scope| {
        scope.spawn(|| add(2));
        scope.spawn(|| add(3));
    });
    check(6);
}

/// What was made is dropped, once, with the whole: also what is spare.
#[test]
fn instances_are_dropped_with_the_whole() {
    static MADE: AtomicU64 = AtomicU64::new(0);
    static DROPPED: AtomicU64 = AtomicU64::new(0);
    struct Counted(Slot);
    impl Drop for Counted {
        fn drop(&mut self) {
            assert_eq!(self.0.load(), 1);
            DROPPED.fetch_add(1, Ordering::Relaxed);
        }
    }
    fn counted() -> Counted {
        MADE.fetch_add(1, Ordering::Relaxed);
        Counted(Slot::new(1))
    }
    let data = PerCpu::new(counted);
    let owner = Owner::register().unwrap();
    for cpu in allowed() {
        bind(cpu);
        data.acquire(&owner).map(drop).unwrap();
    }
    data.shrink(&owner, long, drop);
    let made = MADE.load(Ordering::Relaxed);
    assert!(made > 0 && made == data.instances() as u64);
    assert_eq!(DROPPED.load(Ordering::Relaxed), 0);
    drop(data);
    assert_eq!(DROPPED.load(Ordering::Relaxed), made);
    assert_eq!(MADE.load(Ordering::Relaxed), made);
}

/// Threads remember the same block, go to different CPUs and begin a new generation there. They
/// count in the block only if they own it. They do so again and again: whether they meet there is
/// up to the scheduler. `counter::tests` looks at whose the block is.
#[test]
fn a_remembered_block_may_be_anothers() {
    let _one = only_one_counts();
    for _ in 0..10 {
        remember_and_count();
    }
}

fn remember_and_count() {
    static COUNTER: Counter = Counter::new();
    // How far each is, in thousands; the end.
    static DONE: [AtomicU64; 2] = [AtomicU64::new(0), AtomicU64::new(0)];
    const END: u64 = u64::MAX;
    let cpus = allowed();
    let other = [Lock::new(slot()), Lock::new(slot())];
    let barrier = Barrier::new(2);
    let total = AtomicU64::new(COUNTER.sum() + 2);
    DONE.iter()
        .for_each(|done| done.store(0, Ordering::Relaxed));
    std::thread::scope(|scope| {
        for (number, other) in other.iter().enumerate() {
            let (cpus, barrier, total) = (&cpus, &barrier, &total);
            scope.spawn(move || {
                let owner = Owner::register().unwrap();
                bind(cpus[0]);
                // One after the other, so that the second takes the first one's block.
                for turn in 0..2 {
                    if turn == number {
                        COUNTER.add(1);
                        owner.release_all();
                    }
                    barrier.wait();
                }
                owner.acquire(other).map(drop).unwrap();
                bind(cpus[number % cpus.len()]);
                barrier.wait();
                // So long that they ran at the same time, however busy the machine is.
                let (mut turns, mut seen, mut last) = (0, 0, 0);
                while turns < 300 || (seen < 100 && last != END) {
                    for _ in 0..1000 {
                        COUNTER.add(1);
                    }
                    turns += 1;
                    DONE[number].store(turns, Ordering::Relaxed);
                    let now = DONE[1 - number].load(Ordering::Relaxed);
                    seen += u64::from(now != last);
                    last = now;
                }
                DONE[number].store(END, Ordering::Relaxed);
                total.fetch_add(1000 * turns, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(COUNTER.sum(), total.into_inner());
}

/// A counter in a signal handler, wherever that comes.
#[test]
fn counters_count_in_handlers() {
    static COUNTER: Counter = Counter::new();
    static CAME: AtomicU64 = AtomicU64::new(0);
    extern "C" fn count(_: i32) {
        COUNTER.add(1);
        CAME.fetch_add(1, Ordering::Relaxed);
    }
    let _one = only_one_counts();
    COUNTER.add(1);
    let count: extern "C" fn(i32) = count;
    // SAFETY: a handler that counts, by way of rlock; the timer is this test's.
    unsafe {
        libc::signal(libc::SIGPROF, count as libc::sighandler_t);
        let often = libc::timeval {
            tv_sec: 0,
            tv_usec: 1000,
        };
        let timer = libc::itimerval {
            it_interval: often,
            it_value: often,
        };
        libc::setitimer(libc::ITIMER_PROF, &timer, std::ptr::null_mut());
    }
    let mut adds = 1;
    while CAME.load(Ordering::Relaxed) < 50 {
        for _ in 0..1000 {
            COUNTER.add(1);
        }
        adds += 1000;
    }
    // SAFETY: ignores the signal.
    unsafe { libc::signal(libc::SIGPROF, libc::SIG_IGN) };
    assert_eq!(COUNTER.sum(), adds + CAME.load(Ordering::Relaxed));
}

/// Nothing is popped twice, and nothing is lost.
#[test]
fn a_free_list_gives_each_once() {
    const THINGS: u32 = 1000;
    let list = FreeList::new(THINGS);
    let held: Vec<AtomicBool> = (0..THINGS).map(|_| AtomicBool::new(false)).collect();
    let owner = Owner::register().unwrap();
    for number in 0..THINGS {
        list.push(&owner, number).unwrap();
    }
    assert_eq!(list.len(), THINGS as usize);
    let pops = AtomicU64::new(0);
    std::thread::scope(|scope| {
        for thread in 0..4_usize {
            let (list, held, pops) = (&list, &held, &pops);
            scope.spawn(move || {
                let owner = Owner::register().unwrap();
                let mut mine = Vec::new();
                let mut popped = 0;
                for turn in 0..40_000_usize {
                    // Takes many, gives many back.
                    if (turn / 100 + thread) % 2 == 0 {
                        if let Some(number) = list.pop(&owner).unwrap() {
                            let twice = held[number as usize].swap(true, Ordering::Relaxed);
                            assert!(!twice, "{number} is popped twice");
                            mine.push(number);
                            popped += 1;
                        }
                    } else if let Some(number) = mine.pop() {
                        held[number as usize].store(false, Ordering::Relaxed);
                        list.push(&owner, number).unwrap();
                    }
                }
                for number in mine {
                    held[number as usize].store(false, Ordering::Relaxed);
                    list.push(&owner, number).unwrap();
                }
                pops.fetch_add(popped, Ordering::Relaxed);
            });
        }
    });
    assert_eq!(list.len(), THINGS as usize);
    assert!(pops.into_inner() > 10_000);
    let mut all = BTreeSet::new();
    while let Some(number) = list.pop(&owner).unwrap() {
        assert!(all.insert(number));
    }
    assert_eq!(all.len(), THINGS as usize);
    assert!(list.is_empty());
}

#[test]
fn debug_says_what_is_there() {
    let data = PerCpu::new(|| Slot::new(0));
    assert_eq!(format!("{data:?}"), "PerCpu { instances: 0, .. }");
    let owner = Owner::register().unwrap();
    data.acquire(&owner).map(drop).unwrap();
    assert_eq!(format!("{data:?}"), "PerCpu { instances: 1, .. }");
    let _one = only_one_counts();
    let counter = Counter::new();
    counter.add(7);
    assert_eq!(format!("{counter:?}"), "7");
}
