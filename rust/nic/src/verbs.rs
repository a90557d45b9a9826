// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The foreign calls that sideway does not wrap, and its unsafe ones: registration and
//! posting. Version 0.4.3 of sideway posts compare-and-swap, read and write, but no atomic
//! write. It ends each post list itself. All four are therefore posted here, one way.

use crate::{Memory, RemoteWord};
use rdma_mummy_sys::{ibv_qp_ex, ibv_qp_to_qp_ex, ibv_send_flags};
use sideway::ibverbs::completion::{ExtendedCompletionQueue, PollCompletionQueueError};
use sideway::ibverbs::memory_region::{MemoryRegion, RegisterMemoryRegionError};
use sideway::ibverbs::protection_domain::ProtectionDomain;
use sideway::ibverbs::queue_pair::{
    ExtendedQueuePair, ModifyQueuePairError, QueuePair as _, QueuePairAttribute,
};
use sideway::ibverbs::AccessFlags;
use std::ffi::{c_int, c_void};
use std::io;
use std::ptr::from_ref;
use std::sync::Arc;

/// Memory that a device knows.
///
/// # Invariants
///
/// `mr` is the registration of all of `memory` and in no other hands, so it ends with this
/// value. It stands before `memory`, so it ends first.
#[derive(Debug)]
pub(crate) struct Registered {
    mr: Arc<MemoryRegion>,
    memory: Arc<Memory>,
}

impl Registered {
    pub(crate) fn new(
        pd: &Arc<ProtectionDomain>,
        memory: Arc<Memory>,
        access: AccessFlags,
    ) -> Result<Registered, RegisterMemoryRegionError> {
        let base = memory.word(0).as_ptr().expose_provenance();
        // SAFETY: `memory` is mapped for `len` bytes and outlives the registration, by the
        // type's invariant.
        let mr = unsafe { pd.reg_mr(base, memory.len(), access) }?;
        Ok(Registered { mr, memory })
    }

    pub(crate) fn memory(&self) -> &Arc<Memory> {
        &self.memory
    }

    pub(crate) fn lkey(&self) -> u32 {
        self.mr.lkey()
    }

    pub(crate) fn rkey(&self) -> u32 {
        self.mr.rkey()
    }
}

/// What a work request does.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Verb {
    Cas { old: u64, new: u64 },
    Read { words: usize },
    AtomicWrite { value: u64 },
    PlainWrite { value: u64 },
}

/// A work request.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Work {
    /// Comes back with its completion.
    pub(crate) number: u64,
    pub(crate) remote: RemoteWord,
    pub(crate) verb: Verb,
    /// The offset of its result in the results, in bytes.
    pub(crate) offset: usize,
    pub(crate) fence: bool,
    pub(crate) signalled: bool,
}

impl Work {
    /// The words of its result.
    #[inline]
    pub(crate) fn words(&self) -> usize {
        match self.verb {
            Verb::Cas { .. } => 1,
            Verb::Read { words } => words,
            Verb::AtomicWrite { .. } | Verb::PlainWrite { .. } => 0,
        }
    }

    #[inline]
    fn flags(&self) -> u32 {
        let fence = if self.fence {
            ibv_send_flags::IBV_SEND_FENCE.0
        } else {
            0
        };
        let signalled = if self.signalled {
            ibv_send_flags::IBV_SEND_SIGNALED.0
        } else {
            0
        };
        // An atomic write has its value in the request without being told so.
        let inline = match self.verb {
            Verb::PlainWrite { .. } => ibv_send_flags::IBV_SEND_INLINE.0,
            _ => 0,
        };
        fence | signalled | inline
    }
}

/// A queue pair, the queue of its completions and the memory that its results come to.
///
/// # Invariants
///
/// The results are dropped after the queue pair. No operation of it is in flight once
/// `ibv_destroy_qp` returns. Until then their memory stays registered.
pub(crate) struct Post {
    qp: ExtendedQueuePair,
    cq: Arc<ExtendedCompletionQueue>,
    results: Registered,
}

impl Post {
    /// `qp` completes to `cq`, and to it alone.
    pub(crate) fn new(
        qp: ExtendedQueuePair,
        cq: Arc<ExtendedCompletionQueue>,
        results: Registered,
    ) -> Post {
        Post { qp, cq, results }
    }

    pub(crate) fn number(&self) -> u32 {
        self.qp.qp_number()
    }

    #[inline]
    pub(crate) fn results(&self) -> &Memory {
        self.results.memory()
    }

    pub(crate) fn modify(&mut self, to: &QueuePairAttribute) -> Result<(), ModifyQueuePairError> {
        self.qp.modify(to)
    }

    /// Posts all of `works`, one doorbell for all. After an error, it is unknown which of
    /// them are out.
    ///
    /// # Panics
    ///
    /// Before anything is posted, when a result's place is not within the results.
    #[inline]
    pub(crate) fn post_all(&mut self, works: &[Work]) -> io::Result<()> {
        for work in works {
            let end = work.offset + 8 * work.words();
            assert!(
                end <= self.results.memory().len(),
                "a result past the results' end"
            );
        }
        // SAFETY: the pointer is used below only, while `self.qp` lives.
        let qp = unsafe { self.qp.qp() };
        // SAFETY: it is a queue pair.
        let qp = unsafe { ibv_qp_to_qp_ex(qp.as_ptr()) };
        if qp.is_null() {
            return Err(unsupported());
        }
        // SAFETY: it is an extended queue pair, and `&mut self` means that no other
        // thread is posting to it.
        unsafe { self.post_to(qp, works) }
    }

    /// # Safety
    ///
    /// `qp` is `self.qp`'s, and no other thread posts to it meanwhile.
    #[inline]
    unsafe fn post_to(&self, qp: *mut ibv_qp_ex, works: &[Work]) -> io::Result<()> {
        // SAFETY: `qp` is an extended queue pair, by this function's contract.
        let (start, complete, abort) =
            unsafe { ((*qp).wr_start, (*qp).wr_complete, (*qp).wr_abort) };
        let (Some(start), Some(complete), Some(abort)) = (start, complete, abort) else {
            return Err(unsupported());
        };
        // SAFETY: `qp` is one that no other thread is posting to.
        unsafe { start(qp) };
        for work in works {
            // SAFETY: between start and complete or abort.
            if let Err(error) = unsafe { self.add(qp, work) } {
                // SAFETY: after start, and before complete.
                unsafe { abort(qp) };
                return Err(error);
            }
        }
        // SAFETY: after start, and there was no abort.
        match unsafe { complete(qp) } {
            0 => Ok(()),
            errno => Err(io::Error::from_raw_os_error(positive(errno))),
        }
    }

    /// # Safety
    ///
    /// `qp` is `self.qp`'s, between start and complete; the place of the result of `work`
    /// is within `self.results`.
    #[inline]
    unsafe fn add(&self, qp: *mut ibv_qp_ex, work: &Work) -> io::Result<()> {
        let RemoteWord { addr, rkey } = work.remote;
        // SAFETY: `qp` is an extended queue pair, and these fields are the poster's.
        unsafe {
            (*qp).wr_id = work.number;
            (*qp).wr_flags = work.flags();
        }
        match work.verb {
            Verb::Cas { old, new } => {
                // SAFETY: as above.
                let cas = unsafe { (*qp).wr_atomic_cmp_swp }.ok_or_else(unsupported)?;
                // SAFETY: after start; the device checks the remote address and key.
                unsafe { cas(qp, rkey, addr, old, new) };
                // SAFETY: after the verb.
                unsafe { self.set_place(qp, work) }?;
            }
            Verb::Read { .. } => {
                // SAFETY: as above.
                let read = unsafe { (*qp).wr_rdma_read }.ok_or_else(unsupported)?;
                // SAFETY: after start; the device checks the remote address and key.
                unsafe { read(qp, rkey, addr) };
                // SAFETY: after the verb.
                unsafe { self.set_place(qp, work) }?;
            }
            Verb::AtomicWrite { value } => {
                // SAFETY: as above; a queue pair made with atomic writes has the field.
                let write = unsafe { (*qp).wr_atomic_write }.ok_or_else(unsupported)?;
                // SAFETY: after start; it copies the eight bytes before it returns.
                unsafe { write(qp, rkey, addr, from_ref(&value).cast::<c_void>()) };
            }
            Verb::PlainWrite { value } => {
                // SAFETY: as above.
                let calls = unsafe { ((*qp).wr_rdma_write, (*qp).wr_set_inline_data) };
                let (Some(write), Some(set_inline)) = calls else {
                    return Err(unsupported());
                };
                // SAFETY: after start; the device checks the remote address and key.
                unsafe { write(qp, rkey, addr) };
                // SAFETY: it copies the eight bytes before it returns, and only reads them.
                unsafe { set_inline(qp, from_ref(&value).cast_mut().cast::<c_void>(), 8) };
            }
        }
        Ok(())
    }

    /// Says where the result of the verb before it goes.
    ///
    /// # Safety
    ///
    /// The obligations are those of `add`, after its verb.
    #[inline]
    unsafe fn set_place(&self, qp: *mut ibv_qp_ex, work: &Work) -> io::Result<()> {
        // SAFETY: `qp` is an extended queue pair.
        let set_sge = unsafe { (*qp).wr_set_sge }.ok_or_else(unsupported)?;
        let to = self.results.memory().addr() + work.offset as u64;
        let bytes = 8 * work.words() as u32;
        // SAFETY: in bounds, and registered for as long as the queue pair lives.
        unsafe { set_sge(qp, self.results.lkey(), to, bytes) };
        Ok(())
    }

    /// The number and the status of the oldest completion, if there is one.
    #[inline]
    pub(crate) fn poll(&mut self) -> Result<Option<(u64, u32)>, PollCompletionQueueError> {
        match self.cq.start_poll() {
            Ok(mut poller) => Ok(poller.next().map(|done| (done.wr_id(), done.status()))),
            Err(PollCompletionQueueError::CompletionQueueEmpty) => Ok(None),
            Err(error) => Err(error),
        }
    }
}

fn unsupported() -> io::Error {
    io::Error::from_raw_os_error(libc::EOPNOTSUPP)
}

/// Providers return errors as positive numbers, a few as negative ones.
fn positive(errno: c_int) -> c_int {
    errno.checked_abs().unwrap_or(libc::EIO)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Status;
    use rdma_mummy_sys::{ibv_mtu, ibv_wc_status};

    #[test]
    fn our_numbers_are_the_librarys() {
        assert_eq!(Status::SUCCESS.raw(), ibv_wc_status::IBV_WC_SUCCESS);
        assert_eq!(Status::FLUSHED.raw(), ibv_wc_status::IBV_WC_WR_FLUSH_ERR);
        assert_eq!(
            Status::INVALID_REQUEST.raw(),
            ibv_wc_status::IBV_WC_REM_INV_REQ_ERR
        );
        assert_eq!(
            Status::REMOTE_ACCESS.raw(),
            ibv_wc_status::IBV_WC_REM_ACCESS_ERR
        );
        assert_eq!(
            Status::RETRIES_EXCEEDED.raw(),
            ibv_wc_status::IBV_WC_RETRY_EXC_ERR
        );
        assert_eq!(crate::endpoint::mtu_code(4096), Some(ibv_mtu::IBV_MTU_4096));
    }

    #[test]
    fn errors_are_positive() {
        assert_eq!(positive(-libc::EINVAL), libc::EINVAL);
        assert_eq!(positive(libc::ENOMEM), libc::ENOMEM);
        assert_eq!(positive(c_int::MIN), libc::EIO);
    }
}
