//! What a filter of losses sees and answers.

use headway_units::{Duration, Instant};

/// A packet of data that is newer than all before.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Seen {
    pub(crate) number: u64,
    /// By the receiver's clock.
    pub(crate) came: Instant,
    /// By the sender's clock.
    pub(crate) sent: Instant,
    /// Its data, in bytes.
    pub(crate) size: u64,
    /// The sender's round trip.
    pub(crate) rtt: Option<Duration>,
}

impl Seen {
    /// Its one-way delay, in ns: what the two clocks differ by is in it.
    pub(crate) fn delay_ns(&self) -> i64 {
        self.came.as_nanos().wrapping_sub(self.sent.as_nanos()) as i64
    }
}

/// Tells congestion from the channel.
pub(crate) trait LossFilter {
    /// A packet of data has come that is newer than all before.
    fn on_packet(&mut self, seen: &Seen);

    /// Whether the packets `first..=last`, of which none has come, count as lost to congestion.
    fn counts(&mut self, first: u64, last: u64) -> bool;

    /// Whether there is congestion that no loss has told of yet; asked after each packet, answered once.
    fn poll_early(&mut self) -> bool {
        false
    }

    /// Whether the sender is to be held at the rate that arrives now.
    fn holds(&self) -> bool {
        false
    }

    /// The channel has lost this packet: somebody knows.
    fn on_channel_loss(&mut self, _number: u64) {}
}

/// A packet of 1000 B by its number, and when it went and came, in us.
#[cfg(test)]
pub(super) fn seen(number: u64, sent: u64, came: u64) -> Seen {
    let at = |micros| Instant::ZERO + Duration::from_micros(micros);
    Seen { number, came: at(came), sent: at(sent), size: 1000, rtt: None }
}
