// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! `libhandover.so`: a program's pthread mutexes become ticket, TWA, MCS or CLH locks.
//!
//! The loader binds the program's calls to these functions, as `LD_PRELOAD` names the library. `handover-run` sets that.
//!
//! | object | is ours | is glibc's |
//! |---|---|---|
//! | mutex | kinds normal and adaptive, in its own 40 bytes | recursive, error checking, robust, PI, PP, process shared |
//! | condition variable | within a process, in its own 48 bytes | process shared |
//! | C11's `mtx_t` and `cnd_t` | none | all: glibc calls itself there |
//!
//! | variable | says | values |
//! |---|---|---|
//! | `HANDOVER_LOCK` | the lock | `ticket`, `twa` (default), `one-word-twa`, `mcs`, `clh`, `ttas` |
//! | `HANDOVER_WAIT` | how a thread waits | `park` (default), `yield`, `spin` |
//! | `HANDOVER_STATS` | whether calls are counted, and told on exit | `0` (default), `1` |
//! | `HANDOVER_PROFILE` | a file for a table of the mutexes that are used most | a path; none (default) |

#![cfg(all(target_os = "linux", target_arch = "x86_64", target_env = "gnu"))]

mod choice;
mod clock;
pub mod cond;
mod fork;
mod glibc;
pub mod mutex;
mod nap;
mod ops;
mod profile;
mod said;
mod start;
mod stats;
mod symbol;
