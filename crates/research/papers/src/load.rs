//! Loads the scenario of a cell.

use crate::cell::{Cell, Profile};
use crate::paper::Paper;
use headway_scenario::{Files, Loaded, Override, ScenarioError, load};

/// A cell that cannot be run.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum CellError {
    #[error("cell \"{cell}\": there is no scenario \"{scenario}\"; expected one of {known}")]
    NoScenario { cell: String, scenario: String, known: String },
    #[error("cell \"{cell}\": {error}")]
    Scenario { cell: String, error: ScenarioError },
}

impl Cell {
    /// Loads the scenario of the cell for `seed`. `files` resolves files that scenarios refer to; the built-in papers
    /// refer to none.
    ///
    /// # Errors
    /// If the paper has no such scenario, or the scenario with the cell's keys is invalid.
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
