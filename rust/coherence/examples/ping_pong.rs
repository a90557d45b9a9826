// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! One transfer of a line: between two CPUs of this host, and on simulated machines.
//!
//! `ping_pong [CPU CPU]` pins two threads, by default to the first two CPUs that it may use. They hand a word to each
//! other. It prints the time from a store to the other's, of many rounds: least, median, most. Other work on the host
//! makes it longer, so the least says most. It is for a look: no table has it.

use std::{
    hint::spin_loop,
    io::Error,
    process::ExitCode,
    sync::atomic::{
        AtomicU32,
        Ordering::{Acquire, Release},
    },
    thread,
    time::Instant,
};

use coherence::{ping_pong, Costs};

/// Rounds, and the turns of one: it is shorter than the time that a scheduler gives a thread.
const ROUNDS: u32 = 200;
const TURNS: u32 = 10_000;

/// A word on its pair of lines.
#[repr(align(128))]
struct Alone(AtomicU32);

/// A bit for each CPU, as the C library has it.
type CpuSet = [u64; 16];

// The C library that std is linked with. A crate for two calls would have all clones compile their libraries again.
extern "C" {
    fn sched_setaffinity(pid: i32, size: usize, set: *const CpuSet) -> i32;
    fn sched_getaffinity(pid: i32, size: usize, set: *mut CpuSet) -> i32;
}

fn bit(cpu: usize) -> u64 {
    1 << (cpu % 64)
}

fn pinned(cpu: usize) -> Result<(), String> {
    let mut one: CpuSet = [0; 16];
    one[cpu / 64] = bit(cpu);
    // SAFETY: The set is as long as it says, and is read during the call alone. 0 is the calling thread.
    match unsafe { sched_setaffinity(0, size_of::<CpuSet>(), &one) } {
        0 => Ok(()),
        _ => Err(format!("CPU {cpu}: {}", Error::last_os_error())),
    }
}

/// The CPUs that this process may use.
fn allowed() -> Result<Vec<usize>, String> {
    let mut set: CpuSet = [0; 16];
    // SAFETY: The set is as long as it says, and is written during the call alone. 0 is the calling thread.
    match unsafe { sched_getaffinity(0, size_of::<CpuSet>(), &mut set) } {
        0 => Ok((0..1024)
            .filter(|cpu| set[cpu / 64] & bit(*cpu) != 0)
            .collect()),
        _ => Err(format!("affinity: {}", Error::last_os_error())),
    }
}

/// One thread's turns: it waits for its number, and stores the next one. Returns the nanoseconds of each round's turn.
fn turns(word: &AtomicU32, first: u32) -> Vec<f64> {
    let mut next = first;
    (0..ROUNDS)
        .map(|_| {
            let from = Instant::now();
            for _ in 0..TURNS / 2 {
                while word.load(Acquire) != next {
                    spin_loop();
                }
                word.store(next + 1, Release);
                next += 2;
            }
            from.elapsed().as_nanos() as f64 / f64::from(TURNS)
        })
        .collect()
}

fn measured(cpus: [usize; 2]) -> Result<Vec<f64>, String> {
    let word = Alone(AtomicU32::new(0));
    thread::scope(|scope| {
        let other = scope.spawn(|| pinned(cpus[1]).map(|()| turns(&word.0, 1)));
        let mine = pinned(cpus[0]).map(|()| turns(&word.0, 0));
        other.join().expect("a thread of turns")?;
        mine
    })
}

fn chosen() -> Result<[usize; 2], String> {
    let said: Vec<String> = std::env::args().skip(1).collect();
    let allowed = allowed()?;
    let cpus: Vec<usize> = if said.is_empty() {
        allowed.iter().copied().take(2).collect()
    } else {
        said.iter()
            .map(|it| {
                it.parse()
                    .map_err(|_| format!("{it}: the number of a CPU is due"))
            })
            .collect::<Result<_, _>>()?
    };
    // Both on one would wait for each other's time slice.
    match cpus[..] {
        [one, other] if one != other && cpus.iter().all(|it| allowed.contains(it)) => {
            Ok([one, other])
        }
        _ => Err(format!(
            "CPUs {cpus:?}: two that this process may use are due"
        )),
    }
}

fn main() -> ExitCode {
    let (cpus, mut rounds) = match chosen().and_then(|cpus| Ok((cpus, measured(cpus)?))) {
        Ok(measured) => measured,
        Err(error) => {
            eprintln!("ping_pong: {error}");
            return ExitCode::FAILURE;
        }
    };
    rounds.sort_by(f64::total_cmp);
    let at = |share: f64| rounds[((rounds.len() - 1) as f64 * share) as usize];
    println!(
        "measured, CPUs {} and {}: {:.1} ns least, {:.1} median, {:.1} most",
        cpus[0],
        cpus[1],
        at(0.0),
        at(0.5),
        at(1.0)
    );
    for (where_to, topology) in [
        ("one core", "1x1x2"),
        ("one socket", "1x2x1"),
        ("two sockets", "2x1x1"),
    ] {
        let topology = topology.parse().expect("a topology");
        let ns = ping_pong(topology, &Costs::default(), TURNS);
        println!("simulated, {where_to}: {ns:.1} ns");
    }
    ExitCode::SUCCESS
}
