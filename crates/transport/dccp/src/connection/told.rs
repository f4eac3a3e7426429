//! What became of our packets, as the peer tells: each is counted once.

use super::heard::push_run;
use headway_rate::{Arrival, LossInterval, Run};

/// Packets that must have come behind one that has not, before it counts as lost (RFC 4340 section 11.4, RFC 5348 section 5.1).
const LATER: u64 = 3;

/// Packets that are lost, and that came with Congestion Experienced.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Fate {
    pub(crate) lost: u64,
    pub(crate) marked: u64,
}

/// What is known of them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Told {
    /// The fate of all packets below is counted.
    below: u64,
    /// What was said of the others, the newest first, from `end` down: a peer that knows that it was heard says it no more. Of them two
    /// have come at most.
    open: Vec<Run>,
    end: u64,
    /// Used again.
    spare: Vec<Run>,
}

impl Told {
    /// An Ack Vector, from the packet `acknowledged` down: what is new in it.
    pub(crate) fn by_vector(&mut self, acknowledged: u64, runs: &[Run]) -> Fate {
        let end = acknowledged.saturating_add(1);
        if end < self.end {
            return Fate::default(); // One that was overtaken.
        }
        let told = runs.iter().fold(0u64, |told, run| told.saturating_add(run.packets));
        let oldest = end.saturating_sub(told);
        let mut all = std::mem::take(&mut self.spare);
        all.clear();
        runs.iter().for_each(|run| push_run(&mut all, run.arrival, run.packets));
        // Of those between this vector and the last nobody has said that they are lost.
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
        let fate = self.count(end, below, all.iter().map(|run| (run.arrival, run.packets)));
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
        fate
    }

    /// Loss Intervals, behind the newest `skip` packets: what is new in them. Of a lossy part nobody knows which packets are lost or
    /// marked but the first and the last (RFC 4342 section 8.6.1): all count as lost that have not been told to have come.
    pub(crate) fn by_intervals(&mut self, acknowledged: u64, skip: u8, intervals: &[LossInterval]) -> Fate {
        let end = acknowledged.saturating_add(1).saturating_sub(skip.into());
        let parts = intervals.iter().flat_map(|interval| {
            [(Arrival::Received, interval.lossless.into()), (Arrival::NotReceived, interval.lossy.into())]
        });
        self.open.clear();
        self.end = self.end.max(end);
        self.count(end, end, parts)
    }

    /// Parts from `end` down, of which those below a packet count.
    fn count(&mut self, end: u64, below: u64, parts: impl Iterator<Item = (Arrival, u64)>) -> Fate {
        let (mut fate, mut top) = (Fate::default(), end);
        for (arrival, packets) in parts {
            let bottom = top.saturating_sub(packets);
            let new = top.min(below).saturating_sub(bottom.max(self.below));
            match arrival {
                Arrival::Received => {}
                Arrival::Marked => fate.marked += new,
                Arrival::NotReceived => fate.lost += new,
            }
            top = bottom;
        }
        self.below = self.below.max(below);
        fate
    }
}

/// The third packet from `end` down that has come: what is below it is settled.
fn settled_below(end: u64, runs: &[Run]) -> u64 {
    let (mut later, mut top) = (0, end);
    for run in runs {
        let counts = if run.arrival == Arrival::NotReceived { 0 } else { run.packets.min(LATER - later) };
        later += counts;
        if later == LATER {
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

    /// Packets 0 to 9, of which 4 is marked, 6 and 8 have not come: below the third that has, 5, there is nothing to wait for. Then 6 comes
    /// late, and 8 does not.
    #[test]
    fn vectors() {
        let mut told = Told::default();
        let first = runs(&[
            (Received, 1),
            (NotReceived, 1),
            (Received, 1),
            (NotReceived, 1),
            (Received, 1),
            (Marked, 1),
            (Received, 4),
        ]);
        assert_eq!(told.by_vector(9, &first), Fate { lost: 0, marked: 1 });
        assert_eq!(told.by_vector(9, &first), Fate::default(), "said twice");
        let next = runs(&[(Received, 3), (NotReceived, 1), (Received, 3), (Marked, 1), (Received, 4)]);
        assert_eq!(told.by_vector(11, &next), Fate { lost: 1, marked: 0 });
        assert_eq!(told.by_vector(9, &first), Fate::default(), "an old one");
        assert_eq!(
            Told::default().by_vector(9, &runs(&[(Received, 2), (NotReceived, 8)])),
            Fate::default(),
            "too early"
        );
    }

    /// A receiver that knows that it was heard tells only what is new (RFC 4340 section 11.4.2): here one packet at a time. Below packet 3
    /// three have come once 6 has, below 5 once 7 has.
    #[test]
    fn vectors_of_what_is_new() {
        let mut told = Told::default();
        let states = [Received, Marked, NotReceived, Marked, NotReceived, Received, Received, Received];
        let fates = states.iter().zip(0..).map(|(state, number)| told.by_vector(number, &runs(&[(*state, 1)])));
        let fates: Vec<_> = fates.map(|fate| (fate.lost, fate.marked)).collect();
        assert_eq!(fates, [(0, 0), (0, 0), (0, 0), (0, 0), (0, 0), (0, 0), (1, 1), (1, 1)]);
        // A vector that says part of the last one again: 6 and 5 here, of 5, 4 and 3.
        let mut told = Told::default();
        assert_eq!(told.by_vector(5, &runs(&[(Received, 2), (Marked, 1), (Received, 3)])), Fate::default());
        assert_eq!(told.by_vector(6, &runs(&[(Received, 2)])), Fate { lost: 0, marked: 1 });
    }

    /// RFC 4342 section 8.6.1: the newest interval first, its lossless part behind its lossy one.
    #[test]
    fn intervals() {
        let interval = |lossless, lossy| LossInterval { lossless, lossy, data: lossless + lossy, dropped: lossy };
        let mut told = Told::default();
        assert_eq!(told.by_intervals(20, 3, &[interval(18, 0)]), Fate::default());
        // 19 and 20 are lost, then 25.
        let two = [interval(2, 1), interval(4, 2), interval(19, 0)];
        assert_eq!(told.by_intervals(30, 3, &two), Fate { lost: 3, marked: 0 });
        assert_eq!(told.by_intervals(30, 3, &two), Fate::default());
        // The newest event grows by a packet that comes behind two which have come.
        assert_eq!(told.by_intervals(33, 3, &[interval(2, 4), interval(4, 2)]), Fate { lost: 1, marked: 0 });
        assert_eq!(told.by_intervals(2, 3, &[interval(9, 9)]), Fate::default());
    }

    proptest! {
        /// Whatever is said, no packet counts twice, and next to nothing is kept.
        #[test]
        fn no_more_than_there_are(said in prop::collection::vec((0u64..50, any::<bool>(), prop::collection::vec((0u8..3, 1u32..20), 0..6)), 0..40)) {
            let (mut told, mut all) = (Told::default(), 0);
            for (acknowledged, vector, parts) in &said {
                let fate = if *vector {
                    let kind = |kind: u8| [Received, Marked, NotReceived][usize::from(kind)];
                    let parts: Vec<_> = parts.iter().map(|(state, packets)| (kind(*state), (*packets).into())).collect();
                    told.by_vector(*acknowledged, &runs(&parts))
                } else {
                    let interval = |(skip, lossy): &(u8, u32)| LossInterval { lossless: (*skip).into(), lossy: *lossy, data: 1, dropped: *lossy };
                    told.by_intervals(*acknowledged, 3, &parts.iter().map(interval).collect::<Vec<_>>())
                };
                all += fate.lost + fate.marked;
                prop_assert!(all <= told.below && told.open.len() < 6, "{:?}", told);
            }
        }
    }
}
