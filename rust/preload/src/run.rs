// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! handover-run: runs a program with other locks in place of its pthread mutexes.

use std::{
    env,
    ffi::{OsStr, OsString},
    fs, io,
    os::unix::{
        ffi::{OsStrExt, OsStringExt},
        fs::{MetadataExt, PermissionsExt},
        process::CommandExt,
    },
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use clap::{Parser, ValueEnum};
use object::{
    elf,
    read::elf::{ElfFile64, ProgramHeader},
    Object, ObjectSymbol,
};
use thiserror::Error;

/// Runs a program with other locks in place of its pthread mutexes. It needs not be compiled again.
///
/// Mutexes of the kinds normal and adaptive are replaced, and the condition variables of one process. All others stay with
/// glibc, and so do C11's.
#[derive(Parser)]
#[command(name = "handover-run")]
struct Arguments {
    /// The lock
    #[arg(long, value_enum, default_value = "twa")]
    lock: Lock,
    /// How a thread waits: asleep, giving up its CPU between two looks, or looking all the time
    #[arg(long, value_enum, default_value = "park")]
    wait: Wait,
    /// Counts the calls, and tells them on exit
    #[arg(long)]
    stats: bool,
    /// Takes times, and writes a table of the mutexes that are used most to this file on exit
    #[arg(long, value_name = "FILE")]
    profile: Option<PathBuf>,
    /// The library; the default lies beside this program
    #[arg(long)]
    library: Option<PathBuf>,
    /// The program
    #[arg(required = true)]
    program: OsString,
    /// Its arguments
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<OsString>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Lock {
    Twa,
    Ticket,
    OneWordTwa,
    Mcs,
    Clh,
    /// Test-and-test-and-set with back-off: not FIFO
    Ttas,
}

#[derive(Clone, Copy, ValueEnum)]
enum Wait {
    Park,
    Yield,
    Spin,
}

#[derive(Debug, Error)]
enum Refused {
    #[error("{}: {}", .0.display(), .1)]
    Unreadable(PathBuf, io::Error),
    #[error("{}: no such program", .0.display())]
    NotFound(PathBuf),
    #[error("{}: no library; build it by `cargo build -p handover-preload`, or name it by --library", .0.display())]
    NoLibrary(PathBuf),
    #[error("{}: a library's path must have no space and no colon", .0.display())]
    Path(PathBuf),
    #[error("{}: no program for x86-64", .0.display())]
    Machine(PathBuf),
    #[error("{}: linked statically, so that no mutex of it can be replaced", .0.display())]
    Static(PathBuf),
    #[error("{}: runs as another user (setuid or setgid), so that the loader takes no library", .0.display())]
    Setuid(PathBuf),
    #[error("{}: its loader is {loader}; needed: that of glibc, 2.34 or newer", .program.display())]
    Loader { program: PathBuf, loader: String },
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(never) => match never {},
        Err(why) => {
            eprintln!("handover-run: {why}");
            // As a shell that cannot start a program.
            ExitCode::from(127)
        }
    }
}

enum Never {}

fn run(arguments: &Arguments) -> Result<Never, Refused> {
    let library = library(arguments.library.as_deref())?;
    let program = find(&arguments.program)?;
    look(&program)?;
    let profile = arguments.profile.as_deref().map(writable).transpose()?;
    let mut command = Command::new(&program);
    command
        .arg0(&arguments.program)
        .args(&arguments.arguments)
        .env("LD_PRELOAD", preload(&library))
        .env("HANDOVER_LOCK", value(arguments.lock))
        .env("HANDOVER_WAIT", value(arguments.wait));
    if arguments.stats {
        command.env("HANDOVER_STATS", "1");
    } else {
        command.env_remove("HANDOVER_STATS");
    }
    match profile {
        Some(file) => command.env("HANDOVER_PROFILE", file),
        None => command.env_remove("HANDOVER_PROFILE"),
    };
    Err(Refused::Unreadable(program, command.exec()))
}

/// A value as the command line has it.
fn value(of: impl ValueEnum) -> String {
    of.to_possible_value()
        .map(|value| value.get_name().to_owned())
        .unwrap_or_default()
}

/// This library, then those that are to be loaded already.
fn preload(library: &Path) -> OsString {
    let mut all = library.as_os_str().to_owned();
    if let Some(others) = env::var_os("LD_PRELOAD").filter(|others| !others.is_empty()) {
        all.push(":");
        all.push(others);
    }
    all
}

fn library(named: Option<&Path>) -> Result<PathBuf, Refused> {
    let place = match named {
        Some(named) => named.to_owned(),
        None => env::current_exe()
            .map_err(|error| Refused::Unreadable("handover-run".into(), error))?
            .with_file_name("libhandover.so"),
    };
    let place = fs::canonicalize(&place).map_err(|_| Refused::NoLibrary(place))?;
    // The loader takes both for the end of a path.
    if place
        .as_os_str()
        .as_bytes()
        .iter()
        .any(|byte| b" :".contains(byte))
    {
        return Err(Refused::Path(place));
    }
    Ok(place)
}

/// The file's absolute path. It is there from now on, empty, or it cannot be written.
fn writable(file: &Path) -> Result<PathBuf, Refused> {
    let unwritable = |error| Refused::Unreadable(file.to_owned(), error);
    fs::File::create(file).map_err(unwritable)?;
    fs::canonicalize(file).map_err(unwritable)
}

/// The program's path, as a shell finds it.
fn find(program: &OsStr) -> Result<PathBuf, Refused> {
    which::which(program).map_err(|_| Refused::NotFound(program.into()))
}

/// Whether a program of this mode and owner runs as another user or group than me. The loader takes no library then.
const fn becomes_another(mode: u32, owner: [u32; 2], me: [u32; 2]) -> bool {
    mode & libc::S_ISUID != 0 && owner[0] != me[0] || mode & libc::S_ISGID != 0 && owner[1] != me[1]
}

/// Whether the loader will put the library into the program.
fn look(program: &Path) -> Result<(), Refused> {
    let unreadable = |error| Refused::Unreadable(program.to_owned(), error);
    let about = fs::metadata(program).map_err(unreadable)?;
    // SAFETY: It has no condition.
    let me = unsafe { [libc::geteuid(), libc::getegid()] };
    if becomes_another(about.permissions().mode(), [about.uid(), about.gid()], me) {
        return Err(Refused::Setuid(program.to_owned()));
    }
    let bytes = fs::read(program).map_err(unreadable)?;
    if let Some(line) = bytes.strip_prefix(b"#!") {
        let line = line.split(|byte| *byte == b'\n').next().unwrap_or_default();
        let name = line
            .split(u8::is_ascii_whitespace)
            .find(|word| !word.is_empty())
            .unwrap_or_default();
        return look(&PathBuf::from(OsString::from_vec(name.to_vec())));
    }
    let machine = || Refused::Machine(program.to_owned());
    let file = ElfFile64::<object::Endianness>::parse(&*bytes).map_err(|_| machine())?;
    if file.architecture() != object::Architecture::X86_64 {
        return Err(machine());
    }
    let endian = file.endian();
    let loader = file
        .elf_program_headers()
        .iter()
        .find(|header| header.p_type(endian) == elf::PT_INTERP)
        .ok_or_else(|| Refused::Static(program.to_owned()))?
        .data(endian, &*bytes)
        .map_err(|()| machine())?;
    let loader = String::from_utf8_lossy(loader.strip_suffix(b"\0").unwrap_or(loader)).into_owned();
    if !loader.contains("ld-linux") {
        return Err(Refused::Loader {
            program: program.to_owned(),
            loader,
        });
    }
    if file
        .dynamic_symbols()
        .any(|symbol| symbol.is_undefined() && symbol.name() == Ok("mtx_lock"))
    {
        eprintln!(
            "handover-run: {}: calls mtx_lock; C11's mutexes stay with glibc",
            program.display()
        );
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::becomes_another;

    #[test]
    fn a_setuid_program_of_another_is_told_apart() {
        let (mine, user, group, other) = ([7, 8], [1, 8], [7, 1], [1, 1]);
        for (mode, owner, due) in [
            (0o755, other, false),
            (0o4755, mine, false),
            (0o4755, user, true),
            (0o4755, group, false),
            (0o2755, group, true),
            (0o2755, user, false),
            (0o6755, mine, false),
            (0o6755, group, true),
        ] {
            assert_eq!(
                becomes_another(mode, owner, mine),
                due,
                "{mode:o} {owner:?}"
            );
        }
    }
}
