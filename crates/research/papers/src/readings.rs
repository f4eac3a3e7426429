//! Tables of verdicts by reading, with the support of each reading in the paper.

use crate::claims::Claims;
use crate::results::Results;
use crate::tables::{markdown_table, plain_table, wrapped};
use crate::verdict::JudgedClaim;
use std::fmt::Write;

/// Verdict under a reading that does not change the claim.
const SAME: &str = "unchanged";
/// Heading of the verdicts under combined readings.
const COMBINED: &str =
    "Verdicts under combined readings. Other claims have the verdict of the one reading that changes them.";

/// Returns the readings (interpretations of the paper) as Markdown, with the paper's statements that support them, and
/// the verdicts on each claim judged under several readings.
#[must_use]
pub fn readings_markdown(claims: &Claims, results: &Results) -> String {
    let mut text = String::new();
    for reading in &claims.readings {
        let line = format!("- **{}**: {} *Support*: {}", reading.name, reading.text, reading.support);
        let _ = writeln!(text, "{}", wrapped(&line));
    }
    let Tables { several, single, combined } = Tables::new(claims, results);
    let _ = writeln!(text, "\n{}", wrapped(&counted(results, several)));
    let (head, rows) = single;
    if !rows.is_empty() {
        let _ = write!(text, "\n{}", markdown_table(&head, &rows));
    }
    let (head, rows) = combined;
    if !rows.is_empty() {
        let _ = write!(text, "\n{}\n\n{}", wrapped(COMBINED), markdown_table(&head, &rows));
    }
    text
}

/// Returns, for a terminal, the verdicts on each claim that several readings (interpretations of the paper) judge.
/// Empty if there is no such claim.
#[must_use]
pub fn readings_plain(claims: &Claims, results: &Results) -> String {
    let Tables { several, single, combined } = Tables::new(claims, results);
    if several == 0 {
        return String::new();
    }
    let combined = match combined {
        (_, rows) if rows.is_empty() => String::new(),
        (head, rows) => format!("{COMBINED}\n{}\n", plain_table(&head, &rows)),
    };
    format!("{}\n{combined}{}", plain_table(&single.0, &single.1), counted(results, several))
}

fn counted(results: &Results, several: usize) -> String {
    let measured = results.claims.iter().filter(|judged| !judged.reading.is_empty()).count();
    format!(
        "{measured} claims are measured, {several} of them under several readings; {} on the reading.",
        results.depend()
    )
}

type Table<'a> = (Vec<&'a str>, Vec<Vec<String>>);

struct Tables<'a> {
    /// Number of claims that are judged under several readings.
    several: usize,
    /// The readings that combine no others.
    single: Table<'a>,
    /// The combined readings, with only the claims that they judge.
    combined: Table<'a>,
}

impl<'a> Tables<'a> {
    fn new(claims: &'a Claims, results: &Results) -> Self {
        let several: Vec<&JudgedClaim> = results.claims.iter().filter(|judged| !judged.readings.is_empty()).collect();
        let names = |is_combined: bool| {
            let wanted = claims.readings.iter().filter(move |reading| reading.combines.is_empty() != is_combined);
            wanted.map(|reading| reading.name.as_str()).collect::<Vec<_>>()
        };
        let row = |names: &[&str], judged: &&JudgedClaim| -> Vec<String> {
            let verdict = |name: &&str| match judged.under(name) {
                Some(under) => under.verdict.to_string(),
                None if judged.reading == **name => judged.verdict.to_string(),
                None => SAME.to_owned(),
            };
            std::iter::once(judged.id.clone()).chain(names.iter().map(verdict)).collect()
        };
        let depends = |judged: &&JudgedClaim| if judged.depends_on_reading() { "yes" } else { "" }.to_owned();
        let (alone, together) = (names(false), names(true));
        let single = several.iter().map(|judged| [row(&alone, judged), vec![depends(judged)]].concat()).collect();
        let is_combined = |judged: &&&JudgedClaim| together.iter().any(|name| judged.under(name).is_some());
        let combined = several.iter().filter(is_combined).map(|judged| row(&together, judged)).collect();
        let head = |names: Vec<&'a str>| std::iter::once("claim").chain(names).collect::<Vec<_>>();
        Self {
            several: several.len(),
            single: ([head(alone), vec!["depends"]].concat(), single),
            combined: (head(together), combined),
        }
    }
}
