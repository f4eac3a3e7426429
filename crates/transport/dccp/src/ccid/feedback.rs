//! Feedback in the CCID options of one packet.

use headway_rate::{LossInterval, Own, TimedArrival, Wrapped};
use headway_units::Instant;
use std::num::NonZeroU32;

/// Parsed CCID options of one packet, kept to reuse its memory.
#[derive(Clone, Debug, Default)]
pub(crate) struct CcidFeedback {
    pub(super) receive_rate: Option<u32>,
    /// Inverse of p; the inner `None` before the first loss.
    pub(super) loss_event_rate: Option<Option<NonZeroU32>>,
    /// Skip Length, if there are loss intervals.
    pub(super) skip: Option<u8>,
    pub(super) intervals: Vec<LossInterval>,
    pub(super) dropped_packets: Vec<u32>,
    pub(super) own: Option<Own>,
    /// Receiver's clock, if there are arrival times, and the state that extends it.
    pub(super) clock: Option<Instant>,
    pub(super) clocks: Wrapped,
    pub(super) arrivals: Vec<TimedArrival>,
}

impl CcidFeedback {
    pub(crate) fn clear(&mut self) {
        (self.receive_rate, self.loss_event_rate, self.skip) = (None, None, None);
        (self.own, self.clock) = (None, None);
        self.intervals.clear();
        self.dropped_packets.clear();
    }

    pub(crate) fn intervals(&self) -> Option<(u8, &[LossInterval])> {
        self.skip.map(|skip| (skip, self.intervals.as_slice()))
    }
    pub(crate) fn intervals_mut(&mut self) -> Option<(u8, &mut Vec<LossInterval>)> {
        self.skip.map(|skip| (skip, &mut self.intervals))
    }

    /// Merges drop counts into their intervals. A missing count means the whole lossy part (RFC 5622 section 8.7).
    pub(crate) fn join_dropped_packets(&mut self) {
        for (interval, dropped) in self.intervals.iter_mut().zip(&self.dropped_packets) {
            interval.dropped = (*dropped).min(interval.lossy);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 5622 section 8.7: a count above its Loss Length, or a missing one, means the whole lossy part.
    #[test]
    fn drop_counts_join_their_intervals() {
        let interval = |lossy| LossInterval { lossless: 9, lossy, data: 9, dropped: lossy };
        let intervals = vec![interval(4), interval(2), interval(3)];
        let mut feedback = CcidFeedback { intervals, dropped_packets: vec![1, 7], ..CcidFeedback::default() };
        feedback.join_dropped_packets();
        assert_eq!(feedback.intervals.iter().map(|interval| interval.dropped).collect::<Vec<_>>(), [1, 2, 3]);
    }
}
