//! What goes over the rendezvous' connections: a JSON value a line.

use std::io::{self, BufRead, Write};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::Reason;

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
    /// Somebody else was refused.
    Other {
        why: String,
    },
    /// Everybody's parts, by rank.
    All {
        data: Vec<serde_json::Value>,
    },
    Alive,
    Lost {
        node: u16,
        reason: Reason,
    },
}

/// The longest line that is read: a part of everybody's data may be long.
const LONGEST: u64 = 64 << 20;

pub(crate) fn send(to: &mut impl Write, message: &impl Serialize) -> io::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    to.write_all(&line)
}

/// The next message; `None` at the connection's end.
pub(crate) fn receive<T: DeserializeOwned>(from: &mut impl BufRead) -> io::Result<Option<T>> {
    let mut line = String::new();
    let length = io::Read::take(&mut *from, LONGEST).read_line(&mut line)?;
    if length == 0 {
        return Ok(None);
    }
    serde_json::from_str(&line)
        .map(Some)
        .map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}
