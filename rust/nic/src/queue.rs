// SPDX-License-Identifier: GPL-2.0 OR MIT OR Apache-2.0

//! A connection to one peer: posting, and what comes of it.

use crate::endpoint::{mtu_code, Endpoint, Remote};
use crate::open::Nic;
use crate::request::{Completion, Request};
use crate::ring::{Pending, Ring, MAX_WORDS};
use crate::silence::Silence;
use crate::verbs::{Registered, Wire, Work};
use crate::{Error, Memory, Status, Writes};
use sideway::ibverbs::address::{AddressHandleAttribute, Gid};
use sideway::ibverbs::completion::CreateCompletionQueueWorkCompletionFlags as Fields;
use sideway::ibverbs::queue_pair::{QueuePairAttribute, QueuePairState, SendOperationFlags};
use sideway::ibverbs::AccessFlags;
use std::cell::Cell;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::marker::PhantomData;
use std::sync::atomic::Ordering;

/// A slot is as long as the longest result.
const SLOT: usize = 8 * MAX_WORDS;

/// Polls before a wait gives the CPU up between them: longer than a network card takes,
/// shorter than soft-RoCE, whose other half may need this CPU.
const SPINS: u64 = 200;

/// A reliable connection to one peer, with a completion queue of its own.
///
/// Operations are carried out by the peer in the order in which they are posted, and
/// complete in that order. It may go from thread to thread but is one thread's at a time:
///
/// ```compile_fail
/// fn is_sync<T: Sync>() {}
/// is_sync::<nic::QueuePair>();
/// ```
///
/// It may be dropped with operations out: they may still be carried out or not, and the
/// memory of their results stays registered until the queue pair is gone.
pub struct QueuePair {
    wire: Wire,
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

/// What of the device and of the options `connect` needs.
pub(crate) struct Path {
    pub(crate) device: String,
    pub(crate) gid_index: u8,
    pub(crate) global: bool,
    pub(crate) timeout: u8,
    pub(crate) retries: u8,
    /// Reads and compare-and-swaps that may be out at a time.
    pub(crate) initiates: u8,
}

impl QueuePair {
    pub(crate) fn new(nic: &Nic, depth: u32, writes: Writes) -> Result<QueuePair, Error> {
        let device = nic.name();
        let ring = Ring::new(depth);
        let results = Memory::new(SLOT * ring.slots())?;
        let results = Registered::new(nic.pd(), results, AccessFlags::LocalWrite)
            .map_err(Error::verbs(device, "register the memory of results"))?;
        // One more than can be out: none is ever lost.
        let cq = nic
            .context()
            .create_cq_builder()
            .setup_cqe(depth + 1)
            .setup_wc_flags(Fields::none())
            .build_ex()
            .map_err(Error::verbs(device, "create a completion queue"))?;
        let mut verbs = SendOperationFlags::AtomicCompareAndSwap
            | SendOperationFlags::Read
            | SendOperationFlags::Write;
        if writes == Writes::Atomic {
            verbs |= SendOperationFlags::AtomicWrite;
        }
        let qp = nic
            .pd()
            .create_qp_builder()
            .setup_send_cq(cq.clone())
            .setup_recv_cq(cq.clone())
            .setup_max_send_wr(depth)
            .setup_max_recv_wr(1)
            .setup_max_inline_data(8)
            .setup_send_ops_flags(verbs)
            .build_ex()
            .map_err(Error::verbs(device, "create a queue pair"))?;
        let wire = Wire::new(qp, cq, results);
        let path = nic.path();
        let mine = nic.endpoint(wire.number(), first_packet(), writes);
        Ok(QueuePair {
            wire,
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

    /// Connects to `peer`, once. The peer must do the same with this one's
    /// [`QueuePair::endpoint`]; what is posted before it has is sent again, for as long as
    /// the options' `timeout` and `retries` allow.
    ///
    /// Costs three system calls.
    ///
    /// # Errors
    ///
    /// [`Error::Endpoint`] and [`Error::TornWrites`] where the peer cannot be one,
    /// [`Error::Connected`] the second time, [`Error::Verbs`] where the network has no way
    /// to it. After the latter, the queue pair is of no use: drop it.
    pub fn connect(&mut self, peer: &Endpoint) -> Result<(), Error> {
        if let Some(peer) = &self.peer {
            return Err(Error::Connected {
                peer: peer.name.clone(),
            });
        }
        peer.check()?;
        let writes =
            Writes::between(self.mine.writes, peer.writes).ok_or_else(|| Error::TornWrites {
                device: peer.to_string(),
                reason: format!(
                    "it takes atomic writes, which {} does not send",
                    self.path.device
                ),
            })?;
        self.peer = Some(Peer {
            name: peer.to_string(),
            writes: None,
        });
        for (what, to) in [
            ("bring the queue pair up", self.init()),
            ("find a way to the peer", self.ready_to_receive(peer)),
            ("let the queue pair send", self.ready_to_send(peer)),
        ] {
            self.wire
                .modify(&to)
                .map_err(Error::verbs(&self.path.device, what))?;
        }
        self.peer = Some(Peer {
            name: peer.to_string(),
            writes: Some(writes),
        });
        Ok(())
    }

    fn init(&self) -> QueuePairAttribute {
        let mut to = QueuePairAttribute::new();
        to.setup_state(QueuePairState::Init)
            .setup_pkey_index(0)
            .setup_port(self.mine.port)
            .setup_access_flags(
                AccessFlags::RemoteRead | AccessFlags::RemoteWrite | AccessFlags::RemoteAtomic,
            );
        to
    }

    fn ready_to_receive(&self, peer: &Endpoint) -> QueuePairAttribute {
        let mut way = AddressHandleAttribute::new();
        way.setup_dest_lid(peer.lid).setup_port(self.mine.port);
        if self.path.global {
            way.setup_grh(&Gid { raw: peer.gid }, 0, self.path.gid_index, 64, 0);
        }
        // Checked before: it has a code.
        let mtu = mtu_code(self.mine.mtu.min(peer.mtu)).unwrap_or(1);
        let mut to = QueuePairAttribute::new();
        to.setup_state(QueuePairState::ReadyToReceive)
            .setup_path_mtu(mtu.into())
            .setup_dest_qp_num(peer.qpn)
            .setup_rq_psn(peer.psn)
            .setup_max_dest_read_atomic(self.mine.reads)
            .setup_min_rnr_timer(12)
            .setup_address_vector(&way);
        to
    }

    fn ready_to_send(&self, peer: &Endpoint) -> QueuePairAttribute {
        let mut to = QueuePairAttribute::new();
        to.setup_state(QueuePairState::ReadyToSend)
            .setup_sq_psn(self.mine.psn)
            .setup_timeout(self.path.timeout)
            .setup_retry_cnt(self.path.retries)
            .setup_rnr_retry(7)
            .setup_max_read_atomic(self.path.initiates.min(peer.reads));
        to
    }

    /// Posts a [`Request::cas`]; `id` comes back with its completion.
    ///
    /// # Errors
    ///
    /// As [`QueuePair::post_list`].
    pub fn post_cas(&mut self, id: u64, remote: Remote, old: u64, new: u64) -> Result<(), Error> {
        self.post_list(id, &[Request::cas(remote, old, new)])
    }

    /// Posts a [`Request::read`]; `id` comes back with its completion.
    ///
    /// # Errors
    ///
    /// As [`QueuePair::post_list`].
    pub fn post_read(&mut self, id: u64, remote: Remote, words: usize) -> Result<(), Error> {
        self.post_list(id, &[Request::read(remote, words)])
    }

    /// Posts a [`Request::write`]; `id` comes back with its completion.
    ///
    /// # Errors
    ///
    /// As [`QueuePair::post_list`].
    pub fn post_write(&mut self, id: u64, remote: Remote, value: u64) -> Result<(), Error> {
        self.post_list(id, &[Request::write(remote, value)])
    }

    /// Posts `requests` with one doorbell. They are carried out in their order; the last
    /// alone completes, with its result, as `id`, and then all of them have been carried
    /// out. The results of the others are not to be had. None at all is no operation.
    ///
    /// Costs one system call on soft-RoCE, a write to the device else.
    ///
    /// # Errors
    ///
    /// [`Error::Full`], [`Error::Words`], [`Error::Unaligned`], [`Error::NotConnected`]
    /// and [`Error::Failed`] before anything is posted. [`Error::Verbs`] where the device
    /// does not take them: the queue pair has failed then.
    #[inline]
    pub fn post_list(&mut self, id: u64, requests: &[Request]) -> Result<(), Error> {
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
        self.wire.post(&self.works).map_err(|error| {
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
    /// [`Error::Completion`] for an operation that failed. Then the queue pair has failed:
    /// each later operation of those out comes as another such error, flushed.
    /// [`Error::Verbs`] and [`Error::Stray`] where the device itself is at fault, and
    /// [`Error::Silent`] where it has completed nothing for longer than it may try (a clock is
    /// looked at every 4096 polls, so who polls seldom hears of it later); [`Error::Failed`] when what is out may never complete.
    #[inline]
    pub fn poll(&mut self) -> Result<Option<Completion>, Error> {
        let polled = self.wire.poll().map_err(|error| {
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
        let results = self.wire.results();
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
    /// As [`QueuePair::poll`], and [`Error::Idle`] when nothing is out.
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

    /// The work requests that were ever posted here, not signalled ones and failed ones
    /// included: what an algorithm costs on the wire.
    #[must_use]
    pub fn posted(&self) -> u64 {
        self.ring.posted()
    }

    /// Those of them that have not completed, nor one after them.
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
