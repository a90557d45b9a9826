// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What a device refuses, and how it is told. A queue pair that fails takes nothing with it. The
//! memory is as it was, and another queue pair goes on.

use std::sync::atomic::Ordering::{Acquire, Release};

use nic::{Error, Memory, Nic, Options, QueuePair, Region, RemoteWord, Status, WorkRequest};

use crate::{options, pair};

struct Here {
    nic: Nic,
    region: Region,
}

const MARK: u64 = 0x5aa5_0000;

impl Here {
    fn new() -> Here {
        Here::that_tries(17, 1)
    }

    /// An answer is waited for some 4 us times two to the `timeout`. 17 is half a second, in which
    /// also a busy host answers.
    fn that_tries(timeout: u8, retries: u8) -> Here {
        let options = Options {
            timeout,
            retries,
            ..options(0)
        };
        let nic = Nic::open(&options).unwrap();
        let region = nic.register(Memory::new(4096).unwrap()).unwrap();
        let it = Here { nic, region };
        it.words(|i, word| word.store(MARK + i, Release));
        it
    }

    fn words(&self, mut of: impl FnMut(u64, &std::sync::atomic::AtomicU64)) {
        for offset in (0..self.region.len()).step_by(8) {
            of(offset as u64, self.region.memory().word(offset));
        }
    }

    /// Nothing has changed, and a new queue pair works.
    fn is_whole(&self) {
        self.words(|i, word| assert_eq!(word.load(Acquire), MARK + i));
        let (mut queue, _other_end) = pair(&self.nic);
        queue.post_read(1, self.region.remote(8), 1).unwrap();
        assert_eq!(queue.wait().unwrap().value(), MARK + 8);
    }

    /// Each kind of access to `at` is refused with an error that names it.
    fn refuses(&self, at: RemoteWord) {
        let kinds = [
            WorkRequest::read(at, 1),
            WorkRequest::cas(at, 0, 1),
            WorkRequest::cas(at, MARK + at.addr.wrapping_sub(self.region.addr()), 1),
            WorkRequest::write(at, 1),
        ];
        for request in kinds {
            let (mut queue, _other_end) = pair(&self.nic);
            queue.post_list(5, &[request]).unwrap();
            let said = failure(&mut queue, Status::REMOTE_ACCESS, 5);
            for named in [
                format!("address {:#x}, key {:#x}", at.addr, at.rkey),
                format!("queue pair {} at", _other_end.endpoint().qpn),
                "remote access error".into(),
            ] {
                assert!(said.contains(&named), "{said}: {named}");
            }
            assert!(queue.has_failed());
        }
        self.is_whole();
    }
}

/// The next operation fails so; what it says.
fn failure(queue: &mut QueuePair, expected: Status, named: u64) -> String {
    let error = queue.wait().expect_err("a failure");
    match error {
        Error::Completion { status, id, .. } => assert_eq!((status, id), (expected, named)),
        ref other => panic!("{other}"),
    }
    error.to_string()
}

#[test]
fn a_wrong_key_is_refused() {
    let here = Here::new();
    let right = here.region.remote(64);
    for rkey in [right.rkey ^ 1, right.rkey ^ 0x100, 0, u32::MAX] {
        here.refuses(RemoteWord { rkey, ..right });
    }
}

#[test]
fn an_address_outside_is_refused() {
    let here = Here::new();
    let first = here.region.remote(0);
    for by in [
        here.region.len() as u64,
        1 << 30,
        8u64.wrapping_neg(),
        first.addr.wrapping_neg(),
    ] {
        here.refuses(first.at(by));
    }
    // Its first word is inside.
    let last = here.region.remote(here.region.len() - 8);
    let (mut queue, _other_end) = pair(&here.nic);
    queue.post_read(6, last, 2).unwrap();
    failure(&mut queue, Status::REMOTE_ACCESS, 6);
    here.is_whole();
}

#[test]
fn the_key_of_memory_that_is_gone_is_refused() {
    let here = Here::new();
    let other = here.nic.register(Memory::new(4096).unwrap()).unwrap();
    let at = other.remote(0);
    drop(other);
    here.refuses(at);
}

/// Each opened device has a protection domain of its own.
#[test]
fn the_key_of_another_opened_device_is_refused() {
    let (here, there) = (Here::new(), Here::new());
    here.refuses(there.region.remote(0));
    there.is_whole();
}

#[test]
fn an_address_off_its_alignment_is_refused_before_it_is_sent() {
    let here = Here::new();
    let (mut queue, _other_end) = pair(&here.nic);
    let off = here.region.remote(0).at(4);
    let error = queue.post_cas(1, off, 0, 1).unwrap_err().to_string();
    assert!(error.contains(&format!("{:#x}", off.addr)), "{error}");
    // That one is as good as before.
    assert_eq!(queue.posted(), 0);
    queue.post_read(2, here.region.remote(0), 1).unwrap();
    assert_eq!(queue.wait().unwrap().value(), MARK);
    here.is_whole();
}

#[test]
fn what_is_behind_a_failed_one_is_not_carried_out() {
    let here = Here::new();
    let right = here.region.remote(64);
    let wrong = RemoteWord {
        rkey: right.rkey ^ 0x100,
        ..right
    };
    let (mut queue, _other_end) = pair(&here.nic);
    queue.post_read(1, wrong, 1).unwrap();
    queue.post_write(2, right, 7).unwrap();
    failure(&mut queue, Status::REMOTE_ACCESS, 1);
    let flushed = failure(&mut queue, Status::FLUSHED, 2);
    assert!(flushed.contains("since an operation before it failed"));
    let refused = queue.post_read(3, right, 1);
    assert!(matches!(refused, Err(Error::Failed { .. })), "{refused:?}");
    assert!(matches!(queue.wait(), Err(Error::Idle)));
    here.is_whole();

    // The same of one doorbell, whose first is not signalled.
    let (mut queue, _other_end) = pair(&here.nic);
    let both = [WorkRequest::read(wrong, 1), WorkRequest::write(right, 7)];
    queue.post_list(4, &both).unwrap();
    failure(&mut queue, Status::REMOTE_ACCESS, 4);
    failure(&mut queue, Status::FLUSHED, 4);
    assert!(matches!(queue.wait(), Err(Error::Idle)));
    here.is_whole();
}

#[test]
fn nobody_there_is_an_error_in_bounded_time() {
    let here = Here::new();
    let (mut queue, other_end) = pair(&here.nic);
    drop(other_end);
    queue.post_write(6, here.region.remote(0), 1).unwrap();
    let said = failure(&mut queue, Status::RETRIES_EXCEEDED, 6);
    assert!(said.contains("the peer does not answer"), "{said}");
    here.is_whole();
}

/// rxe takes seven retries for 'for ever': as a device that was taken away, or hangs.
#[test]
fn a_device_that_never_answers_is_given_up() {
    let here = Here::that_tries(12, 7);
    let (mut queue, other_end) = pair(&here.nic);
    drop(other_end);
    queue.post_write(6, here.region.remote(0), 1).unwrap();
    let error = queue.wait().unwrap_err();
    assert!(matches!(error, Error::Silent { .. }), "{error}");
    assert!(error.is_local() && queue.has_failed());
    let again = queue.wait();
    assert!(matches!(again, Err(Error::Failed { .. })), "{again:?}");
    drop(queue);
    here.is_whole();
}

#[test]
fn a_full_queue_pair_says_so_and_one_with_operations_out_may_be_dropped() {
    let here = Here::new();
    let (mut queue, _other_end) = pair(&here.nic);
    let word = here.region.remote(0);
    for id in 0..u64::from(Options::default().depth) {
        queue.post_read(id, word, 8).unwrap();
    }
    let full = queue.post_read(99, word, 8);
    assert!(matches!(full, Err(Error::Full { .. })), "{full:?}");
    let again = queue.connect(&queue.endpoint().clone());
    assert!(matches!(again, Err(Error::Connected { .. })), "{again:?}");
    drop(queue);
    here.is_whole();
}

#[test]
fn an_address_that_the_port_has_not_is_named() {
    let options = Options {
        gid_index: Some(250),
        ..options(0)
    };
    let error = Nic::open(&options).unwrap_err().to_string();
    assert!(error.contains("no GID 250"), "{error}");
}
