// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The part of SVG that the figures need. Text is text there, in whatever font the reader's
//! program has for `sans-serif`: no font is needed to write it.

use std::fmt::{Display, Write as _};

/// A picture under way, in pixels from the upper left corner.
///
/// # Examples
///
/// ```
/// use figures::svg::{Anchor, Svg, BLACK, GREY};
///
/// let mut svg = Svg::new((200.0, 100.0), "A title", "What a screen reader reads");
/// svg.begin("series", "twa");
/// svg.line(&[(10.0, 90.0), (190.0, 10.0)], 1.5, GREY);
/// svg.end();
/// svg.text((100.0, 50.0), 12.0, Anchor::Middle, BLACK, "1 < 2");
/// let picture = svg.finish();
/// assert!(picture.contains("<title>A title</title>") && picture.contains("1 &lt; 2"));
/// ```
#[derive(Debug)]
pub struct Svg(String);

/// Which part of a text stands at its place.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Anchor {
    /// Its left end.
    Start,
    /// Its middle.
    Middle,
    /// Its right end.
    End,
}

/// How a mark is filled, for a reader without colour vision.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fill {
    /// With its colour.
    Full,
    /// White within its edge.
    Hollow,
    /// The same, with lines between the corners of a polygon.
    Crossed,
}

/// Red, green, blue.
pub type Color = (u8, u8, u8);

/// The colour of text.
pub const BLACK: Color = (30, 30, 30);
/// The colour of frames and small print.
pub const GREY: Color = (95, 95, 95);
/// The colour of what lies behind.
pub const LIGHT: Color = (222, 222, 222);

/// The width of a text, near enough: of sans-serif letters.
pub fn width(text: &str, size: f64) -> f64 {
    // Whole squares are those of Asia's scripts.
    let of = |it: char| if it < '\u{2e80}' { 0.56 } else { 1.0 };
    text.chars().map(of).sum::<f64>() * size
}

/// Breaks text into lines no longer than that. A longer word is broken where the line ends.
pub fn wrapped(text: &str, size: f64, wide: f64) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match lines.last_mut() {
            Some(line) if width(line, size) + width(word, size) + 0.56 * size <= wide => {
                line.push(' ');
                line.push_str(word);
                continue;
            }
            _ => lines.push(String::new()),
        }
        for letter in word.chars() {
            let mut next = [0; 4];
            let letter: &str = letter.encode_utf8(&mut next);
            match lines.last_mut() {
                Some(line)
                    if line.is_empty() || width(line, size) + width(letter, size) <= wide =>
                {
                    line.push_str(letter);
                }
                _ => lines.push(letter.to_owned()),
            }
        }
    }
    lines
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
    /// Begins on white: it can be read before a dark page, too. The description is for screen
    /// readers, and the title for all.
    pub fn new((width, height): (f64, f64), title: &str, description: &str) -> Self {
        let (width, height) = (pixel(width), pixel(height));
        Self(format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" viewBox=\"0 0 {width} {height}\" font-family=\"sans-serif\" role=\"img\">\n\
             <title>{}</title>\n\
             <desc>{}</desc>\n\
             <rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n",
            escaped(title),
            escaped(description)
        ))
    }

    /// A string takes everything.
    fn add(&mut self, element: std::fmt::Arguments<'_>) {
        let _ = writeln!(self.0, "{element}");
    }

    /// Its bytes.
    pub fn finish(mut self) -> String {
        self.0.push_str("</svg>\n");
        self.0
    }

    /// A line of text; `at` is on its baseline.
    pub fn text(&mut self, at: (f64, f64), size: f64, anchor: Anchor, color: Color, text: &str) {
        let (x, y) = (pixel(at.0), pixel(at.1));
        let (anchor, color, text) = (anchor.name(), hex(color), escaped(text));
        self.add(format_args!(
            "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" text-anchor=\"{anchor}\" fill=\"{color}\">{text}</text>"
        ));
    }

    /// Writes text from bottom to top, around its middle.
    pub fn upwards(&mut self, at: (f64, f64), size: f64, color: Color, text: &str) {
        let (x, y, color, text) = (pixel(at.0), pixel(at.1), hex(color), escaped(text));
        self.add(format_args!(
            "<text transform=\"translate({x},{y}) rotate(-90)\" font-size=\"{size}\" text-anchor=\"middle\" fill=\"{color}\">{text}</text>"
        ));
    }

    /// Everything until `end` belongs together, and says what it is when it is pointed at.
    pub fn begin(&mut self, class: &str, name: &str) {
        let (class, name) = (escaped(class), escaped(name));
        self.add(format_args!(
            "<g class=\"{class}\" data-name=\"{name}\"><title>{name}</title>"
        ));
    }

    /// What was begun last is over.
    pub fn end(&mut self) {
        self.add(format_args!("</g>"));
    }

    /// The edge of a rectangle.
    pub fn frame(&mut self, (x, y): (f64, f64), (width, height): (f64, f64), color: Color) {
        let (x, y, width, height) = (pixel(x), pixel(y), pixel(width), pixel(height));
        let color = hex(color);
        self.add(format_args!(
            "<rect x=\"{x}\" y=\"{y}\" width=\"{width}\" height=\"{height}\" fill=\"none\" stroke=\"{color}\"/>"
        ));
    }

    /// Draws a line from point to point.
    pub fn line(&mut self, points: &[(f64, f64)], thick: f64, color: Color) {
        let mut path = String::new();
        for &(x, y) in points {
            let _ = write!(path, "{},{} ", pixel(x), pixel(y));
        }
        let (path, color) = (path.trim_end(), hex(color));
        self.add(format_args!(
            "<polyline points=\"{path}\" fill=\"none\" stroke=\"{color}\" stroke-width=\"{thick:.1}\" stroke-linejoin=\"round\"/>"
        ));
    }

    /// A disc, which is a mark.
    pub fn circle(&mut self, at: (f64, f64), radius: f64, color: Color, fill: Fill) {
        let (x, y, paint) = (pixel(at.0), pixel(at.1), fill.paint(color));
        self.add(format_args!(
            "<circle class=\"mark\" cx=\"{x}\" cy=\"{y}\" r=\"{radius:.2}\" {paint}/>"
        ));
    }

    /// A polygon, which is a mark.
    pub fn polygon(&mut self, corners: &[(f64, f64)], color: Color, fill: Fill) {
        let mut path = String::new();
        for &(x, y) in corners {
            let _ = write!(path, "{},{} ", pixel(x), pixel(y));
        }
        let (path, paint) = (path.trim_end(), fill.paint(color));
        self.add(format_args!(
            "<polygon class=\"mark\" points=\"{path}\" {paint}/>"
        ));
        if fill == Fill::Crossed {
            for (from, to) in corners.iter().zip(corners.iter().skip(2)) {
                self.line(&[*from, *to], 1.0, color);
            }
        }
    }
}

impl Fill {
    /// The attributes of a shape that is so filled.
    fn paint(self, color: Color) -> String {
        let color = hex(color);
        match self {
            Self::Full => format!("fill=\"{color}\""),
            Self::Hollow | Self::Crossed => {
                format!("fill=\"#ffffff\" stroke=\"{color}\" stroke-width=\"1.5\"")
            }
        }
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
