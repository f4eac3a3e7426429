//! The plan of a scenario: its runs and the columns of their table.

use crate::document::{Data, Value};
use crate::load::Document;
use crate::overrides::{Override, resolve};
use crate::path::{Path, Step};
use crate::problem::{Place, ScenarioError};
use crate::quantity::{self, Cell};
use crate::reader::Reader;
use crate::vary::{self, Axis};
use crate::vary_option::Vary;
use std::sync::Arc;

/// Runs of a scenario in the order of its `[vary]`: the seed changes fastest, then the last key.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    /// Keys that vary, without the seed, in the order of `[vary]`.
    pub columns: Vec<Column>,
    /// Runs; there is at least one.
    pub runs: Vec<Run>,
}

/// A key that varies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Column {
    /// Key, as written in the scenario or after `--vary`.
    pub key: String,
    /// Unique short name: the last part of the key, or as many parts as needed; letters, digits, `_`, `-` and `.`.
    pub name: String,
    /// Unit of its [cells](Run::values) if they have one: `bps`, `s`, `B`, `packets`, `1`, `ppb` or `ppb/h`.
    pub unit: Option<&'static str>,
}

/// One run of a [`Plan`].
#[derive(Clone, Debug, PartialEq)]
pub struct Run {
    /// Text with the varied values of the run, such as `link[0].rate=2Mbps seed=3`; empty if nothing varies.
    pub label: String,
    /// Keys that vary, each with its value as a string.
    pub varied: Vec<(String, String)>,
    /// Values of the varied keys, in the order of [`Plan::columns`].
    pub values: Vec<Cell>,
    /// Seed of the run; `None` if the seed does not vary, so that it is that of the scenario.
    pub seed: Option<u64>,
    /// Index, from 0, of the combination of varied values; runs that differ only in the seed have equal indices.
    pub point: usize,
    /// Overrides with which the run is [loaded](crate::load): those of the plan, then the values that vary.
    pub overrides: Vec<Override>,
}

/// Returns the runs of the scenario `text`: [`Document::read`] and [`Document::plan`]. `file` is the name in error
/// messages.
///
/// # Errors
/// The errors of both.
pub fn plan(file: &str, text: &str, overrides: &[Override], varies: &[Vary]) -> Result<Plan, ScenarioError> {
    Document::read(file, text, overrides)?.plan(varies)
}

impl Document<'_> {
    /// Returns the runs of the scenario. A key that an override sets does not vary. An entry of `varies` replaces that
    /// of `[vary]` with the same key, or is appended. A key that both the overrides and `varies` name is an error.
    ///
    /// # Errors
    /// `[vary]` or `varies` is invalid. The errors of a run are reported when it is [loaded](Self::load_run).
    pub fn plan(&self, varies: &[Vary]) -> Result<Plan, ScenarioError> {
        planned(self, varies)
    }
}

fn planned(document: &Document<'_>, varies: &[Vary]) -> Result<Plan, ScenarioError> {
    let Document { file, text, overrides, root } = document;
    let is_varied = |key: &str| varies.iter().any(|vary| vary.key == key);
    if is_varied("seeds") && is_varied("seed") {
        let message = "seeds already sets the seeds: leave one of the two out";
        return Err(ScenarioError::new("", Place::Vary("seed".to_owned()), message));
    }
    for (index, vary) in varies.iter().enumerate() {
        if let Some(first) = varies[..index].iter().find(|first| vary::is_same_key(root, &first.key, &vary.key)) {
            let message = format!("{} is varied twice: write all of its values in one place", first.key);
            return Err(ScenarioError::new("", vary.place(), message));
        }
    }
    let mut reader = Reader::new(root);
    let mut varied = vary::read(&mut reader, varies);
    let set: Vec<Path> = overrides.iter().filter_map(|set| resolve(root, &set.path).ok()).flatten().collect();
    for vary in varies {
        let key = if vary.key == "seeds" { "seed" } else { &vary.key };
        let places = Path::parse(key).ok().and_then(|path| resolve(root, &path).ok()).unwrap_or_default();
        if places.iter().any(|place| set.contains(place)) {
            let message = format!("{key} is already set: leave one of the two out");
            return Err(ScenarioError::new("", vary.place(), message));
        }
    }
    varied.without(root, &set);
    let points = if reader.problems.is_empty() { varied.points(&mut reader) } else { Vec::new() };
    reader.problems.finish(file, text)?;

    let (columns, filled) = columns(&varied.axes);
    let seed_path = Arc::new(Path::default().key("seed"));
    let seeds: Vec<Option<&Arc<Value>>> = match &varied.seeds {
        Some(seeds) => seeds.iter().map(Some).collect(),
        None => vec![None],
    };
    let mut runs = Vec::with_capacity(points.len() * seeds.len());
    for (point, places) in points.iter().enumerate() {
        let (mut words, mut values, mut sets) = (Vec::new(), Vec::new(), overrides.to_vec());
        for (column, filled) in columns.iter().zip(&filled) {
            let place = places[filled.axis];
            words.push((column.key.clone(), filled.labels[place].clone()));
            values.push(filled.cells[place].clone());
            let value = vary::unlabelled(&varied.axes[filled.axis].values(filled.key)[place]);
            sets.push(Override { path: Arc::clone(&varied.axes[filled.axis].keys[filled.key].path), value });
        }
        for seed in &seeds {
            let (mut words, mut sets, mut number) = (words.clone(), sets.clone(), None);
            if let Some(seed) = seed {
                words.push(("seed".to_owned(), vary::labels(&[Arc::clone(seed)]).concat()));
                sets.push(Override { path: Arc::clone(&seed_path), value: Arc::clone(seed) });
                number = match seed.data {
                    Data::Integer(seed) => u64::try_from(seed).ok(),
                    _ => None,
                };
            }
            let label = words.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(" ");
            runs.push(Run { label, varied: words, values: values.clone(), seed: number, point, overrides: sets });
        }
    }
    Ok(Plan { columns, runs })
}

/// Values of a column, with the index of its axis and of its key in the axis.
struct ColumnValues {
    axis: usize,
    key: usize,
    labels: Vec<String>,
    cells: Vec<Cell>,
}

fn columns(axes: &[Axis]) -> (Vec<Column>, Vec<ColumnValues>) {
    let paths: Vec<&Path> = axes.iter().flat_map(|axis| &axis.keys).map(|key| &*key.path).collect();
    let mut names = names(&paths).into_iter();
    let (mut columns, mut filled) = (Vec::new(), Vec::new());
    for (number, axis) in axes.iter().enumerate() {
        for key in 0..axis.keys.len() {
            let values = axis.values(key);
            let labels = vary::labels(values);
            let (unit, cells) = quantity::cells(values.iter().map(|value| &**value), labels.iter().map(String::as_str));
            let name = names.next().unwrap_or_default();
            columns.push(Column { key: axis.keys[key].path.to_string(), name, unit });
            filled.push(ColumnValues { axis: number, key, labels, cells });
        }
    }
    (columns, filled)
}

/// Returns unique short names: the last steps of each path, as many as are needed to be unique.
fn names(paths: &[&Path]) -> Vec<String> {
    let deepest = paths.iter().map(|path| path.0.len()).max().unwrap_or(1);
    let name = |path: &Path, depth: usize| {
        let steps = &path.0[path.0.len().saturating_sub(depth)..];
        // An index is ambiguous without the key before it, and a star is omitted.
        let steps = match steps.first() {
            Some(Step::Element(_)) if steps.len() == 1 => &path.0[path.0.len().saturating_sub(2)..],
            _ => steps,
        };
        let word = |step: &Step| match step {
            Step::Key(key) => Some(key.clone()),
            Step::Element(element) => Some(plain(element)).filter(|element| !element.is_empty()),
        };
        steps.iter().filter_map(word).collect::<Vec<_>>().join(".")
    };
    let taken = |name: &str, at: usize, depth: usize, name_of: &dyn Fn(&Path, usize) -> String| {
        name == "seed" || paths.iter().enumerate().any(|(other, path)| other != at && name_of(path, depth) == *name)
    };
    let short = |(at, path): (usize, &&Path)| {
        let clear = (1..=deepest).map(|depth| (depth, name(path, depth)));
        let clear = clear.into_iter().find(|(depth, text)| !taken(text, at, *depth, &name));
        clear.map_or_else(|| format!("{}-{}", name(path, deepest), at + 1), |(_, text)| text)
    };
    paths.iter().enumerate().map(short).collect()
}

/// Returns the name of an element without characters that column names cannot have.
fn plain(element: &str) -> String {
    let text = element.replace("->", "-");
    let text: String = text
        .chars()
        .filter(|c| *c != '*')
        .map(|c| if c.is_alphanumeric() || "_-.".contains(c) { c } else { '_' })
        .collect();
    text.trim_matches(['-', '.']).to_owned()
}
