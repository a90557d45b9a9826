// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What is written while a run goes on and when it ends; and what is made of it later.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use figures::{files, plot};

use crate::drawing;
use crate::point::{Found, Point};
use crate::record::{key_of, About, Merged, Record, Row, Run};
use crate::tables;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

/// What `write_all` writes, besides figures; what is left of a run before would pass for
/// this one's.
const WRITTEN: [&str; 7] = [
    "run.json",
    "raw.csv",
    "summary.csv",
    "budgets.csv",
    "threads.csv",
    "latency.csv",
    "latency-threads.csv",
];

pub(crate) struct Report {
    out: PathBuf,
    raw: csv::Writer<File>,
    record: Record,
    merged: Merged,
}

impl Report {
    /// Makes the folder ready: what cannot be written is found out now.
    pub(crate) fn new(out: &Path, about: About) -> Result<Self> {
        let said = |error: std::io::Error| format!("cannot write to {}: {error}", out.display());
        fs::create_dir_all(out).map_err(said)?;
        for name in WRITTEN {
            files::remove(out, name)?;
        }
        drawing::remove(out)?;
        Ok(Self {
            out: out.to_owned(),
            raw: csv::Writer::from_writer(File::create(out.join("raw.csv")).map_err(said)?),
            record: Record {
                about: Some(about),
                runs: Vec::new(),
                points: Vec::new(),
            },
            merged: Merged::default(),
        })
    }

    /// A row of `raw.csv` is there as soon as its run is over.
    pub(crate) fn add(&mut self, round: u64, point: &Point, found: &Found) -> csv::Result<()> {
        let run = Run::new(round, point, found);
        self.raw.serialize(&run.row)?;
        self.record.runs.push(run);
        self.merged.add(key_of(point), found);
        Ok(self.raw.flush()?)
    }

    /// Writes the rest, and returns the table.
    pub(crate) fn finish(mut self) -> Result<String> {
        self.record.points = self.merged.finish();
        files::write(&self.out, "run.json", &self.record.json()?)?;
        write_all(&self.record, &self.out)
    }
}

/// Tables and figures of what a folder's `run.json` has, or its `raw.csv`, into the folder.
/// Returns the table.
pub(crate) fn draw(dir: &Path, remark: Option<&str>) -> Result<String> {
    let mut record = Record::read(dir)?;
    if let Some(about) = &mut record.about {
        if let Some(remark) = remark {
            about.remark = Some(remark.into());
            files::write(dir, "run.json", &record.json()?)?;
        }
        files::write(dir, "raw.csv", &raw(&record)?)?;
    }
    drawing::remove(dir)?;
    write_all(&record, dir)
}

fn raw(record: &Record) -> Result<String> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for run in &record.runs {
        writer.serialize::<&Row>(&run.row)?;
    }
    let bytes = writer.into_inner().map_err(|error| error.to_string())?;
    Ok(String::from_utf8(bytes)?)
}

fn write_all(record: &Record, out: &Path) -> Result<String> {
    let table = record.table();
    for (name, contents) in tables::files(record, &table)? {
        files::write(out, name, &contents)?;
    }
    for figure in drawing::of(record, &table) {
        files::write(out, &figure.file, &plot::draw(&figure))?;
    }
    Ok(tables::text(&table)?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::example;
    use crate::example::Folder;

    fn names(dir: &Path) -> Vec<String> {
        let entries = fs::read_dir(dir).unwrap();
        let names = entries.map(|it| it.unwrap().file_name().into_string().unwrap());
        let mut names: Vec<_> = names.collect();
        names.sort();
        names
    }

    fn text(dir: &Path, name: &str) -> String {
        fs::read_to_string(dir.join(name)).unwrap()
    }

    /// A run's whole life, and its end if it has one.
    fn run(dir: &Path, arguments: &str) -> Report {
        let set = example::set(arguments);
        let about = About::new("rxe0", 64, &set, None);
        let mut report = Report::new(dir, about).unwrap();
        for (round, point) in set.points(2).unwrap() {
            let found = example::found(&point, round);
            report.add(round, &point, &found).unwrap();
        }
        report
    }

    const ALL: [&str; 12] = [
        "budgets.csv",
        "budgets.svg",
        "latency-threads.csv",
        "latency.csv",
        "latency.svg",
        "loopback.svg",
        "queue-pairs.svg",
        "raw.csv",
        "run.json",
        "summary.csv",
        "threads.csv",
        "throughput.svg",
    ];

    #[test]
    fn a_run_that_ends_early_leaves_its_rows_and_nothing_of_another() {
        let dir = Folder::new("early");
        let arguments = "--rounds 1 --threads 1 --locks 20 --locality 100 --remote-budget 5,20";
        run(&dir.0, arguments).finish().unwrap();
        assert_eq!(names(&dir.0), ALL);
        fs::write(dir.0.join("throughput-5-nodes.svg"), "").unwrap();
        fs::write(dir.0.join("throughput-of-mine.svg"), "").unwrap();
        let report = run(&dir.0, arguments);
        assert_eq!(names(&dir.0), ["raw.csv", "throughput-of-mine.svg"]);
        assert_eq!(text(&dir.0, "raw.csv").lines().count(), 1 + 4);
        drop(report);
        assert_eq!(names(&dir.0), ["raw.csv", "throughput-of-mine.svg"]);
    }

    #[test]
    fn the_same_comes_of_its_json_alone() {
        let (dir, other) = (Folder::new("whole"), Folder::new("drawn"));
        let arguments =
            "--rounds 3 --threads 1,2 --locks 20 --locality 85,100 --remote-budget 5,20";
        let said = run(&dir.0, arguments).finish().unwrap();
        fs::copy(dir.0.join("run.json"), other.0.join("run.json")).unwrap();
        assert_eq!(draw(&other.0, None).unwrap(), said);
        assert_eq!(names(&other.0), ALL);
        for name in ALL {
            assert_eq!(text(&other.0, name), text(&dir.0, name), "{name}");
        }
        draw(&other.0, Some("on a Tuesday")).unwrap();
        for name in ALL.iter().filter(|name| name.ends_with(".svg")) {
            assert!(text(&other.0, name).contains("on a Tuesday"), "{name}");
        }
        // It stays with the data.
        draw(&other.0, None).unwrap();
        assert!(text(&other.0, "loopback.svg").contains("on a Tuesday"));
    }

    #[test]
    fn rows_alone_can_be_drawn_but_for_latencies() {
        let (dir, other) = (Folder::new("rows"), Folder::new("from-rows"));
        let said = run(
            &dir.0,
            "--rounds 3 --threads 1 --locks 20 --locality 85,100",
        )
        .finish()
        .unwrap();
        fs::copy(dir.0.join("raw.csv"), other.0.join("raw.csv")).unwrap();
        assert_eq!(draw(&other.0, None).unwrap(), said);
        assert_eq!(
            names(&other.0),
            [
                "loopback.svg",
                "percentiles.svg",
                "queue-pairs.svg",
                "raw.csv",
                "summary.csv",
                "throughput.svg"
            ]
        );
        assert_eq!(text(&other.0, "summary.csv"), text(&dir.0, "summary.csv"));
    }

    #[test]
    fn where_nothing_can_be_written_nothing_is_run() {
        let dir = Folder::new("refused");
        fs::write(dir.0.join("file"), "").unwrap();
        let set = example::set("");
        let about = || About::new("rxe0", 64, &set, None);
        let said = |dir: &Path| Report::new(dir, about()).err().unwrap().to_string();
        let at = dir.0.join("file").join("below");
        assert!(said(&at).starts_with(&format!("cannot write to {}: ", at.display())));
        fs::create_dir(dir.0.join("raw.csv")).unwrap();
        assert!(said(&dir.0).contains("raw.csv: "));
    }
}
