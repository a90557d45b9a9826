// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Words of peers' memory, as operations name them.

use serde::{Deserialize, Serialize};

/// A word of a peer's registered memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct RemoteWord {
    /// Its address there, a multiple of 8.
    pub addr: u64,
    /// The key of the region that it is in.
    pub rkey: u32,
}

impl RemoteWord {
    /// The word `bytes` further on. Costs nothing and asks nothing: whether the region
    /// reaches so far, the peer's device says when it is accessed.
    #[must_use]
    pub fn at(self, bytes: u64) -> RemoteWord {
        RemoteWord {
            addr: self.addr.wrapping_add(bytes),
            rkey: self.rkey,
        }
    }
}
