//! What a receiver that tells losses apart has made of them.

use serde::{Deserialize, Serialize};

/// Lost packets by what took them and by what the receiver made of it. Packets count where they were sent at or after `measure_from`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct JudgedSummary {
    /// The channel took them, and they counted as congestion.
    pub channel_counted: u64,
    /// The channel took them, and they did not count.
    pub channel_filtered: u64,
    /// A queue, or whatever else is congestion, took them, and they counted.
    pub queue_counted: u64,
    /// A queue took them, and they did not count.
    pub queue_filtered: u64,
    /// How often congestion counted before anything was lost.
    pub early: u64,
}

impl JudgedSummary {
    /// A lost packet was judged.
    pub fn add(&mut self, by_channel: bool, counted: bool) {
        *match (by_channel, counted) {
            (true, true) => &mut self.channel_counted,
            (true, false) => &mut self.channel_filtered,
            (false, true) => &mut self.queue_counted,
            (false, false) => &mut self.queue_filtered,
        } += 1;
    }
}
