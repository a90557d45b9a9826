// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What a waiting thread costs the cards, and which threads it makes wait longer.

use std::cell::Cell;
use std::num::NonZeroU32;
use std::rc::Rc;

use alock::lock::{acquire, release};
use alock::pace::POLL_EVERY;
use alock::ptr::{Descriptor, LockPtr, NodeId, Ptr};
use alock::remote::{Remote, Verbs};
use alock_sim::{Card, Cluster, Connections, Costs, Cpu, End, Nanos};

const HERE: NodeId = NodeId(0);
const THERE: NodeId = NodeId(1);

/// A leader, and at most three behind it.
const CONNECTIONS: Connections = Connections {
    threads: 4,
    loopback: false,
    full: false,
};

fn line(node: NodeId, number: u64) -> Ptr {
    Ptr::new(node, number * 64).unwrap()
}

/// What was seen of a long section.
#[derive(Default)]
struct Seen {
    round_trip: Cell<Nanos>,
    /// The remote leader's first poll, and the work requests of all cards until then.
    began: Cell<Option<(Nanos, u64)>>,
    /// The release, and the work requests until then.
    released: Cell<(Nanos, u64)>,
    /// The remote leader's entry.
    entered: Cell<Nanos>,
}

struct World {
    cluster: Cluster,
    lock: LockPtr,
    budget: NonZeroU32,
    seen: Seen,
}

impl World {
    async fn holder(self: Rc<Self>, hold: Nanos) {
        let (cpu, mine) = (Cpu::new(&self.cluster), Descriptor(line(HERE, 2)));
        let held = acquire(&cpu, self.lock, mine, self.budget, &mut || true).await;
        self.cluster.sleep(hold).await;
        let requests = self.cluster.work_requests();
        self.seen.released.set((self.cluster.now(), requests));
        release(&cpu, self.lock, mine, held.unwrap().unwrap())
            .await
            .unwrap();
    }

    async fn leader(self: Rc<Self>) {
        let (card, mine) = (
            Card::new(&self.cluster, THERE, 0, CONNECTIONS),
            Descriptor(line(THERE, 2)),
        );
        // The first one also fetches what its card does not hold yet.
        card.read(self.lock).await.unwrap();
        let from = self.cluster.now();
        card.read(self.lock).await.unwrap();
        self.seen.round_trip.set(self.cluster.now() - from);
        let mut goes_on = || {
            let now = (self.cluster.now(), self.cluster.work_requests());
            self.seen.began.set(self.seen.began.get().or(Some(now)));
            true
        };
        let access = Remote::new(&card);
        let held = acquire(&access, self.lock, mine, self.budget, &mut goes_on).await;
        self.seen.entered.set(self.cluster.now());
        release(&access, self.lock, mine, held.unwrap().unwrap())
            .await
            .unwrap();
    }

    /// A thread in the queue behind the leader; when it comes, no other thread is coming.
    async fn follower(self: Rc<Self>, number: u64) {
        let (card, mine) = (
            Card::new(&self.cluster, THERE, number as u16, CONNECTIONS),
            Descriptor(line(THERE, 2 + number)),
        );
        self.cluster.sleep(20_000 * number).await;
        let access = Remote::new(&card);
        let held = acquire(&access, self.lock, mine, self.budget, &mut || true).await;
        release(&access, self.lock, mine, held.unwrap().unwrap())
            .await
            .unwrap();
    }
}

/// A local thread has the lock for `hold`, and remote ones wait.
fn long_section(hold: Nanos, followers: u64) -> Rc<World> {
    // Every verb takes the same time.
    let costs = Costs {
        jitter_percent: 0,
        torn_reads: false,
        ..Costs::default()
    };
    let world = Rc::new(World {
        cluster: Cluster::new(2, 4096, costs, 1),
        lock: LockPtr(line(HERE, 1)),
        budget: NonZeroU32::new(20).unwrap(),
        seen: Seen::default(),
    });
    world.cluster.spawn(HERE, world.clone().holder(hold));
    world.cluster.spawn(THERE, world.clone().leader());
    for number in 1..=followers {
        world.cluster.spawn(THERE, world.clone().follower(number));
    }
    assert_eq!(world.cluster.run(10 * hold), End::Finished);
    world
}

/// Mistake 11. A leader's polls go over the wire, so they become rare. A thread behind
/// it waits in its own memory, at no verb at all.
#[test]
fn a_waiting_leader_polls_seldom() {
    for (hold, followers) in [
        (100_000, 0),
        (1_000_000, 0),
        (10_000_000, 0),
        (1_000_000, 3),
    ] {
        let world = long_section(hold, followers);
        let seen = &world.seen;
        let ((from, before), (until, after)) = (seen.began.get().unwrap(), seen.released.get());
        // Each follower swaps its descriptor into the queue (two verbs: its guess was wrong).
        let polls = after - before - 2 * followers;
        let rarest = (until - from) / (u64::from(POLL_EVERY) * seen.round_trip.get());
        assert!(
            polls >= rarest,
            "{polls} polls in {hold} ns: no poll in time"
        );
        // Three before they are that rare, and one for the remainder.
        assert!(
            polls <= rarest + 4,
            "{polls} polls in {hold} ns, not {rarest}"
        );
    }
}

/// What the back-off may cost: one interval, and the poll that ends it.
#[test]
fn a_leader_finds_a_free_lock_soon() {
    let mut longest = 0;
    for more in 0..100 {
        let hold = 1_000_000 + 317 * more;
        let world = long_section(hold, 0);
        let seen = &world.seen;
        let late = seen.entered.get() - seen.released.get().0;
        let bound = u64::from(POLL_EVERY + 1) * seen.round_trip.get();
        assert!(late <= bound, "{late} ns after the release, beyond {bound}");
        longest = longest.max(late / seen.round_trip.get());
    }
    // The bound says something: it is nearly reached.
    assert!(
        longest >= u64::from(POLL_EVERY) - 1,
        "{longest} round trips"
    );
}

/// The back-off at most doubles a wait, but for a few round trips that polls themselves
/// take.
#[test]
fn a_short_wait_is_not_made_long() {
    let mut longest = 0;
    for hold in (6_000..30_000).step_by(331) {
        let world = long_section(hold, 0);
        let seen = &world.seen;
        let Some((from, _)) = seen.began.get() else {
            continue;
        };
        let waited = seen.released.get().0.saturating_sub(from);
        let late = seen.entered.get() - seen.released.get().0;
        assert!(
            late <= waited + 3 * seen.round_trip.get(),
            "waited {waited} ns, then {late} more"
        );
        longest = longest.max(late);
    }
    assert!(longest > 0, "nobody waited");
}
