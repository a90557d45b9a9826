// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The writers' generator, and a run's first ticket.

/// Marsaglia's xorshift, 64 bits (*Xorshift RNGs*, 2003). Not a linear congruence: a
/// compiler can jump ahead in that.
///
/// # Examples
///
/// ```
/// use handover_measure::prng::Prng;
///
/// let (mut one, mut other) = (Prng::new(7), Prng::new(7));
/// other.steps(3);
/// for _ in 0..3 {
///     assert_ne!(one.step(), 0);
/// }
/// assert_eq!(one.state(), other.state());
/// assert!(one.below(10) < 10);
/// ```
pub struct Prng(u64);

impl Prng {
    /// Spreads a seed (SplitMix64's finaliser), so that neighbours differ.
    pub const fn new(seed: u64) -> Self {
        let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        Self((z ^ (z >> 31)) | 1)
    }

    /// The next number; never 0.
    #[inline(always)]
    pub fn step(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// `n` steps.
    #[inline(always)]
    pub fn steps(&mut self, n: u32) {
        for _ in 0..n {
            self.step();
        }
    }

    /// A number less than `n`, or 0 if `n` is 0.
    #[inline(always)]
    pub fn below(&mut self, n: u32) -> u32 {
        (((self.step() >> 32) * u64::from(n)) >> 32) as u32
    }

    /// The state after the last step.
    #[inline(always)]
    pub fn state(&mut self) -> &mut u64 {
        &mut self.0
    }
}

/// The first ticket of a run, drawn from its seed and its number of writers. Runs of several
/// locks that share both begin with the same ticket. It lies at most as many tickets before the
/// wrap of 2^32 as there are writers. Each writer acquires once before anything is measured. So
/// every run crosses the wrap. The writers begin together, so that some wait across it.
pub fn first_ticket(seed: u64, writers: u32) -> u32 {
    // Writers draw theirs from the seed and their number, which is shifted by 32.
    let mut prng = Prng::new(seed ^ (u64::from(writers) << 48));
    0u32.wrapping_sub(1 + prng.below(writers))
}
