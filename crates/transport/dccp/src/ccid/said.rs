//! What the options of a CCID say on one packet.

use headway_rate::{LossInterval, Own, TimedArrival, Wrapped};
use headway_units::Instant;
use std::num::NonZeroU32;

/// What the options of a packet have said, kept to be used again.
#[derive(Clone, Debug, Default)]
pub(crate) struct Said {
    pub(super) receive_rate: Option<u32>,
    /// The inverse of p, `None` inside before the first loss.
    pub(super) loss_event_rate: Option<Option<NonZeroU32>>,
    /// Skip Length, if there are loss intervals.
    pub(super) skip: Option<u8>,
    pub(super) intervals: Vec<LossInterval>,
    pub(super) dropped_packets: Vec<u32>,
    pub(super) own: Option<Own>,
    /// The receiver's clock, if there are arrivals with their times, and what is known of it.
    pub(super) clock: Option<Instant>,
    pub(super) clocks: Wrapped,
    pub(super) arrivals: Vec<TimedArrival>,
}

impl Said {
    pub(crate) fn clear(&mut self) {
        (self.receive_rate, self.loss_event_rate, self.skip) = (None, None, None);
        (self.own, self.clock) = (None, None);
        self.intervals.clear();
        self.dropped_packets.clear();
    }

    /// Skip Length and Loss Intervals, if there are any.
    pub(crate) fn intervals(&self) -> Option<(u8, &[LossInterval])> {
        self.skip.map(|skip| (skip, self.intervals.as_slice()))
    }
    /// The same, to be mended.
    pub(crate) fn intervals_mut(&mut self) -> Option<(u8, &mut Vec<LossInterval>)> {
        self.skip.map(|skip| (skip, &mut self.intervals))
    }

    /// Drop counts belong to the intervals; none stands for the whole lossy part (RFC 5622 section 8.7).
    pub(crate) fn join_dropped_packets(&mut self) {
        for (interval, dropped) in self.intervals.iter_mut().zip(&self.dropped_packets) {
            interval.dropped = (*dropped).min(interval.lossy);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5622 section 8.7: a count above its Loss Length, or none, stands for all of it.
    #[test]
    fn drop_counts_join_their_intervals() {
        let interval = |lossy| LossInterval { lossless: 9, lossy, data: 9, dropped: lossy };
        let intervals = vec![interval(4), interval(2), interval(3)];
        let mut said = Said { intervals, dropped_packets: vec![1, 7], ..Said::default() };
        said.join_dropped_packets();
        assert_eq!(said.intervals.iter().map(|interval| interval.dropped).collect::<Vec<_>>(), [1, 2, 3]);
    }
}
