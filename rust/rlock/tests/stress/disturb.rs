// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Another process disturbs: it stops the threads, traces them, and forks go on.

use std::time::{Duration, Instant};

use crate::{live, plain, run, time};

/// Runs `body` in a process, while its child does `disturb` to it, again and again.
/// `disturb` says whether it could.
fn while_disturbed(disturb: fn(parent: i32) -> bool, body: impl FnOnce()) {
    let mut pipe = [0; 2];
    // SAFETY: the pipe's ends are this function's; the child, forked before there are
    // threads of `body`, calls async-signal-safe functions and std's reading of /proc.
    unsafe {
        assert_eq!(libc::pipe(pipe.as_mut_ptr()), 0);
        let parent = libc::getpid();
        let child = libc::fork();
        assert!(child >= 0);
        if child == 0 {
            libc::close(pipe[0]);
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            let until = Instant::now() + time() * 2;
            let mut times = 0_u64;
            while Instant::now() < until {
                times += u64::from(disturb(parent));
            }
            libc::write(pipe[1], (&raw const times).cast(), 8);
            libc::_exit(0);
        }
        libc::close(pipe[1]);
        // Yama: a child may trace its parent only if that says so.
        libc::prctl(libc::PR_SET_PTRACER, child);
        body();
        let mut times = 0_u64;
        let length = libc::read(pipe[0], (&raw mut times).cast(), 8);
        libc::close(pipe[0]);
        libc::waitpid(child, std::ptr::null_mut(), 0);
        assert_eq!(length, 8);
        println!("disturbed {times} times");
        assert!(times > 0, "it could not disturb");
    }
}

fn sleep(us: u64) {
    std::thread::sleep(Duration::from_micros(us));
}

#[test]
fn threads_that_are_stopped() {
    while_disturbed(
        |parent| {
            // SAFETY: signals to the parent.
            unsafe {
                let stopped = libc::kill(parent, libc::SIGSTOP) == 0;
                sleep(500);
                libc::kill(parent, libc::SIGCONT);
                sleep(2000);
                stopped
            }
        },
        || {
            plain(4, 1);
            plain(4, 2);
        },
    );
}

/// Waits until the thread stops, if it does so soon; how.
fn stopped(tid: i32) -> Option<i32> {
    for _ in 0..100 {
        let mut status = 0;
        // SAFETY: writes the status.
        let waited = unsafe { libc::waitpid(tid, &mut status, libc::__WALL | libc::WNOHANG) };
        if waited == tid {
            return libc::WIFSTOPPED(status).then_some(status);
        }
        sleep(100);
    }
    None
}

/// The signal for which it stopped and that it is to get, if that is why.
fn signal_of(status: i32) -> i32 {
    // Other stops are the tracer's own.
    if status >> 16 != 0 {
        0
    } else {
        libc::WSTOPSIG(status)
    }
}

/// Traces a thread for a while. Whether it could.
fn trace(tid: i32) -> bool {
    // SAFETY: stops the thread and lets it go.
    unsafe {
        if libc::ptrace(libc::PTRACE_SEIZE, tid, 0, 0) != 0 {
            return false;
        }
        libc::ptrace(libc::PTRACE_INTERRUPT, tid, 0, 0);
        let mut last = stopped(tid);
        // What signals come meanwhile are passed on, some stops late. (Not by steps: a
        // step's trap that comes after the tracer has gone ends the process.)
        for _ in 0..3 {
            let Some(status) = last else { break };
            sleep(50);
            libc::ptrace(libc::PTRACE_CONT, tid, 0, signal_of(status));
            libc::ptrace(libc::PTRACE_INTERRUPT, tid, 0, 0);
            last = stopped(tid);
        }
        sleep(200);
        libc::ptrace(libc::PTRACE_DETACH, tid, 0, last.map_or(0, signal_of)) == 0
    }
}

#[test]
fn threads_that_are_traced() {
    while_disturbed(
        |parent| {
            let Ok(tasks) = std::fs::read_dir(format!("/proc/{parent}/task")) else {
                return false;
            };
            let names = tasks.flatten().map(|task| task.file_name());
            let tids = names.filter_map(|name| name.to_string_lossy().parse().ok());
            // One after the other.
            let traced = tids.map(trace).filter(|&traced| traced).count();
            sleep(6000);
            traced > 0
        },
        || {
            plain(3, 1);
            plain(3, 2);
        },
    );
}

/// Children come and go while the parent's threads run, and each has its own sum.
#[test]
fn threads_that_fork() {
    run(4, 2, |seed, lock, until, totals| {
        live(seed, lock, 50, until, totals);
        while Instant::now() < until {
            if seed == 1 {
                // SAFETY: the child, of a process with threads, calls rlock and glibc's
                // allocator, which fork keeps whole.
                unsafe {
                    match libc::fork() {
                        0 => {
                            let mine = crate::Totals::default();
                            let before = lock.load();
                            let soon = Instant::now() + time() / 30;
                            live(7, lock, u64::MAX, soon, &mine);
                            let commits = mine.commits.into_inner();
                            let good = lock.load() == before + commits && commits > 0;
                            libc::_exit(if good { 0 } else { 1 });
                        }
                        child => {
                            let mut status = 0;
                            assert_eq!(libc::waitpid(child, &mut status, 0), child);
                            assert_eq!(status, 0, "in the child");
                        }
                    }
                }
            }
            live(seed, lock, 10, until, totals);
        }
    });
}
