// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A pair through the C library's names, under each lock that replaces its mutexes.

use std::{
    env,
    error::Error,
    fs, io,
    os::unix::process::CommandExt,
    path::Path,
    process::{Command, Stdio},
};

use handover_measure::order;

use crate::{
    pairs::{self, BATCHES},
    pthread::Mutex,
    table::{self, Sample},
};

/// How a lock's program runs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum How {
    /// Another thread sleeps.
    Usual,
    /// No other thread is there.
    Alone,
    /// Another thread sleeps, and membarrier is refused.
    Refused,
}

/// The rows, each with its lock's name for `HANDOVER_LOCK`.
const LOCKS: [(&str, Option<&str>, How); 11] = [
    ("glibc", None, How::Usual),
    ("ticket", Some("ticket"), How::Usual),
    ("twa", Some("twa"), How::Usual),
    ("one-word-twa", Some("one-word-twa"), How::Usual),
    ("mcs", Some("mcs"), How::Usual),
    ("clh", Some("clh"), How::Usual),
    ("ttas", Some("ttas"), How::Usual),
    ("ticket, no membarrier", Some("ticket"), How::Refused),
    ("twa, no membarrier", Some("twa"), How::Refused),
    ("glibc, one thread", None, How::Alone),
    ("twa, one thread", Some("twa"), How::Alone),
];

/// The first eight bytes of the mutex after so many pairs: they tell which lock it was.
fn due_words(lock: Option<&str>, pairs: u64) -> [u32; 2] {
    let count = pairs as u32;
    match lock {
        Some("ticket" | "twa") => [count, count],
        Some("one-word-twa") => [(count << 16) | (count & 0xffff), 0],
        _ => [0, 0],
    }
}

/// What the program says: the mutex's words at the end, then the picoseconds of each batch.
fn said(text: &str) -> Option<([u32; 2], Vec<u64>)> {
    let mut words = text.split_whitespace();
    let first = [words.next()?.parse().ok()?, words.next()?.parse().ok()?];
    let batches = words
        .map(str::parse)
        .collect::<Result<Vec<u64>, _>>()
        .ok()?;
    (batches.len() == BATCHES).then_some((first, batches))
}

/// From now on membarrier is refused to this process.
pub(crate) fn refuse_membarrier() -> io::Result<()> {
    let line = |code: u32, jf, k| libc::sock_filter {
        code: code as u16,
        jt: 0,
        jf,
        k,
    };
    let mut lines = [
        line(libc::BPF_LD | libc::BPF_W | libc::BPF_ABS, 0, 0),
        line(
            libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K,
            1,
            libc::SYS_membarrier as u32,
        ),
        line(
            libc::BPF_RET | libc::BPF_K,
            0,
            libc::SECCOMP_RET_ERRNO | libc::EPERM as u32,
        ),
        line(libc::BPF_RET | libc::BPF_K, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: lines.len() as u16,
        filter: lines.as_mut_ptr(),
    };
    // SAFETY: The kernel reads the program, which is there.
    let is_set = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0
            && libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            ) == 0
    };
    if is_set {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// The program: pairs of a mutex of the C library, by whatever functions the loader has bound.
pub(crate) fn pthread(times: u32, alone: bool) {
    if !alone {
        pairs::a_second_thread();
    }
    let mutex = Mutex::new();
    let batches = pairs::batches(times, |counter| mutex.with(|| pairs::add(counter)));
    let words = mutex.words();
    print!("{} {}", words[0], words[1]);
    for batch in batches {
        print!(" {batch}");
    }
    println!();
}

pub(crate) fn run(
    folder: &Path,
    library: &Path,
    rounds: u32,
    times: u32,
) -> Result<(), Box<dyn Error>> {
    let library = fs::canonicalize(library)
        .map_err(|why| format!("--library {}: {why}", library.display()))?;
    let this = env::current_exe()?;
    let mut samples = Vec::new();
    for round in 0..rounds {
        eprintln!("interposed: round {} of {rounds}", round + 1);
        for index in order::from(round as usize, LOCKS.len()) {
            let (name, lock, how) = LOCKS[index];
            let mut program = Command::new(&this);
            program
                .arg("pthread")
                .arg(times.to_string())
                .stderr(Stdio::inherit());
            program
                .env_remove("LD_PRELOAD")
                .env_remove("HANDOVER_STATS");
            if let Some(lock) = lock {
                program
                    .env("LD_PRELOAD", &library)
                    .env("HANDOVER_LOCK", lock)
                    .env("HANDOVER_WAIT", "park");
            }
            if how == How::Alone {
                program.arg("--alone");
            }
            if how == How::Refused {
                // SAFETY: System calls alone, between fork and exec.
                unsafe { program.pre_exec(refuse_membarrier) };
            }
            let ended = program.output()?;
            let text = String::from_utf8_lossy(&ended.stdout);
            let (words, batches) =
                said(&text).ok_or_else(|| format!("{name}: {}: '{text}'", ended.status))?;
            let due = due_words(lock, u64::from(times) * BATCHES as u64);
            if words != due {
                return Err(format!(
                    "{name}: the mutex holds {words:?}, due is {due:?}: another lock was used"
                )
                .into());
            }
            samples.extend(Sample::of("", name, round, batches));
        }
    }
    table::sort(&mut samples, LOCKS.map(|(name, ..)| name).as_slice());
    table::tell(&folder.join("user-interposed.csv"), &samples, None, "glibc")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_tell_the_locks_apart() {
        assert_eq!(due_words(Some("twa"), 1_500_000), [1_500_000; 2]);
        assert_eq!(due_words(Some("one-word-twa"), 0x1_0002), [0x2_0002, 0]);
        assert_eq!(due_words(None, 7), [0, 0]);
    }

    #[test]
    fn what_the_program_says_is_whole_or_nothing() {
        let batches: Vec<String> = (0..BATCHES).map(|batch| batch.to_string()).collect();
        let text = format!("7 7 {}\n", batches.join(" "));
        assert_eq!(
            said(&text).map(|(words, batches)| (words, batches[3])),
            Some(([7, 7], 3))
        );
        assert!(said("7 7 1 2").is_none());
        assert!(said(&text.replace(" 3 ", " x ")).is_none());
    }
}
