//! Loading a scenario: from a text to one run.

use crate::check;
use crate::document::{self, DocumentError, Value};
use crate::files::{Files, Traces};
use crate::limits::MAX_NAME_CHARS;
use crate::overrides::{self, Override};
use crate::path::Path;
use crate::plan::Run;
use crate::problem::{Problem, Problems, ScenarioError};
use crate::reader::Reader;
use crate::scenario::{self, Scenario, ScenarioTable};

/// Valid scenario with its resolved text and warnings.
#[derive(Clone, Debug, PartialEq)]
pub struct Loaded {
    /// The scenario as validated data, for one run.
    pub scenario: Scenario,
    /// Scenario file of this run with all default values and overrides applied and without `[vary]`. Loading it returns
    /// an equal [`Scenario`] if the named files are available.
    pub resolved_toml: String,
    /// Warnings about keys without effect.
    pub warnings: Vec<Problem>,
}

impl Loaded {
    /// Returns a copy with another seed. It equals the result of loading the scenario with that seed, but takes only
    /// microseconds of computing.
    #[must_use]
    pub fn with_seed(&self, seed: u64) -> Self {
        let scenario = Scenario { seed, ..self.scenario.clone() };
        let old = format!("\nseed = {}\n", self.scenario.seed);
        // The first match is the scenario's seed: only the name precedes it, and keys of tables follow.
        let resolved_toml = self.resolved_toml.replacen(&old, &format!("\nseed = {seed}\n"), 1);
        Self { scenario, resolved_toml, warnings: self.warnings.clone() }
    }
}

/// Parsed text of a scenario with its overrides applied.
#[derive(Debug)]
pub struct Document<'a> {
    pub(crate) file: &'a str,
    pub(crate) text: &'a str,
    pub(crate) overrides: &'a [Override],
    pub(crate) root: Value,
}

impl<'a> Document<'a> {
    /// Parses the scenario `text` of `file`, which is the name in error messages and, without `.toml`, the default of
    /// the key `name`.
    ///
    /// # Errors
    /// The text cannot be read, or an override cannot be applied.
    pub fn read(file: &'a str, text: &'a str, overrides: &'a [Override]) -> Result<Self, ScenarioError> {
        let mut problems = Problems::default();
        match overrides::document(text, overrides, &mut problems) {
            Some(root) => Ok(Self { file, text, overrides, root }),
            None => Err(problems.into_error(file, text)),
        }
    }

    /// Loads the scenario as one run. `[vary]` is ignored: [`plan`](Self::plan) returns its runs, which
    /// [`load_run`](Self::load_run) loads.
    ///
    /// # Errors
    /// All errors of the scenario that can be found despite the others.
    pub fn load(&self, files: &dyn Files) -> Result<Loaded, ScenarioError> {
        let Self { file, text, root, .. } = self;
        let mut reader = Reader::new(root);
        let mut traces = Traces::new(files);
        let mut read = |reader: &mut Reader<'_>| {
            let tables = scenario::read(reader, &default_name(file))?;
            let expanded = scenario::expand(reader, &tables, &mut traces)?;
            check::scenario(reader, &expanded);
            let resolved_toml = resolved(reader, &tables);
            Some((expanded, resolved_toml))
        };
        let Some((expanded, resolved_toml)) = read(&mut reader) else {
            return Err(reader.problems.into_error(file, text));
        };
        reader.problems.finish(file, text)?;
        let mut warnings = check::warnings(root, &expanded);
        traces.notes.into_iter().for_each(|(path, note)| warnings.value(root, &path, note));
        let warnings = warnings.listed(file, text);
        Ok(Loaded { scenario: expanded.scenario, resolved_toml, warnings })
    }

    /// Loads one of the runs of the [`plan`](Self::plan).
    ///
    /// # Errors
    /// The errors of [`load`](Self::load).
    pub fn load_run(&self, run: &Run, files: &dyn Files) -> Result<Loaded, ScenarioError> {
        if run.overrides.len() == self.overrides.len() {
            return self.load(files);
        }
        Document::read(self.file, self.text, &run.overrides)?.load(files)
    }
}

/// Loads the scenario `text` as one run: [`Document::read`] and [`Document::load`]. `file` is the name in error
/// messages; without `.toml` it is the default of the key `name`.
///
/// # Errors
/// The errors of both.
pub fn load(file: &str, text: &str, overrides: &[Override], files: &dyn Files) -> Result<Loaded, ScenarioError> {
    Document::read(file, text, overrides)?.load(files)
}

/// Returns the default name of a scenario: the file name without folder and extension.
fn default_name(file: &str) -> String {
    let stem = file.rsplit(['/', '\\']).next().unwrap_or_default();
    let stem = stem.strip_suffix(".toml").unwrap_or(stem);
    let plain = |c: char| if c.is_alphanumeric() || matches!(c, '_' | '-' | '.') { c } else { '-' };
    let name: String = stem.chars().take(MAX_NAME_CHARS).map(plain).collect();
    if name.is_empty() { "scenario".to_owned() } else { name }
}

fn resolved(reader: &mut Reader<'_>, tables: &ScenarioTable) -> String {
    let text = toml::to_string(tables).map_err(DocumentError::from);
    let checked = text.and_then(|text| document::check_size(&text).map(|()| text));
    checked.unwrap_or_else(|error| {
        reader.wrong(&Path::default(), format!("with all presets written out, {error}"));
        String::new()
    })
}
