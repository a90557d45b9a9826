// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! How long things take, and the source of each number.

/// Virtual nanoseconds.
pub type Nanos = u64;

/// What becomes of an eight-byte WRITE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum WriteKind {
    /// One store (atomic write).
    Single,
    /// Two halves, one after the other.
    Torn,
    /// One store, and the same once more, later.
    Doubled,
}

/// A number of [`Costs`]: its name, its source, and the way to print or change it.
#[derive(Clone, Copy)]
pub struct Constant {
    /// The field's name.
    pub name: &'static str,
    /// What it is.
    pub what: &'static str,
    /// The source of [`Costs::connectx3`]'s value.
    pub source: &'static str,
    /// Its value.
    pub get: fn(&Costs) -> u64,
    /// The way to change it.
    pub get_mut: fn(&mut Costs) -> &mut u64,
}

macro_rules! costs {
    ($($name:ident: $what:literal, tests $tests:literal, connectx3 $connectx3:literal, $source:literal;)*) => {
        /// The numbers of a simulated cluster; times in ns. None is fitted to a result.
        ///
        /// # Examples
        /// ```
        /// use alock_sim::{Cluster, Costs};
        ///
        /// // The paper's cards, but for a compare-and-swap that two units work on.
        /// let costs = Costs { atomic_units: 2, ..Costs::connectx3() };
        /// let cluster = Cluster::new(5, 1 << 20, costs, 1);
        /// for it in Costs::CONSTANTS {
        ///     println!("{}: {} ({})", it.name, (it.get)(cluster.costs()), it.source);
        /// }
        /// ```
        #[derive(Clone, Copy, Debug)]
        pub struct Costs {
            $(
                #[doc = $what]
                #[doc = ""]
                #[doc = concat!("[`Costs::connectx3`]: ", $connectx3, "; ", $source)]
                pub $name: u64,
            )*
            /// What a write is.
            pub writes: WriteKind,
            /// Whether reads may tear.
            pub torn_reads: bool,
            /// Whether writes come into the memory in any order, and nothing pushes them there
            /// before [`Costs::placement`]. Firmware can force this, as relaxed ordering.
            pub relaxed: bool,
            /// Whether a waiting CPU sees each change of its own node's memory at once, as a
            /// spinning CPU does. Else it polls again after a while that grows.
            pub spins: bool,
        }

        impl Costs {
            /// All its numbers.
            pub const CONSTANTS: &'static [Constant] = &[
                $(Constant {
                    name: stringify!($name),
                    what: $what,
                    source: $source,
                    get: |it| it.$name,
                    get_mut: |it| &mut it.$name,
                },)*
            ];

            /// The paper's machines, as far as they are described elsewhere: CloudLab's r320,
            /// of the Apt cluster. It has a Xeon E5-2450 of 8 cores at 2.1 GHz, and a
            /// ConnectX-3, MX354A, for FDR InfiniBand.
            pub const fn connectx3() -> Self {
                Self {
                    $($name: $connectx3,)*
                    writes: WriteKind::Single,
                    torn_reads: false,
                    relaxed: false,
                    spins: true,
                }
            }
        }

        impl Default for Costs {
            /// Costs for tests of the locks, so that many interleavings happen. Times are coarse,
            /// all of one size and spread wide. Reads tear, and waits end late.
            fn default() -> Self {
                Self {
                    $($name: $tests,)*
                    writes: WriteKind::Single,
                    torn_reads: true,
                    relaxed: false,
                    spins: false,
                }
            }
        }
    };
}

costs! {
    cpu_access: "A CPU's load or store of a line that it has.",
        tests 60, connectx3 2, "a hit of the first cache: 4 cycles on Sandy Bridge-E (techreport.com/articles.x/21987/5, read) at 2.1 GHz";
    cpu_rmw: "A CPU's locked instruction on a line that it has.",
        tests 80, connectx3 10, "some 22 cycles at 2.1 GHz: from memory of Agner Fog's tables for Sandy Bridge, not verified; a core's dependent atomics on lines of the third cache take 20 ns each (github.com/efficient/rdma_bench, atomics-sequencer/l3-atomics/README, read)";
    cpu_barrier: "A CPU's full barrier, where no locked instruction is one.",
        tests 0, connectx3 16, "mfence, some 33 cycles at 2.1 GHz: from memory of Agner Fog's tables for Sandy Bridge, not verified";
    line: "To move a line that another CPU or the card has written, or to take it from those who read it. A line moves to one at a time.",
        tests 0, connectx3 52, "109 cycles at 2.1 GHz, a load of a line that another core of the die has modified: from memory of David, Guerraoui and Trigonakis, SOSP 2013, table 2 (a Xeon of the generation before), not verified";
    operation: "What a program does for an operation besides: it chooses a lock, and looks at the clock twice.",
        tests 0, connectx3 50, "reasoned: two calls of the clock, some 20 to 25 ns each";
    post: "From giving a card a work request to the card's having it.",
        tests 200, connectx3 240, "reasoned: the request goes with the doorbell (BlueFlame), a PCIe write, one way: half of `pcie`";
    send: "A card's time for one operation that it sends; others wait.",
        tests 100, connectx3 45, "22 million READs a second sent by a ConnectX-3: from memory of Kalia, Kaminsky and Andersen, SIGCOMM 2014, section 3 (on Apt), not verified";
    serve: "A card's time for one operation that it serves; others wait.",
        tests 100, connectx3 38, "26 million READs a second served by a ConnectX-3: from memory of the same section, not verified";
    wire: "From card to card, by one switch; a card's own pipeline and port included.",
        tests 400, connectx3 480, "so that an uncontended READ takes 2.0 us, which is its latency on a ConnectX-3: from memory of the same section (figure 2), not verified";
    loopback: "The same for an operation to the card's own node.",
        tests 200, connectx3 250, "reasoned: `wire` without the switch (some 200 ns, the vendor's figure for an SX6036, from memory) and the cable";
    pcie: "A card's read of its host's memory.",
        tests 400, connectx3 480, "the median of 8-byte reads by a card in a Xeon E5-2630 v4 (github.com/pcie-bench/data, nfp6000-1.2GHz_bdw-Xeon-E5-2630v4-dell-t430-s0-s0-s0/lat_cmd_sizes.txt, read; the data of Neugebauer et al., SIGCOMM 2018); later by two generations than the paper's CPU";
    completion: "From the card's having the response to the CPU's seeing the completion.",
        tests 400, connectx3 240, "reasoned: a PCIe write, one way: half of `pcie`";
    atomic_units: "How many compare-and-swaps a card works on at once; each word belongs to one unit, and occupies it for `pcie`: from its read to its write.",
        tests 1, connectx3 1, "a ConnectX-3 does some 2 to 3 million atomics a second, also on different words: from memory of Kalia, Kaminsky and Andersen, ATC 2016, not verified. (1/`pcie` is 2.08 million; 2.04 were measured on one word with a ConnectX-6, in a comment of public code, read)";
    in_order: "Whether (not 0) a card serves nothing else while a compare-and-swap waits for its unit or occupies it.",
        tests 0, connectx3 0, "reasoned: InfiniBand asks for order within a queue pair alone. No source says what a ConnectX-3 does; docs/results/simulator.md has both";
    pair_cache: "How many queue pairs' state a card holds; the state of another one is fetched, in place of one by chance.",
        tests 450, connectx3 450, "message rates decline beyond 450 connections: Wang et al., ICNP 2021, as the paper quotes it (sections 2 and 6.2); that the victim is one by chance is reasoned";
    pair_fetch: "What it takes to fetch the state of a queue pair; the card's other operations that way wait.",
        tests 400, connectx3 480, "reasoned: a read of the host's memory, `pcie`; that no two are fetched at once has no source";
    jitter_percent: "More or less so much, in percent of each time.",
        tests 40, connectx3 6, "the card's reads that `pcie` is from: 466 (least) to 493 ns (95 %), read";
    stall_percent: "After so many percent of its accesses a thread loses its CPU,",
        tests 0, connectx3 0, "reasoned: at most 12 threads on 16 hardware threads";
    stall: "for at most so long.",
        tests 20000, connectx3 0, "none: see `stall_percent`";
    detection: "When those who wait for somebody who is gone hear of it.",
        tests 1000000, connectx3 1000000, "nobody goes while it is measured";
    placement: "At most so long a WRITE that was acknowledged is on its way into the memory. A later READ or compare-and-swap of the same queue pair pushes it there before; another queue pair's does not.",
        tests 5000, connectx3 0, "reasoned: nothing else is on the way there, and the acknowledgement takes longer";
    write_gap: "At most so long lies between the two stores of a write that is not single.",
        tests 1000, connectx3 0, "none: writes are single";
}

impl Costs {
    /// Half a read of the host's memory: one way.
    pub(crate) fn half(&self) -> Nanos {
        self.pcie / 2
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn constants_are_the_fields() {
        let mut costs = Costs::connectx3();
        for it in Costs::CONSTANTS {
            *(it.get_mut)(&mut costs) += 7;
            assert_eq!((it.get)(&costs), (it.get)(&Costs::connectx3()) + 7);
            assert!(!it.what.is_empty() && !it.source.is_empty());
        }
        assert_eq!((costs.wire, costs.pair_cache), (487, 457));
    }

    /// The sum that `wire` is from.
    #[test]
    fn an_uncontended_read_takes_two_microseconds() {
        let it = Costs::connectx3();
        let read = it.post + it.send + it.wire + it.serve + it.pcie + it.wire + it.completion;
        assert_eq!(read, 2003);
    }
}
