//! Decisions of a receiver that classifies losses as congestion or not.

use serde::{Deserialize, Serialize};

/// Numbers of a flow's lost packets, by the actual cause and by whether the receiver took the loss for congestion.
/// Counts packets sent at or after `measure_from`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct LossClassificationSummary {
    /// Packets lost by the channel, such as by bit errors, that the receiver took for congestion losses.
    pub channel_counted: u64,
    /// Packets lost by the channel, such as by bit errors, that the receiver did not take for congestion losses.
    pub channel_filtered: u64,
    /// Packets dropped by a queue, or by another form of congestion, that the receiver took for congestion losses.
    pub queue_counted: u64,
    /// Packets dropped by a queue, or by another form of congestion, that the receiver did not take for congestion
    /// losses.
    pub queue_filtered: u64,
    /// Number of times that the receiver counted a loss event without a lost packet, because it detected congestion.
    pub early: u64,
}

impl LossClassificationSummary {
    /// Records a lost packet: whether the channel lost it (`by_channel`), and whether the receiver took the loss for
    /// congestion (`counted`).
    pub fn add(&mut self, by_channel: bool, counted: bool) {
        *match (by_channel, counted) {
            (true, true) => &mut self.channel_counted,
            (true, false) => &mut self.channel_filtered,
            (false, true) => &mut self.queue_counted,
            (false, false) => &mut self.queue_filtered,
        } += 1;
    }
}
