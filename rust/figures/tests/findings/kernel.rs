// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! The kernel's locks.

use super::*;

#[test]
fn contended() {
    let rows = table("contended.csv");
    let rate = |row: &Row| f(row, "acquisitions") / f(row, "seconds");
    let mut ratios: BTreeMap<(String, String, String), Vec<f64>> = BTreeMap::new();
    for row in &rows {
        let base = rows.iter().find(|it| {
            it["lock"] == "raw_spin_lock"
                && ["kernel", "boot", "writers", "run"]
                    .iter()
                    .all(|name| it[*name] == row[*name])
        });
        let key = (
            row["lock"].clone(),
            row["kernel"].clone(),
            row["writers"].clone(),
        );
        ratios
            .entry(key)
            .or_default()
            .push(rate(row) / rate(base.unwrap()));
    }
    let of = |lock: &str| {
        let these = ratios.iter().filter(|it| it.0 .0 == lock);
        range(&these.map(|it| median(it.1.clone())).collect::<Vec<_>>())
    };
    let want = format!(
        "1 to 4 writers: one-word TWA {}, TWA {}, ticket {} of the kernel's spinlock's rate",
        of("one_word_twa"),
        of("twa"),
        of("ticket")
    );
    title("kernel-writers.svg", &want);
    let svg = svg("kernel-writers.svg");
    let document = Document::parse(&svg).unwrap();
    let series = common::groups(document.root_element(), "series");
    // Each lock but the base, on both kernels.
    let mut drawn: Vec<&str> = series.iter().map(|it| &it.0[..]).collect();
    drawn.sort_unstable();
    let locks: BTreeSet<&str> = rows.iter().map(|it| &it["lock"][..]).collect();
    let others = locks.iter().filter(|it| **it != "raw_spin_lock");
    let twice: Vec<&str> = others.flat_map(|it| [*it, *it]).collect();
    assert_eq!(drawn, twice);
    for (_, node) in series {
        let marks = node
            .children()
            .filter(|it| it.attribute("class") == Some("mark"));
        assert_eq!(marks.count(), 3);
    }
}

#[test]
fn uncontended() {
    // By kernel, layout and lock, then by boot and run: from the raw data.
    let mut ns: BTreeMap<[String; 3], BTreeMap<[String; 2], f64>> = BTreeMap::new();
    let raw = table("uncontended-raw.csv");
    for row in &raw {
        let [kernel, layout, lock, boot, run] =
            ["kernel", "layout", "lock", "boot", "run"].map(|it| row[it].clone());
        let mine = ns.entry([kernel, layout, lock]).or_default();
        mine.insert([boot, run], f(row, "ns") / f(row, "pairs"));
    }
    let ratio = |[kernel, layout, lock]: [&str; 3]| {
        let of = |lock: &str| &ns[&[kernel, layout, lock].map(str::to_owned)];
        let (mine, base) = (of(lock), of("raw_spin_lock"));
        let mut boots: BTreeMap<&str, Vec<f64>> = BTreeMap::new();
        for (run, ns) in mine {
            let boot = boots.entry(&run[0]).or_default();
            boot.push(ns / base[run]);
        }
        median(boots.into_values().map(median).collect())
    };
    // The table has six decimals, the title two.
    let of = |lock: &str| {
        let each = ["stock", "test"].map(|it| ratio([it, "far", lock]));
        range(&each.map(|it| (it * 1e6).round() / 1e6))
    };
    let want = format!(
        "Uncontended, layout far: one-word TWA {}, TWA {}, ticket {} of raw_spin_lock's time",
        of("one_word_twa"),
        of("twa"),
        of("ticket")
    );
    title("kernel-uncontended.svg", &want);
    // Both layouts of each kernel, the neutral one first, and each lock in the table's order.
    let svg = svg("kernel-uncontended.svg");
    let document = Document::parse(&svg).unwrap();
    let panels = common::groups(document.root_element(), "panel");
    let titles: Vec<&str> = panels.iter().map(|it| &it.0[..]).collect();
    let places = [
        ("stock", "far"),
        ("stock", "near"),
        ("test", "far"),
        ("test", "near"),
    ];
    let want = places.map(|(kernel, layout)| format!("{kernel} kernel, layout {layout}"));
    assert_eq!(titles, want);
    let rows = table("uncontended.csv");
    for ((kernel, layout), (_, panel)) in places.into_iter().zip(panels) {
        let here = rows
            .iter()
            .filter(|it| it["kernel"] == kernel && it["layout"] == layout);
        let bars = common::groups(panel, "series");
        assert_eq!(bars.len(), here.clone().count());
        for (row, (name, bar)) in here.zip(bars) {
            assert_eq!(name, row["lock"]);
            let said = ratio([kernel, layout, &name]);
            assert!((f(row, "to_raw_spin_lock") - said).abs() < 6e-7, "{row:?}");
            let note = format!(
                "{:.2} ({:.1} ns, {})",
                f(row, "to_raw_spin_lock"),
                f(row, "ns"),
                row["shape"]
            );
            let texts = bar.children().filter(|it| it.has_tag_name("text"));
            let texts: Vec<_> = texts.filter_map(|it| it.text()).collect();
            assert_eq!(texts, [&name[..], &note[..]]);
        }
    }
}

/// Without its colour a mark still says whose lock it is, and which of ours.
#[test]
fn locks_are_told_apart_without_colour() {
    let svg = svg("kernel-writers.svg");
    let document = Document::parse(&svg).unwrap();
    let mut looks: BTreeMap<String, String> = BTreeMap::new();
    for (name, node) in common::groups(document.root_element(), "legend") {
        let mark = node
            .children()
            .find(|it| it.attribute("class") == Some("mark"));
        let mark = mark.unwrap();
        let corners = mark.attribute("points").map(|it| {
            let points = it.split(' ').map(|it| it.split_once(',').unwrap());
            let points = points.map(|(x, y)| (x.parse().unwrap(), y.parse().unwrap()));
            let points: Vec<(f64, f64)> = points.collect();
            // Where a corner lies from the first.
            let of =
                |at: &(f64, f64)| format!("{:.1} {:.1}", at.0 - points[0].0, at.1 - points[0].1);
            points.iter().map(of).collect::<Vec<_>>()
        });
        let is_hollow = mark.attribute("stroke").is_some();
        // One line of the series, and those of a cross.
        let lines = node.children().filter(|it| it.has_tag_name("polyline"));
        let look = format!("{corners:?} {is_hollow} {}", lines.count());
        let is_ours = ["twa", "ticket", "one_word_twa", "mcs", "clh"].contains(&&name[..]);
        assert_eq!(is_ours, !is_hollow, "{name}");
        assert_eq!(name == "ttas", look.ends_with('3'), "{name}: {look}");
        if let Some(other) = looks.insert(look, name.clone()) {
            panic!("{name} looks as {other}");
        }
    }
    // Each lock but the base, whose line is 1.
    let locks: BTreeSet<String> = table("contended.csv")
        .into_iter()
        .map(|it| it["lock"].clone())
        .filter(|it| it != "raw_spin_lock")
        .collect();
    assert_eq!(looks.into_values().collect::<BTreeSet<_>>(), locks);
}

/// Ratios of mean times by kernel, boot and run, each to its own base; and what stands beside a bar.
#[test]
fn latency() {
    let rows = table("latency.csv");
    let same = |a: &Row, b: &Row| {
        let run = ["kernel", "boot", "writers", "run", "what"];
        run.iter().all(|name| a[*name] == b[*name])
    };
    let mut ratios: BTreeMap<[String; 4], Vec<f64>> = BTreeMap::new();
    for row in &rows {
        let base = rows
            .iter()
            .find(|it| it["lock"] == "raw_spin_lock" && same(it, row));
        let key = ["what", "kernel", "writers", "lock"].map(|it| row[it].clone());
        let ratio = half(row) / half(base.unwrap());
        ratios.entry(key).or_default().push(ratio);
    }
    let ours = ["one_word_twa", "twa", "ticket"];
    let single: Vec<f64> = ratios
        .iter()
        .filter(|it| it.0[0] == "handover" && ours.contains(&&it.0[3][..]))
        .flat_map(|it| it.1.clone())
        .collect();
    let of = |lock: &str| {
        let these = ratios
            .iter()
            .filter(|it| it.0[0] == "handover" && it.0[3] == lock);
        range(&these.map(|it| median(it.1.clone())).collect::<Vec<_>>())
    };
    let want = format!(
        "The median hand-over, to the kernel's spinlock's: one-word TWA {}, TWA {}, ticket {}; single boots {}",
        of("one_word_twa"),
        of("twa"),
        of("ticket"),
        range(&single)
    );
    title("kernel-latency.svg", &want);
    let svg = svg("kernel-latency.svg");
    let document = Document::parse(&svg).unwrap();
    let panels = common::groups(document.root_element(), "panel");
    let kernels: BTreeSet<&str> = rows.iter().map(|it| &it["kernel"][..]).collect();
    let mut drawn = 0;
    for (title, panel) in &panels {
        let (kernel, rest) = title.split_once(" kernel, ").unwrap();
        let (writers, what) = rest.split_once(" writers: ").unwrap();
        let what = what.replace('-', "");
        assert!(kernels.contains(kernel), "{title}");
        for (lock, bar) in common::groups(*panel, "series") {
            drawn += 1;
            let key = [&what, kernel, writers, &lock].map(str::to_owned);
            let these: Vec<&Row> = rows
                .iter()
                .filter(|it| {
                    ["what", "kernel", "writers", "lock"].map(|name| it[name].clone()) == key
                })
                .collect();
            let longest = these
                .iter()
                .map(|it| f(it, "longest_ns"))
                .fold(0.0, f64::max);
            let note = format!(
                "{:.2} ({}; p99 {}, longest {})",
                median(ratios[&key].clone()),
                time(median(these.iter().map(|it| half(it)).collect())),
                time(median(these.iter().map(|it| f(it, "p99_ns")).collect())),
                time(longest),
            );
            let texts = bar.children().filter(|it| it.has_tag_name("text"));
            let texts: Vec<_> = texts.filter_map(|it| it.text()).collect();
            assert_eq!(texts, [&lock[..], &note[..]]);
        }
    }
    assert_eq!(drawn, ratios.len());
    assert!(panels[0].0.ends_with("hand-over"));
}

/// A time with its unit, in two digits, or three where it begins with a one.
fn time(ns: f64) -> String {
    let units = ["ns", "\u{b5}s", "ms", "s"];
    let power = (0..3).rev().find(|it| ns >= 0.9995 * 1000_f64.powi(it + 1));
    let power = power.map_or(0, |it| it + 1);
    format!(
        "{} {}",
        digits(ns / 1000_f64.powi(power)),
        units[power as usize]
    )
}

/// The time that half of a row's times are within, if a bucket's times lie evenly in it.
fn half(row: &Row) -> f64 {
    let mut left = f(row, "count") / 2.0;
    for word in row["histogram"].split('+') {
        let (bits, count) = word.split_once('=').unwrap();
        let (bits, count): (u32, f64) = (bits.parse().unwrap(), count.parse().unwrap());
        if left <= count {
            let greatest = (1u64 << bits) as f64;
            let least = if bits == 0 { 0.0 } else { greatest / 2.0 };
            let share = left / count;
            return (least * (1.0 - share) + greatest * share) * 1e6 / f(row, "tsc_khz");
        }
        left -= count;
    }
    panic!("{row:?}");
}
