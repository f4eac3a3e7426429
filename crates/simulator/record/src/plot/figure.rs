//! A picture, and why there is none.

use super::RenderError;

/// A finished picture.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Figure {
    /// What it shows, fit for a file name, such as `throughput`.
    pub name: String,
    /// The picture as SVG text.
    pub svg: String,
}

/// A picture could not be made.
#[derive(Debug, thiserror::Error)]
#[expect(missing_docs, reason = "the messages describe the variants")]
pub enum PlotError {
    #[error("the picture \"{name}\" could not be drawn: {why}")]
    Draw { name: String, why: String },
    #[error("the picture \"{name}\" could not be turned into pixels: {why}")]
    Render { name: String, why: RenderError },
}
