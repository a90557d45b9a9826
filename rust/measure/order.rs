// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Which lock and which number of writers come next.

/// The numbers 0 to `count` - 1, beginning with `first`, counted around.
///
/// Each run begins with another lock, so that what disturbs one disturbs all.
pub fn from(first: usize, count: usize) -> impl Iterator<Item = usize> {
    let first = first.checked_rem(count).unwrap_or(0);
    Iterator::chain(first..count, 0..first)
}

/// Fills `points` with 1, 2, 4 and so on below `most`, and `most` itself. Returns how
/// many there are; those that have no room are left out.
///
/// `most` is at least 1.
pub fn sweep(points: &mut [i32], most: u32) -> usize {
    let most = most.max(1);
    let powers = (0..u32::BITS).map(|power| 1 << power);
    let below = powers.take_while(|&power| power < most);
    let mut filled = 0;
    for (point, writers) in points.iter_mut().zip(Iterator::chain(below, [most])) {
        *point = i32::try_from(writers).unwrap_or(i32::MAX);
        filled += 1;
    }
    filled
}
