// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A run's figures: what it hangs on, and the files of its folder.

#[cfg(test)]
mod tests;

use std::path::Path;

use figures::alock::{self, Data, Table};
use figures::{files, Figure};

use crate::record::Record;

/// All that the run has points for.
pub(crate) fn of(record: &Record, table: &Table) -> Vec<Figure> {
    let about = record.about.as_ref();
    let place = about.map(|it| format!(", device {}, CPUs: {}", it.device, it.cpus));
    let points = record.points.iter();
    let data = Data {
        latencies: points.map(|it| (it.key, &it.latency[..])).collect(),
        place: place.unwrap_or_default(),
        remarks: about.and_then(|it| it.remark.clone()).into_iter().collect(),
    };
    alock::of(&data, table)
}

/// Removes what an earlier run drew.
pub(crate) fn remove(dir: &Path) -> Result<(), String> {
    let entries = std::fs::read_dir(dir).map_err(|it| format!("{}: {it}", dir.display()))?;
    for entry in entries {
        let entry = entry.map_err(|it| format!("{}: {it}", dir.display()))?;
        let name = entry.file_name();
        match name.to_str() {
            Some(name) if alock::is_name(name) => files::remove(dir, name)?,
            _ => {}
        }
    }
    Ok(())
}
