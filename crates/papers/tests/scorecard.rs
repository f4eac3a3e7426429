//! The book's page of all papers tells what their stored results say.
#![allow(clippy::unwrap_used, reason = "a test fails where it panics")]

use headway_papers::{Class, PAPERS, Results, by_reading_markdown, scorecard, scorecard_markdown};
use std::path::Path;

fn stored() -> Vec<Results> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../papers");
    let read = |id: &str| std::fs::read_to_string(folder.join(id).join("results.json")).unwrap();
    PAPERS.iter().map(|paper| serde_json::from_str(&read(&paper.id)).unwrap()).collect()
}

#[test]
fn the_page_has_the_scorecard_of_the_stored_results() {
    let table = scorecard_markdown(&scorecard(&stored()));
    let page = include_str!("../../../docs/src/scorecard.md");
    assert!(page.contains(&table), "docs/src/scorecard.md should have\n\n{table}");
    let table = by_reading_markdown(&stored());
    assert!(page.contains(&table), "docs/src/scorecard.md should have\n\n{table}");
}

/// Each claim is counted once: in its paper's class, in the class of all, in all.
#[test]
fn every_claim_has_one_verdict() {
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
