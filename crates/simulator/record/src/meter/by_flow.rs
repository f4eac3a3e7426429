//! What happened to each flow's packets at one direction of a link.

use super::counts::DropCounts;
use super::measured::Measured;
use headway_units::{DropCause, FlowId, Instant};
use serde::{Deserialize, Serialize};
use std::collections::VecDeque;

/// A flow's entry in [`LinkSummary::flows`](crate::LinkSummary::flows). All packets that bear the flow's number count: its data, what answers
/// it, and what attackers send in its name. Events count from `measure_from` on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkFlowSummary {
    /// The flow's name.
    pub name: String,
    /// Packets offered to the link.
    pub arrived_packets: u64,
    /// Packets that the link dropped, by cause.
    pub dropped_packets: DropCounts,
    /// Packets that it marked (ECN CE).
    pub marked_packets: u64,
    /// Packets that left the queue: whose transmission began.
    pub sent_packets: u64,
    /// Their IP bytes.
    pub sent_bytes: u64,
    /// From the start of one's transmission to that of the next; absent with fewer than two gaps, and of a run that was cut short with packets
    /// of the flow still waiting.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap_s: Option<GapSummary>,
    /// The same without the gaps in which the link dropped one of the flow's. Exact where only arrivals are dropped.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub unbroken_gap_s: Option<GapSummary>,
}

/// Times from packet to packet, in s.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct GapSummary {
    /// Their mean.
    pub mean: f64,
    /// Their standard deviation, of all of them.
    pub std: f64,
}

/// Gaps added up (Welford 1962).
#[derive(Clone, Copy, Debug, Default)]
struct Gaps {
    count: u64,
    mean_s: f64,
    squares: f64,
}

impl Gaps {
    fn add(&mut self, gap_s: f64) {
        self.count += 1;
        let off = gap_s - self.mean_s;
        self.mean_s += off / self.count as f64;
        self.squares += off * (gap_s - self.mean_s);
    }

    fn summary(&self) -> Option<GapSummary> {
        let std = (self.squares / self.count as f64).sqrt();
        (self.count > 1).then_some(GapSummary { mean: self.mean_s, std })
    }
}

/// Counts by flow at one direction of a link.
#[derive(Clone, Debug, Default)]
pub struct ByFlow {
    /// By the flow's number, up to the greatest that came.
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
    /// Of the dropped, those whose transmission had begun.
    lost_behind: u64,
    /// Transmissions since time zero, and before which of them packets are missing, in order.
    begun: u64,
    holes: VecDeque<u64>,
}

impl ByFlow {
    fn of(&mut self, flow: FlowId) -> &mut Counts {
        let number = flow.0 as usize;
        if number >= self.flows.len() {
            self.flows.resize_with(number + 1, Counts::default);
        }
        &mut self.flows[number]
    }

    /// A packet of the flow was offered to the link at `now`, whatever became of it.
    pub fn arrived(&mut self, measured: &Measured, now: Instant, flow: FlowId) {
        let counts = self.of(flow);
        counts.total_arrived += 1;
        counts.arrived += u64::from(measured.holds(now));
    }

    /// The link has made a copy of a packet of the flow, and is offered that now.
    pub fn copied(&mut self, flow: FlowId) {
        self.of(flow).copied += 1;
    }

    /// A packet of the flow was dropped at `now`, before its transmission.
    pub fn dropped(&mut self, measured: &Measured, now: Instant, flow: FlowId, cause: DropCause) {
        let counts = self.of(flow);
        counts.total_dropped += 1;
        let waiting_and_begun =
            (counts.total_arrived + counts.copied + counts.lost_behind).saturating_sub(counts.total_dropped);
        if counts.holes.back() != Some(&waiting_and_begun) {
            counts.holes.push_back(waiting_and_begun);
        }
        if measured.holds(now) {
            counts.dropped.add(cause);
        }
    }

    /// A packet of the flow was lost at `now`, behind its transmission: there is no gap where it was.
    pub fn lost(&mut self, measured: &Measured, now: Instant, flow: FlowId, cause: DropCause) {
        let counts = self.of(flow);
        counts.total_dropped += 1;
        counts.lost_behind += 1;
        if measured.holds(now) {
            counts.dropped.add(cause);
        }
    }

    /// A packet of the flow was marked at `now`.
    pub fn marked(&mut self, measured: &Measured, now: Instant, flow: FlowId) {
        self.of(flow).marked += u64::from(measured.holds(now));
    }

    /// The transmission of a packet of the flow, of `bytes`, begins at `start`. What begins at the planned end does not count.
    pub fn sent(&mut self, measured: &Measured, start: Instant, flow: FlowId, bytes: u32) {
        let counts = self.of(flow);
        let mut broken = false;
        while counts.holes.front().is_some_and(|hole| *hole <= counts.begun) {
            counts.holes.pop_front();
            broken = true;
        }
        counts.begun += 1;
        let last = counts.last_start.replace(start).filter(|last| measured.holds(*last));
        if measured.holds(start) && start < measured.until {
            counts.sent += 1;
            counts.sent_bytes += u64::from(bytes);
            if let Some(gap_s) = last.map(|last| start.since(last).as_secs_f64()) {
                counts.gaps.add(gap_s);
                if !broken {
                    counts.unbroken.add(gap_s);
                }
            }
        }
    }

    /// Takes back what [`sent`](Self::sent) was told, if the run is cut at `cut` and the transmission lies ahead.
    pub fn cut(&mut self, measured: &Measured, cut: Instant, start: Instant, flow: FlowId, bytes: u32) {
        if start > cut && measured.holds(start) && start < measured.until {
            let counts = self.of(flow);
            counts.sent = counts.sent.saturating_sub(1);
            counts.sent_bytes = counts.sent_bytes.saturating_sub(u64::from(bytes));
            (counts.gaps, counts.unbroken) = Default::default();
        }
    }

    /// The flows that came by, each with its packets that arrived and were dropped since time zero, whatever is measured.
    pub fn totals(&self) -> impl Iterator<Item = (FlowId, u64, u64)> {
        self.came().map(|(flow, counts)| (flow, counts.total_arrived, counts.total_dropped))
    }

    /// The flows that came by.
    #[must_use]
    pub fn summary(&self, name: impl Fn(FlowId) -> String) -> Vec<LinkFlowSummary> {
        self.came()
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

    fn came(&self) -> impl Iterator<Item = (FlowId, &Counts)> {
        let numbered = (0..).map(FlowId).zip(&self.flows);
        numbered.filter(|(_, counts)| counts.total_arrived > 0)
    }
}
