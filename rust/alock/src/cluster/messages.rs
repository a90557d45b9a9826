// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What goes over the rendezvous' connections: a JSON value a line.

use std::io::{self, BufRead, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Reason;

/// The protocol's version: of the rendezvous' messages and of what descriptors hold. Nodes of one
/// cluster must have it in common.
pub const VERSION: u32 = 5;

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum ToServer {
    Hello {
        version: u32,
        rank: u16,
        size: u16,
    },
    /// This node's part of what all tell each other.
    Tell {
        data: serde_json::Value,
    },
    /// What this node tells each, by rank.
    TellEach {
        data: Vec<serde_json::Value>,
    },
    Alive,
    Lost {
        node: u16,
        reason: Reason,
    },
    /// It ends, in order.
    Bye,
}

#[derive(Debug, Serialize, Deserialize)]
pub(crate) enum FromServer {
    /// You are none of this cluster.
    Refused {
        why: String,
    },
    /// Another node was refused.
    Other {
        why: String,
    },
    /// All nodes' parts, by rank: what each told all, or you.
    All {
        data: Vec<serde_json::Value>,
    },
    Alive,
    Lost {
        node: u16,
        reason: Reason,
    },
}

/// The longest line: a part of all nodes' data may be long.
pub(crate) const LONGEST: usize = 64 << 20;

/// The longest line of a node that has not said which it is.
pub(crate) const GREETING: usize = 256;

/// A message's line.
///
/// # Errors
/// `InvalidInput`, and how long it is, where no node would read so long a line.
pub(crate) fn line(message: &impl Serialize) -> io::Result<Vec<u8>> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    if line.len() > LONGEST {
        let why = format!("a line of {} bytes, of at most {LONGEST}", line.len());
        return Err(io::Error::new(io::ErrorKind::InvalidInput, why));
    }
    Ok(line)
}

pub(crate) fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    to.write_all(&line(message)?)
}

/// The next message, of at most `longest` bytes; `None` at the connection's end.
pub(crate) fn receive<T: DeserializeOwned>(
    from: &mut impl BufRead,
    longest: usize,
) -> io::Result<Option<T>> {
    let mut line = String::new();
    let length = io::Read::take(&mut *from, longest as u64).read_line(&mut line)?;
    if length == 0 {
        return Ok(None);
    }
    serde_json::from_str(&line)
        .map(Some)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

pub(crate) fn lock<T>(of: &Mutex<T>) -> MutexGuard<'_, T> {
    of.lock().unwrap_or_else(PoisonError::into_inner)
}

pub(crate) fn late(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}

/// How a connection ended: a read has a time limit.
pub(crate) fn end_by(error: &io::Error) -> Reason {
    if late(error) {
        Reason::Silent
    } else {
        Reason::Ended
    }
}
