//! Cells: a scenario with some keys set, run once for each seed.

use crate::paper::Paper;
use crate::pattern::{Bindings, PatternError, expand, fill};
use headway_scenario::{Loaded, NoFiles, Override, ScenarioError, load};
use serde::Deserialize;

/// How much is run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// Enough for every claim.
    Default,
    /// More seeds, longer runs, and the sweeps over what the paper leaves open.
    Full,
}

impl Profile {
    /// What it is called.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Full => "full",
        }
    }
}

/// How many seeds, from 1 on.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Seeds {
    default: u64,
    full: u64,
}

impl Seeds {
    pub(crate) fn of(self, profile: Profile) -> u64 {
        match profile {
            Profile::Default => self.default,
            Profile::Full => self.full,
        }
    }
}

/// `[[cell]]`: many cells in one table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Grid {
    /// A pattern.
    pub(crate) name: String,
    scenario: String,
    /// What `--set` would be given, with the pattern's variables.
    #[serde(default)]
    set: Vec<String>,
    /// What the default profile sets besides, to be done sooner.
    #[serde(default)]
    quick: Vec<String>,
    /// Whether only the full profile runs it.
    #[serde(default)]
    full: bool,
    /// Whether nothing is drawn, so that one run says all.
    #[serde(default)]
    deterministic: bool,
}

/// A scenario with some keys set.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Its name, such as `droptail.tcp.3`.
    pub name: String,
    scenario: String,
    set: Vec<String>,
    quick: Vec<String>,
    full: bool,
    /// Whether nothing is drawn, so that one run says all.
    pub deterministic: bool,
}

impl Grid {
    pub(crate) fn cells(&self) -> Result<Vec<Cell>, PatternError> {
        let filled = |patterns: &[String], known: &Bindings| -> Result<Vec<String>, PatternError> {
            patterns.iter().map(|pattern| fill(pattern, known)).collect()
        };
        let cell = |name: String, known: &Bindings| {
            Ok(Cell {
                name,
                scenario: fill(&self.scenario, known)?,
                set: filled(&self.set, known)?,
                quick: filled(&self.quick, known)?,
                full: self.full,
                deterministic: self.deterministic,
            })
        };
        expand(&self.name, &Bindings::new())?.into_iter().map(|one| cell(one.name, &one.bindings)).collect()
    }
}

/// A cell that cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum CellError {
    /// The paper has no such scenario.
    #[error("cell \"{cell}\": there is no scenario \"{scenario}\"; known are {known}")]
    NoScenario {
        /// The cell.
        cell: String,
        /// What it asks for.
        scenario: String,
        /// What there is.
        known: String,
    },
    /// The scenario, or what is set in it, is wrong.
    #[error("cell \"{cell}\": {error}")]
    Scenario {
        /// The cell.
        cell: String,
        /// What is wrong.
        error: ScenarioError,
    },
}

impl Cell {
    /// Whether `profile` runs it.
    #[must_use]
    pub fn belongs_to(&self, profile: Profile) -> bool {
        !self.full || profile == Profile::Full
    }

    /// Whether `profile` sets more of it than the full one, to be done sooner.
    #[must_use]
    pub fn is_shortened(&self, profile: Profile) -> bool {
        profile == Profile::Default && !self.quick.is_empty()
    }

    /// Its run with this seed.
    ///
    /// # Errors
    /// If the paper's files do not make a scenario.
    pub fn load(&self, paper: &Paper, profile: Profile, seed: u64) -> Result<Loaded, CellError> {
        let text = paper.scenario(&self.scenario).ok_or_else(|| CellError::NoScenario {
            cell: self.name.clone(),
            scenario: self.scenario.clone(),
            known: paper.scenarios.iter().map(|(name, _)| *name).collect::<Vec<_>>().join(", "),
        })?;
        let wrong = |error| CellError::Scenario { cell: self.name.clone(), error };
        let quick = if self.is_shortened(profile) { self.quick.as_slice() } else { &[] };
        let seed = format!("seed={seed}");
        let overrides: Result<Vec<Override>, _> =
            self.set.iter().chain(quick).chain([&seed]).map(|set| set.parse()).collect();
        load(&self.scenario, text, &overrides.map_err(wrong)?, &NoFiles).map_err(wrong)
    }
}
