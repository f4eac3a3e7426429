//! Interface of loss filters.

use headway_units::{Duration, Instant};

/// Data packet with a greater number than all before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) number: u64,
    /// Arrival time by the receiver's clock.
    pub(crate) arrived: Instant,
    /// Sending time by the sender's clock.
    pub(crate) sent: Instant,
    pub(crate) size: u64,
    /// Sender's round-trip time.
    pub(crate) rtt: Option<Duration>,
}

impl Seen {
    /// Returns the one-way delay in ns, including the offset between the two clocks.
    pub(crate) fn delay_ns(&self) -> i64 {
        self.arrived.as_nanos().wrapping_sub(self.sent.as_nanos()) as i64
    }
}

/// Classifier of losses: congestion or channel.
pub(crate) trait LossFilter {
    /// Handles a data packet with a greater number than all before.
    fn on_packet(&mut self, seen: &Seen);

    /// Returns whether the lost packets `first..=last` count as congestion.
    fn counts(&mut self, first: u64, last: u64) -> bool;

    /// Returns whether later packets may excuse losses that counted, so that `counts` is asked again at each later loss.
    fn revises(&self) -> bool {
        false
    }
    /// Returns whether there is congestion without a loss so far. Each detection is returned once.
    fn poll_early(&mut self) -> bool {
        false
    }

    /// Returns whether the sender is to be held at the current receive rate.
    fn holds(&self) -> bool {
        false
    }

    /// Handles the loss of a packet on the channel, as reported by a simulator.
    fn on_channel_loss(&mut self, _number: u64) {}
}

/// Returns a packet of 1000 B with its number, sending time and arrival time in us.
#[cfg(test)]
pub(super) fn seen(number: u64, sent: u64, arrived: u64) -> Seen {
    let at = |micros| Instant::ZERO + Duration::from_micros(micros);
    Seen { number, arrived: at(arrived), sent: at(sent), size: 1000, rtt: None }
}
