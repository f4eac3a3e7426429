//! Figures that need no runs. Networks, regions of RED and packet timelines are drawn from the paper's scenarios, state
//! machines from lists of states and transitions.

mod canvas;
mod graph;
mod labels;
mod network;
mod of_papers;
mod regions;
mod times;

use crate::cell::{Cell, Profile};
use crate::claims::ClaimsError;
use crate::load::CellError;
use crate::paper::Paper;
use headway_scenario::{NoFiles, Scenario};

pub use graph::Transition;
pub use of_papers::{UDPM_RECEIVER, UDPM_SENDER};

/// A drawn figure.
#[derive(Clone, Debug)]
pub struct Drawing {
    /// Name, such as `fig2`; also the name of the file.
    pub name: String,
    /// Title of the figure.
    pub title: String,
    /// The figure as SVG text.
    pub svg: String,
}

/// Error while drawing a figure.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum DrawingError {
    #[error(transparent)]
    Claims(#[from] ClaimsError),
    #[error(transparent)]
    Cell(#[from] CellError),
    #[error("{paper}: no cell whose name starts with \"{cell}\" has {what}")]
    Missing { paper: String, cell: &'static str, what: &'static str },
}

/// Returns the figures of a paper that are drawn without a simulation; only built-in papers have such figures.
///
/// # Errors
/// If the paper's files do not have the scenarios that the figures show.
pub fn drawings(paper: &Paper) -> Result<Vec<Drawing>, DrawingError> {
    of_papers::figures(&paper.id).iter().map(|figure| figure.draw(paper)).collect()
}

/// Returns the title of the drawn figure of this part of a paper, if it has one.
pub(crate) fn title(paper: &str, part: &str) -> Option<&'static str> {
    of_papers::title(paper, part)
}

/// Returns the scenario of the first cell whose name starts with `cell`.
fn scenario(paper: &Paper, cell: &'static str, what: &'static str) -> Result<Scenario, DrawingError> {
    let claims = paper.claims()?;
    let found: Option<&Cell> = claims.cells.iter().find(|known| known.name.starts_with(cell));
    let found = found.ok_or_else(|| DrawingError::Missing { paper: paper.id.to_string(), cell, what })?;
    Ok(found.load(paper, Profile::Default, 1, &NoFiles)?.scenario)
}
