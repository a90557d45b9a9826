// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Time and memory of an allocator's arenas: one a CPU by rlock, one behind a mutex,
//! and one a thread.
//!
//! An arena hands out blocks of 64 bytes. A block comes from its free list, or is cut
//! from its chunk. `arena [threads]`, four a CPU unless said otherwise.

use std::cell::Cell;
use std::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Barrier, Mutex};
use std::time::{Duration, Instant};

use rlock::{Owner, PerCpu, Slot};

const BLOCK: usize = 64;
/// Blocks in a chunk, which an arena takes when it has nothing else.
const PER_CHUNK: u32 = 1024;
/// Blocks that a thread holds at most.
const HELD: usize = 64;

/// The memory that arenas take chunks from, and for each block the next in a list.
struct Memory {
    next: Vec<AtomicU32>,
    chunks: AtomicU32,
}

impl Memory {
    fn new(chunks: u32) -> Self {
        Self {
            next: (0..chunks * PER_CHUNK).map(|_| AtomicU32::new(0)).collect(),
            chunks: AtomicU32::new(0),
        }
    }

    /// A chunk's first block; blocks are numbered from 1.
    fn chunk(&self) -> u32 {
        let chunk = self.chunks.fetch_add(1, Ordering::Relaxed);
        assert!(
            ((chunk + 1) * PER_CHUNK) as usize <= self.next.len(),
            "out of memory"
        );
        chunk * PER_CHUNK + 1
    }

    fn next(&self, block: u32) -> &AtomicU32 {
        &self.next[block as usize - 1]
    }

    fn bytes(&self) -> usize {
        self.chunks.load(Ordering::Relaxed) as usize * PER_CHUNK as usize * BLOCK
    }
}

/// The source of threads' blocks.
trait Arenas: Sync {
    /// A thread's way to them.
    type Thread<'a>: Thread
    where
        Self: 'a;
    fn thread(&self) -> Self::Thread<'_>;
    fn memory(&self) -> &Memory;
    fn arenas(&self) -> usize;
}

trait Thread {
    fn allocate(&mut self) -> u32;
    fn free(&mut self, block: u32);
}

/// An arena by rlock. The free list and the rest of the chunk are one word. So every
/// step is one committing store. The lower half is the list's head. The upper half is
/// the next fresh block. A chunk's first block is never fresh: the chunk before ends
/// there.
struct Revocable {
    memory: Memory,
    arenas: PerCpu<Slot>,
}

struct RevocableThread<'a> {
    arenas: &'a Revocable,
    owner: Owner,
    /// A chunk that was taken for an arena which then was another thread's.
    spare: Option<u32>,
}

fn empty() -> Slot {
    Slot::new(0)
}

/// Whether a fresh block is there: chunks begin at a multiple, plus one.
fn is_fresh(fresh: u32) -> bool {
    fresh % PER_CHUNK != 1 && fresh != 0
}

impl Arenas for Revocable {
    type Thread<'a> = RevocableThread<'a>;

    fn thread(&self) -> RevocableThread<'_> {
        RevocableThread {
            arenas: self,
            owner: Owner::register().expect("rlock can be used here"),
            spare: None,
        }
    }

    fn memory(&self) -> &Memory {
        &self.memory
    }

    fn arenas(&self) -> usize {
        self.arenas.instances()
    }
}

impl Thread for RevocableThread<'_> {
    #[inline]
    fn allocate(&mut self) -> u32 {
        let memory = &self.arenas.memory;
        loop {
            let mut arena = self.arenas.arenas.acquire(&self.owner).expect("an arena");
            let word = arena.load();
            let (list, fresh) = (word as u32, (word >> 32) as u32);
            let mut chunk = None;
            let (block, after) = if list != 0 {
                // The list is this thread's if the store succeeds.
                let next = memory.next(list).load(Ordering::Relaxed);
                (list, (u64::from(fresh) << 32) | u64::from(next))
            } else if is_fresh(fresh) {
                (fresh, u64::from(fresh + 1) << 32)
            } else {
                let block = self.spare.take().unwrap_or_else(|| memory.chunk());
                chunk = Some(block);
                (block, u64::from(block + 1) << 32)
            };
            if arena.store(|slot| slot, after).is_ok() {
                return block;
            }
            self.spare = self.spare.or(chunk);
        }
    }

    #[inline]
    fn free(&mut self, block: u32) {
        loop {
            let mut arena = self.arenas.arenas.acquire(&self.owner).expect("an arena");
            let freed = arena.stage(
                |slot| slot,
                |word| {
                    self.arenas
                        .memory
                        .next(block)
                        .store(word as u32, Ordering::Relaxed);
                    (word >> 32 << 32) | u64::from(block)
                },
            );
            if freed.is_ok() {
                return;
            }
        }
    }
}

/// An ordinary arena, without rlock.
#[derive(Default)]
struct Plain {
    list: u32,
    fresh: u32,
}

impl Plain {
    fn allocate(&mut self, memory: &Memory) -> u32 {
        if self.list != 0 {
            let block = self.list;
            self.list = memory.next(block).load(Ordering::Relaxed);
            return block;
        }
        if !is_fresh(self.fresh) {
            self.fresh = memory.chunk();
        }
        self.fresh += 1;
        self.fresh - 1
    }

    fn free(&mut self, block: u32, memory: &Memory) {
        memory.next(block).store(self.list, Ordering::Relaxed);
        self.list = block;
    }
}

struct Locked {
    memory: Memory,
    arena: Mutex<Plain>,
}

impl Arenas for Locked {
    type Thread<'a> = &'a Self;

    fn thread(&self) -> &Self {
        self
    }

    fn memory(&self) -> &Memory {
        &self.memory
    }

    fn arenas(&self) -> usize {
        1
    }
}

impl Thread for &Locked {
    fn allocate(&mut self) -> u32 {
        self.arena
            .lock()
            .expect("nobody panics")
            .allocate(&self.memory)
    }

    fn free(&mut self, block: u32) {
        self.arena
            .lock()
            .expect("nobody panics")
            .free(block, &self.memory);
    }
}

struct PerThread {
    memory: Memory,
    threads: AtomicUsize,
}

struct OwnArena<'a> {
    memory: &'a Memory,
    arena: Plain,
}

impl Arenas for PerThread {
    type Thread<'a> = OwnArena<'a>;

    fn thread(&self) -> OwnArena<'_> {
        self.threads.fetch_add(1, Ordering::Relaxed);
        OwnArena {
            memory: &self.memory,
            arena: Plain::default(),
        }
    }

    fn memory(&self) -> &Memory {
        &self.memory
    }

    fn arenas(&self) -> usize {
        self.threads.load(Ordering::Relaxed)
    }
}

impl Thread for OwnArena<'_> {
    fn allocate(&mut self) -> u32 {
        self.arena.allocate(self.memory)
    }

    fn free(&mut self, block: u32) {
        self.arena.free(block, self.memory);
    }
}

/// Threads that allocate and free for a while; nanoseconds a pair and CPU.
fn run<A: Arenas>(name: &str, arenas: &A, threads: usize) {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let start = Barrier::new(threads + 1);
    let stop = AtomicU32::new(0);
    let pairs = AtomicU64::new(0);
    // The thread that holds a block: no other thread may.
    let holders: Vec<AtomicU32> = (0..arenas.memory().next.len())
        .map(|_| AtomicU32::new(0))
        .collect();
    let mut time = Duration::ZERO;
    std::thread::scope(|scope| {
        for number in 1..=threads as u32 {
            let (start, stop, pairs, holders) = (&start, &stop, &pairs, &holders);
            scope.spawn(move || {
                let mut thread = arenas.thread();
                let mut held = Vec::with_capacity(HELD);
                let done = Cell::new(0_u64);
                start.wait();
                while stop.load(Ordering::Relaxed) == 0 {
                    for _ in 0..HELD {
                        let block = thread.allocate();
                        let before = holders[block as usize - 1].swap(number, Ordering::Relaxed);
                        assert_eq!(before, 0, "{name}: block {block} was given out twice");
                        held.push(block);
                    }
                    for block in held.drain(..) {
                        holders[block as usize - 1].store(0, Ordering::Relaxed);
                        thread.free(block);
                    }
                    done.set(done.get() + HELD as u64);
                }
                pairs.fetch_add(done.get(), Ordering::Relaxed);
            });
        }
        start.wait();
        let from = Instant::now();
        std::thread::sleep(Duration::from_millis(500));
        stop.store(1, Ordering::Relaxed);
        time = from.elapsed();
    });
    let ns = time.as_nanos() as f64 * cpus.min(threads) as f64 / pairs.into_inner() as f64;
    println!(
        "| {name} | {threads} / {cpus} | {ns:.1} | {} | {} |",
        arenas.arenas(),
        arenas.memory().bytes() / 1024
    );
}

fn main() {
    let cpus = std::thread::available_parallelism().map_or(1, usize::from);
    let threads = match std::env::args().nth(1).map(|word| word.parse()) {
        None => 4 * cpus,
        Some(Ok(threads @ 1..=1000)) => threads,
        Some(_) => {
            eprintln!("usage: arena [THREADS], 1 to 1000");
            std::process::exit(2);
        }
    };
    println!();
    println!("| arena | threads / CPUs | ns a pair | arenas | KiB of chunks |");
    println!("|---|---|---|---|---|");
    let chunks = 1024;
    for threads in [1, threads] {
        run(
            "rlock, one a CPU",
            &Revocable {
                memory: Memory::new(chunks),
                arenas: PerCpu::new(empty),
            },
            threads,
        );
        run(
            "mutex, one",
            &Locked {
                memory: Memory::new(chunks),
                arena: Mutex::default(),
            },
            threads,
        );
        run(
            "one a thread",
            &PerThread {
                memory: Memory::new(chunks),
                threads: AtomicUsize::new(0),
            },
            threads,
        );
    }
}
