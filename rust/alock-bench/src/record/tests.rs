// SPDX-License-Identifier: GPL-2.0-only OR MIT OR Apache-2.0

//! What is written is what is read, and nothing is lost on the way.

use super::*;
use crate::example;
use crate::example::Folder;

const SET: &str = "--rounds 2 --threads 1,2 --locks 20 --locality 85 --remote-budget 5,20";

#[test]
fn json_is_what_it_was_made_of() {
    let record = example::record(&[2], SET);
    let text = record.json().unwrap();
    assert_eq!(Record::from_json(&text).unwrap(), record);
    // Any parser finds the same.
    let any: serde_json::Value = serde_json::from_str(&text).unwrap();
    assert_eq!(any["about"]["set"]["lock"][1], "rdma_spin");
    assert_eq!(any["about"]["set"]["remote_budget"][1], 20);
    assert_eq!(any["runs"].as_array().unwrap().len(), 2 * 2 * 4);
    assert_eq!(any["runs"][0]["by_thread"][1]["rank"], 1);
    let (point, again) = (&any["points"][0], &record.points[0]);
    assert_eq!(point["latency"][0][0], again.latency[0].0);
    assert_eq!(point["lock"], "alock");
}

#[test]
fn every_operation_is_in_the_histograms_of_all_and_of_its_thread() {
    let record = example::record(&[2], SET);
    let count = |counts: &Counts| counts.iter().map(|(_, count)| count).sum::<u64>();
    for point in &record.points {
        let runs = record.runs.iter().filter(|run| run.row.key() == point.key);
        let operations: u64 = runs.clone().map(|run| run.row.operations).sum();
        assert_eq!(count(&point.latency), operations);
        let threads = usize::from(point.key.nodes * point.key.threads);
        assert_eq!(point.by_thread.len(), threads);
        for it in &point.by_thread {
            let mine = runs.clone().flat_map(|run| &run.by_thread);
            let mine = mine.filter(|of| (of.rank, of.thread) == (it.rank, it.thread));
            assert_eq!(
                count(&it.latency),
                mine.map(|it| it.operations).sum::<u64>()
            );
        }
        assert!(point.latency.is_sorted());
    }
    let point = record.points.iter().find(|it| it.key.threads == 2).unwrap();
    let places = point.by_thread.iter().map(|it| (it.rank, it.thread));
    assert_eq!(places.collect::<Vec<_>>(), [(0, 0), (0, 1), (1, 0), (1, 1)]);
}

#[test]
fn what_cannot_be_read_is_said_in_a_line_that_names_the_file() {
    let dir = Folder::new("record");
    let said = |name: &str, text: &str| {
        fs::write(dir.0.join(name), text).unwrap();
        let said = Record::read(&dir.0).unwrap_err();
        let path = dir.0.join(name).display().to_string();
        assert!(said.starts_with(&path) && !said.contains('\n'), "{said}");
        said[path.len() + 2..].to_owned()
    };
    let none = Record::read(&dir.0).unwrap_err();
    assert!(
        none.starts_with("no run.json and no raw.csv in /"),
        "{none}"
    );
    let header = "round,lock,nodes,threads,locks,locality,operations,seconds,throughput,p50_ns,p99_ns,work_requests,queue_pairs,least_of_a_thread,most_of_a_thread\n";
    assert_eq!(said("raw.csv", header), "no run is in it");
    assert!(said("raw.csv", &format!("{header}0,alock,2\n")).contains("line: 2"));
    assert!(said("raw.csv", "a,b\n1,2\n").contains("missing field"));
    let row = "0,alock,2,1,20,85,4344,0.5,-1,3235,2893823,3804,2,2106,2238\n";
    assert_eq!(
        said("raw.csv", &format!("{header}{row}")),
        "run 1: a number makes no sense"
    );
    assert!(said("run.json", "").contains("EOF"));
    assert_eq!(
        said("run.json", "{\"format\":2}"),
        "it is of format 2, and this reads 1"
    );
    let whole = example::record(&[2], SET).json().unwrap();
    let half = &whole[..whole.len() / 2];
    assert!(said("run.json", half).contains("EOF"));
    let wrong = whole.replacen("\"rdma_mcs\"", "\"futex\"", 1);
    assert!(said("run.json", &wrong).contains("unknown variant `futex`"));
    fs::write(dir.0.join("run.json"), whole).unwrap();
    Record::read(&dir.0).unwrap();
}

#[test]
fn tables_of_before_there_were_budgets_are_read() {
    let text = "round,lock,nodes,threads,locks,locality,operations,seconds,throughput,p50_ns,p99_ns,work_requests,queue_pairs,least_of_a_thread,most_of_a_thread\n0,alock,2,1,20,85,4344,0.504926373,8603.234515539953,3235,2893823,3804,2,2106,2238\n";
    let record = Record::from_csv(text).unwrap();
    assert_eq!(record.runs[0].row.key().budgets(), None);
    assert_eq!(record.runs[0].row.throughput, 8603.234515539953);
}
