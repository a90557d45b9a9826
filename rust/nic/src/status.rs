// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! How an operation ended, in words.

use std::fmt;

/// How an operation ended that did not succeed: `ibv_wc_status`. Its `Display` has the
/// words of the InfiniBand specification, volume 1, 11.6.2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Status(u32);

/// The words in the order of `ibv_wc_status`.
const WORDS: [&str; 24] = [
    "success",
    "local length error",
    "local queue pair operation error",
    "local end-to-end context operation error",
    "local protection error",
    "flushed, since an operation before it failed",
    "memory window bind error",
    "bad response",
    "local access error",
    "remote invalid request",
    "remote access error",
    "remote operation error",
    "retries exceeded: the peer does not answer",
    "receiver-not-ready retries exceeded",
    "local reliable-datagram domain violation",
    "remote invalid reliable-datagram request",
    "remote aborted",
    "invalid end-to-end context number",
    "invalid end-to-end context state",
    "fatal error",
    "response timeout",
    "general error",
    "tag matching error",
    "tag matching rendezvous incomplete",
];

impl Status {
    pub(crate) const SUCCESS: Status = Status(0);
    /// Not carried out, or carried out without an answer, since the queue pair had
    /// failed at an operation before.
    pub const FLUSHED: Status = Status(5);
    /// The peer refused the operation. Its device lacks the kind, or the address is no
    /// multiple of 8.
    pub const INVALID_REQUEST: Status = Status(9);
    /// The peer refused it: the key or the range is not one of its registered memory.
    pub const REMOTE_ACCESS: Status = Status(10);
    /// The peer never answered: it is gone, or its queue pair is, or the network.
    pub const RETRIES_EXCEEDED: Status = Status(12);

    /// `IBV_WC_LOC_LEN_ERR` to `IBV_WC_LOC_PROT_ERR`, `IBV_WC_LOC_ACCESS_ERR`,
    /// `IBV_WC_FATAL_ERR`: the operation never left.
    pub(crate) fn is_local(self) -> bool {
        matches!(self.0, 1..=4 | 8 | 19)
    }

    pub(crate) fn from_raw(raw: u32) -> Status {
        Status(raw)
    }

    /// The number in `ibv_wc_status`.
    #[must_use]
    pub fn raw(self) -> u32 {
        self.0
    }
}

impl fmt::Display for Status {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let words = usize::try_from(self.0).ok().and_then(|i| WORDS.get(i));
        match words {
            Some(words) => f.write_str(words),
            None => write!(f, "status {} of a newer libibverbs", self.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statuses_have_words() {
        assert_eq!(Status::REMOTE_ACCESS.to_string(), "remote access error");
        assert!(Status::RETRIES_EXCEEDED
            .to_string()
            .starts_with("retries exceeded"));
        assert!(Status::FLUSHED.to_string().starts_with("flushed"));
        assert_eq!(
            Status::INVALID_REQUEST.to_string(),
            "remote invalid request"
        );
    }

    /// The other nodes are told of another one otherwise.
    #[test]
    fn those_of_this_side_are_told_from_the_peers() {
        let local: Vec<_> = (0..24).filter(|&raw| Status(raw).is_local()).collect();
        let words: Vec<_> = local.iter().map(|&raw| WORDS[raw as usize]).collect();
        assert_eq!(
            words,
            [
                "local length error",
                "local queue pair operation error",
                "local end-to-end context operation error",
                "local protection error",
                "local access error",
                "fatal error",
            ]
        );
        for peers in [
            Status::FLUSHED,
            Status::INVALID_REQUEST,
            Status::REMOTE_ACCESS,
            Status::RETRIES_EXCEEDED,
        ] {
            assert!(!peers.is_local(), "{peers}");
        }
    }

    #[test]
    fn a_status_that_is_not_known_is_no_panic() {
        assert_eq!(
            Status::from_raw(99).to_string(),
            "status 99 of a newer libibverbs"
        );
        assert_eq!(Status::from_raw(u32::MAX).raw(), u32::MAX);
    }
}
