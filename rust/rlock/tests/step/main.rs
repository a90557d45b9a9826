// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Every instruction of every section, one at a time (the trap flag). A
//! cancellation comes at each boundary, from a signal handler that stands on the
//! section.

mod cancelled;
mod nested;
mod order;
mod plain;
mod trap;
