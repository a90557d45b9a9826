//! Access with verbs: threads of other nodes than the lock's.

use core::future::Future;

use crate::access::{Access, Looked, Seen};
use crate::local::victim_in;
use crate::ptr::{Cohort, LockPtr, Place, Ptr};

/// What a network card does for one thread: the operations on other nodes' memory, and the
/// thread's own node's memory as its CPU sees it.
///
/// A future is ready when the card has said that the operation is complete: whatever is
/// posted or stored after it comes after it.
pub trait Verbs {
    /// Why one cannot be completed.
    type Fault;

    /// Compare-and-swap, atomic with other such operations on that node, and with nothing
    /// else. Returns what was there.
    fn cas(&self, at: Place, old: u64, new: u64) -> impl Future<Output = Result<u64, Self::Fault>>;

    /// Writes eight bytes, in one piece.
    fn write(&self, to: Place, value: u64) -> impl Future<Output = Result<(), Self::Fault>>;

    /// Reads the lock's words. Each may be torn.
    fn read(
        &self,
        lock: LockPtr,
    ) -> impl Future<Output = Result<[u64; LockPtr::WORDS as usize], Self::Fault>>;

    /// [`Verbs::write`], and a read of the lock that is executed after it. One round trip.
    ///
    /// A full barrier between them: the CPUs of that node see what was written before the read
    /// loads anything. (That a responder carries them out in order does not say so of one that is
    /// a CPU itself, with a store buffer.)
    fn write_and_read(
        &self,
        to: Place,
        value: u64,
        lock: LockPtr,
    ) -> impl Future<Output = Result<[u64; LockPtr::WORDS as usize], Self::Fault>>;

    /// The memory of the thread's own node: an acquire load.
    fn load(&self, place: Place) -> u64;

    /// A store, ordered after what is complete (release); relaxed is enough where `known`
    /// is false: no other thread knows the word.
    fn store(&self, place: Place, value: u64, known: bool);

    /// See [`Access::is_there`]. By default every place may be one.
    fn is_there(&self, line: Ptr) -> bool {
        let _ = line;
        true
    }

    /// See [`Access::overwritten`].
    fn overwritten(&self) -> Self::Fault;

    /// Whether a place is in the memory of the thread's own node.
    fn is_own(&self, place: Place) -> bool;

    /// See [`Access::wait`]. After a look at the lock, which is a verb, it backs off as
    /// [`crate::pace`] says; after one at the own memory it does not.
    fn wait(&self, looked: Looked, turn: u32) -> impl Future<Output = Result<(), Self::Fault>>;
}

/// The access of threads to locks of other nodes.
///
/// Every verb is awaited before the next one, but `victim`'s write and the read after it: the full
/// barrier between them is the responder's. A card reads over PCIe what it was asked for after a
/// write, and a read does not pass a posted write there. rxe's responder is a CPU, which stores (release)
/// and then copies: there the locks that it takes between two packets (locked instructions, on x86-64)
/// empty its store buffer.
///
/// | here | pairs with |
/// |---|---|
/// | `prepare`: relaxed, then a compare-and-swap is posted | the provider's barrier before the doorbell, in `ibv_post_send` (rdma-core's `udma_to_device_barrier`): the card, and whoever learns of the descriptor by it, comes after the thread's earlier stores. On x86-64 it is for the compiler alone, since the CPU keeps stores in order; rxe's doorbell is a system call |
/// | a completion is polled | the provider's barrier after it found one (`udma_from_device_barrier`): loads after it see what the card stored before |
/// | `own`: acquire | the card's write of that word, over PCIe (on rxe the kernel's store), or another thread's `tell` by CPU: what is posted or loaded afterwards comes after. The write is one word and says all: no order between two writes to this memory is relied on |
/// | `tell` to the own node: release | `own`: acquire |
/// | the verbs under the lock, complete before the tail is cleared, or `victim` written | the local leader's look: acquire. A card's accesses do not pass its earlier writes over PCIe: the memory is registered without relaxed ordering |
#[derive(Debug)]
pub struct Remote<'v, V> {
    verbs: &'v V,
}

impl<'v, V: Verbs> Remote<'v, V> {
    /// By these verbs.
    pub fn new(verbs: &'v V) -> Self {
        Self { verbs }
    }

    fn seen(&self, words: [u64; LockPtr::WORDS as usize]) -> Result<Seen, V::Fault> {
        let [local, _, victim] = words;
        Ok(Seen {
            // Written by a CPU while the card copied it: one byte is all that counts.
            other: self.wanted(local)?,
            victim: victim_in(victim),
        })
    }
}

impl<V: Verbs> Access for Remote<'_, V> {
    type Fault = V::Fault;

    const COHORT: Cohort = Cohort::Remote;

    async fn swap(&self, tail: Place, new: u64) -> Result<u64, V::Fault> {
        // What is there most of the time; then what was there a moment ago.
        let mut expected = Ptr::NULL;
        loop {
            let found = self.verbs.cas(tail, expected, new).await?;
            if found == expected {
                return Ok(found);
            }
            expected = found;
            self.verbs.wait(Looked::Tail, 0).await?;
        }
    }

    async fn clear(&self, tail: Place, mine: u64) -> Result<u64, V::Fault> {
        self.verbs.cas(tail, mine, Ptr::NULL).await
    }

    async fn swap_if_null(&self, tail: Place, mine: u64) -> Result<u64, V::Fault> {
        self.verbs.cas(tail, Ptr::NULL, mine).await
    }

    async fn yield_and_look(&self, lock: LockPtr) -> Result<Seen, V::Fault> {
        let me = Self::COHORT as u64;
        let words = self.verbs.write_and_read(lock.victim(), me, lock).await?;
        self.seen(words)
    }

    async fn look(&self, lock: LockPtr) -> Result<Seen, V::Fault> {
        self.seen(self.verbs.read(lock).await?)
    }

    async fn tell(&self, to: Place, value: u64) -> Result<(), V::Fault> {
        // Two threads of one node may both be remote to the lock.
        if self.verbs.is_own(to) {
            self.verbs.store(to, value, true);
            return Ok(());
        }
        self.verbs.write(to, value).await
    }

    fn own(&self, place: Place) -> u64 {
        self.verbs.load(place)
    }

    fn prepare(&self, place: Place, value: u64) {
        self.verbs.store(place, value, false);
    }

    fn is_there(&self, line: Ptr) -> bool {
        self.verbs.is_there(line)
    }

    fn overwritten(&self) -> V::Fault {
        self.verbs.overwritten()
    }

    async fn wait(&self, looked: Looked, turn: u32) -> Result<(), V::Fault> {
        self.verbs.wait(looked, turn).await
    }
}
