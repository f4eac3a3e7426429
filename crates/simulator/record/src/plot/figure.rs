//! Figures and their errors.

use super::RenderError;

/// A drawn figure.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// Name of the figure, usable as a file name, such as `throughput`.
    pub name: String,
    /// The figure as SVG text.
    pub svg: String,
}

/// Error while drawing a figure or converting it to another format.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum PlotError {
    #[error("cannot draw figure \"{name}\": {reason}")]
    Draw { name: String, reason: String },
    #[error("cannot convert figure \"{name}\" to {format}: {reason}")]
    Render { name: String, format: &'static str, reason: Box<RenderError> },
}
