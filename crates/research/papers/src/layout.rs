//! Tables and figures of `claims.toml`.

use crate::pattern::{Bindings, PatternError, expand};
use serde::Deserialize;

/// `[[table]]`: one metric of several cells.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Table {
    pub(crate) title: String,
    pub(crate) metric: String,
    /// Pattern whose names are the rows.
    pub(crate) rows: String,
    pub(crate) columns: Vec<Column>,
    #[serde(default)]
    pub(crate) note: String,
}

/// A column: one number per row, from one source.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Column {
    pub(crate) title: String,
    /// Pattern of the cell; it may use the row's variables.
    pub(crate) cell: String,
    pub(crate) from: From,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum From {
    Paper,
    Ns2,
    Headway,
}

impl Table {
    /// Returns the values of the variables, row by row.
    pub(crate) fn rows(&self) -> Result<Vec<Bindings>, PatternError> {
        Ok(expand(&self.rows, &Bindings::new())?.into_iter().map(|row| row.bindings).collect())
    }
}

/// `[[figure]]`: a metric over a list of places.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Figure {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) metric: String,
    pub(crate) x_title: String,
    pub(crate) y_title: String,
    /// Labels of the places on the horizontal axis.
    pub(crate) places: Vec<String>,
    /// Whether the vertical axis starts at zero.
    #[serde(default)]
    pub(crate) from_zero: bool,
    pub(crate) lines: Vec<Line>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Line {
    pub(crate) label: String,
    /// Metric of this line if it differs from the figure's.
    pub(crate) metric: Option<String>,
    /// Pattern of the cells, from the first place on.
    pub(crate) cells: String,
    /// The paper's numbers that no claim states because the paper only draws or implies them.
    #[serde(default)]
    pub(crate) paper: Vec<f64>,
}

/// `[[timeline]]`: sampled metrics over time, of the first run and as the mean of all runs.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Timeline {
    pub(crate) name: String,
    pub(crate) title: String,
    pub(crate) y_title: String,
    pub(crate) lines: Vec<Sampled>,
}

#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Sampled {
    pub(crate) label: String,
    pub(crate) cell: String,
    /// Entity of the series: a flow, a link, or a flow at a link.
    pub(crate) entity: String,
    pub(crate) metric: String,
    /// Factor by which the samples are multiplied.
    #[serde(default = "one")]
    pub(crate) times: f64,
}

fn one() -> f64 {
    1.0
}
