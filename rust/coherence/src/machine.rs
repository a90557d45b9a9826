// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The machine: where its CPUs are, and what an access costs.

use std::{fmt, str::FromStr};

use serde::{Deserialize, Serialize};
use thiserror::Error;

/// Time, in picoseconds.
pub type Time = u64;

/// How the CPUs of a machine lie.
///
/// # Examples
///
/// ```
/// use coherence::Topology;
///
/// let paper: Topology = "2x18x2".parse().unwrap();
/// assert_eq!(paper, Topology::PAPER);
/// assert_eq!(paper.cpus(), 72);
/// // As Linux places threads: the sockets in turn, a core's second thread when each core has one.
/// assert_eq!(paper.core(0), 0);
/// assert_eq!(paper.core(1), 18);
/// assert_eq!(paper.core(36), paper.core(0));
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Topology {
    /// Sockets.
    pub sockets: u32,
    /// Cores of a socket.
    pub cores: u32,
    /// CPUs of a core.
    pub threads: u32,
}

/// A topology that is none.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("topology {0}: SOCKETSxCORESxTHREADS is due, with at least 1 of each, 8 sockets and 128 cores at most")]
pub struct NoTopology(String);

impl Topology {
    /// The machine of the TWA paper, section 4. It is an Oracle X5-2: two Xeon E5-2699 v3 of 18 cores with 2 threads.
    pub const PAPER: Self = Self {
        sockets: 2,
        cores: 18,
        threads: 2,
    };

    /// The cores of all sockets.
    pub fn all_cores(self) -> u32 {
        self.sockets * self.cores
    }

    /// The CPUs.
    pub fn cpus(self) -> u32 {
        self.all_cores() * self.threads
    }

    /// The core of a CPU. CPUs are numbered in the order in which threads are placed.
    pub fn core(self, cpu: u32) -> u32 {
        cpu % self.sockets * self.cores + cpu / self.sockets % self.cores
    }

    /// The socket of a core.
    pub fn socket(self, core: u32) -> u32 {
        core / self.cores
    }

    /// A bit for each core of a socket.
    pub(crate) fn cores_of(self, socket: u32) -> u128 {
        (u128::MAX >> (u128::BITS - self.cores)) << (socket * self.cores)
    }
}

impl fmt::Display for Topology {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(to, "{}x{}x{}", self.sockets, self.cores, self.threads)
    }
}

impl FromStr for Topology {
    type Err = NoTopology;

    fn from_str(said: &str) -> Result<Self, NoTopology> {
        let wrong = || NoTopology(said.to_owned());
        let numbers: Vec<u32> = said
            .split('x')
            .map(str::parse)
            .collect::<Result<_, _>>()
            .map_err(|_| wrong())?;
        let [sockets, cores, threads] = numbers[..] else {
            return Err(wrong());
        };
        let fits = (1..=8).contains(&sockets)
            && (1..=128).contains(&cores)
            && (1..=8).contains(&threads)
            && sockets * cores <= 128;
        fits.then_some(Self {
            sockets,
            cores,
            threads,
        })
        .ok_or_else(wrong)
    }
}

/// Where a cost comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// It was read there.
    Read(&'static str),
    /// No measurement of it was read. Figures sweep it.
    Free,
}

const CORE_TO_CORE: Source = Source::Read(
    "nviennot/core-to-core-latency, README at 0dddf509: dual Xeon E5-2695 v4, 2 x 18 cores, the generation after the paper's",
);

macro_rules! costs {
    ($($name:ident: $default:literal, $least:literal to $most:literal, $source:expr, $about:literal;)*) => {
        /// What accesses and the benchmarks' work cost: nanoseconds, and ratios.
        ///
        /// A file of costs is JSON. It names those that differ from the default:
        ///
        /// ```
        /// use coherence::Costs;
        ///
        /// let costs: Costs = serde_json::from_str(r#"{"other_socket": 150}"#).unwrap();
        /// assert_eq!(costs.other_socket, 150.0);
        /// assert_eq!(costs.same_socket, Costs::default().same_socket);
        /// ```
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(default, deny_unknown_fields)]
        pub struct Costs {
            $(#[doc = $about] pub $name: f64,)*
        }

        impl Default for Costs {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }

        /// A cost: its default, the range that figures sweep, and its source.
        #[derive(Clone, Copy, Debug)]
        pub struct Cost {
            /// As in a file of costs.
            pub name: &'static str,
            /// What it is.
            pub about: &'static str,
            /// Without a file.
            pub default: f64,
            /// The range, at least from half to twice the default.
            pub swept: (f64, f64),
            /// Where the default comes from.
            pub source: Source,
        }

        impl Costs {
            /// All of them.
            pub const ALL: &'static [Cost] = &[$(Cost {
                name: stringify!($name),
                about: $about,
                default: $default,
                swept: ($least, $most),
                source: $source,
            },)*];

            /// The cost of this name.
            pub fn get_mut(&mut self, name: &str) -> Option<&mut f64> {
                match name {
                    $(stringify!($name) => Some(&mut self.$name),)*
                    _ => None,
                }
            }
        }
    };
}

costs! {
    hit: 1.6, 0.8 to 3.2, Source::Free, "A load or store that the core's own cache serves.";
    locked: 8.0, 4.0 to 16.0, Source::Free, "A read-modify-write on a line that the core owns.";
    sibling: 7.6, 3.8 to 15.2, CORE_TO_CORE, "A line that the core's other thread wrote last.";
    same_socket: 44.0, 22.0 to 88.0, CORE_TO_CORE, "A line that another core of the socket owns.";
    other_socket: 118.0, 59.0 to 236.0, CORE_TO_CORE, "A line that a core of another socket owns.";
    shared: 21.0, 10.5 to 42.0, Source::Free, "A line that nobody owns and the socket's L3 has.";
    shared_far: 86.0, 43.0 to 172.0, Source::Free, "A line that nobody owns and only another socket has.";
    memory: 96.0, 48.0 to 192.0, Source::Free, "A line that no cache has.";
    snoop: 25.0, 12.5 to 50.0, Source::Free, "To invalidate the copies within the socket, before the first.";
    snoop_far: 65.0, 32.5 to 130.0, Source::Free, "To invalidate the copies of other sockets, before the first.";
    each_copy: 1.0, 0.5 to 2.0, Source::Free, "Each copy that is invalidated.";
    read_service: 5.0, 2.5 to 10.0, Source::Free, "How long a read of a line that nobody owns keeps others from it.";
    transfer_share: 0.5, 0.25 to 1.0, Source::Free, "The share of a transfer or an invalidation during which the line serves nobody else.";
    pause: 8.0, 4.0 to 16.0, Source::Free, "The longest time from an invalidation to a waiter's next look: PAUSE.";
    mersenne_step: 3.0, 1.5 to 6.0, Source::Free, "A step of `std::mt19937`, of which MutexBench's work is.";
    torture_step: 2.0, 1.0 to 4.0, Source::Free, "A step of the kernel's `torture_random()`, of which LockTorture's work is.";
    delay_loop: 1.0, 0.5 to 2.0, Source::Free, "An iteration of the delay loop of libslock's stress_latency.";
    throw_section: 100.0, 25.0 to 400.0, Source::Free, "A walk over the loaded modules during a throw, under the lock.";
    throw_gap: 50.0, 12.5 to 200.0, Source::Free, "What a throw does between two of its walks.";
    profile_hold: 1.0, 0.5 to 2.0, Source::Free, "A program's section here, to the same where it was measured.";
    profile_gap: 1.0, 0.5 to 2.0, Source::Free, "A program's time between two sections here, to the same where it was measured.";
}

/// Picoseconds.
pub(crate) fn ps(ns: f64) -> Time {
    (ns * 1000.0).round() as Time
}
