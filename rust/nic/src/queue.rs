// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! A connection to one peer: posting, and what comes of it.

use crate::device::Device;
use crate::endpoint::Endpoint;
use crate::path::Path;
use crate::request::{Completion, WorkRequest};
use crate::ring::{Pending, Ring, MAX_WORDS};
use crate::silence::Silence;
use crate::verbs::{Post, Registered, Work};
use crate::{Error, Memory, RemoteWord, Status, Writes};
use sideway::ibverbs::completion::CreateCompletionQueueWorkCompletionFlags as Fields;
use sideway::ibverbs::queue_pair::SendOperationFlags;
use sideway::ibverbs::AccessFlags;
use std::cell::Cell;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::marker::PhantomData;
use std::sync::atomic::Ordering;

/// A slot is as long as the longest result.
const SLOT: usize = 8 * MAX_WORDS;

/// Polls before a wait gives the CPU up between them. That is longer than a network card takes, and
/// shorter than soft-RoCE, whose other half may need this CPU.
const SPINS: u64 = 200;

/// A reliable connection to one peer, with a completion queue of its own.
///
/// Operations complete in the order in which they are posted. The peer's card carries them out in
/// that order, with one exception. What is behind a read or a compare-and-swap may overtake it
/// where it is not [fenced](WorkRequest::fenced). A complete write is the peer's card's, and need
/// not be in the memory yet: see [`WorkRequest::write`].
///
/// It may go from thread to thread but is one thread's at a time:
///
/// ```compile_fail
/// fn is_sync<T: Sync>() {}
/// is_sync::<nic::QueuePair>();
/// ```
///
/// It may be dropped with operations out, which may then still be carried out or not. The memory of
/// their results stays registered until the queue pair is gone.
///
/// # Examples
///
/// ```no_run
/// use nic::{Endpoint, Nic, QueuePair, RemoteWord, WorkRequest};
///
/// # fn run(nic: &Nic, peer: &Endpoint, word: RemoteWord) -> Result<(), nic::Error> {
/// let mut queue: QueuePair = nic.queue_pair()?;
/// // The peer has to connect to this one's `endpoint`, too.
/// queue.connect(peer)?;
/// // One doorbell; the read finds what the write wrote.
/// queue.post_list(1, &[WorkRequest::write(word, 7), WorkRequest::read(word, 1)])?;
/// let done = queue.wait()?;
/// assert_eq!((done.id, done.value()), (1, 7));
/// # Ok(())
/// # }
/// ```
pub struct QueuePair {
    post: Post,
    ring: Ring,
    /// What is being posted; here so that posting allocates nothing.
    works: Vec<Work>,
    mine: Endpoint,
    peer: Option<Peer>,
    path: Path,
    failed: bool,
    /// Whether those that are out may never complete: the device did not take them,
    /// completes others, or nothing.
    lost: bool,
    silence: Silence,
    _one_thread: PhantomData<Cell<()>>,
}

/// The peer, and how words are written there; `None` before it is connected in full.
struct Peer {
    name: String,
    writes: Option<Writes>,
}

impl QueuePair {
    pub(crate) fn new(device: &Device, depth: u32, writes: Writes) -> Result<QueuePair, Error> {
        let name = &device.name;
        let ring = Ring::new(depth);
        let results = Memory::new(SLOT * ring.slots())?;
        let results = Registered::new(&device.pd, results, AccessFlags::LocalWrite)
            .map_err(Error::verbs(name, "register the memory of results"))?;
        // One more than can be out: none is ever lost.
        let cq = device
            .context
            .create_cq_builder()
            .setup_cqe(depth + 1)
            .setup_wc_flags(Fields::none())
            .build_ex()
            .map_err(Error::verbs(name, "create a completion queue"))?;
        let mut verbs = SendOperationFlags::AtomicCompareAndSwap
            | SendOperationFlags::Read
            | SendOperationFlags::Write;
        if writes == Writes::Atomic {
            verbs |= SendOperationFlags::AtomicWrite;
        }
        let qp = device
            .pd
            .create_qp_builder()
            .setup_send_cq(cq.clone())
            .setup_recv_cq(cq.clone())
            .setup_max_send_wr(depth)
            .setup_max_recv_wr(1)
            .setup_max_inline_data(8)
            .setup_send_ops_flags(verbs)
            .build_ex()
            .map_err(Error::verbs(name, "create a queue pair with ibv_wr_*"))?;
        let post = Post::new(qp, cq, results);
        let path = device.path();
        let mine = device.endpoint(post.number(), first_packet(), writes);
        Ok(QueuePair {
            post,
            ring,
            works: Vec::with_capacity(depth as usize),
            mine,
            peer: None,
            silence: Silence::new(path.timeout, path.retries),
            path,
            failed: false,
            lost: false,
            _one_thread: PhantomData,
        })
    }

    /// What the peer is to be told.
    #[must_use]
    pub fn endpoint(&self) -> &Endpoint {
        &self.mine
    }

    /// Connects to `peer`, once. The peer must do the same with this one's [`QueuePair::endpoint`].
    /// What is posted before is sent again, for as long as the options' `timeout` and `retries`
    /// allow.
    ///
    /// Costs three system calls.
    ///
    /// # Errors
    ///
    /// [`Error::Endpoint`] and [`Error::TornWrites`] where the peer cannot be one.
    /// [`Error::Connected`] the second time. [`Error::Verbs`] where the network has no way to it.
    /// After the latter, the queue pair is of no use: drop it.
    pub fn connect(&mut self, peer: &Endpoint) -> Result<(), Error> {
        if let Some(peer) = &self.peer {
            return Err(Error::Connected {
                peer: peer.name.clone(),
            });
        }
        peer.check()?;
        let writes = self.path.writes(self.mine.writes, peer)?;
        self.peer = Some(Peer {
            name: peer.to_string(),
            writes: None,
        });
        for (what, to) in [
            ("bring the queue pair up", self.path.init(&self.mine)),
            (
                "find a way to the peer",
                self.path.ready_to_receive(&self.mine, peer),
            ),
            (
                "let the queue pair send",
                self.path.ready_to_send(&self.mine, peer),
            ),
        ] {
            self.post
                .modify(&to)
                .map_err(Error::verbs(&self.path.device, what))?;
        }
        self.peer = Some(Peer {
            name: peer.to_string(),
            writes: Some(writes),
        });
        Ok(())
    }

    /// Posts a [`WorkRequest::cas`]; `id` comes back with its completion.
    ///
    /// # Errors
    ///
    /// The errors of [`QueuePair::post_list`].
    pub fn post_cas(
        &mut self,
        id: u64,
        remote: RemoteWord,
        old: u64,
        new: u64,
    ) -> Result<(), Error> {
        self.post_list(id, &[WorkRequest::cas(remote, old, new)])
    }

    /// Posts a [`WorkRequest::read`]; `id` comes back with its completion.
    ///
    /// # Errors
    ///
    /// The errors of [`QueuePair::post_list`].
    pub fn post_read(&mut self, id: u64, remote: RemoteWord, words: usize) -> Result<(), Error> {
        self.post_list(id, &[WorkRequest::read(remote, words)])
    }

    /// Posts a [`WorkRequest::write`]; `id` comes back with its completion.
    ///
    /// # Errors
    ///
    /// The errors of [`QueuePair::post_list`].
    pub fn post_write(&mut self, id: u64, remote: RemoteWord, value: u64) -> Result<(), Error> {
        self.post_list(id, &[WorkRequest::write(remote, value)])
    }

    /// Posts `requests` with one doorbell. They are carried out in the order of [`QueuePair`]'s
    /// operations. The last alone completes, with its result, as `id`. The peer's card has all of
    /// them then. A write among them need not be in the memory yet: see [`WorkRequest::write`]. The
    /// results of the others are not to be had. None at all is no operation.
    ///
    /// Costs one system call on soft-RoCE, a write to the device else.
    ///
    /// # Errors
    ///
    /// [`Error::Full`], [`Error::Words`], [`Error::Unaligned`], [`Error::NotConnected`]
    /// and [`Error::Failed`] before anything is posted. [`Error::Verbs`] where the device
    /// does not take them: the queue pair has failed then.
    #[inline]
    pub fn post_list(&mut self, id: u64, requests: &[WorkRequest]) -> Result<(), Error> {
        let writes = self.ready()?;
        for request in requests {
            request.check()?;
        }
        if !self.ring.has_room(requests.len()) {
            return Err(Error::Full {
                asked: requests.len(),
                depth: self.ring.depth(),
            });
        }
        self.works.clear();
        for (i, request) in requests.iter().enumerate() {
            let words = request.words();
            let remote = request.remote;
            let Some(number) = self.ring.push(Pending { id, words, remote }) else {
                // There was room for all of them.
                break;
            };
            self.works.push(Work {
                number,
                remote: request.remote,
                verb: request.verb(writes),
                offset: SLOT * self.ring.slot(number),
                fence: request.fence,
                signalled: i + 1 == requests.len(),
            });
        }
        if self.works.is_empty() {
            return Ok(());
        }
        self.post.post_all(&self.works).map_err(|error| {
            self.failed = true;
            self.lost = true;
            Error::verbs(&self.path.device, "post")(error)
        })
    }

    #[inline]
    fn ready(&self) -> Result<Writes, Error> {
        match &self.peer {
            Some(Peer { name, .. }) if self.failed => Err(Error::Failed { peer: name.clone() }),
            Some(Peer {
                writes: Some(writes),
                ..
            }) => Ok(*writes),
            _ => Err(Error::NotConnected),
        }
    }

    /// The next operation to complete, if one has. Never waits: some tens of nanoseconds.
    ///
    /// # Errors
    ///
    /// [`Error::Completion`] for an operation that failed. Then the queue pair has failed: each
    /// later operation of those out comes as another such error, flushed. [`Error::Verbs`] and
    /// [`Error::Stray`] where the device itself is at fault. [`Error::Silent`] where it has
    /// completed nothing for longer than it may try. The clock is read every 4096 polls, so a
    /// seldom poll finds it later. [`Error::Failed`] when what is out may never complete.
    #[inline]
    pub fn poll(&mut self) -> Result<Option<Completion>, Error> {
        let polled = self.post.poll().map_err(|error| {
            self.failed = true;
            Error::verbs(&self.path.device, "poll for a completion")(error)
        })?;
        let Some((number, status)) = polled else {
            return self.nothing();
        };
        self.silence.broken();
        let slot = self.ring.slot(number);
        let Some(Pending { id, words, remote }) = self.ring.complete(number) else {
            self.failed = true;
            self.lost = true;
            return Err(Error::Stray {
                device: self.path.device.clone(),
                number,
            });
        };
        let status = Status::from_raw(status);
        if status != Status::SUCCESS {
            self.failed = true;
            let peer = self.peer_name();
            return Err(Error::Completion {
                status,
                peer,
                id,
                remote,
            });
        }
        let results = self.post.results();
        // The device's store is before its completion, which the library has read with a
        // fence; Acquire keeps the caller's later loads after this one.
        let word = |i| results.word(SLOT * slot + 8 * i).load(Ordering::Acquire);
        Ok(Some(Completion::new(id, words, word)))
    }

    /// No completion came.
    #[inline]
    fn nothing(&mut self) -> Result<Option<Completion>, Error> {
        if self.ring.outstanding() == 0 {
            self.silence.broken();
            return Ok(None);
        }
        if self.lost {
            let peer = self.peer_name();
            return Err(Error::Failed { peer });
        }
        let Some(silent) = self.silence.after_a_poll() else {
            return Ok(None);
        };
        self.failed = true;
        self.lost = true;
        let peer = self.peer_name();
        Err(Error::Silent { peer, silent })
    }

    /// The next operation to complete: polls, and after some microseconds lets other
    /// threads run between. The options' `timeout` and `retries` bound it.
    ///
    /// # Errors
    ///
    /// The errors of [`QueuePair::poll`], and [`Error::Idle`] when nothing is out.
    pub fn wait(&mut self) -> Result<Completion, Error> {
        for misses in 1u64.. {
            if let Some(completion) = self.poll()? {
                return Ok(completion);
            }
            if self.ring.outstanding() == 0 {
                break;
            }
            if misses > SPINS {
                std::thread::yield_now();
            } else {
                std::hint::spin_loop();
            }
        }
        Err(Error::Idle)
    }

    fn peer_name(&self) -> String {
        self.peer
            .as_ref()
            .map(|peer| peer.name.clone())
            .unwrap_or_default()
    }

    /// The work requests that were ever posted here, also unsignalled and failed ones. They are
    /// what an algorithm costs on the wire.
    #[must_use]
    pub fn posted(&self) -> u64 {
        self.ring.posted()
    }

    /// The work requests that have not completed, nor one after them.
    #[must_use]
    pub fn outstanding(&self) -> usize {
        self.ring.outstanding()
    }

    /// Whether an operation failed, so that it takes none any more.
    #[must_use]
    pub fn has_failed(&self) -> bool {
        self.failed
    }
}

impl std::fmt::Debug for QueuePair {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("QueuePair")
            .field("endpoint", &self.mine)
            .field("peer", &self.peer.as_ref().map(|peer| &peer.name))
            .field("ring", &self.ring)
            .field("failed", &self.failed)
            .finish_non_exhaustive()
    }
}

/// 24 bits by chance, so that a late packet of another connection is none of this one's.
fn first_packet() -> u32 {
    // A RandomState's keys are the process's, by chance, and different each time.
    RandomState::new().build_hasher().finish() as u32 & 0xff_ffff
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_queue_pair_goes_between_threads() {
        fn is_send<T: Send>() {}
        is_send::<QueuePair>();
    }

    #[test]
    fn packet_numbers_have_24_bits_and_differ() {
        let some: std::collections::HashSet<u32> = (0..100).map(|_| first_packet()).collect();
        assert!(some.len() > 1);
        assert!(some.iter().all(|number| number >> 24 == 0));
    }
}
