// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Whatever the data: each point is in the picture, within its panel, and no text lies on
//! another.

mod common;

use figures::bars::{self, Bars};
use figures::figure::{Axis, Figure, Look, Panel, Series, Unit, KERNELS, LOCKS, UNORDERED};
use figures::{plot, Spread};
use proptest::prelude::*;
use roxmltree::{Document, Node};

/// What XML has, and what it has not.
fn name() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("a<b & \"c\" 'd' ]]> \u{1}\u{fffe}".to_owned()),
        "[a-z_<>&\"]{1,14}",
        Just("\u{65e5}\u{672c} \u{1f512}".to_owned()),
    ]
}

/// A figure's values are of one kind: what is extreme in one would hide the rest.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Extreme,
    Around1,
    Near,
    Large,
}

fn kind() -> impl Strategy<Value = Kind> {
    prop_oneof![
        Just(Kind::Extreme),
        Just(Kind::Around1),
        Just(Kind::Near),
        Just(Kind::Large),
    ]
}

fn value(unit: Unit, kind: Kind) -> BoxedStrategy<f64> {
    match (unit, kind) {
        (Unit::Share, _) => (0.0..=1.0).boxed(),
        (Unit::Count, Kind::Near) => (1..9_u32).prop_map(f64::from).boxed(),
        (Unit::Count, _) => (0..100_000_u32).prop_map(f64::from).boxed(),
        (_, Kind::Around1) => (0.0..2.0).boxed(),
        (_, Kind::Near) => (0.999..1.001).boxed(),
        (_, Kind::Large) => (1e3..1e9).boxed(),
        (_, Kind::Extreme) => prop_oneof![
            Just(0.0),
            Just(f64::MAX),
            Just(f64::MIN_POSITIVE),
            (-300.0..300.0_f64).prop_map(|it| 10.0_f64.powf(it)),
        ]
        .boxed(),
    }
}

fn spread(unit: Unit, kind: Kind) -> impl Strategy<Value = Spread> {
    prop::array::uniform3(value(unit, kind)).prop_map(|it| Spread::of(it.into_iter()).unwrap())
}

fn unit() -> impl Strategy<Value = Unit> {
    prop_oneof![
        Just(Unit::Rate),
        Just(Unit::Number),
        Just(Unit::Time),
        Just(Unit::Share),
        Just(Unit::Ratio),
    ]
}

fn look() -> impl Strategy<Value = Look> {
    prop::sample::select([&LOCKS[..], &KERNELS[..], &[UNORDERED]].concat())
}

fn figure() -> impl Strategy<Value = Figure> {
    let x = prop_oneof![Just(Unit::Count), Just(Unit::Time)];
    (x, unit(), kind()).prop_flat_map(|(x, y, kind)| {
        let points = prop::collection::vec((value(x, kind), spread(y, kind)), 0..9);
        let series = (name(), look(), any::<bool>(), points);
        let series = prop::collection::vec(series, 0..4);
        let panels = prop::collection::vec((name(), series), 0..6);
        let print = prop::collection::vec(name(), 0..3);
        (panels, 1..4_usize, "[A-Z][a-z<& ]{0,120}", print).prop_map(
            move |(panels, columns, title, small_print)| Figure {
                file: "f.svg".into(),
                title,
                x: Axis { name: "x", unit: x },
                y: Axis { name: "y", unit: y },
                columns,
                panels: panels.into_iter().map(panel).collect(),
                small_print,
            },
        )
    })
}

type Drawn = Vec<(String, Look, bool, Vec<(f64, Spread)>)>;

fn panel((title, series): (String, Drawn)) -> Panel {
    let series = series
        .into_iter()
        .map(|(name, look, is_curve, points)| Series {
            name,
            look,
            is_curve,
            points,
        });
    Panel {
        title,
        series: series.collect(),
    }
}

/// Numbers below an axis that have no room are left out: beside the one before, and beyond the picture.
#[test]
fn numbers_without_room_are_left_out() {
    let row = |value| bars::Row {
        name: "r".into(),
        value: Spread::one(value),
        note: String::new(),
        look: LOCKS[0],
    };
    // Between two whole decades alone an axis has ticks at 1, 2 and 5, of which 200000 s is near 100000 s.
    common::check(&bars::draw(&Bars {
        file: "b.svg".into(),
        title: "T".into(),
        axis: Axis {
            name: "x",
            unit: Unit::Time,
        },
        groups: vec![bars::Group {
            title: "g".into(),
            rows: [1.3e13, 6.5e15].map(row).into(),
        }],
        legend: Vec::new(),
        small_print: Vec::new(),
    }));
    // From 200000 s to 500000 s, whose middle is the picture's edge.
    let points = vec![(3e14, Spread::one(1.0))];
    let panels = ["p", "q"].map(|name| {
        panel((
            name.into(),
            vec![("s".into(), LOCKS[1], false, points.clone())],
        ))
    });
    common::check(&plot::draw(&Figure {
        file: "f.svg".into(),
        title: "T".into(),
        x: Axis {
            name: "x",
            unit: Unit::Time,
        },
        y: Axis {
            name: "y",
            unit: Unit::Number,
        },
        columns: 2,
        panels: panels.into(),
        small_print: Vec::new(),
    }));
}

/// The text of an attribute: what XML cannot write is a space.
fn said(name: &str) -> String {
    let of = |it: char| {
        if it.is_control() || it == '\u{fffe}' {
            ' '
        } else {
            it
        }
    };
    name.chars().map(of).collect()
}

fn corners(node: Node<'_, '_>) -> Vec<(f64, f64)> {
    let points = node.attribute("points").unwrap();
    let point = |it: &str| {
        let (x, y) = it.split_once(',').unwrap();
        (x.parse().unwrap(), y.parse().unwrap())
    };
    points.split(' ').map(point).collect()
}

fn mark(node: Node<'_, '_>) -> (f64, f64) {
    if node.has_tag_name("circle") {
        return (common::number(node, "cx"), common::number(node, "cy"));
    }
    let all = corners(node);
    let middle = |of: fn(&(f64, f64)) -> f64| {
        let (least, most) = all
            .iter()
            .map(of)
            .fold((f64::MAX, f64::MIN), |it, at| (it.0.min(at), it.1.max(at)));
        (least + most) / 2.0
    };
    (middle(|it| it.0), middle(|it| it.1))
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn every_point_is_in_its_panel(figure in figure()) {
        let svg = plot::draw(&figure);
        prop_assert_eq!(&svg, &plot::draw(&figure));
        common::check(&svg);
        let document = Document::parse(&svg).unwrap();
        let panels = common::groups(document.root_element(), "panel");
        prop_assert_eq!(panels.len(), figure.panels.len());
        for ((title, node), panel) in panels.iter().zip(&figure.panels) {
            prop_assert_eq!(title, &said(&panel.title));
            let frame = node.children().find(|it| it.has_tag_name("rect")).unwrap();
            let of = |name| common::number(frame, name);
            let (x, y) = (of("x"), of("y"));
            let (xx, yy) = (x + of("width") + 0.02, y + of("height") + 0.02);
            let within = |(a, b): (f64, f64)| a >= x - 0.02 && a <= xx && b >= y - 0.02 && b <= yy;
            let series = common::groups(*node, "series");
            prop_assert_eq!(series.len(), panel.series.len());
            for ((name, node), series) in series.iter().zip(&panel.series) {
                prop_assert_eq!(name, &said(&series.name));
                let is_mark = |it: &Node<'_, '_>| it.attribute("class") == Some("mark");
                let marks: Vec<_> = node.children().filter(is_mark).map(mark).collect();
                let line = node.children().find(|it| it.has_tag_name("polyline"));
                let want = if series.is_curve { 0 } else { series.points.len() };
                prop_assert_eq!(marks.len(), want);
                if series.points.len() > 1 {
                    let line = corners(line.unwrap());
                    prop_assert_eq!(line.len(), series.points.len());
                    prop_assert!(line.iter().copied().all(within), "{:?}", line);
                }
                prop_assert!(marks.iter().copied().all(within), "{:?}", marks);
            }
        }
    }

    /// More is higher, and further to the right.
    #[test]
    fn more_is_higher(unit in unit(), a in 1.0..1e6_f64, b in 1.0..1e6_f64) {
        let (a, b) = if unit == Unit::Share { (a / 1e6, b / 1e6) } else { (a, b) };
        prop_assume!((a - b).abs() > 0.02 * a.max(b));
        let drawn = Figure {
            file: "f.svg".into(),
            title: "T".into(),
            x: Axis { name: "x", unit: Unit::Count },
            y: Axis { name: "y", unit },
            columns: 1,
            panels: vec![panel(("p".into(), vec![
                ("s".into(), LOCKS[1], false, vec![(1.0, Spread::one(a)), (2.0, Spread::one(b))]),
            ]))],
            small_print: Vec::new(),
        };
        let svg = plot::draw(&drawn);
        let document = Document::parse(&svg).unwrap();
        let (_, series) = common::groups(document.root_element(), "series").remove(0);
        let marks = series.children().filter(|it| it.attribute("class") == Some("mark"));
        let marks: Vec<_> = marks.map(mark).collect();
        prop_assert!(marks[0].0 < marks[1].0);
        prop_assert_eq!(marks[0].1 > marks[1].1, a < b);
    }

    #[test]
    fn every_row_has_its_bar(
        is_time in any::<bool>(),
        rows in kind().prop_flat_map(|kind| {
            prop::collection::vec((name(), spread(Unit::Number, kind), name(), look()), 0..12)
        }),
        title in name(),
    ) {
        let unit = if is_time { Unit::Time } else { Unit::Number };
        let row = |(name, value, note, look): &(String, Spread, String, Look)| bars::Row {
            name: name.clone(),
            value: *value,
            note: note.clone(),
            look: *look,
        };
        let figure = Bars {
            file: "b.svg".into(),
            title: format!("T{title}"),
            axis: Axis { name: "x", unit },
            groups: vec![bars::Group { title, rows: rows.iter().map(row).collect() }],
            legend: vec![("l".into(), LOCKS[0])],
            small_print: Vec::new(),
        };
        let svg = bars::draw(&figure);
        common::check(&svg);
        let document = Document::parse(&svg).unwrap();
        let drawn = common::groups(document.root_element(), "series");
        prop_assert_eq!(drawn.len(), rows.len());
        let mut ends: Vec<(f64, f64)> = Vec::new();
        for ((name, node), row) in drawn.iter().zip(&rows) {
            prop_assert_eq!(name, &said(&row.0));
            let bar = node.children().find(|it| it.attribute("class") == Some("mark")).unwrap();
            let end = match is_time {
                true => mark(bar).0,
                false => corners(bar).iter().map(|it| it.0).fold(f64::MIN, f64::max),
            };
            ends.push((row.1.median, end));
        }
        // More is longer. Of marks, the corners are rounded to hundredths.
        ends.sort_by(|a, b| a.0.total_cmp(&b.0));
        prop_assert!(ends.windows(2).all(|it| it[0].1 <= it[1].1 + 0.011), "{:?}", ends);
    }
}
