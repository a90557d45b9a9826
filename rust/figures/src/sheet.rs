// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! CSV files, read with a line of their own for each mistake.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use csv::{DeserializeErrorKind, ErrorKind, Reader, StringRecord};
use serde::de::DeserializeOwned;

/// A row that says what may stand in it.
///
/// # Examples
///
/// ```
/// use figures::sheet::{parse, Checked};
///
/// #[derive(Debug, serde::Deserialize)]
/// struct Run {
///     lock: String,
///     writers: u32,
/// }
///
/// impl Checked for Run {
///     const COLUMNS: &'static [&'static str] = &["lock", "writers"];
///
///     fn wrong(&self) -> Option<(&'static str, &'static str)> {
///         (self.writers == 0).then_some(("writers", "from 1"))
///     }
///
///     fn identity(&self) -> String {
///         format!("{}, {} writers", self.lock, self.writers)
///     }
/// }
///
/// let runs: Vec<Run> = parse("lock,writers\ntwa,2\n")?;
/// assert_eq!(runs[0].identity(), "twa, 2 writers");
/// let why = parse::<Run>("lock,writers\ntwa,0\n").unwrap_err();
/// assert_eq!(why, " line 2: column `writers`: `0`; allowed: from 1");
/// # Ok::<(), String>(())
/// ```
pub trait Checked: DeserializeOwned {
    /// What the file must have. It may have more.
    const COLUMNS: &'static [&'static str];

    /// A column whose value makes no sense, and what is allowed there.
    fn wrong(&self) -> Option<(&'static str, &'static str)>;

    /// What tells it from all others of the file.
    fn identity(&self) -> String;
}

/// A file's rows.
///
/// # Errors
/// One line that names the file, the line and the column, and what is allowed there. Faults
/// of the file: it cannot be read, lacks a column, or has no row. Faults of its rows: a value
/// is none of its column, or two rows have the same identity.
pub fn read<R: Checked>(path: &Path) -> Result<Vec<R>, String> {
    let text = fs::read_to_string(path);
    let text = text.map_err(|error| format!("{}: {error}", path.display()))?;
    parse(&text).map_err(|why| format!("{}{why}", path.display()))
}

/// The rows of a file with this text; what is said of it begins behind the file's name.
///
/// # Errors
/// The errors of [`read`].
pub fn parse<R: Checked>(text: &str) -> Result<Vec<R>, String> {
    let mut reader = Reader::from_reader(text.as_bytes());
    let header = reader
        .headers()
        .map_err(|error| format!(": {error}"))?
        .clone();
    for column in R::COLUMNS {
        let there = header.iter().filter(|it| it == column).count();
        if there != 1 {
            return Err(format!(
                " line 1: column `{column}` is there {there} times; allowed: once, as each of {}",
                R::COLUMNS.join(",")
            ));
        }
    }
    let (mut rows, mut seen) = (Vec::new(), BTreeSet::new());
    for record in reader.records() {
        let record = record.map_err(|error| match error.kind() {
            ErrorKind::UnequalLengths {
                pos,
                len,
                expected_len,
            } => format!(
                " line {}: {len} columns; allowed: {expected_len}, as in line 1",
                pos.as_ref().map_or(0, csv::Position::line)
            ),
            _ => format!(": {error}"),
        })?;
        let line = record.position().map_or(0, csv::Position::line);
        let row: R = record
            .deserialize(Some(&header))
            .map_err(|error| format!(" line {line}: {}", refused(&error, &header, &record)))?;
        if let Some((column, allowed)) = row.wrong() {
            let at = header.iter().position(|it| it == column);
            let value = at.and_then(|at| record.get(at)).unwrap_or_default();
            return Err(format!(
                " line {line}: column `{column}`: `{value}`; allowed: {allowed}"
            ));
        }
        if !seen.insert(row.identity()) {
            return Err(format!(
                " line {line}: a second row of {}; allowed: one",
                row.identity()
            ));
        }
        rows.push(row);
    }
    match rows.is_empty() {
        true => Err(": no rows; allowed: one at least below the header".into()),
        false => Ok(rows),
    }
}

/// Which value is none of its column.
fn refused(error: &csv::Error, header: &StringRecord, record: &StringRecord) -> String {
    let ErrorKind::Deserialize { err, .. } = error.kind() else {
        return error.to_string();
    };
    let at = err.field().and_then(|it| usize::try_from(it).ok());
    let part = |of: &StringRecord| at.and_then(|at| of.get(at)).unwrap_or("?").to_owned();
    let allowed = match err.kind() {
        DeserializeErrorKind::ParseInt(_) => "a whole number of its size".into(),
        DeserializeErrorKind::ParseFloat(_) => "a number".into(),
        other => other.to_string(),
    };
    format!(
        "column `{}`: `{}`; allowed: {allowed}",
        part(header),
        part(record)
    )
}
