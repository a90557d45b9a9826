// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The sections of a program, out of what `handover-run --profile` writes.

use std::{fs, path::Path, sync::LazyLock};

use rand::Rng;
use rand_pcg::Pcg64Mcg;
use serde::Deserialize;
use thiserror::Error;

/// The last place of a histogram, which has all longer times, too.
const LAST: u32 = 39;

/// The last place that is drawn: lengths of 131 us and more are left out. They are of the program's beginning and end, and of
/// times in which another thread had the CPU.
const DRAWN: u32 = 16;

/// A mutex of a program: how long it was held, and how long a thread then left it alone.
///
/// A length is drawn from the histogram: a place by its count, then any length of the place. Lengths of 131 us and more are
/// left out. Each is drawn by itself: the order in which they came is lost.
///
/// # Examples
///
/// ```
/// use coherence::Profile;
///
/// let said = "address,symbol,calls,contended,hold_ns,gap_ns,hold,gap\n\
///             0x10,leveldb+0x8,3,0,280,2000,6:2 7:1,9:1 10:1\n";
/// let profile = Profile::read("profile", said, None).unwrap();
/// assert_eq!((profile.hold(), profile.gap()), ((2.0 * 96.0 + 192.0) / 3.0, (768.0 + 1536.0) / 2.0));
/// ```
#[derive(Clone, Debug, PartialEq)]
pub struct Profile {
    name: &'static str,
    pub(crate) hold: Lengths,
    pub(crate) gap: Lengths,
}

/// Why there is no profile.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NoProfile {
    /// The text is no such table.
    #[error("{0}")]
    NoTable(String),
    /// No row has the mutex, or the table has none.
    #[error("no mutex{}", .0.as_ref().map_or_else(String::new, |it| format!(" has the symbol or address {it}")))]
    NoMutex(Option<String>),
    /// A histogram that is none, or does not fit its sum.
    #[error("{column} of {symbol}: {why}")]
    NoLengths {
        /// `hold` or `gap`.
        column: &'static str,
        /// The mutex.
        symbol: String,
        /// What is due.
        why: String,
    },
}

#[derive(Deserialize)]
struct Row {
    address: String,
    symbol: String,
    calls: u64,
    hold_ns: Option<u64>,
    gap_ns: Option<u64>,
    hold: String,
    gap: String,
}

impl Profile {
    /// A mutex of a profile's text, by its symbol or address. Without one the mutex that was acquired most.
    ///
    /// # Errors
    ///
    /// One line that says what is wrong with the text.
    pub fn read(name: &'static str, text: &str, mutex: Option<&str>) -> Result<Self, NoProfile> {
        let mut rows = csv::Reader::from_reader(text.as_bytes());
        let mut found: Option<Row> = None;
        for row in rows.deserialize() {
            let row: Row = row.map_err(|error| NoProfile::NoTable(error.to_string()))?;
            let is_asked = mutex.is_none_or(|it| row.symbol == it || row.address == it);
            // The row of all others is of no mutex.
            let is_one = !row.address.is_empty();
            if is_asked && is_one && found.as_ref().is_none_or(|it| row.calls > it.calls) {
                found = Some(row);
            }
        }
        let row = found.ok_or_else(|| NoProfile::NoMutex(mutex.map(str::to_owned)))?;
        let lengths = |column, histogram: &str, sum: Option<u64>| {
            Lengths::read(histogram, sum.unwrap_or(0)).map_err(|why| NoProfile::NoLengths {
                column,
                symbol: row.symbol.clone(),
                why,
            })
        };
        Ok(Self {
            name,
            hold: lengths("hold", &row.hold, row.hold_ns)?,
            gap: lengths("gap", &row.gap, row.gap_ns)?,
        })
    }

    /// As [`read`](Self::read), of a file, for as long as the program runs.
    ///
    /// # Errors
    ///
    /// One line that names the file.
    pub fn open(file: &Path, mutex: Option<&str>) -> Result<&'static Self, String> {
        let text = fs::read_to_string(file).map_err(|error| error.to_string());
        text.and_then(|it| Self::read("profile", &it, mutex).map_err(|error| error.to_string()))
            .map(|it| &*Box::leak(Box::new(it)))
            .map_err(|why| format!("{}: {why}", file.display()))
    }

    /// What a table calls the program.
    pub fn name(&self) -> &'static str {
        self.name
    }

    /// The mean of the holds that are drawn, in nanoseconds.
    pub fn hold(&self) -> f64 {
        self.hold.mean
    }

    /// The mean of the gaps that are drawn, in nanoseconds.
    pub fn gap(&self) -> f64 {
        self.gap.mean
    }
}

/// The programs of the paper's sections 4.4 and 4.5. docs/coherence.md says how they were measured.
pub(crate) static PROGRAMS: LazyLock<[Profile; 2]> = LazyLock::new(|| {
    [
        ("leveldb", include_str!("../profiles/leveldb.csv")),
        ("rocksdb", include_str!("../profiles/rocksdb.csv")),
    ]
    .map(|(name, text)| {
        Profile::read(name, text, None).unwrap_or_else(|error| panic!("{name}: {error}"))
    })
});

/// Lengths by their logarithm, and their mean.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Lengths {
    /// How many lengths are in a place or before it, for each place.
    until: Vec<(u32, u64)>,
    mean: f64,
}

/// The bounds of a place: 2^place and twice that. The first begins at 0.
fn bounds(place: u32) -> (f64, f64) {
    let most = 2.0_f64.powi(place as i32 + 1);
    (if place == 0 { 0.0 } else { most / 2.0 }, most)
}

impl Lengths {
    /// `6:2 7:1`: two lengths of at least 2^6 ns and one of at least 2^7. The sum of all, in nanoseconds.
    fn read(histogram: &str, sum: u64) -> Result<Self, String> {
        let (mut until, mut all) = (Vec::new(), 0_u64);
        let (mut least, mut middle, mut most) = (0.0, 0.0, 0.0);
        let mut before = None;
        for word in histogram.split_whitespace() {
            let wrong =
                || format!("{word:?}: PLACE:COUNT is due, with places to {LAST} in their order");
            let (place, count) = word.split_once(':').ok_or_else(wrong)?;
            let place: u32 = place.parse().map_err(|_| wrong())?;
            let count: u64 = count.parse().map_err(|_| wrong())?;
            if place > LAST || count == 0 || before.is_some_and(|it| it >= place) {
                return Err(wrong());
            }
            before = Some(place);
            let (from, to) = bounds(place);
            let many = count as f64;
            least += many * from;
            most += many * if place == LAST { f64::INFINITY } else { to };
            if place <= DRAWN {
                all = all.checked_add(count).ok_or_else(wrong)?;
                until.push((place, all));
                middle += many * (from + to) / 2.0;
            }
        }
        if all == 0 {
            return Err("a histogram with lengths below 131 us is due".to_owned());
        }
        let sum = sum as f64;
        if sum < least || sum > most {
            return Err(format!("the sum {sum} is not that of such lengths"));
        }
        let mean = middle / all as f64;
        Ok(Self { until, mean })
    }

    /// A length, in nanoseconds.
    pub(crate) fn draw(&self, draw: &mut Pcg64Mcg) -> f64 {
        let all = self.until.last().expect("a place").1;
        let which = draw.random_range(0..all);
        let at = self.until.partition_point(|&(_, until)| until <= which);
        let (from, to) = bounds(self.until[at].0);
        draw.random_range(from..to)
    }
}

#[cfg(test)]
mod tests {
    use rand::SeedableRng;

    use super::*;

    const HEAD: &str = "address,symbol,calls,contended,hold_ns,gap_ns,hold,gap\n";

    fn read(rows: &str, mutex: Option<&str>) -> Result<Profile, NoProfile> {
        Profile::read("profile", &format!("{HEAD}{rows}"), mutex)
    }

    /// Shares of the places are the measured ones. What is too long is left out.
    #[test]
    fn lengths_are_drawn_as_they_were_measured() {
        // One of four is shorter than 2, two are from 16 on, and one is from 1024 on.
        let lengths =
            Lengths::read("0:100 4:200 10:100 17:50 30:1", 1_300_000_000).expect("lengths");
        let mean = (100.0 * 1.0 + 200.0 * 24.0 + 100.0 * 1536.0) / 400.0;
        assert_eq!(lengths.mean, mean);
        let mut draw = Pcg64Mcg::seed_from_u64(5);
        let drawn: Vec<f64> = (0..40_000).map(|_| lengths.draw(&mut draw)).collect();
        for (from, to, due) in [
            (0.0, 1.0, 0.125),
            (1.0, 2.0, 0.125),
            (16.0, 24.0, 0.25),
            (24.0, 32.0, 0.25),
            (1024.0, 1536.0, 0.125),
            (1536.0, 2048.0, 0.125),
        ] {
            let within = |it: &&f64| (from..to).contains(*it);
            let seen = drawn.iter().filter(within).count() as f64 / drawn.len() as f64;
            assert!(
                (seen - due).abs() < 0.01,
                "{from} to {to}: {seen}, {due} is due"
            );
        }
    }

    #[test]
    fn the_mutex_that_was_acquired_most_is_taken_or_the_one_asked_for() {
        let rows = "0x10,one,3,0,300,30,6:3,3:3\n0x20,two,5,0,40,500,3:5,6:5\n,others,99,,,,,\n0x30,two,4,0,400,8,6:4,1:4\n";
        let means = |mutex| read(rows, mutex).map(|it| (it.hold(), it.gap()));
        assert_eq!(means(None), Ok((12.0, 96.0)));
        assert_eq!(means(Some("one")), Ok((96.0, 12.0)));
        assert_eq!(means(Some("0x30")), Ok((96.0, 3.0)));
        assert_eq!(means(Some("two")), Ok((12.0, 96.0)));
        for none in ["others", "on", ""] {
            let due = NoProfile::NoMutex(Some(none.to_owned()));
            assert_eq!(means(Some(none)), Err(due));
        }
        assert_eq!(read("", None), Err(NoProfile::NoMutex(None)));
    }

    #[test]
    fn what_is_no_profile_gets_one_line() {
        for (rows, due) in [
            ("", "no mutex"),
            (
                "0x1,a,1,0,64,8,6;1,3:1\n",
                "hold of a: \"6;1\": PLACE:COUNT is due, with places to 39 in their order",
            ),
            (
                "0x1,a,1,0,64,8,6:1,3:0\n",
                "gap of a: \"3:0\": PLACE:COUNT is due, with places to 39 in their order",
            ),
            (
                "0x1,a,1,0,64,8,40:1,3:1\n",
                "hold of a: \"40:1\": PLACE:COUNT is due, with places to 39 in their order",
            ),
            (
                "0x1,a,2,0,136,8,7:1 6:1,3:1\n",
                "hold of a: \"6:1\": PLACE:COUNT is due, with places to 39 in their order",
            ),
            (
                "0x1,a,1,0,63,8,6:1,3:1\n",
                "hold of a: the sum 63 is not that of such lengths",
            ),
            (
                "0x1,a,1,0,129,8,6:1,3:1\n",
                "hold of a: the sum 129 is not that of such lengths",
            ),
            (
                "0x1,a,1,0,64,,6:1,\n",
                "gap of a: a histogram with lengths below 131 us is due",
            ),
            (
                "0x1,a,1,0,200000,8,17:1,3:1\n",
                "hold of a: a histogram with lengths below 131 us is due",
            ),
        ] {
            let why = read(rows, None).expect_err(rows).to_string();
            assert_eq!(why, due);
        }
        let why = Profile::read("profile", "address,symbol\n1,2\n", None).expect_err("columns");
        assert!(why.to_string().contains("missing field"), "{why}");
        let why = Profile::open(Path::new("/nowhere"), None).expect_err("no file");
        assert!(why.starts_with("/nowhere: "), "{why}");
    }
}
