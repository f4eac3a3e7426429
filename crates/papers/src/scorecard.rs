//! What came of the claims of several papers, by paper and class.

use crate::claim::Class;
use crate::results::Results;
use crate::tables::{markdown_table, plain_table};
use crate::verdict::{Judgement, Verdict};
use serde::Serialize;
use std::collections::BTreeMap;

const CLASSES: [Class; 3] = [Class::Derivable, Class::NeedsAssumption, Class::Contradictory];

/// How many claims of a paper and a class have each verdict.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Score {
    /// The paper's ID; none for that of all papers.
    pub paper: Option<String>,
    /// What the papers give for replicating them; none for all classes.
    pub class: Option<Class>,
    /// How many claims there are.
    pub claims: usize,
    /// How many have each verdict.
    pub counts: BTreeMap<&'static str, usize>,
}

/// A score for each paper and class that has claims, each class of all papers, and all.
#[must_use]
pub fn scorecard(all: &[Results]) -> Vec<Score> {
    let of_paper = |results: &Results| {
        let scores = CLASSES.map(|class| score(Some(&results.paper), Some(class), results.claims.iter()));
        scores.into_iter().filter(|score| score.claims > 0).collect::<Vec<_>>()
    };
    let claims = || all.iter().flat_map(|results| &results.claims);
    let mut scores: Vec<Score> = all.iter().flat_map(of_paper).collect();
    scores.extend(CLASSES.map(|class| score(None, Some(class), claims())));
    scores.push(score(None, None, claims()));
    scores
}

fn score<'a>(paper: Option<&String>, class: Option<Class>, claims: impl Iterator<Item = &'a Judgement>) -> Score {
    let claims: Vec<_> = claims.filter(|claim| class.is_none_or(|class| claim.class == class)).collect();
    let count = |verdict: Verdict| claims.iter().filter(|claim| claim.verdict == verdict).count();
    let counts = Verdict::ALL.map(|verdict| (verdict.name(), count(verdict))).into();
    Score { paper: paper.cloned(), class, claims: claims.len(), counts }
}

/// The scorecard as a table, for a terminal.
#[must_use]
pub fn scorecard_plain(scores: &[Score]) -> String {
    let (head, rows) = table(scores);
    plain_table(&head, &rows)
}

/// The same for a page.
#[must_use]
pub fn scorecard_markdown(scores: &[Score]) -> String {
    let (head, rows) = table(scores);
    markdown_table(&head, &rows)
}

/// Verdicts that no claim has are left out.
fn table(scores: &[Score]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let verdicts: Vec<_> = Verdict::ALL
        .into_iter()
        .map(Verdict::name)
        .filter(|verdict| scores.iter().any(|score| score.counts[verdict] > 0))
        .collect();
    let name = |class: Option<Class>| class.map_or("all", Class::name).to_owned();
    let row = |score: &Score| {
        let paper = score.paper.clone().unwrap_or_else(|| "all".to_owned());
        let counts = verdicts.iter().map(|verdict| score.counts[verdict].to_string());
        [paper, name(score.class), score.claims.to_string()].into_iter().chain(counts).collect()
    };
    let head = ["paper", "class", "claims"].into_iter().chain(verdicts.iter().copied()).collect();
    (head, scores.iter().map(row).collect())
}
