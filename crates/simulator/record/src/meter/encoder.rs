//! Counts of an encoder that follows the rate of its transport.

use serde::{Deserialize, Serialize};

/// Counts of the encoder of a flow, from `measure_from` on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EncoderSummary {
    /// Frames that the encoder captured: written or skipped.
    pub captured_frames: u64,
    /// Captured frames that the encoder did not write, because too much earlier data waited to be sent.
    pub skipped_frames: u64,
    /// Number of changes of the encoder's target rate.
    pub rate_changes: u64,
    /// Number of bursts that followed a change of the encoder's target rate.
    pub bursts: u64,
    /// Bytes that the encoder wrote above its target rate in complete windows of 1 s, divided by all bytes that it
    /// wrote in these windows; `None` if there are none.
    pub overshoot_ratio: Option<f64>,
}
