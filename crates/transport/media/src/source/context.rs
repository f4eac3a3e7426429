//! What a source is given, and what a transport may take from it at once.

use crate::Trace;
use headway_units::{Instant, Random};
use std::sync::Arc;

/// What a source is given by the flow it belongs to.
#[derive(Clone, Debug)]
pub struct Context {
    /// When the application starts. A source that draws its first packet's phase draws from here on.
    pub start: Instant,
    /// When the application stops: nothing is written at or after it, as an ns-2 `stop` cancels the timer that would
    /// have fired at the same instant. `None` is never.
    pub stop: Option<Instant>,
    /// The flow's own stream.
    pub random: Random,
    /// What the source plays from the file that [`SourceOptions::file`](super::SourceOptions::file) names, if it names one. Many flows may share it.
    pub trace: Option<Arc<Trace>>,
}

/// What a transport that paces itself may take from a source without polling it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backlog {
    /// Nothing: this source writes at its own times.
    None,
    /// So many full segments at the start, and no more.
    Segments(u64),
    /// As much as the transport can take, until the flow stops.
    Endless,
}
