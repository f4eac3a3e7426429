//! From a cell to a scenario.

use crate::cell::{Cell, Profile};
use crate::paper::Paper;
use headway_scenario::{Files, Loaded, Override, ScenarioError, load};

/// A cell that cannot be run.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum CellError {
    #[error("cell \"{cell}\": there is no scenario \"{scenario}\"; known are {known}")]
    NoScenario { cell: String, scenario: String, known: String },
    #[error("cell \"{cell}\": {error}")]
    Scenario { cell: String, error: ScenarioError },
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
