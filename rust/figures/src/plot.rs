// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The positions of a figure's parts: panels in a grid, that share their axes. Numbers are at
//! the left and below alone.

use crate::axis::Scale;
use crate::figure::{Figure, Look, Panel, Series, Shape};
use crate::svg::{width, wrapped, Anchor, Svg, BLACK, GREY, LIGHT};

pub(crate) const TITLE: f64 = 16.0;
pub(crate) const NAME: f64 = 13.0;
pub(crate) const SMALL: f64 = 11.0;
/// The margin between the picture's edge and everything.
pub(crate) const EDGE: f64 = 16.0;
/// The width left of the panels, at least: the axis' name and its numbers.
const LEFT: f64 = 68.0;
/// The height from baseline to baseline, of titles and of the legend.
const LINE: f64 = 20.0;
/// The gaps between panels: a title, or nothing.
const BETWEEN: (f64, f64) = (18.0, 30.0);

struct Layout {
    /// The size of the picture.
    size: (f64, f64),
    /// The size of a panel.
    panel: (f64, f64),
    columns: usize,
    rows: usize,
    /// The upper left corner of the first panel.
    origin: (f64, f64),
    head: Head,
    small_print: Vec<String>,
}

impl Layout {
    fn of(figure: &Figure, y: &Scale) -> Self {
        let columns = figure.columns.min(figure.panels.len()).max(1);
        let rows = figure.panels.len().div_ceil(columns).max(1);
        let titles = figure.panels.iter().map(|it| width(&it.title, NAME));
        let titles = titles.fold(0.0, f64::max);
        // The axis' name has to fit beside one row.
        let panel: (f64, f64) = match (rows, columns) {
            (1, 1) => (460.0, 280.0),
            (1, _) => (230.0, 280.0),
            _ => (230.0, 165.0),
        };
        let panel = (panel.0.max(titles), panel.1);
        let labels = y.ticks.iter().map(|tick| width(&y.label(*tick), SMALL));
        let left = LEFT.max(EDGE + 22.0 + labels.fold(0.0, f64::max));
        let (wide, high) = (columns as f64, rows as f64);
        let grid = (
            wide * panel.0 + (wide - 1.0) * BETWEEN.0,
            high * panel.1 + (high - 1.0) * BETWEEN.1,
        );
        let wide = (left + grid.0 + EDGE).max(560.0);
        let head = Head::of(&figure.title, &figure.legend(), wide);
        let small_print = small_print(&figure.small_print, wide);
        let below = 50.0 + small_print.len() as f64 * (SMALL + 4.0) + 8.0;
        let top = head.bottom + 30.0;
        Self {
            size: (wide, top + grid.1 + below),
            panel,
            columns,
            rows,
            origin: (left, top),
            head,
            small_print,
        }
    }

    /// The upper left corner of a panel.
    fn corner(&self, number: usize) -> (f64, f64) {
        let (row, column) = (number / self.columns, number % self.columns);
        (
            self.origin.0 + column as f64 * (self.panel.0 + BETWEEN.0),
            self.origin.1 + row as f64 * (self.panel.1 + BETWEEN.1),
        )
    }

    /// The middle of the grid, and its lower edge.
    fn middle(&self) -> (f64, f64, f64) {
        let (right, low) = self.corner(self.columns * self.rows - 1);
        let (right, low) = (right + self.panel.0, low + self.panel.1);
        (
            (self.origin.0 + right) / 2.0,
            (self.origin.1 + low) / 2.0,
            low,
        )
    }
}

/// A panel's corner, size and scales.
struct Frame<'f> {
    corner: (f64, f64),
    size: (f64, f64),
    x: &'f Scale,
    y: &'f Scale,
}

impl Frame<'_> {
    /// The position of a tick, or of a value's coordinate.
    fn x_of(&self, at: f64) -> f64 {
        self.corner.0 + (at - self.x.from) / (self.x.to - self.x.from) * self.size.0
    }

    fn y_of(&self, at: f64) -> f64 {
        self.corner.1 + (self.y.to - at) / (self.y.to - self.y.from) * self.size.1
    }

    fn at(&self, x: f64, y: f64) -> (f64, f64) {
        (self.x_of(self.x.at(x)), self.y_of(self.y.at(y)))
    }
}

/// The figure as an image.
pub fn draw(figure: &Figure) -> String {
    let points = || {
        let series = figure.panels.iter().flat_map(|panel| &panel.series);
        series.flat_map(|it| &it.points)
    };
    let x: Vec<f64> = points().map(|(x, _)| *x).collect();
    let y: Vec<f64> = points().flat_map(|(_, y)| y.all()).collect();
    let (x, y) = (Scale::of(figure.x.unit, &x), Scale::of(figure.y.unit, &y));
    let layout = Layout::of(figure, &y);
    let mut svg = Svg::new(layout.size, &figure.title, &described(figure));
    layout.head.draw(&mut svg);
    let mut written = Written::new(layout.size.0);
    for (number, panel) in figure.panels.iter().enumerate() {
        let frame = Frame {
            corner: layout.corner(number),
            size: layout.panel,
            x: &x,
            y: &y,
        };
        let is_left = number % layout.columns == 0;
        let is_low = number + layout.columns >= figure.panels.len();
        draw_panel(&mut svg, panel, &frame, is_left);
        if is_low {
            written.numbers(&mut svg, &frame);
        }
        svg.end();
    }
    let (center, middle, low) = layout.middle();
    let name = |name: &str, scale: &Scale| match scale.log {
        true => format!("{name} (log)"),
        false => name.to_owned(),
    };
    let below = (center, low + 38.0);
    svg.text(below, NAME, Anchor::Middle, BLACK, &name(figure.x.name, &x));
    svg.upwards((EDGE + 4.0, middle), NAME, BLACK, &name(figure.y.name, &y));
    for (number, line) in layout.small_print.iter().enumerate() {
        let y = low + 62.0 + number as f64 * (SMALL + 4.0);
        svg.text((EDGE, y), SMALL, Anchor::Start, GREY, line);
    }
    svg.finish()
}

/// What a screen reader reads after the title.
fn described(figure: &Figure) -> String {
    let panels: Vec<&str> = figure.panels.iter().map(|it| &it.title[..]).collect();
    let legend = figure.legend();
    let series: Vec<&str> = legend.iter().map(|it| it.0).collect();
    format!(
        "{} by {}; of {}; panels: {}. {}",
        figure.y.name,
        figure.x.name,
        series.join(", "),
        panels.join(", "),
        figure.small_print.join(". ")
    )
}

impl Figure {
    /// Each series' name once, with its look and whether it is a curve.
    fn legend(&self) -> Vec<(&str, Look, bool)> {
        let mut seen: Vec<(&str, Look, bool)> = Vec::new();
        for series in self.panels.iter().flat_map(|panel| &panel.series) {
            if seen.iter().all(|it| it.0 != series.name) {
                seen.push((&series.name, series.look, series.is_curve));
            }
        }
        seen
    }
}

/// Breaks the small print into lines that fit.
pub(crate) fn small_print(lines: &[String], wide: f64) -> Vec<String> {
    let lines = lines.iter();
    lines
        .flat_map(|line| wrapped(line, SMALL, wide - 2.0 * EDGE))
        .collect()
}

/// What stands above the panels: the title, and below it the legend.
pub(crate) struct Head {
    title: Vec<String>,
    /// Name, look, whether it is a curve, and where.
    legend: Vec<(String, Look, bool, (f64, f64))>,
    pub(crate) bottom: f64,
}

impl Head {
    pub(crate) fn of(title: &str, legend: &[(&str, Look, bool)], wide: f64) -> Self {
        let title = wrapped(title, TITLE, wide - 2.0 * EDGE);
        let mut at = (EDGE, 8.0 + LINE * title.len() as f64 + 19.0);
        let mut placed = Vec::new();
        for &(name, look, is_curve) in legend {
            let long = 32.0 + width(name, NAME);
            if at.0 > EDGE && at.0 + long > wide - EDGE {
                at = (EDGE, at.1 + LINE);
            }
            placed.push((name.to_owned(), look, is_curve, at));
            at.0 += long + 22.0;
        }
        let bottom = if legend.is_empty() {
            at.1 - 10.0
        } else {
            at.1 + 9.0
        };
        Self {
            title,
            legend: placed,
            bottom,
        }
    }

    pub(crate) fn draw(&self, svg: &mut Svg) {
        for (number, line) in self.title.iter().enumerate() {
            let y = 28.0 + LINE * number as f64;
            svg.text((EDGE, y), TITLE, Anchor::Start, BLACK, line);
        }
        for (name, look, is_curve, (x, y)) in &self.legend {
            svg.begin("legend", name);
            svg.line(&[(*x, *y), (x + 26.0, *y)], 2.0, look.color);
            if !is_curve {
                mark(svg, (x + 13.0, *y), *look, 1.0);
            }
            svg.text((x + 32.0, y + 4.0), NAME, Anchor::Start, BLACK, name);
            svg.end();
        }
    }
}

/// The end of the last number below a row of panels: the next one may not lie on it.
struct Written {
    row: f64,
    right: f64,
    /// The width of the picture.
    wide: f64,
}

impl Written {
    fn new(wide: f64) -> Self {
        let (row, right) = (f64::NEG_INFINITY, f64::NEG_INFINITY);
        Self { row, right, wide }
    }

    fn numbers(&mut self, svg: &mut Svg, frame: &Frame<'_>) {
        let low = frame.corner.1 + frame.size.1;
        if self.row != low {
            (self.row, self.right) = (low, f64::NEG_INFINITY);
        }
        for &tick in &frame.x.ticks {
            let (x, label) = (frame.x_of(tick), frame.x.label(tick));
            let half = width(&label, SMALL) / 2.0;
            if x - half < self.right + 4.0 || x + half > self.wide {
                continue;
            }
            self.right = x + half;
            svg.text((x, low + 16.0), SMALL, Anchor::Middle, BLACK, &label);
        }
    }
}

/// Begins the panel; what is below it follows.
fn draw_panel(svg: &mut Svg, panel: &Panel, frame: &Frame<'_>, is_left: bool) {
    let ((left, top), (wide, high)) = (frame.corner, frame.size);
    svg.begin("panel", &panel.title);
    svg.text(
        (left + wide / 2.0, top - 7.0),
        NAME,
        Anchor::Middle,
        BLACK,
        &panel.title,
    );
    for &tick in &frame.y.ticks {
        let y = frame.y_of(tick);
        svg.line(&[(left, y), (left + wide, y)], 1.0, LIGHT);
        if is_left {
            let label = frame.y.label(tick);
            svg.text((left - 6.0, y + 4.0), SMALL, Anchor::End, BLACK, &label);
        }
    }
    for &tick in &frame.x.ticks {
        let x = frame.x_of(tick);
        svg.line(&[(x, top), (x, top + high)], 1.0, LIGHT);
    }
    svg.frame(frame.corner, frame.size, GREY);
    for (number, series) in panel.series.iter().enumerate() {
        svg.begin("series", &series.name);
        draw_series(svg, series, frame, panel.series.len() - 1 - number);
        svg.end();
    }
}

/// Draws a series with `below` more to come on top of it. Its marks are so much larger,
/// and show where another falls together with it.
fn draw_series(svg: &mut Svg, series: &Series, frame: &Frame<'_>, below: usize) {
    let below = below as f64;
    let color = series.look.color;
    let points = series.points.iter();
    let line: Vec<(f64, f64)> = points.map(|(x, y)| frame.at(*x, y.median)).collect();
    if line.len() > 1 {
        svg.line(&line, 1.6 + 0.7 * below, color);
    }
    if series.is_curve {
        return;
    }
    for (at, (x, y)) in line.iter().zip(&series.points) {
        if y.least < y.most {
            let (low, high) = (frame.at(*x, y.least), frame.at(*x, y.most));
            svg.line(&[low, high], 1.0, color);
            let half = 3.0 + 2.0 * below;
            for (x, y) in [low, high] {
                svg.line(&[(x - half, y), (x + half, y)], 1.0, color);
            }
        }
        mark(svg, *at, series.look, 1.0 + 0.2 * below);
    }
}

pub(crate) fn mark(svg: &mut Svg, (x, y): (f64, f64), look: Look, scale: f64) {
    let corners: &[(f64, f64)] = match look.shape {
        Shape::Circle => return svg.circle((x, y), 4.0 * scale, look.color, look.fill),
        Shape::Triangle => &[(0.0, -5.0), (4.8, 3.6), (-4.8, 3.6)],
        Shape::Down => &[(0.0, 4.3), (4.8, -4.3), (-4.8, -4.3)],
        Shape::Square => &[(-3.7, -3.7), (3.7, -3.7), (3.7, 3.7), (-3.7, 3.7)],
        Shape::Diamond => &[(0.0, -5.0), (5.0, 0.0), (0.0, 5.0), (-5.0, 0.0)],
    };
    let corners = corners
        .iter()
        .map(|(dx, dy)| (x + dx * scale, y + dy * scale));
    svg.polygon(&corners.collect::<Vec<_>>(), look.color, look.fill);
}
