//! Figures, tables and claims of a paper by name, with their numbers, verdicts and commands.

use crate::claims::Claims;
use crate::drawings;
use crate::figures::pictures;
use crate::number::shortest;
use crate::pattern::{Bindings, PatternError, expand, fill};
use crate::reference::Reference;
use crate::report::{Item, quoted};
use crate::results::Results;
use crate::tables::{FilledTable, filled, markdown_table, plain_table, two_digits, wrapped};
use crate::verdict::{JudgedClaim, Verdict};
use headway_record::plot::{Chart, ChartLine, LineStyle, XAxis};
use headway_scenario::nearest;
use std::collections::BTreeSet;
use std::fmt::Write;

/// A figure, a table or a claim of a paper.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Name in commands, such as `fig6`, `table2` or `lan.fig3.a`.
    pub name: String,
    /// Name in the paper, such as "Figure 6"; else the title of the figure or table, or the statement of the claim.
    pub called: String,
    /// Names of the cells (experiments) whose results the figure, table or claim shows.
    pub cells: BTreeSet<String>,
    figures: Vec<String>,
    tables: Vec<String>,
    claims: Vec<String>,
}

/// Error: no figure, table or claim of the paper has the name.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("there is no figure, table or claim \"{name}\"; {hint}")]
pub struct UnknownPart {
    name: String,
    hint: String,
}

impl Part {
    fn new(name: String, called: String) -> Self {
        let (cells, figures, tables, claims) = Default::default();
        Self { name, called, cells, figures, tables, claims }
    }

    /// Returns the figures and tables of a paper: first those that the paper numbers, then those that only Headway has.
    ///
    /// # Errors
    /// If a pattern is invalid, which parsing of the claims excludes.
    pub fn all(claims: &Claims) -> Result<Vec<Self>, PatternError> {
        let mut numbered: Vec<(Item, Self)> = Vec::new();
        let mut others: Vec<Self> = Vec::new();
        let mut add = |named: Vec<Item>, name: &str, title: &str, put: &dyn Fn(&mut Self)| {
            if named.is_empty() && !name.is_empty() {
                let mut part = Self::new(name.to_owned(), title.to_owned());
                put(&mut part);
                others.push(part);
            }
            for item in named {
                let part = match numbered.iter_mut().find(|(known, _)| *known == item) {
                    Some((_, part)) => part,
                    None => {
                        let part = Self::new(item.short(), item.to_string());
                        numbered.push((item, part));
                        let Some((_, part)) = numbered.last_mut() else { continue };
                        part
                    }
                };
                put(part);
            }
        };
        for figure in &claims.figures {
            let mut cells = BTreeSet::new();
            for line in &figure.lines {
                cells.extend(expand(&line.cells, &Bindings::new())?.into_iter().map(|cell| cell.name));
            }
            add(Item::of_title(&figure.title), &figure.name, &figure.title, &|part| {
                part.cells.extend(cells.iter().cloned());
                part.figures.push(figure.name.clone());
            });
        }
        for timeline in &claims.timelines {
            add(Item::of_title(&timeline.title), &timeline.name, &timeline.title, &|part| {
                part.cells.extend(timeline.lines.iter().map(|line| line.cell.clone()));
                part.figures.push(timeline.name.clone());
            });
        }
        for table in &claims.tables {
            let mut cells = BTreeSet::new();
            for row in expand(&table.rows, &Bindings::new())? {
                for column in &table.columns {
                    cells.insert(fill(&column.cell, &row.bindings)?);
                }
            }
            add(Item::of_title(&table.title), "", &table.title, &|part| {
                part.cells.extend(cells.iter().cloned());
                part.tables.push(table.title.clone());
            });
        }
        for claim in &claims.claims {
            let cells = claim.cells();
            add(Item::all(&claim.place), "", "", &|part| {
                part.cells.extend(cells.iter().cloned());
                part.claims.push(claim.id.clone());
            });
        }
        numbered.sort_by(|(one, _), (other, _)| one.cmp(other));
        Ok(numbered.into_iter().map(|(_, part)| part).chain(others).collect())
    }

    /// Returns the part with this name: a figure or a table by its name in commands (`fig6`) or in the paper ("Figure
    /// 6"), a chart by its name in `claims.toml`, or a claim by its ID.
    ///
    /// # Errors
    /// If no part has this name.
    pub fn find(claims: &Claims, name: &str) -> Result<Self, UnknownPart> {
        let all = Self::all(claims).unwrap_or_default();
        let short = Item::of_name(name).map(|item| item.short());
        let has_name = |part: &&Self| {
            short.as_ref() == Some(&part.name) || part.name == name || part.figures.iter().any(|figure| figure == name)
        };
        if let Some(part) = all.iter().find(has_name) {
            return Ok(part.clone());
        }
        if let Some(claim) = claims.claims.iter().find(|claim| claim.id == name) {
            let mut part = Self::new(claim.id.clone(), claim.statement.clone());
            part.cells = claim.cells();
            part.claims = vec![claim.id.clone()];
            return Ok(part);
        }
        let names =
            || all.iter().map(|part| part.name.as_str()).chain(claims.claims.iter().map(|claim| claim.id.as_str()));
        // Claims are not listed: a paper has up to 100.
        let parts = all.iter().map(|part| part.name.as_str()).collect::<Vec<_>>().join(", ");
        let hint = match (nearest(name, names()), all.is_empty()) {
            (Some(near), true) => format!("did you mean \"{near}\"?"),
            (Some(near), false) => format!("did you mean \"{near}\"? Figures and tables are {parts}"),
            (None, true) => "there are no figures and tables".to_owned(),
            (None, false) => format!("figures and tables are {parts}"),
        };
        Err(UnknownPart { name: name.to_owned(), hint })
    }

    /// Returns the shell command that reproduces the figure, table or claim: it runs its cells (experiments), or draws
    /// a figure that needs no runs.
    #[must_use]
    pub fn command(&self, paper: &str) -> String {
        let has_numbers = !self.figures.is_empty() || !self.tables.is_empty();
        match drawings::title(paper, &self.name) {
            Some(_) if !has_numbers => drawing_command(paper),
            _ if self.cells.is_empty() => format!("headway papers show {} {}", quoted(paper), quoted(&self.name)),
            _ => self.run_command(paper),
        }
    }

    fn run_command(&self, paper: &str) -> String {
        format!("headway papers run {} --only {}", quoted(paper), quoted(&self.name))
    }

    /// Returns whether the claim `id` belongs to this part: the claim is about this figure or table, or the part is the
    /// claim itself.
    #[must_use]
    pub fn has_claim(&self, id: &str) -> bool {
        self.claims.iter().any(|claim| claim == id)
    }

    fn judged<'a>(&self, results: &'a Results) -> Vec<&'a JudgedClaim> {
        results.claims.iter().filter(|judged| self.has_claim(&judged.id)).collect()
    }
}

/// Returns a figure, table or claim with its numbers, verdicts and command, as text for a terminal.
///
/// # Errors
/// If a pattern is invalid, which parsing of the claims excludes.
pub fn show(
    part: &Part,
    paper: &str,
    claims: &Claims,
    ns2: &Reference,
    results: &Results,
) -> Result<String, PatternError> {
    let mut text = format!("{paper}, {}\n", part.called);
    for picture in pictures(claims, ns2, results)? {
        if part.figures.contains(&picture.chart.name) {
            let _ = writeln!(text, "\n{} (pictures/{}.svg)", picture.chart.title, picture.chart.name);
            text.push_str(&points(&picture.chart));
        }
    }
    for table in filled(claims, ns2, results)? {
        if part.tables.contains(&table.table.title) {
            let _ = writeln!(text, "\n{}\n{}", table.table.title, rows(&table));
        }
    }
    for judged in part.judged(results) {
        let _ = writeln!(text, "\n{} is {}: {}", judged.id, judged.verdict, judged.statement);
        if !judged.reading.is_empty() && !judged.readings.is_empty() {
            let under = judged.readings.iter().map(|under| format!("{}: {}", under.reading, under.verdict));
            let _ = writeln!(
                text,
                "  by reading: {}: {}; {}",
                judged.reading,
                judged.verdict,
                under.collect::<Vec<_>>().join("; ")
            );
            for under in judged.readings.iter().filter(|under| !under.additional.is_empty()) {
                let _ = writeln!(text, "  {}: {}", under.reading, under.additional);
            }
        }
        let _ = writeln!(text, "  {}", judged.reason);
    }
    let title = drawings::title(paper, &part.name);
    if let Some(title) = title {
        let _ = write!(text, "\ndraw it:      {} ({title})", drawing_command(paper));
    }
    if part.cells.is_empty() {
        text.push_str(if title.is_none() { "\nno run produces it" } else { "" });
        return Ok(text);
    }
    let what = if part.figures.is_empty() && part.tables.is_empty() { "judge again: " } else { "run it again:" };
    let _ = write!(text, "\n{what} {}", part.run_command(paper));
    if results.ran.profile == "full" {
        let _ = write!(text, "\nas stored:    {} --full", part.run_command(paper));
    }
    Ok(text)
}

fn drawing_command(paper: &str) -> String {
    format!("headway papers figures {}", quoted(paper))
}

fn rows(table: &FilledTable<'_>) -> String {
    plain_table(&table.head(), &table.texts())
}

/// Returns the points of a chart over places; empty for curves over time.
fn points(chart: &Chart) -> String {
    let XAxis::Places(places) = &chart.x else { return String::new() };
    let name = |line: &ChartLine| match line.style {
        LineStyle::Claimed => format!("{} (paper)", line.label),
        LineStyle::Reference => format!("{} (ns-2)", line.label),
        _ => line.label.clone(),
    };
    let names: Vec<String> = chart.lines.iter().map(name).collect();
    let head: Vec<&str> = [chart.x_title.as_str()].into_iter().chain(names.iter().map(String::as_str)).collect();
    let row = |(place, called): (usize, &String)| {
        let value = |line: &ChartLine| {
            let point = line.points.iter().find(|point| point.x == place as f64);
            point.map_or_else(
                || "-".to_owned(),
                |point| match point.error {
                    0.0 => shortest(point.value),
                    error => format!("{} ± {}", rounded(point.value, error), two_digits(error)),
                },
            )
        };
        std::iter::once(called.clone()).chain(chart.lines.iter().map(value)).collect::<Vec<_>>()
    };
    let rows: Vec<Vec<String>> = places.iter().enumerate().map(row).collect();
    format!("{}\n{}\n", chart.y_title, plain_table(&head, &rows))
}

/// Formats a mean with the decimals that two significant digits of its interval need.
fn rounded(mean: f64, error: f64) -> String {
    let decimals = (1.0 - error.log10().floor()).clamp(0.0, 9.0) as usize;
    format!("{mean:.decimals$}")
}

/// Returns a Markdown table of the figures and tables of a paper, with contents, verdicts and commands.
///
/// # Errors
/// If a pattern is invalid, which parsing of the claims excludes.
pub fn figures_markdown(paper: &str, claims: &Claims, results: &Results) -> Result<String, PatternError> {
    let row = |part: &Part| {
        let judged = part.judged(results);
        let count = |verdict: Verdict| judged.iter().filter(|judged| judged.verdict == verdict).count();
        let verdicts: Vec<String> = Verdict::ALL
            .into_iter()
            .filter(|verdict| count(*verdict) > 0)
            .map(|verdict| format!("{} {verdict}", count(verdict)))
            .collect();
        vec![
            part.called.clone(),
            part.contents(paper, claims),
            verdicts.join(", "),
            format!("`{}`", part.command(paper)),
        ]
    };
    let rows: Vec<Vec<String>> = Part::all(claims)?.iter().map(row).collect();
    let head = ["figure or table", "contents", "claims", "command"];
    let usage = format!(
        "`headway papers show {paper} NAME` prints the stored numbers and verdicts of a row. The command of the row runs or draws it \
         again; the stored results are those of `run` with `--full`."
    );
    Ok(format!("{}\n\n{}", wrapped(&usage), markdown_table(&head, &rows)))
}

impl Part {
    /// Describes the contents by the titles of pictures and tables, else by the first claim.
    fn contents(&self, paper: &str, claims: &Claims) -> String {
        let figures = claims.figures.iter().map(|figure| (&figure.name, &figure.title));
        let timelines = claims.timelines.iter().map(|timeline| (&timeline.name, &timeline.title));
        let titles = figures.chain(timelines).filter(|(name, _)| self.figures.contains(name)).map(|(_, title)| title);
        let plain = |title: &str| title.split_once(": ").map_or(title, |(_, what)| what).to_owned();
        let mut words: Vec<String> = titles.map(|title| plain(title)).collect();
        if words.is_empty() {
            words.extend(self.tables.iter().map(|title| plain(title)));
        }
        if words.is_empty() {
            words.extend(drawings::title(paper, &self.name).map(plain));
        }
        if words.is_empty() {
            let own = claims.claims.iter().filter(|claim| self.claims.contains(&claim.id));
            words.extend(own.take(1).map(|claim| claim.statement.clone()));
        }
        words.dedup();
        words.join("; ")
    }
}
