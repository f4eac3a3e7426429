//! Cells: a scenario with some keys set, run once for each seed.

use crate::pattern::{Bindings, PatternError, expand, fill};
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
    /// Returns the key of a profile without seeds.
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
    pub(crate) scenario: String,
    pub(crate) set: Vec<String>,
    pub(crate) quick: Vec<String>,
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
}
