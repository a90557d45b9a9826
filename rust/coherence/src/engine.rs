// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Time goes on from event to event.
//!
//! A simulated CPU is a coroutine. It runs the lock's code until that accesses a word, and goes on when the access is
//! served. A request for a line is served when the line is free, and takes effect then. So all CPUs see one order of
//! the writes of a line. A plain store goes into the CPU's store buffer, which drains in order. A locked access waits until
//! the buffer is empty. That is x86-TSO.

use std::{
    cell::{Cell, RefCell},
    cmp::Reverse,
    collections::{BinaryHeap, VecDeque},
    ptr,
    rc::Rc,
};

use corosensei::{Coroutine, CoroutineResult, Yielder};
use handover_locks::Awaited;
use rand::{Rng, SeedableRng};
use rand_pcg::Pcg64Mcg;

use crate::{
    line::{Distance, Kind, Line, Served},
    machine::{ps, Costs, Time, Topology},
};

/// What a CPU asks for.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    Load(Place),
    /// These bits get this value.
    Store(Place, u32, u32),
    /// The same, in one step with the read.
    Swap(Place, u32, u32),
    Add(Place, u32),
    Exchange(Place, u32, u32),
    Wait(Place, Awaited),
    /// Time that passes without an access.
    Work(Time),
}

/// A word of the simulated memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    line: u32,
    word: u32,
    /// What it holds until it is written.
    initial: u32,
}

#[derive(Clone, Copy, Debug)]
enum Event {
    /// The CPU goes on, with this value.
    Go { cpu: u32, value: u32 },
    /// The waiter looks again.
    Look { cpu: u32 },
    /// The line can serve the next request.
    Free { line: u32 },
    /// The first store of the buffer comes to its line.
    Drain { cpu: u32 },
    /// The first store of the buffer has been served.
    Drained { cpu: u32 },
}

/// A request that waits for its line.
#[derive(Clone, Copy, Debug)]
struct Request {
    cpu: u32,
    is_drain: bool,
}

#[derive(Default)]
struct Queue {
    line: Line,
    is_busy: bool,
    requests: VecDeque<Request>,
    /// CPUs that wait for a word of it.
    waiters: Vec<u32>,
    /// What the counts call it.
    region: usize,
}

/// What a waiter has seen.
#[derive(Clone, Copy, Debug)]
struct Waiter {
    place: Place,
    awaited: Awaited,
    version: u64,
    sleeps: bool,
}

/// A store in the buffer.
#[derive(Clone, Copy, Debug)]
struct Stored {
    place: Place,
    mask: u32,
    value: u32,
    /// Whether `unlock` made it.
    is_release: bool,
}

struct Processor {
    /// None while it runs.
    coroutine: Option<Coroutine<u32, Call, ()>>,
    pending: Option<Call>,
    stores: VecDeque<Stored>,
    drains: bool,
    /// A locked access that waits for the buffer.
    is_fenced: bool,
    waiter: Option<Waiter>,
}

/// What is counted of a region of the memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Requests that another core, an L3 or the memory served, by [`Distance`].
    pub transfers: [u64; Distance::COUNT],
    /// Copies that writes invalidated.
    pub invalidations: u64,
    /// Writes.
    pub writes: u64,
    /// Copies that the writes of `unlock` invalidated.
    pub released: u64,
    /// Looks of waiters after the first.
    pub looks_again: u64,
    /// Compare-and-exchanges that found another value.
    pub failed: u64,
}

/// What went over the wires, of the whole memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Traffic {
    /// Copies that writes invalidated.
    pub invalidations: u64,
    /// Looks of waiters after the first.
    pub looks_again: u64,
    /// Requests that another socket served.
    pub far: u64,
}

impl Traffic {
    /// What came after `before`.
    pub(crate) fn since(self, before: Self) -> Self {
        Self {
            invalidations: self.invalidations - before.invalidations,
            looks_again: self.looks_again - before.looks_again,
            far: self.far - before.far,
        }
    }

    pub(crate) fn and(self, other: Self) -> Self {
        Self {
            invalidations: self.invalidations + other.invalidations,
            looks_again: self.looks_again + other.looks_again,
            far: self.far + other.far,
        }
    }
}

/// A part of the simulated memory: it lies where the real one does.
#[derive(Clone, Copy, Debug)]
struct Region {
    base: usize,
    bytes: usize,
    first_line: u32,
}

impl Counts {
    /// What came after `before`.
    pub(crate) fn since(&self, before: &Self) -> Self {
        let mut transfers = self.transfers;
        for (one, before) in transfers.iter_mut().zip(before.transfers) {
            *one -= before;
        }
        Self {
            transfers,
            invalidations: self.invalidations - before.invalidations,
            writes: self.writes - before.writes,
            released: self.released - before.released,
            looks_again: self.looks_again - before.looks_again,
            failed: self.failed - before.failed,
        }
    }

    /// Requests that another socket served.
    pub fn far(&self) -> u64 {
        self.transfers[Distance::Far as usize]
    }
}

/// What CPUs and the engine share.
pub(crate) struct Clock {
    now: Cell<Time>,
    cpu: Cell<u32>,
    yielder: Cell<*const Yielder<u32, Call>>,
    regions: RefCell<Vec<Region>>,
    /// So far.
    traffic: Cell<Traffic>,
    /// The CPUs that are in `unlock`.
    releases: RefCell<Vec<bool>>,
}

thread_local! {
    /// The machine that this thread simulates.
    static CURRENT: RefCell<Option<Rc<Clock>>> = const { RefCell::new(None) };
}

impl Clock {
    /// The clock of the machine whose CPU runs.
    pub(crate) fn current() -> Rc<Clock> {
        CURRENT
            .with(|current| current.borrow().clone())
            .expect("a CPU that runs")
    }

    /// The time.
    pub(crate) fn now(&self) -> Time {
        self.now.get()
    }

    /// The CPU that runs.
    pub(crate) fn cpu(&self) -> u32 {
        self.cpu.get()
    }

    /// What went over the wires so far.
    pub(crate) fn traffic(&self) -> Traffic {
        self.traffic.get()
    }

    /// From here on the CPU that runs is in `unlock`, or no longer.
    pub(crate) fn releases(&self, is_release: bool) {
        self.releases.borrow_mut()[self.cpu() as usize] = is_release;
    }

    fn is_release(&self, cpu: u32) -> bool {
        self.releases.borrow()[cpu as usize]
    }

    /// The word at this address.
    pub(crate) fn place(&self, address: usize, initial: u32) -> Place {
        let regions = self.regions.borrow();
        let region = regions
            .iter()
            .find(|region| (region.base..region.base + region.bytes).contains(&address))
            .expect("a word of the simulated memory");
        let word = ((address - region.base) / 4) as u32;
        Place {
            line: region.first_line + word / WORDS,
            word: region.first_line * WORDS + word,
            initial,
        }
    }

    /// The CPU that runs asks for something, and goes on when it is done.
    pub(crate) fn call(&self, call: Call) -> u32 {
        let yielder = self.yielder.get();
        assert!(!yielder.is_null(), "no CPU runs");
        // SAFETY: It is that of the coroutine that runs, on whose stack this is (`Engine::run_on_next`, `resume`). A
        // coroutine's yielder lives as long as its stack.
        unsafe { &*yielder }.suspend(call)
    }
}

/// The words of a line.
const WORDS: u32 = 16;
/// The bytes of a line.
const LINE: usize = 64;

/// The machine in motion.
pub(crate) struct Engine {
    topology: Topology,
    costs: Costs,
    clock: Rc<Clock>,
    rng: Pcg64Mcg,
    events: BinaryHeap<Reverse<(Time, u64, u32)>>,
    /// The events by their number; free places are used again.
    table: Vec<Event>,
    spare: Vec<u32>,
    order: u64,
    lines: Vec<Queue>,
    words: Vec<Option<u32>>,
    processors: Vec<Processor>,
    yielders: Vec<Rc<Cell<*const Yielder<u32, Call>>>>,
    pub(crate) counts: Vec<Counts>,
    /// Events that were handled.
    pub(crate) handled: u64,
}

/// A word whose bits of `mask` get this value.
fn put(word: u32, mask: u32, value: u32) -> u32 {
    (word & !mask) | value
}

/// A lock has stopped: every CPU waits, and nothing will wake one.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("at {at} ps every CPU waits: {waiting:?}")]
pub struct Stopped {
    /// When.
    pub at: Time,
    /// The CPUs that wait.
    pub waiting: Vec<u32>,
}

impl Engine {
    /// A machine without memory and without a program. What is counted, is counted by region.
    pub(crate) fn new(topology: Topology, costs: Costs, seed: u64, regions: usize) -> Self {
        Self {
            topology,
            costs,
            clock: Rc::new(Clock {
                now: Cell::new(0),
                cpu: Cell::new(0),
                yielder: Cell::new(ptr::null()),
                regions: RefCell::new(Vec::new()),
                traffic: Cell::new(Traffic::default()),
                releases: RefCell::new(Vec::new()),
            }),
            rng: Pcg64Mcg::seed_from_u64(seed),
            events: BinaryHeap::new(),
            table: Vec::new(),
            spare: Vec::new(),
            order: 0,
            lines: Vec::new(),
            words: Vec::new(),
            processors: Vec::new(),
            yielders: Vec::new(),
            counts: vec![Counts::default(); regions],
            handled: 0,
        }
    }

    pub(crate) fn clock(&self) -> Rc<Clock> {
        self.clock.clone()
    }

    /// The words in `memory` are simulated, and counted as `region`. It begins a line, and stays where it is.
    pub(crate) fn map<T: ?Sized>(&mut self, memory: &T, region: usize) {
        let (base, bytes) = (ptr::from_ref(memory).addr(), size_of_val(memory));
        assert_eq!(base % LINE, 0, "memory that does not begin a line");
        let first_line = self.lines.len() as u32;
        for _ in 0..bytes.div_ceil(LINE) {
            self.lines.push(Queue {
                region,
                ..Queue::default()
            });
        }
        self.words.resize(self.lines.len() * WORDS as usize, None);
        self.clock.regions.borrow_mut().push(Region {
            base,
            bytes,
            first_line,
        });
    }

    fn word(&mut self, place: Place) -> &mut u32 {
        self.words[place.word as usize].get_or_insert(place.initial)
    }

    /// The next CPU runs this from the time `begin` on.
    pub(crate) fn run_on_next(&mut self, begin: Time, program: impl FnOnce() + 'static) {
        let cpu = self.processors.len() as u32;
        let here = Rc::new(Cell::new(ptr::null()));
        let (its, clock) = (here.clone(), self.clock.clone());
        let coroutine = Coroutine::new(move |yielder: &Yielder<u32, Call>, _: u32| {
            its.set(yielder);
            clock.yielder.set(yielder);
            program();
        });
        self.processors.push(Processor {
            coroutine: Some(coroutine),
            pending: None,
            stores: VecDeque::new(),
            drains: false,
            is_fenced: false,
            waiter: None,
        });
        self.yielders.push(here);
        self.clock.releases.borrow_mut().push(false);
        self.at(begin, Event::Go { cpu, value: 0 });
    }

    fn at(&mut self, time: Time, event: Event) {
        let number = if let Some(number) = self.spare.pop() {
            self.table[number as usize] = event;
            number
        } else {
            self.table.push(event);
            self.table.len() as u32 - 1
        };
        self.order += 1;
        self.events.push(Reverse((time, self.order, number)));
    }

    fn after(&mut self, delay: Time, event: Event) {
        self.at(self.clock.now() + delay, event);
    }

    /// Goes on until `end`, or until all programs have ended.
    pub(crate) fn run(&mut self, end: Time) -> Result<(), Stopped> {
        let clock = self.clock.clone();
        let before = CURRENT.with(|current| current.replace(Some(clock)));
        assert!(before.is_none(), "one machine at a time");
        let result = self.go_on(end);
        CURRENT.with(|current| current.replace(None));
        result
    }

    fn go_on(&mut self, end: Time) -> Result<(), Stopped> {
        while let Some(&Reverse((time, _, number))) = self.events.peek() {
            if time > end {
                self.clock.now.set(end);
                return Ok(());
            }
            self.events.pop();
            self.clock.now.set(time);
            self.handled += 1;
            self.spare.push(number);
            match self.table[number as usize] {
                Event::Go { cpu, value } => self.resume(cpu, value),
                Event::Look { cpu } => self.look(cpu),
                Event::Free { line } => self.free(line),
                Event::Drain { cpu } => self.drain(cpu),
                Event::Drained { cpu } => self.drained(cpu),
            }
        }
        let waiting: Vec<u32> = (0..self.processors.len() as u32)
            .filter(|&cpu| self.processors[cpu as usize].coroutine.is_some())
            .collect();
        if waiting.is_empty() {
            Ok(())
        } else {
            Err(Stopped {
                at: self.clock.now(),
                waiting,
            })
        }
    }

    /// Waiters that sleep though what they await is there, or has been: no run may end with one.
    pub(crate) fn forgotten(&self) -> Vec<u32> {
        (0..self.processors.len() as u32)
            .filter(|&cpu| {
                self.processors[cpu as usize].waiter.is_some_and(|waiter| {
                    waiter.sleeps
                        && self.lines[waiter.place.line as usize].line.version != waiter.version
                })
            })
            .collect()
    }

    fn resume(&mut self, cpu: u32, value: u32) {
        let mut coroutine = self.processors[cpu as usize]
            .coroutine
            .take()
            .expect("a CPU that waits for what it asked for");
        self.clock.cpu.set(cpu);
        // At its first step it sets it itself.
        self.clock.yielder.set(self.yielders[cpu as usize].get());
        let result = coroutine.resume(value);
        self.clock.yielder.set(ptr::null());
        match result {
            CoroutineResult::Return(()) => {}
            CoroutineResult::Yield(call) => {
                let processor = &mut self.processors[cpu as usize];
                processor.coroutine = Some(coroutine);
                processor.pending = Some(call);
                self.begin(cpu, call);
            }
        }
    }

    /// A CPU asks for something.
    fn begin(&mut self, cpu: u32, call: Call) {
        match call {
            Call::Work(time) => self.after(time, Event::Go { cpu, value: 0 }),
            Call::Store(place, mask, value) => {
                let is_release = self.clock.is_release(cpu);
                let processor = &mut self.processors[cpu as usize];
                processor.stores.push_back(Stored {
                    place,
                    mask,
                    value,
                    is_release,
                });
                if !processor.drains {
                    processor.drains = true;
                    self.after(0, Event::Drain { cpu });
                }
                self.after(ps(self.costs.hit), Event::Go { cpu, value: 0 });
            }
            Call::Swap(..) | Call::Add(..) | Call::Exchange(..)
                if self.processors[cpu as usize].drains =>
            {
                self.processors[cpu as usize].is_fenced = true;
            }
            Call::Wait(place, awaited) => {
                self.processors[cpu as usize].waiter = Some(Waiter {
                    place,
                    awaited,
                    version: 0,
                    sleeps: false,
                });
                self.come(cpu);
            }
            Call::Load(_) | Call::Swap(..) | Call::Add(..) | Call::Exchange(..) => self.come(cpu),
        }
    }

    /// The CPU's access comes to its line: a hit, or a request.
    fn come(&mut self, cpu: u32) {
        let (place, kind) = match self.processors[cpu as usize].pending.expect("an access") {
            Call::Load(place) | Call::Wait(place, _) => (place, Kind::Read),
            Call::Swap(place, ..) | Call::Add(place, _) | Call::Exchange(place, ..) => {
                (place, Kind::Locked)
            }
            Call::Store(..) | Call::Work(_) => unreachable!("no access that comes itself"),
        };
        // The CPU reads its own stores before others do.
        let own = self.processors[cpu as usize]
            .stores
            .iter()
            .rev()
            .find(|stored| stored.place == place);
        match (kind, own) {
            (Kind::Read, Some(whole)) if whole.mask == u32::MAX => {
                let value = whole.value;
                self.answer(cpu, value, ps(self.costs.hit));
                return;
            }
            // A store of a part cannot be forwarded to a read of the whole, which waits for the buffer.
            (Kind::Read, Some(_)) => {
                self.processors[cpu as usize].is_fenced = true;
                return;
            }
            _ => {}
        }
        let core = self.topology.core(cpu);
        if self.lines[place.line as usize]
            .line
            .is_hit(core, kind.writes())
        {
            let served =
                self.lines[place.line as usize]
                    .line
                    .hit(self.topology, &self.costs, cpu, kind);
            self.count(place.line, served, kind, self.clock.is_release(cpu));
            self.serve(cpu, served);
        } else {
            self.request(
                place.line,
                Request {
                    cpu,
                    is_drain: false,
                },
            );
        }
    }

    fn request(&mut self, line: u32, request: Request) {
        self.lines[line as usize].requests.push_back(request);
        if !self.lines[line as usize].is_busy {
            self.free(line);
        }
    }

    /// The line serves the next request, if there is one. Which, is drawn: a home serves in no order.
    fn free(&mut self, line: u32) {
        let queue = &mut self.lines[line as usize];
        queue.is_busy = false;
        if queue.requests.is_empty() {
            return;
        }
        let next = self.rng.random_range(0..queue.requests.len());
        let request = queue.requests.swap_remove_back(next).expect("one of them");
        let cpu = request.cpu;
        let kind = if request.is_drain {
            Kind::Write
        } else {
            match self.processors[cpu as usize].pending {
                Some(Call::Load(_) | Call::Wait(..)) => Kind::Read,
                _ => Kind::Locked,
            }
        };
        let core = self.topology.core(cpu);
        let queue = &mut self.lines[line as usize];
        // Meanwhile the core's other thread may have brought it.
        let served = if queue.line.is_hit(core, kind.writes()) {
            queue.line.hit(self.topology, &self.costs, cpu, kind)
        } else {
            queue.line.miss(self.topology, &self.costs, cpu, kind)
        };
        queue.is_busy = true;
        self.after(served.blocked, Event::Free { line });
        let is_release = if request.is_drain {
            self.first_store(cpu).is_release
        } else {
            self.clock.is_release(cpu)
        };
        self.count(line, served, kind, is_release);
        if request.is_drain {
            self.apply_store(cpu, served);
        } else {
            self.serve(cpu, served);
        }
    }

    fn count(&mut self, line: u32, served: Served, kind: Kind, is_release: bool) {
        let counts = &mut self.counts[self.lines[line as usize].region];
        counts.invalidations += u64::from(served.invalidated);
        if is_release {
            counts.released += u64::from(served.invalidated);
        }
        counts.writes += u64::from(kind.writes());
        counts.transfers[served.from as usize] += 1;
        self.clock.traffic.set(self.clock.traffic().and(Traffic {
            invalidations: u64::from(served.invalidated),
            looks_again: 0,
            far: u64::from(served.from == Distance::Far),
        }));
    }

    /// The CPU's own access takes effect.
    fn serve(&mut self, cpu: u32, served: Served) {
        let call = self.processors[cpu as usize].pending.expect("an access");
        let (place, new) = match call {
            Call::Load(place) | Call::Wait(place, _) => (place, None),
            Call::Swap(place, mask, value) => (place, Some(put(*self.word(place), mask, value))),
            Call::Add(place, value) => (place, Some(self.word(place).wrapping_add(value))),
            Call::Exchange(place, old, new) => {
                let now = *self.word(place);
                if now != old {
                    self.counts[self.lines[place.line as usize].region].failed += 1;
                }
                (place, Some(if now == old { new } else { now }))
            }
            Call::Store(..) | Call::Work(_) => unreachable!("no access that is served"),
        };
        let before = *self.word(place);
        if let Some(new) = new {
            *self.word(place) = new;
            self.tell(place.line, cpu, served);
        }
        self.answer(cpu, before, served.latency);
    }

    /// What the CPU asked for has this value, so much later.
    fn answer(&mut self, cpu: u32, value: u32, latency: Time) {
        let processor = &mut self.processors[cpu as usize];
        if let Some(waiter) = &mut processor.waiter {
            if waiter.awaited.holds(value) {
                processor.waiter = None;
            } else {
                let line = waiter.place.line;
                waiter.version = self.lines[line as usize].line.version;
                waiter.sleeps = true;
                self.lines[line as usize].waiters.push(cpu);
                return;
            }
        }
        self.after(latency, Event::Go { cpu, value });
    }

    /// `cpu` has written a line. The waiters of its words look again when their copies are gone and their pause is over.
    fn tell(&mut self, line: u32, cpu: u32, served: Served) {
        let waiters = std::mem::take(&mut self.lines[line as usize].waiters);
        let core = self.topology.core(cpu);
        for waiter in waiters {
            let reached = if self.topology.core(waiter) == core {
                ps(self.costs.sibling)
            } else {
                served.latency
            };
            let pause = self.rng.random_range(0..=ps(self.costs.pause));
            if let Some(its) = &mut self.processors[waiter as usize].waiter {
                its.sleeps = false;
            }
            self.after(reached + pause, Event::Look { cpu: waiter });
        }
    }

    fn look(&mut self, cpu: u32) {
        let waiter = self.processors[cpu as usize].waiter.expect("a waiter");
        let region = self.lines[waiter.place.line as usize].region;
        self.counts[region].looks_again += 1;
        self.clock.traffic.set(self.clock.traffic().and(Traffic {
            looks_again: 1,
            ..Traffic::default()
        }));
        self.come(cpu);
    }

    /// The first store of the buffer comes to its line.
    fn drain(&mut self, cpu: u32) {
        let Stored {
            place, is_release, ..
        } = self.first_store(cpu);
        let core = self.topology.core(cpu);
        if self.lines[place.line as usize].line.is_hit(core, true) {
            let served = self.lines[place.line as usize].line.hit(
                self.topology,
                &self.costs,
                cpu,
                Kind::Write,
            );
            self.count(place.line, served, Kind::Write, is_release);
            self.apply_store(cpu, served);
        } else {
            self.request(
                place.line,
                Request {
                    cpu,
                    is_drain: true,
                },
            );
        }
    }

    fn first_store(&self, cpu: u32) -> Stored {
        *self.processors[cpu as usize]
            .stores
            .front()
            .expect("a store")
    }

    fn apply_store(&mut self, cpu: u32, served: Served) {
        let Stored {
            place, mask, value, ..
        } = self.first_store(cpu);
        *self.word(place) = put(*self.word(place), mask, value);
        self.tell(place.line, cpu, served);
        self.after(served.latency, Event::Drained { cpu });
    }

    fn drained(&mut self, cpu: u32) {
        let processor = &mut self.processors[cpu as usize];
        processor.stores.pop_front();
        if !processor.stores.is_empty() {
            self.drain(cpu);
            return;
        }
        processor.drains = false;
        if std::mem::take(&mut processor.is_fenced) {
            self.come(cpu);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::world::SimWord;
    use handover_locks::Word;

    /// A line with one word.
    #[repr(C, align(64))]
    struct Alone(SimWord);

    #[repr(C, align(4096))]
    struct Memory {
        slow: [Alone; 4],
        far: Alone,
        near: Alone,
    }

    /// CPU 1 owns all lines but `near`, which CPU 0 owns. CPU 0 stores to the slow ones, which takes long, and then runs
    /// `first`. CPU 1 waits until `near` has changed, and returns what `far` holds then.
    fn far_is_seen(first: impl FnOnce(&Memory) + 'static) -> u32 {
        let alone = || Alone(SimWord::new(0));
        let memory = Rc::new(Memory {
            slow: [(); 4].map(|()| alone()),
            far: alone(),
            near: alone(),
        });
        let mut engine = Engine::new(Topology::PAPER, Costs::default(), 1, 1);
        engine.map(&*memory, 0);
        let seen = Rc::new(Cell::new(u32::MAX));
        let (mine, theirs, told) = (memory.clone(), memory.clone(), seen.clone());
        engine.run_on_next(0, move || {
            mine.near.0.fetch_add_relaxed(0);
            Clock::current().call(Call::Work(1_000_000));
            mine.slow.iter().for_each(|slow| slow.0.store_relaxed(1));
            first(&mine);
        });
        engine.run_on_next(0, move || {
            theirs.slow.iter().for_each(|slow| {
                slow.0.fetch_add_relaxed(0);
            });
            theirs.far.0.fetch_add_relaxed(0);
            theirs.near.0.wait_acquire(Awaited::not(0));
            told.set(theirs.far.0.load_acquire());
        });
        engine.run(10_000_000).expect("nobody waits for ever");
        seen.get()
    }

    #[test]
    fn a_locked_access_comes_after_the_stores_before_it() {
        let seen = far_is_seen(|memory| {
            memory.far.0.store_relaxed(7);
            memory.near.0.fetch_add_relaxed(1);
        });
        assert_eq!(seen, 7);
    }

    #[test]
    fn stores_come_in_their_order() {
        let seen = far_is_seen(|memory| {
            memory.far.0.store_relaxed(7);
            memory.near.0.store_relaxed(1);
        });
        assert_eq!(seen, 7);
    }

    #[test]
    fn a_part_is_stored_and_the_rest_stays() {
        let seen = far_is_seen(|memory| {
            memory.far.0.store_relaxed(0x0102_0304);
            memory.far.0.store_release_part(0x0304, 0x0009);
            // The whole is read when the part has come to its line.
            assert_eq!(memory.far.0.load_relaxed(), 0x0102_0009);
            assert_eq!(
                memory.far.0.swap_acq_rel_part(0xffff_0000, 0x0a00_0000),
                0x0102_0009
            );
            memory.far.0.store_relaxed_part(0, 0x0050_0000);
            memory.near.0.store_relaxed(1);
        });
        assert_eq!(seen, 0x0a50_0009);
    }

    #[test]
    fn a_cpu_reads_its_own_stores_first() {
        let seen = far_is_seen(|memory| {
            memory.far.0.store_relaxed(7);
            memory.far.0.store_relaxed(8);
            assert_eq!(memory.far.0.load_relaxed(), 8);
            memory.near.0.store_relaxed(1);
        });
        assert_eq!(seen, 8);
    }
}
