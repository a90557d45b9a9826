//! How long things take.

/// Virtual nanoseconds.
pub type Nanos = u64;

/// What becomes of an eight-byte WRITE.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Writes {
    /// One store (atomic write).
    Single,
    /// Two halves, one after the other.
    Torn,
    /// One store, and the same once more, later.
    Doubled,
}

/// The times of a simulated cluster, in ns. None is fitted to a result.
#[derive(Clone, Copy, Debug)]
pub struct Model {
    /// A CPU's load or store of a line that another CPU had.
    pub cpu_access: Nanos,
    /// A CPU's locked instruction.
    pub cpu_rmw: Nanos,
    /// From giving a card a work request to the card's having it (one PCIe write).
    pub post: Nanos,
    /// From card to card.
    pub wire: Nanos,
    /// A card's time for one operation that it sends or serves: others wait.
    pub service: Nanos,
    /// A card's access to its host's memory.
    pub pcie: Nanos,
    /// How many queue pairs' state a card holds; beyond that an operation may have to fetch
    /// its one, which takes `pcie`.
    pub pair_cache: u32,
    /// How much more an operation to the card's own node takes up: it passes the card twice,
    /// and its host's PCIe twice.
    pub loopback: Nanos,
    /// More or less so much, in percent of each time.
    pub jitter_percent: u64,
    /// After so many percent of its accesses a thread loses its CPU,
    pub stall_percent: u64,
    /// for at most so long.
    pub stall: Nanos,
    /// When those who wait for somebody who is gone hear of it.
    pub detection: Nanos,
    /// What a write is.
    pub writes: Writes,
    /// At most so long lies between the two stores of one that is not single.
    pub write_gap: Nanos,
    /// Whether reads may tear.
    pub torn_reads: bool,
}

impl Default for Model {
    /// Of the size of what is published: a CPU's line from another core some 60 ns; a verb
    /// across one switch 2 us, a card's PCIe round trip some 500 ns (Kalia, Kaminsky and
    /// Andersen, ATC 2016); a card declines after 450 connections (Wang et al., ICNP 2021).
    fn default() -> Self {
        Self {
            cpu_access: 60,
            cpu_rmw: 80,
            post: 200,
            wire: 400,
            service: 100,
            pcie: 400,
            pair_cache: 450,
            loopback: 200,
            jitter_percent: 40,
            stall_percent: 0,
            stall: 20_000,
            detection: 1_000_000,
            writes: Writes::Single,
            write_gap: 1000,
            torn_reads: true,
        }
    }
}
