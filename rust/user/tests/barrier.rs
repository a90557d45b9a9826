// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The barrier that spares releases one: where the kernel grants it, refuses it, and refuses it later.

mod asleep;
mod within;

use std::{
    env, io,
    os::unix::process::CommandExt,
    process::Command,
    sync::atomic::{
        AtomicU32,
        Ordering::{Acquire, Release},
    },
    thread,
    time::{Duration, Instant},
};

use handover_user::{register_barrier, Free, Mcs, Park, Process, RawLock, Ticket, Twa};

use self::{
    asleep::{sleeps, world},
    within::within,
};

/// Set in a process whose filter lets no membarrier through.
const REFUSED: &str = "HANDOVER_TEST_REFUSED";

/// From now on membarrier is refused to this thread, and to those that it makes.
fn refuse_membarrier() -> io::Result<()> {
    const LOAD: u16 = (libc::BPF_LD | libc::BPF_W | libc::BPF_ABS) as u16;
    const SKIP_UNLESS: u16 = (libc::BPF_JMP | libc::BPF_JEQ | libc::BPF_K) as u16;
    const RETURN: u16 = (libc::BPF_RET | libc::BPF_K) as u16;
    let line = |code, jf, k| libc::sock_filter { code, jt: 0, jf, k };
    let mut lines = [
        // The call's number.
        line(LOAD, 0, 0),
        line(SKIP_UNLESS, 1, libc::SYS_membarrier as u32),
        line(RETURN, 0, libc::SECCOMP_RET_ERRNO | libc::EPERM as u32),
        line(RETURN, 0, libc::SECCOMP_RET_ALLOW),
    ];
    let program = libc::sock_fprog {
        len: lines.len() as u16,
        filter: lines.as_mut_ptr(),
    };
    // SAFETY: The kernel reads the program, which is there.
    let failed = unsafe {
        libc::prctl(libc::PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0
            || libc::prctl(
                libc::PR_SET_SECCOMP,
                libc::SECCOMP_MODE_FILTER,
                &raw const program,
            ) != 0
    };
    if failed {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// How often the calling thread went to sleep.
fn times_asleep() -> u64 {
    // SAFETY: All of it is numbers.
    let mut usage: libc::rusage = unsafe { std::mem::zeroed() };
    // SAFETY: It writes to `usage` alone.
    let failed = unsafe { libc::getrusage(libc::RUSAGE_THREAD, &raw mut usage) };
    assert_eq!(failed, 0);
    usage.ru_nvcsw as u64
}

/// A thread sleeps for a lock until its owner has held it for so long. How often it slept. `begin` is what it does first.
fn one_sleeper<L: RawLock<Process<Park>> + Sync>(
    lock: &L,
    time: Duration,
    begin: impl FnOnce() + Send,
) -> u64 {
    let token = lock.lock(world());
    let number = AtomicU32::new(0);
    thread::scope(|scope| {
        let sleeper = scope.spawn(|| {
            begin();
            // SAFETY: It has no arguments.
            number.store(unsafe { libc::gettid() } as u32, Release);
            let before = times_asleep();
            let token = lock.lock(world());
            let slept = times_asleep() - before;
            lock.unlock(world(), token);
            slept
        });
        while number.load(Acquire) == 0 || !sleeps(number.load(Acquire)) {
            thread::yield_now();
        }
        let until = Instant::now() + time;
        while Instant::now() < until {
            thread::yield_now();
        }
        lock.unlock(world(), token);
        sleeper.join().expect("it has entered")
    })
}

/// Runs in a process of its own without the barrier, too.
#[test]
fn a_sleeper_is_woken() {
    let (twa, ticket, mcs): (Twa<Park>, Ticket<Park>, Mcs<Park>) =
        (Free::FREE, Free::FREE, Free::FREE);
    let slept = within(move || {
        let time = Duration::from_millis(50);
        let first = one_sleeper(&twa, time, || ());
        assert_eq!(register_barrier(), env::var_os(REFUSED).is_none());
        [
            first,
            one_sleeper(&ticket, time, || ()),
            one_sleeper(&mcs, time, || ()),
        ]
    });
    // Some more than once: the kernel may wake a sleeper for nothing.
    assert!(
        slept.iter().all(|times| (1..5).contains(times)),
        "{slept:?}"
    );
}

#[test]
fn a_process_may_be_refused_the_barrier() {
    let this = env::current_exe().expect("it is a file");
    let mut refused = Command::new(this);
    refused
        .args(["--exact", "a_sleeper_is_woken"])
        .env(REFUSED, "1");
    // SAFETY: System calls alone, between fork and exec.
    unsafe { refused.pre_exec(refuse_membarrier) };
    let ended = refused.output().expect("it runs");
    let said = String::from_utf8_lossy(&ended.stdout);
    assert!(
        ended.status.success() && said.contains("1 passed"),
        "{said}"
    );
}

/// The thread asks for its barrier, and sleeps for a moment each time where it gets none.
#[test]
fn a_thread_may_be_refused_the_barrier_later() {
    let lock: Twa<Park> = Free::FREE;
    let slept = within(move || {
        assert!(register_barrier(), "this kernel has membarrier");
        one_sleeper(&lock, Duration::from_millis(100), || {
            refuse_membarrier().expect("threads may have filters");
        })
    });
    assert!(slept >= 10, "{slept} times in 100 ms");
}

/// What `barrier.rs` relies on.
#[test]
fn a_child_has_its_parents_registration() {
    assert!(register_barrier(), "this kernel has membarrier");
    // SAFETY: The child makes system calls alone.
    let child = unsafe { libc::fork() };
    if child == 0 {
        // SAFETY: It has no pointer.
        let said = unsafe {
            libc::syscall(
                libc::SYS_membarrier,
                libc::MEMBARRIER_CMD_PRIVATE_EXPEDITED,
                0,
                0,
            )
        };
        // SAFETY: It ends the child.
        unsafe { libc::_exit(i32::from(said != 0)) };
    }
    let mut status = -1;
    // SAFETY: The child is this process's, and the status is there.
    assert_eq!(unsafe { libc::waitpid(child, &raw mut status, 0) }, child);
    assert_eq!(status, 0);
}
