//! Counts of verdicts of several papers, by paper, class and reading.

use crate::claim::Class;
use crate::results::Results;
use crate::tables::{markdown_table, plain_table};
use crate::verdict::{JudgedClaim, Verdict};
use serde::Serialize;
use std::collections::BTreeMap;

const CLASSES: [Class; 3] = [Class::Derivable, Class::NeedsAssumption, Class::Contradictory];

/// Numbers of claims with each verdict, for one paper or all, and one class of claims or all.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Score {
    /// ID of the paper; `None` for all papers.
    pub paper: Option<String>,
    /// Class of the claims; `None` for all classes.
    pub class: Option<Class>,
    /// Number of claims of this paper and class.
    pub claims: usize,
    /// Number of claims with each verdict, under the first reading of the paper.
    pub counts: BTreeMap<&'static str, usize>,
    /// Number of claims with a different verdict under a reading (interpretation) of the paper other than the first.
    pub depend_on_reading: usize,
}

/// Returns the numbers of claims with each verdict: for each paper and class (derivable, needs-assumption,
/// contradictory) with claims, for each class over all papers, and for all claims.
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

fn score<'a>(paper: Option<&String>, class: Option<Class>, claims: impl Iterator<Item = &'a JudgedClaim>) -> Score {
    let claims: Vec<_> = claims.filter(|claim| class.is_none_or(|class| claim.class == class)).collect();
    let count = |verdict: Verdict| claims.iter().filter(|claim| claim.verdict == verdict).count();
    let counts = Verdict::ALL.map(|verdict| (verdict.name(), count(verdict))).into();
    let depend_on_reading = claims.iter().filter(|claim| claim.depends_on_reading()).count();
    Score { paper: paper.cloned(), class, claims: claims.len(), counts, depend_on_reading }
}

/// Returns the scorecard as a table for a terminal.
#[must_use]
pub fn scorecard_plain(scores: &[Score]) -> String {
    let (head, rows) = table(scores);
    plain_table(&head, &rows)
}

/// Returns the scorecard as a Markdown table.
#[must_use]
pub fn scorecard_markdown(scores: &[Score]) -> String {
    let (head, rows) = table(scores);
    markdown_table(&head, &rows)
}

/// Returns the column titles and rows, without verdicts that no claim has.
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
        let depend = score.depend_on_reading.to_string();
        [paper, name(score.class), score.claims.to_string()].into_iter().chain(counts).chain([depend]).collect()
    };
    let head =
        ["paper", "class", "claims"].into_iter().chain(verdicts.iter().copied()).chain(["depend on the reading"]);
    let head = head.collect();
    (head, scores.iter().map(row).collect())
}

/// Returns the verdicts on each paper's measured claims under each of its readings, for a terminal.
#[must_use]
pub fn by_reading_plain(all: &[Results]) -> String {
    let (head, rows) = by_reading(all);
    plain_table(&head, &rows)
}

/// Returns the verdicts on each paper's measured claims under each of its readings, as a Markdown table.
#[must_use]
pub fn by_reading_markdown(all: &[Results]) -> String {
    let (head, rows) = by_reading(all);
    markdown_table(&head, &rows)
}

/// Returns a row for each reading of each paper. A claim that a reading does not judge has the verdict of the first of
/// its combined readings that judges the claim, else that of the paper's first reading.
fn by_reading(all: &[Results]) -> (Vec<&'static str>, Vec<Vec<String>>) {
    let mut rows: Vec<(String, String, usize, Vec<Verdict>)> = Vec::new();
    for results in all {
        let measured: Vec<&JudgedClaim> = results.claims.iter().filter(|claim| !claim.reading.is_empty()).collect();
        let mut readings: Vec<&str> = Vec::new();
        for claim in &measured {
            let others = claim.readings.iter().map(|under| under.reading.as_str());
            for reading in std::iter::once(claim.reading.as_str()).chain(others) {
                if !readings.contains(&reading) {
                    readings.push(reading);
                }
            }
        }
        for reading in readings {
            let parts = results.combined.get(reading).into_iter().flatten().map(String::as_str);
            let names: Vec<&str> = std::iter::once(reading).chain(parts).collect();
            let verdict = |claim: &&JudgedClaim| {
                let under = names.iter().find_map(|name| claim.under(name));
                under.map_or(claim.verdict, |under| under.verdict)
            };
            let changed = |claim: &&&JudgedClaim| claim.under(reading).is_some();
            let verdicts = measured.iter().map(verdict).collect();
            let changed = measured.iter().filter(changed).count();
            rows.push((results.paper.clone(), reading.to_owned(), changed, verdicts));
        }
    }
    let verdicts: Vec<Verdict> =
        Verdict::ALL.into_iter().filter(|verdict| rows.iter().any(|(.., found)| found.contains(verdict))).collect();
    let texts = rows.into_iter().map(|(paper, reading, changed, found)| {
        let counts = verdicts.iter().map(|verdict| found.iter().filter(|one| *one == verdict).count().to_string());
        let changed = if changed == 0 { "-".to_owned() } else { changed.to_string() };
        [paper, reading, found.len().to_string(), changed].into_iter().chain(counts).collect()
    });
    let rows = texts.collect();
    let names = verdicts.iter().map(|verdict| verdict.name());
    (["paper", "reading", "measured claims", "judged otherwise"].into_iter().chain(names).collect(), rows)
}
