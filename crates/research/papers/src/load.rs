//! Loads the scenario of a cell.

use crate::cell::{Cell, Profile};
use crate::paper::Paper;
use headway_scenario::{Files, Loaded, Override, ScenarioError, load};

/// Reason why a cell (experiment) cannot be run.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum CellError {
    #[error("cell \"{cell}\": there is no scenario \"{scenario}\"; expected one of {known}")]
    NoScenario { cell: String, scenario: String, known: String },
    #[error("cell \"{cell}\": {error}")]
    Scenario { cell: String, error: ScenarioError },
}

impl Cell {
    /// Loads the scenario of the cell (experiment) for `seed`, shortened if the profile [shortens](Self::is_shortened)
    /// it. `files` reads the files that scenarios name; those of the built-in papers name none.
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

#[cfg(test)]
mod tests {
    use super::*;
    use headway_scenario::NoFiles;

    const SCENARIO: &str = "duration = \"1s\"\n[[link]]\nbetween = [\"a\", \"b\"]\nrate = \"1Mbps\"\ndelay = \"5ms\"\n[[flow]]\n\
                            name = \"f\"\nfrom = \"a\"\nto = \"b\"\ntransport = { kind = \"tcp-reno\" }\nsource = { kind = \"ftp\" }\n";

    /// The keys of a cell, and in a shorter profile those of `quick`, override the scenario.
    #[test]
    fn a_cell_is_a_scenario_with_keys() {
        let paper = |set: &str| {
            let claims = format!(
                "title = \"t\"\nsource = \"s\"\nabout = \"a\"\nclaim = []\nseeds = {{ default = 2, full = 3 }}\n[[cell]]\nname = \"c\"\n\
                 scenario = \"s\"\nset = [{set}]\nquick = [\"duration=2s\"]\n"
            );
            Paper::of_folder("x".to_owned(), claims, [("s".to_owned(), SCENARIO.to_owned())].into(), String::new())
        };
        let found = paper("\"link[0].delay=7ms\"");
        let claims = found.claims().unwrap();
        for (profile, seconds) in [(Profile::Default, 2), (Profile::Full, 1)] {
            let scenario = claims.cells[0].load(&found, profile, 9, &NoFiles).unwrap().scenario;
            assert_eq!((scenario.seed, scenario.duration), (9, headway_units::Duration::from_secs(seconds)));
            assert_eq!(scenario.links[0].delay, headway_units::Duration::from_millis(7));
        }
        assert!(found.results().is_none() && found.ns2().unwrap().iter().next().is_none());
        let wrong = paper("\"link[9].delay=7ms\"");
        let error = wrong.claims().unwrap().cells[0].load(&wrong, Profile::Full, 1, &NoFiles).unwrap_err();
        assert!(matches!(&error, CellError::Scenario { cell, .. } if cell == "c"), "{error}");
        let other = Paper::of_folder("x".to_owned(), String::new(), [].into(), String::new());
        let error = claims.cells[0].load(&other, Profile::Full, 1, &NoFiles).unwrap_err();
        assert!(
            matches!(&error, CellError::NoScenario { cell, scenario, .. } if (&cell[..], &scenario[..]) == ("c", "s"))
        );
    }
}
