//! As much of SVG as the figures need. Text is text there, in whatever font the reader's
//! program has for `sans-serif`: no font is needed to write it.

use std::fmt::{Display, Write as _};

/// A picture under way, in pixels from the upper left corner.
pub(super) struct Svg(String);

#[derive(Clone, Copy)]
pub(super) enum Anchor {
    Start,
    Middle,
    End,
}

/// Red, green, blue.
pub(super) type Color = (u8, u8, u8);

pub(super) const BLACK: Color = (30, 30, 30);
pub(super) const GREY: Color = (95, 95, 95);
pub(super) const LIGHT: Color = (222, 222, 222);

/// The width of a text, near enough: of sans-serif letters.
pub(super) fn width(text: &str, size: f64) -> f64 {
    text.chars().count() as f64 * size * 0.56
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for it in text.chars() {
        match it {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            // XML has no way to write most of the others.
            it if it.is_control() || matches!(it, '\u{fffe}' | '\u{ffff}') => out.push(' '),
            it => out.push(it),
        }
    }
    out
}

fn hex((red, green, blue): Color) -> String {
    format!("#{red:02x}{green:02x}{blue:02x}")
}

/// Half pixels and less are seen on good screens; hundredths are not.
fn pixel(at: f64) -> impl Display {
    let text = format!("{at:.2}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

impl Svg {
    /// On white: it can be read before a dark page, too.
    pub(super) fn new(width: f64, height: f64, title: &str) -> Self {
        let (width, height) = (pixel(width), pixel(height));
        Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\">\n\
             <title>{}</title>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
            escaped(title)
        ))
    }

    /// A string takes everything.
    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.0, "{element}");
    }

    pub(super) fn finish(mut self) -> String {
        self.0.push_str("</svg>\n");
        self.0
    }

    pub(super) fn text(
        &mut self,
        at: (f64, f64),
        size: f64,
        anchor: Anchor,
        color: Color,
        text: &str,
    ) {
        let (x, y) = (pixel(at.0), pixel(at.1));
        let (anchor, color, text) = (anchor.name(), hex(color), escaped(text));
        self.add(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" text-anchor=\"{anchor}\" fill=\"{color}\">{text}</text>"
        ));
    }

    /// From bottom to top, around its middle.
    pub(super) fn upwards(&mut self, at: (f64, f64), size: f64, color: Color, text: &str) {
        let (x, y, color, text) = (pixel(at.0), pixel(at.1), hex(color), escaped(text));
        self.add(format_args!(
            "<text transform=\"translate({x},{y}) rotate(-90)\" font-size=\"{size}\" text-anchor=\"middle\" fill=\"{color}\">{text}</text>"
        ));
    }

    /// Everything until `end` belongs together, and says what it is when it is pointed at.
    pub(super) fn begin(&mut self, class: &str, name: &str) {
        let (class, name) = (escaped(class), escaped(name));
        self.add(format_args!(
            "<g class=\"{class}\" data-name=\"{name}\"><title>{name}</title>"
        ));
    }

    pub(super) fn end(&mut self) {
        self.add(format_args!("</g>"));
    }

    pub(super) fn frame(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), color: Color) {
        let (x, y, width, height) = (pixel(x), pixel(y), pixel(width), pixel(height));
        let color = hex(color);
        self.add(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"{color}\"/>"
        ));
    }

    pub(super) fn line(&mut self, points: &[(f64, f64)], thick: f64, color: Color) {
        let mut path = String::new();
        for &(x, y) in points {
            let _ = write!(path, "{},{} ", pixel(x), pixel(y));
        }
        let (path, color) = (path.trim_end(), hex(color));
        self.add(format_args!(
            "<polyline points=\"{path}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{thick:.1}\" stroke-linejoin=\"round\"/>"
        ));
    }

    pub(super) fn circle(&mut self, at: (f64, f64), radius: f64, color: Color) {
        let (x, y, color) = (pixel(at.0), pixel(at.1), hex(color));
        self.add(format_args!(
            "<circle class=\"mark\" cx=\"{x}\" cy=\"{y}\" r=\"{radius:.2}\" fill=\"{color}\"/>"
        ));
    }

    pub(super) fn polygon(&mut self, corners: &[(f64, f64)], color: Color) {
        let mut path = String::new();
        for &(x, y) in corners {
            let _ = write!(path, "{},{} ", pixel(x), pixel(y));
        }
        let (path, color) = (path.trim_end(), hex(color));
        self.add(format_args!(
            "<polygon class=\"mark\" points=\"{path}\" fill=\"{color}\"/>"
        ));
    }
}

impl Anchor {
    fn name(self) -> &'static str {
        match self {
            Self::Start => "start",
            Self::Middle => "middle",
            Self::End => "end",
        }
    }
}
