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
//!
//! The program `figures` draws all that a list names ([`list`]). A figure's title states what
//! its data show, and is computed from them ([`finding`]).
//!
//! No plotting library is used. `plotters`, 0.3.7 of 2024, hands its SVG backend lines and
//! letters alone. A picture then has no title, no description and no named series for a
//! screen reader or a test. These would take more code beside it than [`svg`] has.
//!
//! # Promises
//!
//! The same data give the same bytes. Every point of the data is in the picture, within its
//! axes. No text lies on another.

pub mod alock;
mod axis;
pub mod bars;
pub mod figure;
pub mod files;
pub mod finding;
pub mod kernel;
pub mod list;
pub mod plot;
pub mod rlock;
pub mod sheet;
mod spread;
pub mod svg;

pub use figure::{Axis, Figure, Look, Panel, Points, Series, Shape, Unit};
pub use spread::Spread;
