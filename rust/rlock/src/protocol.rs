// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The protocol, once, for the crate and for the model checker. It is what an owner, a canceller
//! and a signal handler do to the words they share.
//!
//! After Khuong, *Relaxed revocable locks: mutual exclusion modulo preemption* (2017), with three
//! changes. First, generation, 'cancelled', 'signalled' and 'acknowledged' are one word, changed by
//! compare-and-swap. No two of them can disagree. Second, an ownership is given up only as a whole:
//! the generation advances. A section therefore need not read the lock, whose word stays as long as
//! the generation is valid. Third, a thread that was sent a signal is believed to have run the
//! handler only if [`Victim::will_handle`] says so.
//!
//! # The section
//!
//! An owner's store is a *section*, these accesses in this order, by plain
//! instructions:
//!
//! 1. `section := ownership` (the flag);
//! 2. `state`, compared with the ownership: unequal leads to 4;
//! 3. the store (the commit);
//! 4. `section := 0`.
//!
//! Nothing orders 1 before 2 for other CPUs: x86 lets the load pass the store. A canceller gets
//! that order from the victim's CPU: a context switch or a membarrier. A signal handler that
//! interrupts after 1 and before the end of 3 goes to 4 instead ([`on_signal`]).
//!
//! # Orderings
//!
//! | access | ordering | pairs with |
//! |---|---|---|
//! | canceller: `state` to CANCELLED | `cmpxchg` (full) | the victim's barrier: either its load in 2 sees this, or its flag of 1 is seen below |
//! | canceller: `section` | `load_acquire` after the victim's barrier | 4 and 1: what a victim committed is seen by a canceller that finds the flag clear |
//! | canceller: `state` when the ownership is dead | `load_acquire` | [`advance`]'s and [`on_signal`]'s release: the victim's commits are seen |
//! | owner: [`advance`] | `cmpxchg` (full) | as above; and a handler's or canceller's change is not lost |
//! | handler: ACKNOWLEDGED | `fetch_or` (full) | as above |
//! | owner: `lock` to its ownership | `cmpxchg` (full) | the same of the owner before: what that one read of the data is over |
//! | owner: `lock` | `load_acquire` | the `cmpxchg` that wrote it |

use crate::word::{standing, Ownership, Standing, ACKNOWLEDGED, CANCELLED, SIGNALLED};

/// A 64-bit cell shared between threads. The names carry the ordering; those
/// without one are full barriers.
pub trait Word {
    /// Reads. Orders nothing.
    fn load_relaxed(&self) -> u64;
    /// Reads. What follows in program order stays after it.
    fn load_acquire(&self) -> u64;
    /// Writes. Orders nothing.
    fn store_relaxed(&self, value: u64);
    /// Writes. What precedes in program order stays before it.
    fn store_release(&self, value: u64);
    /// Writes `new` if the value is `old`. Says what it was otherwise.
    fn cmpxchg(&self, old: u64, new: u64) -> Result<(), u64>;
    /// Sets bits; returns the value before.
    fn fetch_or(&self, bits: u64) -> u64;
}

/// What threads share of an owner's record.
#[derive(Debug, Default)]
#[repr(C)]
pub struct Shared<W> {
    /// The ownership that is valid now, and its flags. Written by all.
    pub state: W,
    /// The flag: an ownership while a section is under way, else 0. Written by the owner's thread
    /// alone while it lives.
    pub section: W,
}

/// What a canceller can learn of and do to the victim's thread.
pub trait Victim {
    /// Whether it is proven that the victim's thread went through a full barrier between the call
    /// and the return. A context switch is one, and a membarrier. In doubt `false`.
    fn passed_barrier(&mut self) -> bool;

    /// Sends the signal. When this returns `Ok`, the signal is pending or handled.
    fn signal(&mut self) -> Result<(), Busy>;

    /// Called after [`signal`](Self::signal). Whether two things are proven of the victim's thread.
    /// With the signal pending, it was outside user mode between the call and the return. It runs
    /// the handler before it goes on in the section that it may be in. In doubt `false`.
    fn will_handle(&mut self) -> bool;
}

/// Why a lock was not acquired or an owner not cancelled. All of them leave the
/// owner asked to give up, so that a later attempt may well succeed.
#[derive(Clone, Copy, PartialEq, Eq, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Busy {
    /// No proof that the owner's thread is not running. It probably runs on another CPU, and did
    /// not notice by itself.
    #[error("the owner may be running; waiting (Until) or a barrier (Strict) may end it")]
    Running,
    /// The owner's thread stands in a section and does not answer. It is stopped, traced, faulting,
    /// or its signal is blocked.
    #[error("the owner stands in a section and does not answer")]
    InSection,
    /// Strict and without an answer at the deadline; the owner ran all the time.
    #[error("the owner did not leave its section by the deadline")]
    Deadline,
    /// The calling thread is itself in a section: a signal handler interrupted one.
    #[error("the calling thread is inside a section, of which this is a signal handler")]
    Nested,
    /// The signal could not be sent, or its handler is no longer rlock's.
    #[error("the owner's thread cannot be signalled")]
    NoSignal,
    /// A child of `fork` that did not run `fork`'s handlers, or a process that shares
    /// this one's memory.
    #[error("this process is a copy of, or shares memory with, the one that owns the records")]
    OtherProcess,
    /// No memory for another instance of per-CPU data.
    #[error("no memory for another instance")]
    NoMemory,
    /// The thread's record is used up, and there is no other.
    #[error("no owner's record is left")]
    NoRecord,
    /// The kernel refuses the membarrier that a strict cancel needs.
    #[error("membarrier is not to be had")]
    NoBarrier,
}

/// How an ownership ended, as far as its canceller knows.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Cancelled {
    /// It was dead already, or its owner answered by itself.
    Before,
    /// Its owner was found outside sections: an eviction.
    Outside,
    /// Its owner was found in a section, and sent away from it: a hard eviction.
    Inside,
}

/// Asks for the end of `ownership`. `None` when it is dead already, otherwise
/// whether a signal was sent since it was asked.
fn ask<W: Word>(victim: &Shared<W>, ownership: Ownership) -> Option<bool> {
    let mut state = victim.state.load_acquire();
    loop {
        match standing(state, ownership) {
            Standing::Dead => return None,
            Standing::Cancelled { signalled } => return Some(signalled),
            Standing::Valid => match victim.state.cmpxchg(state, state | CANCELLED) {
                Ok(()) => return Some(false),
                Err(now) => state = now,
            },
        }
    }
}

/// Whether the victim said itself that no store of `ownership` is to come.
fn answered<W: Word>(victim: &Shared<W>, ownership: Ownership) -> bool {
    standing(victim.state.load_acquire(), ownership) == Standing::Dead
}

/// Sends the signal, and says so in the word.
fn send<W: Word>(
    victim: &Shared<W>,
    ownership: Ownership,
    thread: &mut impl Victim,
) -> Result<(), Busy> {
    // First the signal, then the word that says so. A canceller that reads SIGNALLED may
    // rely on it.
    thread.signal()?;
    let mut state = victim.state.load_relaxed();
    while standing(state, ownership) == (Standing::Cancelled { signalled: false }) {
        match victim.state.cmpxchg(state, state | SIGNALLED) {
            Ok(()) => break,
            Err(now) => state = now,
        }
    }
    Ok(())
}

/// Cancels `ownership`, or fails if the victim runs and cannot be proven to have
/// noticed. After `Ok` its owner commits nothing under it, and what it committed is
/// seen.
///
/// Never waits. Sends no signal unless the victim was interrupted inside a section.
pub fn cancel<W: Word>(
    victim: &Shared<W>,
    ownership: Ownership,
    thread: &mut impl Victim,
) -> Result<Cancelled, Busy> {
    if ask(victim, ownership).is_none() {
        return Ok(Cancelled::Before);
    }
    if !thread.passed_barrier() {
        return if answered(victim, ownership) {
            Ok(Cancelled::Before)
        } else {
            Err(Busy::Running)
        };
    }
    // The barrier came after 'cancelled': a section that began before it has its flag
    // seen here, one that begins after it sees 'cancelled'.
    if victim.section.load_acquire() == 0 {
        return Ok(Cancelled::Outside);
    }
    // Its own signal, whatever was sent before: that one may have come to a handler that
    // is no longer there, or to a tracer that kept it.
    send(victim, ownership, thread)?;
    if thread.will_handle() || answered(victim, ownership) {
        return Ok(Cancelled::Inside);
    }
    // It may have left the section since.
    if victim.section.load_acquire() == 0 {
        return Ok(Cancelled::Outside);
    }
    Err(Busy::InSection)
}

/// Cancels `ownership` without belief in what the system says of a thread. Only a barrier on the
/// victim's CPU and an answer count. `barrier` makes every running thread of the process pass a
/// full barrier. `wait` pauses, and says why when it is time to give up.
pub fn cancel_strictly<W: Word>(
    victim: &Shared<W>,
    ownership: Ownership,
    thread: &mut impl Victim,
    barrier: impl FnOnce() -> Result<(), Busy>,
    mut wait: impl FnMut() -> Result<(), Busy>,
) -> Result<Cancelled, Busy> {
    if ask(victim, ownership).is_none() {
        return Ok(Cancelled::Before);
    }
    barrier()?;
    if victim.section.load_acquire() == 0 {
        return Ok(Cancelled::Outside);
    }
    // Here only an answer counts: one signal is enough. Also when there can be none, a
    // running victim leaves its section.
    let sent = match standing(victim.state.load_acquire(), ownership) {
        Standing::Cancelled { signalled: false } => send(victim, ownership, thread),
        _ => Ok(()),
    };
    loop {
        if answered(victim, ownership) || victim.section.load_acquire() == 0 {
            return Ok(Cancelled::Inside);
        }
        wait().map_err(|why| sent.err().unwrap_or(why))?;
    }
}

/// Makes `lock` the property of `mine`. `cancel` is to end the ownership that it is
/// given, the lock's present one. After `Ok`, and as long as `mine` is valid, the lock's word
/// stays.
///
/// Costs one load when it is `mine` already.
pub fn acquire<W: Word>(
    lock: &W,
    mine: Ownership,
    mut cancel: impl FnMut(Ownership) -> Result<(), Busy>,
) -> Result<(), Busy> {
    let mut held = lock.load_acquire();
    while held != mine.bits() {
        let owner = Ownership::from_bits(held);
        if owner != Ownership::NOBODY {
            cancel(owner)?;
        }
        match lock.cmpxchg(held, mine.bits()) {
            Ok(()) => break,
            Err(now) => held = now,
        }
    }
    Ok(())
}

/// Ends the owner's present generation, and with it all that it owns. By the owner,
/// outside sections. Returns the next one; `None` when the record is used up.
pub fn advance<W: Word>(own: &Shared<W>) -> Option<Ownership> {
    let mut state = own.state.load_relaxed();
    loop {
        let now = Ownership::from_bits(state);
        let next = now.next();
        let new = next.map_or_else(|| now.retired(), Ownership::bits);
        // Not unconditionally: a handler of this thread may have come between, with a
        // generation of its own that was cancelled since.
        match own.state.cmpxchg(state, new) {
            Ok(()) => return next,
            Err(changed) => state = changed,
        }
    }
}

/// The section, access for access, for worlds without assembly. `boundary` is called between
/// accesses, with the place where a signal would find the thread. It says whether to abort there.
/// Returns whether `commit` was called.
///
/// The assembly's order of accesses is compared with this one's by single-stepping
/// (`tests/step`).
pub fn section<W: Word>(
    own: &Shared<W>,
    mine: Ownership,
    commit: impl FnOnce(),
    mut boundary: impl FnMut(Position) -> Action,
) -> bool {
    own.section.store_relaxed(mine.bits());
    let valid = boundary(Position::Before) != Action::Abort
        && own.state.load_relaxed() == mine.bits()
        && boundary(Position::Before) != Action::Abort;
    if valid {
        commit();
        boundary(Position::After);
    }
    own.section.store_release(0);
    valid
}

/// The position at which a signal handler found its thread.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Position {
    /// After the flag was set and before the commit: the section can be left out.
    Before,
    /// After the commit, or where a section goes that failed: nothing is to come,
    /// though the flag is still set.
    After,
    /// The thread is in no section's code.
    Elsewhere,
}

/// What a signal handler has to do.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Action {
    /// Nothing.
    Return,
    /// Go on where the section fails, without the commit.
    Abort,
    /// Come again when the interrupted handler has returned. That handler interrupted a section,
    /// which only then can be left out.
    Defer,
}

/// The signal handler, in the owner's thread.
pub fn on_signal<W: Word>(own: &Shared<W>, place: Position) -> Action {
    if own.state.load_acquire() & CANCELLED == 0 {
        return Action::Return;
    }
    let action = match place {
        Position::Before => Action::Abort,
        Position::After => Action::Return,
        Position::Elsewhere if own.section.load_relaxed() != 0 => return Action::Defer,
        Position::Elsewhere => Action::Return,
    };
    own.state.fetch_or(ACKNOWLEDGED);
    action
}

#[cfg(test)]
mod tests {
    use super::*;
    use core::cell::Cell;

    /// A word of one thread, whose signal handler comes after its first load.
    #[derive(Default)]
    struct Interrupted {
        value: Cell<u64>,
        /// What the handler leaves.
        left: Cell<Option<u64>>,
    }

    impl Word for Interrupted {
        fn load_relaxed(&self) -> u64 {
            let value = self.value.get();
            if let Some(left) = self.left.take() {
                self.value.set(left);
            }
            value
        }
        fn load_acquire(&self) -> u64 {
            self.value.get()
        }
        fn store_relaxed(&self, value: u64) {
            self.value.set(value);
        }
        fn store_release(&self, value: u64) {
            self.value.set(value);
        }
        fn cmpxchg(&self, old: u64, new: u64) -> Result<(), u64> {
            if self.value.get() != old {
                return Err(self.value.get());
            }
            self.value.set(new);
            Ok(())
        }
        fn fetch_or(&self, bits: u64) -> u64 {
            self.value.replace(self.value.get() | bits)
        }
    }

    /// A handler comes while its thread's generation ends. It begins and uses the next one, which
    /// is cancelled. The interrupted end must not make that valid again.
    #[test]
    fn an_end_does_not_revive_a_cancelled_generation() {
        let first = Ownership::new(1, 7);
        let second = first.next().unwrap();
        let own = Shared::<Interrupted>::default();
        own.state.value.set(first.bits() | CANCELLED);
        own.state.left.set(Some(second.bits() | CANCELLED));
        let now = advance(&own).unwrap();
        assert_eq!(own.state.value.get(), now.bits());
        assert_eq!(standing(own.state.value.get(), second), Standing::Dead);
    }

    /// When a scripted victim does something by itself.
    #[derive(Clone, Copy, PartialEq, Eq, Debug)]
    enum When {
        Never,
        Barrier,
        Signal,
    }

    /// A victim that does as it is told.
    #[derive(Clone, Copy, Debug)]
    struct Script {
        state: u64,
        in_section: bool,
        passes_barrier: bool,
        answers: When,
        leaves: When,
        is_signalled: bool,
        handles: bool,
    }

    const OLD: Ownership = Ownership::new(1, 7);
    const ALL: [When; 3] = [When::Never, When::Barrier, When::Signal];

    /// Every script there is.
    fn scripts() -> impl Iterator<Item = Script> {
        let states = [
            0,
            CANCELLED,
            CANCELLED | SIGNALLED,
            CANCELLED | ACKNOWLEDGED,
        ];
        (0..4 * 3 * 3 * 16).map(move |n| Script {
            state: OLD.bits() | states[n % 4],
            answers: ALL[n / 4 % 3],
            leaves: ALL[n / 12 % 3],
            in_section: n / 36 % 2 == 0,
            passes_barrier: n / 72 % 2 == 0,
            is_signalled: n / 144 % 2 == 0,
            handles: n / 288 % 2 == 0,
        })
    }

    /// A victim in the course of its script.
    struct Scripted {
        script: Script,
        own: Shared<Interrupted>,
        signals: Cell<u32>,
    }

    impl Scripted {
        fn new(script: Script) -> Self {
            let own = Shared::<Interrupted>::default();
            own.state.store_relaxed(script.state);
            own.section
                .store_relaxed(u64::from(script.in_section) * OLD.bits());
            let signals = Cell::new(0);
            Self {
                script,
                own,
                signals,
            }
        }

        fn comes_to(&self, when: When) {
            if self.script.answers == when {
                self.own.state.fetch_or(ACKNOWLEDGED);
            }
            if self.script.leaves == when {
                self.own.section.store_relaxed(0);
            }
        }
    }

    impl Victim for &Scripted {
        fn passed_barrier(&mut self) -> bool {
            self.comes_to(When::Barrier);
            self.script.passes_barrier
        }
        fn signal(&mut self) -> Result<(), Busy> {
            if !self.script.is_signalled {
                return Err(Busy::NoSignal);
            }
            self.signals.set(self.signals.get() + 1);
            self.comes_to(When::Signal);
            Ok(())
        }
        fn will_handle(&mut self) -> bool {
            self.script.handles
        }
    }

    /// What becomes of each script, told once more: whether it was asked, the signals, the result.
    fn due_of_a_try(script: Script) -> (bool, u32, Result<Cancelled, Busy>) {
        let answered = script.answers == When::Barrier;
        match script {
            _ if script.state & ACKNOWLEDGED != 0 => (false, 0, Ok(Cancelled::Before)),
            _ if !script.passes_barrier && answered => (true, 0, Ok(Cancelled::Before)),
            _ if !script.passes_barrier => (true, 0, Err(Busy::Running)),
            _ if !script.in_section || script.leaves == When::Barrier => {
                (true, 0, Ok(Cancelled::Outside))
            }
            _ if !script.is_signalled => (true, 0, Err(Busy::NoSignal)),
            _ if script.handles || script.answers != When::Never => {
                (true, 1, Ok(Cancelled::Inside))
            }
            _ if script.leaves == When::Signal => (true, 1, Ok(Cancelled::Outside)),
            _ => (true, 1, Err(Busy::InSection)),
        }
    }

    /// The state says what happened to the victim, and nothing else.
    #[track_caller]
    fn state_is(victim: &Scripted, asked: bool, answered: bool) {
        let (script, signals) = (victim.script, victim.signals.get());
        let state = victim.own.state.value.get();
        assert_eq!(Ownership::from_bits(state), OLD, "{script:?}");
        let has = |flag: u64| state & flag != 0;
        assert_eq!(
            has(CANCELLED),
            asked || script.state & CANCELLED != 0,
            "{script:?}"
        );
        // An answer makes the ownership dead, and no canceller writes to it any more.
        if signals != 0 && !answered {
            assert!(has(SIGNALLED), "{script:?}");
        }
        if signals == 0 {
            assert_eq!(has(SIGNALLED), script.state & SIGNALLED != 0, "{script:?}");
        }
    }

    #[test]
    fn a_try_does_what_its_victim_allows() {
        for script in scripts() {
            let victim = Scripted::new(script);
            let (asked, signals, due) = due_of_a_try(script);
            assert_eq!(cancel(&victim.own, OLD, &mut &victim), due, "{script:?}");
            assert_eq!(victim.signals.get(), signals, "{script:?}");
            state_is(&victim, asked, script.answers != When::Never);
        }
    }

    /// One signal at most, none before the barrier, and none to who was sent one or has answered.
    #[test]
    fn who_is_strict_counts_on_an_answer() {
        for script in scripts() {
            for (turns, barrier) in [(0, true), (2, true), (0, false)] {
                let victim = Scripted::new(script);
                let (asks, waits) = (Cell::new(0), Cell::new(0));
                let pass = || {
                    asks.set(asks.get() + 1);
                    victim.comes_to(When::Barrier);
                    barrier.then_some(()).ok_or(Busy::NoBarrier)
                };
                let wait = || {
                    waits.set(waits.get() + 1);
                    if waits.get() == turns {
                        victim.own.section.store_relaxed(0);
                    }
                    (waits.get() <= turns).then_some(()).ok_or(Busy::Deadline)
                };
                let said = cancel_strictly(&victim.own, OLD, &mut &victim, pass, wait);
                let dead = script.state & ACKNOWLEDGED != 0;
                let outside = !script.in_section || script.leaves == When::Barrier;
                let unanswered = script.answers != When::Barrier && script.state & SIGNALLED == 0;
                let tried = !dead && barrier && !outside && unanswered;
                let sent = tried && script.is_signalled;
                let ends = script.answers == When::Barrier
                    || sent && (script.answers == When::Signal || script.leaves == When::Signal);
                let due = match () {
                    () if dead => Ok(Cancelled::Before),
                    () if !barrier => Err(Busy::NoBarrier),
                    () if outside => Ok(Cancelled::Outside),
                    () if ends || turns == 2 => Ok(Cancelled::Inside),
                    () if tried && !script.is_signalled => Err(Busy::NoSignal),
                    () => Err(Busy::Deadline),
                };
                let told = format!("{script:?}, {turns} turns, barrier {barrier}");
                assert_eq!(said, due, "{told}");
                assert_eq!(asks.get(), u32::from(!dead), "{told}");
                assert_eq!(victim.signals.get(), u32::from(sent), "{told}");
                let inside = !dead && barrier && !outside;
                let waited = if inside && !ends { turns.max(1) } else { 0 };
                assert_eq!(waits.get(), waited, "{told}");
                state_is(&victim, !dead, script.answers != When::Never);
            }
        }
    }

    /// A section commits if it is valid and its handler does not send it away, and only then.
    #[test]
    fn a_section_commits_what_is_valid() {
        let actions = [Action::Return, Action::Abort, Action::Defer];
        for (first, second, flags) in
            (0..18).map(|n| (actions[n % 3], actions[n / 3 % 3], [0, CANCELLED][n / 9]))
        {
            let own = Shared::<Interrupted>::default();
            own.state.store_relaxed(OLD.bits() | flags);
            let (commits, mut places) = (Cell::new(0), Vec::new());
            let told = section(
                &own,
                OLD,
                || commits.set(commits.get() + 1),
                |place| {
                    assert_eq!(own.section.value.get(), OLD.bits());
                    assert_eq!(commits.get(), u32::from(place == Position::After));
                    places.push(place);
                    [first, second, Action::Return][places.len() - 1]
                },
            );
            let looks = first != Action::Abort && flags == 0;
            let valid = looks && second != Action::Abort;
            assert_eq!((told, commits.get()), (valid, u32::from(valid)));
            let due = [Position::Before, Position::Before, Position::After];
            assert_eq!(places, due[..1 + usize::from(looks) + usize::from(valid)]);
            assert_eq!(own.section.value.get(), 0);
        }
    }

    /// A lock changes hands when its owner's end is sure, and only then.
    #[test]
    fn a_lock_is_acquired_after_its_owner() {
        let mine = Ownership::new(2, 3);
        for owner in [Ownership::NOBODY, OLD, mine] {
            for fails in [false, true] {
                let lock = Interrupted::default();
                lock.store_relaxed(owner.bits());
                let mut cancelled = Vec::new();
                let said = acquire(&lock, mine, |ownership| {
                    assert_eq!(lock.value.get(), owner.bits());
                    cancelled.push(ownership);
                    (!fails).then_some(()).ok_or(Busy::Running)
                });
                let other = owner == OLD;
                assert_eq!(cancelled, if other { vec![OLD] } else { vec![] });
                let refused = other && fails;
                assert_eq!(said, if refused { Err(Busy::Running) } else { Ok(()) });
                let holds = if refused { OLD } else { mine };
                assert_eq!(lock.value.get(), holds.bits());
            }
        }
    }

    /// A handler answers a thread that was cancelled, wherever it finds it, and no other.
    #[test]
    fn a_handler_answers_who_was_cancelled() {
        let places = [Position::Before, Position::After, Position::Elsewhere];
        for (place, flags, in_section) in
            (0..3 * 2 * 2).map(|n| (places[n % 3], [0, CANCELLED][n / 3 % 2], n / 6 == 0))
        {
            let own = Shared::<Interrupted>::default();
            own.state.store_relaxed(OLD.bits() | flags);
            own.section
                .store_relaxed(u64::from(in_section) * OLD.bits());
            let defers = place == Position::Elsewhere && in_section;
            let action = match place {
                _ if flags == 0 => Action::Return,
                Position::Before => Action::Abort,
                Position::Elsewhere if defers => Action::Defer,
                _ => Action::Return,
            };
            assert_eq!(
                on_signal(&own, place),
                action,
                "{place:?} {flags} {in_section}"
            );
            let answer = if flags == 0 || defers {
                0
            } else {
                ACKNOWLEDGED
            };
            assert_eq!(own.state.value.get(), OLD.bits() | flags | answer);
        }
    }
}
