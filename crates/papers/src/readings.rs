//! Verdicts by reading: which readings a paper has, what supports each, and what each claim's verdict is under it.

use crate::claims::Claims;
use crate::results::Results;
use crate::tables::{markdown_table, plain_table};
use crate::verdict::Judgement;
use std::fmt::Write;

/// Where a reading changes nothing of a claim.
const SAME: &str = "as the first";

/// Each claim that several readings judge, with a verdict per reading, and what in the paper supports each reading.
#[must_use]
pub fn readings_markdown(claims: &Claims, results: &Results) -> String {
    let mut text = String::new();
    for reading in &claims.readings {
        let _ = writeln!(text, "- **{}**: {} *Support*: {}", reading.name, reading.text, reading.support);
    }
    let (head, rows) = table(claims, results);
    let _ = writeln!(text, "\n{}", counted(results, rows.len()));
    if !rows.is_empty() {
        let _ = write!(text, "\n{}", markdown_table(&head, &rows));
    }
    text
}

/// The same table for a terminal; empty if no claim is judged under several readings.
#[must_use]
pub fn readings_plain(claims: &Claims, results: &Results) -> String {
    let (head, rows) = table(claims, results);
    if rows.is_empty() {
        return String::new();
    }
    format!("{}\n{}", plain_table(&head, &rows), counted(results, rows.len()))
}

fn counted(results: &Results, several: usize) -> String {
    let measured = results.claims.iter().filter(|judged| !judged.reading.is_empty()).count();
    format!(
        "{measured} claims are measured, {several} of them under several readings; {} on the reading.",
        results.depend()
    )
}

fn table<'a>(claims: &'a Claims, results: &Results) -> (Vec<&'a str>, Vec<Vec<String>>) {
    let names: Vec<&str> = claims.readings.iter().map(|reading| reading.name.as_str()).collect();
    let row = |judged: &Judgement| {
        let under = |name: &&str| {
            let found = judged.readings.iter().find(|under| under.reading == **name);
            found.map_or_else(|| SAME.to_owned(), |under| under.verdict.to_string())
        };
        let others = names.iter().skip(1).map(under);
        let depends = if judged.depends_on_reading() { "yes" } else { "" };
        [judged.id.clone(), judged.verdict.to_string()].into_iter().chain(others).chain([depends.to_owned()]).collect()
    };
    let rows = results.claims.iter().filter(|judged| !judged.readings.is_empty()).map(row).collect();
    let head = ["claim"].into_iter().chain(names.iter().copied()).chain(["depends"]).collect();
    (head, rows)
}
