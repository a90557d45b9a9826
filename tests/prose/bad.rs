// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A short sentence. A second sentence of the file's own comment: one two three four five six seven
//! eight nine ten eleven twelve thirteen.

/// Short.
///
/// - An item whose only sentence says one thing and then the next thing until it has
///   more words than all those twenty.
///
/// ```
/// let code = "is no sentence: one two three four five six seven eight nine ten eleven twelve thirteen
///     fourteen fifteen sixteen seventeen eighteen nineteen twenty twenty-one twenty-two twenty-three";
/// ```
fn planted() {
    // A comment within a function is not read: one two three four five six seven eight nine ten eleven
    // twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen twenty twenty-one.
    /* nothing */
}

/// Of a comment without a subject.
///
/// That is one, too. A later sentence may begin so. That holds here.
struct Planted {
    /// Whose it is.
    owner: u32,
    /// Those that wait, and
    /// Of them the first, which begins no comment.
    waiters: u32,
    /// Offers and thatched roofs are subjects.
    word: u32,
}
