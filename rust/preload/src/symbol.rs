// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What lies at an address of this process, by name.

use std::{cell::RefCell, collections::BTreeMap, fs, path::Path};

use object::{
    elf::PT_LOAD,
    read::elf::{ElfFile64, ProgramHeader},
    Endianness, Object, ObjectSymbol,
};

/// A line of `/proc/self/maps`.
struct Mapping {
    from: usize,
    to: usize,
    /// The file's path; `[heap]`, `[stack]`, or nothing.
    name: String,
}

/// A symbol that has a size.
struct Known {
    from: u64,
    size: u64,
    name: String,
}

/// The symbols of one file, and the address that its first segment asks for.
#[derive(Default)]
struct File {
    base: u64,
    known: Vec<Known>,
}

impl File {
    /// The symbols of this file; none if it cannot be read.
    fn read(path: &str) -> Self {
        let mut file = Self::default();
        let Ok(bytes) = fs::read(path) else {
            return file;
        };
        let Ok(parsed) = ElfFile64::<Endianness>::parse(&*bytes) else {
            return file;
        };
        let endian = parsed.endian();
        file.base = parsed
            .elf_program_headers()
            .iter()
            .filter(|header| header.p_type(endian) == PT_LOAD)
            .map(|header| header.p_vaddr(endian) & !0xfff)
            .min()
            .unwrap_or(0);
        file.known = parsed
            .symbols()
            .chain(parsed.dynamic_symbols())
            .filter(|symbol| symbol.is_definition() && symbol.size() > 0)
            .filter_map(|symbol| {
                Some(Known {
                    from: symbol.address(),
                    size: symbol.size(),
                    name: symbol.name().ok()?.to_owned(),
                })
            })
            .collect();
        file
    }
}

/// The names of this process.
pub(crate) struct Symbols {
    mappings: Vec<Mapping>,
    files: RefCell<BTreeMap<String, File>>,
}

impl Symbols {
    /// Reads where what lies. It allocates, as everything here does: it is for a process that exits.
    pub(crate) fn of_this_process() -> Self {
        let text = fs::read_to_string("/proc/self/maps").unwrap_or_default();
        let mappings = text.lines().filter_map(|line| {
            let mut words = line.split_ascii_whitespace();
            let (from, to) = words.next()?.split_once('-')?;
            Some(Mapping {
                from: usize::from_str_radix(from, 16).ok()?,
                to: usize::from_str_radix(to, 16).ok()?,
                name: words.skip(4).collect::<Vec<_>>().join(" "),
            })
        });
        Self {
            mappings: mappings.collect(),
            files: RefCell::default(),
        }
    }

    /// `symbol`, `symbol+0x10`, `file+0x4010`, `[heap]`, `[stack]` or `[memory]`. A comma becomes a semicolon.
    pub(crate) fn name(&self, address: usize) -> String {
        self.find(address)
            .unwrap_or_else(|| "[memory]".to_owned())
            .replace([',', '"', '\n'], ";")
    }

    fn find(&self, address: usize) -> Option<String> {
        let here = self
            .mappings
            .iter()
            .position(|mapping| (mapping.from..mapping.to).contains(&address))?;
        // Zeroed data lies in memory without a name, right behind its file.
        let mut last = here;
        while self.mappings[last].name.is_empty()
            && last > 0
            && self.mappings[last - 1].to == self.mappings[last].from
        {
            last -= 1;
        }
        let name = &self.mappings[last].name;
        if !name.starts_with('/') {
            return (!name.is_empty()).then(|| name.clone());
        }
        let mut first = last;
        while first > 0 && self.mappings[first - 1].name == *name {
            first -= 1;
        }
        let mut files = self.files.borrow_mut();
        let file = files
            .entry(name.clone())
            .or_insert_with(|| File::read(name));
        let at = (address - self.mappings[first].from) as u64 + file.base;
        let known = file
            .known
            .iter()
            .find(|known| (known.from..known.from + known.size).contains(&at));
        Some(match known {
            Some(known) if known.from == at => known.name.clone(),
            Some(known) => format!("{}+{:#x}", known.name, at - known.from),
            None => {
                let file = Path::new(name).file_name().unwrap_or_default();
                format!("{}+{at:#x}", file.to_string_lossy())
            }
        })
    }
}
