//! The input of a source, and its backlog for transports that pace themselves.

use crate::Trace;
use headway_units::{Bytes, Instant, Random, Rate};
use std::sync::Arc;

/// Input of a source from its flow.
#[derive(Clone, Debug)]
pub struct Context {
    /// Start of the application. A random phase is counted from here.
    pub start: Instant,
    /// Stop of the application; nothing is written at or after it, as an ns-2 `stop` cancels a timer of the same time.
    /// `None` for never.
    pub stop: Option<Instant>,
    /// Random stream of the flow.
    pub random: Random,
    /// Trace from the file of [`SourceOptions::file`](super::SourceOptions::file), if any. Flows may share it.
    pub trace: Option<Arc<Trace>>,
}

/// State of the transport, for a source that follows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TransportState {
    /// Data rate that the rate controller recommends to an encoder; `None` if it is unlimited or not known.
    pub target_rate: Option<Rate>,
    /// Size of the data in the send queue of the transport, without headers.
    pub waiting: Bytes,
}

/// Amount of data that a source has ready from the start of the flow. A transport that paces itself (TCP) sends it at
/// its own times, without polling the source for each write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backlog {
    /// No data is ready at the start: the source writes at its own times, when it is polled.
    None,
    /// This number of segments of maximum size, all available at the start.
    Segments(u64),
    /// Unlimited data until the flow stops.
    Endless,
}
