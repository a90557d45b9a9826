// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The states of a lock, as one CPU sees them.

use handover_locks::*;

use super::{
    scripted::{Script, Scripted, Word},
    NEAR_WRAP,
};

/// A free lock is taken by `lock` and by `try_lock`, an owned one by neither. Nothing is left in use.
fn free_and_owned<L: RawLock<Scripted> + Make<Word>>() {
    let script = Script::new();
    let world = Scripted::new(script);
    let lock = L::make(NEAR_WRAP, |value| Word::new(value, script));
    let owned = |token| {
        assert!(lock.is_locked());
        // It fails without a write, which would take the line from the owner. So it changes nothing.
        let writes = script.writes.get();
        assert_eq!(lock.try_lock(&world), None, "an owned lock");
        assert_eq!(script.writes.get(), writes, "a failing try wrote");
        lock.unlock(&world, token);
        assert!(!lock.is_locked());
        assert_eq!(world.nodes_in_use(), 0);
    };
    assert!(!lock.is_locked());
    for _ in 0..4 {
        owned(lock.lock(&world));
        owned(lock.try_lock(&world).expect("a free lock"));
    }
}

/// A try fails where another thread comes between its look and its step, and changes nothing.
fn overtaken_try<L: RawLock<Scripted> + Make<Word> + 'static>() {
    let script = Script::new();
    let world: &Scripted = Box::leak(Box::new(Scripted::new(script)));
    let lock: &L = Box::leak(Box::new(L::make(NEAR_WRAP, |value| {
        Word::new(value, script)
    })));
    let other = Box::leak(Box::new(std::cell::Cell::new(None)));
    let taken = &*other;
    script.before_cmpxchg(move || taken.set(Some(lock.lock(world))));
    assert_eq!(
        lock.try_lock(world),
        None,
        "a lock that was taken meanwhile"
    );
    let owner = other.take().expect("the try makes no cmpxchg");
    assert!(lock.is_locked());
    lock.unlock(world, owner);
    assert!(!lock.is_locked());
    assert_eq!(world.nodes_in_use(), 0);
}

/// Tokens are tickets where the lock says so, and nowhere else. Tickets are given out one by one, across
/// the wrap, by `lock` and by `try_lock`.
fn tickets_in_order<L: RawLock<Scripted> + Make<Word>>() {
    let script = Script::new();
    let world = Scripted::new(script);
    let lock = L::make(NEAR_WRAP, |value| Word::new(value, script));
    let mask = u32::MAX
        .checked_shr(32 - L::TICKET_BITS)
        .unwrap_or(u32::MAX);
    let mut are_tickets = true;
    for ahead in 0..8u32 {
        let got = if ahead % 2 == 0 {
            lock.lock(&world)
        } else {
            lock.try_lock(&world).unwrap()
        };
        are_tickets &= got == NEAR_WRAP.wrapping_add(ahead) & mask;
        lock.unlock(&world, got);
    }
    assert_eq!(are_tickets, L::TICKET_BITS != 0);
}

/// Two locks do not mix, and are given back in any order.
fn two_at_a_time<L: RawLock<Scripted> + Make<Word>>() {
    let script = Script::new();
    let world = Scripted::new(script);
    let [one, other] = [(); 2].map(|()| L::make(0, |value| Word::new(value, script)));
    for one_first in [true, false] {
        let tokens = (one.lock(&world), other.lock(&world));
        assert!(one.is_locked() && other.is_locked());
        if one_first {
            one.unlock(&world, tokens.0);
            assert!(!one.is_locked() && other.is_locked());
            other.unlock(&world, tokens.1);
        } else {
            other.unlock(&world, tokens.1);
            assert!(one.is_locked() && !other.is_locked());
            one.unlock(&world, tokens.0);
        }
        assert_eq!(world.nodes_in_use(), 0);
    }
}

/// The list says of a lock what the lock says: whether it excludes, whether it is FIFO, and its type.
fn as_listed<L: RawLock<Scripted>>(name: &str, lock: &str, about: &str) {
    assert_eq!(L::EXCLUDES, about.contains("exclusion"), "{about}");
    assert_eq!(L::FIFO, about.contains("FIFO"), "{about}");
    let word = |word: &str| word[..1].to_uppercase() + &word[1..];
    let of_name: String = name.split('_').map(word).collect();
    let of_type = lock.split(['<', ' ']).next();
    assert_eq!(of_type, Some(&of_name[..]), "{name}: {lock}");
}

/// A `lock` that finds an owner tells the world of its contention, once, around all its waiting. With or
/// without a node. Nothing else does.
fn told_of_contention<L: RawLock<Scripted> + Make<Word> + 'static>() {
    for has_node in [true, false] {
        let script = Script::new();
        let world: &Scripted = Box::leak(Box::new(Scripted::new(script)));
        let lock: &L = Box::leak(Box::new(L::make(NEAR_WRAP, |value| {
            Word::new(value, script)
        })));
        let told = || std::mem::take(&mut *script.contended.borrow_mut());
        let owner = lock.lock(world);
        lock.unlock(world, owner);
        let owner = lock.try_lock(world).expect("a free lock");
        assert_eq!(lock.try_lock(world), None);
        assert_eq!(told(), [], "it was not contended");

        while !has_node && world.take().is_some() {}
        script.then(|| ());
        script.then(move || lock.unlock(world, owner));
        let owner = lock.lock(world);
        assert_eq!(told(), [std::ptr::from_ref(lock) as usize]);
        lock.unlock(world, owner);
        assert_eq!(told(), []);
        assert_eq!(script.waits_untold.get(), 0, "a wait that is not told of");
        assert_eq!(script.early_ends.get(), 0, "others were before it");
    }
}

/// A thread without a node that is overtaken when the lock is free waits again.
fn waits_again_without_a_node<L: RawLock<Scripted> + Make<Word> + 'static>() {
    let script = Script::new();
    let world: &Scripted = Box::leak(Box::new(Scripted::new(script)));
    let lock: &L = Box::leak(Box::new(L::make(0, |value| Word::new(value, script))));
    let owner = lock.try_lock(world).expect("a free lock");
    while world.take().is_some() {}
    let taken: &std::cell::Cell<_> = Box::leak(Box::new(std::cell::Cell::new(None)));
    script.then(move || lock.unlock(world, owner));
    // The owner's own, the one that is overtaken, and the overtaker's.
    script.before_cmpxchg(|| ());
    script.before_cmpxchg(move || taken.set(lock.try_lock(world)));
    script.before_cmpxchg(|| ());
    script.then(move || lock.unlock(world, taken.get().expect("nobody was overtaken")));
    let token = lock.lock(world);
    assert_eq!(script.early_ends.get(), 0, "another thread owned it");
    assert!(lock.is_locked());
    lock.unlock(world, token);
    assert!(!lock.is_locked());
}

#[test]
fn mcs_and_clh_wait_again_without_a_node() {
    waits_again_without_a_node::<Mcs<Word>>();
    waits_again_without_a_node::<Clh<Word>>();
}

macro_rules! tests {
    ($($name:ident: $lock:ty = $kind:ident, $about:literal;)*) => {
        $(tests!(@$kind $name, $lock, $about);)*
    };
    (@control $name:ident, $lock:ty, $about:literal) => {
        mod $name {
            use super::*;

            #[test]
            fn kind() {
                super::as_listed::<$lock>(stringify!($name), stringify!($lock), $about);
                assert!(!<$lock as RawLock<Scripted>>::EXCLUDES);
            }
        }
    };
    (@$kind:ident $name:ident, $lock:ty, $about:literal) => {
        mod $name {
            use super::*;

            #[test]
            fn kind() {
                super::as_listed::<$lock>(stringify!($name), stringify!($lock), $about);
                assert!(<$lock as RawLock<Scripted>>::EXCLUDES);
            }

            #[test]
            fn free_and_owned() {
                super::free_and_owned::<$lock>();
            }

            #[test]
            fn overtaken_try() {
                super::overtaken_try::<$lock>();
            }

            #[test]
            fn tickets_in_order() {
                super::tickets_in_order::<$lock>();
            }

            #[test]
            fn told_of_contention() {
                super::told_of_contention::<$lock>();
            }

            #[test]
            fn two_at_a_time() {
                super::two_at_a_time::<$lock>();
            }
        }
    };
}
for_each_lock!(tests);

#[test]
fn a_word_is_four_bytes_and_apart_two_lines() {
    assert_eq!(size_of::<OneWordTwa<u32>>(), 4);
    assert_eq!(size_of::<Twa<u32>>(), 8);
    assert_eq!(size_of::<Twa<Apart<u32>>>(), 256);
}

#[test]
fn busted_excludes_nobody() {
    fn test<L: RawLock<Scripted>>(lock: &L, world: &Scripted) {
        const { assert!(!L::EXCLUDES && !L::FIFO && L::TICKET_BITS == 0) };
        assert_eq!([lock.lock(world), lock.lock(world)], [0, 0]);
        assert_eq!(lock.try_lock(world), Some(0));
        assert!(!lock.is_locked());
    }
    test(&Busted, &Scripted::new(Script::new()));
}
