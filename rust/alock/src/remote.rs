// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Access with verbs: threads of other nodes than the lock's.

use core::future::Future;

use crate::access::{Access, Polled, Seen};
use crate::local::victim_in;
use crate::ptr::{Cohort, LockPtr, Ptr, WordPtr};

/// What a network card does for one thread. Beside the operations on other nodes' memory, it has
/// the thread's own node's memory as its CPU sees it.
///
/// A future is ready when the card has said that the operation is complete:
///
/// | complete | what it promises |
/// |---|---|
/// | compare-and-swap, read | the value is what was there; every earlier operation of the same queue pair is in that node's memory |
/// | write | the other card has it, and will store it; it need not be in the memory yet |
///
/// Operations by one queue pair are carried out in the order in which they were posted. Between two
/// queue pairs a complete write is ordered with nothing: another one's read may overtake it. A
/// thread is to have one queue pair to a node. It serves all verbs of this trait, and the data that
/// its locks there protect. Data by another queue pair, or of another node, is to be flushed before
/// the unlock. A READ or a FLUSH by that queue pair does that.
///
/// # Examples
/// A card in one process. Each operation is complete at once, and is in memory then.
/// ```
/// use std::future::Future;
/// use std::pin::pin;
/// use std::sync::atomic::{fence, AtomicU64, Ordering::SeqCst};
/// use std::task::{Context, Poll, Waker};
///
/// use alock::access::Polled;
/// use alock::local::once;
/// use alock::lock::{acquire, release, Budgets};
/// use alock::ptr::{Cohort, Descriptor, LockPtr, NodeId, Ptr, WordPtr};
/// use alock::remote::{Remote, Verbs};
///
/// /// The thread's node is 1. Each node has 8 lines of 64 bytes.
/// struct Card([[AtomicU64; 64]; 2]);
///
/// impl Card {
///     fn word(&self, at: WordPtr) -> &AtomicU64 {
///         &self.0[usize::from(at.node().0)][at.offset() as usize / 8]
///     }
/// }
///
/// impl Verbs for Card {
///     type Fault = &'static str;
///
///     async fn cas(&self, at: WordPtr, old: u64, new: u64) -> Result<u64, Self::Fault> {
///         let done = self.word(at).compare_exchange(old, new, SeqCst, SeqCst);
///         Ok(done.unwrap_or_else(|found| found))
///     }
///
///     async fn write(&self, to: WordPtr, value: u64) -> Result<(), Self::Fault> {
///         self.word(to).store(value, SeqCst);
///         Ok(())
///     }
///
///     async fn read(&self, lock: LockPtr) -> Result<[u64; 3], Self::Fault> {
///         Ok([0, 1, 2].map(|index| self.word(lock.0.word(index)).load(SeqCst)))
///     }
///
///     async fn write_and_read(
///         &self,
///         to: WordPtr,
///         value: u64,
///         lock: LockPtr,
///     ) -> Result<[u64; 3], Self::Fault> {
///         self.write(to, value).await?;
///         fence(SeqCst);
///         self.read(lock).await
///     }
///
///     fn load(&self, at: WordPtr) -> u64 {
///         self.word(at).load(SeqCst)
///     }
///
///     fn store(&self, at: WordPtr, value: u64, _known: bool) {
///         self.word(at).store(value, SeqCst);
///     }
///
///     fn overwritten(&self) -> Self::Fault {
///         "memory was overwritten"
///     }
///
///     fn is_own(&self, at: WordPtr) -> bool {
///         at.node() == NodeId(1)
///     }
///
///     async fn wait(&self, _looked: Polled, _turn: u32) -> Result<(), Self::Fault> {
///         once().await;
///         Ok(())
///     }
/// }
///
/// let card = Card([const { [const { AtomicU64::new(0) }; 64] }; 2]);
/// // The lock is node 0's, the thread node 1's.
/// let lock = LockPtr(Ptr::new(NodeId(0), 0).unwrap());
/// let mine = Descriptor(Ptr::new(NodeId(1), 0).unwrap());
/// let mut locked = pin!(async {
///     let access = Remote::new(&card);
///     let budget = Budgets::default().remote;
///     let held = acquire(&access, lock, mine, budget, &mut || true).await?;
///     assert_eq!(card.load(lock.tail(Cohort::Remote)), mine.0.bits());
///     release(&access, lock, mine, held.expect("it never gives up")).await
/// });
/// let mut context = Context::from_waker(Waker::noop());
/// assert_eq!(locked.as_mut().poll(&mut context), Poll::Ready(Ok(())));
/// assert_eq!(card.load(lock.tail(Cohort::Remote)), Ptr::NULL);
/// ```
pub trait Verbs {
    /// Why one cannot be completed.
    type Fault;

    /// Compare-and-swap, atomic with other such operations on that node, and with nothing
    /// else. Returns what was there.
    fn cas(
        &self,
        at: WordPtr,
        old: u64,
        new: u64,
    ) -> impl Future<Output = Result<u64, Self::Fault>>;

    /// Writes eight bytes, in one piece. Ready before they are in the memory. They come there some
    /// day, and before a later operation of the same queue pair is carried out.
    fn write(&self, to: WordPtr, value: u64) -> impl Future<Output = Result<(), Self::Fault>>;

    /// Reads the lock's words. Each may be torn.
    fn read(
        &self,
        lock: LockPtr,
    ) -> impl Future<Output = Result<[u64; LockPtr::WORDS as usize], Self::Fault>>;

    /// [`Verbs::write`], and a read of the lock that is executed after it. One round trip.
    ///
    /// A full barrier between them: the CPUs of that node see what was written before the read
    /// loads anything. A responder that carries them out in order may itself be a CPU, with a store
    /// buffer. Order alone does not promise this.
    fn write_and_read(
        &self,
        to: WordPtr,
        value: u64,
        lock: LockPtr,
    ) -> impl Future<Output = Result<[u64; LockPtr::WORDS as usize], Self::Fault>>;

    /// The memory of the thread's own node: an acquire load.
    fn load(&self, at: WordPtr) -> u64;

    /// A store, ordered after what is complete (release). Relaxed is enough where `known` is false:
    /// no other thread knows the word.
    fn store(&self, at: WordPtr, value: u64, known: bool);

    /// See [`Access::is_there`]. By default every line may be one.
    fn is_there(&self, line: Ptr) -> bool {
        let _ = line;
        true
    }

    /// See [`Access::overwritten`].
    fn overwritten(&self) -> Self::Fault;

    /// Whether a word is in the memory of the thread's own node.
    fn is_own(&self, at: WordPtr) -> bool;

    /// See [`Access::wait`]. After a poll of the lock, which is a verb, it backs off as
    /// [`crate::pace`] says. After a poll of its own memory it does not.
    fn wait(&self, polled: Polled, turn: u32) -> impl Future<Output = Result<(), Self::Fault>>;
}

/// The access of threads to locks of other nodes.
///
/// Every verb is awaited before the next one is posted. The exception is `victim`'s write and the
/// read after it. The full barrier between them is the responder's. A card reads over PCIe what it
/// was asked for after a write. A read does not pass a posted write there. Rxe's responder is a
/// CPU, which stores with release and then copies. There the locks that it takes between two
/// packets are locked instructions on x86-64, which empty its store buffer.
///
/// | here | pairs with |
/// |---|---|
/// | `prepare`: relaxed, then a compare-and-swap is posted | the provider's barrier before the doorbell, in `ibv_post_send` (rdma-core's `udma_to_device_barrier`): the card, and each thread that learns of the descriptor by it, comes after the thread's earlier stores. On x86-64 it is for the compiler alone, since the CPU keeps stores in order; rxe's doorbell is a system call |
/// | a completion is polled | the provider's barrier after it found one (`udma_from_device_barrier`): loads after it see what the card stored before |
/// | `own`: acquire | the card's write of that word, over PCIe (on rxe the kernel's store), or another thread's `tell` by CPU: what is posted or loaded afterwards comes after. The write is one word and says all: no order between two writes to this memory is relied on |
/// | `tell` to the own node: release | `own`: acquire |
/// | `clear`, by the queue pair of the section's writes: they are in the memory when its compare-and-swap reads | the poll that finds null: a verb's, or a local leader's (acquire). A card's accesses do not pass its earlier writes over PCIe: the memory is registered without relaxed ordering |
/// | a failed `clear` flushes the section's writes, before the `tell` that hands over | the successor's `own`: acquire, and then its reads by another queue pair, or its CPU's. The write of the last store is complete and need not be in the memory; without this verb the successor may read what was there before |
/// | `victim`'s write by the same queue pair, after that `clear` | the local leader's poll of `victim`: acquire |
///
/// # Examples
/// A thread takes a lock of another node and leaves it. [`Verbs`] has a card for it.
/// ```
/// use alock::access::Access;
/// use alock::lock::{acquire, release, Budgets};
/// use alock::ptr::{Cohort, Descriptor, LockPtr};
/// use alock::remote::{Remote, Verbs};
///
/// async fn visit<V: Verbs>(card: &V, lock: LockPtr, mine: Descriptor) -> Result<(), V::Fault> {
///     assert_eq!(<Remote<'_, V> as Access>::COHORT, Cohort::Remote);
///     let access = Remote::new(card);
///     let budget = Budgets::default().remote;
///     if let Some(held) = acquire(&access, lock, mine, budget, &mut || true).await? {
///         // What the lock protects.
///         release(&access, lock, mine, held).await?;
///     }
///     Ok(())
/// }
/// ```
#[derive(Debug)]
pub struct Remote<'v, V> {
    verbs: &'v V,
}

impl<'v, V: Verbs> Remote<'v, V> {
    /// Makes the access by these verbs.
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

    async fn swap(&self, tail: WordPtr, new: u64) -> Result<u64, V::Fault> {
        // What is there most of the time; then what was there a moment ago.
        let mut expected = Ptr::NULL;
        loop {
            let found = self.verbs.cas(tail, expected, new).await?;
            if found == expected {
                return Ok(found);
            }
            expected = found;
            self.verbs.wait(Polled::Tail, 0).await?;
        }
    }

    async fn clear(&self, tail: WordPtr, mine: u64) -> Result<u64, V::Fault> {
        self.verbs.cas(tail, mine, Ptr::NULL).await
    }

    async fn swap_if_null(&self, tail: WordPtr, mine: u64) -> Result<u64, V::Fault> {
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

    async fn tell(&self, to: WordPtr, value: u64) -> Result<(), V::Fault> {
        // Two threads of one node may both be remote to the lock.
        if self.verbs.is_own(to) {
            self.verbs.store(to, value, true);
            return Ok(());
        }
        self.verbs.write(to, value).await
    }

    fn own(&self, at: WordPtr) -> u64 {
        self.verbs.load(at)
    }

    fn prepare(&self, at: WordPtr, value: u64) {
        self.verbs.store(at, value, false);
    }

    fn is_there(&self, line: Ptr) -> bool {
        self.verbs.is_there(line)
    }

    fn overwritten(&self) -> V::Fault {
        self.verbs.overwritten()
    }

    async fn wait(&self, polled: Polled, turn: u32) -> Result<(), V::Fault> {
        self.verbs.wait(polled, turn).await
    }
}
