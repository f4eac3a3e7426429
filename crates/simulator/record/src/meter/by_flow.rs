//! Counts of each flow's packets in one direction of a link.

use super::counts::DropCounts;
use super::measured::Measured;
use headway_units::{DropCause, FlowId, Instant};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A flow's entry in [`LinkSummary::flows`](crate::LinkSummary::flows). All packets with the flow's number count: data,
/// acknowledgements, and packets forged by attackers. Events count from `measure_from` on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkFlowSummary {
    /// Name of the flow.
    pub name: String,
    /// Packets of the flow that arrived at the link, including packets that it then dropped.
    pub arrived_packets: u64,
    /// Packets of the flow that the link dropped, by cause.
    pub dropped_packets: DropCounts,
    /// Packets of the flow that the link marked (ECN CE).
    pub marked_packets: u64,
    /// Packets of the flow that left the queue, counted at the start of transmission.
    pub sent_packets: u64,
    /// IP bytes of the packets counted in `sent_packets`.
    pub sent_bytes: u64,
    /// Times between the starts of consecutive transmissions of the flow's packets, in s. Absent with fewer than two
    /// such times, or if the run was stopped early with packets of the flow in the queue.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_s: Option<GapSummary>,
    /// Times between the starts of consecutive transmissions of the flow's packets between which the link dropped no
    /// packet of the flow, in s. Exact if the queue drops only arriving packets.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unbroken_gap_s: Option<GapSummary>,
}

/// Statistics of the gaps between packets, in s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GapSummary {
    /// Mean gap, in s.
    pub mean: f64,
    /// Population standard deviation of the gaps, in s.
    pub std: f64,
}

/// Running mean and sum of squared deviations (Welford 1962).
#[derive(Clone, Copy, Debug, Default)]
struct Gaps {
    count: u64,
    mean_s: f64,
    squares: f64,
}

impl Gaps {
    fn add(&mut self, gap_s: f64) {
        self.count += 1;
        let deviation = gap_s - self.mean_s;
        self.mean_s += deviation / self.count as f64;
        self.squares += deviation * (gap_s - self.mean_s);
    }

    fn summary(&self) -> Option<GapSummary> {
        let std = (self.squares / self.count as f64).sqrt();
        (self.count > 1).then_some(GapSummary { mean: self.mean_s, std })
    }
}

/// Counters by flow in one direction of a link.
#[derive(Clone, Debug, Default)]
pub struct ByFlow {
    /// Counters by flow number, up to the largest number seen.
    flows: Vec<Counts>,
}

#[derive(Clone, Debug, Default)]
struct Counts {
    total_arrived: u64,
    copied: u64,
    total_dropped: u64,
    arrived: u64,
    dropped: DropCounts,
    marked: u64,
    sent: u64,
    sent_bytes: u64,
    gaps: Gaps,
    unbroken: Gaps,
    last_start: Option<Instant>,
    /// Dropped packets whose transmission had started.
    lost_after_queue: u64,
    /// Number of transmissions since time zero.
    started: u64,
    /// Numbers of the transmissions before which packets are missing, in ascending order.
    holes: VecDeque<u64>,
}

impl ByFlow {
    fn counts_mut(&mut self, flow: FlowId) -> &mut Counts {
        let number = flow.0 as usize;
        if number >= self.flows.len() {
            self.flows.resize_with(number + 1, Counts::default);
        }
        &mut self.flows[number]
    }

    /// Records the arrival of a packet of the flow at the link at `now`, including packets dropped there.
    pub fn arrived(&mut self, measured: &Measured, now: Instant, flow: FlowId) {
        let counts = self.counts_mut(flow);
        counts.total_arrived += 1;
        counts.arrived += u64::from(measured.contains(now));
    }

    /// Records that the link duplicated a packet of the flow; the copy enters the link next.
    pub fn copied(&mut self, flow: FlowId) {
        self.counts_mut(flow).copied += 1;
    }

    /// Records that a packet of the flow was dropped at `now`, before the link transmitted it.
    pub fn dropped(&mut self, measured: &Measured, now: Instant, flow: FlowId, cause: DropCause) {
        let counts = self.counts_mut(flow);
        counts.total_dropped += 1;
        let next_transmission =
            (counts.total_arrived + counts.copied + counts.lost_after_queue).saturating_sub(counts.total_dropped);
        if counts.holes.back() != Some(&next_transmission) {
            counts.holes.push_back(next_transmission);
        }
        if measured.contains(now) {
            counts.dropped.add(cause);
        }
    }

    /// Records that a packet of the flow was lost at `now`, after the link had transmitted it.
    pub fn lost(&mut self, measured: &Measured, now: Instant, flow: FlowId, cause: DropCause) {
        let counts = self.counts_mut(flow);
        counts.total_dropped += 1;
        counts.lost_after_queue += 1;
        if measured.contains(now) {
            counts.dropped.add(cause);
        }
    }

    /// Records that a packet of the flow was marked at `now`.
    pub fn marked(&mut self, measured: &Measured, now: Instant, flow: FlowId) {
        self.counts_mut(flow).marked += u64::from(measured.contains(now));
    }

    /// Records the transmission of a packet of `bytes` from `start`. A transmission that starts at the planned end is
    /// not counted.
    pub fn sent(&mut self, measured: &Measured, start: Instant, flow: FlowId, bytes: u32) {
        let counts = self.counts_mut(flow);
        let mut has_hole = false;
        while counts.holes.front().is_some_and(|hole| *hole <= counts.started) {
            counts.holes.pop_front();
            has_hole = true;
        }
        counts.started += 1;
        let last = counts.last_start.replace(start).filter(|last| measured.contains(*last));
        if measured.contains(start) && start < measured.until {
            counts.sent += 1;
            counts.sent_bytes += u64::from(bytes);
            if let Some(gap_s) = last.map(|last| start.since(last).as_secs_f64()) {
                counts.gaps.add(gap_s);
                if !has_hole {
                    counts.unbroken.add(gap_s);
                }
            }
        }
    }

    /// Reverts a call of [`sent`](Self::sent) if the run stops at `cut`, before the transmission starts. Also discards
    /// the flow's statistics of times between transmissions.
    pub fn cut(&mut self, measured: &Measured, cut: Instant, start: Instant, flow: FlowId, bytes: u32) {
        if start > cut && measured.contains(start) && start < measured.until {
            let counts = self.counts_mut(flow);
            counts.sent = counts.sent.saturating_sub(1);
            counts.sent_bytes = counts.sent_bytes.saturating_sub(u64::from(bytes));
            (counts.gaps, counts.unbroken) = Default::default();
        }
    }

    /// Returns each flow that used the link, the number of its packets that arrived there since time zero, and the
    /// number of those dropped there.
    pub fn totals(&self) -> impl Iterator<Item = (FlowId, u64, u64)> {
        self.seen().map(|(flow, counts)| (flow, counts.total_arrived, counts.total_dropped))
    }

    /// Returns the summaries of the flows that used the link.
    #[must_use]
    pub fn summary(&self, name: impl Fn(FlowId) -> String) -> Vec<LinkFlowSummary> {
        self.seen()
            .map(|(flow, counts)| LinkFlowSummary {
                name: name(flow),
                arrived_packets: counts.arrived,
                dropped_packets: counts.dropped,
                marked_packets: counts.marked,
                sent_packets: counts.sent,
                sent_bytes: counts.sent_bytes,
                gap_s: counts.gaps.summary(),
                unbroken_gap_s: counts.unbroken.summary(),
            })
            .collect()
    }

    fn seen(&self) -> impl Iterator<Item = (FlowId, &Counts)> {
        let numbered = (0..).map(FlowId).zip(&self.flows);
        numbered.filter(|(_, counts)| counts.total_arrived > 0)
    }
}
