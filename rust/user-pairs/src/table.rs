// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Samples, their medians, and the tables.

use std::{error::Error, fmt::Write, fs, path::Path};

use handover_measure::statistics::{hundredths, insertion_sort, median};

/// What one lock took in one round.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    /// The shape: nothing, or threads and locks.
    pub(crate) shape: String,
    pub(crate) lock: &'static str,
    pub(crate) round: u32,
    /// Picoseconds a pair: the median of the round's batches.
    pub(crate) ps: u64,
    /// The least of them.
    pub(crate) least_ps: u64,
}

impl Sample {
    /// A round's batches.
    pub(crate) fn of(
        shape: &str,
        lock: &'static str,
        round: u32,
        mut batches: Vec<u64>,
    ) -> Option<Self> {
        insertion_sort(&mut batches);
        Some(Self {
            shape: shape.to_owned(),
            lock,
            round,
            ps: median(&batches)?,
            least_ps: *batches.first()?,
        })
    }
}

/// A line of a table.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) shape: String,
    pub(crate) lock: &'static str,
    pub(crate) ps: u64,
    /// Hundredths of the base's: the median of the rounds' ratios, the least and the most.
    pub(crate) ratio: [u64; 3],
    /// The same of the least batches: the median alone.
    pub(crate) least_ratio: u64,
}

/// The rows, in the order of the samples. Ratios are to the lock `base` of the same shape and round.
pub(crate) fn rows(samples: &[Sample], base: &str) -> Option<Vec<Row>> {
    let mut rows: Vec<Row> = Vec::new();
    for first in samples {
        if rows
            .iter()
            .any(|row| row.shape == first.shape && row.lock == first.lock)
        {
            continue;
        }
        let same = |sample: &&Sample| sample.shape == first.shape && sample.lock == first.lock;
        let to_base = |of: fn(&Sample) -> u64| -> Option<Vec<u64>> {
            let mut ratios = Vec::new();
            for sample in samples.iter().filter(same) {
                let base = samples.iter().find(|other| {
                    (&*other.shape, other.lock, other.round) == (&*first.shape, base, sample.round)
                })?;
                ratios.push(hundredths(of(sample), of(base))?);
            }
            insertion_sort(&mut ratios);
            Some(ratios)
        };
        let ratios = to_base(|sample| sample.ps)?;
        let mut times: Vec<u64> = samples
            .iter()
            .filter(same)
            .map(|sample| sample.ps)
            .collect();
        insertion_sort(&mut times);
        rows.push(Row {
            shape: first.shape.clone(),
            lock: first.lock,
            ps: median(&times)?,
            ratio: [median(&ratios)?, *ratios.first()?, *ratios.last()?],
            least_ratio: median(&to_base(|sample| sample.least_ps)?)?,
        });
    }
    Some(rows)
}

fn decimal(hundredths: u64) -> String {
    format!("{}.{:02}", hundredths / 100, hundredths % 100)
}

/// The table. `shape` is the head of the first column; none where all have one shape.
pub(crate) fn table(rows: &[Row], shape: Option<&str>, base: &str) -> String {
    let mut text = String::new();
    let (head, line) = shape.map_or((String::new(), ""), |shape| (format!("| {shape} "), "|---"));
    let _ = writeln!(
        text,
        "{head}| lock | ns | to {base} | least | most | of least batches |"
    );
    let _ = writeln!(text, "{line}|---|---|---|---|---|---|");
    for row in rows {
        if shape.is_some() {
            let _ = write!(text, "| {} ", row.shape);
        }
        let [middle, least, most] = row.ratio.map(decimal);
        let _ = writeln!(
            text,
            "| {} | {}.{} | {middle} | {least} | {most} | {} |",
            row.lock,
            row.ps / 1000,
            row.ps % 1000 / 100,
            decimal(row.least_ratio),
        );
    }
    text
}

/// The order of the locks, not that of the last round.
pub(crate) fn sort(samples: &mut [Sample], names: &[&str]) {
    samples.sort_by_key(|sample| {
        (
            sample.round,
            names.iter().position(|name| *name == sample.lock),
        )
    });
}

/// Writes the samples, and prints the table.
pub(crate) fn tell(
    file: &Path,
    samples: &[Sample],
    shape: Option<&str>,
    base: &str,
) -> Result<(), Box<dyn Error>> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder)?;
    }
    let mut csv = csv::Writer::from_path(file)?;
    csv.write_record(["shape", "lock", "round", "ps", "least_ps"])?;
    for sample in samples {
        csv.write_record([
            &sample.shape,
            sample.lock,
            &sample.round.to_string(),
            &sample.ps.to_string(),
            &sample.least_ps.to_string(),
        ])?;
    }
    csv.flush()?;
    let rows = rows(samples, base).ok_or("a round without its base")?;
    print!("{}", table(&rows, shape, base));
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(lock: &'static str, round: u32, ps: u64) -> Sample {
        Sample {
            shape: "one".into(),
            lock,
            round,
            ps,
            least_ps: ps / 2,
        }
    }

    #[test]
    fn ratios_are_within_a_round() {
        // The machine is twice as slow in the second round, and four times in the third.
        let samples = [(0, 1), (1, 2), (2, 4)].map(|(round, slow)| {
            [
                sample("base", round, 1000 * slow),
                sample("ours", round, 1500 * slow + u64::from(round) * 40),
            ]
        });
        let rows = rows(samples.as_flattened(), "base").expect("each round has its base");
        assert_eq!(rows.len(), 2);
        assert_eq!((rows[0].ps, rows[0].ratio), (2000, [100, 100, 100]));
        assert_eq!((rows[1].ps, rows[1].ratio), (3040, [152, 150, 152]));
        assert_eq!(rows[1].least_ratio, 152);
        let text = table(&rows, None, "base");
        assert_eq!(
            text.lines().nth(3),
            Some("| ours | 3.0 | 1.52 | 1.50 | 1.52 | 1.52 |")
        );
    }

    #[test]
    fn a_round_without_its_base_has_no_ratio() {
        assert_eq!(
            rows(&[sample("ours", 0, 1), sample("base", 1, 1)], "base"),
            None
        );
    }

    #[test]
    fn a_sample_is_the_median_of_its_batches_and_the_least() {
        let sample = Sample::of("", "ours", 0, vec![9, 1, 5, 7, 3]).expect("there are batches");
        assert_eq!((sample.ps, sample.least_ps), (5, 1));
        assert!(Sample::of("", "ours", 0, vec![]).is_none());
    }
}
