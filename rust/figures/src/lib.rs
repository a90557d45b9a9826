// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Figures of the benchmarks' results, as SVG.
//!
//! | module | what it draws |
//! |---|---|
//! | [`plot`] | panels that share their axes, with a series of points a lock |
//! | [`bars`] | rows with a bar or a mark each |
//! | [`alock`] | `alock-bench`'s runs, by the former |
//! | [`kernel`] | `make bench-kernel`'s two tables, by both |
//! | [`rlock`] | `make bench-rlock`'s two tables, by the latter |
//! | [`study`] | `make study`'s table, by the former |
//! | [`coherence`] | `make figures-twa`'s tables, by the former |
//! | [`user`] | `make bench-user`'s rounds, by the former |
//!
//! The program `figures` draws all that a list names ([`list`]). A figure's title states what
//! its data show, and is computed from them ([`finding`]).
//!
//! No plotting library is used. `plotters`, 0.3.7 of 2024, hands its SVG backend lines and
//! letters alone. A picture then has no title, no description and no named series for a
//! screen reader or a test. These would take more code beside it than [`svg`] has.
//!
//! # Examples
//!
//! ```
//! use figures::figure::LOCKS;
//! use figures::{plot, Axis, Figure, Panel, Series, Spread, Unit};
//!
//! let rate = |rounds: [f64; 3]| Spread::of(rounds.into_iter()).expect("three rounds");
//! let series = Series {
//!     name: "alock".into(),
//!     look: LOCKS[0],
//!     is_curve: false,
//!     points: vec![(1.0, rate([2e6, 3e6, 4e6])), (2.0, rate([5e6, 5e6, 6e6]))],
//! };
//! let picture = plot::draw(&Figure {
//!     file: "throughput.svg".into(),
//!     title: "ALock gains 1.7 from the second thread".into(),
//!     x: Axis { name: "threads a node", unit: Unit::Count },
//!     y: Axis { name: "acquisitions a second", unit: Unit::Rate },
//!     columns: 1,
//!     panels: vec![Panel { title: "100 locks".into(), series: vec![series] }],
//!     small_print: vec!["an example, not measured".into()],
//! });
//! assert!(picture.starts_with("<svg") && picture.contains("100 locks"));
//! ```
//!
//! # Promises
//!
//! The same data give the same bytes. Every point of the data is in the picture, within its
//! axes. No text lies on another.

pub mod alock;
mod axis;
pub mod bars;
pub mod coherence;
pub mod figure;
pub mod files;
pub mod finding;
pub mod kernel;
pub mod latency;
pub mod list;
pub mod plot;
pub mod rlock;
pub mod sheet;
mod spread;
pub mod study;
pub mod svg;
pub mod user;

pub use figure::{Axis, Figure, Look, Panel, Points, Series, Shape, Unit};
pub use spread::Spread;
