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
pub enum PlotError {
    /// Drawing failed.
    #[error("the picture \"{name}\" could not be drawn: {why}")]
    Draw {
        /// Which one.
        name: String,
        /// What the drawing library says.
        why: String,
    },
    /// Turning the SVG into pixels failed.
    #[error("the picture \"{name}\" could not be turned into pixels: {why}")]
    Render {
        /// Which one.
        name: String,
        /// Reason.
        why: RenderError,
    },
}
