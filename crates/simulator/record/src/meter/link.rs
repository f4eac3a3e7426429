//! What happened at one direction of a link.
//!
//! A link that decides a packet's departure on its arrival tells its waiting and its transmission as intervals, ahead
//! of time; one that decides later tells them afterwards. Both give the same sums: an interval adds the time that it
//! shares with `[measure_from, end]`, as integers (ns, ns x packets, ns x bytes), so neither order nor rounding matters.

use super::by_flow::{ByFlow, LinkFlowSummary};
use super::counts::DropCounts;
use super::measured::Measured;
use headway_units::{DropCause, Instant};
use serde::{Deserialize, Serialize};
use std::cell::OnceCell;

/// What a link's direction is called.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LinkLabel {
    /// Its name, such as `r1-r2`.
    pub name: String,
    /// The node that sends into it.
    pub from: String,
    /// The node that it leads to.
    pub to: String,
}

/// A link direction's entry in [`Summary`](crate::Summary). Events count from `measure_from` on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LinkSummary {
    /// Its name.
    pub name: String,
    /// The node that sends into it.
    pub from: String,
    /// The node that it leads to.
    pub to: String,
    /// Packets offered to it.
    pub arrived_packets: u64,
    /// Packets that it dropped, by cause.
    pub dropped_packets: DropCounts,
    /// Packets that it marked (ECN CE).
    pub marked_packets: u64,
    /// Copies of packets that it made; they are not among the offered.
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub duplicated_packets: u64,
    /// Packets that came out behind a later one (RFC 4737 section 3.3).
    #[serde(default, skip_serializing_if = "super::is_zero")]
    pub reordered_packets: u64,
    /// Time average of the packets that wait, without the one in service.
    pub mean_queue_packets: f64,
    /// Time average of the bytes that wait, without those of the packet in service.
    pub mean_queue_bytes: f64,
    /// The most packets that waited right after an arrival.
    pub peak_queue_packets: u64,
    /// Time average of RED's average queue, in packets; none where no queue keeps one.
    pub mean_red_average: Option<f64>,
    /// The part of the time in which it transmitted, from 0 to 1.
    pub utilisation: f64,
    /// The flows that came there, in the order of the scenario, if the link counts by flow.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub flows: Vec<LinkFlowSummary>,
}

/// RED's average as a step function of time.
#[derive(Clone, Copy, Debug)]
struct RedAverage {
    value: f64,
    since: Instant,
    /// Of the steps before: packets x ns.
    integral: f64,
}

/// Counts what happens at one direction of a link. Queues and what few packets change are out of the way of what each one does.
#[derive(Clone, Debug, Default)]
pub struct LinkMeter {
    /// Since time zero.
    arrived: u64,
    busy_nanos: u64,
    total_sent_bytes: u64,
    peak: u32,
    /// Whether anything has arrived within what is measured.
    measures: bool,
    /// Whether [`Rest::by_flow`] is there: who does not ask for it does not reach for it.
    counts_by_flow: bool,
    /// None as long as nothing has waited.
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
    arrived_before: u64,
    red: Option<RedAverage>,
    by_flow: Option<ByFlow>,
}

impl LinkMeter {
    /// A meter that counts by flow, too: whoever tells it of a packet must also tell its [`by_flow`](Self::by_flow).
    #[must_use]
    pub fn counting_by_flow() -> Self {
        let rest = Rest { by_flow: Some(ByFlow::default()), ..Rest::default() };
        Self { counts_by_flow: true, rest: Some(Box::new(rest)), ..Self::default() }
    }

    /// The counts by flow, if it has any.
    #[must_use]
    #[inline]
    pub fn by_flow(&self) -> Option<&ByFlow> {
        if self.counts_by_flow { self.rest.as_ref()?.by_flow.as_ref() } else { None }
    }

    /// The counts by flow, if it has any, to be told.
    #[inline]
    pub fn by_flow_mut(&mut self) -> Option<&mut ByFlow> {
        if self.counts_by_flow { self.rest.as_mut()?.by_flow.as_mut() } else { None }
    }

    #[inline]
    fn rest(&mut self) -> &mut Rest {
        self.rest.get_or_insert_default()
    }

    /// A packet was offered to the link at `now`, whatever became of it.
    #[inline]
    pub fn arrived(&mut self, measured: &Measured, now: Instant) {
        if !self.measures && measured.from <= now {
            self.begin();
        }
        self.arrived += u64::from(now <= measured.until);
    }

    #[cold]
    fn begin(&mut self) {
        self.measures = true;
        if self.arrived > 0 {
            self.rest().arrived_before = self.arrived;
        }
    }

    /// A packet was dropped at `now`.
    pub fn dropped(&mut self, measured: &Measured, now: Instant, cause: DropCause) {
        let measures = measured.holds(now);
        let rest = self.rest();
        rest.total_dropped_packets += 1;
        if measures {
            rest.dropped.add(cause);
        }
    }

    /// A packet was marked at `now`.
    pub fn marked(&mut self, measured: &Measured, now: Instant) {
        let measures = measured.holds(now);
        self.rest().marked += u64::from(measures);
    }

    /// A copy of a packet was made at `now`, which is offered next.
    pub fn duplicated(&mut self, measured: &Measured, now: Instant) {
        let measures = measured.holds(now);
        self.rest().duplicated += u64::from(measures);
    }

    /// A packet came out at `now` behind a later one.
    pub fn reordered(&mut self, measured: &Measured, now: Instant) {
        let measures = measured.holds(now);
        self.rest().reordered += u64::from(measures);
    }

    /// `packets` wait (without the one in service) right after an arrival at `now`.
    #[inline]
    pub fn queue_seen(&mut self, measured: &Measured, now: Instant, packets: u32) {
        if packets > self.peak && measured.holds(now) {
            self.peak = packets;
        }
    }

    /// The most of [`queue_seen`](Self::queue_seen) so far.
    #[must_use]
    #[inline]
    pub fn peak(&self) -> u32 {
        self.peak
    }

    /// RED's average queue became `packets` at `now`; it holds until the next change. Until the first it is 0, as RED
    /// starts. Changes come in the order of their time.
    pub fn red_average(&mut self, measured: &Measured, now: Instant, packets: f64) {
        let mut red = self.rest().red.unwrap_or(RedAverage { value: 0.0, since: Instant::ZERO, integral: 0.0 });
        red.integral += red.value * measured.shared(red.since, now) as f64;
        self.rest().red = Some(RedAverage { value: packets, since: now, ..red });
    }

    /// A packet of `bytes` waited, or will wait, in `[from, until)`: from its arrival to the start of its transmission.
    #[inline]
    pub fn waited(&mut self, measured: &Measured, from: Instant, until: Instant, bytes: u32) {
        if from == until {
            return;
        }
        let nanos = u128::from(measured.shared(from, until));
        let rest = self.rest();
        rest.waiting_packet_nanos += nanos;
        rest.waiting_byte_nanos += nanos * u128::from(bytes);
    }

    /// The link transmitted a packet of `bytes`, or will, in `[from, until)`. Transmissions do not overlap.
    #[inline]
    pub fn transmitted(&mut self, measured: &Measured, from: Instant, until: Instant, bytes: u32) {
        self.total_sent_bytes += u64::from(bytes);
        self.busy_nanos += measured.shared(from, until);
    }

    /// Takes back what [`waited`](Self::waited) was told of the time after `cut`: for a run that stops before its
    /// planned end, once for each packet whose departure still lies ahead, with what was told.
    pub fn cut_waiting(&mut self, measured: &Measured, cut: Instant, from: Instant, until: Instant, bytes: u32) {
        let nanos = u128::from(measured.shared(from.max(cut), until));
        let rest = self.rest();
        rest.waiting_packet_nanos = rest.waiting_packet_nanos.saturating_sub(nanos);
        rest.waiting_byte_nanos = rest.waiting_byte_nanos.saturating_sub(nanos * u128::from(bytes));
    }

    /// Takes back what [`transmitted`](Self::transmitted) was told of the time after `cut`, as
    /// [`cut_waiting`](Self::cut_waiting) does.
    pub fn cut_transmission(&mut self, measured: &Measured, cut: Instant, from: Instant, until: Instant) {
        self.busy_nanos = self.busy_nanos.saturating_sub(measured.shared(from.max(cut), until));
    }

    /// Bytes of all packets whose transmission was told of, whatever is measured.
    #[must_use]
    pub fn total_sent_bytes(&self) -> u64 {
        self.total_sent_bytes
    }

    /// Packets offered from time zero to the planned end, whatever is measured.
    #[must_use]
    pub fn total_arrived_packets(&self) -> u64 {
        self.arrived
    }

    /// Packets dropped since time zero, whatever is measured.
    #[must_use]
    pub fn total_dropped_packets(&self) -> u64 {
        self.rest.as_ref().map_or(0, |rest| rest.total_dropped_packets)
    }

    /// What was counted until `end`: the planned one, or the instant at which the run was cut. Without the flows, which
    /// [`ByFlow::summary`] tells.
    #[must_use]
    pub fn summary(&self, measured: &Measured, label: LinkLabel, end: Instant) -> LinkSummary {
        let nanos = measured.shared(measured.from, end) as f64;
        let none = OnceCell::new();
        let rest = self.rest.as_deref().unwrap_or_else(|| none.get_or_init(Rest::default));
        let mean = |sum: f64| if nanos > 0.0 { sum / nanos } else { 0.0 };
        LinkSummary {
            name: label.name,
            from: label.from,
            to: label.to,
            arrived_packets: if self.measures { self.arrived - rest.arrived_before } else { 0 },
            dropped_packets: rest.dropped,
            marked_packets: rest.marked,
            duplicated_packets: rest.duplicated,
            reordered_packets: rest.reordered,
            mean_queue_packets: mean(rest.waiting_packet_nanos as f64),
            mean_queue_bytes: mean(rest.waiting_byte_nanos as f64),
            peak_queue_packets: u64::from(self.peak),
            mean_red_average: rest
                .red
                .map(|red| mean(red.integral + red.value * measured.shared(red.since, end) as f64)),
            utilisation: mean(self.busy_nanos as f64),
            flows: Vec::new(),
        }
    }
}
