// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Plans, runs and tables of locks that are none. Each text is made once more, from what
//! was asked for and from what was counted.

mod latency;
mod locks;
mod outcome;
mod perturb;
mod plan;
mod refused;
mod table;
mod watch;
