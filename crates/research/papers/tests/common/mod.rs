//! Helpers for the tests of several papers.

use headway_papers::{Cell, Paper, Profile};
use headway_scenario::NoFiles;
use headway_scenario::{Link, Scenario};

/// Returns the cells of a paper whose names start with `prefix`, with their scenarios.
pub(crate) fn scenarios(paper: &Paper, prefix: &str) -> Vec<(String, Scenario)> {
    let cells = paper.claims().unwrap().cells;
    let load = |cell: &Cell| (cell.name.clone(), cell.load(paper, Profile::Full, 1, &NoFiles).unwrap().scenario);
    let found: Vec<_> = cells.iter().filter(|cell| cell.name.starts_with(prefix)).map(load).collect();
    assert!(!found.is_empty(), "{prefix}");
    found
}

pub(crate) fn link<'a>(scenario: &'a Scenario, from: &str, to: &str) -> &'a Link {
    let name = |node: usize| scenario.nodes[node].as_str();
    scenario.links.iter().find(|link| name(link.from) == from && name(link.to) == to).unwrap()
}
