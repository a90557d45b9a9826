// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! Bad input gets one line that names the file, the line and what is allowed.

use std::fs;
use std::process::Command;

use figures::list;

/// The list's and the table's text, and what is said. `{}` is the folder.
fn said(list: &str, csv: &str) -> Result<Vec<(String, String)>, String> {
    let dir = tempfile::tempdir().unwrap();
    fs::write(dir.path().join("figures.toml"), list).unwrap();
    fs::write(dir.path().join("t.csv"), csv).unwrap();
    let said = list::drawn(&dir.path().join("figures.toml"));
    let at = dir.path().display().to_string();
    said.map_err(|it| {
        assert!(!it.contains('\n'), "{it}");
        it.replace(&at, "{}")
    })
}

fn entry(kind: &str) -> String {
    format!(
        "[machine.m]\ncpus = 2\n[[figure]]\nfile = \"t.svg\"\ndata = \"t.csv\"\nkind = \"{kind}\"\nmachine = \"m\"\n"
    )
}

#[track_caller]
fn refused(kind: &str, csv: &str, want: &str) {
    assert_eq!(
        said(&entry(kind), csv).unwrap_err(),
        format!("{{}}/t.csv{want}")
    );
}

const COST: &str = "method,threads,cpus,cycles,ns\nrlock,1,1,2,1\nlock_add,1,1,4,2\n";
const WRITERS: &str = "kernel,boot,lock,writers,run,seconds,acquisitions,failures,hung\n\
    a,1,raw_spin_lock,1,1,1.0,10,0,0\na,1,twa,1,1,1.0,9,0,0\n";

const TIMES: &str = "kernel,boot,lock,writers,run,what,count,p99_ns,longest_ns,tsc_khz,histogram\n\
    a,1,raw_spin_lock,2,1,handover,9,255,300,1000000,6=4+7=5\na,1,twa,2,1,handover,9,255,300,1000000,6=5+8=4\n";

const PAIR: &str = "kernel,layout,lock,shape,boots,ns,\
    to_raw_spin_lock,to_raw_spin_lock_min,to_raw_spin_lock_max,\
    to_qspinlock,to_qspinlock_min,to_qspinlock_max,\
    to_spin_lock,to_spin_lock_min,to_spin_lock_max,to_twa,to_twa_min,to_twa_max\n\
    a,far,twa,inlined,8,30.0,1.2,1.1,1.3,1.5,1.4,1.6,0.8,0.7,0.9,1.0,1.0,1.0\n\
    a,near,twa,inlined,8,25.0,1.2,1.1,1.3,1.5,1.4,1.6,0.8,0.7,0.9,1.0,1.0,1.0\n";

#[test]
fn what_is_good_is_drawn() {
    assert_eq!(said(&entry("rlock-cost"), COST).unwrap().len(), 1);
    assert_eq!(said(&entry("contended"), WRITERS).unwrap().len(), 1);
    assert_eq!(said(&entry("uncontended"), PAIR).unwrap().len(), 1);
    assert_eq!(said(&entry("latency"), TIMES).unwrap().len(), 1);
}

/// A lock that no panel names has one with the others. Panels are by their number of writers.
#[test]
fn panels_have_every_lock_once() {
    let drawn = |kind: &str, csv: &str| said(&entry(kind), csv).unwrap().remove(0).1;
    for other in ["hemlock", "twa_irq", "mcs_2", "spin"] {
        let svg = drawn(
            "contended",
            &format!("{WRITERS}a,1,{other},1,1,1.0,9,0,0\n"),
        );
        assert!(
            svg.contains("a kernel: others") && svg.contains(&format!(">{other}<")),
            "{svg}"
        );
    }
    let (head, rows) = TIMES.split_once('\n').unwrap();
    let four = rows.replace(",2,1,handover", ",4,1,handover");
    let again = four.replace("a,1,", "a,2,");
    let svg = drawn("latency", &format!("{head}\n{four}{rows}{again}"));
    let named = |number: u32| {
        format!("class=\"panel\" data-name=\"a kernel, {number} writers: hand-over\"")
    };
    let at = [2, 4].map(|number| {
        assert_eq!(svg.matches(&named(number)).count(), 1, "{number}: {svg}");
        svg.find(&named(number))
    });
    assert!(at[0] < at[1]);
}

/// The most boots of a point, where points have not the same.
#[test]
fn boots_are_those_of_the_point_that_has_most() {
    let drawn = |kind: &str, csv: &str| said(&entry(kind), csv).unwrap().remove(0).1;
    let more = "a,2,raw_spin_lock,1,1,1.0,10,0,0\na,2,twa,1,1,1.0,9,0,0\n\
        a,1,raw_spin_lock,2,1,1.0,10,0,0\na,1,twa,2,1,1.0,9,0,0\n";
    let fewer = PAIR.replacen("inlined,8,25.0", "inlined,7,25.0", 1);
    let again = TIMES.replace("a,1,", "a,2,");
    let (_, again) = again.split_once('\n').unwrap();
    for (kind, csv, due) in [
        (
            "contended",
            format!("{WRITERS}{more}"),
            "the medians of 2 boots",
        ),
        ("uncontended", fewer, "medians of 8 boots"),
        ("latency", format!("{TIMES}{again}"), "medians of 2 boots"),
    ] {
        let svg = drawn(kind, &csv);
        assert!(svg.contains(due), "{kind}: {svg}");
    }
}

#[test]
fn tables_are_refused_by_line_and_column() {
    let cost = |from: &str, to: &str, want: &str| {
        refused("rlock-cost", &COST.replacen(from, to, 1), want);
    };
    cost(
        ",ns",
        ",nanos",
        " line 1: column `ns` is there 0 times; allowed: once, as each of method,threads,cpus,cycles,ns",
    );
    cost(
        "4,2\n",
        "4,fast\n",
        " line 3: column `ns`: `fast`; allowed: a number",
    );
    cost(
        "1,1,2,1",
        "-1,1,2,1",
        " line 2: column `threads`: `-1`; allowed: a whole number of its size",
    );
    cost(
        "4,2\n",
        "4,NaN\n",
        " line 3: column `ns`: `NaN`; allowed: a number above 0",
    );
    cost(
        "4,2\n",
        "inf,2\n",
        " line 3: column `cycles`: `inf`; allowed: a number above 0",
    );
    cost(
        "4,2\n",
        "4\n",
        " line 3: 4 columns; allowed: 5, as in line 1",
    );
    cost(
        "lock_add",
        "rlock",
        " line 3: a second row of rlock, 1 threads, 1 CPUs; allowed: one",
    );
    refused(
        "rlock-cost",
        "method,threads,cpus,cycles,ns\n",
        ": no rows; allowed: one at least below the header",
    );
}

#[test]
fn a_pair_is_refused_by_each_of_its_columns() {
    let mut lines = PAIR.lines();
    let header = lines.next().unwrap();
    let columns: Vec<&str> = header.split(',').collect();
    let row: Vec<&str> = lines.next().unwrap().split(',').collect();
    for (at, column) in columns.iter().enumerate() {
        let with = |value: &str| {
            let mut row = row.clone();
            row[at] = value;
            format!("{header}\n{}\n", row.join(","))
        };
        let wrong = |value: &str, allowed: &str| {
            let want = format!(" line 2: column `{column}`: `{value}`; allowed: {allowed}");
            refused("uncontended", &with(value), &want);
        };
        let above = "a number above 0";
        match *column {
            "kernel" | "lock" => {}
            "layout" => wrong("middle", "far, near"),
            "shape" => wrong("plain", "inlined, called, bound"),
            "boots" => {
                wrong("0", "from 1");
                wrong("1.5", "a whole number of its size");
            }
            number => {
                wrong("fast", "a number");
                wrong("0", above);
                wrong("NaN", above);
                wrong("inf", above);
                if number.ends_with("_min") {
                    wrong("9.5", "at most the median beside it");
                }
                if number.ends_with("_max") {
                    wrong("0.5", "at least the median beside it");
                }
            }
        }
        let want = format!(
            " line 1: column `{column}` is there 0 times; allowed: once, as each of {header}"
        );
        let without = header.replacen(column, "other", 1);
        let first = without.split(',').position(|it| it == "other").unwrap();
        assert_eq!(first, at);
        refused("uncontended", &PAIR.replacen(header, &without, 1), &want);
    }
    refused(
        "uncontended",
        &PAIR.replace(",near,", ",far,"),
        " line 3: a second row of kernel a, layout far, lock twa; allowed: one",
    );
}

/// A median is between its ends.
#[test]
fn a_spread_has_its_median() {
    for (to, column, value, allowed) in [
        (
            "1.2,1.1,1.15",
            "to_raw_spin_lock_max",
            "1.15",
            "at least the median beside it",
        ),
        (
            "1.2,1.25,1.3",
            "to_raw_spin_lock_min",
            "1.25",
            "at most the median beside it",
        ),
    ] {
        refused(
            "uncontended",
            &PAIR.replacen("1.2,1.1,1.3", to, 1),
            &format!(" line 2: column `{column}`: `{value}`; allowed: {allowed}"),
        );
    }
}

#[test]
fn times_are_refused_that_no_run_has() {
    let times = |from: &str, to: &str, want: &str| {
        refused("latency", &TIMES.replacen(from, to, 1), want);
    };
    let at = |column: &str, value: &str, allowed: &str| {
        format!(" line 3: column `{column}`: `{value}`; allowed: {allowed}")
    };
    let twa = "twa,2,1,handover,9,255,300,1000000,6=5+8=4";
    let words = "bits=count words joined by +, that are `count` together";
    for (to, want) in [
        (
            "twa,1,1,handover,9,255,300,1000000,6=5+8=4",
            at("writers", "1", "from 2"),
        ),
        (
            "twa,2,1,hand-over,9,255,300,1000000,6=5+8=4",
            at("what", "hand-over", "handover, wait"),
        ),
        (
            "twa,2,1,handover,0,255,300,1000000,6=5+8=4",
            at("count", "0", "from 1"),
        ),
        (
            "twa,2,1,handover,9,301,300,1000000,6=5+8=4",
            at("p99_ns", "301", "0 to longest_ns"),
        ),
        (
            "twa,2,1,handover,9,255,-,1000000,6=5+8=4",
            at("longest_ns", "-", "a number"),
        ),
        (
            "twa,2,1,handover,9,255,inf,1000000,6=5+8=4",
            at("longest_ns", "inf", "a number"),
        ),
        (
            "twa,2,1,handover,9,255,300,0,6=5+8=4",
            at("tsc_khz", "0", "a number above 0"),
        ),
        (
            "twa,2,1,handover,8,255,300,1000000,6=5+8=4",
            at("histogram", "6=5+8=4", words),
        ),
        (
            "twa,2,1,handover,9,255,300,1000000,8=5+6=4",
            at("histogram", "8=5+6=4", words),
        ),
        (
            "twa,2,1,handover,9,255,300,1000000,6=5+6=4",
            at("histogram", "6=5+6=4", words),
        ),
        (
            "twa,2,1,handover,9,255,300,1000000,6=5+64=4",
            at("histogram", "6=5+64=4", words),
        ),
        (
            "twa,2,1,handover,9,255,300,1000000,6=9+8=0",
            at("histogram", "6=9+8=0", words),
        ),
        (
            "twa,2,1,handover,9,255,300,1000000,none",
            at("histogram", "none", words),
        ),
        ("twa,2,2,handover,9,255,300,1000000,6=5+8=4", String::new()),
    ] {
        if want.is_empty() {
            let no_base = ": kernel a, boot 1, lock twa, 2 writers, run 2, handover: no row of raw_spin_lock beside it; allowed: one";
            times(twa, to, no_base);
        } else {
            times(twa, to, &want);
        }
    }
}

#[test]
fn a_run_that_failed_shows_no_speed() {
    refused(
        "contended",
        &WRITERS.replace("9,0,0", "9,1,0"),
        " line 3: column `failures`: `1`; allowed: 0",
    );
    refused(
        "contended",
        &WRITERS.replace("9,0,0", "9,0,1"),
        " line 3: column `hung`: `1`; allowed: 0",
    );
    refused(
        "contended",
        &WRITERS.replace("twa,1,1", "twa,1,2"),
        ": kernel a, boot 1, lock twa, 1 writers, run 2: no row of raw_spin_lock beside it; allowed: one",
    );
}

#[test]
fn lists_are_refused_by_line() {
    let list = entry("rlock-cost");
    let refused = |list: &str, want: &str| {
        let said = said(list, COST).unwrap_err();
        assert!(
            said.starts_with(&format!("{{}}/figures.toml{want}")),
            "{said}"
        );
    };
    refused(&list.replace("cpus = 2", "cpus = two"), " line 2: ");
    refused(
        &list.replace("cpus", "cores"),
        " line 2: unknown field `cores`, expected one of ",
    );
    refused(
        &list.replace("rlock-cost", "pie"),
        " line 6: unknown variant `pie`, expected one of ",
    );
    refused(
        &list.replace("machine = \"m\"", "machine = \"n\""),
        ": t.svg: machine `n`; allowed: m",
    );
    refused(
        &list.replace("\"t.svg\"", "\"../t.svg\""),
        ": ../t.svg: allowed: a name in the list's folder that ends in .svg",
    );
    let (_, figure) = list.split_once("[[figure]]").unwrap();
    refused(
        &format!("{list}[[figure]]{figure}"),
        ": t.svg: it is named twice; allowed: once",
    );
    let raw =
        "round,lock,nodes,threads,locks,locality,operations,seconds,throughput,p50_ns,p99_ns,\
        work_requests,queue_pairs,least_of_a_thread,most_of_a_thread\n\
        0,alock,2,1,20,95,1,1.0,1.0,1,1,1,1,1,1\n";
    let said = said(&entry("alock"), raw).unwrap_err();
    assert_eq!(
        said,
        "{}/figures.toml: t.svg: which = \"\"; allowed: throughput, percentiles, queue-pairs"
    );
}

/// Nothing is written unless all can be drawn, and a folder that takes no file is named.
#[test]
fn the_program_says_one_line_and_writes_nothing() {
    let dir = tempfile::tempdir().unwrap();
    let at = |name: &str| dir.path().join(name);
    let list = entry("rlock-cost");
    let (_, figure) = list.split_once("[[figure]]").unwrap();
    let other = figure.replace("t.svg", "u.svg").replace("t.csv", "u.csv");
    fs::write(at("figures.toml"), format!("{list}[[figure]]{other}")).unwrap();
    fs::write(at("t.csv"), COST).unwrap();
    let run = |arguments: &[&str]| {
        let mut program = Command::new(env!("CARGO_BIN_EXE_figures"));
        let out = program.args(arguments).current_dir(&dir).output().unwrap();
        let said = String::from_utf8(out.stderr).unwrap();
        (out.status.code().unwrap(), said)
    };
    let (code, said) = run(&["figures.toml"]);
    assert_eq!((code, said.lines().count()), (1, 1), "{said}");
    assert!(said.starts_with("figures: ./u.csv: "), "{said}");
    assert!(!at("t.svg").exists());
    fs::write(at("u.csv"), COST).unwrap();
    // A folder stands where the second is to go.
    fs::create_dir(at("u.svg")).unwrap();
    let (code, said) = run(&["figures.toml"]);
    assert_eq!((code, said.lines().count()), (1, 1), "{said}");
    assert!(
        said.starts_with("figures: cannot write ./u.svg: "),
        "{said}"
    );
    fs::remove_dir(at("u.svg")).unwrap();
    assert_eq!(run(&["figures.toml"]), (0, String::new()));
    assert_eq!(run(&["--check", "figures.toml"]), (0, String::new()));
    fs::remove_file(at("t.svg")).unwrap();
    assert_eq!(run(&["--check", "figures.toml"]).0, 1);
    let usage = "allowed: figures [--check] LIST.toml...\n";
    assert_eq!(run(&[]), (2, format!("figures: {usage}")));
    assert_eq!(run(&["--draw"]), (2, format!("figures: --draw: {usage}")));
}
