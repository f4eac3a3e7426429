//! Counts in one direction of a link.
//!
//! A link that schedules a packet's departure on arrival reports its waiting and transmission as intervals in advance;
//! other links report them afterwards. The sums are equal: an interval adds its overlap with `[measure_from, end]`, in
//! integers (ns, ns x packets, ns x bytes), so that neither order nor rounding matters.

use super::by_flow::{ByFlow, LinkFlowSummary};
use super::counts::DropCounts;
use super::measured::Measured;
use headway_units::{DropCause, Instant};
use serde::{Deserialize, Serialize};
use std::cell::OnceCell;

/// Names of a link direction and its nodes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkLabel {
    /// Name of the link direction, such as `r1->r2`.
    pub name: String,
    /// Name of the sending node.
    pub from: String,
    /// Name of the receiving node.
    pub to: String,
}

/// Entry of a link direction in [`Summary`](crate::Summary). Events count from `measure_from` on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkSummary {
    /// Name of the link direction, such as `r1->r2`.
    pub name: String,
    /// Name of the sending node.
    pub from: String,
    /// Name of the receiving node.
    pub to: String,
    /// Packets that arrived at the link, including packets that it then dropped.
    pub arrived_packets: u64,
    /// Packets that the link dropped or its channel lost, by cause.
    pub dropped_packets: DropCounts,
    /// Packets that the link marked (ECN CE).
    pub marked_packets: u64,
    /// Copies of packets made by the link, not included in the arrived packets.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub duplicated_packets: u64,
    /// Packets that arrived at the far end of the link after a packet that was sent later (RFC 4737 section 3.3).
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub reordered_packets: u64,
    /// Mean over time of the number of packets in the queue, without the packet in transmission.
    pub mean_queue_packets: f64,
    /// Mean over time of the IP bytes in the queue, without the packet in transmission.
    pub mean_queue_bytes: f64,
    /// Maximum number of packets in the queue just after the arrival of a packet, without the packet in transmission.
    pub peak_queue_packets: u64,
    /// Mean over time of RED's average queue length, in packets (of mean size if RED counts bytes); `None` without RED.
    pub mean_red_average: Option<f64>,
    /// Fraction of the measured interval in which the link transmitted, from 0 to 1.
    pub utilisation: f64,
    /// Counts of each flow at the link, in the order of the scenario; empty unless the link counts by flow (`by_flow`).
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<LinkFlowSummary>,
}

/// RED's average queue length as a step function of time.
#[derive(Clone, Copy, Debug)]
struct RedAverage {
    value: f64,
    since: Instant,
    /// Integral over the previous steps, in packets x ns.
    integral: f64,
}

/// Meter of one direction of a link. Rarely used counters are in a separate allocation to keep the meter small.
#[derive(Clone, Debug, Default)]
pub struct LinkMeter {
    /// Arrivals since time zero.
    arrived: u64,
    busy_nanos: u64,
    total_sent_bytes: u64,
    peak: u32,
    /// Whether a packet has arrived in the measured interval.
    is_measuring: bool,
    /// Whether [`Rest::by_flow`] is present, stored here to avoid access to `rest`.
    counts_by_flow: bool,
    /// Allocated on first use.
    rest: Option<Box<Rest>>,
}

#[derive(Clone, Debug, Default)]
struct Rest {
    waiting_packet_nanos: u128,
    waiting_byte_nanos: u128,
    marked: u64,
    duplicated: u64,
    reordered: u64,
    dropped: DropCounts,
    total_dropped_packets: u64,
    /// Arrivals before the measured interval.
    arrived_before: u64,
    red: Option<RedAverage>,
    by_flow: Option<ByFlow>,
}

impl LinkMeter {
    /// Returns a meter that also counts by flow. The caller must report each packet to
    /// [`by_flow_mut`](Self::by_flow_mut), too.
    #[must_use]
    pub fn counting_by_flow() -> Self {
        let rest = Rest { by_flow: Some(ByFlow::default()), ..Rest::default() };
        Self { counts_by_flow: true, rest: Some(Box::new(rest)), ..Self::default() }
    }

    /// Returns the counters by flow, if the meter has them.
    #[must_use]
    #[inline]
    pub fn by_flow(&self) -> Option<&ByFlow> {
        if self.counts_by_flow { self.rest.as_ref()?.by_flow.as_ref() } else { None }
    }

    /// Returns the mutable counters by flow, if the meter has them.
    #[inline]
    pub fn by_flow_mut(&mut self) -> Option<&mut ByFlow> {
        if self.counts_by_flow { self.rest.as_mut()?.by_flow.as_mut() } else { None }
    }

    #[inline]
    fn rest(&mut self) -> &mut Rest {
        self.rest.get_or_insert_default()
    }

    /// Records the arrival of a packet at the link at `now`, including packets dropped there.
    #[inline]
    pub fn arrived(&mut self, measured: &Measured, now: Instant) {
        if !self.is_measuring && measured.from <= now {
            self.start_measuring();
        }
        self.arrived += u64::from(now <= measured.until);
    }

    #[cold]
    fn start_measuring(&mut self) {
        self.is_measuring = true;
        if self.arrived > 0 {
            self.rest().arrived_before = self.arrived;
        }
    }

    /// Records that a packet was dropped at `now`.
    pub fn dropped(&mut self, measured: &Measured, now: Instant, cause: DropCause) {
        let is_measured = measured.contains(now);
        let rest = self.rest();
        rest.total_dropped_packets += 1;
        if is_measured {
            rest.dropped.add(cause);
        }
    }

    /// Records that a packet was marked Congestion Experienced at `now`.
    pub fn marked(&mut self, measured: &Measured, now: Instant) {
        let is_measured = measured.contains(now);
        self.rest().marked += u64::from(is_measured);
    }

    /// Records that the link duplicated a packet at `now`; the copy enters the link next.
    pub fn duplicated(&mut self, measured: &Measured, now: Instant) {
        let is_measured = measured.contains(now);
        self.rest().duplicated += u64::from(is_measured);
    }

    /// Records that a packet left the link at `now` after a packet that was sent later.
    pub fn reordered(&mut self, measured: &Measured, now: Instant) {
        let is_measured = measured.contains(now);
        self.rest().reordered += u64::from(is_measured);
    }

    /// Records that `packets` packets are in the queue after an arrival at `now`, without the packet in transmission.
    #[inline]
    pub fn queue_seen(&mut self, measured: &Measured, now: Instant, packets: u32) {
        if packets > self.peak && measured.contains(now) {
            self.peak = packets;
        }
    }

    /// Returns the maximum number of packets in the queue after an arrival so far, in the measured interval.
    #[must_use]
    #[inline]
    pub fn peak(&self) -> u32 {
        self.peak
    }

    /// Records that RED's average queue length is `packets` from `now` until the next call. It is initially 0. Calls
    /// must be in the order of time.
    pub fn red_average(&mut self, measured: &Measured, now: Instant, packets: f64) {
        let mut red = self.rest().red.unwrap_or(RedAverage { value: 0.0, since: Instant::ZERO, integral: 0.0 });
        red.integral += red.value * measured.overlap(red.since, now) as f64;
        self.rest().red = Some(RedAverage { value: packets, since: now, ..red });
    }

    /// Records that a packet of `bytes` waits in the queue in the interval `[from, until)`, which may be in the future.
    #[inline]
    pub fn waited(&mut self, measured: &Measured, from: Instant, until: Instant, bytes: u32) {
        if from == until {
            return;
        }
        let nanos = u128::from(measured.overlap(from, until));
        let rest = self.rest();
        rest.waiting_packet_nanos += nanos;
        rest.waiting_byte_nanos += nanos * u128::from(bytes);
    }

    /// Records the transmission of a packet of `bytes` in `[from, until)`, which may be in the future. Transmissions do
    /// not overlap.
    #[inline]
    pub fn transmitted(&mut self, measured: &Measured, from: Instant, until: Instant, bytes: u32) {
        self.total_sent_bytes += u64::from(bytes);
        self.busy_nanos += measured.overlap(from, until);
    }

    /// Reverts the part after `cut` of a call of [`waited`](Self::waited) with the same arguments. A run that stops
    /// early calls it once for each packet whose departure is in the future.
    pub fn cut_waiting(&mut self, measured: &Measured, cut: Instant, from: Instant, until: Instant, bytes: u32) {
        let nanos = u128::from(measured.overlap(from.max(cut), until));
        let rest = self.rest();
        rest.waiting_packet_nanos = rest.waiting_packet_nanos.saturating_sub(nanos);
        rest.waiting_byte_nanos = rest.waiting_byte_nanos.saturating_sub(nanos * u128::from(bytes));
    }

    /// Reverts the part after `cut` of a call of [`transmitted`](Self::transmitted). A run that stops early calls it
    /// once for each transmission that ends in the future.
    pub fn cut_transmission(&mut self, measured: &Measured, cut: Instant, from: Instant, until: Instant) {
        self.busy_nanos = self.busy_nanos.saturating_sub(measured.overlap(from.max(cut), until));
    }

    /// Returns the bytes of all recorded transmissions since time zero, including those before the measured interval
    /// and those recorded in advance.
    #[must_use]
    pub fn total_sent_bytes(&self) -> u64 {
        self.total_sent_bytes
    }

    /// Returns the number of packets that arrived at the link from time zero to the planned end, including dropped
    /// ones.
    #[must_use]
    pub fn total_arrived_packets(&self) -> u64 {
        self.arrived
    }

    /// Returns the number of packets dropped since time zero.
    #[must_use]
    pub fn total_dropped_packets(&self) -> u64 {
        self.rest.as_ref().map_or(0, |rest| rest.total_dropped_packets)
    }

    /// Returns the counts until `end`, the planned end or the time at which the run stopped. `flows` is empty;
    /// [`ByFlow::summary`] returns them.
    #[must_use]
    pub fn summary(&self, measured: &Measured, label: LinkLabel, end: Instant) -> LinkSummary {
        let nanos = measured.overlap(measured.from, end) as f64;
        let none = OnceCell::new();
        let rest = self.rest.as_deref().unwrap_or_else(|| none.get_or_init(Rest::default));
        let mean = |sum: f64| if nanos > 0.0 { sum / nanos } else { 0.0 };
        LinkSummary {
            name: label.name,
            from: label.from,
            to: label.to,
            arrived_packets: if self.is_measuring { self.arrived - rest.arrived_before } else { 0 },
            dropped_packets: rest.dropped,
            marked_packets: rest.marked,
            duplicated_packets: rest.duplicated,
            reordered_packets: rest.reordered,
            mean_queue_packets: mean(rest.waiting_packet_nanos as f64),
            mean_queue_bytes: mean(rest.waiting_byte_nanos as f64),
            peak_queue_packets: u64::from(self.peak),
            mean_red_average: rest
                .red
                .map(|red| mean(red.integral + red.value * measured.overlap(red.since, end) as f64)),
            utilisation: mean(self.busy_nanos as f64),
            flows: Vec::new(),
        }
    }
}
