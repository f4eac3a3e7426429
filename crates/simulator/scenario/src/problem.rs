//! Errors and warnings of scenarios, with their place in the text.

use crate::document::{Origin, Value};
use crate::path::Path;
use crate::suggest::{printable, quoted};
use std::fmt;

/// Place of a problem: in the scenario, or in an argument of the command line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Place {
    /// The whole text of the scenario.
    File,
    /// Line and column in the text of the scenario.
    Line {
        /// Number of the line, from 1.
        line: usize,
        /// Number of the column in the line, in characters, from 1.
        column: usize,
    },
    /// Key of an override, as written after `--set`.
    Set(String),
    /// Key that varies, as written after `--vary`.
    Vary(String),
    /// Command-line option that sets a key, such as `--rate`.
    Option(String),
}

impl Place {
    /// Returns the key without the part that the place already shows.
    fn rest<'k>(&self, key: &'k str) -> &'k str {
        match self {
            Self::File | Self::Line { .. } => key,
            // `--set link[0].rate: link[0].rate: ...` would repeat the key.
            Self::Set(set) if set == key => "",
            Self::Set(_) => key,
            Self::Vary(varied) => match key.strip_prefix("vary") {
                Some(within) => {
                    within.split_once(varied.as_str()).map_or("", |(_, rest)| rest.trim_matches(['.', '"']))
                }
                None if varied == key => "",
                None => key,
            },
            // `--queue red` sets `link[0].queue`, which the user has not written.
            Self::Option(option) => {
                let below = key.rsplit_once("].").map_or(key, |(_, below)| below);
                let below = below.strip_prefix("vary.").unwrap_or(below);
                let name = option.rsplit("--").next().unwrap_or_default();
                below.strip_prefix(name).map_or(below, |rest| rest.trim_start_matches('.'))
            }
        }
    }
}

/// Error or warning about a scenario.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// Name of the scenario file; empty for a command-line argument.
    pub file: String,
    /// Place in the file or on the command line.
    pub place: Place,
    /// Key that the problem concerns, such as `link[0].queue.limit`; empty if there is none.
    pub key: String,
    /// What is wrong and what is allowed.
    pub message: String,
    /// Line of the scenario's text with the problem, with carets below it; `None` without such a line.
    pub snippet: Option<String>,
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let file = printable(&self.file);
        match &self.place {
            Place::File => write!(f, "{file}: ")?,
            Place::Line { line, column } => write!(f, "{file}:{line}:{column}: ")?,
            Place::Set(set) => write!(f, "--set {}: ", printable(set))?,
            Place::Vary(vary) => write!(f, "--vary {}: ", printable(vary))?,
            Place::Option(option) => write!(f, "{}: ", printable(option))?,
        }
        let key = self.place.rest(&self.key);
        if !key.is_empty() {
            write!(f, "{}: ", printable(key))?;
        }
        // The message may quote the text.
        f.write_str(&printable(&self.message))?;
        if let Some(snippet) = &self.snippet {
            write!(f, "\n{snippet}")?;
        }
        Ok(())
    }
}

/// Errors of a scenario in the order of its text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct ScenarioError {
    /// Problems, in the order of the text; there is at least one.
    pub problems: Vec<Problem>,
    /// Whether there may be more problems: checking stopped at the maximum number.
    pub more: bool,
}

impl ScenarioError {
    /// Creates an error of one problem at `place` of `file`, which is empty for a command-line argument.
    pub fn new(file: &str, place: Place, message: impl ToString) -> Self {
        let (file, key, message) = (file.to_owned(), String::new(), message.to_string());
        let problem = Problem { file, place, key, message, snippet: None };
        Self { problems: vec![problem], more: false }
    }
}

impl fmt::Display for ScenarioError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (position, problem) in self.problems.iter().enumerate() {
            if position > 0 {
                f.write_str("\n")?;
            }
            problem.fmt(f)?;
        }
        if self.more {
            f.write_str("\nand more")?;
        }
        Ok(())
    }
}

/// Problem whose line has not been determined.
struct Unplaced {
    origin: Origin,
    key: String,
    message: String,
    /// Override that makes the text invalid, and the value that it sets.
    cause: Option<(Origin, String)>,
}

impl Unplaced {
    fn new(origin: Origin, key: String, message: String) -> Self {
        Self { origin, key, message, cause: None }
    }

    /// Returns the origin by which problems are sorted.
    fn sort_origin(&self) -> &Origin {
        self.cause.as_ref().map_or(&self.origin, |(origin, _)| origin)
    }
}

/// Problems found while reading.
#[derive(Default)]
pub(crate) struct Problems {
    found: Vec<Unplaced>,
    more: bool,
    /// Command-line argument that is being read; `None` for the document.
    argument: Option<Origin>,
}

/// Maximum number of reported problems.
const MAX_PROBLEMS: usize = 20;

impl Problems {
    /// Sets the origin of the following problems: a command-line argument, or the document for any other origin.
    pub(crate) fn set_argument(&mut self, origin: &Origin) {
        self.argument = matches!(origin, Origin::Vary(..) | Origin::Option(_)).then(|| origin.clone());
    }

    /// Adds a problem of the value at `path`, which may be missing.
    pub(crate) fn value(&mut self, root: &Value, path: &Path, message: impl ToString) {
        if self.has_room() {
            let origin = self.argument.clone().unwrap_or_else(|| root.locate(path));
            self.found.push(Unplaced::new(origin, path.to_string(), message.to_string()));
        }
    }

    /// Adds a problem of a key that is not allowed. The message names the key; the path of the problem is the table.
    pub(crate) fn key(&mut self, root: &Value, table: &Path, key: &str, message: impl ToString) {
        if self.has_room() {
            let origin = self.argument.clone().unwrap_or_else(|| root.locate_key(&table.key(key)));
            self.found.push(Unplaced::new(origin, table.to_string(), message.to_string()));
        }
    }

    /// Adds a problem at `origin`.
    pub(crate) fn at(&mut self, origin: Origin, key: &str, message: impl ToString) {
        if self.has_room() {
            self.found.push(Unplaced::new(origin, key.to_owned(), message.to_string()));
        }
    }

    /// Attributes the newest problem to an override that sets `value`, if the problem is in the text.
    pub(crate) fn attribute(&mut self, cause: &Origin, value: &str) {
        if let Some(newest) = self.found.last_mut().filter(|newest| matches!(newest.origin, Origin::Text(_))) {
            newest.cause = Some((cause.clone(), value.to_owned()));
        }
    }

    fn has_room(&mut self) -> bool {
        self.more |= self.is_full();
        !self.is_full()
    }

    /// Returns whether checking should stop.
    pub(crate) fn is_full(&self) -> bool {
        self.found.len() >= MAX_PROBLEMS
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.found.is_empty()
    }

    /// Returns the problems in the order of `text`, each with its line.
    pub(crate) fn listed(mut self, file: &str, text: &str) -> Vec<Problem> {
        self.found.sort_by_key(|found| match found.sort_origin() {
            Origin::Set(_) | Origin::Option(_) => (0, 0),
            Origin::Vary(_, number) => (1, *number),
            Origin::Text(span) => (2, span.start),
            Origin::Preset => (3, 0),
        });
        let place = |origin: &Origin| match origin {
            Origin::Preset => (Place::File, None),
            Origin::Set(set) => (Place::Set(set.to_string()), None),
            Origin::Vary(vary, _) => (Place::Vary(vary.to_string()), None),
            Origin::Option(option) => (Place::Option(option.to_string()), None),
            Origin::Text(span) => show(text, span.start, span.end),
        };
        let listed = self.found.into_iter().map(|Unplaced { origin, key, message, cause }| {
            let (own, snippet) = place(&origin);
            let Some((cause, value)) = cause else {
                return Problem { file: file.to_owned(), place: own, key, message, snippet };
            };
            let at = match own {
                Place::Line { line, column } => format!("{file}:{line}:{column}"),
                _ => file.to_owned(),
            };
            let message = format!("\"{}\" does not fit {at}: {key}: {message}", quoted(&value));
            Problem { file: file.to_owned(), place: place(&cause).0, key: String::new(), message, snippet }
        });
        listed.collect()
    }

    pub(crate) fn into_error(self, file: &str, text: &str) -> ScenarioError {
        // At the maximum, checks may have been skipped.
        let more = self.more || self.is_full();
        ScenarioError { problems: self.listed(file, text), more }
    }

    /// Returns an error if there are problems.
    pub(crate) fn finish(self, file: &str, text: &str) -> Result<(), ScenarioError> {
        if self.is_empty() { Ok(()) } else { Err(self.into_error(file, text)) }
    }
}

/// Returns line and column of the bytes from `start` to `end`, and the line with carets below them.
fn show(text: &str, start: usize, end: usize) -> (Place, Option<String>) {
    /// Maximum number of characters shown; longer lines are cut around the carets.
    const WIDTH: usize = 120;
    let start = text.floor_char_boundary(start);
    let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
    let line = text[..line_start].matches('\n').count() + 1;
    let before = text[line_start..start].chars().count();
    let content = text[line_start..].lines().next().unwrap_or("");
    let end_of_line = line_start + content.len();
    let marked = text[start..text.floor_char_boundary(end.clamp(start, end_of_line.max(start)))].chars().count();

    let first = if content.chars().count() > WIDTH { before.saturating_sub(WIDTH / 2) } else { 0 };
    let shown: String = content.chars().skip(first).take(WIDTH).map(|c| if c.is_control() { ' ' } else { c }).collect();
    let number = line.to_string();
    let carets = "^".repeat(marked.clamp(1, WIDTH - (before - first).min(WIDTH - 1)));
    let snippet = format!(
        "  {number} | {shown}\n  {:gutter$} | {:indent$}{carets}",
        "",
        "",
        gutter = number.len(),
        indent = before - first
    );
    (Place::Line { line, column: before + 1 }, Some(snippet))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_problem_shows_its_line() {
        let text = "a = 1\n  bé = \"2Mb\"\n";
        let start = text.find("\"2").unwrap();
        let (place, snippet) = show(text, start, start + 5);
        assert_eq!(place, Place::Line { line: 2, column: 8 });
        assert_eq!(snippet.unwrap(), "  2 |   bé = \"2Mb\"\n    |        ^^^^^");
    }

    /// The error of `headway proxy --queue red,limti=3` named `--set link[0].queue.limti`.
    #[test]
    fn errors_of_options_omit_the_key_that_they_set() {
        for (option, key, shown) in [
            ("--rate", "link[0].rate", "--rate: wrong"),
            ("--queue", "link[a->b].queue.limit", "--queue: limit: wrong"),
            ("--queue", "link[0].queue", "--queue: wrong"),
            ("--seeds", "vary.seeds", "--seeds: wrong"),
            ("--seed", "", "--seed: wrong"),
            ("--rate", "link[0]", "--rate: link[0]: wrong"),
            ("--link a->b --rate", "link[a->b].rate", "--link a->b --rate: wrong"),
        ] {
            let problem = Problem {
                file: "f".to_owned(),
                place: Place::Option(option.to_owned()),
                key: key.to_owned(),
                message: "wrong".to_owned(),
                snippet: None,
            };
            assert_eq!(problem.to_string(), shown);
        }
    }

    proptest! {
        #[test]
        fn snippets_of_any_range_have_two_lines(text in "[ab\\n\\r\\té]{0,300}", start in 0usize..400, length in 0usize..400) {
            let start = start.min(text.len());
            let (_, snippet) = show(&text, start, start + length);
            prop_assert!(snippet.unwrap().lines().count() == 2);
        }
    }
}
