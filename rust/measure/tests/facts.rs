// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What an experiment's facts make of what was seen, case by case.

use handover_measure::facts::{governor, is_patched, Answers, SlowPath, Tracers, CODE, GOVERNOR};
use proptest::prelude::*;

/// A tail of the queue alone is the paravirtual slow path's. The native one has the pending bit, and no tail.
#[test]
fn a_word_says_its_slow_path() {
    let names = [
        (SlowPath::Native, "qspinlock-native"),
        (SlowPath::Paravirt, "qspinlock-paravirt"),
        (SlowPath::TestAndSet, "test-and-set"),
        (SlowPath::Unknown, "unknown"),
    ];
    for (path, name) in names {
        assert_eq!(path.name(), name);
    }
    for owner in [0, 1, 2] {
        for pending in [0, 1] {
            for tail in [0, 1, 4, 0xffff] {
                for arrived in [false, true] {
                    for alone in [0, 1, 2, 0x101] {
                        let due = match (owner, pending, tail, arrived, alone) {
                            (1, 0, 0, true, 1) => SlowPath::TestAndSet,
                            (1, 1, 0, true, 1) => SlowPath::Native,
                            (_, _, 1.., true, 1) => SlowPath::Paravirt,
                            _ => SlowPath::Unknown,
                        };
                        let word = owner + 256 * pending + 65536 * tail;
                        let said = SlowPath::of_words(alone, word, arrived);
                        assert_eq!(said, due, "{word:#x}, {alone:#x}, {arrived}");
                    }
                }
            }
        }
    }
}

/// The first answer that is believed is a qspinlock's, or a test-and-set right after another.
#[test]
fn test_and_set_is_believed_twice() {
    use SlowPath::{Native, Paravirt, TestAndSet, Unknown};
    let all = [Native, Paravirt, TestAndSet, Unknown];
    for number in 0..256 {
        let asked = [0, 2, 4, 6].map(|shift| all[(number >> shift) & 3]);
        let due = asked.iter().enumerate().position(|(at, now)| match now {
            Native | Paravirt => true,
            TestAndSet => at > 0 && asked[at - 1] == TestAndSet,
            Unknown => false,
        });
        let mut answers = Answers::new();
        let said = asked.map(|now| answers.believed(now));
        let first = said.iter().position(Option::is_some);
        assert_eq!(first, due, "{asked:?}");
        if let Some(at) = first {
            assert_eq!(said[at], Some(asked[at]));
        }
    }
}

#[test]
fn tracers_are_words() {
    for (calls, events, names, due) in [
        (0, 0, "", "none"),
        (1, 0, "", "calls"),
        (-1, 0, "", "calls-unknown"),
        (0, 1, "a", "a"),
        (0, 2, "a,b", "a,b"),
        (0, 5, "a,b", "a,b,and-3-more"),
        (0, 2, "", "and-2-more"),
        (1, 2, "a,b", "calls,a,b"),
        (-1, 3, "a,b", "calls-unknown,a,b,and-1-more"),
        (1, 1, "", "calls,and-1-more"),
    ] {
        let tracers = Tracers {
            calls,
            events,
            names,
        };
        assert_eq!(tracers.to_string(), due);
    }
}

/// What a tracer patches in is a call, a jump or a breakpoint, after a function's first word.
#[test]
fn what_is_patched_in_is_seen() {
    let endbr = 0xfa1e_0ff3_u32.to_le_bytes();
    for entry in 0..=255 {
        let due = [0xe8, 0xe9, 0xcc].contains(&entry);
        for rest in [[0; CODE - 5], [0xe8; CODE - 5], [0xff; CODE - 5]] {
            let (mut behind, mut alone) = ([0; CODE], [0; CODE]);
            behind[..4].copy_from_slice(&endbr);
            behind[4] = entry;
            behind[5..].copy_from_slice(&rest);
            assert_eq!(is_patched(behind, true), Some(due), "{entry:#x}");
            assert_eq!(is_patched(behind, false), Some(due), "{entry:#x}");
            alone[0] = entry;
            alone[1..5].copy_from_slice(&rest);
            assert_eq!(is_patched(alone, false), Some(due), "{entry:#x}");
            assert_eq!(is_patched(alone, true), None, "{entry:#x}");
        }
    }
    // All four bytes of the word count.
    for at in 0..4 {
        let mut code = [0; CODE];
        code[..4].copy_from_slice(&endbr);
        code[at] ^= 1;
        code[4] = 0xcc;
        assert_eq!(is_patched(code, true), None);
        assert_eq!(is_patched(code, false), Some(false));
    }
}

proptest! {
    /// CPUs have one governor if those on line have the same. What is behind a name, or behind the last CPU, does not count.
    #[test]
    fn governors_are_one_or_mixed(
        cpus in prop::collection::vec(
            (
                prop_oneof![1 => Just(0), 3 => Just(1)],
                prop::sample::select(vec!["", "a", "performance", "powersave", "a_name_of_all_16", "another_of_all16"]),
                any::<u8>(),
            ),
            0..5,
        ),
        after in prop::collection::vec(-3i32..2, 0..3),
    ) {
        let each = cpus.iter().map(|(online, name, behind)| {
            let mut bytes = [*behind; GOVERNOR];
            bytes[..name.len()].copy_from_slice(name.as_bytes());
            if let Some(end) = bytes.get_mut(name.len()) {
                *end = 0;
            }
            (*online, bytes)
        });
        let none = std::iter::once(-2).chain(after);
        let said = governor(each.chain(none.map(|online| (online, [b'x'; GOVERNOR]))));
        let said = said.split(|byte| *byte == 0).next().unwrap_or_default();
        let names: Vec<&str> = cpus.iter().filter(|(online, ..)| *online == 1).map(|(_, name, _)| *name).collect();
        let first = names.first().copied().unwrap_or_default();
        let due = match names.iter().all(|name| *name == first) {
            true if first.is_empty() => "none",
            true => first,
            false => "mixed",
        };
        prop_assert_eq!(std::str::from_utf8(said).unwrap(), due);
    }
}
