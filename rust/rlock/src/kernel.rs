// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What rlock asks of the kernel. Tests put another kernel in its place, for example a
//! sandbox that reports CPU 0 for every thread.

use std::ffi::CStr;
use std::io::{self, Write as _};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use rustix::fs::{Mode, OFlags};
use rustix::thread::CpuSet;

/// A file of a thread, below `/proc/self/task/TID/`.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum File {
    /// Its state, its last CPU, its blocked signals.
    Stat = 0,
    /// `running`, or what it sleeps in: reading waits until it has left the CPU.
    Syscall = 1,
    /// How often it got a CPU.
    Schedstat = 2,
}

impl File {
    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 3] = [Self::Stat, Self::Syscall, Self::Schedstat];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Stat => "stat",
            Self::Syscall => "syscall",
            Self::Schedstat => "schedstat",
        }
    }
}

/// What rlock asks of the kernel. The default of each method asks it.
///
/// No method may allocate: allocators are among the users.
pub trait Kernel: Sync + std::fmt::Debug {
    /// The CPU that the calling thread runs on.
    fn cpu(&self) -> Option<u32> {
        // Not rustix's, which looks for the vDSO by itself, and reads unmapped memory where that
        // is hidden (Valgrind does).
        // SAFETY: no requirements.
        u32::try_from(unsafe { libc::sched_getcpu() }).ok()
    }

    /// Binds the calling thread to a CPU, if it may run there.
    fn bind(&self, cpu: usize) -> rustix::io::Result<()> {
        let mut one = CpuSet::new();
        one.set(cpu);
        rustix::thread::sched_setaffinity(None, &one)
    }

    /// Opens the calling thread's `file`.
    fn open(&self, tid: u32, file: File) -> io::Result<OwnedFd> {
        open(tid, file.name())
    }

    /// Whether thread `tid` of this process is traced. `None` where that cannot be read.
    /// Some ten microseconds: asked only of a thread that stands in a section.
    fn is_traced(&self, tid: u32) -> Option<bool> {
        let fd = open(tid, "status").ok()?;
        // The line is the eighth; none before it is long.
        let mut buffer = [0; 512];
        let length = rustix::io::pread(&fd, &mut buffer, 0).ok()?;
        is_traced(&buffer[..length])
    }

    /// Reads a thread's file from its beginning. `ESRCH` when the thread is no more.
    fn read(&self, _file: File, fd: BorrowedFd<'_>, to: &mut [u8]) -> rustix::io::Result<usize> {
        rustix::io::pread(fd, to, 0)
    }

    /// The inode behind a descriptor, with its file system.
    fn inode(&self, fd: BorrowedFd<'_>) -> Option<u64> {
        let stat = rustix::fs::fstat(fd.as_fd()).ok()?;
        Some(stat.st_ino ^ stat.st_dev.rotate_left(32))
    }

    /// Sends `signal` to thread `tid` of process `pid`.
    fn tgkill(&self, pid: u32, tid: u32, signal: i32) -> io::Result<()> {
        // SAFETY: no memory is involved.
        let rc = unsafe { libc::syscall(libc::SYS_tgkill, pid, tid, signal) };
        if rc == 0 {
            Ok(())
        } else {
            Err(io::Error::last_os_error())
        }
    }

    /// Makes every running thread of the process pass a full barrier.
    fn membarrier(&self) -> io::Result<()> {
        membarrier(libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED)
    }

    /// Prepares [`membarrier`](Self::membarrier). Once a process.
    fn register_membarrier(&self) -> io::Result<()> {
        membarrier(libc::MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED)
    }

    /// The process.
    fn pid(&self) -> u32 {
        std::process::id()
    }
}

fn open(tid: u32, file: &str) -> io::Result<OwnedFd> {
    let mut path = [0_u8; 64];
    // One byte less: the path's end.
    write!(&mut path[..63], "/proc/self/task/{tid}/{file}")?;
    let path = CStr::from_bytes_until_nul(&path).map_err(io::Error::other)?;
    Ok(rustix::fs::open(
        path,
        OFlags::RDONLY | OFlags::CLOEXEC,
        Mode::empty(),
    )?)
}

fn membarrier(command: libc::c_int) -> io::Result<()> {
    // SAFETY: no memory is involved.
    if unsafe { libc::syscall(libc::SYS_membarrier, command, 0, 0) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// The calling thread's number.
pub(crate) fn tid() -> u32 {
    rustix::thread::gettid().as_raw_nonzero().get() as u32
}

/// The kernel itself.
#[derive(Debug)]
pub struct Linux;

impl Kernel for Linux {}

/// What `stat` says.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) struct Stat {
    pub(crate) tid: u32,
    /// `R`, `S`, `D`, `T`, `t`, `Z`, `X` …
    pub(crate) state: u8,
    /// The CPU that it runs on or ran on last.
    pub(crate) cpu: u32,
    /// Signals 1 to 31 that are blocked, signal 1 in bit 0.
    pub(crate) blocked: u32,
}

/// Field `number`, counted from 1 as proc(5) does, of a line whose `text` begins with
/// field 3.
fn field(text: &[u8], number: usize) -> Option<u64> {
    let word = text.split(u8::is_ascii_whitespace).nth(number - 3)?;
    std::str::from_utf8(word).ok()?.parse().ok()
}

impl Stat {
    /// Reads the line in `/proc/PID/task/TID/stat` (proc(5)).
    pub(crate) fn parse(line: &[u8]) -> Option<Self> {
        let space = line.iter().position(|&byte| byte == b' ')?;
        let tid = std::str::from_utf8(&line[..space]).ok()?.parse().ok()?;
        // The name is in brackets, and may have brackets and spaces in it.
        let name_end = line.iter().rposition(|&byte| byte == b')')?;
        let rest = line.get(name_end + 2..)?;
        Some(Self {
            tid,
            state: *rest.first()?,
            blocked: field(rest, 32)? as u32,
            cpu: field(rest, 39)?.try_into().ok()?,
        })
    }
}

/// How often the thread got a CPU, from its `schedstat`.
pub(crate) fn switches(line: &[u8]) -> Option<u64> {
    let word = line.split(u8::is_ascii_whitespace).nth(2)?;
    std::str::from_utf8(word).ok()?.parse().ok()
}

/// Whether its `status` names a tracer.
fn is_traced(text: &[u8]) -> Option<bool> {
    let mut lines = text.split_inclusive(|&byte| byte == b'\n');
    let tracer = lines.find_map(|line| line.strip_prefix(b"TracerPid:")?.strip_suffix(b"\n"))?;
    Some(tracer.trim_ascii() != b"0")
}

/// Whether its `syscall` says that the thread had left the CPU. Anything that does not
/// look like the file's three forms is a no.
pub(crate) fn left_cpu(line: &[u8]) -> bool {
    // "running", "-1 0xSP 0xPC" (blocked, not in a call), "NR 0x… … 0xSP 0xPC".
    let mut words = line.trim_ascii_end().split(|&byte| byte == b' ');
    let number = words.next().unwrap_or_default();
    let digits = number.strip_prefix(b"-").unwrap_or(number);
    let mut rest = 0;
    for word in words {
        if !word.starts_with(b"0x") {
            return false;
        }
        rest += 1;
    }
    !digits.is_empty() && digits.iter().all(u8::is_ascii_digit) && (rest == 2 || rest == 8)
}

#[cfg(test)]
mod tests {
    use super::*;

    const LINE: &[u8] = b"10701 (a) b (c) S 10689 10689 3491 0 -1 4194368 1 0 0 0 0 0 0 0 \
        20 0 3 0 2304350 19320832 353 18446744073709551615 94545986818048 94545986820657 \
        140726139570272 0 0 0 4194304 0 0 1 0 0 -1 1 0 0 0 0 0 94545986829776 94545986830488 \
        94546493440000 140726139575037 140726139575041 140726139575041 140726139576308 0\n";

    #[test]
    fn a_stat_line_is_read() {
        let stat = Stat::parse(LINE).unwrap();
        let blocked = 1 << (libc::SIGURG - 1);
        let expected = Stat {
            tid: 10701,
            state: b'S',
            cpu: 1,
            blocked,
        };
        assert_eq!(stat, expected);
        assert_eq!(Stat::parse(b""), None);
        assert_eq!(Stat::parse(b"12 (x) R 1 2 3"), None);
    }

    #[test]
    fn a_tracer_is_read() {
        let status = |tracer| format!("Name:\ta b\nState:\tS (sleeping)\nTracerPid:\t{tracer}");
        assert_eq!(is_traced(status("0\nUid:\t0\n").as_bytes()), Some(false));
        assert_eq!(is_traced(status("4711\n").as_bytes()), Some(true));
        // Cut off: 0 may be the beginning of more.
        assert_eq!(is_traced(status("0").as_bytes()), None);
        assert_eq!(is_traced(b"Name:\ta\n"), None);
    }

    #[test]
    fn schedstat_and_syscall_are_read() {
        assert_eq!(switches(b"21652 329010 17\n"), Some(17));
        assert_eq!(switches(b"21652 329010\n"), None);
        assert!(left_cpu(
            b"0 0x3 0x7fd1fe87dec7 0x1 0x0 0x0 0x0 0x7fd1fe87de90 0x7fd1fe97a2ec\n"
        ));
        assert!(left_cpu(b"-1 0x7ffd5b8f4027 0x7fd1fe97a2ec\n"));
        for not in [
            &b"running\n"[..],
            b"",
            b"0\n",
            b"12 (x) R 1\n",
            b"127.0.0.1 x\n",
        ] {
            assert!(!left_cpu(not));
        }
    }
}
