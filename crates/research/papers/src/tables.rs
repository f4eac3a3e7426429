//! Tables with the numbers of the paper, ns-2 and Headway, and tables of verdicts.

use crate::claims::Claims;
use crate::layout::{Column, From, Table};
use crate::number::{Number, shortest};
use crate::pattern::{Bindings, PatternError, expand, fill};
use crate::reference::Reference;
use crate::results::{Comparison, Results};
use crate::verdict::{JudgedClaim, Verdict};
use headway_units::counted;
use std::collections::BTreeMap;
use std::fmt::Write;

/// Largest number of columns of Markdown outside tables.
const COLUMNS: usize = 100;
const NONE: &str = "-";

pub(crate) struct FilledTable<'a> {
    pub(crate) table: &'a Table,
    /// Name and entries of each row.
    pub(crate) rows: Vec<(String, Vec<Entry>)>,
}

pub(crate) struct Entry {
    pub(crate) cell: String,
    /// None if unknown.
    pub(crate) number: Option<Number>,
    pub(crate) text: String,
}

impl FilledTable<'_> {
    pub(crate) fn head(&self) -> Vec<&str> {
        std::iter::once("cell").chain(self.table.columns.iter().map(|column| column.title.as_str())).collect()
    }

    pub(crate) fn texts(&self) -> Vec<Vec<String>> {
        let row = |(name, entries): &(String, Vec<Entry>)| {
            std::iter::once(name.clone()).chain(entries.iter().map(|entry| entry.text.clone())).collect()
        };
        self.rows.iter().map(row).collect()
    }
}

/// Returns the tables of a paper, with the numbers of the paper, ns-2 and Headway, as Markdown.
///
/// # Errors
/// If a pattern is invalid, which parsing of the claims excludes.
pub fn markdown(claims: &Claims, ns2: &Reference, results: &Results) -> Result<String, PatternError> {
    let mut text = String::new();
    for filled in filled(claims, ns2, results)? {
        let Table { title, note, .. } = filled.table;
        let _ = writeln!(text, "### {title}\n");
        text.push_str(&markdown_table(&filled.head(), &filled.texts()));
        if !note.is_empty() {
            let _ = writeln!(text, "\n{}", wrapped(note));
        }
        text.push('\n');
    }
    let _ = writeln!(text, "{}", wrapped(&runs_text(results)));
    Ok(text)
}

/// Returns the tables of a paper, with the numbers of the paper, ns-2 and Headway, for a terminal.
///
/// # Errors
/// Those of [`markdown`].
pub fn plain(claims: &Claims, ns2: &Reference, results: &Results) -> Result<String, PatternError> {
    let mut text = String::new();
    for filled in filled(claims, ns2, results)? {
        let _ = writeln!(text, "{}\n{}\n", filled.table.title, plain_table(&filled.head(), &filled.texts()));
    }
    text.push_str(&runs_text(results));
    Ok(text)
}

/// Returns the tables that have at least one number of Headway.
pub(crate) fn filled<'a>(
    claims: &'a Claims,
    ns2: &Reference,
    results: &Results,
) -> Result<Vec<FilledTable<'a>>, PatternError> {
    let paper_values = claims.paper_values();
    let mut all = Vec::new();
    for table in &claims.tables {
        let metric = claims.metrics.iter().find(|metric| metric.name == table.metric);
        let decimals = metric.map_or(3, |metric| metric.decimals);
        let mut rows = Vec::new();
        for row in expand(&table.rows, &Bindings::new())? {
            let mut entries = Vec::new();
            for column in &table.columns {
                let cell = fill(&column.cell, &row.bindings)?;
                let number = match column.from {
                    From::Paper => paper_values.get(&(cell.as_str(), table.metric.as_str())).map(|value| Number {
                        mean: *value,
                        ci95: None,
                        runs: 0,
                    }),
                    From::Ns2 => ns2.get(&cell, &table.metric).map(Number::from),
                    From::Headway => results.get(&cell, &table.metric),
                };
                let text = number.map_or_else(
                    || NONE.to_owned(),
                    |number| match column.from {
                        From::Paper => number.mean.to_string(),
                        From::Ns2 | From::Headway => formatted(number, decimals),
                    },
                );
                entries.push(Entry { cell, number, text });
            }
            // Rows whose cells this profile did not run are omitted.
            let is_known = |(column, entry): (&Column, &Entry)| column.from == From::Headway && entry.number.is_some();
            if table.columns.iter().zip(&entries).any(is_known) {
                rows.push((row.name, entries));
            }
        }
        if !rows.is_empty() {
            all.push(FilledTable { table, rows });
        }
    }
    Ok(all)
}

fn formatted(number: Number, decimals: usize) -> String {
    match number.ci95 {
        Some(ci95) => format!("{:.decimals$} ± {ci95:.decimals$}", number.mean),
        None => format!("{:.decimals$}", number.mean),
    }
}

/// Describes the runs, and the agreement of their numbers with ns-2.
pub(crate) fn runs_text(results: &Results) -> String {
    let runs = results.ran.seeds;
    let mut lengths: BTreeMap<String, usize> = BTreeMap::new();
    for [from, to] in results.ran.seconds.values() {
        *lengths.entry(format!("{from} to {to} s")).or_default() += 1;
    }
    let lengths: Vec<String> =
        lengths.iter().map(|(length, cells)| format!("{} over {length}", counted(*cells as u64, "cell"))).collect();
    let mut text = format!(
        "Headway {}, profile {}: {} a cell, means ± 95 % (Student); {}.",
        results.version,
        results.ran.profile,
        counted(runs, "seed"),
        lengths.join(", ")
    );
    let agree = results.agreement.iter().filter(|agreed| agreed.agrees).count();
    if !results.agreement.is_empty() {
        let _ = write!(
            text,
            " Of {} numbers compared with ns-2.35, {agree} agree (Welch 95 % interval inside the margin).",
            results.agreement.len()
        );
    }
    for agreed in results.agreement.iter().filter(|agreed| !agreed.agrees) {
        let Comparison { cell, metric, difference, ci95, margin, .. } = agreed;
        // An interval that contains 0 but exceeds the margin needs more runs to decide.
        let verdict = if ci95.is_none_or(|ci95| difference.abs() > ci95) { "differs" } else { "is undecided" };
        let interval = ci95.map_or_else(String::new, |ci95| format!(" ± {ci95}"));
        let _ = write!(text, "\n- {cell}, {metric} {verdict}: {difference}{interval}, margin {margin}");
    }
    text
}

/// Returns the summary of the verdicts as Markdown.
#[must_use]
pub fn summary_markdown(results: &Results) -> String {
    wrapped(&results.summary()) + "\n"
}

/// Returns all claims by verdict, as Markdown.
#[must_use]
pub fn verdicts_markdown(results: &Results) -> String {
    let mut text = format!("{}\n", summary_markdown(results));
    for verdict in Verdict::ALL {
        let rows: Vec<Vec<String>> =
            results.claims.iter().filter(|judged| judged.verdict == verdict).map(|judged| row(judged, true)).collect();
        if !rows.is_empty() {
            let _ = writeln!(text, "### {verdict} ({})\n", rows.len());
            let head = ["claim", "statement", "class", "fitted", "paper", "ns-2", "Headway", "why"];
            text.push_str(&markdown_table(&head, &rows));
            text.push('\n');
        }
    }
    text
}

/// Returns all claims with their verdicts for a terminal, and the reasons of claims that do not hold.
#[must_use]
pub fn verdicts_plain(results: &Results) -> String {
    let rows: Vec<Vec<String>> = results
        .claims
        .iter()
        .map(|judged| {
            let mut cells = row(judged, false);
            cells.insert(1, judged.verdict.to_string());
            cells
        })
        .collect();
    let mut text = plain_table(&["claim", "verdict", "class", "fitted", "paper", "ns-2", "Headway"], &rows);
    text.push('\n');
    for judged in &results.claims {
        if matches!(judged.verdict, Verdict::NotReproduced | Verdict::NotRun | Verdict::NotMeasurable) {
            let _ = writeln!(text, "\n{} is {}: {}", judged.id, judged.verdict, judged.reason);
        }
    }
    let _ = write!(text, "\n{}", results.summary());
    text
}

fn row(judged: &JudgedClaim, with_words: bool) -> Vec<String> {
    let short = |number: Option<f64>| number.map_or(NONE.to_owned(), shortest);
    let ours = match (judged.value, judged.ci95) {
        (Some(value), Some(ci95)) => format!("{} ± {}", shortest(value), two_digits(ci95)),
        (value, _) => short(value),
    };
    let mut cells = vec![judged.id.clone()];
    if with_words {
        cells.push(judged.statement.clone());
    }
    cells.push(judged.class.name().to_owned());
    cells.push(if judged.fitted { "yes" } else { "" }.to_owned());
    cells.extend([short(judged.paper_value), short(judged.ns2_value), ours]);
    if with_words {
        let others = judged.readings.iter().filter(|under| under.verdict != Verdict::NotRun);
        let others: String = others
            .map(|under| format!(" Reading \"{}\": {}.{}", under.reading, under.verdict, under.spaced_additional()))
            .collect();
        let end = if others.is_empty() || judged.reason.ends_with('.') { "" } else { "." };
        cells.push(format!("{}{end}{others}", judged.reason));
    }
    cells
}

pub(crate) fn two_digits(number: f64) -> String {
    format!("{number:.1e}").parse::<f64>().unwrap_or(number).to_string()
}

/// Wraps paragraphs and list items of Markdown at [`COLUMNS`].
pub(crate) fn wrapped(text: &str) -> String {
    let mut lines = Vec::new();
    for paragraph in text.lines() {
        let indent = if paragraph.starts_with("- ") { "  " } else { "" };
        let mut line = String::new();
        for word in paragraph.split(' ') {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > COLUMNS {
                lines.push(std::mem::replace(&mut line, indent.to_owned() + word));
            } else {
                line.push_str(if line.is_empty() { "" } else { " " });
                line.push_str(word);
            }
        }
        lines.push(line);
    }
    lines.join("\n")
}

pub(crate) fn markdown_table(head: &[&str], rows: &[Vec<String>]) -> String {
    let line = |cells: &[String]| {
        let escaped: Vec<String> = cells.iter().map(|cell| cell.replace('|', "\\|")).collect();
        format!("| {} |\n", escaped.join(" | "))
    };
    let head: Vec<String> = head.iter().map(|&title| title.to_owned()).collect();
    let mut text = line(&head);
    text.push_str(&"|---".repeat(head.len()));
    text.push_str("|\n");
    for row in rows {
        text.push_str(&line(row));
    }
    text
}

pub(crate) fn plain_table(head: &[&str], rows: &[Vec<String>]) -> String {
    let mut table = comfy_table::Table::new();
    table.load_style(comfy_table::presets::NOTHING);
    table.set_header(head);
    for row in rows {
        table.add_row(row);
    }
    table.lines().map(|line| line.trim_end().to_owned()).collect::<Vec<_>>().join("\n")
}

/// Returns the parameters that the paper does not state, as a Markdown table.
#[must_use]
pub fn inferred_markdown(claims: &Claims) -> String {
    let rows: Vec<Vec<String>> =
        claims.inferred.iter().map(|one| vec![one.parameter.clone(), one.value.clone(), one.why.clone()]).collect();
    markdown_table(&["parameter", "value", "reason"], &rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bars_in_markdown_cells_are_escaped() {
        let text = markdown_table(&["a", "b"], &[vec!["x|y".to_owned(), "z".to_owned()]]);
        assert_eq!(text, "| a | b |\n|---|---|\n| x\\|y | z |\n");
    }

    #[test]
    fn lines_are_wrapped_and_list_items_indented() {
        let word = "x".repeat(59);
        assert_eq!(wrapped(&format!("{word} {word}")), format!("{word}\n{word}"));
        assert_eq!(wrapped(&format!("- {word} y {word}\nz")), format!("- {word} y\n  {word}\nz"));
    }

    #[test]
    fn numbers_are_rounded() {
        let number = |mean, ci95| formatted(Number { mean, ci95, runs: 10 }, 2);
        assert_eq!(number(1.234_5, Some(0.021)), "1.23 ± 0.02");
        assert_eq!(number(1.234_5, None), "1.23");
        assert_eq!((two_digits(0.012_34), shortest(6558.24)), ("0.012".to_owned(), "6558.24".to_owned()));
    }
}
