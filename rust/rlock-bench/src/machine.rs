// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What the figures are of.

use std::fmt;
use std::time::{Duration, Instant};

use rustix::thread::CpuSet;

/// The machine, as far as it can be asked.
pub(crate) struct Machine {
    /// The CPUs that may be used.
    pub(crate) cpus: Vec<usize>,
    /// Cycles of the time stamp counter in a nanosecond.
    pub(crate) per_ns: f64,
    /// Whether instructions and core cycles are counted.
    pub(crate) counts: bool,
    model: String,
    kernel: String,
}

pub(crate) fn rdtsc() -> u64 {
    // SAFETY: every x86-64 CPU has it.
    unsafe { core::arch::x86_64::_rdtsc() }
}

/// The calling thread's number.
pub(crate) fn tid() -> u64 {
    rustix::thread::gettid().as_raw_nonzero().get() as u64
}

/// Waits until thread `tid` of this process has left its CPU to sleep.
pub(crate) fn until_asleep(tid: u64) {
    let path = format!("/proc/self/task/{tid}/syscall");
    while std::fs::read_to_string(&path).is_ok_and(|said| said.starts_with("running")) {
        std::thread::yield_now();
    }
}

impl Machine {
    pub(crate) fn look() -> Self {
        let all = rustix::thread::sched_getaffinity(None).expect("an affinity");
        let (from, tsc) = (Instant::now(), rdtsc());
        std::thread::sleep(Duration::from_millis(200));
        let per_ns = (rdtsc() - tsc) as f64 / from.elapsed().as_nanos() as f64;
        let info = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let model = info
            .lines()
            .find_map(|line| line.strip_prefix("model name"))
            .map_or("unknown", |rest| rest.trim_start_matches(['\t', ' ', ':']));
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self {
            cpus: (0..CpuSet::MAX_CPU)
                .filter(|&cpu| all.is_set(cpu))
                .collect(),
            per_ns,
            counts: Counters::new().is_some(),
            model: model.into(),
            kernel: kernel.trim().into(),
        }
    }

    /// Binds the calling thread to the `number`th CPU; to the last where there are fewer.
    pub(crate) fn bind(&self, number: usize) {
        let mut one = CpuSet::new();
        one.set(self.cpus[number.min(self.cpus.len() - 1)]);
        rustix::thread::sched_setaffinity(None, &one).expect("an own CPU");
    }
}

impl fmt::Display for Machine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} CPUs ({}), kernel {}, {:.3} cycles of the time stamp counter a ns{}",
            self.cpus.len(),
            self.model,
            self.kernel,
            self.per_ns,
            if self.counts {
                ""
            } else {
                "; this machine does not count instructions (no IPC)"
            }
        )
    }
}

/// Instructions and core cycles of the calling thread.
pub(crate) struct Counters {
    instructions: perf_event::Counter,
    cycles: perf_event::Counter,
}

impl Counters {
    /// `None` where the machine or the kernel does not count them.
    pub(crate) fn new() -> Option<Self> {
        use perf_event::events::Hardware;
        let counter = |event| perf_event::Builder::new(event).build().ok();
        let mut new = Self {
            instructions: counter(Hardware::INSTRUCTIONS)?,
            cycles: counter(Hardware::CPU_CYCLES)?,
        };
        new.instructions.enable().ok()?;
        new.cycles.enable().ok()?;
        Some(new)
    }

    /// Since they were made.
    pub(crate) fn ipc(mut self) -> Option<f64> {
        let instructions = self.instructions.read().ok()?;
        let cycles = self.cycles.read().ok()?;
        (cycles > 0).then(|| instructions as f64 / cycles as f64)
    }
}
