// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! No locked instruction on the hot path.

use std::cell::Cell;
use std::sync::atomic::{AtomicU64, Ordering};

use rlock::{Counter, Lock, Owner, PerCpu, Slot};

use crate::trap::{self, Stepper};

/// Looks at each instruction before it is executed.
#[derive(Default)]
struct Look {
    all: Cell<u64>,
    locked: Cell<u64>,
}

/// Whether the instruction locks its line: by prefix, or as an exchange with memory.
///
/// # Safety
///
/// There must be an instruction.
unsafe fn is_locked(rip: u64) -> bool {
    let byte = |at: u64| {
        let at = std::ptr::with_exposed_provenance::<u8>((rip + at) as usize);
        // SAFETY: by the contract; an instruction has no more than fifteen bytes, and no
        // byte after it is looked at.
        unsafe { at.read() }
    };
    let mut at = 0;
    loop {
        match byte(at) {
            0xf0 => return true,
            0x26 | 0x2e | 0x36 | 0x3e | 0x64..=0x67 | 0xf2 | 0xf3 | 0x40..=0x4f => at += 1,
            0x86 | 0x87 => return byte(at + 1) >> 6 != 3,
            _ => return false,
        }
    }
}

impl Stepper for Look {
    fn at(&self, rip: u64) {
        self.all.set(self.all.get() + 1);
        // SAFETY: the next instruction is there.
        let locked = unsafe { is_locked(rip) };
        self.locked.set(self.locked.get() + u64::from(locked));
    }
}

/// The slot is looked for outside the section, and a field's address is known. So an operation on
/// any field has as many instructions as one on the whole.
#[test]
fn a_field_costs_nothing() {
    #[derive(Default)]
    struct Data {
        first: Slot,
        middle: [Slot; 8],
        last: Slot,
    }
    let _one = trap::install(false);
    let (whole, parts) = (Lock::new(Slot::new(0)), Lock::new(Data::default()));
    let owner = Owner::register().unwrap();
    let mut whole = owner.acquire(&whole).unwrap();
    let mut token = owner.acquire(&parts).unwrap();
    let (one, _) = look(|| whole.add(|slot| slot, 1).unwrap());
    let (two, _) = look(|| {
        whole.add(|slot| slot, 1).unwrap();
        whole.add(|slot| slot, 1).unwrap();
    });
    let (first, _) = look(|| token.add(|data| &data.first, 1).unwrap());
    let (middle, _) = look(|| token.add(|data| &data.middle[5], 1).unwrap());
    let (last, _) = look(|| token.add(|data| &data.last, 1).unwrap());
    println!("{one} {two} {first} {middle} {last}");
    assert_eq!((middle, last), (first, first));
    assert!(first.abs_diff(one) <= 1);
    // Fifteen: seven of the section, what reads and writes the token, which is in memory here, and
    // what looks at the result. To compare an address takes three more.
    let is_optimised = one < 60;
    assert!(!is_optimised || two - one <= 17, "{}", two - one);
}

fn look(body: impl FnOnce()) -> (u64, u64) {
    let look = Look::default();
    trap::step(&look, body);
    (look.all.get(), look.locked.get())
}

#[test]
fn no_locked_instruction_on_the_hot_path() {
    static COUNTER: Counter = Counter::new();
    static BYTES: PerCpu<Slot> = PerCpu::new(|| Slot::new(0));
    let _one = trap::install(false);
    let lock = Lock::new(Slot::new(0));
    let owner = Owner::register().unwrap();
    COUNTER.add(1);
    // The instances of all CPUs, so that to be moved does no harm.
    let before = rustix::thread::sched_getaffinity(None).unwrap();
    for cpu in (0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| before.is_set(cpu)) {
        let mut one = rustix::thread::CpuSet::new();
        one.set(cpu);
        rustix::thread::sched_setaffinity(None, &one).unwrap();
        BYTES.acquire(&owner).map(drop).unwrap();
    }
    owner.acquire(&lock).map(drop).unwrap();
    static WORD: AtomicU64 = AtomicU64::new(0);
    // That it sees one: this is what other locks do.
    let (_, locked) = look(|| assert_eq!(WORD.fetch_add(1, Ordering::Relaxed), 0));
    assert_eq!(locked, 1);
    let (_, locked) = look(|| assert_eq!(WORD.swap(2, Ordering::Relaxed), 1));
    assert_eq!(locked, 1);
    let (all, locked) = look(|| {
        let mut token = owner.acquire(&lock).unwrap();
        token.store(|slot| slot, 1).unwrap();
        token.add(|slot| slot, 1).unwrap();
        token.compare_and_store(|slot| slot, 2, 3).unwrap();
        token.stage(|slot| slot, |value| value + 1).unwrap();
        drop(token);
        COUNTER.add(1);
        let mut bytes = BYTES.acquire(&owner).unwrap();
        bytes.add(|slot| slot, 1).unwrap();
    });
    rustix::thread::sched_setaffinity(None, &before).unwrap();
    assert!(all > 50, "{all} instructions");
    assert_eq!(locked, 0, "of {all} instructions");
    assert_eq!(lock.load(), 4);
}
