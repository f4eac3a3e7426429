//! Cells: experiments of a paper. A cell is a scenario with some keys set, run once for each seed.

use crate::pattern::{Bindings, PatternError, expand, fill};
use serde::Deserialize;

/// Extent of the runs of a paper's experiments (cells).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Profile {
    /// The default profile: enough runs to judge every claim of the paper.
    Default,
    /// The full profile: more seeds, longer runs, and sweeps over parameters that the paper does not state.
    Full,
}

impl Profile {
    /// Returns the name of the profile, as in `results.json`.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Default => "default",
            Self::Full => "full",
        }
    }
}

/// Number of seeds of each profile; seeds start at 1.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Seeds {
    default: u64,
    full: u64,
}

impl Seeds {
    /// Returns the key of a profile that has no seeds.
    pub(crate) fn empty_profile(self) -> Option<&'static str> {
        [("default", self.default), ("full", self.full)].into_iter().find(|(_, seeds)| *seeds == 0).map(|(key, _)| key)
    }

    pub(crate) fn of(self, profile: Profile) -> u64 {
        match profile {
            Profile::Default => self.default,
            Profile::Full => self.full,
        }
    }
}

/// `[[cell]]`: several cells in one table.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Grid {
    /// Pattern of the cell names.
    pub(crate) name: String,
    scenario: String,
    /// Overrides as for `--set`; they may use the pattern's variables.
    #[serde(default)]
    set: Vec<String>,
    /// Further overrides of the default profile that shorten its runs.
    #[serde(default)]
    quick: Vec<String>,
    /// Whether only the full profile runs the cells.
    #[serde(default)]
    full: bool,
    /// Whether the results do not depend on the seed, so that one run of the cell is enough.
    #[serde(default)]
    deterministic: bool,
}

/// A cell: an experiment of a paper, which is a scenario with some keys set, run once for each seed.
#[derive(Clone, Debug, PartialEq)]
pub struct Cell {
    /// Name of the cell, such as `droptail.tcp.3`.
    pub name: String,
    pub(crate) scenario: String,
    pub(crate) set: Vec<String>,
    pub(crate) quick: Vec<String>,
    full: bool,
    /// Whether the results do not depend on the seed, so that one run of the cell is enough.
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

impl Cell {
    /// Returns whether `profile` runs the cell (experiment). The full profile runs all cells; the default profile omits
    /// cells with `full = true` in `claims.toml`.
    #[must_use]
    pub fn belongs_to(&self, profile: Profile) -> bool {
        !self.full || profile == Profile::Full
    }

    /// Returns whether `profile` shortens the runs of the cell. The default profile does so for cells with `quick` in
    /// `claims.toml`, a list of additional keys that it sets in the scenario.
    #[must_use]
    pub fn is_shortened(&self, profile: Profile) -> bool {
        profile == Profile::Default && !self.quick.is_empty()
    }
}
