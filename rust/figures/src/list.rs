// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The list of a folder's figures, `figures.toml`: from which file each is drawn, and on which
//! machine that was measured.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use serde::Deserialize;

use crate::{alock, bars, coherence, files, kernel, latency, plot, rlock, study, user};

/// What a list says.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct List {
    machine: BTreeMap<String, Machine>,
    figure: Vec<Entry>,
}

/// The machine of a measurement: what the figures hang on.
///
/// # Examples
///
/// ```
/// use figures::list::Machine;
///
/// let machine = Machine {
///     kernel: Some("7.3".into()),
///     cpus: Some(2),
///     ..Machine::default()
/// };
/// assert_eq!(machine.lines(), ["kernel 7.3, 2 CPUs"]);
/// ```
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Machine {
    /// Version, and what is special about it.
    pub kernel: Option<String>,
    /// Its name.
    pub cpu: Option<String>,
    /// How many there are.
    pub cpus: Option<u32>,
    /// How many a guest has; none outside of one.
    pub vcpus: Option<u32>,
    /// QEMU's: `tcg` or `kvm`.
    pub accelerator: Option<String>,
    /// What else is to be known.
    pub remark: Option<String>,
}

impl Machine {
    /// What stands below each of its figures.
    pub fn lines(&self) -> Vec<String> {
        let mut parts: Vec<String> = Vec::new();
        parts.extend(self.kernel.iter().map(|it| format!("kernel {it}")));
        parts.extend(match (self.vcpus, self.cpus) {
            (Some(vcpus), Some(cpus)) => Some(format!("{vcpus} vCPUs on {cpus} CPUs")),
            (None, Some(cpus)) => Some(format!("{cpus} CPUs")),
            (Some(vcpus), None) => Some(format!("{vcpus} vCPUs")),
            (None, None) => None,
        });
        parts.extend(self.cpu.clone());
        parts.extend(
            self.accelerator
                .iter()
                .map(|it| format!("accelerator {it}")),
        );
        let mut lines: Vec<String> = Vec::new();
        if !parts.is_empty() {
            lines.push(parts.join(", "));
        }
        if self.accelerator.as_deref() == Some("tcg") {
            lines.push("emulation: the time of translated code, not of hardware".into());
        }
        if self.vcpus > self.cpus && self.cpus.is_some() {
            lines.push("more vCPUs than CPUs: correctness only".into());
        }
        lines.extend(self.remark.clone());
        lines
    }
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Entry {
    /// The picture's name.
    file: String,
    /// The table's.
    data: String,
    kind: Kind,
    /// The picture among those that a run has, where it has several.
    which: Option<String>,
    machine: String,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Kind {
    Contended,
    Uncontended,
    Latency,
    RlockCost,
    RlockCancel,
    Alock,
    AlockBudgets,
    StudyCollisions,
    CoherenceThreads,
    CoherenceDiameter,
    CoherenceParameters,
    UserThreads,
}

/// The folder of a list, its data and its pictures.
fn folder(path: &Path) -> &Path {
    match path.parent() {
        Some(dir) if dir != Path::new("") => dir,
        _ => Path::new("."),
    }
}

/// The pictures that the list in this file names, by name; it and the data stand in one folder.
///
/// # Errors
/// One line that names the file, the line where there is one, and what is allowed.
pub fn drawn(path: &Path) -> Result<Vec<(String, String)>, String> {
    let said = |why: String| format!("{}{why}", path.display());
    let text = fs::read_to_string(path).map_err(|error| said(format!(": {error}")))?;
    let list: List = toml::from_str(&text).map_err(|error| {
        let before = &text[..error.span().map_or(0, |it| it.start)];
        let line = 1 + before.matches('\n').count();
        said(format!(
            " line {line}: {}",
            error.message().replace('\n', " ")
        ))
    })?;
    let dir = folder(path);
    let mut all: BTreeMap<String, String> = BTreeMap::new();
    for entry in &list.figure {
        let of = |why: String| said(format!(": {}: {why}", entry.file));
        let Some(machine) = list.machine.get(&entry.machine) else {
            let names: Vec<&str> = list.machine.keys().map(|it| &it[..]).collect();
            return Err(of(format!(
                "machine `{}`; allowed: {}",
                entry.machine,
                names.join(", ")
            )));
        };
        if entry.file.contains('/') || !entry.file.ends_with(".svg") {
            return Err(of(
                "allowed: a name in the list's folder that ends in .svg".into()
            ));
        }
        let svg = entry.draw(&dir.join(&entry.data), machine)?.map_err(of)?;
        if all.insert(entry.file.clone(), svg).is_some() {
            return Err(of("it is named twice; allowed: once".into()));
        }
    }
    Ok(all.into_iter().collect())
}

impl Entry {
    /// What is wrong with the data, and within what is wrong with the entry.
    fn draw(&self, data: &Path, machine: &Machine) -> Result<Result<String, String>, String> {
        let (file, remarks) = (&self.file[..], &machine.lines()[..]);
        let figures = match self.kind {
            Kind::Contended => vec![kernel::contended(data, file, remarks)?],
            Kind::Uncontended => {
                return Ok(Ok(bars::draw(&kernel::uncontended(data, file, remarks)?)))
            }
            Kind::Latency => return Ok(Ok(bars::draw(&latency::latency(data, file, remarks)?))),
            Kind::RlockCost => return Ok(Ok(bars::draw(&rlock::cost(data, file, remarks)?))),
            Kind::RlockCancel => return Ok(Ok(bars::draw(&rlock::cancel(data, file, remarks)?))),
            Kind::Alock => alock::of_rows(data, remarks)?,
            Kind::AlockBudgets => alock::of_budgets(data, remarks)?,
            Kind::StudyCollisions => vec![study::collisions(data, file, remarks)?],
            Kind::CoherenceThreads => coherence::by_threads(data, remarks)?,
            Kind::CoherenceDiameter => coherence::diameter(data, remarks)?,
            Kind::CoherenceParameters => coherence::parameters(data, remarks)?,
            Kind::UserThreads => vec![user::by_threads(data, file, remarks)?],
        };
        let is_it = |name: &str| {
            self.which
                .as_ref()
                .is_none_or(|it| name == format!("{it}.svg"))
        };
        let mut found = figures.iter().filter(|it| is_it(&it.file));
        Ok(match (found.next(), found.next()) {
            (Some(figure), None) => Ok(plot::draw(figure)),
            _ => {
                let names = figures.iter().map(|it| it.file.trim_end_matches(".svg"));
                let names: Vec<&str> = names.collect();
                Err(format!(
                    "which = {:?}; allowed: {}",
                    self.which.as_deref().unwrap_or_default(),
                    names.join(", ")
                ))
            }
        })
    }
}

/// Draws all that a list names into its folder, whole or not at all. Returns the names.
///
/// # Errors
/// The errors of [`drawn`]; and where a file cannot be written.
pub fn draw(path: &Path) -> Result<Vec<String>, String> {
    let all = drawn(path)?;
    let dir = folder(path);
    for (name, svg) in &all {
        files::write(dir, name, svg)?;
    }
    Ok(all.into_iter().map(|(name, _)| name).collect())
}

/// The pictures of a list's folder that would be drawn otherwise, and those that nothing draws.
/// A line each. None: all is current.
///
/// # Errors
/// The errors of [`drawn`]; and where the folder cannot be read.
pub fn stale(path: &Path) -> Result<Vec<String>, String> {
    let all: BTreeMap<String, String> = drawn(path)?.into_iter().collect();
    let dir = folder(path);
    let mut stale = Vec::new();
    for (name, svg) in &all {
        match fs::read(dir.join(name)) {
            Ok(there) if there == svg.as_bytes() => {}
            Ok(_) => stale.push(format!(
                "{}: not what its data give",
                dir.join(name).display()
            )),
            Err(error) => stale.push(format!("{}: {error}", dir.join(name).display())),
        }
    }
    let entries = fs::read_dir(dir).map_err(|error| format!("{}: {error}", dir.display()))?;
    for entry in entries {
        let name = entry
            .map_err(|error| format!("{}: {error}", dir.display()))?
            .file_name();
        let name = name.to_string_lossy();
        if name.ends_with(".svg") && !all.contains_key(&*name) {
            stale.push(format!("{}: no list draws it", dir.join(&*name).display()));
        }
    }
    stale.sort();
    Ok(stale)
}
