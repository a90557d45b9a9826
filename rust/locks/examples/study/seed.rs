// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Numbers by chance that are the same for a seed, with every version of every library.

/// SplitMix64: Steele, Lea and Flood, "Fast Splittable Pseudorandom Number Generators", 2014.
pub(crate) struct Draws(u64);

impl Draws {
    /// The numbers of this seed.
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next one.
    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// One of 0 to `end` - 1, the high half of a product.
    pub(crate) fn below(&mut self, end: u32) -> u32 {
        (((self.next() >> 32) * u64::from(end)) >> 32) as u32
    }
}
