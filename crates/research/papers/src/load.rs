//! From a cell to a scenario.

use crate::cell::{Cell, Profile};
use crate::paper::Paper;
use headway_scenario::{Files, Loaded, Override, ScenarioError, load};

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
    /// Its run with this seed. `files` are those that the paper's scenarios name: those of the papers here name none.
    ///
    /// # Errors
    /// If the paper's files do not make a scenario.
    pub fn load(&self, paper: &Paper, profile: Profile, seed: u64, files: &dyn Files) -> Result<Loaded, CellError> {
        let text = paper.scenario(&self.scenario).ok_or_else(|| CellError::NoScenario {
            cell: self.name.clone(),
            scenario: self.scenario.clone(),
            known: paper.scenarios.iter().map(|(name, _)| name.as_ref()).collect::<Vec<_>>().join(", "),
        })?;
        let wrong = |error| CellError::Scenario { cell: self.name.clone(), error };
        let quick = if self.is_shortened(profile) { self.quick.as_slice() } else { &[] };
        let seed = format!("seed={seed}");
        let overrides: Result<Vec<Override>, _> =
            self.set.iter().chain(quick).chain([&seed]).map(|set| set.parse()).collect();
        load(&self.scenario, text, &overrides.map_err(wrong)?, files).map_err(wrong)
    }
}
