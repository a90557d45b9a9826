// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Rows with a bar each: one figure a name, where names have no order of their own.

use crate::axis::Scale;
use crate::figure::{Axis, Look, Unit};
use crate::plot::{mark, small_print, Head, EDGE, NAME, SMALL};
use crate::spread::Spread;
use crate::svg::{width, Anchor, Svg, BLACK, GREY, LIGHT};

/// The height of a row, from middle to middle.
const ROW: f64 = 22.0;
/// The width of the part with the bars.
const WIDE: f64 = 420.0;

/// A figure of rows. [`draw`] makes the picture.
///
/// # Examples
///
/// ```
/// use figures::bars::{draw, Bars, Group, Row};
/// use figures::figure::{BESIDE, LOCKS};
/// use figures::{Axis, Spread, Unit};
///
/// let row = |name: &str, value, look| Row {
///     name: name.into(),
///     value: Spread::one(value),
///     note: format!("{value} ns"),
///     look,
/// };
/// let picture = draw(&Bars {
///     file: "cost.svg".into(),
///     title: "An example".into(),
///     axis: Axis { name: "an increment", unit: Unit::Number },
///     groups: vec![Group {
///         title: "one thread".into(),
///         rows: vec![row("rlock", 2.0, LOCKS[0]), row("a mutex", 9.0, BESIDE)],
///     }],
///     legend: vec![("revocable".into(), LOCKS[0]), ("locked".into(), BESIDE)],
///     small_print: Vec::new(),
/// });
/// assert!(picture.contains("a mutex") && picture.contains("9 ns"));
/// ```
#[derive(Clone, Debug)]
pub struct Bars {
    /// The file's name.
    pub file: String,
    /// What the data show.
    pub title: String,
    /// The axis from left to right. Bars begin at 0; a logarithmic axis has none, and has
    /// marks alone.
    pub axis: Axis,
    /// The groups from top to bottom.
    pub groups: Vec<Group>,
    /// What the looks mean.
    pub legend: Vec<(String, Look)>,
    /// Below: what was measured, where, and what to know of it.
    pub small_print: Vec<String>,
}

/// Rows below a title.
#[derive(Clone, Debug)]
pub struct Group {
    /// What is the same for all of them; may be empty.
    pub title: String,
    /// The rows from top to bottom.
    pub rows: Vec<Row>,
}

/// A bar.
#[derive(Clone, Debug)]
pub struct Row {
    /// The text at its left.
    pub name: String,
    /// Up to the median; with a line from the least to the most.
    pub value: Spread,
    /// The text at its right.
    pub note: String,
    /// The look that the legend explains.
    pub look: Look,
}

/// The figure as an image.
pub fn draw(figure: &Bars) -> String {
    let rows = || figure.groups.iter().flat_map(|it| &it.rows);
    let mut values: Vec<f64> = rows().flat_map(|it| it.value.all()).collect();
    if figure.axis.unit != Unit::Time {
        values.push(0.0);
    }
    let scale = Scale::of(figure.axis.unit, &values);
    let longest =
        |text: fn(&Row) -> &str, size| rows().map(|it| width(text(it), size)).fold(0.0, f64::max);
    let left = EDGE + longest(|it| &it.name, NAME) + 10.0;
    let titles = figure.groups.iter().map(|it| width(&it.title, NAME));
    let right = WIDE + longest(|it| &it.note, SMALL) + 14.0 + EDGE;
    let wide = (left + right)
        .max(EDGE * 2.0 + titles.fold(0.0, f64::max))
        .max(560.0);
    let legend = figure.legend.iter();
    let legend: Vec<_> = legend
        .map(|(name, look)| (&name[..], *look, false))
        .collect();
    let head = Head::of(&figure.title, &legend, wide);
    let print = small_print(&figure.small_print, wide);
    let title_high = |it: &Group| if it.title.is_empty() { 6.0 } else { 26.0 };
    let high: f64 = figure
        .groups
        .iter()
        .map(|it| title_high(it) + it.rows.len() as f64 * ROW)
        .sum();
    let top = head.bottom + 6.0;
    let low = top + high;
    let size = (wide, low + 58.0 + print.len() as f64 * (SMALL + 4.0));
    let mut svg = Svg::new(size, &figure.title, &described(figure));
    head.draw(&mut svg);
    let at = |value: f64| left + (scale.at(value) - scale.from) / (scale.to - scale.from) * WIDE;
    let mut written = f64::NEG_INFINITY;
    for &tick in &scale.ticks {
        let x = left + (tick - scale.from) / (scale.to - scale.from) * WIDE;
        svg.line(&[(x, top), (x, low)], 1.0, LIGHT);
        let label = scale.label(tick);
        let half = width(&label, SMALL) / 2.0;
        if x - half >= written + 4.0 && x + half <= wide {
            svg.text((x, low + 15.0), SMALL, Anchor::Middle, BLACK, &label);
            written = x + half;
        }
    }
    let mut y = top;
    for group in &figure.groups {
        svg.begin("panel", &group.title);
        y += title_high(group);
        if !group.title.is_empty() {
            svg.text((EDGE, y - 6.0), NAME, Anchor::Start, GREY, &group.title);
        }
        for row in &group.rows {
            let middle = y + ROW / 2.0;
            svg.begin("series", &row.name);
            let place = (left - 8.0, middle + 4.0);
            svg.text(place, NAME, Anchor::End, BLACK, &row.name);
            draw_row(&mut svg, row, &scale, left, middle, at);
            svg.end();
            y += ROW;
        }
        let high = group.rows.len() as f64 * ROW;
        svg.line(&[(left, y - high), (left, y)], 1.0, GREY);
        svg.end();
    }
    svg.line(&[(left, low), (left + WIDE, low)], 1.0, GREY);
    let name = match scale.log {
        true => format!("{} (log)", figure.axis.name),
        false => figure.axis.name.to_owned(),
    };
    svg.text(
        (left + WIDE / 2.0, low + 33.0),
        NAME,
        Anchor::Middle,
        BLACK,
        &name,
    );
    for (number, line) in print.iter().enumerate() {
        let y = low + 54.0 + number as f64 * (SMALL + 4.0);
        svg.text((EDGE, y), SMALL, Anchor::Start, GREY, line);
    }
    svg.finish()
}

fn draw_row(
    svg: &mut Svg,
    row: &Row,
    scale: &Scale,
    left: f64,
    middle: f64,
    at: impl Fn(f64) -> f64,
) {
    let x = at(row.value.median);
    let (low, high) = (at(row.value.least), at(row.value.most));
    if scale.log {
        mark(svg, (x, middle), row.look, 1.0);
    } else {
        let zero = at(0.0).max(left);
        let (up, down) = (middle - 7.0, middle + 7.0);
        let corners = [(zero, up), (x, up), (x, down), (zero, down)];
        svg.polygon(&corners, row.look.color, row.look.fill);
    }
    let note = (high.max(x) + 8.0, middle + 4.0);
    if low < high {
        let color = if scale.log { row.look.color } else { BLACK };
        svg.line(&[(low, middle), (high, middle)], 1.0, color);
        for x in [low, high] {
            svg.line(&[(x, middle - 3.0), (x, middle + 3.0)], 1.0, color);
        }
    }
    svg.text(note, SMALL, Anchor::Start, BLACK, &row.note);
}

/// What a screen reader reads after the title.
fn described(figure: &Bars) -> String {
    let mut text = format!("{}: ", figure.axis.name);
    for group in &figure.groups {
        for row in &group.rows {
            text += &format!("{} {} {}; ", group.title, row.name, row.note);
        }
    }
    text + &figure.small_print.join(". ")
}
