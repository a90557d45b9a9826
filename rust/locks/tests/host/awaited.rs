// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What a word is awaited to be: asked of all words of a few bits.

use handover_locks::Awaited;

/// Words of so many bits.
const WORDS: u32 = 16;

/// Each way to await, of each value, with what must hold of a word then.
fn all() -> impl Iterator<Item = (String, Awaited, Box<dyn Fn(u32) -> bool>)> {
    let of_all_bits = (0..WORDS).flat_map(|value| {
        let is: Box<dyn Fn(u32) -> bool> = Box::new(move |word| word == value);
        let not: Box<dyn Fn(u32) -> bool> = Box::new(move |word| word != value);
        [
            (format!("is {value}"), Awaited::is(value), is),
            (format!("not {value}"), Awaited::not(value), not),
        ]
    });
    let of_some = (0..WORDS).flat_map(|mask| {
        (0..WORDS)
            .filter(move |value| value & !mask == 0)
            .map(move |value| {
                let holds: Box<dyn Fn(u32) -> bool> = Box::new(move |word| {
                    (0..4).all(|bit| {
                        (mask >> bit) & 1 == 0 || (word >> bit) & 1 == (value >> bit) & 1
                    })
                });
                (
                    format!("{value} of {mask}"),
                    Awaited::bits(mask, value),
                    holds,
                )
            })
    });
    of_all_bits.chain(of_some)
}

#[test]
fn a_word_is_as_awaited() {
    for (name, awaited, holds) in all() {
        for word in 0..WORDS {
            assert_eq!(awaited.holds(word), holds(word), "{name}: {word}");
        }
    }
}

/// The bits of a mask are fixed where all words that are as awaited have the same ones there.
#[test]
fn bits_are_fixed_where_all_words_agree() {
    for (name, awaited, holds) in all() {
        for mask in 1..WORDS {
            let mut seen: Vec<u32> = (0..WORDS)
                .filter(|word| holds(*word))
                .map(|word| word & mask)
                .collect();
            seen.dedup();
            let fixed = (seen.len() == 1).then(|| seen[0]);
            assert_eq!(awaited.fixed(mask), fixed, "{name}: bits {mask}");
        }
    }
}
