// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What is in a figure of panels: data and looks, no coordinates.

use crate::spread::Spread;
use crate::svg::{Color, Fill};

/// A figure: panels that share their axes. [`plot::draw`](crate::plot::draw) makes the picture.
///
/// # Examples
///
/// ```
/// use figures::{plot, Axis, Figure, Panel, Unit};
///
/// let figure = Figure {
///     file: "latency.svg".into(),
///     title: "The longest of 5 operations takes 9 \u{b5}s".into(),
///     x: Axis { name: "latency", unit: Unit::Time },
///     y: Axis { name: "share of the operations", unit: Unit::Share },
///     columns: 2,
///     panels: vec![Panel { title: "2 nodes".into(), series: Vec::new() }],
///     small_print: Vec::new(),
/// };
/// assert!(plot::draw(&figure).contains("share of the operations"));
/// ```
#[derive(Clone, Debug)]
pub struct Figure {
    /// The file's name.
    pub file: String,
    /// What the data show.
    pub title: String,
    /// The axis from left to right.
    pub x: Axis,
    /// The axis from bottom to top.
    pub y: Axis,
    /// How many panels stand side by side, at most.
    pub columns: usize,
    /// The panels from the upper left, row by row.
    pub panels: Vec<Panel>,
    /// Below: what was measured, where, and what to know of it.
    pub small_print: Vec<String>,
}

/// An axis of all panels.
#[derive(Clone, Copy, Debug)]
pub struct Axis {
    /// What stands beside it.
    pub name: &'static str,
    /// How its numbers are written.
    pub unit: Unit,
}

/// How an axis' numbers are written, and where its ticks are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unit {
    /// Ticks at the values themselves.
    Count,
    /// 10 k, 1 M. From 0, or logarithmic if the range wants it.
    Rate,
    /// Small numbers, likewise, and always from 0.
    Number,
    /// Times in ns, logarithmic; written with their unit.
    Time,
    /// 0 to 1.
    Share,
    /// Around 1.
    Ratio,
}

/// The points of a series, by x.
pub type Points = Vec<(f64, Spread)>;

/// A panel, with axes of its own that are like the others'.
#[derive(Clone, Debug)]
pub struct Panel {
    /// What is the same for all of its points.
    pub title: String,
    /// The later ones lie on top.
    pub series: Vec<Series>,
}

/// Points of one name.
///
/// # Examples
///
/// ```
/// use figures::figure::{LOCKS, OTHERS};
/// use figures::{Series, Shape, Spread};
///
/// let one = |x| (x, Spread::one(2.0 * x));
/// let marks = Series {
///     name: "ticket".into(),
///     look: LOCKS[1],
///     is_curve: false,
///     points: vec![one(1.0), one(2.0)],
/// };
/// assert_eq!(marks.look.shape, Shape::Triangle);
/// let curve = Series { name: "a model".into(), look: OTHERS[0], is_curve: true, ..marks };
/// assert_eq!(curve.points.len(), 2);
/// ```
#[derive(Clone, Debug)]
pub struct Series {
    /// The name in the legend.
    pub name: String,
    /// The same in every figure.
    pub look: Look,
    /// A curve has no marks and no bars.
    pub is_curve: bool,
    /// The points in the order of the line.
    pub points: Points,
}

/// A series' look is its own in every figure.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Look {
    /// The colour of line and mark.
    pub color: Color,
    /// The shape of the mark.
    pub shape: Shape,
    /// How mark and bar are filled.
    pub fill: Fill,
}

/// A mark's shape, for a reader without colour vision.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Shape {
    /// A disc.
    Circle,
    /// A triangle on its side.
    Triangle,
    /// A triangle on its corner.
    Down,
    /// A square on its side.
    Square,
    /// A square on its corner.
    Diamond,
}

const fn look(color: Color, shape: Shape, fill: Fill) -> Look {
    Look { color, shape, fill }
}

/// The first of the palette by Okabe and Ito, which nearly all eyes tell apart: of locks.
pub const LOCKS: [Look; 5] = [
    look((0, 114, 178), Shape::Circle, Fill::Full),
    look((213, 94, 0), Shape::Triangle, Fill::Full),
    look((0, 158, 115), Shape::Square, Fill::Full),
    look((204, 121, 167), Shape::Diamond, Fill::Full),
    look((230, 159, 0), Shape::Down, Fill::Full),
];

/// Grey: what is there to be seen beside others.
pub const BESIDE: Look = look((110, 110, 110), Shape::Diamond, Fill::Full);

/// Hollow: the kernel's own locks.
pub const KERNELS: [Look; 4] = [
    look((110, 110, 110), Shape::Diamond, Fill::Hollow),
    look((110, 110, 110), Shape::Square, Fill::Hollow),
    look((0, 0, 0), Shape::Circle, Fill::Hollow),
    look((0, 0, 0), Shape::Triangle, Fill::Hollow),
];

/// Crossed: a lock that keeps no order.
pub const UNORDERED: Look = look((0, 0, 0), Shape::Square, Fill::Crossed);

/// The palette's other colours: of what is no lock.
pub const OTHERS: [Look; 4] = [
    look((204, 121, 167), Shape::Circle, Fill::Full),
    look((230, 159, 0), Shape::Triangle, Fill::Full),
    look((86, 180, 233), Shape::Square, Fill::Full),
    look((0, 0, 0), Shape::Diamond, Fill::Full),
];
