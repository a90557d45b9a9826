// SPDX-License-Identifier: GPL-2.0-only

//! `rust/linux/spin` over a mock of the kernel: the order of a backend's steps, and the orders of a word's. So they are
//! tested in configurations that no kernel of tests/guest has: MMIOWB, and words of `kernel::sync::atomic`.
//! `tests/suites/backend` compiles this once for each.

#![allow(
    dead_code,
    unused_imports,
    unused_macros,
    unsafe_op_in_unsafe_fn,
    unexpected_cfgs,
    clippy::missing_safety_doc
)]

extern crate self as kernel;

#[path = "../../rust/locks/mod.rs"]
mod locks;
mod mock;
#[path = "../../rust/linux/spin/mod.rs"]
mod spin;

pub use mock::{bindings, ffi, interrupt, processor, sync, types};

use core::{cell::UnsafeCell, mem::MaybeUninit, ptr};
use interrupt::LocalInterruptDisabled;
use locks::*;
use mock::{events, until_waited_for, Event, Event::*};
use spin::{InterruptsOff, Linux, LockWith, Off, PreemptionOff, SpinBackend, SpinRaw, Word};
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};
use std::time::{Duration, Instant};
use sync::lock::{Backend, Lock};

/// A free lock of a type.
fn made<T: Default, R: SpinRaw, O: Off>() -> Lock<T, SpinBackend<R, O>> {
    events();
    let mut state = MaybeUninit::uninit();
    // SAFETY: The state is valid for writes. The mock reads neither name nor key.
    unsafe { SpinBackend::<R, O>::init(state.as_mut_ptr(), ptr::null(), ptr::null_mut()) };
    let due = if cfg!(CONFIG_DEBUG_LOCK_ALLOC) {
        vec![Call("handover_lockdep_init")]
    } else {
        vec![]
    };
    assert_eq!(events(), due);
    Lock {
        // SAFETY: `init` has made the words. A lockdep map is an `Opaque`, which may have no content.
        state: UnsafeCell::new(unsafe { state.assume_init() }),
        data: UnsafeCell::new(T::default()),
    }
}

/// The events of those steps that this kernel has.
fn due(steps: &[(bool, Event)]) -> Vec<Event> {
    steps
        .iter()
        .filter(|step| step.0)
        .map(|step| step.1)
        .collect()
}

/// The events but for pauses and steps on words. And where among all events the first and the last such step stand.
fn apart(all: &[Event]) -> (Vec<Event>, Option<(usize, usize)>) {
    let is_step = |event: &Event| matches!(event, Step(..));
    let calls = all
        .iter()
        .copied()
        .filter(|event| !is_step(event) && *event != Call("cpu_relax"));
    let first = all.iter().position(is_step);
    (calls.collect(), first.zip(all.iter().rposition(is_step)))
}

/// Where an event stands, which happened once.
fn place(all: &[Event], event: Event) -> usize {
    assert_eq!(
        all.iter().filter(|&&one| one == event).count(),
        1,
        "{event:?} in {all:?}"
    );
    all.iter().position(|&one| one == event).unwrap()
}

const DEP: bool = cfg!(CONFIG_DEBUG_LOCK_ALLOC);
const STAT: bool = cfg!(CONFIG_LOCK_STAT);
const MMIO: bool = cfg!(CONFIG_MMIOWB);
/// Whether words are `kernel::sync::atomic`'s, whose steps are events.
const STEPS: bool = cfg!(any(CONFIG_RUST_INLINE_HELPERS, not(CONFIG_X86_64)));

/// The calls that switch off, and on again.
fn off<O: Off>() -> (Event, Event) {
    if O::INTERRUPTS {
        (
            Call("handover_interrupts_disable"),
            Call("handover_interrupts_enable"),
        )
    } else {
        (
            Call("handover_preempt_disable"),
            Call("handover_preempt_enable"),
        )
    }
}

/// What switches off comes first. Lockdep is told before the first step of a `lock`, and after a `try_lock` that
/// succeeded. MMIO begins after the last step.
fn acquired<O: Off>(all: &[Event], is_try: bool, is_contended: bool) {
    let (calls, steps) = apart(all);
    let begin = Call("handover_mmiowb_spin_lock");
    let wait = |event| (is_contended, Call(event));
    if is_try {
        // Both come after the lock, in either order.
        let mut sorted = calls.clone();
        sorted[1..].sort_by_key(|event| *event == begin);
        assert_eq!(
            sorted,
            due(&[(true, off::<O>().0), (DEP, DepAcquire(true)), (MMIO, begin)])
        );
    } else {
        assert_eq!(
            calls,
            due(&[
                (true, off::<O>().0),
                (DEP, DepAcquire(false)),
                (STAT && is_contended, Call("handover_lockdep_contended")),
                wait("handover_contention_begin"),
                wait("handover_contention_end"),
                (STAT, Call("handover_lockdep_acquired")),
                (MMIO, begin),
            ])
        );
    }
    let Some((first, last)) = steps else {
        assert!(!STEPS, "no step on a word");
        return;
    };
    assert!(
        place(all, off::<O>().0) < first,
        "a step before {:?}",
        off::<O>().0
    );
    if DEP {
        let told = place(all, DepAcquire(is_try));
        assert!(
            if is_try { last < told } else { told < first },
            "lockdep's place in {all:?}"
        );
    }
    assert!(!MMIO || last < place(all, begin), "MMIO's place in {all:?}");
}

/// Lockdep is told, and MMIO ends, before the first step. What was switched off is on after the last.
fn released<O: Off>(all: &[Event]) {
    let (calls, steps) = apart(all);
    let (dep, end) = (
        Call("handover_lockdep_release"),
        Call("handover_mmiowb_spin_unlock"),
    );
    assert_eq!(calls, due(&[(DEP, dep), (MMIO, end), (true, off::<O>().1)]));
    if let Some((first, last)) = steps {
        assert!(
            !DEP || place(all, dep) < first,
            "lockdep's place in {all:?}"
        );
        assert!(!MMIO || place(all, end) < first, "MMIO's place in {all:?}");
        assert!(
            last < place(all, off::<O>().1),
            "a step after {:?}",
            off::<O>().1
        );
    }
}

fn sections<R: SpinRaw, O: Off>() {
    let lock = made::<(), R, O>();
    let guard = lock.lock();
    acquired::<O>(&events(), false, false);
    assert!(lock.try_lock().is_none());
    let refused = events();
    let (calls, _) = apart(&refused);
    assert_eq!(calls, [off::<O>().0, off::<O>().1], "a try that is refused");
    drop(guard);
    released::<O>(&events());
    let guard = lock.try_lock().expect("the lock is free");
    acquired::<O>(&events(), true, false);
    drop(guard);
    released::<O>(&events());
}

fn contended<R: SpinRaw, O: Off>() {
    let lock = made::<(), R, O>();
    let lock = &lock;
    let guard = lock.lock();
    std::thread::scope(|scope| {
        let waiter = scope.spawn(move || {
            let guard = lock.lock();
            acquired::<O>(&events(), false, true);
            drop(guard);
            released::<O>(&events());
        });
        until_waited_for(lock);
        drop(guard);
        waiter.join().unwrap();
    });
}

/// What two threads add to, who did so last, and how often that was the other one.
#[derive(Default)]
struct Sum {
    sum: u64,
    last: u64,
    handovers: u64,
}

impl Sum {
    /// Adds one, with time for the other thread between the read and the write.
    fn add(&mut self, who: u64) {
        let before = self.sum;
        self.handovers += u64::from(self.last != who);
        self.last = who;
        for _ in 0..20 {
            std::hint::spin_loop();
        }
        self.sum = before + 1;
    }
}

/// Two threads add until each has had the lock after the other often. Words in assembly have a pause that yields to nobody. So
/// on one CPU a handover takes a time slice, and half a second is enough.
fn excluded<R: SpinRaw, O: Off>() {
    let lock = &made::<Sum, R, O>();
    let end = Instant::now() + Duration::from_millis(500);
    let adds = |who| {
        for added in 1.. {
            let tried = (added % 3 == 0).then(|| lock.try_lock()).flatten();
            let mut guard = tried.unwrap_or_else(|| lock.lock());
            guard.data().add(who);
            let enough = guard.data().handovers > 5000;
            drop(guard);
            events();
            if enough || Instant::now() > end {
                return added;
            }
        }
        0
    };
    let added: u64 = std::thread::scope(|scope| {
        let all = [1, 2].map(|who| scope.spawn(move || adds(who)));
        all.map(|one| one.join().unwrap()).iter().sum()
    });
    assert_eq!(lock.lock().data().sum, added);
}

/// A test of each kind, for each lock of the list.
macro_rules! tests {
    ($($name:ident: $lock:ty = $kind:ident, $about:literal;)*) => {
        $(tests!(@$kind $name $lock);)*
    };
    (@control $name:ident $lock:ty) => {};
    (@model $name:ident $lock:ty) => {};
    (@$kind:ident $name:ident $lock:ty) => {
        mod $name {
            use super::*;

            #[test]
            fn steps_are_in_their_order() {
                sections::<$lock, PreemptionOff>();
                sections::<$lock, InterruptsOff>();
            }

            #[test]
            fn so_are_those_of_a_wait() {
                contended::<$lock, PreemptionOff>();
                contended::<$lock, InterruptsOff>();
            }

            #[test]
            fn it_excludes() {
                excluded::<$lock, PreemptionOff>();
                excluded::<$lock, InterruptsOff>();
            }
        }
    };
}
crate::locks::list::for_each_lock!(tests);

#[test]
fn who_has_interrupts_off_pays_for_preemption_alone() {
    let lock = made::<(), Twa<Word>, InterruptsOff>();
    let off = LocalInterruptDisabled;
    let guard = lock.lock_with(&off);
    acquired::<PreemptionOff>(&events(), false, false);
    assert!(lock.try_lock().is_none());
    events();
    drop(guard);
    released::<PreemptionOff>(&events());
    let guard = lock.try_lock_with(&off).expect("the lock is free");
    acquired::<PreemptionOff>(&events(), true, false);
    drop(guard);
    released::<PreemptionOff>(&events());
}

/// What no compiler takes: a guard that is there when interrupts may be on again.
#[cfg(any(outlives, outlives_try))]
fn outlives() {
    let lock = made::<(), Twa<Word>, InterruptsOff>();
    let off = LocalInterruptDisabled;
    #[cfg(outlives)]
    let guard = lock.lock_with(&off);
    #[cfg(outlives_try)]
    let guard = lock.try_lock_with(&off);
    drop(off);
    drop(guard);
}

/// A method's name says its order.
macro_rules! words {
    ($($method:ident($($argument:expr),*) -> $($step:literal $order:literal),+;)*) => {
        [$((
            stringify!($method),
            {
                let word = Word::new(7);
                let _ = word.$method($($argument),*);
                events()
            },
            vec![$(Step($step, $order)),+],
        )),*]
    };
}

#[cfg(any(CONFIG_RUST_INLINE_HELPERS, not(CONFIG_X86_64)))]
#[test]
fn a_word_has_the_orders_that_it_says() {
    use locks::Word as _;

    let all = words! {
        load_relaxed() -> "load" "relaxed";
        load_acquire() -> "load" "acquire";
        store_relaxed(1) -> "store" "relaxed";
        store_release(1) -> "store" "release";
        // The kernel has no other that is both.
        swap_acq_rel(1) -> "xchg" "full";
        fetch_add_relaxed(1) -> "fetch_add" "relaxed";
        fetch_add_acquire(1) -> "fetch_add" "acquire";
        fetch_add_release(1) -> "fetch_add" "release";
        inc_release() -> "fetch_add" "release";
        cmpxchg_relaxed(7, 1) -> "cmpxchg" "relaxed";
        cmpxchg_acquire(7, 1) -> "cmpxchg" "acquire";
        cmpxchg_release(7, 1) -> "cmpxchg" "release";
        // It releases, and what it acquires is its own value or a later one.
        swap_acq_rel_part(0xf, 1) -> "load" "relaxed", "cmpxchg" "release", "load" "acquire";
        store_relaxed_part(7, 1) -> "fetch_add" "relaxed";
        store_release_part(7, 1) -> "fetch_add" "release";
        wait_acquire(Awaited::is(7)) -> "load" "acquire";
    };
    for (method, seen, due) in all {
        assert_eq!(seen, due, "{method}");
    }
}

/// What each step does to a word, in either way to write it.
#[test]
fn a_word_does_what_it_says() {
    use locks::Word as _;

    let word = Word::new(u32::MAX);
    assert_eq!(word.fetch_add_relaxed(2), u32::MAX);
    assert_eq!(word.fetch_add_acquire(3), 1);
    assert_eq!(word.fetch_add_release(4), 4);
    word.inc_release();
    assert_eq!(word.swap_acq_rel(20), 9);
    assert!(!word.cmpxchg_relaxed(21, 30) && word.cmpxchg_relaxed(20, 30));
    assert!(!word.cmpxchg_acquire(31, 40) && word.cmpxchg_acquire(30, 40));
    assert!(!word.cmpxchg_release(41, 50) && word.cmpxchg_release(40, 50));
    assert_eq!((word.load_relaxed(), word.load_acquire()), (50, 50));
    word.store_relaxed(0x12);
    word.store_release_part(0x10, 0x30);
    word.store_relaxed_part(0x02, 0x01);
    assert_eq!(word.swap_acq_rel_part(0xf0, 0x50), 0x31);
    assert_eq!(word.wait_acquire(Awaited::is(0x51)), 0x51);
}

/// Two threads, each step again and again, until they have often met at work. What one of them adds is never lost, and
/// what one swaps goes to one. Its name is the first, so that it runs first: others hang where it fails.
#[test]
fn a_step_is_one_step() {
    use locks::Word as _;

    const MEETINGS: u32 = 5_000;
    let meetings = AtomicU32::new(0);
    let (sum, counted, token) = (Word::new(0), Word::new(0), Word::new(0));
    let end = Instant::now() + Duration::from_secs(30);
    let steps = &|mut mine: u32| {
        let mut laps = 0;
        while meetings.load(SeqCst) < MEETINGS && Instant::now() < end {
            laps += 1;
            let before = sum.fetch_add_relaxed(1);
            sum.fetch_add_acquire(2);
            sum.fetch_add_release(3);
            sum.inc_release();
            if sum.load_relaxed() != before.wrapping_add(7) {
                meetings.fetch_add(1, SeqCst);
            }
            for cmpxchg in [
                Word::cmpxchg_relaxed,
                Word::cmpxchg_acquire,
                Word::cmpxchg_release,
            ] {
                let mut old = counted.load_relaxed();
                while !cmpxchg(&counted, old, old.wrapping_add(1)) {
                    old = counted.load_relaxed();
                }
            }
            mine = token.swap_acq_rel(mine);
            events();
        }
        (laps, mine)
    };
    let [one, other] = std::thread::scope(|scope| {
        let all = [1, 2].map(|mine| scope.spawn(move || steps(mine)));
        all.map(|thread| thread.join().unwrap())
    });
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    assert!(
        cpus == 1 || meetings.into_inner() >= MEETINGS,
        "they seldom met"
    );
    let laps = u32::wrapping_add(one.0, other.0);
    let mut tokens = [one.1, other.1, token.load_relaxed()];
    tokens.sort_unstable();
    assert_eq!(tokens, [0, 1, 2], "after swaps");
    assert_eq!(sum.load_relaxed(), laps.wrapping_mul(7), "after adds");
    assert_eq!(
        counted.load_relaxed(),
        laps.wrapping_mul(3),
        "after cmpxchg"
    );
}
