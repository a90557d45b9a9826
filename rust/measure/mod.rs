// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What the harness computes: nothing here knows a kernel, a clock or a thread.
//!
//! The kernel module compiles this folder as its module `measure`. Cargo compiles
//! it as a crate, so that its tests run on a host.
//!
//! | file | what |
//! |---|---|
//! | `statistics.rs` | rates, medians, ratios, fairness, what writers did together |
//! | `text.rs` | how numbers are written |
//! | `order.rs` | which lock and which number of writers come next |
//! | `words.rs` | how a parameter's value is read |
//! | `key.rs` | a parameter: its name, and what is allowed |
//! | `lock.rs` | what a plan and a table know of a lock |
//! | `perturb.rs` | what is done to writers beside their work |
//! | `plan.rs` | an experiment's parameters, read, checked and settled |
//! | `outcome.rs` | what a run came to, as a line and as a row |
//! | `table.rs` | the table of an experiment |
//! | `latency.rs` | how long waits and hand-overs took, as rows and as a table |
//! | `prng.rs` | the writers' generator, and a run's first ticket |
//! | `watch.rs` | which writers have stalled, and how long one is waited for |
//! | `verdict.rs` | how an experiment ended |
//! | `facts.rs` | what is made of a spinlock's word, and of who traces |
//!
//! Arithmetic saturates or wraps as it says, and nothing panics.
//!
//! # Examples
//!
//! ```
//! use handover_measure::statistics::{hundredths, median, per_second};
//!
//! // 1,200,000 acquisitions in 0.4 s, beside a lock with a median of 2,000,000 a second.
//! let rates = [2_900_000, per_second(1_200_000, 400_000_000), 3_100_000];
//! assert_eq!(median(&rates), Some(3_000_000));
//! assert_eq!(hundredths(3_000_000, 2_000_000), Some(150));
//! ```

pub mod facts;
pub mod key;
pub mod latency;
pub mod lock;
pub mod order;
pub mod outcome;
pub mod perturb;
pub mod plan;
pub mod prng;
pub mod statistics;
pub mod table;
pub mod text;
pub mod verdict;
pub mod watch;
pub mod words;
