//! Figures and their errors.

use super::{RenderError, Style};
use crate::{LabelError, axis_title, check_label};

/// A drawn figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Name of the figure, usable as a file name, such as `throughput`.
    pub name: String,
    /// The figure as SVG text.
    pub svg: String,
}

/// Returns the title of the vertical axis of a figure and its scale, as [`axis_title`] does.
pub(super) fn y_axis_title(
    name: &str,
    title: &str,
    unit: Option<&str>,
    largest: f64,
    style: &Style,
) -> Result<(String, f64), PlotError> {
    let label = style.y_title.as_deref();
    if let (Some(label), Some(unit)) = (label, unit) {
        check_label(label, unit).map_err(|error| PlotError::Label { name: name.to_owned(), error })?;
    }
    Ok(axis_title(title, unit, largest, label))
}

/// Error while drawing a figure or converting it to another format.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum PlotError {
    #[error("cannot draw figure \"{name}\": {reason}")]
    Draw { name: String, reason: String },
    #[error("figure \"{name}\": {error}")]
    Label { name: String, error: LabelError },
    #[error("cannot convert figure \"{name}\" to {format}: {reason}")]
    Render { name: String, format: &'static str, reason: Box<RenderError> },
}
