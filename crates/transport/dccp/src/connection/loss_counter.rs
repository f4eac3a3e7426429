//! Counts of our lost and marked packets, from the peer's reports. Each packet is counted once.

use super::parsed_options::push_run;
use headway_rate::{Arrival, LossInterval, Run};

/// Number of later packets that must have arrived before a missing one counts as lost (RFC 4340
/// section 11.4, RFC 5348 section 5.1).
const NUMDUPACK: u64 = 3;

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LossCounts {
    pub(crate) lost: u64,
    pub(crate) marked: u64,
}

#[derive(Clone, Debug, Default)]
pub(crate) struct LossCounter {
    below: u64,
    /// Reported state of the others, the newest first, from `end` down. A peer does not repeat
    /// acknowledged reports. At most two of them have arrived.
    open: Vec<Run>,
    end: u64,
    spare: Vec<Run>,
}

impl LossCounter {
    /// Returns what is new in an Ack Vector, from packet `acknowledged` down.
    pub(crate) fn on_vector(&mut self, acknowledged: u64, runs: &[Run]) -> LossCounts {
        let end = acknowledged.saturating_add(1);
        if end < self.end {
            return LossCounts::default(); // The report is reordered.
        }
        let reported = runs.iter().fold(0u64, |reported, run| reported.saturating_add(run.packets));
        let oldest = end.saturating_sub(reported);
        let mut all = std::mem::take(&mut self.spare);
        all.clear();
        runs.iter().for_each(|run| push_run(&mut all, run.arrival, run.packets));
        // Packets between this vector and the last were not reported as lost.
        if oldest > self.end {
            push_run(&mut all, Arrival::Received, oldest - self.end);
        }
        let mut top = self.end;
        for run in &self.open {
            let bottom = top.saturating_sub(run.packets);
            if top.min(oldest) > bottom {
                push_run(&mut all, run.arrival, top.min(oldest) - bottom);
            }
            top = bottom;
        }
        let below = settled_below(end, &all);
        let counts = self.count(end, below, all.iter().map(|run| (run.arrival, run.packets)));
        let (mut top, mut open) = (end, std::mem::take(&mut self.open));
        open.clear();
        for run in &all {
            let packets = run.packets.min(top.saturating_sub(self.below));
            if packets > 0 {
                push_run(&mut open, run.arrival, packets);
            }
            top -= packets;
        }
        (self.open, self.end, self.spare) = (open, end, all);
        counts
    }

    /// Returns what is new in Loss Intervals, below the newest `skip` packets. Only the first and
    /// last packet of a lossy part are known to be lost or marked (RFC 4342 section 8.6.1). All of
    /// it counts as lost, except packets reported as received before.
    pub(crate) fn on_intervals(&mut self, acknowledged: u64, skip: u8, intervals: &[LossInterval]) -> LossCounts {
        let end = acknowledged.saturating_add(1).saturating_sub(skip.into());
        let parts = intervals.iter().flat_map(|interval| {
            [(Arrival::Received, interval.lossless.into()), (Arrival::NotReceived, interval.lossy.into())]
        });
        self.open.clear();
        self.end = self.end.max(end);
        self.count(end, end, parts)
    }

    /// Counts the packets of the parts, from `end` down, that are below `below` and not yet counted.
    fn count(&mut self, end: u64, below: u64, parts: impl Iterator<Item = (Arrival, u64)>) -> LossCounts {
        let (mut counts, mut top) = (LossCounts::default(), end);
        for (arrival, packets) in parts {
            let bottom = top.saturating_sub(packets);
            let new = top.min(below).saturating_sub(bottom.max(self.below));
            match arrival {
                Arrival::Received => {}
                Arrival::Marked => counts.marked += new,
                Arrival::NotReceived => counts.lost += new,
            }
            top = bottom;
        }
        self.below = self.below.max(below);
        counts
    }
}

/// Returns the third received packet from `end` down. All packets below it are settled.
fn settled_below(end: u64, runs: &[Run]) -> u64 {
    let (mut later, mut top) = (0, end);
    for run in runs {
        let counts = if run.arrival == Arrival::NotReceived { 0 } else { run.packets.min(NUMDUPACK - later) };
        later += counts;
        if later == NUMDUPACK {
            return top.saturating_sub(counts);
        }
        top = top.saturating_sub(run.packets);
    }
    0
}

#[cfg(test)]
mod tests {
    use super::*;
    use Arrival::{Marked, NotReceived, Received};
    use proptest::prelude::*;

    fn runs(runs: &[(Arrival, u64)]) -> Vec<Run> {
        runs.iter().map(|(arrival, packets)| Run { arrival: *arrival, packets: *packets }).collect()
    }

    /// Packets 0 to 9: 4 is marked, 6 and 8 are missing. Packets below the third received one, 5,
    /// are settled. Then 6 arrives late, and 8 does not.
    #[test]
    fn vectors_count_settled_packets() {
        let mut counter = LossCounter::default();
        let first = runs(&[
            (Received, 1),
            (NotReceived, 1),
            (Received, 1),
            (NotReceived, 1),
            (Received, 1),
            (Marked, 1),
            (Received, 4),
        ]);
        assert_eq!(counter.on_vector(9, &first), LossCounts { lost: 0, marked: 1 });
        assert_eq!(counter.on_vector(9, &first), LossCounts::default(), "repeated");
        let next = runs(&[(Received, 3), (NotReceived, 1), (Received, 3), (Marked, 1), (Received, 4)]);
        assert_eq!(counter.on_vector(11, &next), LossCounts { lost: 1, marked: 0 });
        assert_eq!(counter.on_vector(9, &first), LossCounts::default(), "reordered");
        assert_eq!(
            LossCounter::default().on_vector(9, &runs(&[(Received, 2), (NotReceived, 8)])),
            LossCounts::default(),
            "too early"
        );
    }

    /// A receiver whose reports are acknowledged sends only new state (RFC 4340 section 11.4.2), here one packet at a
    /// time. Below packet 3, three have arrived once 6 has; below 5, once 7 has.
    #[test]
    fn vectors_with_new_state_only() {
        let mut counter = LossCounter::default();
        let states = [Received, Marked, NotReceived, Marked, NotReceived, Received, Received, Received];
        let counts = states.iter().zip(0..).map(|(state, number)| counter.on_vector(number, &runs(&[(*state, 1)])));
        let counts: Vec<_> = counts.map(|counts| (counts.lost, counts.marked)).collect();
        assert_eq!(counts, [(0, 0), (0, 0), (0, 0), (0, 0), (0, 0), (0, 0), (1, 1), (1, 1)]);
        // A vector that repeats part of the last one: 6 and 5 here, of 5, 4 and 3.
        let mut counter = LossCounter::default();
        assert_eq!(counter.on_vector(5, &runs(&[(Received, 2), (Marked, 1), (Received, 3)])), LossCounts::default());
        assert_eq!(counter.on_vector(6, &runs(&[(Received, 2)])), LossCounts { lost: 0, marked: 1 });
    }

    /// RFC 4342 section 8.6.1: the newest interval first; the lossless part of an interval follows its lossy part.
    #[test]
    fn intervals() {
        let interval = |lossless, lossy| LossInterval { lossless, lossy, data: lossless + lossy, dropped: lossy };
        let mut counter = LossCounter::default();
        assert_eq!(counter.on_intervals(20, 3, &[interval(18, 0)]), LossCounts::default());
        // 19 and 20 are lost, then 25.
        let two = [interval(2, 1), interval(4, 2), interval(19, 0)];
        assert_eq!(counter.on_intervals(30, 3, &two), LossCounts { lost: 3, marked: 0 });
        assert_eq!(counter.on_intervals(30, 3, &two), LossCounts::default());
        // The newest event grows by a packet after two received ones.
        assert_eq!(counter.on_intervals(33, 3, &[interval(2, 4), interval(4, 2)]), LossCounts { lost: 1, marked: 0 });
        assert_eq!(counter.on_intervals(2, 3, &[interval(9, 9)]), LossCounts::default());
    }

    proptest! {
        /// For any reports, no packet is counted twice, and the kept state is small.
        #[test]
        fn no_packet_is_counted_twice(reports in prop::collection::vec((0u64..50, any::<bool>(), prop::collection::vec((0u8..3, 1u32..20), 0..6)), 0..40)) {
            let (mut counter, mut all) = (LossCounter::default(), 0);
            for (acknowledged, vector, parts) in &reports {
                let counts = if *vector {
                    let kind = |kind: u8| [Received, Marked, NotReceived][usize::from(kind)];
                    let parts: Vec<_> = parts.iter().map(|(state, packets)| (kind(*state), (*packets).into())).collect();
                    counter.on_vector(*acknowledged, &runs(&parts))
                } else {
                    let interval = |(skip, lossy): &(u8, u32)| LossInterval { lossless: (*skip).into(), lossy: *lossy, data: 1, dropped: *lossy };
                    counter.on_intervals(*acknowledged, 3, &parts.iter().map(interval).collect::<Vec<_>>())
                };
                all += counts.lost + counts.marked;
                prop_assert!(all <= counter.below && counter.open.len() < 6, "{:?}", counter);
            }
        }
    }
}
