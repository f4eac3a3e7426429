//! The scorecard in the book matches the stored results.

use headway_papers::{Class, PAPERS, Results, by_reading_markdown, scorecard, scorecard_markdown};
use serde_json::json;
use std::path::Path;

fn stored() -> Vec<Results> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../papers");
    let read = |id: &str| std::fs::read_to_string(folder.join(id).join("results.json")).unwrap();
    PAPERS.iter().map(|paper| serde_json::from_str(&read(&paper.id)).unwrap()).collect()
}

#[test]
fn the_page_has_the_scorecard_of_the_stored_results() {
    let table = scorecard_markdown(&scorecard(&stored()));
    let page = include_str!("../../../../docs/src/scorecard.md");
    assert!(page.contains(&table), "docs/src/scorecard.md should have\n\n{table}");
    let table = by_reading_markdown(&stored());
    assert!(page.contains(&table), "docs/src/scorecard.md should have\n\n{table}");
}

/// The first reading reproduces none of three claims. One is judged under the combined reading, one only under a part,
/// one under neither.
#[test]
fn a_combined_reading_counts_the_verdicts_of_its_parts() {
    let claim = |id: &str, under: &[(&str, &str)]| {
        let under = under.iter().map(|(reading, verdict)| {
            json!({ "reading": reading, "verdict": verdict, "value": null, "ci95": null, "reason": "", "checks": [] })
        });
        json!({
            "id": id, "paper": "p", "class": "derivable", "kind": "number", "where": "1", "statement": "s",
            "verdict": "not reproduced", "paper_value": null, "ns2_value": null, "value": null, "ci95": null, "runs": 10,
            "fitted": false, "reason": "", "checks": [], "reading": "plain", "readings": under.collect::<Vec<_>>(),
        })
    };
    let results = json!({
        "paper": "p", "version": "", "ran": { "profile": "full", "seeds": 10, "seconds": {} }, "cells": {}, "agreement": [],
        "inferred": [], "combined": { "both": ["hop", "filter"] },
        "claims": [
            claim("a", &[("hop", "not reproduced"), ("filter", "trend"), ("both", "reproduced")]),
            claim("b", &[("filter", "trend")]),
            claim("c", &[]),
        ],
    });
    let table = by_reading_markdown(&[serde_json::from_value(results).unwrap()]);
    let rows: Vec<&str> = table.lines().skip(2).collect();
    let expected = [
        "| p | plain | 3 | - | 0 | 0 | 3 |",
        "| p | hop | 3 | 1 | 0 | 0 | 3 |",
        "| p | filter | 3 | 2 | 0 | 2 | 1 |",
        "| p | both | 3 | 1 | 1 | 1 | 1 |",
    ];
    assert_eq!(rows, expected, "{table}");
}

/// Each claim is counted once in its paper's class, once in the class of all papers, and once in the total.
#[test]
fn every_claim_is_counted_once() {
    let all = stored();
    let scores = scorecard(&all);
    let claims: usize = all.iter().map(|results| results.claims.len()).sum();
    let sum = |paper: bool, class: bool| {
        let some = scores.iter().filter(|score| score.paper.is_some() == paper && score.class.is_some() == class);
        some.map(|score| score.claims).sum::<usize>()
    };
    assert_eq!([sum(true, true), sum(false, true), sum(false, false)], [claims; 3]);
    assert!(scores.iter().all(|score| score.counts.values().sum::<usize>() == score.claims));
    assert!(scores.iter().all(|score| score.class != Some(Class::Derivable) || score.counts["not run"] == 0));
}
