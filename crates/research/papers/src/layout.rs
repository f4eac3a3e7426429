//! What `claims.toml` says of tables and figures.

use crate::pattern::{Bindings, PatternError, expand};
use serde::Deserialize;

/// `[[table]]`: a metric of many cells.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) metric: String,
    /// A pattern: a row for each of its names.
    pub(crate) rows: String,
    pub(crate) columns: Vec<Column>,
    /// What stands below it.
    #[serde(default)]
    pub(crate) note: String,
}

/// One column: a number of a cell, from one of three places.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Column {
    pub(crate) title: String,
    /// The cell, with the variables of the row.
    pub(crate) cell: String,
    pub(crate) from: From,
}

/// Where a number is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum From {
    Paper,
    Ns2,
    Headway,
}

impl Table {
    /// What the variables stand for, row by row.
    pub(crate) fn rows(&self) -> Result<Vec<Bindings>, PatternError> {
        Ok(expand(&self.rows, &Bindings::new())?.into_iter().map(|row| row.bindings).collect())
    }
}

/// `[[figure]]`: a metric over something.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) metric: String,
    pub(crate) x_title: String,
    pub(crate) y_title: String,
    /// What stands below the places of the points.
    pub(crate) places: Vec<String>,
    /// Whether the vertical axis begins at zero.
    #[serde(default)]
    pub(crate) from_zero: bool,
    pub(crate) lines: Vec<Line>,
}

/// The points of one colour.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    pub(crate) label: String,
    /// Another metric than the figure's.
    pub(crate) metric: Option<String>,
    /// A pattern: the cells at the first places.
    pub(crate) cells: String,
    /// The paper's numbers that no claim holds, because the paper only draws or implies them.
    #[serde(default)]
    pub(crate) paper: Vec<f64>,
}

/// `[[timeline]]`: what was sampled over time, in the first run and as the mean of all.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Timeline {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) y_title: String,
    pub(crate) lines: Vec<Sampled>,
}

/// One line of a timeline.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sampled {
    pub(crate) label: String,
    pub(crate) cell: String,
    /// Of the series: a flow, a link, a flow at a link.
    pub(crate) entity: String,
    /// Of the series.
    pub(crate) metric: String,
    /// What the samples are multiplied by.
    #[serde(default = "one")]
    pub(crate) times: f64,
}

fn one() -> f64 {
    1.0
}
