//! Counts of an encoder that follows the rate of its transport.

use serde::{Deserialize, Serialize};

/// Counts of the encoder of a flow, from `measure_from` on.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EncoderSummary {
    /// Frames that the encoder captured: written or skipped.
    pub captured_frames: u64,
    /// Captured frames that were not written because too much data waited.
    pub skipped_frames: u64,
    /// Changes of the encoder's rate.
    pub rate_changes: u64,
    /// Bursts that followed a change of the rate.
    pub bursts: u64,
    /// Bytes written above the target rate in complete windows of 1 s, divided by all bytes written in these windows;
    /// `None` if there are none.
    pub overshoot_ratio: Option<f64>,
}
