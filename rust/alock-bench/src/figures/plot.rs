//! Where a figure's parts go: panels in a grid, that share their axes; numbers at the left
//! and below alone.

use super::axis::Scale;
use super::svg::{width, Anchor, Svg, BLACK, GREY, LIGHT};
use super::{Figure, Look, Panel, Series, Shape};

const TITLE: f64 = 16.0;
const NAME: f64 = 13.0;
const SMALL: f64 = 11.0;
/// Between the picture's edge and everything.
const EDGE: f64 = 16.0;
/// Left of the panels: the axis' name and its numbers.
const LEFT: f64 = 68.0;
/// Between panels: a title, or nothing.
const BETWEEN: (f64, f64) = (18.0, 30.0);

struct Layout {
    /// Of the picture.
    size: (f64, f64),
    /// Of a panel.
    panel: (f64, f64),
    columns: usize,
    rows: usize,
    /// The upper left corner of the first panel.
    origin: (f64, f64),
    small_print: Vec<String>,
}

impl Layout {
    fn of(figure: &Figure) -> Self {
        let columns = figure.columns.min(figure.panels.len()).max(1);
        let rows = figure.panels.len().div_ceil(columns);
        // The axis' name has to fit beside one row.
        let panel = match (rows, columns) {
            (1, 1) => (460.0, 280.0),
            (1, _) => (230.0, 280.0),
            _ => (230.0, 165.0),
        };
        let (wide, high) = (columns as f64, rows as f64);
        let grid = (
            wide * panel.0 + (wide - 1.0) * BETWEEN.0,
            high * panel.1 + (high - 1.0) * BETWEEN.1,
        );
        let wide = (LEFT + grid.0 + EDGE)
            .max(width(&figure.title, TITLE) + 2.0 * EDGE)
            .max(560.0);
        let small_print: Vec<String> = figure
            .small_print
            .iter()
            .flat_map(|line| wrapped(line, wide - 2.0 * EDGE))
            .collect();
        let top = 86.0;
        let below = 50.0 + small_print.len() as f64 * (SMALL + 4.0) + 8.0;
        Self {
            size: (wide, top + grid.1 + below),
            panel,
            columns,
            rows,
            origin: (LEFT, top),
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
    /// Where a tick, or a value's coordinate, is.
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
pub(crate) fn draw(figure: &Figure) -> String {
    let layout = Layout::of(figure);
    let points = || {
        let series = figure.panels.iter().flat_map(|panel| &panel.series);
        series.flat_map(|it| &it.points)
    };
    let x: Vec<f64> = points().map(|(x, _)| *x).collect();
    let y: Vec<f64> = points()
        .flat_map(|(_, y)| [y.least, y.median, y.most])
        .collect();
    let (x, y) = (Scale::of(figure.x.unit, &x), Scale::of(figure.y.unit, &y));
    let mut svg = Svg::new(layout.size.0, layout.size.1, &figure.title);
    svg.text((EDGE, 28.0), TITLE, Anchor::Start, BLACK, &figure.title);
    legend(&mut svg, figure);
    for (number, panel) in figure.panels.iter().enumerate() {
        let frame = Frame {
            corner: layout.corner(number),
            size: layout.panel,
            x: &x,
            y: &y,
        };
        let is_left = number % layout.columns == 0;
        let is_low = number + layout.columns >= figure.panels.len();
        draw_panel(&mut svg, panel, &frame, is_left, is_low);
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

/// Each series' name once, with its look, below the title.
fn legend(svg: &mut Svg, figure: &Figure) {
    let mut seen: Vec<&str> = Vec::new();
    let mut x = EDGE;
    for series in figure.panels.iter().flat_map(|panel| &panel.series) {
        if seen.contains(&series.name.as_str()) {
            continue;
        }
        seen.push(&series.name);
        svg.begin("legend", &series.name);
        svg.line(&[(x, 47.0), (x + 26.0, 47.0)], 2.0, series.look.color);
        if !series.is_curve {
            mark(svg, (x + 13.0, 47.0), series.look, 1.0);
        }
        svg.text((x + 32.0, 51.0), NAME, Anchor::Start, BLACK, &series.name);
        svg.end();
        x += 32.0 + width(&series.name, NAME) + 22.0;
    }
}

fn draw_panel(svg: &mut Svg, panel: &Panel, frame: &Frame<'_>, is_left: bool, is_low: bool) {
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
        if is_low {
            let label = frame.x.label(tick);
            svg.text((x, top + high + 16.0), SMALL, Anchor::Middle, BLACK, &label);
        }
    }
    svg.frame(frame.corner, frame.size, GREY);
    for (number, series) in panel.series.iter().enumerate() {
        svg.begin("series", &series.name);
        draw_series(svg, series, frame, panel.series.len() - 1 - number);
        svg.end();
    }
    svg.end();
}

/// With so many more series to come on top of it: it is so much larger, and shows where
/// one falls together with it.
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

fn mark(svg: &mut Svg, (x, y): (f64, f64), look: Look, scale: f64) {
    let corners: &[(f64, f64)] = match look.shape {
        Shape::Circle => return svg.circle((x, y), 4.0 * scale, look.color),
        Shape::Triangle => &[(0.0, -5.0), (4.8, 3.6), (-4.8, 3.6)],
        Shape::Square => &[(-3.7, -3.7), (3.7, -3.7), (3.7, 3.7), (-3.7, 3.7)],
        Shape::Diamond => &[(0.0, -5.0), (5.0, 0.0), (0.0, 5.0), (-5.0, 0.0)],
    };
    let corners = corners
        .iter()
        .map(|(dx, dy)| (x + dx * scale, y + dy * scale));
    svg.polygon(&corners.collect::<Vec<_>>(), look.color);
}

/// In lines no longer than that.
fn wrapped(text: &str, wide: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, SMALL) + width(word, SMALL) + 4.0 <= wide => {
                line.push(' ');
                line.push_str(word);
            }
            _ => lines.push(word.to_owned()),
        }
    }
    lines
}
